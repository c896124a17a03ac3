//! A chain of dependent instructions of known latency: it measures the core's frequency, and gives
//! tests a known delay.

pub use crate::kernel::arch::{CYCLES_PER_LINK, dependent_chain};
