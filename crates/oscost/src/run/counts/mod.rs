//! Counts without times: the calls of cases, and instructions on machines that count them.

pub(super) mod call_count;
pub(super) mod counted_events;
pub(super) mod event_count;
pub(super) mod form_count;
pub(super) mod group_runs;
pub(super) mod instruction_count;
pub(super) mod process_count;
pub(super) mod program_runs;
pub(super) mod quick_counting;
pub(super) mod row_counting;
pub(super) mod tree_counter;
pub(super) mod trial_count;
pub(super) mod turn_program;
