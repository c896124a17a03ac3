//! Values and barriers that the optimiser cannot see through. None costs an instruction, except
//! [`store_and_reload`], whose purpose is to cost two.

use std::arch::asm;

/// Keeps an empty loop from being removed: an assembly statement of no instructions.
///
/// It clobbers no memory: an op's own state may stay in registers, as it would in user code.
#[inline(always)]
pub fn barrier() {
    // SAFETY: there is no instruction.
    unsafe { asm!("", options(nomem, nostack, preserves_flags)) }
}

/// Returns `value` as if computed out of the compiler's sight, in a register.
#[inline(always)]
#[must_use]
pub fn opaque(mut value: u64) -> u64 {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", inout(reg) value, options(nomem, nostack, preserves_flags)) }
    value
}

/// Stores `value` to memory and loads it back: what unoptimised code does between any two uses.
#[inline(always)]
#[must_use]
pub fn store_and_reload(value: u64) -> u64 {
    let mut variable = std::mem::MaybeUninit::<u64>::uninit();
    // SAFETY: the variable is on the stack, and is written before it is read.
    unsafe {
        std::ptr::write_volatile(variable.as_mut_ptr(), value);
        std::ptr::read_volatile(variable.as_ptr())
    }
}

/// Consumes `value`: it must have been computed, in a register, with no store to memory.
#[inline(always)]
pub fn consume(value: u64) {
    // SAFETY: there is no instruction.
    unsafe { asm!("/* {0} */", in(reg) value, options(nomem, nostack, preserves_flags)) }
}

/// Consumes a floating-point `value`, in the register that it was computed in.
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
        asm!("/* {0:d} */", in(vreg) value, options(nomem, nostack, preserves_flags));
    }
}

/// A value that is loaded from memory at each use, as with C's `volatile`.
pub struct Volatile<T: Copy>(T);

impl<T: Copy> Volatile<T> {
    /// Stores `value`.
    pub fn new(value: T) -> Self {
        Self(value)
    }

    /// Loads the value.
    #[inline(always)]
    pub fn get(&self) -> T {
        // SAFETY: the reference is valid, and the value is `Copy`.
        unsafe { (&raw const self.0).read_volatile() }
    }
}
