//! clone(2) by the raw instruction on aarch64, for children that share the parent's memory. The
//! child's code is part of the same block of assembly, so that it writes no memory, least of all
//! the shared stack. Written from the manual and compiled; not yet run on hardware.

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
        asm!("svc 0",
             "cbnz x0, 2f",
             "mov x8, {exit}",
             "svc 0",
             "brk 0",
             "2:",
             exit = const libc::SYS_exit,
             in("x8") libc::SYS_clone3, inout("x0") structure => result,
             in("x1") bytes, options(nostack));
    }
    result
}
