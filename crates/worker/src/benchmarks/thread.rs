//! Making threads, in user space and in the kernel.

use kernel::process::kernel_thread::KernelThread;
use kernel::process::thread::{self, Kind, Maker};

use super::prelude::*;
use super::process::{NO_OTHER_CPU, STAMPS, tried};

pub(super) const FAMILY: Family = Family {
    name: "thread",
    about: "what it costs to make a thread, and to see it end",
    benches: BENCHES,
};

const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the thread runs: on its maker's CPU, or on another one (its attribute says so)",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same"]),
};

/// What the C library does around its clone and in its thread: it blocks signals and gives a
/// stack's memory back.
const LIBRARY: ExpectedCall = up_to("madvise|rseq|rt_sigprocmask|set_robust_list", 7);

/// The wait for a thread's end, unless that came first; and a thread that waits until it was sent
/// to its CPU.
const FUTEX: ExpectedCall = up_to("futex", 4);

/// How a thread is sent to another CPU.
const ELSEWHERE: ExpectedCall = exactly("sched_setaffinity", 1).when(&[("peer_cpu", "other")]);

const BENCHES: &[Bench] = &[
    Bench {
        id: "thread/create",
        asks: "How long until pthread_create returns, and how long until the thread runs?",
        op: "pthread_create(3), from a clock read before it to one behind it (`until=returns`), or \
             to one by the first instructions of its function (`until=runs`; on its maker's CPU \
             this holds a switch). The stack is one that the library has kept from the thread \
             before, and rseq(2) is left to the worker, so that a thread does not register it. \
             Outside: the thread's end, and the wait for it after each op: pthread_join(3), or for \
             a detached thread until nobody has its number any more.",
        expected: "8 us until it returns, 12 us until the thread runs; detached the same",
        why: "A thread shares its maker's memory: no page table is copied, and no mapping. What is \
              left of fork(2) is a task and its kernel stack, and the library blocks all signals \
              around its clone. A first thread, or one beside others, would also pay for a stack \
              (mmap, mprotect).",
        calls: &[
            exactly("clone|clone3", 1),
            exactly("exit", 1),
            LIBRARY,
            FUTEX,
            ELSEWHERE,
            up_to("getpid|gettid|sched_yield|tgkill", 3_000).when(&[("state", "detached")]),
            STAMPS,
        ],
        floor: &[at_least(1, "syscall/getppid:via=raw")],
        axes: &[
            Axis {
                name: "until",
                sets: "what ends the op: the call returns, or the thread runs",
                points: Points::Words(&["returns", "runs"]),
                default_points: Points::Words(&["returns", "runs"]),
            },
            Axis {
                name: "state",
                sets: "what becomes of the thread when it ends, as its attribute says",
                points: Points::Words(&["joinable", "detached"]),
                default_points: Points::Words(&["joinable"]),
            },
            PEER_CPU,
        ],
        switches: true,
        source: "pthread_create(3), pthread_attr_setdetachstate(3); study cse221-2014 section 3.4",
        build: create,
        ..Bench::DEFAULT
    },
    Bench {
        id: "thread/create-join",
        asks: "What does a thread cost that does nothing, from its making to its end?",
        op: "pthread_create(3) of an empty function and pthread_join(3); or the same without a \
             library: clone(2) with the flags that make a thread, exit(2) in the thread, and \
             futex(2) in its maker, on the word that the kernel clears while the thread ends; \
             what is left of its end may run in the next op, or behind the clock. The stack is one that the library has kept (`via=libc`), or none (`via=raw`: the \
             thread touches no memory). Outside: nothing.",
        expected: "15 us through the library, 10 us without it",
        calls: &[
            exactly("clone|clone3", 1),
            exactly("exit", 1),
            LIBRARY.when(&[("via", "libc")]),
            FUTEX,
            ELSEWHERE,
        ],
        floor: &[
            at_least(3, "syscall/getppid:via=raw").when(&[("via", "raw")]),
            at_least(1, "thread/create-join:via=raw,peer_cpu=same").when(&[("via", "libc")]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "the way in: the bare instruction, or the C library",
                points: Points::Words(&["raw", "libc"]),
                default_points: Points::Words(&["raw", "libc"]),
            },
            PEER_CPU,
        ],
        needs: &[Need::not_applicable("a bare clone(2) says nothing of a CPU; the library does")
            .when(&[("via", "raw"), ("peer_cpu", "other")])],
        switches: true,
        source: "pthread_create(3), pthread_join(3), clone(2), futex(2)",
        build: create_join,
        ..Bench::DEFAULT
    },
    Bench {
        id: "thread/kernel",
        asks: "What does a kernel thread cost, and is it dearer than a fork?",
        op: "a write(2) of 1 to `threaded` of a network device of our own (a veth in a network \
             namespace of its own), for which the kernel makes a thread through kthreadd and waits \
             until it has run, as kthread_run does for a kernel module (`thread=new`). Where \
             kthreadd and the thread run is the scheduler's to choose. `thread=there` is the same \
             write where the thread is there already: the way into the kernel and out. Outside: \
             taking the thread away again, and the device.",
        expected: "100 us, most of it wake-ups: the caller's sleep, kthreadd's work, the new thread's \
                first run",
        why: "Study cse221-2014 wonders why a kthread was dearer than a fork, without a wall \
              between user and kernel to cross. Because its maker does not make it: it wakes up \
              kthreadd and sleeps; kthreadd makes the thread and wakes it up; the thread runs, \
              wakes up the maker and sleeps; the maker wakes it up once more. Scheduler \
              tracepoints counted it on Linux 6.18: 4 wake-ups, and 3 switches where all run on \
              one CPU, 4 to 6 where kthreadd ran on another. fork(2) wakes up one task and returns \
              without a switch. (Of the 4 voluntary switches of the row, one is the op's; taking \
              the thread away, outside the clock, makes the others.) Where wake-ups are dear, \
              across CPUs or to an idle one, that outweighs a page table. Whether it does here, \
              `process/fork:until=returns` of the same run tells; on the Zen 5 guest it did not: \
              20 us against 36 us. The like act without kthreadd, `thread/create`, took 6 us.",
        calls: &[
            exactly("pwrite64", 2).when(&[("thread", "new")]),
            exactly("ioctl", 2).when(&[("thread", "new")]),
            exactly("pread64", 1).when(&[("thread", "new")]),
            exactly("pwrite64", 1).when(&[("thread", "there")]),
            STAMPS.when(&[("thread", "new")]),
        ],
        floor: &[
            at_least(1, "thread/kernel:thread=there").when(&[("thread", "new")]),
            at_least(1, "syscall/getppid:via=raw").when(&[("thread", "there")]),
        ],
        axes: &[Axis {
            name: "thread",
            sets: "whether a thread is made, or is there already",
            points: Points::Words(&["new", "there"]),
            default_points: Points::Words(&["new", "there"]),
        }],
        in_price_list: false,
        switches: true,
        source: "kernel/kthread.c, net/core/dev.c (dev_set_threaded); study cse221-2014 section \
                 3.4.4",
        build: kernel,
        ..Bench::DEFAULT
    },
];

/// A maker of threads of that kind at the point's CPU, or what is lacking for it.
fn maker(at: Params<'_>, kind: Kind) -> Result<Result<Maker, Work>, Errno> {
    if at.context.cpu.is_none() {
        return Ok(Err(unpinned()));
    }
    let cpu = match at.word("peer_cpu") {
        "other" => match at.context.other_cpu {
            Some(cpu) => Some(cpu),
            None => return Ok(Err(Work::unavailable(NO_OTHER_CPU))),
        },
        _ => None,
    };
    Maker::new(kind, cpu, at.context.clock).map(Ok)
}

fn create(at: Params<'_>) -> Result<Work, Errno> {
    let watch = at.context.clock;
    let until_it_runs = at.word("until") == "runs";
    if until_it_runs && at.word("peer_cpu") == "other" && !watch.is_one_for_all_cpus() {
        return Ok(clocks_apart());
    }
    let kind = match at.word("state") {
        "detached" => Kind::Detached,
        _ if until_it_runs => Kind::Stamping,
        _ => Kind::Plain,
    };
    let mut maker = match maker(at, kind)? {
        Ok(maker) => maker,
        Err(lacking) => return Ok(lacking),
    };
    tried(Work::own_ticks(move || {
        let start = watch.start();
        maker.create()?;
        let returned = if until_it_runs { 0 } else { watch.stop() };
        maker.finish()?;
        let stop = if until_it_runs { maker.began()? } else { returned };
        Ok(stop.wrapping_sub(start) as i64)
    }))
}

fn create_join(at: Params<'_>) -> Result<Work, Errno> {
    if at.context.cpu.is_none() {
        return Ok(unpinned());
    }
    if at.word("via") == "raw" {
        return tried(Work::with_loop(thread::raw_create_join));
    }
    let mut maker = match maker(at, Kind::Plain)? {
        Ok(maker) => maker,
        Err(lacking) => return Ok(lacking),
    };
    tried(Work::with_loop(move || {
        maker.create()?;
        maker.finish()
    }))
}

fn kernel(at: Params<'_>) -> Result<Work, Errno> {
    let watch = at.context.clock;
    let device = match KernelThread::prepare() {
        Ok(device) => device,
        Err(error) => {
            return Ok(Work::unavailable(format!(
                "no network device of our own that a kernel thread could serve ({error}): it takes \
                 root (CAP_SYS_ADMIN, CAP_NET_ADMIN), Linux 5.12 and the veth driver"
            )));
        }
    };
    if at.word("thread") == "there" {
        device.create()?;
        return Ok(Work::with_loop(move || device.create()));
    }
    Ok(Work::own_ticks(move || {
        device.remove()?;
        let start = watch.start();
        device.create()?;
        let stop = watch.stop();
        match device.is_there()? {
            true => Ok(stop.wrapping_sub(start) as i64),
            false => Err(Errno::ENOENT),
        }
    }))
}
