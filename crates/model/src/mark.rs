//! Marks: how a traced process tells its tracer where the counted ops begin and end.
//!
//! A mark is a prctl(2) with an option that no kernel implements, so it has no effect, but a tracer
//! and a monitor of system calls see it. The lower [`BITS`] bits of its second argument are the
//! number of the mark, the upper bits are the number of ops up to the matching mark.

/// The option: "osct" in ASCII.
pub const OPTION: u32 = 0x6f73_6374;

/// The mark before the counted ops.
pub const BEGIN: u32 = 1;
/// The mark after them.
pub const END: u32 = 2;
/// The mark before the first of two groups of ops for single-stepping. The mark of the second group
/// is the next number.
pub const SINGLE_STEP_BEGIN: u32 = 3;
/// The mark after a group of ops for single-stepping.
pub const SINGLE_STEP_END: u32 = 9;

/// The mark of a process that is about to start a program, for a counter of calls in the kernel. Its
/// third argument is the token of the counter.
pub const PROGRAM_START: u32 = 10;

/// Bits of a mark's number.
pub const BITS: u32 = 8;
