//! Statistics: what may be said of a list of numbers, and when there are enough of them.
//!
//! What is this room for? Every figure that the tool prints passes through it: the median of a
//! case, the interval beside it, the spread, the slope over an axis, and the answer to "another
//! round?". Each function here is tested against numbers whose truth is known, at a fixed seed.
//!
//! What may it not know? Where a number came from. There is no clock here, no file, no benchmark,
//! no place and no unit: values go in, and answers in the same unit come out. It imports no other
//! room, it keeps no state but what a caller hands it, and it never repairs a value: what cannot
//! be said is `None`.
//!
//! The arguments behind the rules are in docs/explanation/METHOD.md, sections 3, 4, 8, 11 and 15.

pub mod change;
pub mod comparing;
pub mod crossing;
pub mod groups;
pub mod interval;
pub mod line;
pub mod moments;
pub mod order;
pub mod robust;
pub mod scaling;
pub mod segments;
pub mod stopping;
