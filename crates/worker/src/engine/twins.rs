//! Fork twins: two or three processes, forked from one, that are timed alternately.
//!
//! The arms differ in the treatments that were applied before they built their work; without any
//! they are an A/A control. A token travels by pipe: the arm that has it times one group and
//! returns it.

use std::fs::File;
use std::io::{Read, Write};

use oscost_model::seed::Seed;
use oscost_model::worker::{BatchPlan, Disturbance, Sample, Usage};

use super::clock::Clock;
use super::collect::{BatchJitter, Collector, SampleTag};
use super::covariates::Covariates;
use crate::bench::{OpError, Work};
use crate::kernel::Errno;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::memory::shared_table::SharedTable;

/// The answer of an arm that has carried out a command.
const DONE: u8 = 1;
/// Precedes the message of an arm's last answer.
const MESSAGE: u8 = 2;
/// Commands to an arm: time a group, or exit.
const GROUP: u8 = 3;
const END: u8 = 4;

/// Longer than any answer.
const MAX_MESSAGE_BYTES: u64 = 64 << 10;

/// The arms of a worker, each waiting for the token.
pub struct Twins {
    arms: Vec<WaitingArm>,
    order: Vec<usize>,
    rounds: u32,
    seed: Seed,
}

/// An arm that waits for the token.
struct WaitingArm {
    number: u8,
    pipes: ArmPipes,
}

/// An arm that cannot continue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedArm {
    /// Its number.
    pub number: u8,
    /// Its answer: never [`ArmAnswer::Done`].
    pub answer: ArmAnswer,
}

/// The worker's ends of the pipes to an arm.
pub struct ArmPipes {
    token: File,
    answer: File,
}

/// The arm's ends of the pipes.
pub struct TokenPipes {
    token: File,
    answer: File,
}

/// The answer of an arm.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArmAnswer {
    /// It is ready, or has carried out a command.
    Done,
    /// It cannot continue; this is its event.
    Message(Vec<u8>),
    /// It has exited without an answer.
    Exited,
}

/// Creates the pipes between the worker and an arm.
pub fn arm_pipes() -> Result<(ArmPipes, TokenPipes), Errno> {
    let (peer_token, token) = pipe()?;
    let (answer, peer_answer) = pipe()?;
    Ok((ArmPipes { token, answer }, TokenPipes { token: peer_token, answer: peer_answer }))
}

impl ArmPipes {
    /// Waits for the arm's answer.
    pub fn receive(&mut self) -> ArmAnswer {
        let mut answer = [0];
        match self.answer.read_exact(&mut answer) {
            Ok(()) if answer[0] == DONE => ArmAnswer::Done,
            Ok(()) => {
                let mut message = Vec::new();
                // What was read before an error is what can be forwarded.
                let _ = (&mut self.answer).take(MAX_MESSAGE_BYTES).read_to_end(&mut message);
                ArmAnswer::Message(message)
            }
            Err(_) => ArmAnswer::Exited,
        }
    }

    fn send(&mut self, command: u8) -> ArmAnswer {
        // The last message of an arm that has exited may still be in the pipe.
        let _ = self.token.write_all(&[command]);
        self.receive()
    }
}

impl Twins {
    /// No arms yet.
    pub fn new(seed: u64) -> Twins {
        // Another random stream than that of the jitter.
        let seed = Seed::new(Seed::new(seed).child());
        Twins { arms: Vec::new(), order: Vec::new(), rounds: 0, seed }
    }

    /// Adds an arm that is ready.
    pub fn add(&mut self, number: u8, pipes: ArmPipes) {
        self.order.push(self.arms.len());
        self.arms.push(WaitingArm { number, pipes });
    }

    /// Closes the pipes to all arms: a forked arm inherits those of the arms before it, and a
    /// process with more descriptors forks and exits more slowly.
    pub fn close_pipes(&mut self) {
        self.arms.clear();
    }

    /// Has every arm time one group, in an order that gives each arm each position equally often:
    /// two arms go ABBA or BAAB at random, so that linear drift cancels.
    pub fn round(&mut self) -> Result<(), FailedArm> {
        // A block of as many rounds as arms is a Latin square: each arm is once in each position.
        let position = self.rounds as usize % self.arms.len();
        if position == 0 {
            self.seed.shuffle(&mut self.order);
        }
        self.rounds += 1;
        let mut order = self.order.clone();
        order.rotate_left(position);
        order.into_iter().try_for_each(|arm| self.send(arm, GROUP))
    }

    /// Has every arm close its account and exit.
    pub fn end(&mut self) -> Result<(), FailedArm> {
        (0..self.arms.len()).try_for_each(|arm| self.send(arm, END))
    }

    fn send(&mut self, arm: usize, command: u8) -> Result<(), FailedArm> {
        let WaitingArm { number, pipes } = &mut self.arms[arm];
        match pipes.send(command) {
            ArmAnswer::Done => Ok(()),
            answer => Err(FailedArm { number: *number, answer }),
        }
    }
}

impl TokenPipes {
    /// Reports that the arm is ready, or has carried out a command.
    pub fn send_done(&mut self) -> Result<(), Errno> {
        Ok(self.answer.write_all(&[DONE])?)
    }

    /// Reports why the arm cannot continue, as its last answer.
    pub fn send_message(&mut self, message: &[u8]) -> Result<(), Errno> {
        Ok(self.answer.write_all(&[&[MESSAGE], message].concat())?)
    }
}

/// The layout of the table of samples.
#[derive(Clone, Copy)]
pub struct SampleSlots {
    /// Arms in the worker.
    pub arms: u8,
    /// Batches in a group.
    pub batches: usize,
}

impl SampleSlots {
    /// The first slot of that arm's round.
    pub fn first(self, arm: u8, round: u32) -> usize {
        (round as usize * usize::from(self.arms) + usize::from(arm)) * self.batches
    }
}

/// One arm, in its own process.
pub struct Twin {
    /// Its number.
    pub arm: u8,
    /// The layout of the table.
    pub slots: SampleSlots,
    /// The jitter of its batches: all arms have the same seed, so that each round has the same
    /// number of ops in all arms.
    pub jitter: BatchJitter,
}

impl Twin {
    /// Times a group for each token until the exit command; returns the account of all groups,
    /// without the waits for the token.
    pub fn serve<C: Clock, V: Covariates>(
        &mut self,
        tokens: &mut TokenPipes,
        work: &mut Work,
        plan: &BatchPlan,
        table: &mut SharedTable<Sample>,
        collector: &mut Collector<C, V>,
    ) -> Result<Disturbance, OpError> {
        let pipe_error = |errno| OpError { op: 0, errno };
        let mut account = None;
        let mut round = 0;
        loop {
            let mut command = [0];
            tokens.token.read_exact(&mut command).map_err(|error| pipe_error(error.into()))?;
            if command[0] == END {
                return Ok(account.unwrap_or_default());
            }
            let account_start = collector.open_account();
            let first = self.slots.first(self.arm, round);
            let tag = SampleTag { arm: self.arm, round, batch: first as u32 };
            let mut slot = first;
            let mut stored = Ok(());
            collector.time_group(work, plan, &mut self.jitter, tag, &mut |sample| {
                stored = stored.and(table.set(slot, sample));
                slot += 1;
            })?;
            stored.map_err(pipe_error)?;
            let group_account = collector.close_account(&account_start);
            account = Some(account.map_or(group_account, |account| merge(account, group_account)));
            round += 1;
            tokens.send_done().map_err(pipe_error)?;
        }
    }
}

/// The sum of two accounts: what one of them lacks is unknown in the sum.
pub fn merge(one: Disturbance, other: Disturbance) -> Disturbance {
    let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, two)| one + two);
    Disturbance {
        wall_ns: one.wall_ns + other.wall_ns,
        cpu_ns: one.cpu_ns + other.cpu_ns,
        run_delay_ns: sum(one.run_delay_ns, other.run_delay_ns),
        steal_ticks: sum(one.steal_ticks, other.steal_ticks),
        busy_ticks: sum(one.busy_ticks, other.busy_ticks),
        throttled_periods: sum(one.throttled_periods, other.throttled_periods),
        switches_uncounted: one.switches_uncounted || other.switches_uncounted,
        // It is measured once, after the last of them.
        core_cycles_per_ns: other.core_cycles_per_ns.or(one.core_cycles_per_ns),
        usage: one.usage.zip(other.usage).map(|(one, other)| Usage {
            ops: one.ops + other.ops,
            user_ns: one.user_ns + other.user_ns,
            system_ns: one.system_ns + other.system_ns,
            minor_faults: one.minor_faults + other.minor_faults,
            child_minor_faults: one.child_minor_faults + other.child_minor_faults,
            major_faults: one.major_faults + other.major_faults,
            voluntary_switches: one.voluntary_switches + other.voluntary_switches,
            involuntary_switches: one.involuntary_switches + other.involuntary_switches,
        }),
        // Observations of files and channels cannot be added: those of the first are kept.
        file: one.file,
        channel: one.channel,
    }
}
