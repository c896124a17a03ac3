//! What each idle descriptor costs in the steps of a wait.

use serde::{Deserialize, Serialize};

use crate::curve::BoundedValue;

/// The steps of a wait at one place, by one method: in ns for each further idle descriptor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaitSteps {
    /// Where they were measured, as it is typed.
    pub target: String,
    /// How is waited.
    pub method: String,
    /// The numbers of descriptors between which each slope is taken.
    pub between: [u64; 2],
    /// Passing the set and checking all of it, without waiting; the caller's own work included.
    /// Null, as all below, where it was not measured.
    pub check: Option<BoundedValue>,
    /// What of that is the caller's own work.
    pub caller: Option<BoundedValue>,
    /// Getting on the list of each and off again, as a call does that may wait.
    pub wait_queues: Option<BoundedValue>,
    /// From an event until whoever blocked on all of them runs.
    pub wakeup: Option<BoundedValue>,
    /// What that is beyond passing and checking them once.
    pub wakeup_beyond_check: Option<BoundedValue>,
}
