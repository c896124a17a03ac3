//! A run of branches as aarch64 code: 16 bytes each, each taken if its own bit is set.

use std::arch::asm;

/// Branches whose direction bits come from one word.
const BRANCHES_PER_WORD: usize = 64;

/// mov x0, #0: the count of branches not taken.
const BEGIN: u32 = 0xD280_0000;
/// ldr x2, [x1], #8: the next word of direction bits.
const NEXT_WORD: u32 = 0xF840_8422;
/// adds x2, x2, x2; b.cs over the next; add x0, x0, #1; nop: shifts out the word's highest bit, and
/// where it is set skips counting a branch not taken.
const BRANCH: [u32; 4] = [0xAB02_0042, 0x5400_0042, 0x9100_0400, 0xD503_201F];
/// ret.
const END: u32 = 0xD65F_03C0;

/// The code: a C function of (unused, direction words) that returns how many branches were not
/// taken.
pub(in crate::kernel) fn code(branches: usize) -> Vec<u8> {
    let mut code = vec![BEGIN];
    for branch in 0..branches {
        if branch % BRANCHES_PER_WORD == 0 {
            code.push(NEXT_WORD);
        }
        code.extend(BRANCH);
    }
    code.push(END);
    code.into_iter().flat_map(u32::to_le_bytes).collect()
}

/// Makes newly written code executable: cleans the data cache to the point of unification and
/// invalidates the instruction cache.
///
/// # Safety
/// The range must be mapped.
pub(in crate::kernel) unsafe fn publish(code: *const u8, bytes: usize) {
    /// The shortest line of either cache.
    const LINE: usize = 16;
    // SAFETY: both instructions act on lines of a mapped range and change no value.
    unsafe {
        for line in (0..bytes).step_by(LINE) {
            asm!("dc cvau, {}", in(reg) code.add(line), options(nostack, preserves_flags));
        }
        asm!("dsb ish", options(nostack, preserves_flags));
        for line in (0..bytes).step_by(LINE) {
            asm!("ic ivau, {}", in(reg) code.add(line), options(nostack, preserves_flags));
        }
        asm!("dsb ish", "isb", options(nostack, preserves_flags));
    }
}
