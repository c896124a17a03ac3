//! The command line from outside: words in, words out, exit codes.

#![expect(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a failed test shows its location; a skipped one prints why"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../common/fleet_folder.rs"]
mod fleet_folder;

mod golden;

mod ab;
mod across;
mod bill;
mod bill_changes;
mod bill_forms;
mod bill_prices;
mod bill_programs;
mod compare;
mod counter_faults;
mod counters;
mod counting;
mod crossings;
mod curves;
mod describe;
mod exit_statuses;
mod explain;
mod fleet_ab;
mod fleet_check;
mod fleet_collect;
mod fleet_links;
mod fleet_report;
mod fleet_run;
mod fleet_ssh;
#[cfg(feature = "fault-injection")]
mod hanging_hosts;
mod history;
mod history_counts;
mod interrupts;
mod kernels;
mod local;
mod machine;
mod ph;
mod predict;
mod programs;
mod read_back;
mod report;
mod requests;
mod runs;
mod screens;
mod slurm_nodes;
mod study;
mod study_method;
mod survey;
mod table;
mod tables;
mod treat;
mod treatments;
mod words;
