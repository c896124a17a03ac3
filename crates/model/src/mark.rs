//! Marks: how a counted copy tells whoever counts its calls where the counted ones begin and end.
//!
//! A mark is a prctl(2) with an option that no kernel knows, which does nothing: a tracer sees it,
//! and so does a monitor of calls. Its second argument is a number of [`BITS`] bits, and above them
//! how many ops there were, or will be, between this mark and its like.

/// The option: "osct" in ASCII.
pub const OPTION: u32 = 0x6f73_6374;

/// The mark before the counted ops.
pub const BEGIN: u32 = 1;
/// The mark after them.
pub const END: u32 = 2;
/// The mark before the first of two walks: ops that a tracer may step through, one instruction at a
/// time. The second walk's mark is the next number.
pub const SINGLE_STEP_BEGIN: u32 = 3;
/// The mark after a walk.
pub const SINGLE_STEP_END: u32 = 9;

/// Bits of a mark's number.
pub const BITS: u32 = 8;
