//! aarch64. Compiled from the architecture's manual; nobody has run it yet, and the README says so.

use std::arch::asm;

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

/// What the kernel wants to find before an rseq abort address: `brk #0x45e0`.
pub(in crate::sys) const RSEQ_SIGNATURE: u32 = 0xd428_bc00;

/// Core cycles of one link of [`dependent_chain`].
pub const CYCLES_PER_LINK: f64 = 1.0;
