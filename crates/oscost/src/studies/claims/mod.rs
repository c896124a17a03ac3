//! Claims: what a study claims of its quantities, when a claim holds by its own figures and by
//! those of a run, and the verdicts.

pub mod claim;
pub mod equal_added_cost;
pub mod judgement;
mod part;
pub mod published_result;
pub mod quantity;
mod several_runs;
pub(super) mod single_target_judgement;
pub(super) mod two_targets_judgement;
pub mod verdict;
