//! Workload files: their parser, and what they describe.

pub(in crate::workloads) mod built_in;
pub mod parser;
pub(in crate::workloads) mod placeholders;
pub(in crate::workloads) mod quoting;
pub(in crate::workloads) mod spec;
