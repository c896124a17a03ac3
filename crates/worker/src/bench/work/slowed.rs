//! Work that is slower by a known share, for the live test that asks whether that is found.

use oscost_model::channel::ChannelObservation;
use oscost_model::file::FileObservation;

use super::{AtOp, Run, Work};
use crate::kernel::Errno;
use crate::kernel::counter;
use crate::kernel::cpu::black_box::keep;
use crate::kernel::cpu::dependent_chain::dependent_chain;

impl Work {
    /// This work, with a chain of multiplications behind each batch that takes that share of what
    /// the batch itself took.
    ///
    /// Of each batch anew: an op of a nanosecond costs another one when its process has just got
    /// the CPU than in a loop of its own, by a tenth and more. `by_slope` says that batches of
    /// several lengths are read together.
    #[must_use]
    pub fn slowed(self, share: f64, by_slope: bool) -> Self {
        let slower = Slower::measured(share, by_slope);
        Self { body: Box::new(Slowed { body: self.body, slower }), ..self }
    }
}

/// How a share of time becomes a chain.
struct Slower {
    share: f64,
    links_per_tick: f64,
    /// What the delay costs when its chain has no link.
    aside_ticks: f64,
}

impl Slower {
    /// Of batches that are read by a slope the aside falls out by itself.
    fn measured(share: f64, by_slope: bool) -> Self {
        const LINKS: u64 = 16_000;
        let body = || keep(dependent_chain(LINKS, 3));
        let plain = middle(body);
        let links_per_tick = LINKS as f64 / (plain - middle(|| ()));
        let without = Self { share: 0.0, links_per_tick, aside_ticks: 0.0 };
        let aside_ticks = match by_slope {
            true => 0.0,
            false => middle(|| without.delayed(body)) - plain,
        };
        Self { share, aside_ticks, ..without }
    }

    /// Does it, and takes the share of its time. The chain waits for the last op: the processor
    /// would else begin with it meanwhile.
    #[inline(always)]
    fn delayed<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = counter::start();
        let done = body();
        let after = counter::start();
        let ticks = self.share * (after - before) as f64 - self.aside_ticks;
        keep(dependent_chain((self.links_per_tick * ticks).round() as u64, after));
        done
    }
}

/// What that takes, in ticks: the middle one of some.
fn middle(mut body: impl FnMut()) -> f64 {
    const TIMES: usize = 301;
    let timed = || {
        let before = counter::start();
        body();
        counter::stop() - before
    };
    let mut ticks: Vec<u64> = std::iter::repeat_with(timed).take(TIMES).collect();
    ticks.sort_unstable();
    ticks[TIMES / 2] as f64
}

struct Slowed {
    body: Box<dyn Run>,
    slower: Slower,
}

impl Run for Slowed {
    fn run(&mut self, turns: u64, copies: u32) -> Result<(), AtOp> {
        let Self { body, slower } = self;
        slower.delayed(|| body.run(turns, copies))
    }

    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.body.prepare(ops)
    }

    fn seen(&self) -> Option<FileObservation> {
        self.body.seen()
    }

    fn channel(&self) -> Option<ChannelObservation> {
        self.body.channel()
    }

    fn prove(&mut self) -> Result<(), Errno> {
        self.body.prove()
    }

    fn is_lost(&self) -> bool {
        self.body.is_lost()
    }

    fn brought(&self) -> i64 {
        self.body.brought()
    }

    fn moved(&self) -> Option<u64> {
        self.body.moved()
    }
}
