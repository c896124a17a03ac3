//! A loop of a known number of instructions: what a counter of instructions must show.

pub use crate::kernel::arch::LOOP_INSTRUCTIONS;
use crate::kernel::arch::loop_in_register;

/// Runs `iterations` iterations of [`LOOP_INSTRUCTIONS`] each, and a few instructions around them.
#[inline(never)]
pub fn run(iterations: u64) {
    loop_in_register(iterations);
}
