//! aarch64. Written from the architecture manual and compiled; not yet run on hardware, as the
//! README says.

use std::arch::{asm, global_asm};

pub(in crate::kernel) mod branches;
mod clone;
pub(in crate::kernel) mod instructions;
pub(in crate::kernel) mod memory;
pub(in crate::kernel) mod procedure;

pub(in crate::kernel) use clone::*;

use super::sled::Sled;

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

    /// Reads the counter without ordering: only for finding gaps and the counter's resolution.
    #[inline(always)]
    pub fn plain() -> u64 {
        let ticks: u64;
        // SAFETY: reads a counter.
        unsafe {
            asm!("mrs {t}, cntvct_el0", t = out(reg) ticks, options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    /// Reads the counter after all earlier instructions have completed; later ones may start
    /// before.
    #[inline(always)]
    pub fn read_after_earlier() -> u64 {
        let ticks: u64;
        // SAFETY: reads a counter.
        unsafe {
            asm!("isb", "mrs {t}, cntvct_el0", t = out(reg) ticks,
                 options(nomem, nostack, preserves_flags));
        }
        ticks
    }

    /// Executes a hundred NOPs.
    #[inline(always)]
    pub fn hundred_nops() {
        // SAFETY: NOPs touch nothing.
        unsafe { asm!(".rept 100", "nop", ".endr", options(nostack, preserves_flags)) };
    }

    /// The ticks of an empty window between serialised reads. ISB is the only serialising
    /// instruction needed; no hypervisor traps it.
    #[inline(always)]
    pub fn serialised_empty_window() -> u64 {
        let first = fenced();
        fenced().wrapping_sub(first)
    }

    /// Always `None`: the architecture guarantees that its counter is constant and shared by all
    /// cores.
    pub fn unusable_reason() -> Option<String> {
        None
    }
}

/// A raw system call; the result is the kernel's, a negative errno included.
///
/// # Safety
/// The arguments must be what the call demands: pointers valid for what the kernel does with them.
#[inline(always)]
pub(in crate::kernel) unsafe fn syscall(number: i64, args: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the caller guarantees the arguments.
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") args[0] => result,
             in("x1") args[1], in("x2") args[2], in("x3") args[3], in("x4") args[4],
             in("x5") args[5], options(nostack, preserves_flags));
    }
    result
}

// A function around the instruction, as those of the C library are: its return comes right after the
// system call.
global_asm!(
    ".pushsection .text.oscost_system_call,\"ax\",%progbits",
    ".balign 64",
    ".hidden oscost_system_call",
    ".globl oscost_system_call",
    ".type oscost_system_call,%function",
    "oscost_system_call:",
    "svc 0",
    "ret",
    ".popsection",
);
unsafe extern "C" {
    fn oscost_system_call();
}

/// The same call through a function that consists of the instruction and a return.
///
/// # Safety
/// As for [`syscall`].
#[inline(always)]
pub(in crate::kernel) unsafe fn syscall_through_function(number: i64, args: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the caller guarantees the arguments; the function uses no stack, and returns by X30.
    unsafe {
        asm!("bl {function}", function = sym oscost_system_call,
             in("x8") number, inlateout("x0") args[0] => result,
             in("x1") args[1], in("x2") args[2], in("x3") args[3], in("x4") args[4],
             in("x5") args[5], out("x30") _, options(preserves_flags));
    }
    result
}

/// A raw system call without arguments: the argument registers are left alone.
///
/// # Safety
/// The call must take no arguments.
#[inline(always)]
pub(in crate::kernel) unsafe fn syscall0(number: i64) -> i64 {
    let result;
    // SAFETY: as in `syscall`.
    unsafe {
        asm!("svc 0", in("x8") number, lateout("x0") result, options(nostack, preserves_flags));
    }
    result
}

/// A chain of `links` dependent additions, one core cycle each.
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

/// A sled of [`SLED_STEPS`] equal steps that ends in a return. It is entered as many steps before
/// its end as are wanted, so that no loop counter runs with the steps.
macro_rules! sled {
    ($name:ident, $($step:literal),+) => {
        global_asm!(
            ".pushsection .text.oscost_sleds,\"ax\",%progbits",
            ".balign 64",
            concat!(".hidden ", stringify!($name)),
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ",%function"),
            ".rept 256",
            $($step,)+
            ".endr",
            concat!(stringify!($name), ":"),
            "ret",
            ".popsection",
        );
        unsafe extern "C" {
            fn $name();
        }
    };
}

sled!(oscost_increments, "add x0, x0, x1");
sled!(oscost_decrements, "sub x0, x0, x1");
// What a compiler without optimisation emits for `variable++`, with the variable on the stack.
sled!(oscost_plain_increments, "ldr w2, [x3]", "add w2, w2, 1", "str w2, [x3]");
sled!(oscost_plain_decrements, "ldr w2, [x3]", "sub w2, w2, 1", "str w2, [x3]");

/// Steps in a sled.
pub(in crate::kernel) const SLED_STEPS: u64 = 256;

/// The sleds: increments and decrements in a register, then the same in memory.
pub(in crate::kernel) fn sleds() -> [Sled; 4] {
    const WORD_BYTES: usize = 4;
    [
        Sled { end: oscost_increments as *const () as usize, step_bytes: WORD_BYTES },
        Sled { end: oscost_decrements as *const () as usize, step_bytes: WORD_BYTES },
        Sled { end: oscost_plain_increments as *const () as usize, step_bytes: 3 * WORD_BYTES },
        Sled { end: oscost_plain_decrements as *const () as usize, step_bytes: 3 * WORD_BYTES },
    ]
}

/// Enters a sled at `entry`; returns what the register steps made of `value`.
///
/// # Safety
/// `entry` must be a whole number of steps, at most [`SLED_STEPS`], before the end of a sled, and
/// `variable` must be valid for writes.
#[inline(always)]
pub(in crate::kernel) unsafe fn enter_sled(
    entry: usize,
    mut value: u64,
    variable: *mut u32,
) -> u64 {
    // SAFETY: the sled changes X0 or what X3 points to, and returns by X30; the caller guarantees
    // both.
    unsafe {
        asm!("blr {entry}", entry = in(reg) entry, inout("x0") value, in("x1") 1u64,
             out("x2") _, in("x3") variable, out("x30") _);
    }
    value
}

/// Instructions in an iteration of `loop_in_register`.
pub const LOOP_INSTRUCTIONS: u64 = 3;

/// Whether counters of the processor can be read by [`read_pmc`]: each has a register of its own
/// here, whose number is part of the instruction.
pub(in crate::kernel) const HAS_PMC_INSTRUCTION: bool = false;

/// No counter is read by an instruction here.
///
/// # Safety
/// None is needed.
#[inline(always)]
pub(in crate::kernel) unsafe fn read_pmc(_counter: u32) -> u64 {
    0
}

/// An empty loop of `iterations` iterations: increment, comparison, jump.
#[inline(always)]
pub(in crate::kernel) fn loop_in_register(iterations: u64) {
    // SAFETY: register arithmetic only.
    unsafe {
        asm!("2:", "add {index}, {index}, {one}", "cmp {index}, {iterations}", "b.lo 2b",
             index = inout(reg) 0u64 => _, one = in(reg) 1u64, iterations = in(reg) iterations,
             options(nomem, nostack));
    }
}

/// The same loop with its counter in memory.
#[inline(always)]
pub(in crate::kernel) fn loop_in_memory(iterations: u64, counter: &mut u64) {
    *counter = 0;
    // SAFETY: the counter is borrowed mutably, and nothing else is written.
    unsafe {
        asm!("2:", "ldr {index}, [{counter}]", "add {index}, {index}, 1", "str {index}, [{counter}]",
             "ldr {index}, [{counter}]", "cmp {index}, {iterations}", "b.lo 2b",
             index = out(reg) _, counter = in(reg) counter, iterations = in(reg) iterations,
             options(nostack));
    }
}

/// One addition of two registers.
#[inline(always)]
pub(in crate::kernel) fn add_in_register(mut value: u64, one: u64) -> u64 {
    // SAFETY: register arithmetic only.
    unsafe {
        asm!("add {value}, {value}, {one}", value = inout(reg) value, one = in(reg) one,
             options(nomem, nostack));
    }
    value
}

/// One addition to a variable in memory.
#[inline(always)]
pub(in crate::kernel) fn add_in_memory(variable: &mut u32) {
    // SAFETY: the variable is borrowed mutably, and nothing else is written.
    unsafe {
        asm!("ldr {sum:w}, [{at}]", "add {sum:w}, {sum:w}, 1", "str {sum:w}, [{at}]",
             sum = out(reg) _, at = in(reg) variable, options(nostack));
    }
}

/// The signature that the kernel checks before an rseq abort address: `brk #0x45e0`.
pub(in crate::kernel) const RSEQ_SIGNATURE: u32 = 0xd428_bc00;

/// Core cycles of one link of [`dependent_chain`].
pub const CYCLES_PER_LINK: f64 = 1.0;

/// Whether a word of code begins with `svc #0`.
pub(in crate::kernel) fn is_syscall_instruction(word: u64) -> bool {
    word & 0xffff_ffff == 0xd400_0001
}
