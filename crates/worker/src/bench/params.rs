//! What a definition gets when it builds its work: the point and the context.

use oscost_model::point::{Point, Value};

use crate::kernel::net::token_listener::RemoteEndpoint;
use crate::kernel::time::stopwatch::Stopwatch;

/// What a worker gives its work: CPUs, a clock, a remote peer. Its current directory is private and
/// is removed at the end of the run.
#[derive(Clone, Copy)]
pub struct Context {
    /// The CPU that the worker is pinned to.
    pub cpu: Option<u32>,
    /// Another CPU, for a second process of the work; `None` on a machine with one CPU.
    pub other_cpu: Option<u32>,
    /// The clock of the worker, for work that starts timing in one process and stops in another.
    pub clock: Stopwatch,
    /// The peer on another machine, if the peer is remote.
    pub remote_peer: Option<RemoteEndpoint>,
}

impl Context {
    /// Not pinned, with a clock that every machine has.
    pub const DEFAULT: Context =
        Context { cpu: None, other_cpu: None, clock: Stopwatch::Syscall, remote_peer: None };
}

/// The parameters of a build: the point and the context.
#[derive(Clone, Copy)]
pub struct Params<'a> {
    point: &'a Point,
    /// CPUs, clock and remote peer.
    pub context: Context,
}

impl<'a> Params<'a> {
    /// The parameters for a point in a context.
    pub fn new(point: &'a Point, context: Context) -> Self {
        Self { point, context }
    }

    /// The value of an axis that has words.
    ///
    /// # Panics
    /// If the definition does not have the axis. The test that builds every benchmark finds this.
    pub fn word(&self, axis: &str) -> &str {
        match self.point.get(axis) {
            Some(Value::Word(word)) => word,
            other => panic!("axis `{axis}` has no word at `{}`: {other:?}", self.point),
        }
    }

    /// The value of an axis that may be a number or a word; `None` if the point leaves it out.
    pub fn value(&self, axis: &str) -> Option<&Value> {
        self.point.get(axis)
    }

    /// The value of an axis that has numbers.
    ///
    /// # Panics
    /// As [`Self::word`].
    pub fn number(&self, axis: &str) -> u64 {
        match self.point.get(axis) {
            Some(&Value::Number(number)) => number,
            other => panic!("axis `{axis}` has no number at `{}`: {other:?}", self.point),
        }
    }
}
