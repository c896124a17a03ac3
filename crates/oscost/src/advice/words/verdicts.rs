//! Words about comparisons, claims and findings.

use super::word::{Kind, Word};

const VERDICT: Word = Word::of(Kind::Verdict);
const CLAIM: Word = Word::of(Kind::ClaimVerdict);
const DESIGN: Word = Word::of(Kind::Design);
const CAUSE: Word = Word::of(Kind::Cause);
const WEIGHT: Word = Word::of(Kind::Weight);
const MECHANISM: Word = Word::of(Kind::Mechanism);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "slower",
        means: "the new side is worse, by its whole interval and by more than the margin",
        matters: "The rate of false discoveries is held over all compared rows (q).",
        action: "Look at `cause` and at the calls of both sides.",
        ..VERDICT
    },
    Word {
        word: "faster",
        means: "the new side is better, by its whole interval and by more than the margin",
        matters: "The rate of false discoveries is held over all compared rows (q).",
        ..VERDICT
    },
    Word {
        word: "more",
        means: "of bytes and events: the new side has more, by its whole interval and by more than \
                the margin",
        ..VERDICT
    },
    Word {
        word: "less",
        means: "of bytes and events: the new side has less, by its whole interval and by more than \
                the margin",
        ..VERDICT
    },
    Word {
        word: "equivalent",
        means: "the two sides differ by less than the margin, by the whole interval",
        matters: "It is a finding: a larger difference was looked for and is excluded.",
        ..VERDICT
    },
    Word {
        word: "inconclusive",
        means: "neither a difference nor its absence can be shown",
        matters: "It is no sign that nothing changed. `inconclusive (short)`: it would be equivalent \
                  if not all pairs lay within a minute.",
        action: "Read what would have been detected (`mde_pct`); measure longer or more quietly.",
        ..VERDICT
    },
    Word { word: "holds", means: "the claim is true here, by the whole interval", ..CLAIM },
    Word {
        word: "does not hold",
        means: "the claim is not true here, by the whole interval",
        ..CLAIM
    },
    Word {
        word: "no difference",
        means: "two costs that should differ by the claim are equal here, by the whole interval",
        ..CLAIM
    },
    Word {
        word: "depends on the placement",
        means: "the study does not say on which CPUs its processes ran, and that decides",
        matters: "The verdict is given for each placement.",
        ..CLAIM
    },
    Word {
        word: "undecided",
        means: "the interval reaches across the bound: this run cannot decide",
        action: "Measure longer, or more quietly.",
        ..CLAIM
    },
    Word {
        word: "not measured",
        means: "this run has not measured what the claim or the prediction is about",
        action: "`oscost run --study NAME` measures all that a study needs.",
        ..CLAIM
    },
    Word {
        word: "held",
        means: "the prediction was right: the whole interval lies within what was predicted",
        ..CLAIM
    },
    Word {
        word: "did not hold",
        means: "the prediction was wrong: the whole interval lies outside of what was predicted",
        matters: "The reason is worth finding: it is what was not known of the system.",
        ..CLAIM
    },
    Word {
        word: "twins",
        means: "one process forks two, one of them treated; they are timed in alternation",
        matters: "Both share the moment, the CPU and the layout of memory: the smallest \
                  differences show.",
        ..DESIGN
    },
    Word {
        word: "toggle",
        means: "one process is timed while a treatment of the system is attached and while it is \
                not, in alternation",
        matters: "Both sides are the same process.",
        ..DESIGN
    },
    Word { word: "boots", means: "two boots of one machine that were measured in turns", ..DESIGN },
    Word {
        word: "stored",
        means: "runs that did not alternate: between them the machine may have changed",
        matters: "Intervals contain the variation between runs.",
        action: "`oscost ab` measures both sides in alternation.",
        ..DESIGN
    },
    Word {
        word: "work",
        means: "the op executes another number of instructions",
        matters: "The code changed, or a path in the kernel.",
        action: "Look at the instructions of user and kernel mode.",
        ..CAUSE
    },
    Word {
        word: "core",
        means: "an instruction takes another number of cycles",
        matters: "The core was shared, or caches and predictors were colder.",
        ..CAUSE
    },
    Word {
        word: "clock",
        means: "the clock of the core has another period",
        matters: "Frequency, turbo and power limits.",
        action: "Fix the frequency, or compare cycles (`--in cycles`).",
        ..CAUSE
    },
    Word {
        word: "waiting",
        means: "the op waits for another time off the CPU",
        matters: "A device, a lock or another task.",
        ..CAUSE
    },
    Word { word: "none", means: "nothing changed that would need a cause", ..CAUSE },
    Word {
        word: "unknown",
        means: "what was counted does not explain the change",
        action: "Measure with `--counters`.",
        ..CAUSE
    },
    Word {
        word: "invalidates",
        means: "figures cannot be trusted while this holds",
        action: "Fix it first; the command is beside it.",
        ..WEIGHT
    },
    Word {
        word: "biases",
        means: "all figures of a kind are larger than on a machine without it",
        matters: "Compare with machines that have it, too.",
        ..WEIGHT
    },
    Word {
        word: "noise",
        means: "intervals are wider, or figures change from minute to minute",
        ..WEIGHT
    },
    Word { word: "limitation", means: "something cannot be measured or observed here", ..WEIGHT },
    Word { word: "note", means: "worth knowing when figures are compared", ..WEIGHT },
    Word {
        word: "wraps",
        means: "a program is started through it, as by strace(1) or nice(1)",
        matters: "Two sides are separate processes: small differences take more pairs.",
        action: "`oscost treat list` shows it for each treatment.",
        ..MECHANISM
    },
];
