//! What is measured: cases, programs, and the rows of studies.

pub(super) mod cases;
mod command_input;
pub(super) mod effort;
pub(super) mod named_files;
pub(super) mod named_rows;
pub(super) mod programs;
pub(super) mod study_rows;
