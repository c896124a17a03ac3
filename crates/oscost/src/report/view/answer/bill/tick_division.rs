//! Charges above the measured system time that user and system time hold together.

use oscost_model::bill::{Amount, Bill};
use oscost_model::unit::Unit;

use crate::report::figures::rough;

/// A charge is held by a time that is at least so much of it.
const HELD_SHARE: f64 = 0.95;
/// The entry and the exit of a call take less than this, in nanoseconds.
const MAX_ENTRY_EXIT_NS: f64 = 100.0;

/// That clock ticks may have divided the CPU time wrongly, where the charge is above the system time and
/// not above the time of both modes, by no more than the entries and exits of the calls take; empty
/// otherwise, and where the intervals leave open whether it is above.
pub(super) fn clause(bill: &Bill) -> String {
    let Some(charged) = least_charged(bill) else { return String::new() };
    let trials = &bill.trials;
    let system_ns = trials.system_time.ns;
    let both_ns = 1e9 * trials.user.median + system_ns;
    let excess_ns = charged.ns - system_ns;
    let calls: u64 = bill.counted.iter().flat_map(|it| &it.calls.forms).map(|it| it.calls).sum();
    let is_held = both_ns >= HELD_SHARE * charged.ns;
    if excess_ns <= 0.0 || !is_held || excess_ns > MAX_ENTRY_EXIT_NS * calls as f64 {
        return String::new();
    }
    format!(
        " (user and system time together: {}; clock ticks may book the entry and the exit of calls as \
         user time)",
        rough(both_ns, Unit::NsPerOp)
    )
}

/// The lower end of what is charged; `None` where the system time may be as much.
fn least_charged(bill: &Bill) -> Option<&Amount> {
    let ends = [
        (bill.charged.as_ref(), bill.difference.as_ref()),
        (bill.charged_cool.as_ref(), bill.difference_cool.as_ref()),
    ];
    let known = ends.into_iter().filter_map(|(charged, difference)| charged.zip(difference));
    let (charged, difference) = known.min_by(|(one, _), (other, _)| one.ns.total_cmp(&other.ns))?;
    let may_be_nothing = difference.ci95.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high);
    (!may_be_nothing).then_some(charged)
}
