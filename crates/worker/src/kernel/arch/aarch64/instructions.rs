//! Single instructions of aarch64, the counterpart of x86-64. Written from the manual and compiled;
//! not yet run on hardware.

use std::arch::asm;

/// No instruction of this kind can be executed by a program.
pub const HAS_CPUID: bool = false;

/// Functions of a value and another operand, which is the same each time.
macro_rules! operations {
    ($($(#[$doc:meta])* $name:ident($type:ty, $class:ident) = $($line:literal)+;)+) => {$(
        $(#[$doc])*
        #[inline(always)]
        #[must_use]
        pub fn $name(mut value: $type, other: $type) -> $type {
            // SAFETY: register arithmetic only.
            unsafe {
                asm!($($line,)+ value = inout($class) value, other = in($class) other,
                     options(nomem, nostack));
            }
            value
        }
    )+};
}

operations! {
    /// Exclusive or.
    xor_32(u32, reg) = "eor {value:w}, {value:w}, {other:w}";
    /// Exclusive or.
    xor_64(u64, reg) = "eor {value}, {value}, {other}";
    /// Addition.
    add_32(u32, reg) = "add {value:w}, {value:w}, {other:w}";
    /// Addition.
    add_64(u64, reg) = "add {value}, {value}, {other}";
    /// Multiplication.
    multiply_32(u32, reg) = "mul {value:w}, {value:w}, {other:w}";
    /// Multiplication.
    multiply_64(u64, reg) = "mul {value}, {value}, {other}";
    /// The other operand divided by the value. A divisor of 0 makes 0.
    divide_32(u32, reg) = "udiv {value:w}, {other:w}, {value:w}";
    /// The other operand divided by the value. A divisor of 0 makes 0.
    divide_64(u64, reg) = "udiv {value}, {other}, {value}";
    /// Addition.
    add_f32(f32, vreg) = "fadd {value:s}, {value:s}, {other:s}";
    /// Addition.
    add_f64(f64, vreg) = "fadd {value:d}, {value:d}, {other:d}";
    /// Multiplication.
    multiply_f32(f32, vreg) = "fmul {value:s}, {value:s}, {other:s}";
    /// Multiplication.
    multiply_f64(f64, vreg) = "fmul {value:d}, {value:d}, {other:d}";
    /// The other operand divided by the value.
    divide_f32(f32, vreg) = "fdiv {value:s}, {other:s}, {value:s}";
    /// The other operand divided by the value.
    divide_f64(f64, vreg) = "fdiv {value:d}, {other:d}, {value:d}";
    /// Square root, times the other operand.
    root_f32(f32, vreg) = "fsqrt {value:s}, {value:s}" "fmul {value:s}, {value:s}, {other:s}";
    /// Square root, times the other operand.
    root_f64(f64, vreg) = "fsqrt {value:d}, {value:d}" "fmul {value:d}, {value:d}, {other:d}";
}

/// The next number of a linear congruential generator, and a branch that is taken if it has a bit
/// of the mask; otherwise `not_taken` is incremented.
#[inline(always)]
pub(in crate::kernel) fn branch(number: &mut u64, mask: u64, not_taken: &mut u64) {
    // SAFETY: register arithmetic, and a jump within the block.
    unsafe {
        asm!("madd {number}, {number}, {factor}, {step}", "tst {number}, {mask}", "b.ne 2f",
             "add {not_taken}, {not_taken}, 1", "2:",
             number = inout(reg) *number, mask = in(reg) mask,
             not_taken = inout(reg) *not_taken, factor = in(reg) 1_664_525u64,
             step = in(reg) 1_013_904_223u64, options(nomem, nostack));
    }
}

/// The instruction for waiting loops.
#[inline(always)]
pub fn pause() {
    // SAFETY: YIELD touches nothing.
    unsafe { asm!("yield", options(nomem, nostack, preserves_flags)) }
}

/// The instruction that lets no later one start before all earlier ones have completed.
#[inline(always)]
pub fn fence() {
    // SAFETY: ISB touches nothing.
    unsafe { asm!("isb", options(nomem, nostack, preserves_flags)) }
}

/// Nothing: see [`HAS_CPUID`].
#[inline(always)]
pub fn cpuid() {}
