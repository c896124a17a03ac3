//! The glossary: docs/reference/GLOSSARY.md is made of it, in this order.

use super::word::{Kind, Word};

const TERM: Word = Word::of(Kind::Term);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "anomaly",
        means: "a system call whose predecessors pH has not learned as normal for its executable",
        ..TERM
    },
    Word {
        word: "answer",
        means: "what a report found, in a few sentences with their figures, how far to trust it, and \
                what to do next; first in a page and a file, last on a terminal",
        ..TERM
    },
    Word {
        word: "antagonist",
        means: "a noisy neighbour made by oscost: it computes, writes memory or makes calls",
        ..TERM
    },
    Word {
        word: "applied, attached",
        means: "of a treatment: done to one process and what it starts; done to the whole system \
                while something is measured",
        ..TERM
    },
    Word { word: "arm", means: "one side within a worker: fork twins have two or three", ..TERM },
    Word {
        word: "axis",
        means: "a parameter of a benchmark, such as `size`; its values are points",
        ..TERM
    },
    Word { word: "base, new", means: "the two sides of a comparison", ..TERM },
    Word {
        word: "batch, sample",
        means: "some ops timed together between two clock reads; the figure per op that one batch \
                gives",
        ..TERM
    },
    Word { word: "benchmark", means: "one question about the system: `family/kebab-name`", ..TERM },
    Word {
        word: "bill",
        means: "what the system charges a program: its calls times their prices, beside its \
                system time",
        ..TERM
    },
    Word { word: "break", means: "where a curve jumps or changes its slope", ..TERM },
    Word {
        word: "case",
        means: "a benchmark with one point on each axis: \
                `pipe/round-trip:by=pipe,size=64,peer_cpu=same`",
        ..TERM
    },
    Word { word: "catalog", means: "all definitions of the worker, as data", ..TERM },
    Word { word: "claim", means: "a study's statement about its figures, with a verdict", ..TERM },
    Word {
        word: "class",
        means: "of a cost: `user`, `vdso`, `light`, `heavy`, `blocking`; of a run: `quiet` (below \
                1 % of the time lost), `noisy` (to 10 %), `very noisy`",
        ..TERM
    },
    Word {
        word: "control",
        means: "a pair in which nothing differs; if it shows an effect, there is no verdict",
        ..TERM
    },
    Word {
        word: "cost group",
        means: "costs of a run close together and far from the rest, also if repetitions are resampled",
        ..TERM
    },
    Word {
        word: "count",
        means: "a figure in `insn/op`; exact if every repetition has the same value",
        ..TERM
    },
    Word {
        word: "crossing, curve",
        means: "the number from which one of two curves is the cheaper one; rows that differ in one \
                number alone",
        ..TERM
    },
    Word {
        word: "default point",
        means: "a point of an axis that is measured if a benchmark is selected without one; the \
                price list has fewer",
        ..TERM
    },
    Word {
        word: "definition",
        means: "a benchmark as data: question, op, expectation, calls, floor, axes",
        ..TERM
    },
    Word {
        word: "design",
        means: "how two sides are interleaved: fork twins, toggled, or pairs of workers",
        ..TERM
    },
    Word {
        word: "estimate",
        means: "what is said of a case at a target: its figure, interval, spread and evidence",
        ..TERM
    },
    Word {
        word: "expected",
        means: "what the author of a definition wrote before measuring",
        ..TERM
    },
    Word {
        word: "family",
        means: "the benchmarks before the slash: `timer`, `syscall`, `switch`, ...",
        ..TERM
    },
    Word { word: "floor", means: "the sum of the primitives in an op, from the same run", ..TERM },
    Word {
        word: "fork twins",
        means: "two processes of one parent, one of them treated, timed in alternation",
        ..TERM
    },
    Word {
        word: "group",
        means: "the batches that give one value: one, or in modes U and T one per size",
        ..TERM
    },
    Word {
        word: "history",
        means: "the figures of a case run by run, and where they changed",
        ..TERM
    },
    Word {
        word: "host",
        means: "where workers run: `local`, `ssh:[user@]HOST`, `vm:KERNEL`, `slurm:`",
        ..TERM
    },
    Word {
        word: "iteration",
        means: "once around the timed loop: 1, 2, 4 or 8 ops (unroll factor)",
        ..TERM
    },
    Word {
        word: "journal",
        means: "the events of a run in order; the record is derived from it",
        ..TERM
    },
    Word { word: "lost time", means: "when a worker was ready to run but had no CPU", ..TERM },
    Word {
        word: "margin",
        means: "the smallest difference for a verdict: 1 %, or two clock steps in a batch",
        ..TERM
    },
    Word {
        word: "mode",
        means: "how an op is timed: `U` unrolled, `B` batched, `S` single shot, `C` cold, `T` \
                throughput, `F` found",
        ..TERM
    },
    Word {
        word: "monitor",
        means: "a process that the measured process's calls wake: a tracer, a listener",
        ..TERM
    },
    Word {
        word: "null call",
        means: "a call that does next to nothing: `syscall/getppid:via=raw`, or `syscall/invalid`",
        ..TERM
    },
    Word {
        word: "op",
        means: "the act whose cost is quoted; units `ns/op`, `B/s`, `op/s`, ...",
        ..TERM
    },
    Word {
        word: "openmetrics, prometheus",
        means: "the text format of gauges that Prometheus reads, and that `oscost fleet report \
                --openmetrics FILE` writes for node_exporter's textfile collector",
        matters: "A board or an alert that exists already shows which node stands out.",
        source: "docs/how-to/fleet.md, Watch a fleet with Prometheus",
        ..TERM
    },
    Word { word: "peer", means: "the process or machine at a benchmark's other end", ..TERM },
    Word {
        word: "pilot",
        means: "a case's first worker; finds mode, iterations and batch length for the others",
        ..TERM
    },
    Word {
        word: "prediction",
        means: "a user's expected cost of a case, recorded before a run",
        ..TERM
    },
    Word {
        word: "price list",
        means: "what each act costs on a machine: the benchmarks `in_price_list` at few points of \
                each, which are measured when nothing is selected; bills are made of it",
        ..TERM
    },
    Word {
        word: "probe",
        means: "a spin on a CPU that looks for gaps between clock reads",
        ..TERM
    },
    Word {
        word: "quantum",
        means: "a timer's step (`timer/quantum`); how long a process runs before it is preempted \
                (`switch/quantum`)",
        ..TERM
    },
    Word {
        word: "reference case",
        means: "a case measured before, in every round and after, to show drift of the run",
        ..TERM
    },
    Word {
        word: "repetition",
        means: "one worker's value for a case: the median of its undisturbed groups",
        ..TERM
    },
    Word {
        word: "rev",
        means: "revision of a definition; raised when the work of its op changes",
        ..TERM
    },
    Word {
        word: "round, pair",
        means: "a pass over the rows that need workers, in fresh random order; two sides of a case \
                measured together once: one ratio of a comparison",
        ..TERM
    },
    Word { word: "row", means: "a case at a target in a run", ..TERM },
    Word {
        word: "run, record, store",
        means: "what one command measured; the same as one JSON document, `oscost.run/1`; the \
                SQLite file that keeps runs",
        ..TERM
    },
    Word {
        word: "selector",
        means: "text that chooses cases: a family, an id, a case or a glob",
        ..TERM
    },
    Word {
        word: "spread",
        means: "the standard deviation between repetitions, in per cent of the figure: of this run \
                alone, where the interval also has the variation between runs",
        ..TERM
    },
    Word {
        word: "study",
        means: "published measurements as a file: cases, figures, claims",
        ..TERM
    },
    Word {
        word: "supervisor",
        means: "`oscost-worker supervise`: starts a process per job and cleans up",
        ..TERM
    },
    Word { word: "target", means: "treatments on a host: `seccomp=docker@ssh:db1`", ..TERM },
    Word {
        word: "treatment",
        means: "what is done to the measured process or its system: `seccomp=docker`, `ptrace`",
        ..TERM
    },
    Word {
        word: "verdict",
        means: "`slower`, `faster`, `equivalent` or `inconclusive`, about two estimates",
        ..TERM
    },
    Word { word: "worker", means: "the small, fresh process that measures a case once", ..TERM },
    Word {
        word: "workload",
        means: "a whole program as the subject, with its preparation",
        ..TERM
    },
];
