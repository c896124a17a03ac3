//! Marks that the compiler may not look behind. None of them costs an instruction, but
//! [`through_memory`], whose purpose is to cost two.

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

/// Stores `value` into a variable in memory and reads it back from there: what code without
/// optimisation does between any two uses.
#[inline(always)]
#[must_use]
pub fn store_and_reload(value: u64) -> u64 {
    let mut variable = std::mem::MaybeUninit::<u64>::uninit();
    // SAFETY: the variable is there, and is written before it is read.
    unsafe {
        std::ptr::write_volatile(variable.as_mut_ptr(), value);
        std::ptr::read_volatile(variable.as_ptr())
    }
}

/// Uses `value` up: it must have been computed. In a register, with no store to memory.
#[inline(always)]
pub fn consume(value: u64) {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) }
}

/// Uses a floating-point `value` up, in the register that it was computed in.
#[inline(always)]
pub fn consume_f64(value: f64) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {0} */", in(xmm_reg) value, options(nomem, nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: there is no instruction.
    unsafe {
        asm!("/* {0} */", in(vreg) value, options(nomem, nostack, preserves_flags));
    }
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
