//! Fork twins: two or three processes, forked from one, that are timed in turns.
//!
//! Each arm is told apart by what was done to it before it built its work; without that they are an
//! A/A control. A token travels by pipe: whoever holds it times one group and hands it back.

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

/// What an arm answers when it has done what it was told.
const DONE: u8 = 1;
/// What an arm says before the words of its last answer.
const MESSAGE: u8 = 2;
/// What an arm is told: to time a group, or to end.
const GROUP: u8 = 3;
const END: u8 = 4;

/// More than any answer has.
const MAX_MESSAGE_BYTES: u64 = 64 << 10;

/// The arms of a worker, each waiting for the token.
pub struct Twins {
    arms: Vec<(u8, ArmPipes)>,
    order: Vec<usize>,
    rounds: u32,
    seed: Seed,
}

/// The pipes to an arm.
pub struct ArmPipes {
    token: File,
    answer: File,
}

/// An arm's ends of them.
pub struct TokenPipes {
    token: File,
    answer: File,
}

/// What an arm answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArmAnswer {
    /// It is ready, or has done what it was told.
    Done,
    /// It cannot go on, and says so in these words.
    Message(Vec<u8>),
    /// It has ended without a word.
    Exited,
}

/// The pipes between an arm and who hands out the token.
pub fn arm_pipes() -> Result<(ArmPipes, TokenPipes), Errno> {
    let (their_token, token) = pipe()?;
    let (answer, their_answer) = pipe()?;
    Ok((ArmPipes { token, answer }, TokenPipes { token: their_token, answer: their_answer }))
}

impl ArmPipes {
    /// Waits for the arm's answer.
    pub fn receive(&mut self) -> ArmAnswer {
        let mut kind = [0];
        match self.answer.read_exact(&mut kind) {
            Ok(()) if kind[0] == DONE => ArmAnswer::Done,
            Ok(()) => {
                let mut words = Vec::new();
                // What was heard of it before an error is what there is to pass on.
                let _ = (&mut self.answer).take(MAX_MESSAGE_BYTES).read_to_end(&mut words);
                ArmAnswer::Message(words)
            }
            Err(_) => ArmAnswer::Exited,
        }
    }

    fn send(&mut self, what: u8) -> ArmAnswer {
        // Of an arm that has ended the last words, if any, are still in the pipe.
        let _ = self.token.write_all(&[what]);
        self.receive()
    }
}

impl Twins {
    /// No arms yet.
    pub fn new(seed: u64) -> Twins {
        // Not the stream that cuts the batches.
        let seed = Seed::new(Seed::new(seed).child());
        Twins { arms: Vec::new(), order: Vec::new(), rounds: 0, seed }
    }

    /// An arm of this number that is ready.
    pub fn add(&mut self, number: u8, arm: ArmPipes) {
        self.order.push(self.arms.len());
        self.arms.push((number, arm));
    }

    /// Closes the pipes to all arms: an arm holds those of the arms before it, as any fork does,
    /// and whoever has more descriptors forks and ends more slowly.
    pub fn close_pipes(&mut self) {
        self.arms.clear();
    }

    /// Lets every arm time one group, in an order that gives each arm each place equally often:
    /// two arms go ABBA or BAAB at random, so that linear drift falls out. The error is the arm
    /// that could not, and what it answered.
    pub fn round(&mut self) -> Result<(), (u8, ArmAnswer)> {
        // A block of as many rounds as arms is a Latin square: each arm stands once in each place.
        let turn = self.rounds as usize % self.arms.len();
        if turn == 0 {
            self.seed.shuffle(&mut self.order);
        }
        self.rounds += 1;
        let mut order = self.order.clone();
        order.rotate_left(turn);
        order.into_iter().try_for_each(|arm| self.send(arm, GROUP))
    }

    /// Lets every arm close its account and end.
    pub fn end(&mut self) -> Result<(), (u8, ArmAnswer)> {
        (0..self.arms.len()).try_for_each(|arm| self.send(arm, END))
    }

    fn send(&mut self, arm: usize, what: u8) -> Result<(), (u8, ArmAnswer)> {
        let (number, arm) = &mut self.arms[arm];
        match arm.send(what) {
            ArmAnswer::Done => Ok(()),
            other => Err((*number, other)),
        }
    }
}

impl TokenPipes {
    /// Says that the arm is ready, or has done what it was told.
    pub fn send_done(&mut self) -> Result<(), Errno> {
        Ok(self.answer.write_all(&[DONE])?)
    }

    /// Says why it cannot go on, as its last.
    pub fn send_message(&mut self, words: &[u8]) -> Result<(), Errno> {
        Ok(self.answer.write_all(&[&[MESSAGE], words].concat())?)
    }
}

/// Where the samples of an arm's round stand in the table.
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
    /// Which.
    pub arm: u8,
    /// Where its samples stand.
    pub slots: SampleSlots,
    /// How its batches are cut: all arms with the same seed, so that each round has the same number
    /// of ops in all.
    pub jitter: BatchJitter,
}

impl Twin {
    /// Times a group for each token until it is told to end; hands back the account of all that it
    /// did meanwhile, without its waits for the token.
    pub fn serve<C: Clock, V: Covariates>(
        &mut self,
        tokens: &mut TokenPipes,
        work: &mut Work,
        plan: &BatchPlan,
        table: &mut SharedTable<Sample>,
        collector: &mut Collector<C, V>,
    ) -> Result<Disturbance, OpError> {
        let lost = |why: Errno| OpError { op: 0, errno: why };
        let mut account = None;
        let mut round = 0;
        loop {
            let mut held = [0];
            tokens.token.read_exact(&mut held).map_err(|error| lost(error.into()))?;
            if held[0] == END {
                return Ok(account.unwrap_or_default());
            }
            let opened = collector.open_account();
            let first = self.slots.first(self.arm, round);
            let tag = SampleTag { arm: self.arm, round, batch: first as u32 };
            let mut slot = first;
            let mut kept = Ok(());
            collector.time_group(work, plan, &mut self.jitter, tag, &mut |sample| {
                kept = kept.and(table.set(slot, sample));
                slot += 1;
            })?;
            kept.map_err(lost)?;
            let more = collector.close_account(&opened);
            account = Some(account.map_or(more, |account| merge(account, more)));
            round += 1;
            tokens.send_done().map_err(lost)?;
        }
    }
}

/// Two accounts as one: what only one of them knows is not known of both.
pub fn merge(one: Disturbance, other: Disturbance) -> Disturbance {
    let sum = |one: Option<u64>, other: Option<u64>| one.zip(other).map(|(one, two)| one + two);
    Disturbance {
        wall_ns: one.wall_ns + other.wall_ns,
        cpu_ns: one.cpu_ns + other.cpu_ns,
        run_delay_ns: sum(one.run_delay_ns, other.run_delay_ns),
        steal_ticks: sum(one.steal_ticks, other.steal_ticks),
        throttled_periods: sum(one.throttled_periods, other.throttled_periods),
        switches_uncounted: one.switches_uncounted || other.switches_uncounted,
        usage: one.usage.zip(other.usage).map(|(one, other)| Usage {
            ops: one.ops + other.ops,
            user_ns: one.user_ns + other.user_ns,
            system_ns: one.system_ns + other.system_ns,
            minor_faults: one.minor_faults + other.minor_faults,
            major_faults: one.major_faults + other.major_faults,
            voluntary_switches: one.voluntary_switches + other.voluntary_switches,
            involuntary_switches: one.involuntary_switches + other.involuntary_switches,
        }),
        // What was seen of files and channels cannot be added up: the first arm's stands for all.
        file: one.file,
        channel: one.channel,
    }
}
