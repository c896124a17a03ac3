//! Atomic operations, and a turn of a loop that waits for one.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicU64, Ordering, fence};

use super::super::prelude::*;
use super::defaults::{DEFAULTS, or_refused};
use super::peer::PeerThread;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::ipc::context_switch::sched_yield;
use crate::kernel::time::clock::monotonic_raw_ns;

pub(super) const SPIN: Bench = Bench {
    id: "sync/spin",
    asks: "What does a turn of a loop that waits for a word cost?",
    op: "a load of a word in the first-level cache, a comparison that finds it unchanged, and with \
         `hint=pause` the instruction for such loops (PAUSE on x86-64, ISB on aarch64). Not \
         included: loop overhead; the word never changes, and no other thread uses it.",
    expected: "0.3 ns without the instruction, one load; 45 ns with it on Intel cores since 2017, \
               15 to 20 ns on AMD's",
    why: "PAUSE delays the next turn on purpose: a core that spins at full speed takes execution \
          slots from the other thread of its core and fills the queue of loads, all of which are \
          discarded when the word changes. Its length is the model's: about 10 cycles on Intel's \
          cores before Skylake, 140 on later ones, 40 to 65 on AMD's. A waiter that counts turns \
          instead of time therefore spins for fourteen times as long on one as on the other. Some \
          hypervisors stop a guest that executes many in a row.",
    axes: &[Axis {
        name: "hint",
        sets: "whether the turn contains the instruction for waiting loops",
        points: Points::Words(&["none", "pause"]),
        default_points: Points::Words(&["none", "pause"]),
    }],
    source: "Intel SDM volume 2, PAUSE; asm/vdso/processor.h: cpu_relax",
    build: |params| {
        LINE.own.store(0, Ordering::SeqCst);
        Ok(match params.word("hint") {
            "pause" => Work::repeat(|| {
                let done = check_unchanged();
                spin_loop();
                done
            }),
            _ => Work::repeat(check_unchanged),
        })
    },
    ..DEFAULTS
};

pub(super) const ATOMIC: Bench = Bench {
    id: "sync/atomic",
    asks: "What does an atomic operation cost, and what if another CPU writes the cache line?",
    op: "one operation on a word of 64 bits: a load (acquire); a store (release); an addition of \
         1, an exchange, or a compare-exchange that succeeds, each of which returns the old value \
         and orders all accesses (LOCK XADD, XCHG, LOCK CMPXCHG on x86-64); or a full fence and no \
         word, by the compiler's choice (MFENCE or a locked instruction on the stack; DMB ISH on \
         aarch64). `line=private`: no other thread uses the cache line. `line=shared`: a thread on \
         another CPU adds 1 to another word of the line, atomically, in a loop without pauses; \
         since it is another word, the operation itself always succeeds. Not included: loop \
         overhead; starting the thread, and waiting before each batch until it runs.",
    expected: "private: 0.3 ns for a load or a store, 6 ns for the others, 10 ns for a fence. \
               Shared: a load 10 ns on average, since most hit between two writes of the other \
               CPU; 50 to 100 ns for whatever writes, the way of a line from one core to the other",
    why: "A load or a store needs no more than x86-64's usual order. The others drain the store \
          buffer and hold the line while they read, compute and write; the core waits for that, \
          and needs no bus. With a second writer the line has to be fetched from the other core's \
          cache each time, unless one of them keeps it for several operations in a row: how fair \
          that is differs between models, and so do figures. A store is only put into the store \
          buffer; while the line is away, later stores fill that up, and then the core waits at \
          the rate at which the line comes back. If the other CPU is the second thread of the same \
          core, both share the first-level cache and the line does not move.",
    axes: &[
        Axis {
            name: "op",
            sets: "the operation",
            points: Points::Words(&[
                "load",
                "store",
                "add",
                "exchange",
                "compare-exchange",
                "fence",
            ]),
            default_points: Points::Words(&["load", "add", "compare-exchange"]),
        },
        Axis {
            name: "line",
            sets: "whether a thread on another CPU writes another word of the cache line",
            points: Points::Words(&["private", "shared"]),
            default_points: Points::Words(&["private", "shared"]),
        },
    ],
    needs: &[
        Need::resource(Resource::SecondCpu).when(&[("line", "shared")]),
        Need::not_applicable("a fence uses no cache line")
            .when(&[("op", "fence"), ("line", "shared")]),
    ],
    source: "Intel SDM volume 3, locked atomic operations; David, Guerraoui and Trigonakis, \
             Everything you always wanted to know about synchronization, SOSP 2013",
    build: |params| or_refused(atomic(params)),
    ..DEFAULTS
};

/// Two words of one cache line; the next line is unused, since cores fetch lines in pairs.
#[repr(align(128))]
pub(super) struct Line {
    /// The word of the measured thread.
    pub(super) own: AtomicU64,
    /// The word that the other thread writes.
    pub(super) other: AtomicU64,
}

/// A static: its address is part of each instruction. An address that had to be loaded would be
/// loaded again after each fence.
pub(super) static LINE: Line = Line { own: AtomicU64::new(0), other: AtomicU64::new(0) };

/// The comparison of a turn.
#[inline(always)]
fn check_unchanged() -> Result<(), Errno> {
    if LINE.own.load(Ordering::Acquire) == 0 { Ok(()) } else { Err(Errno::EPROTO) }
}

fn atomic(params: Params<'_>) -> Result<Work, Errno> {
    let writer = match params.word("line") {
        "shared" => match params.context.other_cpu {
            Some(cpu) if params.context.cpu.is_some() => Some(Writer::start(cpu)?),
            Some(_) => return Ok(unpinned_work()),
            None => {
                return Ok(Work::unavailable(
                    "the other thread needs a second CPU, and the worker may use only one: allow \
                     more CPUs (taskset, cpuset), or select line=private",
                ));
            }
        },
        _ => None,
    };
    // The exchanges store the value that is there.
    LINE.own.store(0, Ordering::SeqCst);
    let work = match params.word("op") {
        "load" => Work::repeat(|| {
            consume(LINE.own.load(Ordering::Acquire));
            Ok(())
        }),
        "store" => Work::repeat(|| {
            LINE.own.store(0, Ordering::Release);
            Ok(())
        }),
        "add" => Work::repeat(|| {
            consume(LINE.own.fetch_add(1, Ordering::SeqCst));
            Ok(())
        }),
        "exchange" => Work::repeat(|| {
            consume(LINE.own.swap(0, Ordering::SeqCst));
            Ok(())
        }),
        "compare-exchange" => Work::repeat(|| {
            let done = LINE.own.compare_exchange(0, 0, Ordering::SeqCst, Ordering::SeqCst);
            done.map(drop).map_err(|_| Errno::EPROTO)
        }),
        _ => Work::repeat(|| {
            fence(Ordering::SeqCst);
            Ok(())
        }),
    };
    Ok(match writer {
        Some(writer) => work.with_preparation(move |_| writer.wait_until_it_writes()),
        None => work,
    })
}

/// A thread that writes its word of the line in a loop.
struct Writer(PeerThread);

impl Writer {
    fn start(cpu: u32) -> Result<Self, Errno> {
        let thread = PeerThread::start(Some(cpu), |side| {
            side.report_ready();
            while !side.must_quit() {
                LINE.other.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        });
        thread.map(Self)
    }

    /// Waits until it has written again: something else may run on its CPU.
    fn wait_until_it_writes(&self) -> Result<(), Errno> {
        const TIMEOUT_NS: u64 = 3_000_000_000;
        let (before, start_ns) = (LINE.other.load(Ordering::Relaxed), monotonic_raw_ns());
        while LINE.other.load(Ordering::Relaxed) == before {
            self.0.check_running()?;
            if monotonic_raw_ns() - start_ns > TIMEOUT_NS {
                return Err(Errno::PEER_TIMED_OUT);
            }
            sched_yield()?;
        }
        Ok(())
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It never sleeps.
        self.0.end(|| Ok(()));
    }
}
