//! What is measured: cases, programs, and the rows of studies.

pub(super) mod cases;
pub(super) mod named_files;
pub(super) mod named_rows;
pub(super) mod programs;
pub(super) mod study_rows;
