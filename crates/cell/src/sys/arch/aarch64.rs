//! aarch64. Compiled from the architecture's manual; nobody has run it yet, and the README says so.

use std::arch::{asm, global_asm};

/// The generic timer's virtual counter.
pub mod counter {
    use std::arch::asm;

    #[inline(always)]
    fn fenced() -> u64 {
        let ticks: u64;
        // SAFETY: reads a counter; ISB orders it against the instructions around it, the clobber
        // orders it against the compiler's memory accesses.
        unsafe {
            asm!("isb", "mrs {t}, cntvct_el0", "isb", t = out(reg) ticks,
                 options(nostack, preserves_flags));
        }
        ticks
    }

    /// Reads the counter at the beginning of a timed window.
    #[inline(always)]
    pub fn start() -> u64 {
        fenced()
    }

    /// Reads the counter at the end of a timed window.
    #[inline(always)]
    pub fn stop() -> u64 {
        fenced()
    }

    /// Reads the counter without any order: only for finding gaps and the counter's step.
    #[inline(always)]
    pub fn plain() -> u64 {
        let ticks: u64;
        // SAFETY: reads a counter.
        unsafe {
            asm!("mrs {t}, cntvct_el0", t = out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    /// The architecture promises that its counter is constant and shared by all cores.
    pub fn declared_unusable() -> Option<String> {
        None
    }
}

/// A raw system call; the result is the kernel's, a negative errno included.
///
/// # Safety
/// The arguments must be what the call demands: pointers valid for what the kernel does with them.
#[inline(always)]
pub(in crate::sys) unsafe fn syscall(number: i64, args: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the caller vouches for the arguments.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") args[0] => result,
             in("x1") args[1], in("x2") args[2], in("x3") args[3], in("x4") args[4],
             in("x5") args[5], options(nostack, preserves_flags));
    }
    result
}

/// A raw system call without arguments: the registers that carry none are left alone.
///
/// # Safety
/// The call must take no arguments.
#[inline(always)]
pub(in crate::sys) unsafe fn syscall0(number: i64) -> i64 {
    let result;
    // SAFETY: as in `syscall`.
    unsafe {
        asm!("svc 0", in("x8") number, lateout("x0") result, options(nostack, preserves_flags));
    }
    result
}

// The callees of `procedure/call`, one name for each number of arguments: they hand back their first
// argument. Written as assembly, so that no compiler can see through them, inline them or drop an
// argument.
global_asm!(
    ".pushsection .text.oscost_callee,\"ax\",%progbits",
    ".balign 64",
    ".globl oscost_callee0",
    ".type oscost_callee0,%function",
    "oscost_callee0:",
    ".globl oscost_callee1",
    ".type oscost_callee1,%function",
    "oscost_callee1:",
    ".globl oscost_callee2",
    ".type oscost_callee2,%function",
    "oscost_callee2:",
    ".globl oscost_callee3",
    ".type oscost_callee3,%function",
    "oscost_callee3:",
    ".globl oscost_callee4",
    ".type oscost_callee4,%function",
    "oscost_callee4:",
    ".globl oscost_callee5",
    ".type oscost_callee5,%function",
    "oscost_callee5:",
    ".globl oscost_callee6",
    ".type oscost_callee6,%function",
    "oscost_callee6:",
    ".globl oscost_callee7",
    ".type oscost_callee7,%function",
    "oscost_callee7:",
    "ret",
    ".popsection",
);

/// A chain of dependent additions: `links` of them, one core cycle each.
#[inline(always)]
pub fn dependent_chain(links: u64, mut value: u64) -> u64 {
    let mut left = links / 8;
    while left != 0 {
        // SAFETY: register arithmetic only.
        unsafe {
            asm!("add {v}, {v}, {v}", "add {v}, {v}, {v}", "add {v}, {v}, {v}", "add {v}, {v}, {v}",
                 "add {v}, {v}, {v}", "add {v}, {v}, {v}", "add {v}, {v}, {v}", "add {v}, {v}, {v}",
                 v = inout(reg) value, options(nomem, nostack));
        }
        left -= 1;
    }
    value
}

/// Core cycles of one link of [`dependent_chain`].
pub const CYCLES_PER_LINK: f64 = 1.0;
