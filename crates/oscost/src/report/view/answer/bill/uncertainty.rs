//! What is said of a sum of prices that may be all of the measured system time.

use oscost_model::bill::{Amount, Bill, BillItem};

/// A system time, a sum or a difference that is not known better than this is told of, as half of its
/// interval in per cent of the system time, or of the sum.
pub(super) const MAX_HALF_WIDTH_PCT: f64 = 25.0;

/// The flag of a row with too few repetitions for an interval.
const FEW_REPETITIONS: &str = "FEW_REPETITIONS";

/// That the sum of a bill has no interval, and why, where the flags of prices tell.
pub(super) fn no_interval(bill: &Bill) -> String {
    let priced = bill.items.iter().filter_map(|item| Some((item, item.amount.as_ref()?)));
    let priced: Vec<(&BillItem, &Amount)> = priced.collect();
    let has_flag = |item: &BillItem| item.flags.iter().any(|flag| flag == FEW_REPETITIONS);
    let without = priced.iter().filter(|(_, amount)| amount.ci95.is_none());
    let few = without.filter(|(item, _)| has_flag(item)).count();
    if few == 0 {
        return "what is charged has no interval: how well it is known is not".to_owned();
    }
    let measured = bill.prices.measured.as_ref();
    let ran_out = measured.is_some_and(|it| it.seconds >= it.limit_seconds);
    let cause = if ran_out { ", as the time for prices ran out" } else { "" };
    format!(
        "prices of {few} of {} items were measured too few times for an interval \
         (FEW_REPETITIONS){cause}: what is charged has none",
        priced.len()
    )
}

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
