//! Flags of rows.

use super::word::{Kind, Severity, Word};

const FLAG: Word = Word::of(Kind::RowFlag);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "ADDED",
        means: "measured to place a break of a curve: see `curves`",
        action: "Read the curve; `oscost run --refine` adds such rows.",
        ..FLAG
    },
    Word {
        word: "REFERENCE",
        means: "measured in every round although not asked for",
        matters: "The reference cases are the gauge of the run: they show whether the machine \
                  changed meanwhile.",
        ..FLAG
    },
    Word {
        word: "PRIMITIVE",
        means: "measured although not asked for: what was asked for cannot cost less",
        matters: "It is a part of a floor; tables hide it, the record has it.",
        ..FLAG
    },
    Word {
        word: "CALLS_UNEXPECTED",
        means: "it does not make the system calls that its definition names",
        matters: "The figure is that of another op than its name says.",
        action: "Do not use the row; `oscost explain` of the benchmark shows the calls that it \
                 makes here.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "CALLS_UNCOUNTED",
        means: "its system calls could not be counted here",
        matters: "That the op does what its definition says is not checked here.",
        action: "Allow ptrace(2) for the count: a sandbox, or `kernel.yama.ptrace_scope`, forbids \
                 it. If the time was up before, give the run more (`--budget`).",
        ..FLAG
    },
    Word {
        word: "CLASS_BORDERLINE",
        means: "light or heavy: its interval contains three times the null system call",
        matters: "Another run may name the other class.",
        action: "Ask for more precision (`--precision`).",
        ..FLAG
    },
    Word {
        word: "CLASS_UNEXPECTED",
        means: "it enters the kernel against its definition, or does not and costs as much as a \
                system call: something traps, emulates or falls back",
        matters: "The cost is that of another mechanism than the definition describes.",
        action: "`oscost explain` of the benchmark, and `oscost doctor`.",
        ..FLAG
    },
    Word {
        word: "COARSE_CLOCK",
        means: "no batch length suits the clock, the rate of interruptions and the op",
        matters: "The step of the clock, or interruptions, are a visible part of each batch.",
        action: "Measure on a quieter machine; `oscost doctor` names what interrupts.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "FEW_REPETITIONS",
        means: "below six repetitions there is no interval",
        matters: "How much the figure varies is not known.",
        action: "Give the run more time (`--budget`).",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "NOT_EXACT",
        means: "not all repetitions counted the same number: the figure is their range",
        matters: "A count of instructions usually repeats to the last digit.",
        action: "Read the range, not the figure alone.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "NOT_CONVERGED",
        means: "what the run leaves open is wider than was asked for",
        matters: "The figure holds within its interval, which is wide.",
        action: "Read the interval; measure longer (`--budget`) or on a quieter machine (`oscost \
                 doctor`).",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "BELOW_DETECTION",
        means: "its interval contains zero: the upper end is a bound of the figure",
        matters: "The cost cannot be told from nothing.",
        action: "Quote the upper end as a bound.",
        ..FLAG
    },
    Word {
        word: "SKEWED",
        means: "most repetitions are not near the median: skewed, or bimodal",
        matters: "The median is not the most frequent cost.",
        action: "Look at `repetitions` of the row in the record (`--json`).",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "REJECT_MATTERS",
        means: "the disturbed batches would change the figure",
        matters: "What was left out as disturbed is not small against the interval.",
        action: "Measure again on a quieter machine.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "NOT_A_LINE",
        means: "twice the ops do not take twice the time: one figure does not describe them",
        matters: "A cost per op does not describe the op.",
        action: "Measure again; if it stays, see its batches (`--samples`), and the other points of its \
                 benchmark if it has axes.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "REJECTION_BLIND",
        means: "switches could not be counted here: no batch was rejected for them",
        matters: "Batches that were interrupted may be in the figure.",
        action: "Measure in a less restricted sandbox.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "WORKER_LOST",
        means: "a worker crashed or hung once and was replaced",
        matters: "The other repetitions are not affected.",
        action: "See `repetitions` in the record.",
        ..FLAG
    },
    Word {
        word: "DRIFT",
        means: "not settled: the end of a worker differs from its beginning by over 1 %",
        matters: "The figure depends on how long a worker runs, so that it should not be used. Both \
                  ends of each worker are compared: that shows 1 % also where the interval of the \
                  figure, which is about runs, is wider.",
        action: "Measure again; if it stays, please report it.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "PROCESSES_DIFFER",
        means: "processes differ, and the interval covers it",
        matters: "Each process has its own addresses, and caches and branches depend on them: \
                  this is common.",
        ..FLAG
    },
    Word {
        word: "HALF_ASSUMED",
        means: "half of it as the time one way is an assumption: clocks of two machines are not \
                compared",
        matters: "The two directions may differ.",
        action: "Do not halve the figure.",
        ..FLAG
    },
    Word {
        word: "HOST_WARM",
        means: "cold in the guest, perhaps warm in the host: this kernel had none of the file in \
                memory, the host may have had all of it",
        matters: "The figure may be that of memory, not of a disk.",
        action: "Measure on the host, or drop its caches first.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "NETWORK_FILES",
        means: "its file is on another machine: the figure is not that of a disk",
        matters: "A network and a server are in the figure.",
        action: "Name a folder on a local disk by TMPDIR.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "OVERLAY_FILES",
        means: "its file is on an overlay of other file systems: the figure is not that of one of \
                them",
        matters: "The layers add their own cost.",
        action: "Name a folder on a local disk by TMPDIR.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "UNKNOWN_FILES",
        means: "the device of its file system is unknown: the figure may not be that of a disk",
        matters: "It is not known what the file is on.",
        action: "Name a folder on a local disk by TMPDIR.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "TWO_LEVELS",
        means: "repetitions lie around two values, and the interval spans both: a shorter run may \
                show one of them alone",
        matters: "The median may be of either. Loops around an inlined system call may have two: \
                  `oscost ab --base call=inline --new call=function CASE` shows it.",
        action: "Read both levels.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "MEMORY_BOUND",
        means: "`peak-memory` is a bound: the process that starts the program had as much resident, \
                and Linux carries that over the exec",
        matters: "Smaller programs all have that figure: they are not compared by it.",
        action: "Read it as at most that much.",
        ..FLAG
    },
    Word {
        word: "TICK_SPLIT",
        means: "the clock tick divides CPU time into user and system time: their sum is exact, \
                the two of a short trial are not",
        matters: "The kernel divides the time of each process by sampling at its clock ticks, and calls \
                  it user time without one: of many short processes system time is too low.",
        action: "Read `cpu`, the sum.",
        ..FLAG
    },
    Word {
        word: "CPU_CONTENTION",
        means: "a command that computes waited for a CPU: its wall time is far above its CPU time, \
                or above that of its undisturbed trials",
        matters: "Other tasks had the CPU: the wall time is that of the command and of its waits.",
        action: "Read `cpu`, to which a competitor adds nothing, or measure on a quieter machine.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "LONG_SHOTS",
        means: "single shots of over 1 ms are often disturbed on a shared machine",
        matters: "Their quantiles contain interruptions.",
        action: "Expect interruptions in the upper quantiles.",
        severity: Severity::Wide,
        ..FLAG
    },
    Word {
        word: "UNRELIABLE",
        means: "too much time was lost for an absolute figure of single shots",
        matters: "Single shots, cold ops and throughput contain the time that the machine lost.",
        action: "Measure again on a quieter machine; `oscost doctor` names what disturbs.",
        severity: Severity::Unusable,
        ..FLAG
    },
    Word {
        word: "BELOW_FLOOR",
        means: "less than its parts cost in this run: one of them was disturbed, or a figure is wrong",
        matters: "An op cannot cost less than its parts: these two figures do not agree.",
        action: "Measure again on a quieter machine; if it stays, please report it with the record \
                 (`oscost runs export`).",
        severity: Severity::Unusable,
        ..FLAG
    },
];
