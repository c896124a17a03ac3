//! Memory on x86-64: chains of loads, blocks moved by loops of known instructions, a store that
//! faults. Whatever is fast here is assembly, so that no compiler's choice is measured.

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
            let registers = &raw mut (*context).uc_mcontext.gregs;
            let register = |which: i32| &mut *registers.cast::<u64>().add(which as usize);
            Self {
                address: register(libc::REG_RDI),
                allowed: register(libc::REG_RSI),
                left: register(libc::REG_RCX),
            }
        }
    }
}

/// Stores to `forbidden` until a handler, which decrements RCX at each fault, sets RDI to
/// `allowed`; returns what the handler left in RCX.
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
        asm!("mov byte ptr [rdi], 1",
             inout("rdi") forbidden => _, in("rsi") allowed, inout("rcx") faults => left,
             options(nostack, preserves_flags));
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
                asm!("test {left}, {left}", "jz 3f", ".balign 16", "2:", $($load,)*
                     "dec {left}", "jnz 2b", "3:",
                     at = inout(reg) at, left = inout(reg) iterations => _,
                     options(nostack, readonly))
            }
        };
    }
    match copies {
        1 => chase!("mov {at}, [{at}]"),
        2 => chase!("mov {at}, [{at}]", "mov {at}, [{at}]"),
        4 => chase!("mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]", "mov {at}, [{at}]"),
        _ => chase!(
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]",
            "mov {at}, [{at}]"
        ),
    }
    at
}

/// Copies by `rep movsb`.
///
/// # Safety
/// Both blocks are valid for `bytes` bytes and do not overlap.
#[inline(always)]
pub(in crate::kernel) unsafe fn copy_string(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller guarantees the blocks; the direction flag is clear by convention.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") bytes => _,
             options(nostack, preserves_flags));
    }
}

/// Clears by `rep stosb`.
///
/// # Safety
/// The block is valid for `bytes` bytes.
#[inline(always)]
pub(in crate::kernel) unsafe fn clear_string(block: *mut u8, bytes: usize) {
    // SAFETY: as in `copy_string`.
    unsafe {
        asm!("rep stosb", inout("rdi") block => _, inout("rcx") bytes => _, in("al") 0u8,
             options(nostack, preserves_flags));
    }
}

/// Reads byte by byte, by `rep lodsb`: for the remainder of a loop.
///
/// # Safety
/// The block is valid for `bytes` bytes.
#[inline(always)]
pub(in crate::kernel) unsafe fn read_string(block: *const u8, bytes: usize) {
    // SAFETY: as in `copy_string`; nothing is written.
    unsafe {
        asm!("rep lodsb", inout("rsi") block => _, inout("rcx") bytes => _, out("al") _,
             options(nostack, preserves_flags, readonly));
    }
}

/// Bytes that an iteration of the loops below moves.
pub(in crate::kernel) const ITERATION_BYTES: usize = 256;

/// Whether registers of 32 bytes are available; otherwise the loops use those of 16, which always
/// are.
pub(in crate::kernel) fn has_wide_registers() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// A loop over blocks of [`ITERATION_BYTES`]: eight registers of 32 bytes, or of 16 twice, an
/// iteration.
macro_rules! iterations {
    ($wide:expr, $load:ident $store:ident $end:literal, $to:expr, $from:expr, $bytes:expr) => {
        if $wide {
            iterations!(@ wide_iteration!($load $store), concat!("vzeroupper\n", $end), $to, $from, $bytes)
        } else {
            iterations!(@ narrow_iteration!($load $store), $end, $to, $from, $bytes)
        }
    };
    (@ $body:expr, $end:expr, $to:expr, $from:expr, $bytes:expr) => {
        asm!("2:", $body, "add {to}, 256", "add {from}, 256", "sub {left}, 256", "jnz 2b", $end,
             to = inout(reg) $to => _, from = inout(reg) $from => _,
             left = inout(reg) $bytes => _,
             out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
             out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _, options(nostack))
    };
}

/// Eight registers of 32 bytes: loaded, then stored.
macro_rules! wide_iteration {
    ($($act:ident)*) => {
        concat!($(
            wide_iteration!(@ $act "0"), wide_iteration!(@ $act "1"), wide_iteration!(@ $act "2"),
            wide_iteration!(@ $act "3"), wide_iteration!(@ $act "4"), wide_iteration!(@ $act "5"),
            wide_iteration!(@ $act "6"), wide_iteration!(@ $act "7"),
        )*)
    };
    (@ none $which:literal) => { "" };
    (@ load $which:literal) => { concat!("vmovdqu ymm", $which, ", [{from} + 32*", $which, "]\n") };
    (@ store $which:literal) => { concat!("vmovdqu [{to} + 32*", $which, "], ymm", $which, "\n") };
    (@ stream $which:literal) => {
        concat!("vmovntdq [{to} + 32*", $which, "], ymm", $which, "\n")
    };
}

/// Eight registers of 16 bytes: loaded, then stored, and once more.
macro_rules! narrow_iteration {
    ($load:ident $store:ident) => {
        concat!(
            narrow_iteration!("0" $load), narrow_iteration!("0" $store),
            narrow_iteration!("128" $load), narrow_iteration!("128" $store),
        )
    };
    ($from:literal $act:ident) => {
        concat!(
            narrow_iteration!(@ $act "0" $from), narrow_iteration!(@ $act "1" $from),
            narrow_iteration!(@ $act "2" $from), narrow_iteration!(@ $act "3" $from),
            narrow_iteration!(@ $act "4" $from), narrow_iteration!(@ $act "5" $from),
            narrow_iteration!(@ $act "6" $from), narrow_iteration!(@ $act "7" $from),
        )
    };
    (@ none $which:literal $at:literal) => { "" };
    (@ load $which:literal $at:literal) => {
        concat!("movdqu xmm", $which, ", [{from} + 16*", $which, " + ", $at, "]\n")
    };
    (@ store $which:literal $at:literal) => {
        concat!("movdqu [{to} + 16*", $which, " + ", $at, "], xmm", $which, "\n")
    };
    (@ stream $which:literal $at:literal) => {
        concat!("movntdq [{to} + 16*", $which, " + ", $at, "], xmm", $which, "\n")
    };
}

/// Copies by registers.
///
/// # Safety
/// Both blocks are valid, do not overlap, and are a multiple of [`ITERATION_BYTES`] bytes long, not
/// 0.
pub(in crate::kernel) unsafe fn copy_wide(to: *mut u8, from: *const u8, bytes: usize, wide: bool) {
    // SAFETY: the caller guarantees the blocks; registers of 32 bytes are used only where
    // available.
    unsafe {
        iterations!(wide, load store "", to, from, bytes);
    }
}

/// Copies by registers with non-temporal stores, followed by a fence.
///
/// # Safety
/// As in [`copy_wide`]; and `to` begins at a multiple of 32.
pub(in crate::kernel) unsafe fn copy_streaming(
    to: *mut u8,
    from: *const u8,
    bytes: usize,
    wide: bool,
) {
    // SAFETY: as in `copy_wide`.
    unsafe {
        iterations!(wide, load stream "sfence", to, from, bytes);
    }
}

/// Reads into registers.
///
/// # Safety
/// The block is valid and a multiple of [`ITERATION_BYTES`] bytes long, not 0.
pub(in crate::kernel) unsafe fn read_wide(from: *const u8, bytes: usize, wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is stored.
    unsafe {
        iterations!(wide, load none "", from, from, bytes);
    }
}

/// Writes whatever the registers hold.
///
/// # Safety
/// As in [`read_wide`]; and the block may be written.
pub(in crate::kernel) unsafe fn write_wide(to: *mut u8, bytes: usize, wide: bool) {
    // SAFETY: as in `copy_wide`; nothing is loaded.
    unsafe {
        iterations!(wide, none store "", to, to, bytes);
    }
}
