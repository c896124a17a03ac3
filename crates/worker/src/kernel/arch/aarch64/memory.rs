//! Memory on aarch64: the same as for x86-64, compiled from the manual; nobody has run it yet.

use std::arch::asm;

/// The registers of a store that a handler counts by; see [`store_until_allowed`].
pub(in crate::kernel) struct FaultRegisters<'a> {
    /// Where it stores to.
    pub(in crate::kernel) address: &'a mut u64,
    /// Where it may.
    pub(in crate::kernel) allowed: &'a mut u64,
    /// How many faults are left.
    pub(in crate::kernel) left: &'a mut u64,
}

impl FaultRegisters<'_> {
    /// The registers in a signal's context.
    ///
    /// # Safety
    /// The context is the one that the kernel handed to a signal handler, and nobody else's.
    pub(in crate::kernel) unsafe fn of(context: *mut libc::ucontext_t) -> Self {
        // SAFETY: the caller vouches for the context; three registers are three places.
        unsafe {
            let registers = (&raw mut (*context).uc_mcontext.regs).cast::<u64>();
            Self {
                address: &mut *registers,
                allowed: &mut *registers.add(1),
                left: &mut *registers.add(2),
            }
        }
    }
}

/// Stores to `forbidden` until a handler, which counts X2 down at each fault, turns X0 to
/// `allowed`; hands back what the handler has left in X2.
///
/// # Safety
/// A handler does so, and `allowed` may be written.
#[inline(always)]
pub(in crate::kernel) unsafe fn store_until_allowed(
    forbidden: usize,
    allowed: usize,
    faults: u64,
) -> u64 {
    let left;
    // SAFETY: the caller vouches for the handler; the store goes to the place that it names.
    unsafe {
        asm!("strb wzr, [x0]", inout("x0") forbidden => _, in("x1") allowed,
             inout("x2") faults => left, options(nostack, preserves_flags));
    }
    left
}

/// Follows a chain of addresses: `turns` times as many loads as `copies` (1, 2, 4 or 8), each of
/// the address that the last one gave, and hands back where it has come to.
///
/// # Safety
/// Every word of the chain is the address of a word of it.
#[inline(always)]
pub(in crate::kernel) unsafe fn chase(at: usize, turns: u64, copies: u32) -> usize {
    let mut at = at;
    macro_rules! chase {
        ($($load:literal),*) => {
            // SAFETY: the caller vouches for the chain; nothing is written.
            unsafe {
                asm!("cbz {left}, 3f", ".balign 16", "2:", $($load,)*
                     "subs {left}, {left}, 1", "b.ne 2b", "3:",
                     at = inout(reg) at, left = inout(reg) turns => _,
                     options(nostack, readonly))
            }
        };
    }
    match copies {
        1 => chase!("ldr {at}, [{at}]"),
        2 => chase!("ldr {at}, [{at}]", "ldr {at}, [{at}]"),
        4 => chase!("ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]", "ldr {at}, [{at}]"),
        _ => chase!(
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]",
            "ldr {at}, [{at}]"
        ),
    }
    at
}

/// Copies byte by byte: the string instructions are too new to count on (FEAT_MOPS).
///
/// # Safety
/// Both blocks are there, and do not overlap.
#[inline(always)]
pub(in crate::kernel) unsafe fn copy_string(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller vouches for the blocks.
    unsafe {
        asm!("cbz {left}, 3f", "2:", "ldrb {byte:w}, [{from}], 1", "strb {byte:w}, [{to}], 1",
             "subs {left}, {left}, 1", "b.ne 2b", "3:",
             to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) bytes => _,
             byte = out(reg) _, options(nostack));
    }
}

/// Clears by pairs of zeros, and byte by byte what is left over.
///
/// # Safety
/// The block is there.
#[inline(always)]
pub(in crate::kernel) unsafe fn clear_string(block: *mut u8, bytes: usize) {
    // SAFETY: the caller vouches for the block.
    unsafe {
        asm!("cbz {pairs}, 3f", "2:", "stp xzr, xzr, [{to}], 16", "subs {pairs}, {pairs}, 1",
             "b.ne 2b", "3:", "cbz {left}, 5f", "4:", "strb wzr, [{to}], 1",
             "subs {left}, {left}, 1", "b.ne 4b", "5:",
             to = inout(reg) block => _, pairs = inout(reg) bytes / 16 => _,
             left = inout(reg) bytes % 16 => _, options(nostack));
    }
}

/// Reads byte by byte: for what is left over from a loop.
///
/// # Safety
/// The block is there.
#[inline(always)]
pub(in crate::kernel) unsafe fn read_string(block: *const u8, bytes: usize) {
    // SAFETY: the caller vouches for the block; nothing is written.
    unsafe {
        asm!("cbz {left}, 3f", "2:", "ldrb {byte:w}, [{from}], 1", "subs {left}, {left}, 1",
             "b.ne 2b", "3:",
             from = inout(reg) block => _, left = inout(reg) bytes => _, byte = out(reg) _,
             options(nostack, readonly));
    }
}

/// What a turn of the loops below moves.
pub(in crate::kernel) const ITERATION_BYTES: usize = 256;

/// The registers of 16 bytes are the only ones that every core has.
pub(in crate::kernel) fn has_wide_registers() -> bool {
    false
}

/// A loop over blocks of [`ITERATION_BYTES`], eight registers of 16 bytes twice a turn.
macro_rules! turns {
    ([$($turn:literal),*], $end:literal, $to:expr, $from:expr, $bytes:expr) => {
        asm!("2:", $($turn,)* "add {to}, {to}, 256", "add {from}, {from}, 256",
             "subs {left}, {left}, 256", "b.ne 2b", $end,
             to = inout(reg) $to => _, from = inout(reg) $from => _,
             left = inout(reg) $bytes => _,
             out("v0") _, out("v1") _, out("v2") _, out("v3") _,
             out("v4") _, out("v5") _, out("v6") _, out("v7") _, options(nostack))
    };
}

/// Copies by registers.
///
/// # Safety
/// Both blocks are there, do not overlap, and have a multiple of [`ITERATION_BYTES`] bytes, not 0.
pub(in crate::kernel) unsafe fn copy_wide(to: *mut u8, from: *const u8, bytes: usize, _wide: bool) {
    // SAFETY: the caller vouches for the blocks.
    unsafe {
        turns!(
            [
                "ldp q0, q1, [{from}]",
                "ldp q2, q3, [{from}, 32]",
                "ldp q4, q5, [{from}, 64]",
                "ldp q6, q7, [{from}, 96]",
                "stp q0, q1, [{to}]",
                "stp q2, q3, [{to}, 32]",
                "stp q4, q5, [{to}, 64]",
                "stp q6, q7, [{to}, 96]",
                "ldp q0, q1, [{from}, 128]",
                "ldp q2, q3, [{from}, 160]",
                "ldp q4, q5, [{from}, 192]",
                "ldp q6, q7, [{from}, 224]",
                "stp q0, q1, [{to}, 128]",
                "stp q2, q3, [{to}, 160]",
                "stp q4, q5, [{to}, 192]",
                "stp q6, q7, [{to}, 224]"
            ],
            "",
            to,
            from,
            bytes
        );
    }
}

/// Copies by registers, past the caches as far as the core takes the hint (STNP).
///
/// # Safety
/// As in [`copy_wide`]; and `to` begins at a multiple of 32.
pub(in crate::kernel) unsafe fn copy_streaming(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    _wide: bool,
) {
    // SAFETY: as in `copy_wide`.
    unsafe {
        turns!(
            [
                "ldp q0, q1, [{from}]",
                "ldp q2, q3, [{from}, 32]",
                "ldp q4, q5, [{from}, 64]",
                "ldp q6, q7, [{from}, 96]",
                "stnp q0, q1, [{to}]",
                "stnp q2, q3, [{to}, 32]",
                "stnp q4, q5, [{to}, 64]",
                "stnp q6, q7, [{to}, 96]",
                "ldp q0, q1, [{from}, 128]",
                "ldp q2, q3, [{from}, 160]",
                "ldp q4, q5, [{from}, 192]",
                "ldp q6, q7, [{from}, 224]",
                "stnp q0, q1, [{to}, 128]",
                "stnp q2, q3, [{to}, 160]",
                "stnp q4, q5, [{to}, 192]",
                "stnp q6, q7, [{to}, 224]"
            ],
            "dmb ishst",
            to,
            from,
            bytes
        );
    }
}

/// Reads into registers.
///
/// # Safety
/// The block is there, and has a multiple of [`ITERATION_BYTES`] bytes, not 0.
pub(in crate::kernel) unsafe fn read_wide(from: *const u8, bytes: usize, _wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is stored.
    unsafe {
        turns!(
            [
                "ldp q0, q1, [{from}]",
                "ldp q2, q3, [{from}, 32]",
                "ldp q4, q5, [{from}, 64]",
                "ldp q6, q7, [{from}, 96]",
                "ldp q0, q1, [{from}, 128]",
                "ldp q2, q3, [{from}, 160]",
                "ldp q4, q5, [{from}, 192]",
                "ldp q6, q7, [{from}, 224]"
            ],
            "",
            from,
            from,
            bytes
        );
    }
}

/// Writes registers, whatever is in them.
///
/// # Safety
/// As in [`read_wide`]; and the block may be written.
pub(in crate::kernel) unsafe fn write_wide(to: *mut u8, bytes: usize, _wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is loaded.
    unsafe {
        turns!(
            [
                "stp q0, q1, [{to}]",
                "stp q2, q3, [{to}, 32]",
                "stp q4, q5, [{to}, 64]",
                "stp q6, q7, [{to}, 96]",
                "stp q0, q1, [{to}, 128]",
                "stp q2, q3, [{to}, 160]",
                "stp q4, q5, [{to}, 192]",
                "stp q6, q7, [{to}, 224]"
            ],
            "",
            to,
            to,
            bytes
        );
    }
}
