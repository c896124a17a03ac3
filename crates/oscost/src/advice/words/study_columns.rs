//! Columns of tables of studies.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "required",
        means: "the bounds between which a quantity of a claim must lie for the claim to hold",
        range: "numbers, as the study's file has them",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "by oscost's own estimates",
        means: "the verdict on a claim by medians over fresh processes, where it differs from that by \
                the study's statistic",
        range: "a verdict with its values",
        source: "docs/explanation/METHOD.md",
        ..COLUMN
    },
    Word {
        word: "counted cycles",
        means: "cycles of the core for an op, counted by the processor, in a row that the study gives \
                in cycles",
        range: "cycles",
        matters: "Ticks of the time-stamp counter have a constant rate; cycles follow the clock.",
        ..COLUMN
    },
    Word {
        word: "then/counted",
        means: "the study's figure in cycles over the counted cycles here",
        range: "a ratio",
        ..COLUMN
    },
    Word {
        word: "cycles by",
        means: "what the cycles of a row rest on: counted by the processor, or time by the rate of the \
                core",
        range: "a word",
        ..COLUMN
    },
    Word {
        word: "row",
        means: "a row of a table as it was published",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in",
        means: "the column of the table as it was published",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "then",
        means: "the figure as it was published",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "oscost's median",
        means: "the figure here by oscost's method, beside that by the method of the study if that is \
                another one",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "then/here",
        means: "how many times faster this machine is",
        range: "1 is no change",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "then/here in cycles",
        means: "how many times as many cycles it took then, each at the clock of its own core",
        range: "1 is no change",
        matters: "What is left is not the clock rate.",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in cycles",
        means: "a figure in cycles of the core of its own machine",
        matters: "The clock rate is not in it.",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in calls",
        means: "a figure in null system calls of its own machine",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in loads",
        means: "a figure in loads from memory of its own machine",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in cycles, here",
        means: "the figure of this machine in its cycles",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in calls, here",
        means: "the figure of this machine in its null system calls",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "in loads, here",
        means: "the figure of this machine in its loads from memory",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "ratio [95 % interval]",
        means: "new over base with its interval",
        range: "1 is no change",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "year",
        means: "the year in which a figure was published",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "study",
        means: "the study that a figure is of",
        action: "`oscost study list`.",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "loads",
        means: "the cost in loads from memory",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "all its systems",
        means: "the figures of the other systems of the study",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "act",
        means: "what is compared over the years: a system call, a switch, a fork",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "published",
        means: "the text of the figure as it was published",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word { word: "runs", means: "how many runs a figure here rests on", ..COLUMN },
    Word {
        word: "time",
        means: "the cost of an act, in time",
        range: "ns to s",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "rate",
        means: "the rate of an act",
        range: "B/s",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
    Word {
        word: "B/cycle",
        means: "bytes moved in a cycle of the processor",
        range: "B/cycle",
        source: "docs/reference/STUDY-FILES.md",
        ..COLUMN
    },
];
