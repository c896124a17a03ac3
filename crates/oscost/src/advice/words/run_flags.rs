//! Flags of whole runs.

use super::word::{Kind, Severity, Word};

const FLAG: Word = Word::of(Kind::RunFlag);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "REFERENCE_DRIFT",
        means: "a reference case moved from the first to the last third of the run by more than \
                it varies between runs: something was attached, or the machine changed",
        matters: "Figures of the beginning and of the end are of two machines.",
        action: "`oscost doctor` names tracers, BPF and audit; measure again.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "CLOCK_DRIFTED",
        means: "the clock's rate changed during the run: do not trust any figure of it",
        matters: "Every figure is a time by that clock.",
        action: "Measure again; `oscost doctor` describes the clocks.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "THROTTLED",
        means: "the control group's CPU quota stopped workers while they were timing",
        matters: "A stopped worker has long batches, and lost time that no counter shows.",
        action: "Raise the quota (`cpu.max`), or measure outside the container.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "UNPINNED",
        means: "workers could not be pinned to a CPU: figures of several CPUs are mixed",
        matters: "A move to another CPU has its own cost, and CPUs may differ.",
        action: "Allow sched_setaffinity(2).",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "CONTROL_WIDE",
        means: "the interval of a control, in which nothing differs, reaches beyond 3 %, or its \
                pairs are too few for one",
        matters: "Where nothing differs, such a run may show an effect of that size.",
        action: "Read verdicts on larger effects only, or measure again without `--quick`.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "EFFECT_DRIFTS",
        means: "of a comparison run: in half of its comparisons or more the effect changed from the \
                first to the second half of the pairs",
        matters: "Which side is slower may hold; by how much was not one figure.",
        action: "Compare over a longer time: `--budget 120`.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "TRACED",
        means: "something that slows every system call was attached",
        matters: "Every system call of the run contains the cost of the tracer.",
        action: "Detach it (`conditions[].tracers` in the record names it) and measure again.",
        severity: Severity::Unusable,
        ..FLAG
    },
];
