//! Tests of the supervisor through its protocol, as the tool uses it: JSON lines in, JSON lines
//! out.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test panics where it fails, and prints what it skips"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/work.rs"]
mod work;

mod channels;
mod child_processes;
mod control_groups;
mod counter_faults;
mod counts;
mod event_counts;
mod file_leftovers;
mod machine_code;
mod monitors;
mod page_faults;
mod privileges;
mod process_watch;
mod program_run;
mod program_turns;
mod programs;
mod protocol;
mod remote_peer;
mod shutdown;
mod strict_filters;
mod subcommands;
mod system_treatments;
mod timed_programs;
mod treated_worker;
mod treatments;
