//! Signals that a process sends itself, or that nothing handles.
//!
//! Signals between two tasks that wait for each other are switches: `switch/signal` with a handler,
//! `switch/sigwaitinfo` without one, each between processes or threads. A fault that a handler
//! takes and does not repair is `fault/protection`; by how much a timer is late, `timer/wait`.

use kernel::process::jump::JumpBuffer;
use kernel::process::own_signals::{
    BlockedSignal, HandledSignal, HandlerKind, IgnoredSignal, LibrarySet, QueuedSignal,
    SignalDescriptor,
};
use kernel::process::timer_signal::TimerSignal;
use kernel::syscall::prepared;

use super::prelude::*;

mod group;
mod repair;
#[cfg(test)]
mod tests;

pub(super) const FAMILY: Family = Family {
    name: "signal",
    about: "the cost of sending, blocking, queueing and handling signals",
    benches: BENCHES,
};

const VIA: Axis = Axis {
    name: "via",
    sets: "entry path: raw system-call instruction, or C library",
    points: Points::Words(&["raw", "libc"]),
    default_points: Points::Words(&["raw"]),
};

const BENCHES: &[Bench] = &[
    Bench {
        id: "signal/kill-0",
        asks: "What does checking that a process exists cost?",
        op: "kill(2) of the calling process with signal 0, by the raw instruction. Not included: \
             loop overhead.",
        expected: "60 ns above a null system call: the process is looked up by its number, and \
                   credentials are compared",
        why: "No signal is sent. The kernel looks the number up in the process's namespace under \
              RCU, takes the steps that precede any signal (audit, permission), and finds that \
              there is nothing to deliver.",
        calls: &[exactly("kill", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        build: |_| Ok(Work::raw(prepared::kill_0())),
        source: "kill(2); kernel/signal.c: kill_something_info, check_kill_permission",
        ..DEFAULTS
    },
    Bench {
        id: "signal/ignored",
        asks: "What does a signal that its receiver ignores cost?",
        op: "kill(2) of the calling process with SIGUSR2, whose action is SIG_IGN, by the raw \
             instruction. Not included: sigaction(2), once.",
        expected: "40 ns more than signal/kill-0: the lock of the table of handlers, and no memory",
        why: "An ignored signal is discarded by its sender: the kernel takes the lock that guards \
              the receiver's handlers, sees SIG_IGN and queues nothing (sig_ignored). The receiver \
              is not woken and runs no further code.",
        calls: &[exactly("kill", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["signal/kill-0"],
        source: "kill(2), signal(7); kernel/signal.c: prepare_signal, sig_ignored",
        build: |_| {
            let ignored = IgnoredSignal::new()?;
            Ok(Work::repeat(move || ignored.send()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/mask",
        asks: "What does blocking a signal and unblocking it cost?",
        op: "two calls: rt_sigprocmask(2) with SIG_BLOCK of SIGUSR1, and with SIG_UNBLOCK. The \
             former mask is not asked for. `via=libc` is sigprocmask(2). No signal is pending. Not \
             included: nothing.",
        expected: "80 ns above two null system calls: eight bytes are copied in, and a lock is \
                   taken, twice; 10 ns more in libc",
        why: "Programs bracket critical sections with these two calls. Each changes the mask under \
              the lock of the handlers and then asks whether a pending signal is now deliverable.",
        calls: &[exactly("rt_sigprocmask", 2)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        axes: &[VIA],
        in_price_list: true,
        source: "sigprocmask(2); kernel/signal.c: sigprocmask, __set_task_blocked",
        build: |params| {
            if params.word("via") == "raw" {
                return Ok(Work::raw_pair(prepared::block_unblock()));
            }
            let set = LibrarySet::new();
            Ok(Work::with_loop(move || set.block_and_unblock()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/setjmp",
        asks: "What does preparing a non-local jump cost, with and without the signal mask?",
        op: "the call of the C library that saves registers for a longjmp(3): setjmp(3), or \
             sigsetjmp(3) with a mask to save. Not included: a jump, which is not made: one over \
             frames of Rust has no defined behaviour.",
        expected: "3 ns for setjmp: eight registers are stored; with the mask a system call more",
        why: "setjmp stays in user mode. sigsetjmp asks the kernel for the mask, so that \
              siglongjmp can restore it after a jump out of a handler: a program that uses it for \
              error handling pays a system call each time it enters a protected block.",
        calls: &[exactly("rt_sigprocmask", 1).when(&[("jump", "sigsetjmp")])],
        floor: &[at_least(1, KERNEL_ENTRY).when(&[("jump", "sigsetjmp")])],
        axes: &[Axis {
            name: "jump",
            sets: "the call: setjmp, which saves no mask, or sigsetjmp, which saves it",
            points: Points::Words(&["setjmp", "sigsetjmp"]),
            default_points: Points::Words(&["setjmp", "sigsetjmp"]),
        }],
        source: "setjmp(3), sigsetjmp(3)",
        build: |params| {
            let mut buffer = Box::new(JumpBuffer::new());
            Ok(match params.word("jump") {
                "sigsetjmp" => Work::repeat(move || buffer.set_with_mask()),
                _ => Work::repeat(move || buffer.set()),
            })
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/blocked",
        asks: "What does a signal cost that is blocked, sent and fetched?",
        op: "SIGUSR1, which is blocked, sent by kill(2) to the calling process or by tgkill(2) to \
             the calling thread, and fetched by rt_sigtimedwait(2) with a timeout of 0 and no room \
             for its siginfo; the number that it returns is checked. Not included: blocking the \
             signal, once.",
        expected: "300 ns: two calls, and the memory of a queued signal allocated and freed; the \
                   same by either call",
        why: "Neither a handler nor a frame: what remains of a signal is its entry in a queue, \
              that of the process (kill) or of the thread (tgkill). The fetch finds it there and \
              does not sleep. A program that reads its signals in one place pays this, and \
              not syscall/signal.",
        calls: &[
            exactly("kill", 1).when(&[("by", "kill")]),
            exactly("tgkill", 1).when(&[("by", "tgkill")]),
            exactly("rt_sigtimedwait", 1),
        ],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["syscall/signal"],
        axes: &[Axis {
            name: "by",
            sets: "the call that sends it: to the process, or to the thread",
            points: Points::Words(&["kill", "tgkill"]),
            default_points: Points::Words(&["kill"]),
        }],
        source: "sigtimedwait(2), tgkill(2); kernel/signal.c: __send_signal_locked, \
                 dequeue_signal",
        build: |params| {
            let blocked = BlockedSignal::new()?;
            Ok(match params.word("by") {
                "tgkill" => Work::with_loop(move || {
                    blocked.send_to_thread()?;
                    blocked.fetch()
                }),
                _ => Work::with_loop(move || {
                    blocked.send_to_process()?;
                    blocked.fetch()
                }),
            })
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/signalfd",
        asks: "What does a signal cost that is read from a descriptor?",
        op: "SIGUSR1, which is blocked, sent by kill(2) to the calling process and read from a \
             signalfd(2) by read(2): 128 bytes, whose signal number is checked. Not included: \
             blocking the signal and opening the descriptor, once.",
        expected: "100 ns more than signal/blocked: waiters of the descriptor are notified, and \
                   128 bytes are filled in and copied",
        why: "The descriptor has no queue: a read dequeues the pending signal, as \
              rt_sigtimedwait(2) does, and converts its siginfo to a format of its own. The \
              sender notifies whoever polls such a descriptor (signalfd_notify). An event loop \
              pays for the poll besides.",
        calls: &[exactly("kill", 1), exactly("read", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["signal/blocked:by=kill"],
        source: "signalfd(2); fs/signalfd.c",
        build: |_| {
            let descriptor = SignalDescriptor::new()?;
            Ok(Work::with_loop(move || descriptor.send_and_read()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/handler",
        asks: "What does a handler cost, by the flags that it is installed with?",
        op: "tgkill(2) of SIGUSR1 to the calling thread, by the raw instruction; its handler, \
             which counts and records the address of its frame; the return by rt_sigreturn(2); and \
             a check of the count. Not included: sigaction(2) and sigaltstack(2), once.",
        expected: "as syscall/signal, 500 ns: 20 ns more with SA_SIGINFO, which copies 128 bytes; \
                   with SA_ONSTACK and SA_NODEFER the same",
        why: "sa=plain is the op of syscall/signal. SA_SIGINFO adds the siginfo to the frame; the \
              registers are written either way. On an alternate stack the frame is written \
              elsewhere, and nothing else changes: the description of that stack is part of every \
              frame. With SA_NODEFER the mask during the handler is the one before it. Fault \
              handlers are another op: fault/protection.",
        calls: &[exactly("tgkill", 1), exactly("rt_sigreturn", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["syscall/signal"],
        axes: &[Axis {
            name: "sa",
            sets: "the flags of sigaction(2): none, SA_SIGINFO, SA_ONSTACK, SA_NODEFER",
            points: Points::Words(&["plain", "siginfo", "altstack", "nodefer"]),
            default_points: Points::Words(&["plain", "siginfo", "altstack"]),
        }],
        source: "sigaction(2), sigaltstack(2); kernel/signal.c; arch/x86/kernel/signal_64.c; \
                 lmbench lat_sig catch",
        build: |params| {
            let kind = match params.word("sa") {
                "siginfo" => HandlerKind::WithInfo,
                "altstack" => HandlerKind::AlternateStack,
                "nodefer" => HandlerKind::NotDeferred,
                _ => HandlerKind::Plain,
            };
            let handled = HandledSignal::install(kind)?;
            handled.send()?;
            // The flags do not change: once is enough.
            if !handled.ran_where_it_should() {
                return Err(Errno::EPROTO);
            }
            Ok(Work::with_loop(move || handled.send()))
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/queue",
        asks: "What does a signal with a value cost?",
        op: "a real-time signal queued for the calling process with a value by \
             rt_sigqueueinfo(2); its handler, which stores the value and counts; the return by \
             rt_sigreturn(2); and a check of both. `via=libc` is sigqueue(3), which asks for the \
             process and user IDs each time. Not included: sigaction(2), once.",
        expected: "50 ns more than signal/handler with siginfo: 128 bytes are copied in as well; \
                   in libc two system calls more",
        why: "Real-time signals do not merge: each is an entry in memory that counts against \
              RLIMIT_SIGPENDING of the user, and if there is none to be had the call fails with \
              EAGAIN, while kill(2) would still set a bit.",
        calls: &[
            exactly("rt_sigqueueinfo", 1),
            exactly("rt_sigreturn", 1),
            exactly("getpid", 1).when(&[("via", "libc")]),
            exactly("getuid", 1).when(&[("via", "libc")]),
        ],
        floor: &[
            at_least(2, KERNEL_ENTRY).when(&[("via", "raw")]),
            at_least(4, KERNEL_ENTRY).when(&[("via", "libc")]),
        ],
        compare_with: &["signal/handler:sa=siginfo"],
        axes: &[VIA],
        source: "rt_sigqueueinfo(2), sigqueue(3), signal(7); kernel/signal.c: \
                 __send_signal_locked",
        build: |params| {
            let mut queued = QueuedSignal::install()?;
            match queued.send() {
                Err(Errno::EAGAIN) => {
                    return Ok(Work::unavailable(
                        "no further signal can be queued for this user: `ulimit -i` sets the \
                         limit (RLIMIT_SIGPENDING)",
                    ));
                }
                sent => sent?,
            }
            Ok(match params.word("via") {
                "libc" => Work::with_loop(move || queued.send_by_library()),
                _ => Work::with_loop(move || queued.send()),
            })
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/group",
        asks: "What does one signal to a group of processes cost?",
        op: "kill(2) of a process group whose members ignore the signal and sleep. The caller is \
             not a member. Not included: creating the members and the group.",
        expected: "a little more than signal/ignored with one member, and 60 ns for each further \
                   one",
        why: "The kernel walks the list of the group under the lock of all task lists \
              (tasklist_lock) and does for each member what it does for one: permission, the lock \
              of its handlers, and here SIG_IGN. No member is woken: what a member does about a \
              signal that it handles is its own cost, on its own CPU.",
        calls: &[exactly("kill", 1)],
        floor: &[at_least(1, KERNEL_ENTRY)],
        compare_with: &["signal/ignored"],
        axes: &[Axis {
            name: "members",
            sets: "processes in the group",
            points: Points::Items("member", &Points::Numbers(&[1, 10])),
            default_points: Points::Numbers(&[1, 10]),
        }],
        source: "kill(2), setpgid(2); kernel/signal.c: __kill_pgrp_info",
        build: |params| or_unavailable(group::signals(params)),
        ..DEFAULTS
    },
    Bench {
        id: "signal/timer",
        asks: "What does a timer's signal cost, from arming the timer to the signal's arrival?",
        op: "timer_settime(2) of a timer of CLOCK_MONOTONIC to an absolute time that has passed; \
             the interrupt by which it expires, and which sends the process SIGUSR1; and the \
             arrival: with `end=fetched` the return of rt_sigtimedwait(2), which returns the \
             signal's number; with `end=handled` that of rt_sigsuspend(2), after a handler and its \
             rt_sigreturn(2), whose run is counted. Not included: timer_create(2), sigaction(2) \
             and blocking the signal, once.",
        expected: "some 3 us fetched, and some 0.5 us more handled; in a guest some 3 us more, \
                   where programming the timer leaves it",
        why: "Also a timer that is late already expires by an interrupt: the kernel programs the \
              timer of the CPU to the shortest time that it can, and the handler of the interrupt \
              sends the signal, whose memory was allocated with the timer. The interrupt arrives \
              before the thread has gone to sleep, or wakes it. The second call unblocks and waits \
              in one act: a pause(2) could miss the signal. With a time to come, `timer/wait` \
              measures by how much it is late; setting a timer alone is timer/timer-settime and \
              timer/setitimer.",
        calls: &[
            exactly("timer_settime", 1),
            exactly("rt_sigtimedwait", 1).when(&[("end", "fetched")]),
            exactly("rt_sigsuspend", 1).when(&[("end", "handled")]),
            exactly("rt_sigreturn", 1).when(&[("end", "handled")]),
        ],
        floor: &[
            at_least(2, KERNEL_ENTRY).when(&[("end", "fetched")]),
            at_least(3, KERNEL_ENTRY).when(&[("end", "handled")]),
        ],
        compare_with: &["signal/blocked:by=kill", "signal/handler:sa=plain"],
        axes: &[Axis {
            name: "end",
            sets: "what becomes of the signal: a call fetches it, or a handler runs",
            points: Points::Words(&["fetched", "handled"]),
            default_points: Points::Words(&["fetched", "handled"]),
        }],
        needs: &[Need::time()],
        switches: true,
        source: "timer_settime(2), sigtimedwait(2), sigsuspend(2); kernel/time/posix-timers.c, \
                 kernel/time/hrtimer.c",
        build: |params| {
            let timer = TimerSignal::new()?;
            Ok(match params.word("end") {
                "handled" => Work::with_loop(move || timer.expire_and_handle()),
                _ => Work::with_loop(move || timer.expire_and_fetch()),
            })
        },
        ..DEFAULTS
    },
    Bench {
        id: "signal/page-repair",
        asks: "What does a write to a protected page cost if a handler makes the page writable?",
        op: "a store to a read-only page that is in memory; the trap; its delivery as SIGSEGV with \
             its address; a handler that makes the page writable by mprotect(2) and counts; \
             rt_sigreturn(2), and the store again. Each op has the next of 1,024 pages. Not \
             included: mprotect(2) of all pages before each batch, and sigaction(2).",
        expected: "some 2 us: fault/protection, and some 0.8 us for the mprotect, which moves the \
                   border between two mappings",
        why: "Garbage collectors, checkpointers and distributed shared memory find out so which \
              pages a program writes: a page fault whose handler is the program's. The handler's \
              call takes the lock of the address space, moves a page from the read-only mapping to \
              the writable one before it, and changes an entry. Since Linux 6.2 that entry is \
              writable at once where the page is the process's own; before, the repeated store \
              faults once more, which the kernel settles. userfaultfd(2) reports writes without a \
              signal.",
        calls: &[exactly("mprotect", 1), exactly("rt_sigreturn", 1)],
        floor: &[at_least(2, KERNEL_ENTRY)],
        compare_with: &["fault/protection", "fault/userfaultfd:peer_cpu=same"],
        needs: &[Need::resource(Resource::SmallPages)],
        source: "sigaction(2), mprotect(2); mm/mprotect.c; lmbench lat_sig prot",
        build: |_| repair::repairs(),
        ..DEFAULTS
    },
];

/// What the benchmarks of this family are unless they say otherwise.
const DEFAULTS: Bench = Bench { in_price_list: false, ..Bench::DEFAULT };
