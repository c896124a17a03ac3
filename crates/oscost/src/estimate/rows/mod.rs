//! Rows of the record: from the values of workers to estimates, classes and flags.

pub(in crate::estimate) mod case;
pub(in crate::estimate) mod class;
pub(in crate::estimate) mod cpu_contention;
pub(in crate::estimate) mod flags;
pub(in crate::estimate) mod metrics;
pub(in crate::estimate) mod relations;
pub(in crate::estimate) mod row;
pub(in crate::estimate) mod row_state;
pub(in crate::estimate) mod study_method;
pub(in crate::estimate) mod trials;
pub(in crate::estimate) mod worker;
