//! What a benchmark implements for its work: a body, and the ways in which it can be timed.

use oscost_model::channel::ChannelObservation;
use oscost_model::file::FileObservation;
use oscost_model::raw_call::RawCall;

use crate::kernel::{Errno, OpError};

/// The ways in which an op can be timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Repeatable; the pilot chooses between unrolled, batched and single shots.
    Repeat,
    /// Repeatable, loop overhead included: never unrolled.
    WithLoop,
    /// One op per batch, because its distribution matters.
    SingleShot,
    /// One op per batch, each after an eviction.
    Cold,
    /// A number of bytes per batch.
    Transfer,
    /// One op per batch; the op computes its own figure, and the clock's reading is discarded.
    OwnValue,
    /// One op per batch; the op returns the ticks that it took, since it starts in one process and
    /// ends in another.
    OwnTicks,
}

/// The body of a benchmark, compiled around its op.
pub trait WorkBody {
    /// Runs `iterations` iterations of a loop with `unroll` ops in each (1, 2, 4 or 8), and nothing
    /// else. A transfer moves `iterations * unroll` bytes.
    fn run(&mut self, iterations: u64, unroll: u32) -> Result<(), OpError>;

    /// Prepares a batch of `ops` ops, untimed: see [`Work::from_prepared_body`](super::Work::from_prepared_body).
    fn prepare(&mut self, _ops: u64) -> Result<(), Errno> {
        Ok(())
    }

    /// What was observed of the file that the ops work on.
    fn file_observation(&self) -> Option<FileObservation> {
        None
    }

    /// What was observed of the channel that the ops use.
    fn channel_observation(&self) -> Option<ChannelObservation> {
        None
    }

    /// Reduces an op of this body to at most `max` quoted ops (or, with a larger `max`, undoes that);
    /// returns how many it then counts as. `None`: it has a fixed number.
    ///
    /// For ops that are not timed: a whole pass over a file may take seconds, and under a tracer
    /// minutes.
    fn limit_op_count(&mut self, _max: u64) -> Option<u64> {
        None
    }

    /// Makes the raw system calls of its ops in this way from now on; returns whether its ops make
    /// raw calls of which both ways are compiled, and no other calls.
    fn set_raw_call(&mut self, _how: RawCall) -> bool {
        false
    }

    /// Verifies, untimed, that the last batch did what its ops claim to do.
    fn verify(&mut self) -> Result<(), Errno> {
        Ok(())
    }

    /// Whether the last batch must be dropped because what it waited for never arrived (a datagram
    /// may be lost). The loss has been counted.
    fn is_batch_lost(&self) -> bool {
        false
    }

    /// The value that the last op returned: see [`Shape::OwnValue`] and [`Shape::OwnTicks`].
    fn last_value(&self) -> i64 {
        0
    }

    /// The number of quoted ops in the last batch, where it is not known beforehand: of the bytes
    /// that were sent, those that arrived.
    fn actual_ops(&self) -> Option<u64> {
        None
    }
}
