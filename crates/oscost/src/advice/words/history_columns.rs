//! Columns of tables of histories.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "since",
        means: "the first run with the new figure",
        range: "a date",
        source: "docs/explanation/METHOD.md, section 15",
        ..COLUMN
    },
    Word { word: "was", means: "the figure before the change", ..COLUMN },
    Word { word: "times", means: "new figure over the old one", range: "1 is no change", ..COLUMN },
    Word { word: "from", means: "the figure before the change", ..COLUMN },
    Word { word: "to", means: "the figure after the change", ..COLUMN },
    Word {
        word: "last run before",
        means: "the last run with the old figure",
        action: "`oscost runs show ID`.",
        ..COLUMN
    },
    Word {
        word: "first run after",
        means: "the first run with the new figure",
        action: "`oscost runs show ID`.",
        ..COLUMN
    },
    Word {
        word: "updated at that run",
        means: "what differs between the two runs: kernel, command line, mitigations, oscost",
        matters: "It may be the cause; only a comparison can tell (`oscost ab`).",
        ..COLUMN
    },
];
