//! Ops that change the process that makes them: its namespaces, mounts, keyrings, filters. A child
//! of the worker makes and times them, so that the worker stays as it is, and nothing outlives the
//! child.

use std::fs::File;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::prelude::*;
use crate::kernel::ipc::context_switch::{PeerProcess, SharedWords, read, write};
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::process;
use crate::kernel::process::spawn;
use crate::kernel::time::stopwatch::Stopwatch;

/// The ops of one round of a helper, where an op takes microseconds: the two clock reads and the
/// caches that the round finds cold are a small part of 16, and a namespace or key that the kernel
/// removes later is not yet one of many.
pub(super) const SLOW_OPS: u64 = 16;
/// The same where an op takes some 100 ns: with 16 the clock reads would be a hundredth.
pub(super) const FAST_OPS: u64 = 1_024;

/// Rounds between two pauses where calls are counted; timed ones each have their own. As many as
/// are single-stepped, and less than the 200 keys that an ordinary user may have.
const MAX_ROUNDS: u64 = 4;

/// The calls of a round of [`SLOW_OPS`] ops besides those of the ops: the worker orders it and
/// waits for the answer, and the helper reads the order and answers.
pub(super) const ORDER: ExpectedCall = once_per(SLOW_OPS as u32, "write");
pub(super) const WAIT: ExpectedCall = once_per(SLOW_OPS as u32, "read");
/// Once a round, but for one that has begun before calls are counted, as after each pause.
pub(super) const HELPER_WAIT: ExpectedCall = up_to("read", 1).by_peer();
pub(super) const HELPER_ANSWER: ExpectedCall = ORDER.by_peer();
/// The same of a round of [`FAST_OPS`] ops.
pub(super) const FAST_ORDER: ExpectedCall = once_per(FAST_OPS as u32, "write");
pub(super) const FAST_WAIT: ExpectedCall = once_per(FAST_OPS as u32, "read");
pub(super) const FAST_HELPER_WAIT: ExpectedCall = HELPER_WAIT;
pub(super) const FAST_HELPER_ANSWER: ExpectedCall = FAST_ORDER.by_peer();
/// Where the helper's clock is a system call.
pub(super) const HELPER_CLOCK: ExpectedCall = up_to("clock_gettime", 2).by_peer();

/// The calls around an op of [`timed_in_child`]: a fork, the child's end and the wait for it,
/// libc's work in the child, and a clock that is a system call.
pub(super) const FORK: ExpectedCall = exactly("clone", 1);
pub(super) const EXIT: ExpectedCall = exactly("exit_group", 1);
pub(super) const REAP: ExpectedCall = exactly("wait4", 1);
pub(super) const LIBC_IN_CHILD: ExpectedCall = up_to("set_robust_list", 1);
pub(super) const CHILD_CLOCK: ExpectedCall = up_to("clock_gettime", 3);

/// What a helper answers: 0 or the errno, and the ticks of the round.
const ANSWER_BYTES: usize = 16;

/// A child that makes and times rounds of ops.
struct Helper {
    // Dropped first: the child is killed before its pipes are closed.
    _child: PeerProcess,
    orders: File,
    answers: File,
    /// How long the worker waits before each round.
    pause: Duration,
    ticks: i64,
}

/// The work of an op that a child makes, in rounds of `ops` ops that it times: from a clock read
/// before the first to one after the last. `set_up` runs in the child and makes the op. Before each
/// round, and not timed, the worker sleeps for `pause`, in which the kernel removes what the last
/// round has left behind.
pub(super) fn in_helper<O: FnMut() -> Result<(), Errno>>(
    params: Params<'_>,
    ops: u64,
    pause: Duration,
    set_up: impl FnOnce() -> Result<O, Errno>,
) -> Result<Work, Errno> {
    let watch = params.context.clock;
    let (order_reader, orders) = pipe()?;
    let (answers, answer_writer) = pipe()?;
    let parent = std::process::id();
    let child = PeerProcess::start(None, move || {
        let op = set_up().and_then(|op| {
            // A change of credentials may have cleared it.
            process::die_with_parent(parent)?;
            Ok(op)
        });
        let outcome = op.as_ref().map_or_else(|error| *error, |_| Errno(0));
        answer(&answer_writer, outcome, 0)?;
        serve(&order_reader, &answer_writer, watch, ops, op?)
    })?;
    let mut helper = Helper { _child: child, orders, answers, pause, ticks: 0 };
    // How the set-up went.
    helper.receive()?;
    // In the first round libraries initialise themselves, and memory is faulted in.
    helper.round()?;
    let work = Work::from_prepared_body(Shape::OwnTicks, helper).with_op_count(ops);
    Ok(if pause.is_zero() { work } else { work.with_max_batch_ops(MAX_ROUNDS) })
}

/// The helper's loop: a byte is an order for a round.
fn serve(
    orders: &File,
    answers: &File,
    watch: Stopwatch,
    ops: u64,
    mut op: impl FnMut() -> Result<(), Errno>,
) -> Result<(), Errno> {
    let mut order = [0; 1];
    while read_whole(orders, &mut order)? {
        let mut done = Ok(());
        let start = watch.start();
        for _ in 0..ops {
            done = op();
            if done.is_err() {
                break;
            }
        }
        let stop = watch.stop();
        let outcome = done.map_or_else(|error| error, |()| Errno(0));
        answer(answers, outcome, stop.wrapping_sub(start) as i64)?;
    }
    Ok(())
}

/// Sends an answer, which a pipe takes as a whole.
fn answer(to: &File, outcome: Errno, ticks: i64) -> Result<(), Errno> {
    let mut bytes = [0; ANSWER_BYTES];
    bytes[..8].copy_from_slice(&i64::from(outcome.0).to_ne_bytes());
    bytes[8..].copy_from_slice(&ticks.to_ne_bytes());
    if write(to, &bytes)? == ANSWER_BYTES { Ok(()) } else { Err(Errno::EPROTO) }
}

/// Fills `into` from a pipe whose writer sends that much at a time; `false` at its end.
fn read_whole(from: &File, into: &mut [u8]) -> Result<bool, Errno> {
    loop {
        match read(from, into) {
            Err(Errno::EINTR) => {}
            Ok(0) => return Ok(false),
            Ok(bytes) if bytes == into.len() => return Ok(true),
            Ok(_) => return Err(Errno::EPROTO),
            Err(error) => return Err(error),
        }
    }
}

impl Helper {
    /// Orders a round; returns its ticks.
    fn round(&mut self) -> Result<i64, Errno> {
        if write(&self.orders, &[1])? != 1 {
            return Err(Errno::EPROTO);
        }
        self.receive()
    }

    fn receive(&mut self) -> Result<i64, Errno> {
        let mut bytes = [0; ANSWER_BYTES];
        if !read_whole(&self.answers, &mut bytes)? {
            return Err(Errno::ESRCH);
        }
        let (outcome, ticks) = bytes.split_at(8);
        let number = |bytes: &[u8]| bytes.try_into().map_or(0, i64::from_ne_bytes);
        match number(outcome) {
            0 => Ok(number(ticks)),
            errno => Err(Errno(errno as i32)),
        }
    }
}

impl WorkBody for Helper {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.ticks = self.round().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        if !self.pause.is_zero() {
            std::thread::sleep(self.pause);
        }
        Ok(())
    }

    fn last_value(&self) -> i64 {
        self.ticks
    }
}

/// The work of an op that a process can make only once: each is made and timed by a child of its
/// own. `set_up` runs in the child before the clock is read, and makes the op.
pub(super) fn timed_in_child<O: FnMut() -> Result<(), Errno>>(
    params: Params<'_>,
    mut set_up: impl FnMut() -> Result<O, Errno> + 'static,
) -> Result<Work, Errno> {
    let watch = params.context.clock;
    let words = SharedWords::new()?;
    Ok(Work::own_ticks(move || {
        let child = process::fork(|| {
            // The op is dropped after the clock is read: that may close descriptors.
            let timed = set_up().and_then(|mut op| {
                // The first write to the page faults, as does the first read of a clock.
                words.word64(0).store(watch.start(), Ordering::Relaxed);
                let start = watch.start();
                op()?;
                let stop = watch.stop();
                words.word64(0).store(stop.wrapping_sub(start), Ordering::Relaxed);
                Ok(())
            });
            timed.map_or_else(|error| error.0, |()| 0)
        })?;
        spawn::reap(child)?;
        Ok(words.word64(0).load(Ordering::Relaxed) as i64)
    }))
}

/// The work, if its first op is permitted here; otherwise a skipped row that says `what` is not,
/// and why.
pub(super) fn if_permitted(work: Result<Work, Errno>, what: &str) -> Result<Work, Errno> {
    let tried = work.and_then(|mut work| {
        work.prepare(1).and_then(|()| work.run(1, 1)).map_err(|error| error.errno)?;
        Ok(work)
    });
    match tried {
        Err(errno) if is_refusal(errno) => Ok(Work::unavailable(format!("{what}: {errno}"))),
        other => or_unavailable(other),
    }
}

/// Whether this machine refuses a call: it forbids it, the kernel was built without what it needs,
/// or a limit of the system is reached.
fn is_refusal(errno: Errno) -> bool {
    let numbers = [libc::ENOSPC, libc::EUSERS, libc::EDQUOT, libc::EINVAL, libc::ENODEV];
    let has_reason = errno == Errno::UNAVAILABLE;
    !has_reason && (errno.is_unavailable() || numbers.contains(&errno.0))
}

#[cfg(test)]
mod tests;
