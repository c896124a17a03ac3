//! Marks that the compiler may not look behind. None of them costs an instruction.

use std::arch::asm;

/// Keeps a loop with nothing in it a loop: an assembly statement of no instructions.
///
/// It clobbers no memory: an op's own state may stay in registers, as it would in a user's loop.
#[inline(always)]
pub fn barrier() {
    // SAFETY: there is no instruction.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) }
}

/// Hands back `value` as if it had been computed behind the compiler's back, in a register.
#[inline(always)]
#[must_use]
pub fn opaque(mut value: u64) -> u64 {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) }
    value
}

/// Uses `value` up: it must have been computed. In a register, with no store to memory.
#[inline(always)]
pub fn keep(value: u64) {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) }
}

/// A value that is loaded from memory each time it is asked for, as C's `volatile` has it.
pub struct Volatile<T: Copy>(T);

impl<T: Copy> Volatile<T> {
    /// Puts `value` where it is loaded from.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Loads it.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: it is there, and a plain value.
        unsafe { (&raw const self.0).read_volatile() }
    }
}
