//! Creating processes, starting programs, and process exit.

use std::cell::RefCell;
use std::rc::Rc;

use kernel::process;
use kernel::process::spawn::{self, Zombies};

use super::prelude::*;

mod children;
mod cpu_time;
mod exec_missing;
mod exit_resident;
mod flags;
mod fork_libraries;
pub(super) mod limits;
mod parents;
pub(super) mod program;
mod queries;
#[cfg(test)]
mod tests;

use children::{exit, fork, fork_exit, with_touched};
use limits::try_once;
pub(super) use parents::CLOCK_CALLS;
use parents::{LIBC_CALLS, TOUCHED};
use program::{Link, with_program};

pub(super) const FAMILY: Family = Family {
    name: "process",
    about: "the cost of creating a process, starting a program, and reaping it",
    benches: BENCHES,
};

const WRITTEN: Axis = Axis {
    name: "written",
    sets: "when the parent writes that memory: once, before all forks, or again before each op, \
           like a program that works between its forks",
    points: Points::Words(&["once", "anew"]),
    default_points: Points::Implied("once"),
};

const NOTHING_TO_WRITE: Need = Need::not_applicable("there is no memory to write again")
    .when(&[("touched_mib", "0"), ("written", "anew")]);

const BENCHES: &[Bench] = &[
    Bench {
        id: "process/fork",
        asks: "How long until fork returns, and how long until the child runs?",
        op: "fork, from a clock read before it to one after it: in the parent (`until=returns`), \
             or in the child, which passes its reading through shared memory (`until=runs`; the \
             child runs on its parent's CPU, usually once the parent blocks, so this includes the \
             parent's return, its first faults, its entry into wait4 and a context switch). \
             `via=libc` is libc's fork(), whose child runs its setup before it returns; `via=raw` is \
             clone(2) with no flag except SIGCHLD, whose child reads the clock before it writes a \
             byte. Not included: the child's exit and the parent's wait for it, after each op; \
             with `written=anew` the writing, before.",
        expected: "40 us until it returns, 50 us until the child runs: a task, a copy of the page \
                   tables of a small process, and a switch; 2 us more per MiB",
        why: "fork copies no memory, but it copies a page table entry for each private page that \
              was written, and write-protects it in both processes; and it copies a description of \
              each mapping. So its cost grows with the parent. The first write to such a page \
              afterwards is a fault in either process, including the current stack page; in the \
              child of libc's fork() that happens before fork() returns, as do libc's own \
              fix-ups. What has not been written since the last fork is write-protected already: \
              with `written=anew` a plain C loop took 246 us for 8 MiB on a Zen 5 guest, and 178 \
              us without.",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBC_CALLS,
            CLOCK_CALLS,
        ],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[
            Axis {
                name: "until",
                sets: "what ends the op: fork returns in the parent, or the child runs",
                points: Points::Words(&["returns", "runs"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["returns", "runs"]),
                    price_list: &Points::Words(&["returns"]),
                },
            },
            Axis {
                name: "via",
                sets: "entry path: raw system-call instruction, or C library wrapper",
                points: Points::Words(&["raw", "libc"]),
                default_points: Points::Words(&["libc"]),
            },
            TOUCHED,
            WRITTEN,
        ],
        needs: &[NOTHING_TO_WRITE],
        switches: true,
        source: "fork(2), clone(2); kernel/fork.c; studies cse221-2014 section 3.4, ph-2000 table \
                 2",
        build: |params| with_touched(params, fork),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/fork-exit",
        asks: "What does a process that does nothing cost, from fork to the parent's wait?",
        op: "libc's fork(); _exit(2) at once in the child; waitpid(2) in the parent until the child is \
             reaped. With `peer_cpu=other` the parent also moves the child to another CPU \
             (sched_setaffinity(2)), where it exits. Not included: nothing; with `written=anew` \
             the writing, before each op.",
        expected: "80 us, and 3 us more per MiB, whose page tables are copied, write-protected and \
                   freed; on another CPU the wake-ups add 30 us",
        why: "touched_mib=0 adds nothing to the worker's own memory: 12 mappings, its stack \
              and heap among them. The tables with addresses that a position-independent program writes when \
              it starts, some 50 pages, are mapped from a file in memory, of which a fork copies \
              no entries; its samples are kept from forks. That matters: a plain C loop of the \
              same op took 75 us on a guest with a Zen 5 core, and 91 us with 32 pages and 7 \
              mappings more. Benchmark suites that do not state the size of their process differ \
              by that, and by where the child runs.",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBC_CALLS,
            exactly("sched_setaffinity", 1).when(&[("peer_cpu", "other")]),
            up_to("sched_yield", 1_000).when(&[("peer_cpu", "other")]),
        ],
        floor: &[at_least(3, NULL_CALL)],
        axes: &[
            Axis {
                points: Points::Numbers(&[0, 8, 64, 512]),
                default_points: Points::Numbers(&[0, 8]),
                ..TOUCHED
            },
            Axis {
                name: "peer_cpu",
                sets: "where the child exits: on its parent's CPU, or on another one",
                points: Points::Words(&["same", "other"]),
                default_points: Points::Words(&["same"]),
            },
            WRITTEN,
        ],
        needs: &[NOTHING_TO_WRITE],
        switches: true,
        source: "fork(2), _exit(2), waitpid(2); studies cse221-2014 section 3.4, ph-2000 table 2 \
                 (null)",
        build: |params| with_touched(params, fork_exit),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/fork-exec",
        asks: "What does starting a program by fork and exec cost, until it is reaped?",
        op: "libc's fork(); in the child execve(2) of a minimal program, which makes one call, \
             exit_group(0); in the parent waitpid(2). The program gets no environment. \
             `link=static` is three instructions in an ELF file; `link=dynamic` the same \
             instructions in a file that names this system's loader, that of /bin/sh, and the C \
             library, which the loader maps, relocates and initialises first: `simple` in study \
             ph-2000. `link=loader` is a file of four segments that names a loader of four, which has \
             the instructions: what the kernel does for a dynamically linked program, without what \
             its loader does. Not included: writing the files.",
        expected: "200 us linked statically; the loader and the C library add 250 us; eight \
                   segments and a loader that does nothing, 30 us",
        why: "exec discards the copy that fork has just made, and maps the program; three \
              instructions then cost next to nothing. The loader opens, maps and relocates the C \
              library: some 27 calls, and a fault for each page that it reads or writes.",
        calls: &[
            exactly("clone", 1),
            exactly("execve", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBC_CALLS.when(&[("link", "static")]),
            LIBC_CALLS.when(&[("link", "loader")]),
            other_calls(100).when(&[("link", "dynamic")]),
        ],
        floor: &[at_least(1, "process/fork-exit:touched_mib=0,peer_cpu=same")],
        axes: &[Axis {
            name: "link",
            sets: "whether the program needs the dynamic loader and the C library, or a loader that \
                   does nothing",
            points: Points::Words(&["static", "dynamic", "loader"]),
            default_points: Points::Words(&["static", "dynamic"]),
        }],
        switches: true,
        source: "execve(2), ld.so(8), elf(5); study ph-2000 table 2 (simple)",
        build: |params| {
            let link = match params.word("link") {
                "dynamic" => Link::Dynamic,
                "loader" => Link::Loader,
                _ => Link::Static,
            };
            with_program(link, |program| {
                Work::with_loop(move || spawn::reap(process::fork(|| program.exec())?))
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/posix-spawn",
        asks: "What does starting a program by posix_spawn cost?",
        op: "posix_spawn(3) of a minimal, statically linked program, without attributes or file \
             actions, and waitpid(2). Not included: writing the file.",
        expected: "120 us: no page table is copied, since the child shares the parent's memory \
                   until its exec",
        why: "Nothing is copied: the child shares the parent's memory until its exec. The cost \
              above `process/vfork-exec` is a stack for the child (mmap, munmap) and its signals: \
              glibc's child queries the handler of every signal and resets those that are set, 121 \
              rt_sigaction(2) as counted with glibc 2.36.",
        calls: &[
            exactly("clone|clone3", 1),
            exactly("execve", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            up_to("mmap|munmap|rt_sigaction|rt_sigprocmask", 140),
        ],
        floor: &[at_least(1, "process/vfork-exec")],
        switches: true,
        source: "posix_spawn(3); glibc sysdeps/unix/sysv/linux/spawni.c",
        build: |_| {
            with_program(Link::Static, |program| {
                Work::with_loop(move || spawn::reap(program.posix_spawn()?))
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/vfork-exec",
        asks: "What does starting a program cost if no memory is copied?",
        op: "vfork and execve(2) of a minimal, statically linked program, by the raw instruction: \
             clone(2) with CLONE_VM and CLONE_VFORK, so that the child borrows the parent's memory \
             and the parent is suspended until the exec; then waitpid(2). Not included: writing \
             the file.",
        expected: "100 us",
        calls: &[
            exactly("clone", 1),
            exactly("execve", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
        ],
        floor: &[at_least(4, NULL_CALL)],
        switches: true,
        source: "vfork(2), clone(2), execve(2)",
        build: |_| {
            with_program(Link::Static, |program| {
                Work::with_loop(move || spawn::reap(program.vfork_exec()?))
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/clone-vm",
        asks: "What does a process that shares its parent's memory cost?",
        op: "clone(2) with CLONE_VM and SIGCHLD, by the raw instruction; in the child exit(2) at \
             once, without touching memory; in the parent waitpid(2). Not included: nothing. The \
             difference to `process/fork-exit` is the cost of copying an address space.",
        expected: "25 us",
        calls: &[exactly("clone", 1), exactly("exit", 1), exactly("wait4", 1)],
        floor: &[at_least(3, NULL_CALL)],
        in_price_list: false,
        switches: true,
        source: "clone(2)",
        build: |_| try_once(Work::with_loop(|| spawn::reap(spawn::clone_vm()?))),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/shell",
        asks: "What does starting a program through the shell cost?",
        op: "system(3) of a minimal, statically linked program: /bin/sh is started, parses the \
             command, starts the program, waits for it and exits. The record says which shell that \
             is (`os.shell`); it inherits the worker's environment, up to 4 KiB of padding. Not \
             included: writing the file.",
        expected: "700 us: a dynamically linked program, and a second one started by it",
        why: "Since glibc 2.29 system() does not fork but uses posix_spawn's mechanism. The counts \
              show it: the first task is created by clone3 without a fork, and no op causes a \
              fault in its parent, where each fork causes about 3 (minor-faults, \
              `process/fork-exec`). So a large parent pays no more than a small one: with 64 MiB \
              written a plain C loop took no longer than with none. Then a shell starts, with its \
              loader and the C library, to start one program: by a fork or vfork of its own (a \
              second task), or by an exec of the shell itself.",
        calls: &[exactly("execve", 2), other_calls(1_000)],
        floor: &[at_least(1, "process/posix-spawn")],
        needs: &[Need::readable("/bin/sh")],
        switches: true,
        source: "system(3), sh(1); study ph-2000 table 2 (/bin/sh)",
        build: |_| {
            with_program(Link::Static, |program| {
                Work::with_loop(move || spawn::system(program.path()))
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/exit",
        asks: "What does process exit cost?",
        op: "_exit(2), from a clock read by the child before it to one by the parent, which sleeps \
             in waitid(2) for the child without reaping it (WNOWAIT) and is woken. Not included: \
             fork() before, and the child's wait until its parent has announced that it goes to \
             sleep; wait4(2) after.",
        expected: "30 us, and 1 us per MiB whose page tables are freed",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("waitid", 1),
            exactly("wait4", 1),
            up_to("sched_yield", 1_000),
            LIBC_CALLS,
            CLOCK_CALLS,
        ],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[TOUCHED],
        in_price_list: false,
        switches: true,
        source: "_exit(2), waitid(2); kernel/exit.c",
        build: |params| with_touched(params, exit),
        ..Bench::DEFAULT
    },
    exit_resident::EXIT_RESIDENT,
    Bench {
        id: "process/wait",
        asks: "What does reaping a child that has exited cost?",
        op: "wait4(2) of a zombie, the youngest of up to 128. Not included: creating them; \
             waitid(2) with WNOWAIT has confirmed that they have exited.",
        expected: "3 us: a process number, a task and its signal state are freed",
        calls: &[exactly("wait4", 1)],
        floor: &[at_least(1, NULL_CALL)],
        in_price_list: false,
        source: "wait4(2); release_task in kernel/exit.c",
        build: |_| {
            let zombies = Rc::new(RefCell::new(Zombies::default()));
            let to_fill = Rc::clone(&zombies);
            let work = Work::with_loop(move || spawn::reap(zombies.borrow_mut().take()?));
            try_once(
                work.with_preparation(move |ops| to_fill.borrow_mut().add(ops))
                    .with_max_batch_ops(128),
            )
        },
        ..Bench::DEFAULT
    },
    cpu_time::FORK_CPU_TIME,
    exec_missing::EXEC_MISSING,
    parents::FORK_DESCRIPTORS,
    parents::FORK_MAPPINGS,
    fork_libraries::FORK_LIBRARIES,
    parents::FORK_THREADS,
    parents::CLONE_SHARED,
    flags::CLONE_FLAGS,
    parents::EXEC_ENVIRONMENT,
    queries::WAIT_MANY,
    queries::SETPGID,
    queries::GETPGID,
    queries::RLIMIT,
    queries::PTRACE_ATTACH,
    queries::PROC_READ,
];
