//! Words about rows and runs: classes, grades, outcomes, modes, profiles.

use super::word::{Kind, Word};

const COST_CLASS: Word = Word::of(Kind::CostClass);
const NOISE_CLASS: Word = Word::of(Kind::NoiseClass);
const TRUST: Word = Word::of(Kind::Trust);
const OUTCOME: Word = Word::of(Kind::Outcome);
const MODE: Word = Word::of(Kind::Mode);
const PROFILE: Word = Word::of(Kind::Profile);
const DIRECTION: Word = Word::of(Kind::Direction);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "user",
        means: "a cost in user mode: an op makes no system call and runs no vDSO code",
        matters: "The kernel takes no part in it: another kernel changes it only by what it does \
                  between ops.",
        source: "docs/explanation/METHOD.md, section 7",
        ..COST_CLASS
    },
    Word {
        word: "vdso",
        means: "a cost of code that the kernel maps into each process, without entering the kernel",
        matters: "A kernel, a clock source or a boot option that turns this into a system call \
                  makes it many times as expensive.",
        action: "`oscost machine` names the clock source.",
        ..COST_CLASS
    },
    Word {
        word: "light",
        means: "a system call that costs at most three times the null system call",
        matters: "Most of it is the entry into the kernel: filters and mitigations show here most.",
        action: "Compare it with `syscall/getppid:via=raw`.",
        ..COST_CLASS
    },
    Word {
        word: "heavy",
        means: "a system call that costs more than three times the null system call",
        matters: "What the kernel does for it outweighs the entry.",
        action: "`oscost explain` of the benchmark says what that is.",
        ..COST_CLASS
    },
    Word {
        word: "blocking",
        means: "an op that waits: its task gives up the CPU, or another one must run",
        matters: "Scheduling and the placement of both ends (`peer_cpu`) decide it.",
        action: "Compare `peer_cpu=same` with `peer_cpu=other`.",
        ..COST_CLASS
    },
    Word {
        word: "quiet",
        means: "workers lost less than 1 % of the time that they wanted",
        range: "below 1 % of the time lost",
        matters: "Figures and intervals mean what they say.",
        ..NOISE_CLASS
    },
    Word {
        word: "noisy",
        means: "workers lost 1 % to 10 % of the time that they wanted",
        range: "1 % to 10 % of the time lost",
        matters: "Disturbed batches are rejected: intervals are wider, medians hold.",
        action: "`oscost doctor` names what disturbs, and the fix.",
        ..NOISE_CLASS
    },
    Word {
        word: "very-noisy",
        means: "workers lost more than 10 % of the time that they wanted; in sentences \"very \
                noisy\"",
        range: "above 10 % of the time lost",
        matters: "Single shots, cold ops and throughput are not reliable (UNRELIABLE).",
        action: "Measure again on a quieter machine; `oscost doctor` names what disturbs.",
        ..NOISE_CLASS
    },
    Word {
        word: "good",
        means: "nothing that is known of the run speaks against its figures",
        matters: "The machine was quiet, the clock held, and nearly all rows reached their \
                  precision.",
        action: "Use the figures with their intervals.",
        ..TRUST
    },
    Word {
        word: "fair",
        means: "the figures hold with their intervals, but some are wide, or a few rows should \
                not be used",
        matters: "The machine was noisy, reference cases drifted, the run was cut short, rows have \
                  flags, or the interval of an answer is wide.",
        action: "Read the flags below the table; `oscost explain FLAG` says what to do.",
        ..TRUST
    },
    Word {
        word: "poor",
        means: "the figures of the run should not be used as they are",
        matters: "The machine was very noisy, the clock changed its rate, something slowed every \
                  system call, a quarter of the rows have flags that say so, or an answer is \
                  known to a factor of three only.",
        action: "Measure again; `oscost doctor` names what disturbs.",
        ..TRUST
    },
    Word { word: "measured", means: "the row has a figure", ..OUTCOME },
    Word {
        word: "skipped",
        means: "the target lacks what the case needs; the reason is beside it",
        matters: "It is no failure: another machine may have it.",
        action: "`oscost explain` of the benchmark lists what it needs.",
        ..OUTCOME
    },
    Word {
        word: "failed",
        means: "the row has no figure, because its work failed; the reason is beside it",
        action: "Read the reason; a row that was asked for by name makes the exit status 3.",
        ..OUTCOME
    },
    Word {
        word: "timed-out",
        means: "its workers exceeded their time limit and were killed",
        matters: "An op that never ends looks like this.",
        action: "Ask for smaller sizes, or look whether something stops the process.",
        ..OUTCOME
    },
    Word {
        word: "unmeasurable",
        means: "too few of its batches were undisturbed for a figure",
        action: "Measure on a quieter machine.",
        ..OUTCOME
    },
    Word {
        word: "U",
        means: "unrolled: batches of loops with 1, 2, 4 and 8 ops; the slope excludes the cost of \
                the loop",
        range: "ops of nanoseconds",
        ..MODE
    },
    Word {
        word: "B",
        means: "batched: many ops between two reads of the clock",
        range: "ops below the step of the clock",
        ..MODE
    },
    Word {
        word: "S",
        means: "single shots: one op between two reads of the clock",
        range: "ops of microseconds and more",
        matters: "Only single shots have quantiles of ops.",
        ..MODE
    },
    Word {
        word: "C",
        means: "cold: one op between two reads of the clock, each after an untimed eviction",
        matters: "Caches, or the page cache, do not have what the op touches.",
        ..MODE
    },
    Word {
        word: "T",
        means: "throughput: the slope of time against bytes moved",
        matters: "The fixed cost of a call is not in it.",
        ..MODE
    },
    Word {
        word: "F",
        means: "found: the work itself computes the figure, such as the step of a clock",
        matters: "Nothing is subtracted from it.",
        ..MODE
    },
    Word {
        word: "quick",
        means: "six repetitions of each row, however wide the intervals are",
        range: "`oscost run --quick`",
        matters: "Six is the least with which an interval exists.",
        action: "Measure again without `--quick` before you quote a figure.",
        ..PROFILE
    },
    Word {
        word: "default",
        means: "as many repetitions as the precision needs, within the time",
        ..PROFILE
    },
    Word {
        word: "thorough",
        means: "a first phase fixes the number of repetitions, then all are measured afresh",
        range: "`oscost run --thorough`",
        matters: "Stopping when an interval looks narrow enough makes intervals too narrow; this \
                  does not.",
        action: "For figures to publish.",
        ..PROFILE
    },
    Word {
        word: "lower",
        means: "a smaller figure is better: a time, a size, a count",
        matters: "It decides whether a change is `faster` or `slower`.",
        ..DIRECTION
    },
    Word {
        word: "higher",
        means: "a larger figure is better: a rate",
        matters: "It decides whether a change is `faster` or `slower`.",
        ..DIRECTION
    },
];
