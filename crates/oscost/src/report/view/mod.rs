//! What each kind of report shows, as plain data.

pub mod answer;
pub mod bill;
pub mod bill_comparison;
mod bill_counting;
mod bill_run_command;
pub mod brief;
pub mod comparison;
pub mod doctor;
pub mod document;
pub mod explain;
pub mod export;
pub mod fleet;
pub mod history;
mod known_acts;
pub mod lists;
pub mod machine;
pub mod machine_table;
pub mod page;
pub mod ph;
pub mod run;
pub mod sections;
pub mod self_check;
pub mod study;
mod what_if;
pub mod words;
