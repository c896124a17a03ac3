//! The system calls that an op is expected to make.

use oscost_model::calls::{ANY_OTHER_CALL, CallRule, CallTimes, Caller, Parts};

use super::point_filter::{PointFilter, partial_point};

/// A system call that an op is expected to make.
#[derive(Clone, Copy)]
pub struct ExpectedCall {
    call: &'static str,
    times: CallTimes,
    when: PointFilter,
    caller: Caller,
    parts: Option<(&'static str, u64)>,
}

/// One op makes the call exactly `times` times.
pub const fn exactly(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall {
        call,
        times: CallTimes::Exactly(times),
        when: &[],
        caller: Caller::Own,
        parts: None,
    }
}

/// One op makes the call at most `times` times.
pub const fn up_to(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall {
        call,
        times: CallTimes::UpTo(times),
        when: &[],
        caller: Caller::Own,
        parts: None,
    }
}

/// Each end of a round trip makes the call `times` times: the measured process and its peer, or,
/// with `peer_cpu=none`, the measured process for both.
pub const fn each_end(call: &'static str, times: u32) -> ExpectedCall {
    ExpectedCall { caller: Caller::BothEnds, ..exactly(call, times) }
}

/// Every `ops` ops make the call once.
pub const fn once_per(ops: u32, call: &'static str) -> ExpectedCall {
    ExpectedCall {
        call,
        times: CallTimes::Per { calls: 1, ops },
        when: &[],
        caller: Caller::Own,
        parts: None,
    }
}

/// One op makes at most `times` calls that no other rule names, such as those of a system program.
pub const fn other_calls(times: u32) -> ExpectedCall {
    up_to(ANY_OTHER_CALL, times)
}

impl ExpectedCall {
    /// Applies at these axis values only.
    #[must_use]
    pub const fn when(self, when: PointFilter) -> Self {
        Self { when, ..self }
    }

    /// Allows the call up to `times` more times for each `bytes` of this axis: a large message may
    /// arrive in parts, and how many depends on which end is faster.
    #[must_use]
    pub const fn in_parts(self, axis: &'static str, bytes: u64) -> Self {
        Self { parts: Some((axis, bytes)), ..self }
    }

    /// Made by the peer, once per op.
    #[must_use]
    pub const fn by_peer(self) -> Self {
        Self { caller: Caller::Peer, ..self }
    }

    pub(super) fn data(&self) -> CallRule {
        CallRule {
            call: self.call.to_owned(),
            times: self.times,
            when: partial_point(self.when),
            caller: self.caller,
            parts: self.parts.map(|(axis, bytes)| Parts { axis: axis.to_owned(), bytes }),
        }
    }
}
