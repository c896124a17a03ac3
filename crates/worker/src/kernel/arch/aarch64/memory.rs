//! Memory on aarch64, the counterpart of x86-64. Written from the manual and compiled; not yet run
//! on hardware.

use std::arch::asm;

/// The registers of a faulting store by which a handler counts; see [`store_until_allowed`].
pub(in crate::kernel) struct FaultRegisters<'a> {
    /// The address it stores to.
    pub(in crate::kernel) address: &'a mut u64,
    /// The address that may be written.
    pub(in crate::kernel) allowed: &'a mut u64,
    /// Faults still to take.
    pub(in crate::kernel) left: &'a mut u64,
}

impl FaultRegisters<'_> {
    /// The registers in a signal's context.
    ///
    /// # Safety
    /// The context is the one that the kernel passed to a signal handler, and is not aliased.
    pub(in crate::kernel) unsafe fn of(context: *mut libc::ucontext_t) -> Self {
        // SAFETY: the caller guarantees the context; three registers are three distinct words.
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

/// Stores to `forbidden` until a handler, which decrements X2 at each fault, sets X0 to `allowed`;
/// returns what the handler left in X2.
///
/// # Safety
/// Such a handler is installed, and `allowed` may be written.
#[inline(always)]
pub(in crate::kernel) unsafe fn store_until_allowed(
    forbidden: usize,
    allowed: usize,
    faults: u64,
) -> u64 {
    let left;
    // SAFETY: the caller guarantees the handler; the store goes to the address that it sets.
    unsafe {
        asm!("strb wzr, [x0]", inout("x0") forbidden => _, in("x1") allowed,
             inout("x2") faults => left, options(nostack, preserves_flags));
    }
    left
}

/// Follows a chain of addresses: `iterations` iterations of `copies` (1, 2, 4 or 8) loads, each of
/// the address that the last one gave. Returns the last address.
///
/// # Safety
/// Every word of the chain is the address of a word of the chain.
#[inline(always)]
pub(in crate::kernel) unsafe fn chase(at: usize, iterations: u64, copies: u32) -> usize {
    let mut at = at;
    macro_rules! chase {
        ($($load:literal),*) => {
            // SAFETY: the caller guarantees the chain; nothing is written.
            unsafe {
                asm!("cbz {left}, 3f", ".balign 16", "2:", $($load,)*
                     "subs {left}, {left}, 1", "b.ne 2b", "3:",
                     at = inout(reg) at, left = inout(reg) iterations => _,
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

/// Copies byte by byte: FEAT_MOPS, the string instructions, is too new to rely on.
///
/// # Safety
/// Both blocks are valid for `bytes` bytes and do not overlap.
#[inline(always)]
pub(in crate::kernel) unsafe fn copy_string(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller guarantees the blocks.
    unsafe {
        asm!("cbz {left}, 3f", "2:", "ldrb {byte:w}, [{from}], 1", "strb {byte:w}, [{to}], 1",
             "subs {left}, {left}, 1", "b.ne 2b", "3:",
             to = inout(reg) to => _, from = inout(reg) from => _, left = inout(reg) bytes => _,
             byte = out(reg) _, options(nostack));
    }
}

/// Clears by pairs of zero registers, and the remainder byte by byte.
///
/// # Safety
/// The block is there.
#[inline(always)]
pub(in crate::kernel) unsafe fn clear_string(block: *mut u8, bytes: usize) {
    // SAFETY: the caller guarantees the block.
    unsafe {
        asm!("cbz {pairs}, 3f", "2:", "stp xzr, xzr, [{to}], 16", "subs {pairs}, {pairs}, 1",
             "b.ne 2b", "3:", "cbz {left}, 5f", "4:", "strb wzr, [{to}], 1",
             "subs {left}, {left}, 1", "b.ne 4b", "5:",
             to = inout(reg) block => _, pairs = inout(reg) bytes / 16 => _,
             left = inout(reg) bytes % 16 => _, options(nostack));
    }
}

/// Reads byte by byte: for the remainder of a loop.
///
/// # Safety
/// The block is there.
#[inline(always)]
pub(in crate::kernel) unsafe fn read_string(block: *const u8, bytes: usize) {
    // SAFETY: the caller guarantees the block; nothing is written.
    unsafe {
        asm!("cbz {left}, 3f", "2:", "ldrb {byte:w}, [{from}], 1", "subs {left}, {left}, 1",
             "b.ne 2b", "3:",
             from = inout(reg) block => _, left = inout(reg) bytes => _, byte = out(reg) _,
             options(nostack, readonly));
    }
}

/// Bytes that an iteration of the loops below moves.
pub(in crate::kernel) const ITERATION_BYTES: usize = 256;

/// Whether wider registers than 16 bytes are available: not used here, since only those are in
/// every core.
pub(in crate::kernel) fn has_wide_registers() -> bool {
    false
}

/// A loop over blocks of [`ITERATION_BYTES`], eight registers of 16 bytes twice an iteration.
macro_rules! iterations {
    ([$($body:literal),*], $end:literal, $to:expr, $from:expr, $bytes:expr) => {
        asm!("2:", $($body,)* "add {to}, {to}, 256", "add {from}, {from}, 256",
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
/// Both blocks are valid, do not overlap, and are a multiple of [`ITERATION_BYTES`] bytes long, not
/// 0.
pub(in crate::kernel) unsafe fn copy_wide(to: *mut u8, from: *const u8, bytes: usize, _wide: bool) {
    // SAFETY: the caller guarantees the blocks.
    unsafe {
        iterations!(
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

/// Copies by registers with non-temporal stores, as far as the core takes the hint (STNP).
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
        iterations!(
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
/// The block is valid and a multiple of [`ITERATION_BYTES`] bytes long, not 0.
pub(in crate::kernel) unsafe fn read_wide(from: *const u8, bytes: usize, _wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is stored.
    unsafe {
        iterations!(
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

/// Writes whatever the registers hold.
///
/// # Safety
/// As in [`read_wide`]; and the block may be written.
pub(in crate::kernel) unsafe fn write_wide(to: *mut u8, bytes: usize, _wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is loaded.
    unsafe {
        iterations!(
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
