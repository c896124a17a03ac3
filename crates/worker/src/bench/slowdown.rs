//! Work that is slower by a known share, for the live test that checks whether the change is
//! detected.

use oscost_model::channel::ChannelObservation;
use oscost_model::file::FileObservation;

use super::work::Work;
use super::work_body::WorkBody;
use crate::kernel::counter;
use crate::kernel::cpu::black_box::consume;
use crate::kernel::cpu::dependent_chain::dependent_chain;
use crate::kernel::{Errno, OpError};

impl Work {
    /// This work, with a chain of multiplications after each batch that takes `share` of the time
    /// of the batch.
    ///
    /// Each batch is timed again: right after a context switch a 1 ns op costs 10 % more or less
    /// than in a tight loop. `by_slope`: the figure is a slope over batches of several lengths.
    #[must_use]
    pub fn with_slowdown(self, share: f64, by_slope: bool) -> Self {
        let slowdown = Slowdown::calibrate(share, by_slope);
        self.with_body_around(|body| Box::new(BodyWithSlowdown { body, slowdown }))
    }
}

/// Converts a share of time into links of the chain.
struct Slowdown {
    share: f64,
    links_per_tick: f64,
    /// The cost of the delay with an empty chain.
    overhead_ticks: f64,
}

impl Slowdown {
    /// Calibrates the chain. A slope over batches cancels the overhead.
    fn calibrate(share: f64, by_slope: bool) -> Self {
        const LINKS: u64 = 16_000;
        let body = || consume(dependent_chain(LINKS, 3));
        let plain = median_ticks(body);
        let links_per_tick = LINKS as f64 / (plain - median_ticks(|| ()));
        let no_slowdown = Self { share: 0.0, links_per_tick, overhead_ticks: 0.0 };
        let overhead_ticks = match by_slope {
            true => 0.0,
            false => median_ticks(|| no_slowdown.run_slowed(body)) - plain,
        };
        Self { share, overhead_ticks, ..no_slowdown }
    }

    /// Runs the body, then the chain. The chain depends on the closing timestamp, so that it cannot
    /// overlap with the last op.
    #[inline(always)]
    fn run_slowed<R>(&self, body: impl FnOnce() -> R) -> R {
        let before = counter::start();
        let result = body();
        let after = counter::start();
        let ticks = self.share * (after - before) as f64 - self.overhead_ticks;
        consume(dependent_chain((self.links_per_tick * ticks).round() as u64, after));
        result
    }
}

/// The median time of the body, in ticks.
fn median_ticks(mut body: impl FnMut()) -> f64 {
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

struct BodyWithSlowdown {
    body: Box<dyn WorkBody>,
    slowdown: Slowdown,
}

impl WorkBody for BodyWithSlowdown {
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        let Self { body, slowdown } = self;
        slowdown.run_slowed(|| body.run(iterations, unroll))
    }

    fn prepare(&mut self, ops: u64) -> Result<(), Errno> {
        self.body.prepare(ops)
    }

    fn file_observation(&self) -> Option<FileObservation> {
        self.body.file_observation()
    }

    fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.channel_observation()
    }

    fn verify(&mut self) -> Result<(), Errno> {
        self.body.verify()
    }

    fn limit_op_count(&mut self, max: u64) -> Option<u64> {
        self.body.limit_op_count(max)
    }

    fn is_batch_lost(&self) -> bool {
        self.body.is_batch_lost()
    }

    fn last_value(&self) -> i64 {
        self.body.last_value()
    }

    fn actual_ops(&self) -> Option<u64> {
        self.body.actual_ops()
    }
}
