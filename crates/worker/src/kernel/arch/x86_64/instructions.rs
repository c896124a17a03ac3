//! Single instructions of x86-64. Those that compute wait for the result of the one before, so that
//! a row of them shows their latency.

use std::arch::asm;

/// A CPUID instruction exists.
pub const HAS_CPUID: bool = true;

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
    xor_32(u32, reg) = "xor {value:e}, {other:e}";
    /// Exclusive or.
    xor_64(u64, reg) = "xor {value}, {other}";
    /// Addition.
    add_32(u32, reg) = "add {value:e}, {other:e}";
    /// Addition.
    add_64(u64, reg) = "add {value}, {other}";
    /// Multiplication.
    multiply_32(u32, reg) = "imul {value:e}, {other:e}";
    /// Multiplication.
    multiply_64(u64, reg) = "imul {value}, {other}";
    /// Addition.
    add_f32(f32, xmm_reg) = "addss {value}, {other}";
    /// Addition.
    add_f64(f64, xmm_reg) = "addsd {value}, {other}";
    /// Multiplication.
    multiply_f32(f32, xmm_reg) = "mulss {value}, {other}";
    /// Multiplication.
    multiply_f64(f64, xmm_reg) = "mulsd {value}, {other}";
    /// Square root, times the other operand.
    root_f32(f32, xmm_reg) = "sqrtss {value}, {value}" "mulss {value}, {other}";
    /// Square root, times the other operand.
    root_f64(f64, xmm_reg) = "sqrtsd {value}, {value}" "mulsd {value}, {other}";
}

/// `dividend / divisor`. A divisor of 0 raises SIGFPE.
#[inline(always)]
#[must_use]
pub fn divide_32(mut divisor: u32, dividend: u32) -> u32 {
    // SAFETY: register arithmetic only. The upper half of the dividend is 0, so that the quotient
    // fits.
    unsafe {
        asm!("mov eax, {dividend:e}", "xor edx, edx", "div {divisor:e}", "mov {divisor:e}, eax",
             divisor = inout(reg) divisor, dividend = in(reg) dividend,
             out("rax") _, out("rdx") _, options(nomem, nostack));
    }
    divisor
}

/// `dividend / divisor`. A divisor of 0 raises SIGFPE.
#[inline(always)]
#[must_use]
pub fn divide_64(mut divisor: u64, dividend: u64) -> u64 {
    // SAFETY: as in `divide_32`.
    unsafe {
        asm!("mov rax, {dividend}", "xor edx, edx", "div {divisor}", "mov {divisor}, rax",
             divisor = inout(reg) divisor, dividend = in(reg) dividend,
             out("rax") _, out("rdx") _, options(nomem, nostack));
    }
    divisor
}

/// `dividend / divisor`.
#[inline(always)]
#[must_use]
pub fn divide_f32(divisor: f32, dividend: f32) -> f32 {
    let quotient;
    // SAFETY: register arithmetic only.
    unsafe {
        asm!("movaps {quotient}, {dividend}", "divss {quotient}, {divisor}",
             quotient = out(xmm_reg) quotient, dividend = in(xmm_reg) dividend,
             divisor = in(xmm_reg) divisor, options(nomem, nostack));
    }
    quotient
}

/// `dividend / divisor`.
#[inline(always)]
#[must_use]
pub fn divide_f64(divisor: f64, dividend: f64) -> f64 {
    let quotient;
    // SAFETY: register arithmetic only.
    unsafe {
        asm!("movaps {quotient}, {dividend}", "divsd {quotient}, {divisor}",
             quotient = out(xmm_reg) quotient, dividend = in(xmm_reg) dividend,
             divisor = in(xmm_reg) divisor, options(nomem, nostack));
    }
    quotient
}

/// The next number of a linear congruential generator, and a branch that is taken if it has a bit
/// of the mask; otherwise `not_taken` is incremented.
#[inline(always)]
pub(in crate::kernel) fn branch(number: &mut u64, mask: u64, not_taken: &mut u64) {
    // SAFETY: register arithmetic, and a jump within the block.
    unsafe {
        asm!("imul {number}, {number}, 1664525", "add {number}, 1013904223",
             "test {number}, {mask}", "jnz 2f", "add {not_taken}, 1", "2:",
             number = inout(reg) *number, mask = in(reg) mask,
             not_taken = inout(reg) *not_taken, options(nomem, nostack));
    }
}

/// The instruction for waiting loops.
#[inline(always)]
pub fn pause() {
    // SAFETY: PAUSE touches nothing.
    unsafe { asm!("pause", options(nomem, nostack, preserves_flags)) }
}

/// The instruction that lets no later one start before all earlier ones have completed.
#[inline(always)]
pub fn fence() {
    // SAFETY: LFENCE touches nothing.
    unsafe { asm!("lfence", options(nomem, nostack, preserves_flags)) }
}

/// CPUID, leaf 0.
#[inline(always)]
pub fn cpuid() {
    // SAFETY: CPUID touches no memory. It writes RBX, which the compiler reserves: it is restored.
    unsafe {
        asm!("mov {kept}, rbx", "xor eax, eax", "cpuid", "mov rbx, {kept}",
             kept = out(reg) _, out("rax") _, out("rcx") _, out("rdx") _,
             options(nomem, nostack));
    }
}
