//! A chain of known latency: the measure of the core's rate, and a known delay for tests.

pub use crate::kernel::arch::{CYCLES_PER_LINK, dependent_chain};
