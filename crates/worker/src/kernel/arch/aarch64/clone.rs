//! clone(2) by the bare instruction on aarch64, for children that share the parent's memory: what
//! such a child does is part of the same block of assembly, so that it writes no memory, the stack
//! that it shares least of all. Compiled from the manual; nobody has run it yet.

use std::arch::asm;

/// A child that does nothing but end: `exit(0)`. With CLONE_PARENT_SETTID and CLONE_CHILD_CLEARTID
/// the kernel keeps the child's number in `word`. The result is the kernel's.
///
/// # Safety
/// `word` must be valid for as long as the child lives where the flags name it. The flags must set
/// no registers of the child's (CLONE_SETTLS).
#[inline(always)]
pub(in crate::kernel) unsafe fn clone_and_exit(flags: u64, word: *mut u32) -> i64 {
    let result;
    // SAFETY: the child runs four instructions of this block and never leaves it; it uses neither
    // the stack nor memory. The caller vouches for the rest.
    unsafe {
        asm!("svc 0",
             "cbnz x0, 2f",
             "mov x8, {exit}",
             "svc 0",
             "brk 0",
             "2:",
             exit = const libc::SYS_exit,
             in("x8") libc::SYS_clone, inout("x0") flags => result,
             in("x1") 0u64, in("x2") word, in("x3") 0u64, in("x4") word, options(nostack));
    }
    result
}

/// A child that starts a program, or ends with the error as its status. The result is the kernel's.
///
/// # Safety
/// `path` must be a string with an end, `argv` and `envp` arrays of such strings that end with a
/// null. The flags must set no registers of the child's and write no words.
#[inline(always)]
pub(in crate::kernel) unsafe fn clone_and_exec(
    flags: u64,
    path: *const libc::c_char,
    argv: *const *const libc::c_char,
    envp: *const *const libc::c_char,
) -> i64 {
    let result;
    // SAFETY: as above; execve reads what the caller vouches for, and a child that it does not
    // replace ends.
    unsafe {
        asm!("svc 0",
             "cbnz x0, 2f",
             "mov x0, {path}",
             "mov x1, {argv}",
             "mov x2, {envp}",
             "mov x8, {execve}",
             "svc 0",
             "neg x0, x0",
             "mov x8, {exit}",
             "svc 0",
             "brk 0",
             "2:",
             path = in(reg) path, argv = in(reg) argv, envp = in(reg) envp,
             execve = const libc::SYS_execve, exit = const libc::SYS_exit_group,
             in("x8") libc::SYS_clone, inout("x0") flags => result,
             in("x1") 0u64, in("x2") 0u64, in("x3") 0u64, in("x4") 0u64, options(nostack));
    }
    result
}
