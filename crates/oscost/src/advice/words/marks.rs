//! Marks in tables, and the lines below the figures of curves.

use super::word::{Kind, Word};

const MARK: Word = Word::of(Kind::Mark);
const LINE: Word = Word::of(Kind::CurveLine);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "?",
        means: "not known: a cost whose class may be the neighbouring one (`heavy?`), or calls that \
                were not counted",
        action: "`oscost explain CLASS_BORDERLINE`; `oscost report RUN` has the reason of a count.",
        ..MARK
    },
    Word {
        word: "!",
        means: "an op makes other system calls than its definition names (`!2`)",
        matters: "The figure may not be that of its name (CALLS_UNEXPECTED).",
        action: "`oscost explain CASE` counts the calls here.",
        ..MARK
    },
    Word {
        word: "-",
        means: "no value: it was not measured, or there is none; on a command line standard input \
                or output; in `oscost list` a case that is not in the price list",
        ..MARK
    },
    Word { word: "=", means: "both sides have the same amount in every pair", ..MARK },
    Word {
        word: "n/a",
        means: "not available: the timer has no such property, or it cannot be observed",
        matters: "The letter behind it refers to the reason below the table: `n/a(a)`.",
        ..MARK
    },
    Word {
        word: "<",
        means: "below: the figure cannot be told from zero, and the bound is given",
        action: "`oscost explain BELOW_DETECTION`.",
        ..MARK
    },
    Word {
        word: "<=",
        means: "at most: the program's own peak memory cannot be told from that of the process which \
                starts it",
        action: "`oscost explain MEMORY_BOUND`.",
        ..MARK
    },
    Word { word: ">", means: "above; at the end of a drawing, a ratio beyond its scale", ..MARK },
    Word {
        word: "exact",
        means: "all repetitions counted the same number",
        matters: "A difference of a single instruction is real.",
        ..MARK
    },
    Word {
        word: "not exact",
        means: "repetitions counted different numbers: their range is given",
        matters: "A difference within the range shows nothing.",
        action: "`oscost explain NOT_EXACT`.",
        ..MARK
    },
    Word {
        word: "not counted",
        means: "there is no count of the row in the unit that was asked for",
        action: "`oscost run --counters` counts, where the machine has counters.",
        ..MARK
    },
    Word {
        word: "cut short",
        means: "of a run: it ended before all was measured, by a signal or by its time",
        matters: "What was measured is kept; rows may have no interval.",
        action: "Measure again, with more time (`--budget SECONDS`).",
        ..MARK
    },
    Word {
        word: "borderline",
        means: "of a row: its cost may as well belong to the group that is named",
        ..MARK
    },
    Word {
        word: "+- at most",
        means: "the widest half of an interval of the points of a curve",
        range: "per cent of the figure",
        ..LINE
    },
    Word {
        word: "fixed",
        means: "the part of the cost that does not grow, by the law of the curve",
        range: "the unit of the figures",
        ..LINE
    },
    Word {
        word: "per",
        means: "what each further byte, descriptor or other item adds, by the law of the curve",
        range: "the unit of the figures",
        ..LINE
    },
    Word {
        word: "+-",
        means: "half of the interval of the line above it",
        range: "the unit of the figures",
        ..LINE
    },
    Word {
        word: "grows as",
        means: "the law that the curve follows: 1 is constant, N in proportion, log N by a constant \
                for each doubling; `~` the nearest of a curve that follows none",
        range: "`1`, `log N`, `N`, `N log N`, `N^2`, `N^3`",
        ..LINE
    },
    Word {
        word: "log N",
        means: "law of a curve: each doubling of the number adds the same",
        ..LINE
    },
    Word { word: "N", means: "law of a curve: in proportion to the number", ..LINE },
    Word {
        word: "N log N",
        means: "law of a curve: a little more than in proportion to the number",
        ..LINE
    },
    Word {
        word: "N^2",
        means: "law of a curve: four times as much for each doubling of the number",
        ..LINE
    },
    Word {
        word: "N^3",
        means: "law of a curve: eight times as much for each doubling of the number",
        ..LINE
    },
];
