//! Work: a body, and the untimed preparation of its batches.

use oscost_model::channel::ChannelObservation;
use oscost_model::file::FileObservation;
use oscost_model::raw_call::RawCall;

use super::loops::{OwnValue, Repeat, Transfer, WithLoop};
use super::work_body::{Shape, WorkBody};
use crate::kernel::{Errno, OpError};

/// The untimed preparation of a batch of so many ops.
type Prepare = Box<dyn FnMut(u64) -> Result<(), Errno>>;

/// What cools the caches before an op that is timed alone.
type Walk = Box<dyn FnMut()>;

/// The work of a case, ready to be timed.
pub struct Work {
    /// How it can be timed.
    pub shape: Shape,
    body: Box<dyn WorkBody>,
    prepare: Option<Prepare>,
    walk: Option<Walk>,
    max_batch_ops: u64,
    min_batch_ops: u64,
    unavailable_reason: Option<String>,
    prepares_itself: bool,
    makes_no_calls: bool,
    op_count: u64,
}

impl Work {
    /// An op that can be repeated.
    pub fn repeat(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::from_body(Shape::Repeat, Repeat::<_, false>(op))
    }

    /// An op that can be repeated, in a loop as compilers emit it without optimisation: its counter
    /// is in memory.
    pub fn repeat_unoptimized(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::from_body(Shape::Repeat, Repeat::<_, true>(op))
    }

    /// An op that is timed with its loop: because the loop is part of the question, or because it
    /// is negligible against an op that enters the kernel. The body is compiled once and not four
    /// times.
    pub fn with_loop(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self::from_body(Shape::WithLoop, WithLoop(op))
    }

    /// No work: why the case cannot run on this machine, and what to do. The case is skipped with
    /// this reason.
    pub fn unavailable(reason: impl Into<String>) -> Self {
        let none = WithLoop(|| Err(Errno::ENOSYS));
        Self { unavailable_reason: Some(reason.into()), ..Self::from_body(Shape::WithLoop, none) }
    }

    /// This work, with another body around its own.
    #[cfg(feature = "live")]
    pub(super) fn with_body_around(
        self,
        wrap: impl FnOnce(Box<dyn WorkBody>) -> Box<dyn WorkBody>,
    ) -> Self {
        Self { body: wrap(self.body), ..self }
    }

    /// Why the case cannot run on this machine; `None` if it can.
    pub fn unavailable_reason(&self) -> Option<&str> {
        self.unavailable_reason.as_deref()
    }

    /// An op that is timed one by one, because the distribution of its cost matters.
    pub fn single_shot(op: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self { shape: Shape::SingleShot, ..Self::repeat(op) }
    }

    /// An op that is measured cold: `evict` runs before each one, untimed.
    pub fn cold(
        evict: impl FnMut() -> Result<(), Errno> + 'static,
        op: impl FnMut() -> Result<(), Errno> + 'static,
    ) -> Self {
        Self::repeat(op).with_eviction(evict)
    }

    /// This op, measured cold: `evict` runs before each one, untimed.
    #[must_use]
    pub fn with_eviction(self, mut evict: impl FnMut() -> Result<(), Errno> + 'static) -> Self {
        Self { shape: Shape::Cold, ..self.with_preparation(move |_| evict()) }
    }

    /// This work, each op timed alone, with a walk through memory before it, untimed.
    #[must_use]
    pub fn cooled_by(self, walk: impl FnMut() + 'static) -> Self {
        Self { shape: Shape::Cold, walk: Some(Box::new(walk)), ..self }
    }

    /// Why its ops cannot be timed one by one after a walk; `None` if they can.
    pub fn uncoolable_reason(&self) -> Option<&'static str> {
        match self.shape {
            Shape::Repeat | Shape::WithLoop | Shape::SingleShot if self.op_count > 1 => {
                Some("an op is a part of a longer one, which the walk would cool only once")
            }
            Shape::Repeat | Shape::WithLoop | Shape::SingleShot if self.min_batch_ops > 1 => {
                Some("an op alone only fills the buffer between two ends")
            }
            Shape::Repeat | Shape::WithLoop | Shape::SingleShot => None,
            Shape::Cold => Some("each op is already measured after an eviction"),
            Shape::Transfer => Some("its figure is a rate, not the time of an op"),
            Shape::OwnValue | Shape::OwnTicks => Some("its ops compute their own figure"),
        }
    }

    /// A transfer: the closure moves the given number of bytes.
    pub fn transfer(transfer: impl FnMut(u64) -> Result<(), Errno> + 'static) -> Self {
        Self::from_body(Shape::Transfer, Transfer(transfer))
    }

    /// An op that computes its own figure, in picoseconds: what no clock around it could show, such
    /// as the step of another clock, or how late a timer was.
    pub fn own_value(op: impl FnMut() -> Result<i64, Errno> + 'static) -> Self {
        Self::from_body(Shape::OwnValue, OwnValue { op, last: 0 })
    }

    /// An op that times itself, in ticks of [`Context::clock`](super::Context::clock): from a read
    /// in one process to a read in another. The cost of an empty pair of reads is subtracted as
    /// from any single shot.
    pub fn own_ticks(op: impl FnMut() -> Result<i64, Errno> + 'static) -> Self {
        Self { shape: Shape::OwnTicks, ..Self::own_value(op) }
    }

    /// A body that is not a closure.
    pub fn from_body(shape: Shape, body: impl WorkBody + 'static) -> Self {
        Self::boxed(shape, Box::new(body))
    }

    /// A body that prepares its own batches: [`WorkBody::prepare`].
    pub fn from_prepared_body(shape: Shape, body: impl WorkBody + 'static) -> Self {
        Self { prepares_itself: true, ..Self::from_body(shape, body) }
    }

    /// Out of line, since every definition calls it.
    #[inline(never)]
    fn boxed(shape: Shape, body: Box<dyn WorkBody>) -> Self {
        Self {
            shape,
            body,
            prepare: None,
            walk: None,
            max_batch_ops: u64::MAX,
            min_batch_ops: 1,
            unavailable_reason: None,
            prepares_itself: false,
            makes_no_calls: false,
            op_count: 1,
        }
    }

    /// This work, with untimed preparation before each batch.
    #[must_use]
    pub fn with_preparation(self, prepare: impl FnMut(u64) -> Result<(), Errno> + 'static) -> Self {
        Self { prepare: Some(Box::new(prepare)), ..self }
    }

    /// This work, whose loop has no system-call instruction: it is the same however calls are made,
    /// and measured under `call` like the cases that have one. For reference cases.
    #[must_use]
    pub fn without_calls(self) -> Self {
        Self { makes_no_calls: true, ..self }
    }

    /// This work, in batches of at most `ops` ops: the preparation can provide no more.
    #[must_use]
    pub fn with_max_batch_ops(self, ops: u64) -> Self {
        Self { max_batch_ops: ops.max(1), ..self }
    }

    /// This work, in batches of at least `ops` ops of its body if that does not take too long: with
    /// fewer the batch only fills the buffer between the two ends.
    #[must_use]
    pub fn with_min_batch_ops(self, ops: u64) -> Self {
        Self { min_batch_ops: ops.max(1), ..self }
    }

    /// This work, where one op of the body counts as `ops` quoted ops: for example a region that is
    /// mapped as a whole and whose cost is quoted per page.
    #[must_use]
    pub fn with_op_count(self, ops: u64) -> Self {
        Self { op_count: ops.max(1), ..self }
    }

    /// The maximum number of ops of the body in a batch.
    pub fn max_batch_ops(&self) -> u64 {
        self.max_batch_ops
    }

    /// The minimum number of ops of the body in a batch.
    pub fn min_batch_ops(&self) -> u64 {
        self.min_batch_ops
    }

    /// How many quoted ops one op of the body counts as.
    pub fn op_count(&self) -> u64 {
        self.op_count
    }

    /// Lets one op of the body count as at most `max` quoted ops, if the body can do less (see
    /// [`WorkBody::limit_op_count`]); returns whether it can.
    pub fn limit_op_count(&mut self, max: u64) -> bool {
        let limited = self.body.limit_op_count(max.max(1));
        self.op_count = limited.unwrap_or(self.op_count);
        limited.is_some()
    }

    /// Makes the raw system calls of its ops in this way from now on; returns whether they can be
    /// made so (see [`WorkBody::set_raw_call`]), or there are none.
    pub fn set_raw_call(&mut self, how: RawCall) -> bool {
        self.body.set_raw_call(how) || self.makes_no_calls
    }

    /// Whether a batch needs untimed preparation.
    pub fn has_preparation(&self) -> bool {
        self.prepares_itself || self.prepare.is_some() || self.walk.is_some()
    }

    /// Whether its ops are timed one by one, each after a walk.
    pub fn is_cooled(&self) -> bool {
        self.walk.is_some()
    }

    /// Prepares a batch of `ops` ops.
    pub fn prepare(&mut self, ops: u64) -> Result<(), OpError> {
        if ops > self.max_batch_ops {
            return Err(OpError { op: 0, errno: Errno::E2BIG });
        }
        let prepared = match &mut self.prepare {
            Some(prepare) => prepare(ops),
            None => Ok(()),
        };
        prepared.and_then(|()| self.body.prepare(ops)).map_err(|errno| OpError { op: 0, errno })
    }

    /// Prepares a batch of `ops` ops that is timed: the walk, if there is one, comes last.
    pub fn prepare_timed(&mut self, ops: u64) -> Result<(), OpError> {
        self.prepare(ops)?;
        if let Some(walk) = &mut self.walk {
            walk();
        }
        Ok(())
    }

    /// Verifies, untimed, that the last batch did what its ops claim to do.
    pub fn verify(&mut self) -> Result<(), OpError> {
        self.body.verify().map_err(|errno| OpError { op: 0, errno })
    }

    /// The value that the last op returned, if it is not timed from outside: picoseconds, or ticks.
    pub fn last_value(&self) -> Option<i64> {
        matches!(self.shape, Shape::OwnValue | Shape::OwnTicks).then(|| self.body.last_value())
    }

    /// What was observed of the file that the ops work on, if there is one.
    pub fn file_observation(&self) -> Option<FileObservation> {
        self.body.file_observation()
    }

    /// What was observed of the channel that the ops use, if there is one.
    pub fn channel_observation(&self) -> Option<ChannelObservation> {
        self.body.channel_observation()
    }

    /// Whether the last batch must be dropped.
    pub fn is_batch_lost(&self) -> bool {
        self.body.is_batch_lost()
    }

    /// The number of quoted ops in the last batch, if only the body knows it.
    pub fn actual_ops(&self) -> Option<u64> {
        self.body.actual_ops()
    }

    /// Runs a batch: one indirect call per batch, none per op.
    #[inline(always)]
    pub fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError> {
        self.body.run(iterations, unroll)
    }
}

#[cfg(test)]
mod tests;
