//! Columns of tables of the monitor pH and its profiles.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "executable",
        means: "the program that a profile of pH is of",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "last new pair",
        means: "how many calls ago a profile learned something",
        matters: "A profile that learns nothing for long becomes normal.",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "anomalies",
        means: "calls whose predecessors the profile has not learned",
        range: "0 and more",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "call",
        means: "a system call of a profile",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "earlier calls, with how many calls earlier each was",
        means: "the predecessors that the profile has learned for the call",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "need",
        means: "what the monitor needs",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "met",
        means: "whether the machine has it",
        range: "yes or no",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "detail",
        means: "what is missing, and how to get it",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
];
