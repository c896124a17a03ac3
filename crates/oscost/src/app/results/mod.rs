//! What is kept: the store, records, figures for histories, profiles; and what a gate makes of it.

pub(super) mod added_costs;
pub(super) mod earlier_runs;
pub(super) mod earlier_study_runs;
pub(super) mod figures;
pub(super) mod gate;
pub(super) mod missing_figures;
pub(super) mod omissions;
pub(super) mod packed_file;
pub(super) mod prices;
pub(super) mod profile_files;
pub(super) mod pruning;
pub(super) mod records;
pub(super) mod reference_records;
pub(super) mod run_before;
pub(super) mod user_data;

#[cfg(test)]
mod test_store;
