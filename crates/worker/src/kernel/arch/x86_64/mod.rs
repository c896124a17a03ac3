//! x86-64.

use std::arch::{asm, global_asm};

pub(in crate::kernel) mod branches;
mod clone;
pub(in crate::kernel) mod instructions;
pub(in crate::kernel) mod memory;
pub(in crate::kernel) mod procedure;

pub(in crate::kernel) use clone::*;

use super::sled::Sled;

/// The time stamp counter.
pub mod counter {
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid, __get_cpuid_max};

    /// Reads the counter at the beginning of a timed window.
    ///
    /// The first fence keeps earlier instructions out of the window, the second keeps later ones
    /// from starting before the read.
    #[inline(always)]
    pub fn start() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: RDTSC and LFENCE touch no memory; the clobber keeps the compiler from moving
        // memory accesses over them.
        unsafe {
            asm!("lfence", "rdtsc", "lfence", out("rax") low, out("rdx") high,
                 options(nostack, preserves_flags));
        }
        (high << 32) | low
    }

    /// Reads the counter at the end of a timed window: RDTSCP waits for all earlier instructions.
    #[inline(always)]
    pub fn stop() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: as in `start`; RDTSCP also writes ECX.
        unsafe {
            asm!("rdtscp", "lfence", out("rax") low, out("rdx") high, out("rcx") _,
                 options(nostack, preserves_flags));
        }
        (high << 32) | low
    }

    /// Reads the counter without ordering: only for finding gaps and the counter's resolution.
    #[inline(always)]
    pub fn plain() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: RDTSC touches no memory.
        unsafe {
            asm!("rdtsc", out("rax") low, out("rdx") high,
                 options(nomem, nostack, preserves_flags));
        }
        (high << 32) | low
    }

    /// Reads the counter after all earlier instructions have completed; later ones may start
    /// before.
    #[inline(always)]
    pub fn read_after_earlier() -> u64 {
        let (low, high): (u64, u64);
        // SAFETY: RDTSCP touches no memory; it also writes ECX.
        unsafe {
            asm!("rdtscp", out("rax") low, out("rdx") high, out("rcx") _,
                 options(nomem, nostack, preserves_flags));
        }
        (high << 32) | low
    }

    /// Executes a hundred NOPs.
    #[inline(always)]
    pub fn hundred_nops() {
        // SAFETY: NOPs touch nothing.
        unsafe { asm!(".rept 100", "nop", ".endr", options(nostack, preserves_flags)) };
    }

    /// The ticks of an empty window between reads that CPUID serialises.
    #[inline(always)]
    pub fn serialised_empty_window() -> u64 {
        let (first_low, first_high, last_low, last_high): (u64, u64, u64, u64);
        // SAFETY: CPUID, RDTSC and RDTSCP touch no memory. CPUID writes RBX, which the compiler
        // reserves: it is restored.
        unsafe {
            asm!("mov {kept}, rbx",
                 "xor eax, eax", "cpuid", "rdtsc", "mov {low}, rax", "mov {high}, rdx",
                 "rdtscp", "mov {last_low}, rax", "mov {last_high}, rdx",
                 "xor eax, eax", "cpuid", "mov rbx, {kept}",
                 kept = out(reg) _, low = out(reg) first_low, high = out(reg) first_high,
                 last_low = out(reg) last_low, last_high = out(reg) last_high,
                 out("rax") _, out("rcx") _, out("rdx") _, options(nostack));
        }
        ((last_high << 32) | last_low).wrapping_sub((first_high << 32) | first_low)
    }

    /// Why the processor declares its counter unusable as a clock; `None` if it is usable.
    pub fn unusable_reason() -> Option<String> {
        let highest = __get_cpuid_max(0x8000_0000).0;
        // Leaves beyond the highest one return another leaf's bits.
        if highest < 0x8000_0007 {
            return Some(
                "the processor does not describe its TSC (CPUID 8000_0007 is absent)".into(),
            );
        }
        if __cpuid(0x8000_0001).edx & (1 << 27) == 0 {
            return Some("the processor has no RDTSCP (CPUID 8000_0001 EDX bit 27)".into());
        }
        if __cpuid(0x8000_0007).edx & (1 << 8) == 0 {
            return Some("the TSC is not invariant (CPUID 8000_0007 EDX bit 8)".into());
        }
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
    // SAFETY: the caller guarantees the arguments; the instruction itself writes RCX and R11.
    unsafe {
        asm!("syscall", inlateout("rax") number => result,
             in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], in("r8") args[4], in("r9") args[5],
             lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
    }
    result
}

// A function around the instruction, as those of the C library are: its return comes right after the
// system call.
global_asm!(
    ".pushsection .text.oscost_system_call,\"ax\",@progbits",
    ".balign 64",
    ".hidden oscost_system_call",
    ".globl oscost_system_call",
    ".type oscost_system_call,@function",
    "oscost_system_call:",
    "syscall",
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
    // SAFETY: the caller guarantees the arguments; the function uses no stack but its return
    // address, and changes no more registers than the instruction.
    unsafe {
        asm!("call {function}", function = sym oscost_system_call,
             inlateout("rax") number => result,
             in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], in("r8") args[4], in("r9") args[5],
             lateout("rcx") _, lateout("r11") _, options(preserves_flags));
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
        asm!("syscall", inlateout("rax") number => result,
             lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
    }
    result
}

/// A chain of `links` dependent multiplications, three core cycles each.
///
/// IMUL r64 has had a latency of three cycles on every core since 2008 (Intel) and 2017 (AMD), and
/// is never eliminated at rename, as additions of constants are on newer cores.
#[inline(always)]
pub fn dependent_chain(links: u64, mut value: u64) -> u64 {
    let mut left = links / 8;
    while left != 0 {
        // SAFETY: register arithmetic only.
        unsafe {
            asm!("imul {v}, {v}", "imul {v}, {v}", "imul {v}, {v}", "imul {v}, {v}",
                 "imul {v}, {v}", "imul {v}, {v}", "imul {v}, {v}", "imul {v}, {v}",
                 v = inout(reg) value, options(nomem, nostack));
        }
        left -= 1;
    }
    value
}

/// A sled of [`SLED_STEPS`] equal steps that ends in a return. It is entered as many steps before
/// its end as are wanted, so that no loop counter runs with the steps.
macro_rules! sled {
    ($name:ident, $step:literal) => {
        global_asm!(
            ".pushsection .text.oscost_sleds,\"ax\",@progbits",
            ".balign 64",
            concat!(".hidden ", stringify!($name)),
            concat!(".globl ", stringify!($name)),
            concat!(".type ", stringify!($name), ",@function"),
            ".rept 256",
            $step,
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

// Register forms: newer cores eliminate the addition of a constant at rename.
sled!(oscost_increments, "add rax, rcx");
sled!(oscost_decrements, "sub rax, rcx");
// What a compiler without optimisation emits for `variable++`, with the variable on the stack.
sled!(oscost_plain_increments, "add dword ptr [rdi], 1");
sled!(oscost_plain_decrements, "sub dword ptr [rdi], 1");

/// Steps in a sled.
pub(in crate::kernel) const SLED_STEPS: u64 = 256;

/// The sleds: increments and decrements in a register, then the same in memory.
pub(in crate::kernel) fn sleds() -> [Sled; 4] {
    const STEP_BYTES: usize = 3;
    [
        Sled { end: oscost_increments as *const () as usize, step_bytes: STEP_BYTES },
        Sled { end: oscost_decrements as *const () as usize, step_bytes: STEP_BYTES },
        Sled { end: oscost_plain_increments as *const () as usize, step_bytes: STEP_BYTES },
        Sled { end: oscost_plain_decrements as *const () as usize, step_bytes: STEP_BYTES },
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
    // SAFETY: the sled changes RAX or what RDI points to, and returns; the caller guarantees both.
    unsafe {
        asm!("call {entry}", entry = in(reg) entry, inout("rax") value, in("rcx") 1u64,
             in("rdi") variable);
    }
    value
}

/// Instructions in an iteration of `loop_in_register`.
pub const LOOP_INSTRUCTIONS: u64 = 3;

/// Whether counters of the processor can be read by [`read_pmc`].
pub(in crate::kernel) const HAS_PMC_INSTRUCTION: bool = true;

/// Reads a counter of the processor (RDPMC). The fences keep earlier instructions out of what is
/// counted from here on, and later ones from being counted before.
///
/// # Safety
/// The kernel must allow it (CR4.PCE), and the counter must exist: otherwise it faults.
#[inline(always)]
pub(in crate::kernel) unsafe fn read_pmc(counter: u32) -> u64 {
    let (low, high): (u64, u64);
    // SAFETY: RDPMC and LFENCE touch no memory; the clobber keeps the compiler from moving memory
    // accesses over them. The caller guarantees that the counter may be read.
    unsafe {
        asm!("lfence", "rdpmc", "lfence", in("rcx") u64::from(counter), out("rax") low,
             out("rdx") high, options(nostack, preserves_flags));
    }
    (high << 32) | low
}

/// An empty loop of `iterations` iterations: increment, comparison, jump.
#[inline(always)]
pub(in crate::kernel) fn loop_in_register(iterations: u64) {
    // SAFETY: register arithmetic only.
    unsafe {
        asm!(".p2align 4", "2:", "add {index}, {one}", "cmp {index}, {iterations}", "jb 2b",
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
        asm!(".p2align 4", "2:", "add qword ptr [{counter}], 1",
             "cmp qword ptr [{counter}], {iterations}", "jb 2b",
             counter = in(reg) counter, iterations = in(reg) iterations, options(nostack));
    }
}

/// One addition of two registers.
#[inline(always)]
pub(in crate::kernel) fn add_in_register(mut value: u64, one: u64) -> u64 {
    // SAFETY: register arithmetic only.
    unsafe {
        asm!("add {value}, {one}", value = inout(reg) value, one = in(reg) one,
             options(nomem, nostack));
    }
    value
}

/// One addition to a variable in memory.
#[inline(always)]
pub(in crate::kernel) fn add_in_memory(variable: &mut u32) {
    // SAFETY: the variable is borrowed mutably, and nothing else is written.
    unsafe { asm!("add dword ptr [{at}], 1", at = in(reg) variable, options(nostack)) }
}

/// The signature that the kernel checks before an rseq abort address: `ud1` with this operand.
pub(in crate::kernel) const RSEQ_SIGNATURE: u32 = 0x5305_3053;

/// Core cycles of one link of [`dependent_chain`].
pub const CYCLES_PER_LINK: f64 = 3.0;

/// Whether a word of code begins with `syscall`, the bytes 0f 05.
pub(in crate::kernel) fn is_syscall_instruction(word: u64) -> bool {
    word & 0xffff == 0x050f
}
