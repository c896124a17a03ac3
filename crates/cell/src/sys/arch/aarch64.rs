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

// The callee of `procedure/call`: it hands back its first argument and one. Written as assembly, so
// that no compiler can see through it or inline it.
global_asm!(
    ".pushsection .text.oscost_callee,\"ax\",%progbits",
    ".balign 64",
    ".globl oscost_callee",
    ".hidden oscost_callee",
    ".type oscost_callee,%function",
    "oscost_callee:",
    "add x0, x0, 1",
    "ret",
    ".popsection",
);

unsafe extern "C" {
    fn oscost_callee();
}

/// Calls the callee with the first `ARGS` of the numbers 1 to 7, each where the C calling convention
/// wants it, and hands back its result. With `DEPENDENT` the first argument is `last`.
///
/// One block of assembly, so that every copy of the call is the same instructions: left to the
/// compiler, what is timed is which registers it had free.
#[inline(always)]
pub(in crate::sys) fn call<const ARGS: usize, const DEPENDENT: bool>(last: u64) -> u64 {
    let mut result = last;
    macro_rules! call {
        ($($line:literal),*) => {
            // SAFETY: the callee reads its first argument and writes the register of the result;
            // the stack is as it was when the block ends.
            unsafe {
                asm!($($line,)* callee = sym oscost_callee, inout("x0") result,
                     clobber_abi("C"))
            }
        };
    }
    match (ARGS, DEPENDENT) {
        (0, _) => call!("bl {callee}"),
        (1, false) => call!("mov w0, 1", "bl {callee}"),
        (1, true) => call!("bl {callee}"),
        (2, false) => call!("mov w0, 1", "mov w1, 2", "bl {callee}"),
        (2, true) => call!("mov w1, 2", "bl {callee}"),
        (3, false) => call!("mov w0, 1", "mov w1, 2", "mov w2, 3", "bl {callee}"),
        (3, true) => call!("mov w1, 2", "mov w2, 3", "bl {callee}"),
        (4, false) => call!("mov w0, 1", "mov w1, 2", "mov w2, 3", "mov w3, 4", "bl {callee}"),
        (4, true) => call!("mov w1, 2", "mov w2, 3", "mov w3, 4", "bl {callee}"),
        (5, false) => {
            call!("mov w0, 1", "mov w1, 2", "mov w2, 3", "mov w3, 4", "mov w4, 5", "bl {callee}")
        }
        (5, true) => call!("mov w1, 2", "mov w2, 3", "mov w3, 4", "mov w4, 5", "bl {callee}"),
        (6, false) => call!(
            "mov w0, 1",
            "mov w1, 2",
            "mov w2, 3",
            "mov w3, 4",
            "mov w4, 5",
            "mov w5, 6",
            "bl {callee}"
        ),
        (6, true) => {
            call!("mov w1, 2", "mov w2, 3", "mov w3, 4", "mov w4, 5", "mov w5, 6", "bl {callee}")
        }
        (_, false) => call!(
            "mov w0, 1",
            "mov w1, 2",
            "mov w2, 3",
            "mov w3, 4",
            "mov w4, 5",
            "mov w5, 6",
            "mov w6, 7",
            "bl {callee}"
        ),
        (_, true) => call!(
            "mov w1, 2",
            "mov w2, 3",
            "mov w3, 4",
            "mov w4, 5",
            "mov w5, 6",
            "mov w6, 7",
            "bl {callee}"
        ),
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

/// Whether a word of code begins with `svc #0`.
pub(in crate::sys) fn begins_with_system_call(word: u64) -> bool {
    word & 0xffff_ffff == 0xd400_0001
}
