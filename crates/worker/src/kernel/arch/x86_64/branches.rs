//! A run of branches as x86-64 code: 16 bytes each, each taken if its own bit is set.

/// Branches whose direction bits come from one word.
const BRANCHES_PER_WORD: usize = 64;

/// xor eax, eax: the count of branches not taken.
const BEGIN: [u8; 2] = [0x31, 0xC0];
/// mov rdi, \[rsi\]; add rsi, 8; a nop of nine bytes: the next word of direction bits.
const NEXT_WORD: [u8; 16] = [
    0x48, 0x8B, 0x3E, 0x48, 0x83, 0xC6, 0x08, 0x66, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
];
/// add rdi, rdi; jc over the next; inc rax; a nop of eight bytes: shifts out the word's highest
/// bit, and where it is set skips counting a branch not taken.
const BRANCH: [u8; 16] = [
    0x48, 0x01, 0xFF, 0x72, 0x03, 0x48, 0xFF, 0xC0, 0x0F, 0x1F, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00,
];
/// ret.
const END: [u8; 1] = [0xC3];

/// The code: a C function of (unused, direction words) that returns how many branches were not
/// taken.
pub(in crate::kernel) fn code(branches: usize) -> Vec<u8> {
    let mut code = BEGIN.to_vec();
    for branch in 0..branches {
        if branch % BRANCHES_PER_WORD == 0 {
            code.extend(NEXT_WORD);
        }
        code.extend(BRANCH);
    }
    code.extend(END);
    code
}

/// Makes newly written code executable: nothing to do, x86-64 keeps its caches coherent.
///
/// # Safety
/// The range must be mapped.
pub(in crate::kernel) unsafe fn publish(_code: *const u8, _bytes: usize) {}
