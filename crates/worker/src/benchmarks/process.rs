//! Making processes, starting programs, and seeing them end.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use kernel::cpu::affinity;
use kernel::memory::resident::Touched;
use kernel::memory::shared_table::SharedTable;
use kernel::process;
use kernel::process::elf::{Loader, dynamic_program, static_program};
use kernel::process::spawn::{self, Program, Zombies};
use kernel::time::stopwatch::Stopwatch;

use super::prelude::*;
use crate::bench::Shape;

pub(super) const FAMILY: Family = Family {
    name: "process",
    about: "what it costs to make a process, to start a program, and to see it end",
    benches: BENCHES,
};

const TOUCHED: Axis = Axis {
    name: "touched_mib",
    sets: "MiB of private memory that the parent has written before, in pages of the smallest size",
    points: Points::Numbers(&[0, 8, 64]),
    default_points: Points::Numbers(&[0]),
};

const WRITTEN: Axis = Axis {
    name: "written",
    sets: "when the parent wrote that memory: once, before all forks, or anew before each op, as a \
           program does that works between its forks",
    points: Points::Words(&["once", "anew"]),
    default_points: Points::Implied("once"),
};

const NOTHING_WRITTEN: Need =
    Need::not_applicable("no memory is no memory, however often it is written")
        .when(&[("touched_mib", "0"), ("written", "anew")]);

/// What the C library's child does before fork(3) returns in it.
const LIBRARY: ExpectedCall = up_to("set_robust_list", 1);

/// An op that stamps its own ends makes these calls where the clock is a system call.
pub(super) const STAMPS: ExpectedCall = up_to("clock_gettime", 2);

const BENCHES: &[Bench] = &[
    Bench {
        id: "process/fork",
        asks: "How long until fork returns, and how long until the child runs?",
        op: "fork, from a clock read before it to one behind it: in the parent \
             (`until=returns`), or by the child, which passes what it read through memory \
             that both share (`until=runs`; the child runs on its parent's CPU, mostly when that \
             waits, so this holds the parent's return, its first faults, its way into wait4 and a \
             switch). `via=libc` is fork(3), whose child sets itself up before it comes back; \
             `via=raw` is clone(2) with no flag but SIGCHLD, whose child reads the clock before it \
             writes a byte. Outside: the child's end and the parent's wait for it, after each op; \
             with `written=anew` the writing, before.",
        expected: "40 us until it returns, 50 us until the child runs: a task, a copy of the page \
                tables of a small process, and a switch; 2 us more for each MiB",
        why: "fork copies no memory, but an entry of a page table for each page of private memory \
              that was written, and write-protects it in both processes; and a description for \
              each mapping. So it costs what the parent is. The first write to such a page is a \
              fault for either afterwards, the stack under the call included; in the C library's \
              child that comes before fork(3) returns, with the library's own repairs. What was \
              not written since the last fork is write-protected already: with `written=anew` a \
              plain C loop took 246 us for 8 MiB on a Zen 5 guest, and 178 us without.",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBRARY,
            STAMPS,
        ],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        axes: &[
            Axis {
                name: "until",
                sets: "what ends the op: fork returns in the parent, or the child runs",
                points: Points::Words(&["returns", "runs"]),
                default_points: Points::Words(&["returns", "runs"]),
            },
            Axis {
                name: "via",
                sets: "the way in: the bare instruction, or the C library's wrapper",
                points: Points::Words(&["raw", "libc"]),
                default_points: Points::Words(&["libc"]),
            },
            TOUCHED,
            WRITTEN,
        ],
        needs: &[NOTHING_WRITTEN],
        switches: true,
        source: "fork(2), clone(2); kernel/fork.c; studies cse221-2014 section 3.4, ph-2000 table \
                 2",
        build: |at| with_touched(at, fork),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/fork-exit",
        asks: "What does a process cost that does nothing, from fork to the parent's wait?",
        op: "fork(3); in the child _exit(2) at once; in the parent waitpid(2), until it has been \
             reaped. With `peer_cpu=other` the parent also sends the child to another CPU \
             (sched_setaffinity(2)), where it ends. Outside: nothing; with `written=anew` the \
             writing, before each op.",
        expected: "80 us, and 3 us more for each MiB, whose page tables are copied, write-protected \
                and given back; on another CPU the wake-ups add 30 us",
        why: "touched_mib=0 adds nothing to the worker's own memory: some 40 written pages in 16 \
              mappings. That matters: a plain C loop of the same act took 75 us on a guest with a \
              Zen 5 core, and 91 us with 32 pages and 7 mappings more. Suites that do not say how \
              big their process is differ by that, and by where the child runs.",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBRARY,
            exactly("sched_setaffinity", 1).when(&[("peer_cpu", "other")]),
            up_to("sched_yield", 1_000).when(&[("peer_cpu", "other")]),
        ],
        floor: &[at_least(3, "syscall/getppid:via=raw")],
        axes: &[
            Axis {
                points: Points::Numbers(&[0, 8, 64, 512]),
                default_points: Points::Numbers(&[0, 8]),
                ..TOUCHED
            },
            Axis {
                name: "peer_cpu",
                sets: "where the child ends: on its parent's CPU, or on another one",
                points: Points::Words(&["same", "other"]),
                default_points: Points::Words(&["same"]),
            },
            WRITTEN,
        ],
        needs: &[NOTHING_WRITTEN],
        switches: true,
        source: "fork(2), _exit(2), waitpid(2); studies cse221-2014 section 3.4, ph-2000 table 2 \
                 (null)",
        build: |at| with_touched(at, fork_exit),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/fork-exec",
        asks: "What does it cost to start a program the classical way, and to see it end?",
        op: "fork(3); in the child execve(2) of our own smallest program, which makes one call, \
             exit_group(0); in the parent waitpid(2). It gets no environment. `link=static` is \
             three instructions in an ELF file; `link=dynamic` the same instructions in a file \
             that names this system's loader, that of /bin/sh, and the C library, which the loader \
             maps, relocates and initialises first: study ph-2000's `simple`. Outside: writing the \
             file.",
        expected: "200 us linked statically; the loader and the library add 250 us",
        why: "exec gives back the copy that fork has just made, and maps the program; three \
              instructions then cost next to nothing. The loader opens, maps and relocates the C \
              library: some 27 calls, and a fault for each page that it looks at or writes.",
        calls: &[
            exactly("clone", 1),
            exactly("execve", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
            LIBRARY.when(&[("link", "static")]),
            other_calls(100).when(&[("link", "dynamic")]),
        ],
        floor: &[at_least(1, "process/fork-exit:touched_mib=0,peer_cpu=same")],
        axes: &[Axis {
            name: "link",
            sets: "whether the program needs the dynamic loader and the C library",
            points: Points::Words(&["static", "dynamic"]),
            default_points: Points::Words(&["static", "dynamic"]),
        }],
        switches: true,
        source: "execve(2), ld.so(8), elf(5); study ph-2000 table 2 (simple)",
        build: |at| {
            let link = if at.word("link") == "dynamic" { Link::Dynamic } else { Link::Static };
            with_program(link, |program| {
                Work::with_loop(move || spawn::reap(process::fork(|| program.exec())?))
            })
        },
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/posix-spawn",
        asks: "What does it cost to start a program by posix_spawn?",
        op: "posix_spawn(3) of our own smallest program, linked statically, without attributes or \
             file actions, and waitpid(2). Outside: writing the file.",
        expected: "120 us: no page table is copied, since the child has the parent's memory until it \
                has its own",
        why: "Nothing is copied: the child has the parent's memory until its exec. What it costs \
              above `process/vfork-exec` is a stack for the child (mmap, munmap) and its signals: \
              glibc's child asks for the handler of every one and resets those that are set, 121 \
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
        asks: "What does it cost to start a program if nothing is copied before?",
        op: "vfork and execve(2) of our own smallest program, linked statically, as two bare \
             instructions: clone(2) with CLONE_VM and CLONE_VFORK, so that the child borrows the \
             parent's memory and the parent stands still until the exec; then waitpid(2). Outside: \
             writing the file.",
        expected: "100 us",
        calls: &[
            exactly("clone", 1),
            exactly("execve", 1),
            exactly("exit_group", 1),
            exactly("wait4", 1),
        ],
        floor: &[at_least(4, "syscall/getppid:via=raw")],
        in_price_list: false,
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
        asks: "What does a process cost that shares its parent's memory?",
        op: "clone(2) with CLONE_VM and SIGCHLD, by the bare instruction; in the child exit(2) at \
             once, without a touch of memory; in the parent waitpid(2). Outside: nothing. Against \
             `process/fork-exit` it shows what the copy of an address space costs.",
        expected: "25 us",
        calls: &[exactly("clone", 1), exactly("exit", 1), exactly("wait4", 1)],
        floor: &[at_least(3, "syscall/getppid:via=raw")],
        in_price_list: false,
        switches: true,
        source: "clone(2)",
        build: |_| tried(Work::with_loop(|| spawn::reap(spawn::clone_vm()?))),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/shell",
        asks: "What does it cost to have a shell start a program?",
        op: "system(3) of our own smallest program, linked statically: /bin/sh is started, reads \
             the line, starts the program, waits for it and ends. Which shell that is stands in \
             the record (`os.shell`); it inherits the worker's environment, up to 4 KiB of padding. \
             Outside: writing the file.",
        expected: "700 us: a dynamically linked program, and a second one below it",
        why: "system() does not fork since glibc 2.29: it goes the way of posix_spawn. The counts \
              show it: the first task is made by clone3 and no fork, and no op leaves its parent a \
              fault, where each fork leaves some 3 (minor-faults, `process/fork-exec`). So a big \
              parent pays no more than a small one: with 64 MiB written a plain C loop took no \
              longer than with none. Then a shell starts, with its loader and its library, to \
              start one program: by a fork or vfork of its own (a second task), or by its own \
              exec.",
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
        asks: "What does the end of a process cost?",
        op: "_exit(2), from a clock read by the child before it to one by the parent, which sleeps \
             in waitid(2) for it without reaping it (WNOWAIT) and is woken up. Outside: fork(3) \
             before, and the child's wait until its parent has said that it goes to sleep; \
             wait4(2) after.",
        expected: "30 us, and 1 us for each MiB whose page tables go",
        calls: &[
            exactly("clone", 1),
            exactly("exit_group", 1),
            exactly("waitid", 1),
            exactly("wait4", 1),
            up_to("sched_yield", 1_000),
            LIBRARY,
            STAMPS,
        ],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        axes: &[TOUCHED],
        in_price_list: false,
        switches: true,
        source: "_exit(2), waitid(2); kernel/exit.c",
        build: |at| with_touched(at, exit),
        ..Bench::DEFAULT
    },
    Bench {
        id: "process/wait",
        asks: "What does it cost to reap a child that has ended?",
        op: "wait4(2) of a zombie, the youngest of up to 128. Outside: making them, which are seen \
             to have ended by waitid(2) with WNOWAIT.",
        expected: "3 us: a number, a task and its signals are given back",
        calls: &[exactly("wait4", 1)],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        in_price_list: false,
        source: "wait4(2); release_task in kernel/exit.c",
        build: |_| {
            let zombies = Rc::new(RefCell::new(Zombies::default()));
            let morgue = Rc::clone(&zombies);
            let work = Work::with_loop(move || spawn::reap(zombies.borrow_mut().take()?));
            tried(
                work.with_preparation(move |ops| morgue.borrow_mut().make(ops))
                    .with_max_batch_ops(128),
            )
        },
        ..Bench::DEFAULT
    },
];

/// Memory that a child shares with its parent, for a moment that one tells the other.
struct Slot {
    words: SharedTable<u64>,
    watch: Stopwatch,
}

impl Slot {
    fn new(watch: Stopwatch) -> Result<Self, Errno> {
        Ok(Self { words: SharedTable::new(2)?, watch })
    }

    /// Keeps a moment; as the end of a child's part, it hands back the child's status.
    fn keep(&mut self, ticks: u64) -> i32 {
        self.words.set(0, ticks).map_or_else(|error| error.0, |()| 0)
    }

    /// The moment; one that nobody kept is an error.
    fn kept(&self) -> Result<u64, Errno> {
        self.words.get(0).filter(|&ticks| ticks > 0).ok_or(Errno::ECHILD)
    }

    /// Says whether the parent is on its way to sleep.
    fn sleeping(&mut self, sleeps: bool) -> Result<(), Errno> {
        self.words.set(1, u64::from(sleeps))
    }

    fn parent_sleeps(&self) -> bool {
        self.words.get(1) == Some(1)
    }
}

fn ticks(start: u64, stop: u64) -> i64 {
    stop.wrapping_sub(start) as i64
}

/// Work above memory that was written before, or what is lacking for it.
fn with_touched(
    at: Params<'_>,
    build: fn(Params<'_>, Option<Touched>) -> Result<Work, Errno>,
) -> Result<Work, Errno> {
    let mib = at.number("touched_mib");
    match Touched::lacks_room(mib) {
        Some(why) => Ok(Work::unavailable(why)),
        None => tried(build(at, Touched::new(mib)?)?),
    }
}

/// Writes the memory once more where the point says so.
fn written(at: Params<'_>, touched: Option<Touched>) -> impl Fn() + 'static {
    let anew = at.word("written") == "anew";
    move || touched.iter().filter(|_| anew).for_each(Touched::write)
}

fn fork(at: Params<'_>, touched: Option<Touched>) -> Result<Work, Errno> {
    // Elsewhere than on its parent's CPU a child would run beside it.
    if at.context.cpu.is_none() && at.word("until") == "runs" {
        return Ok(unpinned());
    }
    let watch = at.context.clock;
    let raw = at.word("via") == "raw";
    let write = written(at, touched);
    if at.word("until") == "returns" {
        return Ok(Work::own_ticks(move || {
            write();
            let start = watch.start();
            let child = if raw { spawn::raw_fork(watch, |_| 0)? } else { process::fork(|| 0)? };
            let stop = watch.stop();
            spawn::reap(child)?;
            Ok(ticks(start, stop))
        }));
    }
    let mut slot = Slot::new(watch)?;
    Ok(Work::own_ticks(move || {
        write();
        slot.keep(0);
        let start = watch.start();
        let child = if raw {
            spawn::raw_fork(watch, |began| slot.keep(began))?
        } else {
            process::fork(|| slot.keep(watch.stop()))?
        };
        spawn::reap(child)?;
        Ok(ticks(start, slot.kept()?))
    }))
}

fn fork_exit(at: Params<'_>, touched: Option<Touched>) -> Result<Work, Errno> {
    if at.context.cpu.is_none() {
        return Ok(unpinned());
    }
    let anew = at.word("written") == "anew";
    let write = Rc::new(written(at, touched));
    // What was written stays for as long as the work.
    let held = Rc::clone(&write);
    let work = if at.word("peer_cpu") == "same" {
        Work::with_loop(move || {
            let _held = &held;
            spawn::reap(process::fork(|| 0)?)
        })
    } else {
        let (Some(home), Some(other)) = (at.context.cpu, at.context.other_cpu) else {
            return Ok(Work::unavailable(NO_OTHER_CPU));
        };
        Work::with_loop(move || {
            let _held = &held;
            let moved = || affinity::current_cpu() != home as i32;
            let child = process::fork(|| spawn::yield_until(moved))?;
            let sent = affinity::pin_task(child, other);
            if sent.is_err() {
                process::kill(child);
            }
            let ended = spawn::reap(child);
            sent.and(ended)
        })
    };
    if !anew {
        return Ok(work);
    }
    // One at a time, for each wants its own.
    let mut work = work.with_preparation(move |_| {
        write();
        Ok(())
    });
    work.shape = Shape::SingleShot;
    Ok(work)
}

fn exit(at: Params<'_>, touched: Option<Touched>) -> Result<Work, Errno> {
    if at.context.cpu.is_none() {
        return Ok(unpinned());
    }
    let mut slot = Slot::new(at.context.clock)?;
    Ok(Work::own_ticks(move || {
        let _held = &touched;
        slot.sleeping(false)?;
        let child = process::fork(|| {
            // The first write faults: fork leaves out page tables that can be made anew.
            slot.keep(0);
            // A parent that had yet to fall asleep would be seen to, with the end.
            match spawn::yield_until(|| slot.parent_sleeps()) {
                0 => slot.keep(slot.watch.start()),
                error => error,
            }
        })?;
        slot.sleeping(true)?;
        spawn::see_end(child)?;
        let stop = slot.watch.stop();
        spawn::reap(child)?;
        Ok(ticks(slot.kept()?, stop))
    }))
}

/// What is said where a second CPU is wanted and there is none.
pub(super) const NO_OTHER_CPU: &str = "a second CPU is wanted, and the worker may use one only: give \
                                       oscost more (taskset, cpuset), or ask for peer_cpu=same";

/// How our program is linked.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Static,
    Dynamic,
}

/// Work with our smallest program in the scratch folder, or what is lacking for it.
fn with_program(link: Link, build: fn(Program) -> Work) -> Result<Work, Errno> {
    let bytes = match link {
        Link::Static => static_program(),
        Link::Dynamic => match Loader::of_the_system() {
            Some(loader) => dynamic_program(&loader),
            None => {
                return Ok(Work::unavailable(
                    "/bin/sh names no dynamic loader of a C library that oscost knows (glibc, \
                     musl), so there is none to measure: ask for link=static",
                ));
            }
        },
    };
    if !spawn::stands_in_a_private_folder() {
        return Ok(Work::unavailable(
            "there is no scratch folder that a program could be written into: set TMPDIR to a \
             folder that can be written to",
        ));
    }
    let program = match Program::write(&bytes) {
        Ok(program) => program,
        Err(error) => {
            return Ok(Work::unavailable(format!(
                "a program cannot be written into the scratch folder ({error}): set TMPDIR to a \
                 folder that can be written to"
            )));
        }
    };
    // However it is to be started, and by whom: here its errors are its own.
    match patiently(|| spawn::reap(program.posix_spawn()?)) {
        Ok(()) => tried(build(program)),
        Err(Errno::EACCES) => Ok(Work::unavailable(
            "no program may be started from the scratch folder, which is mounted noexec: set \
             TMPDIR to a folder where one may",
        )),
        // What loaders end with that do not find a library.
        Err(Errno(127)) => Ok(Work::unavailable(
            "this system's loader does not start a program that needs nothing but the C library: \
             ask for link=static",
        )),
        Err(error) => limited(error),
    }
}

/// Work that was done once, so that a limit of this place shows as what it is: a reason, and the
/// way out.
pub(super) fn tried(mut work: Work) -> Result<Work, Errno> {
    if work.unavailable_reason().is_some() {
        return Ok(work);
    }
    // As many ops as a batch may have, where there is a most: something is made for each before.
    let ops = Some(work.max_batch_ops()).filter(|&most| most < u64::MAX).unwrap_or(1);
    let done =
        patiently(|| work.prepare(ops).and_then(|()| work.run(ops, 1)).map_err(|at| at.errno));
    done.map_or_else(limited, |()| Ok(work))
}

/// What cannot be made here for want of room is lacking; anything else is an error.
fn limited(error: Errno) -> Result<Work, Errno> {
    match error {
        Errno::EAGAIN => Ok(Work::unavailable(
            "no further process or thread may be made here: raise RLIMIT_NPROC (`ulimit -u`), \
             RLIMIT_AS (`ulimit -v`) or pids.max of the control group",
        )),
        Errno::ENOMEM => Ok(Work::unavailable(
            "the kernel has no memory for a further process here: raise RLIMIT_AS (`ulimit -v`), \
             or allow overcommitment (vm.overcommit_memory)",
        )),
        error => Err(error),
    }
}

/// Does what may find a file open for writing: another process may still hold it that got it by a
/// fork of its own.
fn patiently(mut act: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        match act() {
            Err(Errno::ETXTBSY) => std::thread::sleep(Duration::from_millis(1)),
            other => return other,
        }
    }
    Err(Errno::ETXTBSY)
}

#[cfg(test)]
mod tests;
