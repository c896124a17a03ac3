//! Every treatment that there is, as it is told to people.

/// How a treatment is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// To a process that runs, by itself or by one beside it.
    Applied,
    /// To the whole system, while something is measured.
    Attached,
    /// To a program as it is started.
    Wraps,
}

impl Mechanism {
    /// The word for it.
    pub fn text(self) -> &'static str {
        match self {
            Mechanism::Applied => "applied",
            Mechanism::Attached => "attached",
            Mechanism::Wraps => "wraps",
        }
    }
}

/// A kind of treatment, as it is told to people.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What stands behind `=`: words that are typed as they are, and in capitals what to put in;
    /// empty where there is no value.
    pub value: &'static str,
    /// What it does.
    pub effect: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// What the kernel does then, and why that costs something.
    pub why: &'static str,
    /// Where that is written.
    pub source: &'static str,
    /// How it is done.
    pub mechanism: Mechanism,
}

impl Kind {
    /// The treatment that it says more of, and stands behind.
    pub fn modifies(&self) -> Option<&'static str> {
        (self.needs == "ph").then_some("ph")
    }
}

/// Every treatment that there is.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "seccomp",
        value: "allow|docker|FILE",
        effect: "a filter of system calls: all allowed, docker's shape, or an OCI profile",
        needs: "",
        why: "At each call the kernel enters by the slow way and runs a program of classic BPF on \
              the call's number, the architecture and the arguments. Since Linux 5.11 it remembers \
              which calls a filter lets through whatever their arguments, and runs nothing for \
              these: then a list of three hundred calls costs what an empty one does. Filters are \
              stacked, and a child inherits them all. Before Linux 5.16 a filter also forbids the \
              process to speculate past stores.",
        source: "seccomp(2); kernel/seccomp.c; the runtime specification of the Open Container \
                 Initiative",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "seccomp-trace",
        value: "",
        effect: "a filter that stops each call once, for a tracer",
        needs: "ptrace",
        why: "SECCOMP_RET_TRACE: each call stops its task once, wakes the tracer, and waits until \
              that lets it go on: two switches of process a call, one stop less than `ptrace`.",
        source: "seccomp(2), ptrace(2)",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "seccomp-notify",
        value: "",
        effect: "a filter that asks another process about each call; it lets all go on",
        needs: "Linux 5.6",
        why: "SECCOMP_RET_USER_NOTIF: each call sleeps until another process has read what it is \
              and has answered (here: go on). Container engines have calls of theirs done so.",
        source: "seccomp_unotify(2)",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "ptrace",
        value: "",
        effect: "a tracer that stops each call at its entry and its exit, as strace does",
        needs: "ptrace",
        why: "PTRACE_SYSCALL: each call stops at its entry and at its exit; each stop wakes the \
              tracer, which lets it go on: four switches of process a call. strace(1) reads \
              registers and memory at each stop besides. The tracer stands on the CPU of its \
              process: across CPUs every stop is an interrupt more.",
        source: "ptrace(2)",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "sud",
        value: "",
        effect: "Syscall User Dispatch, with a selector that lets every call through",
        needs: "Linux 5.11, x86-64",
        why: "Each call reads a byte of the process's own memory, which says whether it goes to \
              the kernel or comes back as SIGSYS. Here it always goes. Wine tells calls of Windows \
              from those of Linux so.",
        source: "prctl(2), PR_SET_SYSCALL_USER_DISPATCH; Linux: admin-guide/syscall-user-dispatch",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "ebpf",
        value: "empty|count",
        effect: "an eBPF program at each call of all processes: does nothing, or counts",
        needs: "root (CAP_BPF, CAP_PERFMON)",
        why: "The program is attached to the raw tracepoint sys_enter: every call of every process \
              enters by the slow way and runs it, compiled to machine code where the kernel does \
              that (net.core.bpf_jit_enable). `empty` returns at once, `count` adds one to a \
              counter of its CPU and of the call's number. Monitors of system calls begin here.",
        source: "bpf(2); include/trace/events/syscalls.h",
        mechanism: Mechanism::Attached,
    },
    Kind {
        name: "ftrace",
        value: "",
        effect: "each call of all processes is written to a trace buffer, entry and exit",
        needs: "root, tracefs",
        why: "The events raw_syscalls:sys_enter and raw_syscalls:sys_exit are written to the ring \
              buffer of an instance of tracefs that nobody reads: the oldest are overwritten.",
        source: "Linux: trace/ftrace, trace/events",
        mechanism: Mechanism::Attached,
    },
    Kind {
        name: "ph",
        value: "",
        effect: "pH, a monitor that learns what each executable calls (`oscost ph`)",
        needs: "root, BTF, a build with clang; reach local",
        mechanism: Mechanism::Attached,
        why: "At each call of all processes an eBPF program compares the last nine calls of the task \
              with the pairs that were seen in its executable, and counts what is new: study \
              ph-2000 did that in a kernel of its own. Nothing is written that another CPU writes, \
              unless something is new.",
        source: "study ph-2000; A. Somayaji, S. Forrest: Automated response using system-call \
                 delays. USENIX Security 2000",
    },
    Kind {
        name: "trained",
        value: "",
        effect: "behind `ph`: with what `oscost ph train` has learnt, which stays as it is",
        needs: "ph",
        mechanism: Mechanism::Attached,
        why: "`ph` alone begins with no profile: what it costs is then what learning costs. With \
              what was learnt before, an executable that has become normal is held against that \
              at each call, too. A row says in which state the profile was.",
        source: "study ph-2000",
    },
    Kind {
        name: "respond",
        value: "",
        effect: "behind `ph`: what it distrusts is delayed, and never killed",
        needs: "ph",
        mechanism: Mechanism::Attached,
        why: "A process whose calls are not normal is stopped and continued, twice as long for each \
              anomaly among its last 128 calls; one that does what it always did is not touched.",
        source: "study ph-2000",
    },
    Kind {
        name: "clocksource",
        value: "NAME",
        effect: "another clock source of the kernel's; clock reads may then enter it",
        needs: "root",
        why: "The vDSO can read the time stamp counter, and few clocks of hypervisors. From any \
              other source clock_gettime(2) is a system call, and reads slow hardware: rows that \
              expected the vDSO are marked CLASS_UNEXPECTED.",
        source: "clock_gettime(2), vdso(7); /sys/devices/system/clocksource",
        mechanism: Mechanism::Attached,
    },
    Kind {
        name: "cgroup",
        value: "own|cpu:N%,memory:N[K|M|G],pids:N",
        effect: "a control group of its own, with limits where some are named",
        needs: "root, or a delegated group",
        why: "A group of its own, removed afterwards. `own` limits nothing: it costs what the \
              accounting costs. A quota of CPU stops the group when it is used up, until the next \
              100 ms begin; such workers are marked THROTTLED.",
        source: "cgroups(7); Linux: admin-guide/cgroup-v2",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "nice",
        value: "N",
        effect: "a nice value, -20 to 19, added to its own",
        needs: "below 0: root (CAP_SYS_NICE)",
        why: "The scheduler gives each step some 25 % more or less weight against whoever wants \
              the same CPU: on an idle one it costs nothing.",
        source: "sched(7), setpriority(2)",
        mechanism: Mechanism::Applied,
    },
    Kind {
        name: "env",
        value: "NAME=VALUE",
        effect: "a variable of its environment",
        needs: "",
        why: "A variable moves the stack of the process, and with it what shares a set of a cache: \
              that alone can be worth per cents. Every worker therefore has padding of a random \
              length beside it.",
        source: "environ(7); T. Mytkowicz and others: Producing wrong data without doing anything \
                 obviously wrong! ASPLOS 2009",
        mechanism: Mechanism::Wraps,
    },
    Kind {
        name: "antagonist",
        value: "cpu|memory|syscalls[:same|:other]",
        effect: "a noisy neighbour, on another CPU or the same one",
        needs: "",
        why: "`cpu` computes, `memory` writes through 64 MiB, `syscalls` enters the kernel, \
              without end, at the same priority. On `:same` CPU they take turns; on another they \
              share what processors share: caches, memory, the kernel's locks, and often a core.",
        source: "sched(7)",
        mechanism: Mechanism::Attached,
    },
    Kind {
        name: "cmd",
        value: "WRAPPER",
        effect: "a program of yours that starts it: strace, a container runtime",
        needs: "the program; reach local",
        why: "The program is started with the worker's command behind its own words, and whatever it \
              does to it is measured: compared in two processes one after the other, which spread \
              more than twins do.",
        source: "execve(2)",
        mechanism: Mechanism::Wraps,
    },
];
