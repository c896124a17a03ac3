//! Columns of tables about fleets.

use super::word::{Kind, Word};

/// What all of them have.
const COLUMN: Word = Word { source: "docs/explanation/FLEET.md", ..Word::of(Kind::Column) };

/// The words.
pub(super) const WORDS: &[Word] = &[
    Word {
        word: "between nodes",
        means: "how far the costs of a case differ between nodes of a class, without what visits \
                explain: a standard deviation",
        range: "per cent",
        ..COLUMN
    },
    Word {
        word: "between visits",
        means: "how far the costs of a case differ between visits of one node: a standard deviation",
        range: "per cent",
        ..COLUMN
    },
    Word {
        word: "what",
        means: "what of a node differs: all its cases, those of a family, or one case",
        ..COLUMN
    },
    Word {
        word: "fact",
        means: "the recorded fact that separates these nodes from the others best, with the number \
                of nodes that have it and differ: a candidate for the reason, and no proof",
        ..COLUMN
    },
    Word {
        word: "judgement",
        means: "what the check of a node says of a case: slower if two measurements found it, not \
                seen again if the second one did not",
        ..COLUMN
    },
    Word {
        word: "node",
        means: "a machine of a fleet or of a network, by the name in the list of its nodes",
        ..COLUMN
    },
    Word { word: "nodes", means: "how many machines of a fleet are meant", ..COLUMN },
    Word { word: "other_node", means: "the node at the other end of a link", ..COLUMN },
    Word {
        word: "measurements",
        means: "how often a link was measured",
        range: "0 if it failed each time",
        ..COLUMN
    },
    Word { word: "why missing", means: "why a visit of a node has no record", ..COLUMN },
    Word {
        word: "rejected record",
        means: "a file of a fleet's folder that is not the record of its task",
        ..COLUMN
    },
];
