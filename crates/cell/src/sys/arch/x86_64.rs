//! x86-64.

use std::arch::{asm, global_asm};

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

    /// Reads the counter without any order: only for finding gaps and the counter's step.
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

    /// Why the processor itself says that its counter is no clock; `None` when it is one.
    pub fn declared_unusable() -> Option<String> {
        let highest = __get_cpuid_max(0x8000_0000).0;
        // Leaves beyond the highest one answer with another leaf's bits.
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
pub(in crate::sys) unsafe fn syscall(number: i64, args: [u64; 6]) -> i64 {
    let result;
    // SAFETY: the caller vouches for the arguments; the instruction itself writes RCX and R11.
    unsafe {
        asm!("syscall", inlateout("rax") number => result,
             in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
             in("r10") args[3], in("r8") args[4], in("r9") args[5],
             lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
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
        asm!("syscall", inlateout("rax") number => result,
             lateout("rcx") _, lateout("r11") _, options(nostack, preserves_flags));
    }
    result
}

// The callee of `procedure/call`: it hands back its first argument and one. Written as assembly, so
// that no compiler can see through it or inline it.
global_asm!(
    ".pushsection .text.oscost_callee,\"ax\",@progbits",
    ".balign 64",
    ".globl oscost_callee",
    ".hidden oscost_callee",
    ".type oscost_callee,@function",
    "oscost_callee:",
    "lea rax, [rdi + 1]",
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
                asm!($($line,)* callee = sym oscost_callee, inout("rax") result,
                     clobber_abi("C"))
            }
        };
    }
    match (ARGS, DEPENDENT) {
        (0, _) => call!("call {callee}"),
        (1, false) => call!("mov edi, 1", "call {callee}"),
        (1, true) => call!("mov rdi, rax", "call {callee}"),
        (2, false) => call!("mov edi, 1", "mov esi, 2", "call {callee}"),
        (2, true) => call!("mov rdi, rax", "mov esi, 2", "call {callee}"),
        (3, false) => call!("mov edi, 1", "mov esi, 2", "mov edx, 3", "call {callee}"),
        (3, true) => call!("mov rdi, rax", "mov esi, 2", "mov edx, 3", "call {callee}"),
        (4, false) => {
            call!("mov edi, 1", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "call {callee}")
        }
        (4, true) => {
            call!("mov rdi, rax", "mov esi, 2", "mov edx, 3", "mov ecx, 4", "call {callee}")
        }
        (5, false) => call!(
            "mov edi, 1",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "call {callee}"
        ),
        (5, true) => call!(
            "mov rdi, rax",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "call {callee}"
        ),
        (6, false) => call!(
            "mov edi, 1",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "mov r9d, 6",
            "call {callee}"
        ),
        (6, true) => call!(
            "mov rdi, rax",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "mov r9d, 6",
            "call {callee}"
        ),
        (_, false) => call!(
            "mov edi, 1",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "mov r9d, 6",
            "sub rsp, 8",
            "push 7",
            "call {callee}",
            "add rsp, 16"
        ),
        (_, true) => call!(
            "mov rdi, rax",
            "mov esi, 2",
            "mov edx, 3",
            "mov ecx, 4",
            "mov r8d, 5",
            "mov r9d, 6",
            "sub rsp, 8",
            "push 7",
            "call {callee}",
            "add rsp, 16"
        ),
    }
    result
}

/// A chain of dependent multiplications: `links` of them, three core cycles each.
///
/// IMUL r64 has had a latency of three cycles on every core since 2008 (Intel) and 2017 (AMD), and
/// it is never folded away at rename, as additions of constants are on newer cores.
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

/// What the kernel wants to find before an rseq abort address: `ud1` with this operand.
pub(in crate::sys) const RSEQ_SIGNATURE: u32 = 0x5305_3053;

/// Core cycles of one link of [`dependent_chain`].
pub const CYCLES_PER_LINK: f64 = 3.0;

/// Whether a word of code begins with `syscall`, the bytes 0f 05.
pub(in crate::sys) fn begins_with_system_call(word: u64) -> bool {
    word & 0xffff == 0x050f
}
