//! Columns of tables of comparisons.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "base",
        means: "the figure of the side that is compared with",
        range: "the unit of the figure",
        ..COLUMN
    },
    Word { word: "new", means: "what is compared with the base", ..COLUMN },
    Word {
        word: "ratio",
        means: "new over base, of pairs that were measured side by side",
        range: "1 is no change",
        ..COLUMN
    },
    Word {
        word: "added",
        means: "new minus base",
        range: "the unit of the figure",
        matters: "The price of the change for one op.",
        ..COLUMN
    },
    Word {
        word: "base, insn",
        means: "instructions of an op on the base",
        range: "insn/op",
        ..COLUMN
    },
    Word {
        word: "new, insn",
        means: "instructions of an op on the new side",
        range: "insn/op",
        ..COLUMN
    },
    Word {
        word: "added, insn",
        means: "instructions that the change adds to an op",
        range: "insn/op",
        ..COLUMN
    },
    Word {
        word: "work",
        means: "the verdict on the instructions of an op",
        matters: "Instructions repeat where time does not.",
        ..COLUMN
    },
    Word {
        word: "p",
        means: "the probability of such a difference where nothing changed",
        range: "0 to 1",
        ..COLUMN
    },
    Word {
        word: "q",
        means: "the p value corrected for the number of compared rows (Benjamini and Hochberg)",
        range: "0 to 1",
        matters: "Among rows with q below 0.05, one in twenty is a false discovery.",
        ..COLUMN
    },
    Word {
        word: "detectable",
        means: "the change that four of five such comparisons would have found",
        range: "% of the base",
        matters: "A smaller change may be there without being seen.",
        action: "Measure longer, or more pairs.",
        ..COLUMN
    },
    Word {
        word: "pairs",
        means: "how often both sides were measured together; of pH, learned pairs of calls",
        range: "6 and more for a verdict",
        ..COLUMN
    },
    Word { word: "why", means: "why there is no verdict, or what explains the change", ..COLUMN },
];
