//! A system time that may be higher than it was measured: that of processes of few clock ticks.

use oscost_model::bill::BilledTrials;
use oscost_model::unit::Unit;

use crate::report::figures::rough;

/// By how much, at most: the kernel may have accounted all user time wrongly. `None` without a doubt.
pub(super) fn most_ns(trials: &BilledTrials) -> Option<f64> {
    trials.doubt.as_ref().map(|_| 1e9 * trials.user.mean)
}

/// The same in words.
pub(super) fn up_to(most_ns: f64) -> String {
    format!("up to {} higher", rough(most_ns, Unit::NsPerOp))
}

/// The same behind a sentence; empty without a doubt.
pub(in crate::report::view) fn clause(trials: &BilledTrials) -> String {
    let clause = |most_ns: f64| format!("; the system time may be {}", up_to(most_ns));
    most_ns(trials).map_or(String::new(), clause)
}
