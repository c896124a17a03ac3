//! clone(2) by the raw instruction on x86-64, for children that share the parent's memory. The
//! child's code is part of the same block of assembly, so that it writes no memory, least of all
//! the shared stack.

use std::arch::asm;

/// A child that only calls `exit(0)`. With CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID the kernel
/// keeps the child's thread id in `word`. Returns the kernel's result.
///
/// # Safety
/// `word` must be valid for as long as the child lives where the flags name it. The flags must set
/// no registers of the child (CLONE_SETTLS).
#[inline(always)]
pub(in crate::kernel) unsafe fn clone_and_exit(flags: u64, word: *mut u32) -> i64 {
    let result;
    // SAFETY: the child runs four instructions of this block and never leaves it; it uses neither
    // the stack nor memory. The caller guarantees the rest.
    unsafe {
        asm!("syscall",
             "test rax, rax",
             "jnz 2f",
             "xor edi, edi",
             "mov eax, {exit}",
             "syscall",
             "ud2",
             "2:",
             exit = const libc::SYS_exit,
             inout("rax") libc::SYS_clone => result,
             in("rdi") flags, in("rsi") 0u64, in("rdx") word, in("r10") word, in("r8") 0u64,
             out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// A child that executes a program, or exits with the errno as its status. Returns the kernel's
/// result.
///
/// # Safety
/// `path` must be NUL-terminated, `argv` and `envp` null-terminated arrays of such strings. The
/// flags must set no registers of the child and write no words.
#[inline(always)]
pub(in crate::kernel) unsafe fn clone_and_exec(
    flags: u64,
    path: *const libc::c_char,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
) -> i64 {
    let result;
    // SAFETY: as above; execve reads what the caller guarantees, and a child that it does not
    // replace exits.
    unsafe {
        asm!("syscall",
             "test rax, rax",
             "jnz 2f",
             "mov rdi, {path}",
             "mov rsi, {argv}",
             "mov rdx, {envp}",
             "mov eax, {execve}",
             "syscall",
             "neg eax",
             "mov edi, eax",
             "mov eax, {exit}",
             "syscall",
             "ud2",
             "2:",
             path = in(reg) path, argv = in(reg) argv, envp = in(reg) envp,
             execve = const libc::SYS_execve, exit = const libc::SYS_exit_group,
             inout("rax") libc::SYS_clone => result,
             in("rdi") flags, in("rsi") 0u64, in("rdx") 0u64, in("r10") 0u64, in("r8") 0u64,
             out("rcx") _, out("r11") _, options(nostack));
    }
    result
}

/// The same as [`clone_and_exit`] by clone3(2), whose arguments are a structure of so many bytes.
///
/// # Safety
/// What the structure names must be valid for as long as the child lives. Its flags must set no
/// registers of the child (CLONE_SETTLS), and it must name no stack.
#[inline(always)]
pub(in crate::kernel) unsafe fn clone3_and_exit(structure: u64, bytes: u64) -> i64 {
    let result;
    // SAFETY: the child runs four instructions of this block and never leaves it; it uses neither
    // the stack nor memory. The caller guarantees the rest.
    unsafe {
        asm!("syscall",
             "test rax, rax",
             "jnz 2f",
             "xor edi, edi",
             "mov eax, {exit}",
             "syscall",
             "ud2",
             "2:",
             exit = const libc::SYS_exit,
             inout("rax") libc::SYS_clone3 => result,
             in("rdi") structure, in("rsi") bytes,
             out("rcx") _, out("r11") _, options(nostack));
    }
    result
}
