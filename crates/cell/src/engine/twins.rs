//! Fork twins: two or three copies of one warm process, timed in turns.
//!
//! The parent builds and warms the work, then forks an arm for each thing that is compared: same
//! layout, same physical pages, same CPU. A token travels by pipe: whoever holds it times one group
//! and hands it back. What the arms differ in is done to them from outside, or before the token
//! first comes; without that they are an A/A control.

use std::fs::File;
use std::io::{Read, Write};

use oscost_model::cell::{BatchPlan, Sample};
use oscost_model::seed::Seed;

use super::clock::Clock;
use super::collect::{Collector, Cut, Tag};
use super::disturb::Covariates;
use crate::bench::Work;
use crate::sys::Errno;
use crate::sys::files::pipe;
use crate::sys::memory::SharedTable;
use crate::sys::process::{self, Whose};

/// What an arm answers when it has timed a group.
const DONE: u8 = 1;

/// The arms of a cell, each waiting for the token.
pub struct Twins {
    arms: Vec<Arm>,
    order: Vec<usize>,
    rounds: u32,
    seed: Seed,
}

struct Arm {
    pid: u32,
    token: File,
    answer: File,
}

impl Twins {
    /// Forks `arms` copies of the calling process. Each writes its samples into `table`, at the
    /// place that its arm and round have there.
    pub fn fork<C: Clock, V: Covariates>(
        arms: u8,
        seed: u64,
        work: &mut Work,
        plan: &BatchPlan,
        table: &mut SharedTable<Sample>,
        collector_of: impl Fn() -> Option<Collector<C, V>>,
    ) -> Result<Twins, Errno> {
        let mut twins = Vec::new();
        for arm in 0..arms {
            let (their_token, token) = pipe()?;
            let (answer, their_answer) = pipe()?;
            let parent = std::process::id();
            // An arm inherits ends of pipes that are not its own. It never waits for an end of file:
            // it dies with the parent, and `drop` kills it.
            let pid = process::fork(|| {
                let alone = process::die_with(parent).is_err();
                let Some(collector) = collector_of().filter(|_| !alone) else { return 1 };
                let slots = Slots { arms, copies: plan.copies.len() };
                let mut twin = Twin { arm, slots, cut: Cut::new(seed), round: 0 };
                twin.serve(their_token, their_answer, work, plan, table, collector)
            })?;
            twins.push(Arm { pid, token, answer });
        }
        let order = (0..twins.len()).collect();
        // Not the stream that cuts the batches.
        let seed = Seed::new(Seed::new(seed).child());
        Ok(Twins { arms: twins, order, rounds: 0, seed })
    }

    /// Lets every arm time one group, in an order that gives each arm each place equally often:
    /// two arms go ABBA or BAAB at random, so that linear drift falls out.
    pub fn round(&mut self) -> Result<(), Errno> {
        // A block of as many rounds as arms is a Latin square: each arm stands once in each place.
        let turn = self.rounds as usize % self.arms.len();
        if turn == 0 {
            self.seed.shuffle(&mut self.order);
        }
        self.rounds += 1;
        let mut order = self.order.clone();
        order.rotate_left(turn);
        for index in order {
            let arm = &mut self.arms[index];
            arm.token.write_all(&[DONE])?;
            let mut answer = [0];
            arm.answer.read_exact(&mut answer)?;
        }
        Ok(())
    }
}

impl Drop for Twins {
    fn drop(&mut self) {
        for arm in self.arms.drain(..) {
            process::kill(arm.pid);
            // It was our child and is now ended: there is nothing left to know.
            let _ = process::wait(Whose::Child(arm.pid), true);
        }
    }
}

/// Where the samples of an arm's round stand in the table.
#[derive(Clone, Copy)]
pub struct Slots {
    /// Arms in the cell.
    pub arms: u8,
    /// Batches in a group.
    pub copies: usize,
}

impl Slots {
    /// The first slot of that arm's round.
    pub fn first(self, arm: u8, round: u32) -> usize {
        (round as usize * usize::from(self.arms) + usize::from(arm)) * self.copies
    }
}

struct Twin {
    arm: u8,
    slots: Slots,
    cut: Cut,
    round: u32,
}

impl Twin {
    /// Times a group for each token, until there are no more.
    fn serve<C: Clock, V: Covariates>(
        &mut self,
        mut token: File,
        mut answer: File,
        work: &mut Work,
        plan: &BatchPlan,
        table: &mut SharedTable<Sample>,
        mut collector: Collector<C, V>,
    ) -> i32 {
        let mut held = [0];
        while token.read_exact(&mut held).is_ok() {
            let first = self.slots.first(self.arm, self.round);
            let tag = Tag { arm: self.arm, round: self.round, batch: first as u32 };
            let mut slot = first;
            let mut kept = Ok(());
            let timed = collector.group(work, plan, &mut self.cut, tag, &mut |sample| {
                kept = kept.and(table.set(slot, sample));
                slot += 1;
            });
            if timed.is_err() || kept.is_err() || answer.write_all(&[DONE]).is_err() {
                return 1;
            }
            self.round += 1;
        }
        0
    }
}
