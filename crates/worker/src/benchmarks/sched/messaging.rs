//! Groups of senders and receivers, each sender of which sends to each receiver of its group.

use std::fs::File;
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::super::prelude::*;
use crate::kernel::ipc::context_switch::{self, PeerProcess, SharedWords, Thread};
use crate::kernel::ipc::gate;
use crate::kernel::ipc::pipe::pipe;

/// Senders in a group, and receivers: hackbench has 20 of each. With 5 two groups are 20 tasks,
/// which a limit of 64 processes allows.
const SENDERS: usize = 5;
const RECEIVERS: usize = 5;
/// As hackbench.
const MESSAGE_BYTES: usize = 100;
/// Messages from each sender to each receiver in an op: 500 in a group take a millisecond, of which
/// the start is a small part.
const MAX_LOOPS: u32 = 20;
/// Seconds without an answer before the measurement fails: [`kernel::PEER_TIMEOUT`].
const MAX_SECONDS: u32 = kernel::PEER_TIMEOUT.as_secs() as u32;

/// Indices of the shared words: the number of the round that senders may send, its messages from
/// each sender to each receiver, the receivers that have all of theirs, the last round that is
/// complete, whether threads must end, and the error of one that has.
const ROUND: usize = 0;
const LOOPS: usize = 1;
const ARRIVED: usize = 2;
const COMPLETE: usize = 3;
const QUIT: usize = 4;
const ERROR: usize = 5;

/// The tasks, and the measured process's view of them.
struct Messaging {
    words: Arc<SharedWords>,
    processes: Vec<PeerProcess>,
    threads: Vec<Thread>,
    groups: u64,
    round: u32,
    loops: u32,
}

/// A receiver's channel: the end that it reads, the end that all senders of its group write.
fn channel(via: &str) -> Result<(File, File), Errno> {
    if via == "socket" { context_switch::socket_pair() } else { pipe() }
}

/// The work at a point: an op is a round, which is quoted per message.
pub(super) fn rounds(params: Params<'_>) -> Result<Work, Errno> {
    let Some(cpu) = params.context.cpu else { return Ok(unpinned_work()) };
    let (groups, threads) = (params.number("groups"), params.word("between") == "threads");
    let words = Arc::new(SharedWords::new()?);
    let mut all = Messaging {
        words,
        processes: Vec::new(),
        threads: Vec::new(),
        groups,
        round: 0,
        loops: MAX_LOOPS,
    };
    let receivers = groups as u32 * RECEIVERS as u32;
    for _ in 0..groups {
        let (mut to_read, mut to_write) = (Vec::new(), Vec::new());
        for _ in 0..RECEIVERS {
            let (read, write) = channel(params.word("via"))?;
            to_read.push(read);
            to_write.push(write);
        }
        if threads {
            all.start_threads(to_read, to_write, receivers)?;
        } else {
            all.start_processes(cpu, &to_read, &to_write, receivers)?;
        }
    }
    // A first round, so that every task waits before anything is timed.
    all.send_round()?;
    let messages = all.messages();
    Ok(Work::from_body(Shape::SingleShot, all).with_op_count(messages))
}

impl Messaging {
    /// Messages in a round.
    fn messages(&self) -> u64 {
        self.groups * (SENDERS * RECEIVERS) as u64 * u64::from(self.loops)
    }

    /// Starts the processes of a group. Their copies of other ends do no harm: all are killed.
    fn start_processes(
        &mut self,
        cpu: u32,
        to_read: &[File],
        to_write: &[File],
        receivers: u32,
    ) -> Result<(), Errno> {
        let words = &self.words;
        for from in to_read {
            let task = PeerProcess::start(Some(cpu), || receive(from, words, receivers))?;
            self.processes.push(task);
        }
        for _ in 0..SENDERS {
            let task = PeerProcess::start(Some(cpu), || send(to_write, words))?;
            self.processes.push(task);
        }
        Ok(())
    }

    /// Starts the threads of a group, which inherit the CPU. The ends to write belong to the
    /// senders alone: when these have ended, the receivers see the end of file.
    fn start_threads(
        &mut self,
        to_read: Vec<File>,
        to_write: Vec<File>,
        receivers: u32,
    ) -> Result<(), Errno> {
        let to_write = Arc::new(to_write);
        for from in to_read {
            let words = Arc::clone(&self.words);
            self.threads.push(Thread::start(Box::new(move || {
                report(&words, receive(&from, &words, receivers));
            }))?);
        }
        for _ in 0..SENDERS {
            let (words, to_write) = (Arc::clone(&self.words), Arc::clone(&to_write));
            self.threads.push(Thread::start(Box::new(move || {
                report(&words, send(&to_write, &words));
            }))?);
        }
        Ok(())
    }

    /// Lets the senders send a round, and waits until every receiver has all its messages.
    fn send_round(&mut self) -> Result<(), Errno> {
        let (round, complete) = (self.words.word(ROUND), self.words.word(COMPLETE));
        // No task touches these two between rounds.
        self.words.word(ARRIVED).store(0, Relaxed);
        self.words.word(LOOPS).store(self.loops, Relaxed);
        let before = self.round;
        self.round = before.wrapping_add(1);
        round.store(self.round, Release);
        gate::wake_all(round)?;
        let mut seconds = 0;
        while complete.load(Acquire) != self.round {
            if gate::wait_a_second_while(complete, before)? {
                continue;
            }
            self.check_tasks()?;
            seconds += 1;
            if seconds >= MAX_SECONDS {
                return Err(Errno::PEER_TIMED_OUT);
            }
        }
        Ok(())
    }

    fn check_tasks(&self) -> Result<(), Errno> {
        self.processes.iter().try_for_each(PeerProcess::check_running)?;
        match self.words.word(ERROR).load(Acquire) {
            0 => Ok(()),
            error => Err(Errno(error as i32)),
        }
    }
}

/// Keeps the error with which a thread has ended.
fn report(words: &SharedWords, done: Result<(), Errno>) {
    if let Err(error) = done {
        words.word(ERROR).store(error.0 as u32, Release);
    }
}

/// A receiver, until the end of its channel.
fn receive(from: &File, words: &SharedWords, receivers: u32) -> Result<(), Errno> {
    let mut message = [0; MESSAGE_BYTES];
    loop {
        // The first message of a round shows that its number of messages has been set.
        if !receive_message(from, &mut message)? {
            return Ok(());
        }
        let round = round_of(&message);
        let messages = SENDERS as u32 * words.word(LOOPS).load(Relaxed);
        for _ in 1..messages {
            if !receive_message(from, &mut message)? || round_of(&message) != round {
                return Err(Errno::EPROTO);
            }
        }
        if words.word(ARRIVED).fetch_add(1, Release) + 1 == receivers {
            let complete = words.word(COMPLETE);
            complete.store(round, Release);
            gate::wake_all(complete)?;
        }
    }
}

/// Receives a message; false at the end of the channel. Messages are sent whole and received with
/// their own size, so that none arrives in parts.
fn receive_message(from: &File, message: &mut [u8; MESSAGE_BYTES]) -> Result<bool, Errno> {
    match context_switch::read(from, message)? {
        MESSAGE_BYTES => Ok(true),
        0 => Ok(false),
        _ => Err(Errno::EPROTO),
    }
}

/// The number of the round that a message belongs to: its first word.
fn round_of(message: &[u8; MESSAGE_BYTES]) -> u32 {
    u32::from_ne_bytes([message[0], message[1], message[2], message[3]])
}

/// A sender, until threads must end.
fn send(to: &[File], words: &SharedWords) -> Result<(), Errno> {
    let mut message = [0; MESSAGE_BYTES];
    let mut last = 0;
    loop {
        let round = words.word(ROUND);
        while round.load(Acquire) == last {
            gate::wait_while(round, last)?;
        }
        if words.word(QUIT).load(Relaxed) != 0 {
            return Ok(());
        }
        last = round.load(Relaxed);
        message[..size_of::<u32>()].copy_from_slice(&last.to_ne_bytes());
        for _ in 0..words.word(LOOPS).load(Relaxed) {
            for receiver in to {
                if context_switch::write(receiver, &message)? != MESSAGE_BYTES {
                    return Err(Errno::EPROTO);
                }
            }
        }
    }
}

impl WorkBody for Messaging {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        for op in 0..iterations * u64::from(unroll) {
            self.send_round().map_err(|errno| OpError { op, errno })?;
        }
        Ok(())
    }

    fn limit_op_count(&mut self, max: u64) -> Option<u64> {
        let per_loop = self.groups * (SENDERS * RECEIVERS) as u64;
        self.loops = (max / per_loop).clamp(1, u64::from(MAX_LOOPS)) as u32;
        Some(self.messages())
    }
}

impl Drop for Messaging {
    /// Ends the threads; processes are killed.
    fn drop(&mut self) {
        let round = self.words.word(ROUND);
        self.words.word(QUIT).store(1, Relaxed);
        round.store(self.round.wrapping_add(1), Release);
        // A wake-up cannot fail.
        let _ = gate::wake_all(round);
        self.threads.drain(..).for_each(Thread::join);
    }
}
