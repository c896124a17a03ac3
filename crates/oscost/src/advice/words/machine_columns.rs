//! Columns of tables of machines, of their noise, kernels and conditions.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "machines",
        means: "how many machines a column of a table of machines stands for: several with the \
                same recorded facts are one column",
        range: "1 to 64",
        source: "docs/how-to/two-machines.md",
        ..COLUMN
    },
    Word {
        word: "interval",
        means: "what an interval contains: `between-runs` also the variation between runs, \
                `within-run` what one run's own repetitions leave open",
        range: "one of the two words; empty without an interval",
        source: "docs/how-to/two-machines.md",
        ..COLUMN
    },
    Word {
        word: "lowest",
        means: "of several machines in one column the one with the lowest figure",
        range: "the unit of the figure",
        source: "docs/how-to/two-machines.md",
        ..COLUMN
    },
    Word {
        word: "highest",
        means: "of several machines in one column the one with the highest figure",
        range: "the unit of the figure",
        source: "docs/how-to/two-machines.md",
        ..COLUMN
    },
    Word {
        word: "early",
        means: "the figure of a reference case in the first third of the run",
        range: "ns/op",
        ..COLUMN
    },
    Word {
        word: "late",
        means: "the figure of a reference case in the last third of the run",
        range: "ns/op",
        ..COLUMN
    },
    Word {
        word: "change",
        means: "late over early, of a reference case; between two bills, new minus base",
        range: "per cent; between bills a time",
        matters: "A drift of the machine is in all figures of the run.",
        action: "`oscost explain REFERENCE_DRIFT`.",
        ..COLUMN
    },
    Word {
        word: "time on a CPU",
        means: "the time of an op by where it went: user mode, kernel, waiting",
        range: "a bar",
        ..COLUMN
    },
    Word {
        word: "gaps/s",
        means: "interruptions of over 5 us per second that a spinning probe saw on a CPU",
        range: "0 and more",
        source: "`oscost doctor`",
        ..COLUMN
    },
    Word {
        word: "lost",
        means: "time that the probe lost in gaps of over 1 us",
        range: "per cent",
        source: "`oscost doctor`",
        ..COLUMN
    },
    Word {
        word: "longest",
        means: "the longest gap that the probe saw",
        range: "us or ms",
        source: "`oscost doctor`",
        ..COLUMN
    },
    Word {
        word: "stolen",
        means: "time that the hypervisor took, as it says",
        range: "per cent",
        source: "`oscost doctor`",
        ..COLUMN
    },
    Word {
        word: "interrupts/s",
        means: "interrupts per second on the CPU",
        range: "0 and more",
        action: "Move them: the finding has the command.",
        source: "`oscost doctor`",
        ..COLUMN
    },
    Word {
        word: "kernel",
        means: "a kernel that `vm:` can boot",
        action: "`oscost run --at vm:KERNEL`.",
        source: "`oscost kernels --help`",
        ..COLUMN
    },
    Word {
        word: "build",
        means: "the version of the build that a kernel is of",
        source: "`oscost kernels --help`",
        ..COLUMN
    },
    Word {
        word: "condition",
        means: "what oscost itself needs of a machine",
        action: "`oscost doctor --self` examines all of them.",
        ..COLUMN
    },
    Word {
        word: "found",
        means: "what a condition was found to be, and what follows from it",
        source: "`oscost doctor --self`",
        ..COLUMN
    },
    Word {
        word: "state",
        means: "of a kernel, whether it can be booted; of a profile of pH, whether it learns; of a \
                condition, whether it limits oscost",
        source: "`oscost kernels --help`, docs/reference/PH.md",
        ..COLUMN
    },
    Word { word: "size", means: "the bytes that it takes on the disk", range: "B", ..COLUMN },
];
