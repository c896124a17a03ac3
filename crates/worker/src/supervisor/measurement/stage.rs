//! What a worker does, for the report of a call that a filter forbids.

use crate::kernel::probe::forbidden_call::set_stage;

/// A stage of a worker under treatments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// From the first call under the treatments on.
    SetUp,
    FirstOp,
    /// Its counters and its table of samples.
    Accounting,
    Ready,
    WarmUp,
    Batches,
    Report,
}

impl Stage {
    /// All stages, in their order.
    const ALL: [Stage; 7] = [
        Stage::SetUp,
        Stage::FirstOp,
        Stage::Accounting,
        Stage::Ready,
        Stage::WarmUp,
        Stage::Batches,
        Stage::Report,
    ];

    /// Notes that it begins. It makes no system call.
    pub(super) fn begin(self) {
        set_stage(self as u16);
    }

    /// The stage of this number.
    pub(super) fn from_number(number: u16) -> Stage {
        Stage::ALL.into_iter().find(|stage| *stage as u16 == number).unwrap_or(Stage::SetUp)
    }

    /// What a worker did in it.
    pub(super) fn text(self) -> &'static str {
        match self {
            Stage::SetUp => "set up its work",
            Stage::FirstOp => "tried its op",
            Stage::Accounting => "prepared its counters and its samples",
            Stage::Ready => "reported that it was ready",
            Stage::WarmUp => "warmed up",
            Stage::Batches => "timed batches",
            Stage::Report => "reported its samples",
        }
    }
}
