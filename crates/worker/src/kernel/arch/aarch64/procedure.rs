//! Calls on aarch64, as compilers emit them by the architecture's calling convention (AAPCS64).
//! Written from the manual and compiled; not yet run on hardware.
//!
//! Each call is one block of assembly, so that every copy of it is the same instructions. The
//! callees are assembly too, so that no compiler can see through or inline them.

use std::arch::{asm, global_asm};

/// A callee of these lines, on its own cache lines, preceded by its name.
macro_rules! callee {
    ($name:literal, $($line:literal),* $(,)?) => {
        global_asm!(
            concat!(".pushsection .text.", $name, ",\"ax\",%progbits"),
            ".balign 64",
            concat!(".asciz \"callee:", $name, "\""),
            ".balign 64",
            concat!(".globl ", $name),
            concat!(".hidden ", $name),
            concat!(".type ", $name, ",%function"),
            concat!($name, ":"),
            $($line,)*
            ".popsection",
        );
    };
}

// All callees return their first argument plus one.
callee!("oscost_callee", "add x0, x0, 1", "ret");
callee!("oscost_callee_struct", "ldr x0, [x0]", "add x0, x0, 1", "ret");

/// A callee as compiled without optimisation: a frame, every argument stored from its register into
/// the frame, and the first one loaded back.
macro_rules! plain_callee {
    ($name:literal, $($store:literal),*) => {
        callee!(
            $name,
            "sub sp, sp, 64",
            $($store,)*
            "ldr x0, [sp, 56]",
            "add x0, x0, 1",
            "add sp, sp, 64",
            "ret",
        );
    };
}

callee!("oscost_plain_0", "sub sp, sp, 16", "mov w0, 1", "add sp, sp, 16", "ret");
plain_callee!("oscost_plain_1", "str x0, [sp, 56]");
plain_callee!("oscost_plain_2", "str x0, [sp, 56]", "str x1, [sp, 48]");
plain_callee!("oscost_plain_3", "str x0, [sp, 56]", "str x1, [sp, 48]", "str x2, [sp, 40]");
plain_callee!(
    "oscost_plain_4",
    "str x0, [sp, 56]",
    "str x1, [sp, 48]",
    "str x2, [sp, 40]",
    "str x3, [sp, 32]"
);
plain_callee!(
    "oscost_plain_5",
    "str x0, [sp, 56]",
    "str x1, [sp, 48]",
    "str x2, [sp, 40]",
    "str x3, [sp, 32]",
    "str x4, [sp, 24]"
);
plain_callee!(
    "oscost_plain_6",
    "str x0, [sp, 56]",
    "str x1, [sp, 48]",
    "str x2, [sp, 40]",
    "str x3, [sp, 32]",
    "str x4, [sp, 24]",
    "str x5, [sp, 16]"
);
plain_callee!(
    "oscost_plain_7",
    "str x0, [sp, 56]",
    "str x1, [sp, 48]",
    "str x2, [sp, 40]",
    "str x3, [sp, 32]",
    "str x4, [sp, 24]",
    "str x5, [sp, 16]",
    "str x6, [sp, 8]"
);

// The stub of a shared library's function (PLT): a jump to the address in a slot.
callee!("oscost_stub", "adrp x16, oscost_slot", "ldr x17, [x16, :lo12:oscost_slot]", "br x17");
global_asm!(
    ".pushsection .data.rel.ro.oscost_slot,\"aw\",%progbits",
    ".balign 64",
    "oscost_slot:",
    ".xword oscost_callee",
    ".popsection",
);

// Callees for a uprobe, which is placed at their first instruction: a NOP, and one that computes
// the result.
callee!("oscost_probed_nop", "nop", "add x0, x0, 1", "ret");
callee!("oscost_probed_add", "add x0, x0, 1", "ret");

unsafe extern "C" {
    fn oscost_callee();
    fn oscost_callee_struct();
    fn oscost_stub();
    fn oscost_probed_nop();
    fn oscost_probed_add();
}

/// The callee's address.
pub(in crate::kernel) fn callee() -> u64 {
    oscost_callee as *const () as u64
}

/// The addresses of the callees for a uprobe, by their first instruction: a NOP, a long NOP (there
/// is none), an arithmetic instruction.
pub(in crate::kernel) fn probed_callees() -> [Option<u64>; 3] {
    let [nop, add] =
        [oscost_probed_nop, oscost_probed_add].map(|callee| callee as *const () as u64);
    [Some(nop), None, Some(add)]
}

/// The arguments after the first: the numbers 2 to 7, as many as there are arguments.
macro_rules! constants {
    () => {
        ".if {args} > 1
         mov w1, 2
         .endif
         .if {args} > 2
         mov w2, 3
         .endif
         .if {args} > 3
         mov w3, 4
         .endif
         .if {args} > 4
         mov w4, 5
         .endif
         .if {args} > 5
         mov w5, 6
         .endif
         .if {args} > 6
         mov w6, 7
         .endif"
    };
}

/// Calls the callee with the first `ARGS` of the numbers 1 to 7.
#[inline(always)]
pub(in crate::kernel) fn call<const ARGS: usize>() -> u64 {
    let result;
    // SAFETY: the callee reads its first argument and writes the register of the result.
    unsafe {
        asm!(".if {args} > 0", "mov w0, 1", ".endif", constants!(), "bl {callee}",
             args = const ARGS, callee = sym oscost_callee,
             lateout("x0") result, clobber_abi("C"));
    }
    result
}

/// The same, with `last` as the first argument, which is already in the register of the last
/// result.
#[inline(always)]
pub(in crate::kernel) fn call_after<const ARGS: usize>(last: u64) -> u64 {
    let result;
    // SAFETY: as in `call`.
    unsafe {
        asm!(constants!(), "bl {callee}", args = const ARGS, callee = sym oscost_callee,
             inlateout("x0") last => result, clobber_abi("C"));
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
    // in the array; the callee writes into its own frame.
    unsafe {
        asm!(".if {args} > 6", "ldr x6, [x20, 48]", ".endif",
             ".if {args} > 5", "ldr x5, [x20, 40]", ".endif",
             ".if {args} > 4", "ldr x4, [x20, 32]", ".endif",
             ".if {args} > 3", "ldr x3, [x20, 24]", ".endif",
             ".if {args} > 2", "ldr x2, [x20, 16]", ".endif",
             ".if {args} > 1", "ldr x1, [x20, 8]", ".endif",
             ".if {args} > 0", "ldr x0, [x20]", ".endif",
             "bl oscost_plain_{args}",
             "str x0, [x21]",
             args = const ARGS, in("x20") first, in("x21") first.wrapping_add(into),
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
    // SAFETY: the caller guarantees that this is the callee.
    unsafe {
        asm!("mov w0, 1", "blr x20",
             in("x20") pointer, lateout("x0") result, clobber_abi("C"));
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
        asm!("blr x20", in("x20") pointer, inlateout("x0") last => result, clobber_abi("C"));
    }
    result
}

/// Calls the stub with one argument.
#[inline(always)]
pub(in crate::kernel) fn call_stub() -> u64 {
    let result;
    // SAFETY: the stub jumps to the callee.
    unsafe {
        asm!("mov w0, 1", "bl {stub}",
             stub = sym oscost_stub, lateout("x0") result, clobber_abi("C"));
    }
    result
}

/// The same, with `last` as the argument.
#[inline(always)]
pub(in crate::kernel) fn call_stub_after(last: u64) -> u64 {
    let result;
    // SAFETY: as in `call_stub`.
    unsafe {
        asm!("bl {stub}", stub = sym oscost_stub,
             inlateout("x0") last => result, clobber_abi("C"));
    }
    result
}

/// Calls the callee with `N` words by value: in registers up to two of them, and beyond that as a
/// copy on the stack whose address is the argument.
#[inline(always)]
pub(in crate::kernel) fn call_with<const N: usize>(words: &[u64; N]) -> u64 {
    const { assert!(N == 1 || N == 2 || N.is_multiple_of(4) && N <= 32) };
    let result;
    if N <= 2 {
        // SAFETY: the block reads the words, which are borrowed.
        unsafe {
            asm!("ldr x0, [x20]", ".if {words} > 1", "ldr x1, [x20, 8]", ".endif",
                 "bl {callee}",
                 words = const N, callee = sym oscost_callee,
                 in("x20") words.as_ptr(), lateout("x0") result, clobber_abi("C"));
        }
        return result;
    }
    // SAFETY: the block reads the words, which are borrowed, and writes as much below the stack
    // pointer; the callee reads the first word of the copy; the stack pointer is restored.
    unsafe {
        asm!("sub sp, sp, 8 * {words}",
             ".irp at, 0, 32, 64, 96, 128, 160, 192, 224",
             ".if \\at < 8 * {words}",
             "ldp q0, q1, [x20, \\at]",
             "stp q0, q1, [sp, \\at]",
             ".endif",
             ".endr",
             "mov x0, sp",
             "bl {callee}",
             "add sp, sp, 8 * {words}",
             words = const N, callee = sym oscost_callee_struct,
             in("x20") words.as_ptr(), lateout("x0") result, clobber_abi("C"));
    }
    result
}
