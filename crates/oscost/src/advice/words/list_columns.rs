//! Columns of lists: of runs, families and treatments.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "treatment",
        means: "what can be done to a process or its system",
        action: "`oscost explain TREATMENT`.",
        source: "docs/reference/TARGETS.md",
        ..COLUMN
    },
    Word {
        word: "here",
        means: "of a treatment, whether it works here; of a study, the figure measured here",
        ..COLUMN
    },
    Word {
        word: "effect",
        means: "what a treatment does",
        source: "docs/reference/TARGETS.md",
        ..COLUMN
    },
    Word {
        word: "run",
        means: "the beginning of the id of a run, as far as it is unique",
        matters: "`oscost runs show` takes it.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "started",
        means: "when a run began, in UTC",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "took",
        means: "how long a run took, from its start to its end",
        range: "s, min or h; `-` if it did not end",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "trust",
        means: "how far the figures of a run can be believed",
        range: "`good`, `fair`, `poor`; `-` without figures",
        matters: "It rests on the time that was lost, on the drift of the clock and of reference \
                  cases (the list of runs does not know the latter), and on the flags of rows.",
        action: "`oscost explain fair`.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "label",
        means: "the text that the user gave a run (`--label`)",
        matters: "`@LABEL` names the newest run with it.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "machine",
        means: "in the list of runs the processor that a run was measured on; of a table of machines \
                one of them, or with `+N` several with the same recorded facts",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "kind",
        means: "what a line of the list of runs is: a run, one that compared its two sides, one that \
                a bill has started for itself, the bill of a command or process, or all visits of \
                a fleet",
        range: "run, ab, bill run, bill, fleet",
        matters: "`last` and `last~1` never count a `bill run`; its id names it.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "command",
        means: "what was measured: the command line without `oscost`",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "family",
        means: "a group of benchmarks: the part before the slash; of an item of a bill, what the \
                kernel did for it",
        action: "`oscost list FAMILY`.",
        source: "`oscost list`",
        ..COLUMN
    },
    Word {
        word: "benchmarks",
        means: "the number of benchmarks of a family",
        source: "`oscost list`",
        ..COLUMN
    },
];
