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
        word: "ratio to fleet",
        means: "the costs of what stands out on a node over the fleet's medians of its cases, of \
                several the middle: with all that the node differs by",
        range: "above 1 is slower",
        ..COLUMN
    },
    Word {
        word: "adjusted ratio",
        means: "the costs of what stands out on a node over those of its equals, without what the \
                node as a whole, or the family of the case, differs by",
        range: "above 1 is slower; 1 is as its equals",
        matters: "It is what is judged: one slow family is not a finding of each of its cases.",
        ..COLUMN
    },
    Word {
        word: "adjusted for",
        means: "what else the node differs by that the adjusted ratio is without",
        range: "`node`, the node as a whole; `family`, the family of the case; `-` nothing",
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
    Word {
        word: "not_claimable",
        means: "how many measurements of a link nothing is concluded from: they are very noisy, or \
                have a clock that drifted",
        ..COLUMN
    },
    Word { word: "why missing", means: "why a visit of a node has no record", ..COLUMN },
    Word {
        word: "rejected record",
        means: "a file of a fleet's folder that is not the record of its task",
        ..COLUMN
    },
];
