//! Metrics: what is known of a row besides its figure.

use super::word::{Kind, Word};

const METRIC: Word = Word::of(Kind::Metric);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "primary",
        means: "the figure of the case itself",
        range: "the unit of the row",
        matters: "Verdicts and classes are of this one.",
        ..METRIC
    },
    Word {
        word: "user",
        means: "CPU time in user mode per op; of a program, per trial",
        range: "ns/op; s",
        ..METRIC
    },
    Word {
        word: "system",
        means: "CPU time in the kernel per op; of a program, per trial",
        range: "ns/op; s",
        ..METRIC
    },
    Word {
        word: "real",
        means: "wall-clock time of a program, from start to end",
        range: "s",
        matters: "It contains waiting, and what others take.",
        ..METRIC
    },
    Word {
        word: "cpu",
        means: "user and system time together, of a program",
        range: "s",
        ..METRIC
    },
    Word {
        word: "peak-memory",
        means: "the largest resident set of one process of a program, at least that of the process \
                which starts it (2.7 MB or so)",
        range: "B",
        matters: "Linux carries that over the exec: a figure at this floor is a bound (`<=`).",
        action: "`oscost explain MEMORY_BOUND`.",
        ..METRIC
    },
    Word {
        word: "minor-faults",
        means: "page faults that no disk was read for, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "child-minor-faults",
        means: "the same of the processes that an op creates and waits for, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "major-faults",
        means: "page faults for which a disk was read, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "voluntary-switches",
        means: "how often an op gave up the CPU to wait",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "involuntary-switches",
        means: "how often an op was taken off its CPU",
        range: "1/op",
        matters: "More than a few say that the machine is busy.",
        action: "`oscost doctor` names what runs.",
        ..METRIC
    },
    Word {
        word: "throughput",
        means: "bytes moved per second, where an op moves bytes",
        range: "B/s",
        ..METRIC
    },
    Word {
        word: "insn",
        means: "instructions of an op in user and kernel mode",
        range: "insn/op",
        matters: "The work of an op: it repeats where time does not.",
        action: "`--gate --on insn` judges it.",
        ..METRIC
    },
    Word {
        word: "insn_user",
        means: "instructions of an op in user mode",
        range: "insn/op",
        ..METRIC
    },
    Word {
        word: "insn_kernel",
        means: "instructions of an op in the kernel",
        range: "insn/op",
        ..METRIC
    },
    Word { word: "cycles", means: "cycles of the core per op", range: "cycle/op", ..METRIC },
    Word {
        word: "core-cycles",
        means: "the figure in cycles of the core, by the rate that each worker measured, of a row \
                whose time follows that rate",
        range: "cycle/op",
        matters: "The rate may be another one in each run: cycles vary less than time.",
        action: "Quote it where runs of other days are compared.",
        source: "docs/explanation/METHOD.md, section 11",
        ..METRIC
    },
    Word {
        word: "cpi",
        means: "cycles of the core per instruction",
        range: "cycle/insn",
        ..METRIC
    },
    Word {
        word: "ghz",
        means: "cycles of the core per nanosecond of running time",
        range: "GHz",
        ..METRIC
    },
    Word {
        word: "stalled_cycles",
        means: "cycles in which the front end of the core delivered nothing, per op",
        range: "cycle/op",
        ..METRIC
    },
    Word { word: "branch_misses", means: "mispredicted branches per op", range: "1/op", ..METRIC },
    Word {
        word: "l1d_misses",
        means: "loads that missed the first-level data cache, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "l1i_misses",
        means: "fetches that missed the first-level instruction cache, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "llc_misses",
        means: "cache misses per op (the kernel's `cache-misses`): of the last level, on AMD Zen of \
                the second",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "dtlb_misses",
        means: "loads that missed the data TLB, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "itlb_misses",
        means: "fetches that missed the instruction TLB, per op",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "task_clock",
        means: "time on a CPU of all counted tasks, per op",
        range: "ns/op",
        ..METRIC
    },
    Word {
        word: "page_faults",
        means: "page faults per op, as the kernel counts them",
        range: "1/op",
        ..METRIC
    },
    Word {
        word: "context_switches",
        means: "switches to another task per op, as the kernel counts them",
        range: "1/op",
        ..METRIC
    },
    Word { word: "migrations", means: "moves to another CPU per op", range: "1/op", ..METRIC },
    Word {
        word: "p50",
        means: "half of the single shots of a row, or of the requests of a server, lie below",
        range: "the unit of the row",
        ..METRIC
    },
    Word {
        word: "p90",
        means: "nine of ten single shots of a row lie below",
        range: "the unit of the row; not known of fewer than 36 shots",
        ..METRIC
    },
    Word {
        word: "p99",
        means: "99 of 100 single shots of a row, or requests of a server, lie below",
        range: "the unit of the row; not known of fewer than 368 shots",
        matters: "It is the tail: what the slowest in a hundred cost.",
        ..METRIC
    },
    Word {
        word: "p999",
        means: "999 of 1000 single shots of a row lie below",
        range: "the unit of the row; not known of fewer than 3688 shots",
        ..METRIC
    },
    Word {
        word: "request-p50",
        means: "half of the requests of a server's clients are answered in less",
        range: "ns/op",
        ..METRIC
    },
    Word {
        word: "request-p99",
        means: "99 of 100 requests of a server's clients are answered in less",
        range: "ns/op",
        ..METRIC
    },
];
