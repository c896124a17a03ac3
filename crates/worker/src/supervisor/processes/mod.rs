//! Processes that the supervisor and its jobs start: the command line of a job, programs with their
//! output and limits, and the end of everything that they leave running.

pub(super) mod child;
pub(super) mod command;
pub(super) mod external_program;
mod leftovers;
mod private_directory;
mod program_file;
mod program_output;
pub(super) mod program_run;
pub(super) mod program_turns;
mod timed_wait;
mod tree_counters;
pub(super) mod undo;
