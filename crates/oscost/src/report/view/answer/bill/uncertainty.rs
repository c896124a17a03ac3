//! What is said of a sum of prices that may be all of the measured system time.

use oscost_model::bill::Amount;

/// A system time, a sum or a difference that is not known better than this is told of, as half of its
/// interval in per cent of the system time, or of the sum.
pub(super) const MAX_HALF_WIDTH_PCT: f64 = 25.0;

/// Whether the interval of a difference contains zero.
pub(super) fn may_be_nothing(difference: &Amount) -> bool {
    difference.ci95.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high)
}

/// What can be said of a difference whose interval contains zero; `None` of others.
pub(super) fn verdict(difference: &Amount, system_ns: f64) -> Option<&'static str> {
    let [low, high] = difference.ci95.filter(|_| may_be_nothing(difference))?;
    let half_pct = 50.0 * (high - low) / system_ns;
    Some(match half_pct > MAX_HALF_WIDTH_PCT {
        true => "too uncertain to say what is unexplained",
        false => "nothing that is unexplained shows",
    })
}
