//! The table of all treatments, as the user sees it.

use oscost_model::reach::Reach;

/// How a treatment is put into effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mechanism {
    /// On a running process, by itself or by another one.
    Applied,
    /// On the whole system, during a measurement.
    Attached,
    /// On a program, when it is started.
    Wraps,
}

impl Mechanism {
    /// Its name.
    pub fn text(self) -> &'static str {
        match self {
            Mechanism::Applied => "applied",
            Mechanism::Attached => "attached",
            Mechanism::Wraps => "wraps",
        }
    }
}

/// A kind of treatment, as the user sees it.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The syntax of its value, with placeholders in capitals; empty if it takes none.
    pub value: &'static str,
    /// Its effect.
    pub effect: &'static str,
    /// Its requirements; empty for none.
    pub needs: &'static str,
    /// What the kernel does then, and why that costs something.
    pub why: &'static str,
    /// References.
    pub source: &'static str,
    /// How it is put into effect.
    pub mechanism: Mechanism,
    /// Where in a program it costs time.
    pub reach: Reach,
}

impl Kind {
    /// The treatment that this one modifies, and must follow.
    pub fn modifies(&self) -> Option<&'static str> {
        (self.needs == "ph").then_some("ph")
    }
}

/// All treatments.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "seccomp",
        value: "allow|docker|FILE",
        effect: "a system-call filter: all allowed, shaped like Docker's, or an OCI profile",
        needs: "",
        why: "Each system call takes the slow entry path and runs a classic BPF program on the \
              call number, the architecture and the arguments. Since Linux 5.11 the kernel caches \
              which calls a filter allows whatever their arguments, and runs no program for them: \
              an allow list of 300 calls then costs as much as an empty one. Filters are stacked, \
              and children inherit all of them. Before Linux 5.16 a filter also disables \
              speculative store bypass in the process.",
        source: "seccomp(2); kernel/seccomp.c; the runtime specification of the Open Container \
                 Initiative",
        mechanism: Mechanism::Applied,
        // A fork takes a reference to the filter (get_seccomp_filter), which the exit drops: some 10 ns.
        // A page fault does not pass the entry of calls. That `docker` does more at some calls is not in
        // the mean of all: clone and socket have rules on their arguments, are not in the bitmap of calls
        // that are always allowed, and run the program each time, some 100 ns; clone3 gets ENOSYS, after
        // which the C library calls clone, so that a fork or a thread takes one failed call more.
        reach: Reach::Calls,
    },
    Kind {
        name: "seccomp-trace",
        value: "",
        effect: "a filter that stops each system call once, for a tracer",
        needs: "ptrace",
        why: "SECCOMP_RET_TRACE: each system call stops its task once, wakes the tracer, and waits \
              until the tracer resumes it: two process switches per call, one stop less than \
              `ptrace`.",
        source: "seccomp(2), ptrace(2)",
        mechanism: Mechanism::Applied,
        // A fork or clone stops once more (PTRACE_O_TRACEFORK), and its child stops to be attached to.
        reach: Reach::CallsAndTasks,
    },
    Kind {
        name: "seccomp-notify",
        value: "",
        effect: "a filter that notifies another process of each call, which allows all",
        needs: "Linux 5.6",
        why: "SECCOMP_RET_USER_NOTIF: each system call sleeps until another process has read the \
              notification and replied (here: continue). Container engines handle some calls this \
              way.",
        source: "seccomp_unotify(2)",
        mechanism: Mechanism::Applied,
        reach: Reach::Calls,
    },
    Kind {
        name: "ptrace",
        value: "",
        effect: "a tracer that stops each system call at its entry and exit, like strace",
        needs: "ptrace",
        why: "PTRACE_SYSCALL: each system call stops at its entry and at its exit; each stop wakes \
              the tracer, which resumes the task: four process switches per call. strace(1) also \
              reads registers and memory at each stop. The tracer runs on the CPU of the traced \
              process: between CPUs, each stop costs an additional interrupt.",
        source: "ptrace(2)",
        mechanism: Mechanism::Applied,
        // As of seccomp-trace.
        reach: Reach::CallsAndTasks,
    },
    Kind {
        name: "sud",
        value: "",
        effect: "Syscall User Dispatch, with a selector that allows every call",
        needs: "Linux 5.11, x86-64",
        why: "Each system call reads a byte of the process's memory, which selects whether the \
              kernel executes the call or raises SIGSYS. Here it always executes it. Wine uses \
              this to intercept Windows system calls.",
        source: "prctl(2), PR_SET_SYSCALL_USER_DISPATCH; Linux: admin-guide/syscall-user-dispatch",
        mechanism: Mechanism::Applied,
        reach: Reach::Calls,
    },
    Kind {
        name: "ebpf",
        value: "empty|count",
        effect: "an eBPF program at each call of all processes: returns at once, or counts",
        needs: "root (CAP_BPF, CAP_PERFMON)",
        why: "The program is attached to the raw tracepoint sys_enter: every call of every process \
              takes the slow entry path and runs it, compiled to machine code if the kernel does \
              that (net.core.bpf_jit_enable). `empty` returns at once, `count` increments a \
              counter per CPU and call number. This is the minimum cost of a system-call monitor.",
        source: "bpf(2); include/trace/events/syscalls.h",
        mechanism: Mechanism::Attached,
        // The program is attached to sys_enter alone, and to no tracepoint of forks, execs, exits or
        // page faults: a fork gives its child a flag (syscall_tracepoint_update).
        reach: Reach::Calls,
    },
    Kind {
        name: "ftrace",
        value: "",
        effect: "the entry and exit of each call of all processes go to a trace buffer",
        needs: "root, tracefs",
        why: "The events raw_syscalls:sys_enter and raw_syscalls:sys_exit are written to the ring \
              buffer of a tracefs instance that is not read: the oldest events are overwritten.",
        source: "Linux: trace/ftrace, trace/events",
        mechanism: Mechanism::Attached,
        // An exit does not return and has no sys_exit: at the mean of all it pays half a call too much.
        reach: Reach::Calls,
    },
    Kind {
        name: "ph",
        value: "",
        effect: "pH, a monitor that learns the call sequences of executables (`oscost ph`)",
        needs: "root, BTF, a build with clang; host local",
        mechanism: Mechanism::Attached,
        // Its programs at sched_process_fork, which allocates what the exit of the task frees, and at
        // sched_process_exec, which looks up the profile, take microseconds; none is at page faults.
        reach: Reach::CallsAndTasks,
        why: "At each call of all processes, an eBPF program compares the last nine calls of the \
              task with the pairs of calls seen in its executable, and counts new pairs: study \
              ph-2000 did so in a modified kernel. Memory that other CPUs write is written only \
              for new pairs.",
        source: "study ph-2000; A. Somayaji, S. Forrest: Automated response using system-call \
                 delays. USENIX Security 2000",
    },
    Kind {
        name: "trained",
        value: "",
        effect: "after `ph`: uses the profiles of `oscost ph train`, without changing them",
        needs: "ph",
        mechanism: Mechanism::Attached,
        reach: Reach::CallsAndTasks,
        why: "`ph` alone begins without profiles: its cost is the cost of learning. With profiles, \
              each call of an executable whose profile is normal is also compared with that \
              profile. The row names the state of the profile.",
        source: "study ph-2000",
    },
    Kind {
        name: "respond",
        value: "",
        effect: "after `ph`: processes with anomalies are delayed, never killed",
        needs: "ph",
        mechanism: Mechanism::Attached,
        reach: Reach::Anything,
        why: "A process with anomalies is stopped and continued; the delay doubles with each \
              anomaly among its last 128 calls. Processes without anomalies are not delayed.",
        source: "study ph-2000",
    },
    Kind {
        name: "clocksource",
        value: "NAME",
        effect: "another kernel clock source; clock reads may then be system calls",
        needs: "root",
        why: "The vDSO can read the time stamp counter and the clocks of some hypervisors. With \
              any other source, clock_gettime(2) is a system call and reads slow hardware: rows \
              that expected the vDSO are marked CLASS_UNEXPECTED.",
        source: "clock_gettime(2), vdso(7); /sys/devices/system/clocksource",
        mechanism: Mechanism::Attached,
        reach: Reach::Anything,
    },
    Kind {
        name: "cgroup",
        value: "own|cpu:N%,memory:N[K|M|G],pids:N",
        effect: "a control group of its own, with the named limits",
        needs: "root, or a delegated group",
        why: "The group is removed afterwards. `own` sets no limit: its cost is that of the \
              accounting. A group that has used up its CPU quota is stopped until the next period \
              of 100 ms begins; such workers are marked THROTTLED.",
        source: "cgroups(7); Linux: admin-guide/cgroup-v2",
        mechanism: Mechanism::Applied,
        reach: Reach::Anything,
    },
    Kind {
        name: "nice",
        value: "N",
        effect: "adds -20 to 19 to the nice value",
        needs: "below 0: root (CAP_SYS_NICE)",
        why: "Each step changes the weight of the process against others on the same CPU by about \
              25 %: on an idle CPU it has no effect.",
        source: "sched(7), setpriority(2)",
        mechanism: Mechanism::Applied,
        reach: Reach::Anything,
    },
    Kind {
        name: "cool",
        value: "0|N[K|M]",
        effect: "a walk through N of memory before each op; 0: none, ops timed alone",
        needs: "a benchmark",
        why: "A loop finds in the caches what its last iteration left there; a program has done \
              something else since its last call. Each op is timed alone. Before it, untimed, come \
              four ops and the walk, which reads each cache line of N bytes once, in random \
              order (4K to 8M; 32M: as a last-level cache), or one line of each KiB (16M), so \
              that it displaces the translations of addresses, too: what the op needs of the \
              kernel's code and data is then further away. Branch predictors remember it. In a comparison the targets without a walk get `cool=0`, \
              so that all time ops alone; what the walk adds to `timer/nothing` is the cost of \
              the measurement itself.",
        source: "docs/explanation/METHOD.md, section 2; docs/explanation/BILL.md",
        mechanism: Mechanism::Applied,
        reach: Reach::Anything,
    },
    Kind {
        name: "call",
        value: "inline|function",
        effect: "raw system calls inlined into their loop, or made through a function",
        needs: "a benchmark of raw calls",
        why: "Programs call the kernel through functions of the C library, whose return comes right \
              after the system call. Where the kernel's returns are guarded (safe RET, RSB filling), \
              its own code then takes longer than in a loop with the instruction inlined: 30 to 60 % \
              more in short calls of an AMD EPYC. `function` makes each raw call of a benchmark \
              through a function of the instruction and a return; `inline`, its base, as without a \
              treatment. Benchmarks without such loops (through the C library, of faults, forks, \
              sockets) are skipped.",
        source: "docs/explanation/BIAS.md; docs/explanation/BILL.md; Linux: \
                 admin-guide/hw-vuln/srso",
        mechanism: Mechanism::Applied,
        reach: Reach::Anything,
    },
    Kind {
        name: "env",
        value: "NAME=VALUE",
        effect: "an environment variable",
        needs: "",
        why: "A variable moves the stack of the process, and thereby changes which addresses share \
              a cache set: that alone can change figures by some per cent. Every worker therefore \
              has additional padding of random length.",
        source: "environ(7); T. Mytkowicz and others: Producing wrong data without doing anything \
                 obviously wrong! ASPLOS 2009",
        mechanism: Mechanism::Wraps,
        reach: Reach::Anything,
    },
    Kind {
        name: "antagonist",
        value: "cpu|memory|syscalls[:same|:other]",
        effect: "a load on another CPU or on the same one (noisy neighbour)",
        needs: "",
        why: "At the same priority, `cpu` computes, `memory` writes to 64 MiB, and `syscalls` makes \
              system calls all the time. On the `:same` CPU, load and worker alternate; on another \
              CPU they share caches, memory, kernel locks, and often a core.",
        source: "sched(7)",
        mechanism: Mechanism::Attached,
        reach: Reach::Anything,
    },
    Kind {
        name: "cmd",
        value: "WRAPPER",
        effect: "a program that starts the worker: strace, a container runtime",
        needs: "the program; host local",
        why: "The program is started with the worker's command appended to its own arguments, and \
              its effect on the worker is measured. The arms are two processes one after the \
              other, whose figures vary more than those of forked twins.",
        source: "execve(2)",
        mechanism: Mechanism::Wraps,
        reach: Reach::Anything,
    },
];
