//! The forms of acts of one process.

use super::super::acts::{Act, CALLS, MAX_RATIO, PLAIN};
use super::super::pairs::Bar;
use super::super::tools::{Argument, Place};

/// Defaults of a call. A loop in C calls a function, or keeps its arguments in memory: what that
/// makes differ is a nanosecond, of ops that may take two.
const CALL: Act =
    Act { program: CALLS, bar: Bar { ratio: MAX_RATIO, difference_ns: 1.0 }, ..PLAIN };

/// The entry path of most of them.
pub(super) const RAW: &str = "by the raw instruction";

/// A call whose loop takes no argument.
pub(super) const fn call(
    case: &'static str,
    name: &'static str,
    op_words: &'static [&'static str],
) -> Act {
    Act { case, op_words, c_loop: (name, Argument::Nothing), ..CALL }
}

/// A call whose loop is told a size, a number or a kind.
pub(super) const fn with_word(
    case: &'static str,
    name: &'static str,
    word: &'static str,
    op_words: &'static [&'static str],
) -> Act {
    Act { case, op_words, c_loop: (name, Argument::Word(word)), ..CALL }
}

/// A call on files, which the loop makes at a place.
pub(super) const fn in_folder(
    case: &'static str,
    name: &'static str,
    place: Place,
    word: &'static str,
    op_words: &'static [&'static str],
) -> Act {
    Act { case, op_words, c_loop: (name, Argument::At(place, word)), ..CALL }
}
