//! Columns of tables of runs.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "case",
        means: "what was measured: a benchmark with a point on each axis",
        matters: "Families and benchmarks are headings above the rows.",
        action: "`oscost explain CASE`.",
        ..COLUMN
    },
    Word {
        word: "per op",
        means: "the cost of one op: the median over repetitions",
        range: "ps to s, or the unit beside it",
        matters: "It is the figure to quote, with its interval.",
        ..COLUMN
    },
    Word {
        word: "95 % interval",
        means: "where the long-run figure lies on this machine and kernel, with 95 % certainty",
        range: "the unit of the figure",
        matters: "Two figures whose intervals overlap may be equal.",
        action: "A wide one: measure longer, or more quietly.",
        ..COLUMN
    },
    Word {
        word: "95 % low",
        means: "where the interval begins",
        range: "the unit of the figure",
        ..COLUMN
    },
    Word {
        word: "95 % high",
        means: "where the interval ends",
        range: "the unit of the figure",
        ..COLUMN
    },
    Word {
        word: "this run: low",
        means: "where the interval of this run alone begins: what its repetitions leave open",
        range: "the unit of the figure",
        matters: "It does not contain what changes from run to run.",
        ..COLUMN
    },
    Word {
        word: "high",
        means: "where the interval of this run alone ends",
        range: "the unit of the figure",
        ..COLUMN
    },
    Word {
        word: "spread",
        means: "the standard deviation between repetitions, in per cent of the figure",
        range: "0 % and more",
        matters: "Each repetition is a fresh process: a wide spread says that processes differ.",
        ..COLUMN
    },
    Word {
        word: "insn",
        means: "instructions of an op, counted by the processor",
        range: "insn/op",
        ..COLUMN
    },
    Word {
        word: "cpi",
        means: "cycles of the core per instruction",
        range: "0.2 to 10 and more",
        ..COLUMN
    },
    Word {
        word: "cycles per insn",
        means: "cycles of the core per instruction",
        range: "0.2 to 10 and more",
        ..COLUMN
    },
    Word {
        word: "GHz",
        means: "the clock rate of the core while ops ran",
        range: "0.5 to 6",
        ..COLUMN
    },
    Word {
        word: "class",
        means: "what kind of cost it is",
        range: "`user`, `vdso`, `light`, `heavy`, `blocking`; `?` if it may be the neighbouring \
                one",
        matters: "The class says where to look for a change.",
        action: "`oscost explain light`.",
        source: "docs/explanation/METHOD.md, section 7",
        ..COLUMN
    },
    Word {
        word: "calls",
        means: "how often an op enters the kernel, as counted with ptrace(2); of a profile of pH, \
                system calls",
        range: "0 and more; `!` other than defined, `?` not counted",
        matters: "A figure is that of its name only if the op makes these calls.",
        action: "`oscost explain CASE` lists them.",
        ..COLUMN
    },
    Word {
        word: "entries",
        means: "how often an op enters the kernel, as counted",
        range: "0 and more",
        ..COLUMN
    },
    Word {
        word: "floor",
        means: "the sum of the costs of the primitives that an op contains: it cannot cost less",
        range: "the unit of the figure",
        matters: "What is above it is the price of the act itself.",
        action: "`oscost explain CASE` names the parts.",
        ..COLUMN
    },
    Word {
        word: "flags",
        means: "what a reader must know of the row, in capitals",
        action: "`oscost explain FLAG`.",
        source: "docs/reference/RECORDS.md, flags",
        ..COLUMN
    },
    Word {
        word: "target",
        means: "where and under what it was measured",
        range: "`local`, `ssh:HOST`, `vm:KERNEL`, `slurm:`, treatments before an `@`",
        source: "docs/reference/TARGETS.md",
        ..COLUMN
    },
    Word {
        word: "outcome",
        means: "whether the row has a figure",
        range: "`measured`, `skipped`, `failed`, `timed-out`, `unmeasurable`",
        ..COLUMN
    },
    Word {
        word: "unit",
        means: "the unit of the figures of the row",
        range: "`ns/op`, `B/s`, `insn/op` and others",
        action: "`oscost explain UNIT`.",
        ..COLUMN
    },
    Word {
        word: "metric",
        means: "which figure of the row: `primary`, or a further one",
        ..COLUMN
    },
    Word {
        word: "repetitions",
        means: "the workers that gave a value: each is a fresh process",
        range: "6 and more for an interval",
        ..COLUMN
    },
    Word {
        word: "repeats",
        means: "whether all repetitions counted the same number of instructions",
        matters: "A count that repeats is exact: a difference of one instruction is real.",
        ..COLUMN
    },
    Word {
        word: "insn:u",
        means: "instructions of an op in user mode",
        range: "insn/op",
        ..COLUMN
    },
    Word {
        word: "insn:k",
        means: "instructions of an op in the kernel",
        range: "insn/op",
        ..COLUMN
    },
    Word { word: "cycles", means: "cycles of the core per op", range: "cycle/op", ..COLUMN },
    Word { word: "branch misses", means: "mispredicted branches per op", range: "1/op", ..COLUMN },
    Word {
        word: "L1D misses",
        means: "loads that missed the first-level data cache, per op",
        range: "1/op",
        ..COLUMN
    },
    Word {
        word: "L1I misses",
        means: "fetches that missed the first-level instruction cache, per op",
        range: "1/op",
        ..COLUMN
    },
    Word {
        word: "LLC misses",
        means: "cache misses per op (the kernel's `cache-misses`): of the last level, on AMD Zen of \
                the second",
        range: "1/op",
        ..COLUMN
    },
    Word {
        word: "dTLB misses",
        means: "loads that missed the data TLB, per op",
        range: "1/op",
        ..COLUMN
    },
    Word {
        word: "iTLB misses",
        means: "fetches that missed the instruction TLB, per op",
        range: "1/op",
        ..COLUMN
    },
    Word {
        word: "stalled",
        means: "cycles in which the front end of the core delivered nothing, per op",
        range: "cycle/op",
        ..COLUMN
    },
    Word {
        word: "task-clock, ns",
        means: "time on a CPU of all counted tasks, per op",
        range: "ns",
        ..COLUMN
    },
    Word { word: "faults", means: "page faults per op", range: "1/op", ..COLUMN },
    Word { word: "switches", means: "switches to another task per op", range: "1/op", ..COLUMN },
    Word { word: "moves", means: "moves to another CPU per op", range: "1/op", ..COLUMN },
    Word { word: "median", means: "the median over the trials of a program", range: "s", ..COLUMN },
    Word { word: "user", means: "CPU time of a trial in user mode", range: "s", ..COLUMN },
    Word {
        word: "system",
        means: "CPU time of a trial in the kernel; of a published figure, its machine",
        range: "s",
        ..COLUMN
    },
    Word {
        word: "memory",
        means: "the largest resident set of one process of a trial",
        range: "B",
        ..COLUMN
    },
    Word {
        word: "predicted",
        means: "the cost that was written down before measuring",
        matters: "Writing it first shows what one does not know.",
        action: "`oscost predict --help`.",
        ..COLUMN
    },
    Word { word: "measured", means: "the figure that was measured", ..COLUMN },
    Word {
        word: "verdict",
        means: "what the interval says of a difference, a claim or a prediction",
        range: "`slower`, `faster`, `equivalent`, `inconclusive`; `holds` and others",
        action: "`oscost explain slower`.",
        ..COLUMN
    },
    Word {
        word: "Cost groups",
        means: "the range of costs of a group: rows within a decade and far from the rest, which stay \
                together if repetitions are resampled",
        ..COLUMN
    },
    Word { word: "rows", means: "the rows of a group of costs", ..COLUMN },
    Word {
        word: "x",
        means: "times the cost of what follows: `x call` of a function call, `x invalid` of a system \
                call that fails at once; before a number, a ratio",
        matters: "Costs in calls of their own machine can be compared between machines.",
        ..COLUMN
    },
    Word {
        word: "timer",
        means: "a clock or a counter that a program can read",
        action: "`oscost run timer` measures all of them.",
        ..COLUMN
    },
    Word { word: "cost", means: "what one read of the timer costs", range: "ns", ..COLUMN },
    Word {
        word: "declared resolution",
        means: "the step that clock_getres(2) states",
        range: "ns",
        matters: "It is often not the step that the clock takes.",
        ..COLUMN
    },
    Word {
        word: "quantum",
        means: "the step in which the timer advances, as found",
        range: "ns",
        ..COLUMN
    },
    Word {
        word: "precision",
        means: "the smallest difference in work that the timer resolves",
        range: "ns",
        action: "`oscost explain timer/precision`.",
        ..COLUMN
    },
    Word {
        word: "enters kernel",
        means: "whether a read makes a system call",
        range: "yes or no",
        ..COLUMN
    },
    Word {
        word: "can be slewed",
        means: "whether adjtimex(2) changes its rate",
        range: "yes or no",
        ..COLUMN
    },
    Word {
        word: "can step back",
        means: "whether a later read may show an earlier time",
        range: "yes or no",
        ..COLUMN
    },
    Word {
        word: "method",
        means: "the system call by which a program waits for one of many descriptors",
        ..COLUMN
    },
    Word {
        word: "check",
        means: "the cost per idle descriptor of passing the set and checking it, without waiting",
        range: "ns per descriptor",
        ..COLUMN
    },
    Word {
        word: "caller's",
        means: "the part of a check that is the caller's own work around the call",
        range: "ns per descriptor",
        ..COLUMN
    },
    Word {
        word: "queues",
        means: "the cost per idle descriptor of joining its wait queue and leaving it again",
        range: "ns per descriptor",
        ..COLUMN
    },
    Word {
        word: "wakeup",
        means: "the cost per idle descriptor from an event until the blocked task runs",
        range: "ns per descriptor",
        ..COLUMN
    },
    Word {
        word: "beyond",
        means: "the part of a wakeup that is beyond a check",
        range: "ns per descriptor",
        ..COLUMN
    },
    Word {
        word: "idle",
        means: "the number of idle connections while requests are served",
        ..COLUMN
    },
];
