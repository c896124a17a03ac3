//! What each kind of report shows, as plain data.

pub mod ab;
pub mod catalog;
pub mod chart;
pub mod compare;
pub mod cost_groups;
pub mod curves;
pub mod doctor;
pub mod document;
pub mod event_scaling;
pub mod explain;
pub mod export;
pub mod flags;
pub mod headline;
pub mod history;
pub mod instructions;
pub mod kernels;
pub mod lists;
pub mod machine;
pub mod monitor;
pub mod one_way;
pub mod page;
pub mod page_cache;
pub mod ph;
pub mod predictions;
pub mod programs;
pub mod request_latency;
pub mod row;
pub mod run;
pub mod runs;
pub mod study;
pub mod timeline;
pub mod timer_survey;
pub mod treatments;
pub mod wait_steps;
pub mod workloads;

use oscost_model::record::Record;

use self::document::View;

/// A run in short, with the comparisons of one that compared targets.
pub fn brief(record: &Record) -> View {
    match record.comparisons.is_empty() {
        true => run::brief(record),
        false => ab::brief(record),
    }
}
