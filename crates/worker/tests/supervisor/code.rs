//! The program's machine code: what was built to be timed is in the file that is shipped, whatever
//! the optimiser of a release made of it.

use std::fs;

use crate::common::worker;

/// The copies of an op in the four loops of mode U.
const COPIES: usize = 1 + 2 + 4 + 8;

/// Where a callee begins in the file: behind its name, on the next cache line. The code lies in the
/// file as it lies in memory, up to a shift by whole pages.
fn begin(program: &[u8], callee: &str) -> Option<usize> {
    const LINE: usize = 64;
    let tag = format!("callee:{callee}\0");
    let at = program.windows(tag.len()).position(|bytes| bytes == tag.as_bytes())?;
    Some((at + tag.len()).next_multiple_of(LINE))
}

/// Where the program calls the callee directly: `call rel32`, which is the byte E8 and how far
/// behind these five bytes the callee lies. That other bytes look like it is a matter of one in
/// 2^32 for each of them.
fn calls(program: &[u8], callee: usize) -> Vec<usize> {
    let leads_there = |at: usize| {
        let far = program.get(at + 1..at + 5)?;
        let far = i32::from_le_bytes(far.try_into().ok()?);
        (at + 5).checked_add_signed(far as isize)
    };
    let opcodes = program.iter().enumerate().filter(|(_, byte)| **byte == 0xe8);
    opcodes.map(|(at, _)| at).filter(|&at| leads_there(at) == Some(callee)).collect()
}

#[test]
fn the_program_holds_each_copy_of_each_call_of_the_family_procedure() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("not run here: this test reads the instructions of x86-64");
        return;
    }
    let program = fs::read(worker()).unwrap();
    // With 0 to 7 arguments that wait for nothing, 1 to 7 that do; structs of one word and of two.
    let mut expected = vec![("oscost_callee".to_owned(), (8 + 7 + 2) * COPIES)];
    expected.push(("oscost_callee_struct".to_owned(), 4 * COPIES));
    expected.push(("oscost_stub".to_owned(), 2 * COPIES));
    // Whether it waits or not, code without optimisation is the same code.
    expected.extend((0..=7).map(|args| (format!("oscost_plain_{args}"), COPIES)));
    for (callee, fewest) in expected {
        let begin = begin(&program, &callee).unwrap_or_else(|| panic!("there is no {callee}"));
        let found = calls(&program, begin).len();
        assert!(found >= fewest, "{callee} is called at {found} places, not at {fewest}");
    }
}

#[test]
fn a_call_that_is_missing_from_a_program_is_missed() {
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
    // The distance of a call to somewhere else.
    program[there[1] + 1] ^= 1;
    assert_eq!(calls(&program, stub), there[2..]);
}
