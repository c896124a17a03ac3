//! Columns of tables of machines, histories, studies and lists.

use super::word::{Kind, Word};

const COLUMN: Word = Word::of(Kind::Column);

pub(super) const WORDS: &[Word] = &[
    Word {
        word: "count",
        means: "how often a command makes a call of this form, or takes a fault: the median of the \
                counted runs",
        range: "0 and more",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "amount",
        means: "what an item of a bill costs in all: how often, times the price of one",
        range: "a time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "cool amount",
        means: "the amount of an item of a bill if the program has used other memory since its last \
                call: the price of an op after a walk through memory, or one by the ratio of others",
        range: "a time; absent without a cool price",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "share",
        means: "the amount of an item of a bill in the command's measured system time",
        range: "per cent; the items of a bill may exceed 100",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "by count",
        means: "of the change of an item between two bills, what more or fewer of it make, each at \
                its price in the base",
        range: "a time, in either direction",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "by price",
        means: "of the change of an item between two bills, what another price makes: the change \
                of the price, for each one in the new bill",
        range: "a time, in either direction; nothing where both bills have one price",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "counts",
        means: "how often an item is in the base and in the new bill",
        range: "two numbers",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "price",
        means: "the case whose figure is the price of an item of a bill, and the part of its op that \
                one call pays",
        range: "a part and a case",
        source: "docs/reference/CALLS.md",
        ..COLUMN
    },
    Word {
        word: "on CPU",
        means: "the time of an item's calls in the kernel while their tasks ran, from the entry of \
                each call to its return, as the eBPF counter measured it",
        range: "a time, with interrupts and what the counter adds",
        matters: "It is independent of prices: where it exceeds an amount by far, the price is that \
                  of another call, or of warmer caches.",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "off CPU",
        means: "the time of an item's calls in the kernel while their tasks waited, or others ran",
        range: "a time; no part of the system time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
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
        word: "what if",
        means: "treatments under which the program of a bill might run",
        range: "treatments, joined by `+`",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "judged",
        means: "whether a predicted increase is within 25 % of the measured one; not judged where \
                half of the interval of the measured one is more than that",
        range: "within, outside, or why it is not judged",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "amount there",
        means: "what an item of a bill costs by the prices of another run",
        range: "a time",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "there / here",
        means: "the amount of an item by the prices of another run, over that by the prices of the \
                bill",
        range: "above 0",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
    Word {
        word: "remark",
        means: "why an item of a bill has no price, or what is doubtful about it; where its cool \
                amount comes from",
        source: "docs/explanation/BILL.md",
        ..COLUMN
    },
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
        word: "since",
        means: "the first run with the new figure",
        range: "a date",
        source: "docs/explanation/METHOD.md, section 15",
        ..COLUMN
    },
    Word { word: "was", means: "the figure before the change", ..COLUMN },
    Word { word: "times", means: "new figure over the old one", range: "1 is no change", ..COLUMN },
    Word { word: "from", means: "the figure before the change", ..COLUMN },
    Word { word: "to", means: "the figure after the change", ..COLUMN },
    Word {
        word: "last run before",
        means: "the last run with the old figure",
        action: "`oscost runs show ID`.",
        ..COLUMN
    },
    Word {
        word: "first run after",
        means: "the first run with the new figure",
        action: "`oscost runs show ID`.",
        ..COLUMN
    },
    Word {
        word: "updated at that run",
        means: "what differs between the two runs: kernel, command line, mitigations, oscost",
        matters: "It may be the cause; only a comparison can tell (`oscost ab`).",
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
    Word {
        word: "treatment",
        means: "what can be done to a process or its system",
        action: "`oscost explain TREATMENT`.",
        source: "docs/reference/TARGETS.md",
        ..COLUMN
    },
    Word {
        word: "here",
        means: "of a treatment, whether it works here; of a study, the figure measured here",
        ..COLUMN
    },
    Word {
        word: "effect",
        means: "what a treatment does",
        source: "docs/reference/TARGETS.md",
        ..COLUMN
    },
    Word {
        word: "executable",
        means: "the program that a profile of pH is of",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "last new pair",
        means: "how many calls ago a profile learned something",
        matters: "A profile that learns nothing for long becomes normal.",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "anomalies",
        means: "calls whose predecessors the profile has not learned",
        range: "0 and more",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "call",
        means: "a system call of a profile",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "earlier calls, with how many calls earlier each was",
        means: "the predecessors that the profile has learned for the call",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "need",
        means: "what the monitor needs",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "met",
        means: "whether the machine has it",
        range: "yes or no",
        source: "docs/reference/PH.md",
        ..COLUMN
    },
    Word {
        word: "detail",
        means: "what is missing, and how to get it",
        source: "docs/reference/PH.md",
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
        means: "the figure by oscost's method, beside that by the method of the study",
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
        word: "in cycles",
        means: "the same in cycles of the two processors, or a figure in cycles of its own",
        matters: "What is left is not the clock rate.",
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
        word: "run",
        means: "the beginning of the id of a run, as far as it is unique",
        matters: "`oscost runs show` takes it.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "started",
        means: "when a run began, in UTC",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "took",
        means: "how long a run took, from its start to its end",
        range: "s, min or h; `-` if it did not end",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "trust",
        means: "how far the figures of a run can be believed",
        range: "`good`, `fair`, `poor`; `-` without figures",
        matters: "It rests on the time that was lost, on the drift of the clock and of reference \
                  cases (the list of runs does not know the latter), and on the flags of rows.",
        action: "`oscost explain fair`.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "label",
        means: "the text that the user gave a run (`--label`)",
        matters: "`@LABEL` names the newest run with it.",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "machine",
        means: "in the list of runs the processor that a run was measured on; of a table of machines \
                one of them, or with `+N` several with the same recorded facts",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "kind",
        means: "what a line of the list of runs is: a run, or the bill of a command or process",
        range: "run, bill",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "command",
        means: "what was measured: the command line without `oscost`",
        source: "`oscost runs --help`",
        ..COLUMN
    },
    Word {
        word: "family",
        means: "a group of benchmarks: the part before the slash; of an item of a bill, what the \
                kernel did for it",
        action: "`oscost list FAMILY`.",
        source: "`oscost list`",
        ..COLUMN
    },
    Word {
        word: "benchmarks",
        means: "the number of benchmarks of a family",
        source: "`oscost list`",
        ..COLUMN
    },
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
