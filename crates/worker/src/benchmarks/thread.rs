//! Creating threads, in user space and in the kernel.

use kernel::process::kernel_thread::KernelThread;
use kernel::process::thread::{self, ThreadKind, ThreadMaker};
use kernel::syscall::prepared;

use super::prelude::*;
use super::process::CLOCK_CALLS;
use super::process::limits::{NO_OTHER_CPU, try_once};

pub(super) const FAMILY: Family = Family {
    name: "thread",
    about: "the cost of creating a thread, and of joining it",
    benches: BENCHES,
};

const PEER_CPU: Axis = Axis {
    name: "peer_cpu",
    sets: "where the thread runs: on its creator's CPU, or on another one (set by its attribute)",
    points: Points::Words(&["same", "other"]),
    default_points: Points::Words(&["same"]),
};

/// What the C library does around its clone and in its thread: it blocks signals and releases the
/// memory of a stack.
const LIBC_CALLS: ExpectedCall = up_to("madvise|rseq|rt_sigprocmask|set_robust_list", 7);

/// The wait for a thread's exit, unless it has already exited; and a thread that waits until it was
/// moved to its CPU.
const FUTEX_CALLS: ExpectedCall = up_to("futex", 4);

/// Moves a thread to another CPU.
const MOVE_CALLS: ExpectedCall = exactly("sched_setaffinity", 1).when(&[("peer_cpu", "other")]);

const BENCHES: &[Bench] = &[
    Bench {
        id: "thread/create",
        asks: "How long until pthread_create returns, and how long until the thread runs?",
        op: "pthread_create(3), from a clock read before it to one after it (`until=returns`), or \
             to one by the first instructions of its function (`until=runs`; on its creator's CPU \
             this includes a switch). The stack is reused from libc's cache, and rseq(2) is \
             reserved for the worker, so that a thread does not register it. Not included: the \
             thread's exit, and the wait for it after each op: pthread_join(3), or for a detached \
             thread until its thread ID no longer exists.",
        expected: "8 us until it returns, 12 us until the thread runs; detached the same",
        why: "A thread shares its creator's memory: no page table and no mapping is copied. What \
              remains of fork(2) is a task and its kernel stack, and libc blocks all signals \
              around its clone. A first thread, or one created while others run, would also pay \
              for a stack (mmap, mprotect).",
        calls: &[
            exactly("clone|clone3", 1),
            exactly("exit", 1),
            LIBC_CALLS,
            FUTEX_CALLS,
            MOVE_CALLS,
            up_to("getpid|gettid|sched_yield|tgkill", 3_000).when(&[("state", "detached")]),
            CLOCK_CALLS,
        ],
        floor: &[at_least(1, NULL_CALL)],
        axes: &[
            Axis {
                name: "until",
                sets: "what ends the op: the call returns, or the thread runs",
                points: Points::Words(&["returns", "runs"]),
                default_points: Points::WithPriceList {
                    points: &Points::Words(&["returns", "runs"]),
                    price_list: &Points::Words(&["returns"]),
                },
            },
            Axis {
                name: "state",
                sets: "whether the thread is joinable or detached, as set by its attribute",
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
        asks: "What does a thread that does nothing cost, from creation to join?",
        op: "pthread_create(3) of an empty function and pthread_join(3); or the same without libc: \
             clone(2) with the flags of a thread, exit(2) in the thread, and futex(2) in its \
             creator, on the word that the kernel clears while the thread exits; the rest of its \
             exit may run in the next op, or after the timed window. The stack is one from libc's \
             cache (`via=libc`), or none (`via=raw`: the thread touches no memory). Not included: \
             nothing.",
        expected: "15 us through libc, 10 us without it",
        calls: &[
            exactly("clone|clone3", 1),
            exactly("exit", 1),
            LIBC_CALLS.when(&[("via", "libc")]),
            FUTEX_CALLS,
            MOVE_CALLS,
        ],
        floor: &[
            at_least(3, NULL_CALL).when(&[("via", "raw")]),
            at_least(1, "thread/create-join:via=raw,peer_cpu=same").when(&[("via", "libc")]),
        ],
        axes: &[
            Axis {
                name: "via",
                sets: "entry path: raw system-call instruction, or C library",
                points: Points::Words(&["raw", "libc"]),
                default_points: Points::Words(&["raw", "libc"]),
            },
            PEER_CPU,
        ],
        needs: &[Need::not_applicable("a raw clone(2) cannot select a CPU; libc can")
            .when(&[("via", "raw"), ("peer_cpu", "other")])],
        switches: true,
        source: "pthread_create(3), pthread_join(3), clone(2), futex(2)",
        build: create_join,
        ..Bench::DEFAULT
    },
    Bench {
        id: "thread/kernel",
        asks: "What does a kernel thread cost, and is it more expensive than a fork?",
        op: "a write(2) of 1 to `threaded` of a private network device (a veth in a network \
             namespace of its own), for which the kernel creates a thread through kthreadd and \
             waits until it has run, as kthread_run does for a kernel module (`thread=new`). The \
             scheduler chooses where kthreadd and the thread run. `thread=there` is the same write \
             when the thread exists already: entry and exit only. Not included: removing the \
             thread, and the device.",
        expected: "100 us, most of it wake-ups: the caller's sleep, kthreadd's work, the new \
                   thread's first run",
        why: "Study cse221-2014 asks why a kernel thread was more expensive than a fork although \
              it does not cross the user-kernel boundary. The reason is that its creator does not \
              create it, but wakes kthreadd and sleeps; kthreadd creates the thread and wakes it; \
              the thread runs, wakes the creator and sleeps; the creator wakes it once more. \
              Scheduler tracepoints counted on Linux 6.18: 4 wake-ups, and 3 switches if all run \
              on one CPU, 4 to 6 if kthreadd ran on another. fork(2) wakes one task and returns \
              without a switch. (Of the 4 voluntary switches of the row, one belongs to the op; \
              removing the thread, which is not timed, causes the others.) Where wake-ups are \
              expensive, across CPUs or to an idle one, that outweighs a page table. Compare with \
              `process/fork:until=returns` of the same run; on the Zen 5 guest the kernel thread \
              was cheaper: 20 us against 36 us. The same without kthreadd, `thread/create`, took 6 \
              us.",
        calls: &[
            exactly("pwrite64", 2).when(&[("thread", "new")]),
            exactly("ioctl", 2).when(&[("thread", "new")]),
            exactly("pread64", 1).when(&[("thread", "new")]),
            exactly("pwrite64", 1).when(&[("thread", "there")]),
            CLOCK_CALLS.when(&[("thread", "new")]),
        ],
        floor: &[
            at_least(1, "thread/kernel:thread=there").when(&[("thread", "new")]),
            at_least(1, NULL_CALL).when(&[("thread", "there")]),
        ],
        axes: &[Axis {
            name: "thread",
            sets: "whether a thread is created, or exists already",
            points: Points::Words(&["new", "there"]),
            default_points: Points::Words(&["new", "there"]),
        }],
        needs: &[Need::capability(Capability::SysAdmin), Need::capability(Capability::NetAdmin)],
        in_price_list: false,
        switches: true,
        source: "kernel/kthread.c, net/core/dev.c (dev_set_threaded); study cse221-2014 section \
                 3.4.4",
        build: kernel,
        ..Bench::DEFAULT
    },
    Bench {
        id: "thread/registration",
        asks: "What do the calls cost by which a thread registers with the kernel at its start?",
        op: "set_robust_list(2) of the list that the thread has, or set_tid_address(2) of the \
             address that it has, by the raw instruction. Not included: finding out which those \
             are.",
        expected: "a null system call: the kernel stores an address in the task",
        calls: &[
            exactly("set_robust_list", 1).when(&[("call", "set-robust-list")]),
            exactly("set_tid_address", 1).when(&[("call", "set-tid-address")]),
        ],
        floor: &[at_least(1, KERNEL_ENTRY)],
        axes: &[Axis {
            name: "call",
            sets: "which call",
            points: Points::Words(&["set-robust-list", "set-tid-address"]),
            default_points: Points::Words(&["set-robust-list", "set-tid-address"]),
        }],
        in_price_list: false,
        source: "set_robust_list(2), set_tid_address(2); kernel/futex, kernel/fork.c",
        build: |params| match params.word("call") {
            "set-robust-list" => registration(prepared::set_robust_list()),
            _ => registration(prepared::set_tid_address()),
        },
        ..Bench::DEFAULT
    },
];

/// The call, if the kernel tells what the thread has registered.
fn registration(call: Result<prepared::Call, Errno>) -> Result<Work, Errno> {
    match call {
        Ok(call) => Ok(Work::raw(call)),
        Err(error) => Ok(Work::unavailable(format!(
            "the kernel does not tell what the thread has registered, so it cannot be registered \
             again: {error}"
        ))),
    }
}

/// A creator of threads of that kind on the CPU of the point, or the reason why it is unavailable.
fn thread_maker(params: Params<'_>, kind: ThreadKind) -> Result<Result<ThreadMaker, Work>, Errno> {
    if params.context.cpu.is_none() {
        return Ok(Err(unpinned_work()));
    }
    let cpu = match params.word("peer_cpu") {
        "other" => match params.context.other_cpu {
            Some(cpu) => Some(cpu),
            None => return Ok(Err(Work::unavailable(NO_OTHER_CPU))),
        },
        _ => None,
    };
    ThreadMaker::new(kind, cpu, params.context.clock).map(Ok)
}

fn create(params: Params<'_>) -> Result<Work, Errno> {
    let watch = params.context.clock;
    let until_it_runs = params.word("until") == "runs";
    if until_it_runs && params.word("peer_cpu") == "other" && !watch.agrees_across_cpus() {
        return Ok(incomparable_clocks());
    }
    let kind = match params.word("state") {
        "detached" => ThreadKind::Detached,
        _ if until_it_runs => ThreadKind::Timestamping,
        _ => ThreadKind::Plain,
    };
    let mut thread_maker = match thread_maker(params, kind)? {
        Ok(thread_maker) => thread_maker,
        Err(unavailable) => return Ok(unavailable),
    };
    try_once(Work::own_ticks(move || {
        let start = watch.start();
        thread_maker.create()?;
        let return_ticks = if until_it_runs { 0 } else { watch.stop() };
        thread_maker.wait()?;
        let stop = if until_it_runs { thread_maker.start_ticks()? } else { return_ticks };
        Ok(stop.wrapping_sub(start) as i64)
    }))
}

fn create_join(params: Params<'_>) -> Result<Work, Errno> {
    if params.context.cpu.is_none() {
        return Ok(unpinned_work());
    }
    if params.word("via") == "raw" {
        return try_once(Work::with_loop(thread::raw_create_join));
    }
    let mut thread_maker = match thread_maker(params, ThreadKind::Plain)? {
        Ok(thread_maker) => thread_maker,
        Err(unavailable) => return Ok(unavailable),
    };
    try_once(Work::with_loop(move || {
        thread_maker.create()?;
        thread_maker.wait()
    }))
}

fn kernel(params: Params<'_>) -> Result<Work, Errno> {
    let watch = params.context.clock;
    let device = match KernelThread::prepare() {
        Ok(device) => device,
        Err(error) => {
            return Ok(Work::unavailable(format!(
                "cannot create a private network device for a kernel thread ({error}): this needs \
                 root (CAP_SYS_ADMIN, CAP_NET_ADMIN), Linux 5.12 and the veth driver"
            )));
        }
    };
    if params.word("thread") == "there" {
        device.create()?;
        return Ok(Work::with_loop(move || device.create()));
    }
    Ok(Work::own_ticks(move || {
        device.remove()?;
        let start = watch.start();
        device.create()?;
        let stop = watch.stop();
        match device.exists()? {
            true => Ok(stop.wrapping_sub(start) as i64),
            false => Err(Errno::ENOENT),
        }
    }))
}
