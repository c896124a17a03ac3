//! Terms of operating systems and of statistics that sentences of reports have.

use super::word::{Kind, Word};

const TERM: Word = Word::of(Kind::GeneralTerm);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "dynamic linker",
        means: "the program that maps the shared libraries of another one and resolves their symbols \
                before main: of fork, exec and wait the difference between link=dynamic and link=static",
        source: "ld.so(8)",
        ..TERM
    },
    Word {
        word: "figure",
        means: "the median over the repetitions of a row, in its unit; a report prints it with its \
                interval",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "intermediate precision",
        means: "how closely runs on one machine and kernel agree, also on other days and after boots: \
                `between_run_ci95` has it (ISO 5725)",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "interval",
        means: "the range in which the figure lies with 95 % confidence, from the repetitions of the \
                run and, where it is known, the variation between runs",
        range: "from 6 repetitions on",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "lost",
        means: "of the time of a run: the share in which workers were ready to run but had no CPU; \
                the class and the grade of the run follow from it",
        range: "per cent; `quiet` below 1, `very noisy` above 10",
        action: "`oscost doctor` names what takes the CPU.",
        source: "docs/explanation/METHOD.md, section 5",
        ..TERM
    },
    Word {
        word: "page cache",
        means: "the pages of files that the kernel keeps in memory: it holds all of a warm file, and \
                none of a cold one",
        source: "`oscost explain cache`, cachestat(2)",
        ..TERM
    },
    Word {
        word: "repeatability",
        means: "how closely the repetitions of one run agree: `ci95` has it, and nothing of what runs \
                differ by (ISO 5725)",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "system call",
        means: "a request of a program to the kernel, which the processor enters for it; the null \
                system call (getppid) does next to nothing there",
        source: "syscalls(2), `oscost explain syscall/getppid`",
        ..TERM
    },
];
