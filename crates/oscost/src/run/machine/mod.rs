//! The machine of a run: its lock, the choice of its CPU and clock, and its inspection without
//! measuring.

pub(super) mod cpu_survey;
pub(super) mod inspection;
pub(super) mod lock;
