//! The program's machine code: the calls that are to be timed are in the released file, in spite of
//! the optimiser.

use std::fs;

use crate::common::worker;

/// The number of ops in the four loops of mode U.
const UNROLLED_OPS: usize = 1 + 2 + 4 + 8;

/// The offset of a callee in the file: after its name, at the next cache line. Offsets in the file
/// and addresses in memory differ by whole pages.
fn begin(program: &[u8], callee: &str) -> Option<usize> {
    const LINE: usize = 64;
    let tag = format!("callee:{callee}\0");
    let at = program.windows(tag.len()).position(|bytes| bytes == tag.as_bytes())?;
    Some((at + tag.len()).next_multiple_of(LINE))
}

/// The offsets of direct calls of the callee: `call rel32` is the byte E8 and the distance from the
/// end of these five bytes to the callee. Other bytes match with a probability of 2^-32 each.
fn calls(program: &[u8], callee: usize) -> Vec<usize> {
    let leads_there = |at: usize| {
        let offset = program.get(at + 1..at + 5)?;
        let offset = i32::from_le_bytes(offset.try_into().ok()?);
        (at + 5).checked_add_signed(offset as isize)
    };
    let opcodes = program.iter().enumerate().filter(|(_, byte)| **byte == 0xe8);
    opcodes.map(|(at, _)| at).filter(|&at| leads_there(at) == Some(callee)).collect()
}

#[test]
fn the_program_contains_every_unrolled_call_of_the_family_procedure() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("not run here: this test reads the instructions of x86-64");
        return;
    }
    let program = fs::read(worker()).unwrap();
    // 0 to 7 independent arguments, 1 to 7 dependent ones; structs of one word and of two.
    let mut expected = vec![("oscost_callee".to_owned(), (8 + 7 + 2) * UNROLLED_OPS)];
    expected.push(("oscost_callee_struct".to_owned(), 4 * UNROLLED_OPS));
    expected.push(("oscost_stub".to_owned(), 2 * UNROLLED_OPS));
    // Unoptimised code is the same for both.
    expected.extend((0..=7).map(|args| (format!("oscost_plain_{args}"), UNROLLED_OPS)));
    for (callee, fewest) in expected {
        let begin = begin(&program, &callee).unwrap_or_else(|| panic!("there is no {callee}"));
        let found = calls(&program, begin).len();
        assert!(found >= fewest, "{callee} is called at {found} places, not at {fewest}");
    }
}

#[test]
fn a_missing_call_is_noticed() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("not run here: this test reads the instructions of x86-64");
        return;
    }
    let mut program = fs::read(worker()).unwrap();
    assert_eq!(begin(&program, "oscost_plain_8"), None);
    let stub = begin(&program, "oscost_stub").unwrap();
    let there = calls(&program, stub);
    program[there[0]] = 0x90; // nop
    assert_eq!(calls(&program, stub), there[1..]);
    // The distance of a call to another address.
    program[there[1] + 1] ^= 1;
    assert_eq!(calls(&program, stub), there[2..]);
}
