//! Flags of comparisons.

use super::word::{Kind, Severity, Word};

const FLAG: Word = Word::of(Kind::ComparisonFlag);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "BLOCKS",
        means: "neighbouring pairs are correlated: they were merged two by two",
        matters: "Correlated pairs count as fewer: the interval takes that into account.",
        ..FLAG
    },
    Word {
        word: "CALLS_DIFFER",
        means: "an op makes different system calls on the two sides",
        matters: "The two sides do not do the same work.",
        action: "See `calls` of both rows in the record.",
        ..FLAG
    },
    Word {
        word: "EFFECT_DRIFTS",
        means: "the effect differs between the first and the second half of the pairs",
        matters: "One figure does not describe the effect.",
        action: "Do not quote one; compare over a longer time.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "FEW_PAIRS",
        means: "below six pairs there is no interval and no verdict",
        matters: "A difference cannot be told from chance.",
        action: "Measure longer, or more runs on each side.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "MACHINES_DIFFER",
        means: "two machines, two moments: the ratio is of both together",
        matters: "Nothing tells a slower machine from a busier hour; nothing is called equivalent, \
                  and no gate judges it.",
        action: "Measure each machine several times; `oscost table` shows them.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "MODES_DIFFER",
        means: "the two sides were timed in two modes, which the cost of the op selects: they \
                agree within 1 %",
        matters: "The difference between the modes is within the margin.",
        ..FLAG
    },
    Word {
        word: "NEVER_SEEN",
        means: "an op makes no system call: the treatment does not affect it",
        matters: "A difference has another cause than the treatment.",
        ..FLAG
    },
    Word {
        word: "UNRELIABLE",
        means: "too much time was lost, or the clock drifted: no verdict",
        matters: "Lost time and a drifting clock look like an effect.",
        action: "Measure again on a quieter machine.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "NOT_EXACT",
        means: "not all repetitions of a side counted the same number: the ranges of both sides \
                are compared",
        matters: "Counts of instructions usually repeat to the last digit.",
        action: "Read the ranges.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "VOID",
        means: "the control shows an effect where nothing differs: no verdict is given",
        matters: "What the control shows, the others may show for the same reason.",
        action: "Measure again.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "OUTPUT_DIFFERS",
        means: "the commands wrote different output: they may not do the same",
        matters: "A command that fails early is fast.",
        action: "Check that both commands do the same.",
        ..FLAG
    },
    Word {
        word: "SECONDARY",
        means: "the verdict rests on another metric: of commands CPU time or wall time, of \
                workloads the time of both modes, of other rows time or cycles, whichever varies \
                less",
        matters: "Two metrics judged at once would find a difference by chance twice as often.",
        action: "Read the other metric.",
        ..FLAG
    },
    Word {
        word: "REJECTION_DIFFERS",
        means: "more batches were disturbed on one side: what was left out may be the effect",
        matters: "The disturbance may be what the change does.",
        action: "See `disturbed` of both rows in the record.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "SPECULATION_DIFFERS",
        means: "only one side may speculate: that is part of the difference",
        matters: "Installing a filter disables speculation in a process before Linux 5.16.",
        action: "Boot with `spec_store_bypass_disable=prctl` to separate the two.",
        ..FLAG
    },
    Word {
        word: "SHORT_SPAN",
        means: "all pairs lie within a minute: how the effect drifts is unknown, and nothing is \
                called equivalent (`inconclusive (short)`)",
        matters: "Effects drift over minutes with memory and frequency.",
        action: "Measure for longer: `--budget 120`, without `--quick`.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "WORK_VARIES",
        means: "the instructions of a side vary by over 0.2 % between its workers, or its runs: the \
                op does not repeat",
        matters: "Instructions of an op that does not repeat show no small difference.",
        action: "Such rows are not judged by `--gate --on insn`.",
        severity: Severity::Wide,
        ..FLAG
    },
];
