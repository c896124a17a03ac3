//! The cost per idle descriptor of each step of a wait.

use serde::{Deserialize, Serialize};

use crate::curve::BoundedValue;

/// The steps of a wait on one target by one method, in ns per additional idle descriptor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitSteps {
    /// The target, as typed.
    pub target: String,
    /// The wait method: `select`, `poll`, ...
    pub method: String,
    /// The two numbers of descriptors that each slope is computed from.
    pub between: [u64; 2],
    /// Passing and checking the set without waiting, including the caller's own work. Null, like
    /// all fields below, if it was not measured.
    pub check: Option<BoundedValue>,
    /// The caller's own part of that.
    pub caller: Option<BoundedValue>,
    /// Joining and leaving the wait queues.
    pub wait_queues: Option<BoundedValue>,
    /// From an event until the waiter runs.
    pub wakeup: Option<BoundedValue>,
    /// The part of that beyond passing and checking the set once.
    pub wakeup_beyond_check: Option<BoundedValue>,
}
