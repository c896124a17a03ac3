//! Whole programs: the user's own, files of workloads, and those that come with oscost.

mod comparisons;
mod errors;
mod fake_programs;
mod parameters;
mod rows;
mod supplied_workloads;
