//! Calls on x86-64, as compilers emit them by the System V calling convention.
//!
//! Each call is one block of assembly, so that every copy of it is the same instructions: left to
//! the compiler, the timing would depend on which registers were free. The callees are assembly
//! too, so that no compiler can see through or inline them.

use std::arch::{asm, global_asm};

/// A callee of these lines, on its own cache lines, preceded by its name: so a test finds it in a
/// program without symbols, and counts the calls to it.
macro_rules! callee {
    ($name:literal, $($line:literal),* $(,)?) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",@progbits"),
            ".balign 64",
            concat!(".asciz \"callee:", $name, "\""),
            ".balign 64",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",@function"),
            concat!($name, ":"),
            $($line,)*
            ".popsection",
        );
    };
}

// All callees return their first argument plus one.
callee!("oscost_callee", "lea rax, [rdi + 1]", "ret");
callee!("oscost_callee_struct", "mov rax, [rsp + 8]", "add rax, 1", "ret");

/// A callee as compiled without optimisation: a frame, every argument stored from its register into
/// the frame (below the stack pointer, in the red zone of a leaf function), and the first one
/// loaded back. The seventh argument is in memory already.
macro_rules! plain_callee {
    ($name:literal, $($store:literal),*) => {
        callee!(
            $name,
            "push rbp",
            "mov rbp, rsp",
            $($store,)*
            "mov rax, [rbp - 8]",
            "add rax, 1",
            "pop rbp",
            "ret",
        );
    };
}

callee!("oscost_plain_0", "push rbp", "mov rbp, rsp", "mov eax, 1", "pop rbp", "ret");
plain_callee!("oscost_plain_1", "mov [rbp - 8], rdi");
plain_callee!("oscost_plain_2", "mov [rbp - 8], rdi", "mov [rbp - 16], rsi");
plain_callee!("oscost_plain_3", "mov [rbp - 8], rdi", "mov [rbp - 16], rsi", "mov [rbp - 24], rdx");
plain_callee!(
    "oscost_plain_4",
    "mov [rbp - 8], rdi",
    "mov [rbp - 16], rsi",
    "mov [rbp - 24], rdx",
    "mov [rbp - 32], rcx"
);
plain_callee!(
    "oscost_plain_5",
    "mov [rbp - 8], rdi",
    "mov [rbp - 16], rsi",
    "mov [rbp - 24], rdx",
    "mov [rbp - 32], rcx",
    "mov [rbp - 40], r8"
);
plain_callee!(
    "oscost_plain_6",
    "mov [rbp - 8], rdi",
    "mov [rbp - 16], rsi",
    "mov [rbp - 24], rdx",
    "mov [rbp - 32], rcx",
    "mov [rbp - 40], r8",
    "mov [rbp - 48], r9"
);
plain_callee!(
    "oscost_plain_7",
    "mov [rbp - 8], rdi",
    "mov [rbp - 16], rsi",
    "mov [rbp - 24], rdx",
    "mov [rbp - 32], rcx",
    "mov [rbp - 40], r8",
    "mov [rbp - 48], r9"
);

// The stub of a shared library's function (PLT): a jump to the address in a slot. Like the linker's
// table of such slots (GOT), this one is read-only once the program runs.
callee!("oscost_stub", "jmp qword ptr [rip + oscost_slot]");
global_asm!(
    ".pushsection .data.rel.ro.oscost_slot,\"aw\",@progbits",
    ".balign 64",
    "oscost_slot:",
    ".quad oscost_callee",
    ".popsection",
);

// Callees for a uprobe, which is placed at their first instruction: a NOP of one byte, one of five,
// and one that computes the result.
callee!("oscost_probed_nop", "nop", "lea rax, [rdi + 1]", "ret");
callee!(
    "oscost_probed_long_nop",
    ".byte 0x0f, 0x1f, 0x44, 0x00, 0x00",
    "lea rax, [rdi + 1]",
    "ret"
);
callee!("oscost_probed_lea", "lea rax, [rdi + 1]", "ret");

unsafe extern "C" {
    fn oscost_callee();
    fn oscost_callee_struct();
    fn oscost_stub();
    fn oscost_probed_nop();
    fn oscost_probed_long_nop();
    fn oscost_probed_lea();
}

/// The callee's address.
pub(in crate::kernel) fn callee() -> u64 {
    oscost_callee as *const () as u64
}

/// The addresses of the callees for a uprobe, by their first instruction: a NOP, a long NOP, an
/// arithmetic instruction.
pub(in crate::kernel) fn probed_callees() -> [Option<u64>; 3] {
    [oscost_probed_nop, oscost_probed_long_nop, oscost_probed_lea]
        .map(|callee| Some(callee as *const () as u64))
}

/// The arguments after the first: the numbers 2 to 7, as many as there are arguments.
macro_rules! constants {
    () => {
        ".if {args} > 1
         mov esi, 2
         .endif
         .if {args} > 2
         mov edx, 3
         .endif
         .if {args} > 3
         mov ecx, 4
         .endif
         .if {args} > 4
         mov r8d, 5
         .endif
         .if {args} > 5
         mov r9d, 6
         .endif
         .if {args} > 6
         sub rsp, 8
         push 7
         .endif"
    };
}

/// Frees the stack that the seventh argument took.
macro_rules! unstack {
    () => {
        ".if {args} > 6
         add rsp, 16
         .endif"
    };
}

/// Calls the callee with the first `ARGS` of the numbers 1 to 7.
#[inline(always)]
pub(in crate::kernel) fn call<const ARGS: usize>() -> u64 {
    let result;
    // SAFETY: the callee reads its first argument and writes the result register; the stack pointer
    // is restored.
    unsafe {
        asm!(".if {args} > 0", "mov edi, 1", ".endif", constants!(), "call {callee}", unstack!(),
             args = const ARGS, callee = sym oscost_callee,
             lateout("rax") result, clobber_abi("C"));
    }
    result
}

/// The same, with `last` as the first argument.
#[inline(always)]
pub(in crate::kernel) fn call_after<const ARGS: usize>(last: u64) -> u64 {
    let result;
    // SAFETY: as in `call`.
    unsafe {
        asm!("mov rdi, rax", constants!(), "call {callee}", unstack!(),
             args = const ARGS, callee = sym oscost_callee,
             inlateout("rax") last => result, clobber_abi("C"));
    }
    result
}

/// Calls the unoptimised callee of `ARGS` arguments with the first of these variables, and stores
/// its result in the one at `into`.
///
/// # Safety
/// `into` must be below 8.
#[inline(always)]
pub(in crate::kernel) unsafe fn call_unoptimised<const ARGS: usize>(
    variables: &mut [u64; 8],
    into: usize,
) {
    const { assert!(ARGS <= 7) };
    let first = variables.as_mut_ptr();
    // SAFETY: the block reads the first seven variables and writes the one at `into`, all of them
    // in the array; the callee writes into its own frame; the stack pointer is restored.
    unsafe {
        asm!(".if {args} > 6", "sub rsp, 8", "push qword ptr [r14 + 48]", ".endif",
             ".if {args} > 5", "mov r9, [r14 + 40]", ".endif",
             ".if {args} > 4", "mov r8, [r14 + 32]", ".endif",
             ".if {args} > 3", "mov rcx, [r14 + 24]", ".endif",
             ".if {args} > 2", "mov rdx, [r14 + 16]", ".endif",
             ".if {args} > 1", "mov rsi, [r14 + 8]", ".endif",
             ".if {args} > 0", "mov rdi, [r14]", ".endif",
             "call oscost_plain_{args}",
             unstack!(),
             "mov [r13], rax",
             args = const ARGS, in("r14") first, in("r13") first.wrapping_add(into),
             clobber_abi("C"));
    }
}

/// Calls the function at `pointer` with one argument.
///
/// # Safety
/// It must be [`callee()`] or one of [`probed_callees()`].
#[inline(always)]
pub(in crate::kernel) unsafe fn call_pointer(pointer: u64) -> u64 {
    let result;
    // SAFETY: the caller guarantees that this is the callee; otherwise as in `call`.
    unsafe {
        asm!("mov edi, 1", "call r14",
             in("r14") pointer, lateout("rax") result, clobber_abi("C"));
    }
    result
}

/// The same, with `last` as the argument.
///
/// # Safety
/// As in [`call_pointer`].
#[inline(always)]
pub(in crate::kernel) unsafe fn call_pointer_after(pointer: u64, last: u64) -> u64 {
    let result;
    // SAFETY: as in `call_pointer`.
    unsafe {
        asm!("mov rdi, rax", "call r14",
             in("r14") pointer, inlateout("rax") last => result, clobber_abi("C"));
    }
    result
}

/// Calls the stub with one argument.
#[inline(always)]
pub(in crate::kernel) fn call_stub() -> u64 {
    let result;
    // SAFETY: the stub jumps to the callee; otherwise as in `call`.
    unsafe {
        asm!("mov edi, 1", "call {stub}",
             stub = sym oscost_stub, lateout("rax") result, clobber_abi("C"));
    }
    result
}

/// The same, with `last` as the argument.
#[inline(always)]
pub(in crate::kernel) fn call_stub_after(last: u64) -> u64 {
    let result;
    // SAFETY: as in `call_stub`.
    unsafe {
        asm!("mov rdi, rax", "call {stub}",
             stub = sym oscost_stub, inlateout("rax") last => result, clobber_abi("C"));
    }
    result
}

/// Calls the callee with `N` words by value: in registers up to two of them, and beyond that as a
/// copy on the stack, 16 bytes at a time, as compilers copy.
#[inline(always)]
pub(in crate::kernel) fn call_with<const N: usize>(words: &[u64; N]) -> u64 {
    const { assert!(N == 1 || N == 2 || N.is_multiple_of(4) && N <= 32) };
    let result;
    if N <= 2 {
        // SAFETY: the block reads the words, which are borrowed; otherwise as in `call`.
        unsafe {
            asm!("mov rdi, [r14]", ".if {words} > 1", "mov rsi, [r14 + 8]", ".endif",
                 "call {callee}",
                 words = const N, callee = sym oscost_callee,
                 in("r14") words.as_ptr(), lateout("rax") result, clobber_abi("C"));
        }
        return result;
    }
    // SAFETY: the block reads the words, which are borrowed, and writes as much below the stack
    // pointer; the callee reads the first word of the copy; the stack pointer is restored.
    unsafe {
        asm!("sub rsp, 8 * {words}",
             ".irp at, 0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240",
             ".if \\at < 8 * {words}",
             "movups xmm0, [r14 + \\at]",
             "movups [rsp + \\at], xmm0",
             ".endif",
             ".endr",
             "call {callee}",
             "add rsp, 8 * {words}",
             words = const N, callee = sym oscost_callee_struct,
             in("r14") words.as_ptr(), lateout("rax") result, clobber_abi("C"));
    }
    result
}
