//! From a wake-up to the first instructions of the task that is woken, while another task may spin
//! on its CPU.

use std::fs::File;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::time::Duration;

use super::super::placement::cpu_of_timed_peer;
use super::super::prelude::*;
use super::watch::wait_until;
use crate::kernel::event::process_state::ProcessState;
use crate::kernel::ipc::context_switch::{self, FutexScope, PeerProcess, SharedWords};
use crate::kernel::ipc::gate;
use crate::kernel::time::clock::monotonic_raw_ns;
use crate::kernel::time::stopwatch::Stopwatch;

/// Indices of the shared words: how often the sleeper was woken by a futex, how often it has
/// answered, whether the competitor is to spin, whether it spins; and when the sleeper ran.
const WOKEN: usize = 0;
const ANSWERED: usize = 1;
const RUN: usize = 2;
const SPINNING: usize = 3;
const RAN_AT: usize = 0;

/// The wake-up comes this long after the competitor has started, a different time in each op: at
/// any point of its slice, some milliseconds.
const MIN_PAUSE_US: u64 = 1_000;
const PAUSE_RANGE_US: u64 = 4_000;

/// Iterations of the competitor between two checks of the wall clock: some 20 us.
const ITERATIONS_PER_CHECK: u32 = 1 << 14;
/// How long the competitor spins at most, in nanoseconds: the measured process may have been
/// stopped.
const MAX_SPIN_NS: u64 = 5_000_000_000;

/// The measured process, the sleeper that it wakes, and the competitor of that one.
struct Wakeups {
    sleeper: PeerProcess,
    state: ProcessState,
    competitor: Option<PeerProcess>,
    words: SharedWords,
    /// An eventfd(2); `None` if the sleeper waits for a futex.
    counter: Option<File>,
    watch: Stopwatch,
    cpu: u32,
    wakeups: u32,
    pauses: Pauses,
    last: i64,
}

/// The work at a point: an op is a wake-up.
pub(super) fn wakeups(params: Params<'_>) -> Result<Work, Errno> {
    let cpu = match cpu_of_timed_peer(params) {
        Ok(cpu) => cpu,
        Err(unavailable) => return Ok(unavailable),
    };
    let (watch, words) = (params.context.clock, SharedWords::new()?);
    let counter = match params.word("wake") {
        "eventfd" => Some(context_switch::eventfd()?),
        _ => None,
    };
    let sleeper = PeerProcess::start(Some(cpu), || sleep(&words, counter.as_ref(), watch))?;
    let competitor = match params.number("busy") {
        0 => None,
        _ => Some(PeerProcess::start(Some(cpu), || compete(&words))?),
    };
    let state = ProcessState::open(sleeper.id())?;
    let (wakeups, pauses, last) = (0, Pauses::new(), 0);
    let mut all =
        Wakeups { sleeper, state, competitor, words, counter, watch, cpu, wakeups, pauses, last };
    // Once, so that both tasks have run on their CPU before anything is timed.
    all.wake_up()?;
    Ok(Work::from_body(Shape::OwnTicks, all))
}

/// The loop of the sleeper: it stores the time at which it runs, and answers.
fn sleep(words: &SharedWords, counter: Option<&File>, watch: Stopwatch) -> Result<(), Errno> {
    let (woken, answered) = (words.word(WOKEN), words.word(ANSWERED));
    let mut wakeups = 0u32;
    loop {
        let ran_at = match counter {
            Some(counter) => {
                let mut count = [0; size_of::<u64>()];
                let bytes = context_switch::read(counter, &mut count)?;
                let now = watch.stop();
                if bytes != count.len() || u64::from_ne_bytes(count) != 1 {
                    return Err(Errno::EPROTO);
                }
                now
            }
            None => loop {
                gate::wait_while(woken, wakeups)?;
                let now = watch.stop();
                if woken.load(Acquire) != wakeups {
                    break now;
                }
            },
        };
        wakeups = wakeups.wrapping_add(1);
        words.word64(RAN_AT).store(ran_at, Relaxed);
        answered.store(wakeups, Release);
        context_switch::futex_wake(answered, FutexScope::Shared)?;
    }
}

/// The loop of the competitor: it spins while it is to, and otherwise sleeps.
fn compete(words: &SharedWords) -> Result<(), Errno> {
    let (run, spinning) = (words.word(RUN), words.word(SPINNING));
    loop {
        while run.load(Acquire) == 0 {
            gate::wait_while(run, 0)?;
        }
        spinning.store(1, Release);
        let start_ns = monotonic_raw_ns();
        let mut iteration = 0u32;
        while run.load(Acquire) != 0 {
            iteration = iteration.wrapping_add(1);
            if iteration.is_multiple_of(ITERATIONS_PER_CHECK)
                && monotonic_raw_ns() - start_ns > MAX_SPIN_NS
            {
                run.store(0, Release);
            }
        }
        spinning.store(0, Release);
    }
}

impl Wakeups {
    /// Wakes the sleeper once: the ticks until it ran.
    fn wake_up(&mut self) -> Result<i64, Errno> {
        let (run, spinning) = (self.words.word(RUN), self.words.word(SPINNING));
        self.wait_until(|| self.state.is_asleep())?;
        if self.competitor.is_some() {
            run.store(1, Release);
            gate::wake_all(run)?;
        }
        std::thread::sleep(self.pauses.next_pause());
        let competes = u32::from(self.competitor.is_some());
        self.wait_until(|| Ok(spinning.load(Acquire) == competes))?;
        let before = self.wakeups;
        self.wakeups = before.wrapping_add(1);
        let start_ticks = self.wake()?;
        self.wait_for_answer(before)?;
        let ran_at = self.words.word64(RAN_AT).load(Relaxed);
        // A competitor that gave up before was not there.
        let competed = run.swap(0, Release) == competes;
        self.wait_until(|| Ok(spinning.load(Acquire) == 0))?;
        if !competed {
            return Err(Errno::ETIME);
        }
        Ok(ran_at.wrapping_sub(start_ticks) as i64)
    }

    /// Wakes the sleeper; returns the time just before.
    fn wake(&self) -> Result<u64, Errno> {
        let Some(counter) = &self.counter else {
            let woken = self.words.word(WOKEN);
            let start_ticks = self.watch.start();
            woken.store(self.wakeups, Release);
            let tasks = context_switch::futex_wake(woken, FutexScope::Shared)?;
            return if tasks == 1 { Ok(start_ticks) } else { Err(Errno::EPROTO) };
        };
        let one = 1u64.to_ne_bytes();
        let start_ticks = self.watch.start();
        let bytes = context_switch::write(counter, &one)?;
        if bytes == one.len() { Ok(start_ticks) } else { Err(Errno::EPIPE) }
    }

    /// Waits, without taking CPU time from it, until the sleeper has answered.
    fn wait_for_answer(&self, before: u32) -> Result<(), Errno> {
        let answered = self.words.word(ANSWERED);
        let mut seconds = 0;
        while answered.load(Acquire) != self.wakeups {
            if gate::wait_a_second_while(answered, before)? {
                continue;
            }
            self.sleeper.check_running()?;
            seconds += 1;
            if seconds >= kernel::PEER_TIMEOUT.as_secs() {
                return Err(Errno::PEER_TIMED_OUT);
            }
        }
        Ok(())
    }

    fn wait_until(&self, condition: impl FnMut() -> Result<bool, Errno>) -> Result<(), Errno> {
        wait_until(std::iter::once(&self.sleeper).chain(&self.competitor), condition)
    }
}

/// Times between the competitor's start and the wake-up: a fixed series without a pattern
/// (xorshift).
struct Pauses(u64);

impl Pauses {
    fn new() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    fn next_pause(&mut self) -> Duration {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        Duration::from_micros(MIN_PAUSE_US + self.0 % PAUSE_RANGE_US)
    }
}

impl WorkBody for Wakeups {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.last = self.wake_up().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.last
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        Some(ChannelObservation { peer_cpu: Some(self.cpu), ..ChannelObservation::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_differ_and_stay_within_their_range() {
        let mut pauses = Pauses::new();
        let mut all: Vec<_> = (0..1_000).map(|_| pauses.next_pause().as_micros()).collect();
        let range = u128::from(MIN_PAUSE_US)..u128::from(MIN_PAUSE_US + PAUSE_RANGE_US);
        assert!(all.iter().all(|pause| range.contains(pause)));
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 800, "only {} different ones", all.len());
    }
}
