//! What the kernel counts while it runs: time of CPUs and processes, interrupts.

pub mod activity;
pub(in crate::facts) mod interrupts;
pub(in crate::facts) mod processes;
pub(in crate::facts) mod snapshot;
