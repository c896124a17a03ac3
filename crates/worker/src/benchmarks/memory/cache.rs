//! What the TLB costs, and the caches of two CPUs that share a line.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::time::Instant;

use crate::kernel::PEER_TIMEOUT;
use crate::kernel::ipc::context_switch::{self, PeerProcess, SharedWords};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::memory::page_chase::PageChase;
use crate::kernel::memory::region::PAGE_BYTES;

use super::super::prelude::*;
use super::body::touched_region;

const SMALL_PAGES: Need = Need::resource(Resource::SmallPages);

pub(super) const TLB: Bench = Bench {
    id: "memory/tlb",
    asks: "What does a load cost whose page is not in the TLB?",
    op: "one load of one word of the next page, in a cycle through `pages` pages of 4 KiB, in an \
         order that no prefetcher predicts; each load gives the address of the next. In 64 \
         successive pages the words lie in 64 different lines. Not included: building the cycle; \
         loop overhead, which overlaps with every load.",
    expected: "1.3 ns for 16 pages; 4 ns for 512, which the second level of the TLB holds; 20 ns \
               for 16384, and more in a guest",
    why: "As many lines are touched as pages: 1 KiB, 32 KiB and 1 MiB of the caches. What the load \
          costs above memory/latency with a cycle of that size is the translation of its address: \
          by the second level of the TLB, or by a walk of the page table, whose entries compete \
          for the caches too. In a virtual machine each step of the walk is translated itself.",
    compare_with: &["memory/latency:size=32768,pages=4k", "memory/latency:size=1048576,pages=4k"],
    axes: &[Axis {
        name: "pages",
        sets: "pages in the cycle",
        points: Points::Numbers(&[16, 512, 16_384]),
        default_points: Points::Numbers(&[16, 512, 16_384]),
    }],
    needs: &[SMALL_PAGES, Need::resource(Resource::Memory(80)).when(&[("pages", "16384")])],
    in_price_list: false,
    source: "lmbench lat_mem_rd with a stride of a page; Drepper, What every programmer should \
             know about memory, 2007",
    build: |params| {
        let region = touched_region(params.number("pages") as usize * PAGE_BYTES)?;
        Ok(Work::from_body(Shape::Repeat, PageWalk(PageChase::over(region)?)))
    },
    ..Bench::DEFAULT
};

/// A walk from page to page.
struct PageWalk(PageChase);

impl WorkBody for PageWalk {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.0.step(iterations, unroll);
        Ok(())
    }
}

pub(super) const LINE_TRANSFER: Bench = Bench {
    id: "memory/line-transfer",
    asks: "How long does a word that one CPU writes take to another CPU, and an answer back?",
    op: "a store, by a process on one CPU, of a word that a process on another CPU loads in a \
         loop; that one stores an answer, and the first loads in a loop until it has it. lines=1: \
         both use the same word; lines=2: the answer is in another cache line. No instruction in \
         either loop waits (no `pause`). Not included: waking the other process before a batch; it \
         sleeps between batches.",
    expected: "100 ns for both ways between two cores of a package, 30 ns between two threads of a \
               core, 300 ns between packages",
    why: "Each way the line moves from one core's cache to the other's, twice: it is read there, \
          and then claimed, for which the first core's copy is invalidated. It is the least that \
          any lock, queue or wake-up between two CPUs costs; a futex and a switch come on top \
          (switch/futex with peer_cpu=other). With two lines the waiting loads of one side do not \
          delay the other's store.",
    axes: &[Axis {
        name: "lines",
        sets: "cache lines: one for both ways, or one for each",
        points: Points::Numbers(&[1, 2]),
        default_points: Points::Numbers(&[1, 2]),
    }],
    needs: &[Need::resource(Resource::SecondCpu)],
    in_price_list: false,
    source: "Intel 64 and IA-32 Architectures Optimization Reference Manual, cache line transfers",
    build: |params| {
        let Some(_) = params.context.cpu else { return Ok(unpinned_work()) };
        let Some(other) = params.context.other_cpu else {
            return Ok(Work::unavailable(
                "the line moves between two CPUs: this machine has one, or taskset(1) or a cpuset \
                 allows only one",
            ));
        };
        or_unavailable(transfers(other, params.number("lines")))
    },
    ..Bench::DEFAULT
};

/// The word that this process stores: odd as a message, even as an answer in the same word.
const MESSAGE: usize = 0;
/// The word that the peer stores, if it is another one. Not in the next line: some processors fetch
/// lines in pairs.
const ANSWER: usize = 4;
/// Whether the peer loads messages in a loop: [`ASLEEP`] or [`AWAKE`].
const PEER_STATE: usize = 8;

const ASLEEP: u64 = 0;
const AWAKE: u64 = 1;

/// In place of a message: the batch is over. Even, so that it is none.
const SLEEP: u64 = u64::MAX - 1;

/// This process's side.
struct Transfers {
    words: Arc<SharedWords>,
    answer: usize,
    wake_pipe: File,
    peer: PeerProcess,
    /// The last answer: even.
    last: u64,
}

fn transfers(cpu: u32, lines: u64) -> Result<Work, Errno> {
    let words = Arc::new(SharedWords::new()?);
    let (requests, wake_pipe) = pipe()?;
    let answer = if lines == 1 { MESSAGE } else { ANSWER };
    let mut wake_pipe = Some(wake_pipe);
    let peer = {
        let (wake_pipe, words) = (&mut wake_pipe, &words);
        PeerProcess::start(Some(cpu), move || {
            // The child's copy: if it held its parent's end, it would never see end of file.
            drop(wake_pipe.take());
            while context_switch::read(&requests, &mut [0])? == 1 {
                words.word64(PEER_STATE).store(AWAKE, Release);
                echo(words.word64(MESSAGE), words.word64(answer));
                words.word64(PEER_STATE).store(ASLEEP, Release);
            }
            Ok(())
        })?
    };
    let wake_pipe = wake_pipe.ok_or(Errno::EINVAL)?; // `None` in the child only.
    let transfers = Transfers { words, answer, wake_pipe, peer, last: 0 };
    Ok(Work::from_prepared_body(Shape::WithLoop, transfers))
}

/// The peer's loop: answers each message with the next number.
fn echo(message: &AtomicU64, answer: &AtomicU64) {
    let mut last = 0;
    loop {
        let now = message.load(Acquire);
        if now == SLEEP {
            return;
        }
        if now % 2 == 1 && now != last {
            last = now;
            answer.store(now + 1, Release);
        }
    }
}

impl Transfers {
    /// Loads a word in a loop until it has this value.
    #[inline(always)]
    fn wait_for(&self, word: usize, value: u64) -> Result<(), Errno> {
        /// Some milliseconds: a peer whose CPU runs something else answers later.
        const LOADS_PER_CHECK: u32 = 1 << 22;
        let word = self.words.word64(word);
        let mut left = LOADS_PER_CHECK;
        while word.load(Acquire) != value {
            left -= 1;
            if left == 0 {
                return self.wait_long_for(word, value);
            }
        }
        Ok(())
    }

    fn put_peer_to_sleep(&self) -> Result<(), Errno> {
        self.words.word64(MESSAGE).store(SLEEP, Release);
        self.wait_for(PEER_STATE, ASLEEP)
    }

    #[cold]
    fn wait_long_for(&self, word: &AtomicU64, value: u64) -> Result<(), Errno> {
        let begun = Instant::now();
        while word.load(Acquire) != value {
            self.peer.check_running()?;
            if begun.elapsed() > PEER_TIMEOUT {
                return Err(Errno::PEER_TIMED_OUT);
            }
        }
        Ok(())
    }
}

impl WorkBody for Transfers {
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        // The peer is still awake if the last batch failed or was only prepared.
        self.put_peer_to_sleep()?;
        self.words.word64(MESSAGE).store(self.last, Release);
        match context_switch::write(&self.wake_pipe, &[1])? {
            1 => self.wait_for(PEER_STATE, AWAKE),
            _ => Err(Errno::EPIPE),
        }
    }

    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.words.word64(MESSAGE).store(self.last + 1, Release);
            self.last += 2;
            self.wait_for(self.answer, self.last).map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<(), Errno> {
        // Not at the end of the batch: the peer's call would be counted in it.
        self.put_peer_to_sleep()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::process::{children, in_own_process};

    #[test]
    fn each_message_is_answered_once_in_every_batch_and_the_peer_ends() {
        in_own_process(|| {
            // Both sides on one CPU alternate by their slices: a few ops are enough.
            for lines in [1, 2] {
                let cpu = crate::kernel::cpu::affinity::allowed_cpus(0).unwrap()[0];
                let mut work = transfers(cpu, lines).unwrap();
                for ops in [0, 1, 3] {
                    assert_eq!(work.prepare(ops), Ok(()), "{lines}");
                    assert_eq!(work.run(ops, 1), Ok(()), "{lines}");
                }
                // Prepared twice, as after a failure.
                assert_eq!(work.prepare(1).and_then(|()| work.prepare(1)), Ok(()));
                assert_eq!(work.run(1, 1), Ok(()));
                drop(work);
                assert_eq!(children(), Vec::<u32>::new());
            }
        });
    }
}
