//! Terms of operating systems and of statistics that sentences of reports have.

use super::word::{Kind, Word};

const TERM: Word = Word::of(Kind::GeneralTerm);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "confidence",
        means: "of an interval: 95 of 100 such intervals contain the value that they are of",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "context switch",
        means: "the kernel's change from one task to another on a CPU: of registers and stack, \
                and between processes also of the address space",
        source: "sched(7), `oscost explain switch/pipe`",
        ..TERM
    },
    Word {
        word: "cool price",
        means: "what a call or a fault costs after the program has used other memory, by the row with \
                a walk through memory before each op, or by the ratio of other calls; with the price \
                in warm caches it makes the range of a bill",
        source: "docs/explanation/BILL.md, `oscost explain the range`",
        ..TERM
    },
    Word {
        word: "do not use",
        means: "behind a figure: the row has the flag that is named, after which the figure is not \
                what its name says, or depends on how it was measured",
        matters: "Its interval does not cover that: it is about repetitions and runs.",
        action: "`oscost explain` of the flag says what to do.",
        source: "docs/reference/RECORDS.md, flags",
        ..TERM
    },
    Word {
        word: "dynamic linker",
        means: "the program that maps the shared libraries of another one and resolves their symbols \
                before main: of fork, exec and wait the difference between link=dynamic and link=static",
        source: "ld.so(8)",
        ..TERM
    },
    Word {
        word: "exec",
        means: "the replacement of a process's program by another one: the kernel maps the new \
                program, and the dynamic linker its libraries",
        source: "execve(2), `oscost explain process/fork-exec`",
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
        word: "function call",
        means: "a call of a function of the same program, without the kernel: answers say how \
                many of them a system call costs",
        source: "`oscost explain procedure/call`",
        ..TERM
    },
    Word {
        word: "grade",
        means: "how far the figures of a run can be believed, with the reasons: good, fair or \
                poor",
        source: "`oscost explain fair`",
        ..TERM
    },
    Word {
        word: "hypervisor",
        means: "the program that runs virtual machines: it may take the CPU from a guest, or \
                emulate an instruction of it, and the guest may not see it",
        source: "`oscost doctor`",
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
        word: "interrupt",
        means: "a signal of a device, a timer or another CPU, for which the processor leaves the \
                running task: its time is in the batch that it falls into",
        source: "docs/explanation/METHOD.md, section 5",
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
        word: "mitigation",
        means: "what the kernel does against attacks on speculative execution, often at each \
                entry or exit, which makes system calls slower",
        source: "`oscost machine`; Linux: admin-guide/hw-vuln",
        ..TERM
    },
    Word {
        word: "p value",
        means: "the probability of a difference at least as large as the one that was found, if \
                nothing differed",
        source: "docs/explanation/METHOD.md, section 11",
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
        word: "PMU",
        means: "the performance monitoring unit of the processor, which counts instructions, \
                cycles and events such as cache misses: a guest has one if its hypervisor \
                provides it",
        source: "perf_event_open(2)",
        ..TERM
    },
    Word {
        word: "page fault",
        means: "an access to a page that is not mapped, or not writable: the processor enters \
                the kernel, which maps the page, and the access is repeated",
        source: "`oscost explain fault/zero-fill`",
        ..TERM
    },
    Word {
        word: "raw batch",
        means: "a batch as the worker recorded it, with its time and its ops: the store keeps \
                those of recent runs",
        source: "`oscost runs prune --help`",
        ..TERM
    },
    Word {
        word: "repeatability",
        means: "how closely the repetitions of one run agree: `ci95` has it, and nothing of what runs \
                differ by (ISO 5725). Programs have it alone before three earlier runs",
        source: "docs/explanation/METHOD.md, section 4",
        ..TERM
    },
    Word {
        word: "residual",
        means: "what a model or a sum leaves of a measured value: of a bill, the measured system time \
                less what is charged, in the line `the difference`",
        source: "`oscost explain the difference`",
        ..TERM
    },
    Word {
        word: "round trip",
        means: "a message to another task and one back: it contains both ways, and the waking of \
                each side that sleeps",
        source: "`oscost explain pipe/round-trip`",
        ..TERM
    },
    Word {
        word: "standard deviation",
        means: "the square root of the mean square of the deviations from the mean: of \
                repetitions it says how much processes differ",
        source: "`oscost explain spread`",
        ..TERM
    },
    Word {
        word: "system call",
        means: "a request of a program to the kernel, which the processor enters for it; the null \
                system call (getppid) does next to nothing there",
        source: "syscalls(2), `oscost explain syscall/getppid`",
        ..TERM
    },
    Word {
        word: "TLB",
        means: "translation lookaside buffer, the processor's cache of page table entries: what \
                changes mappings or address spaces empties a part of it",
        source: "`oscost explain memory/mprotect`",
        ..TERM
    },
    Word {
        word: "trial",
        means: "one execution of a command that is measured: a value of its time and of its \
                memory",
        source: "docs/how-to/time-a-command.md",
        ..TERM
    },
    Word {
        word: "warm-up",
        means: "what runs before the batches or the trials that count, so that caches and the \
                core's rate are those of a program at work",
        source: "docs/explanation/METHOD.md, section 3",
        ..TERM
    },
];
