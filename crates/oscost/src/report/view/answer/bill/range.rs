//! What a bill charges from warm to cool caches: a range that should hold the measured system time.

use oscost_model::bill::{Amount, Bill};
use oscost_model::unit::Unit;

use crate::report::figures::{per_cent, rough};

/// The range of a bill, beside what was measured.
#[derive(Clone, Copy)]
pub(super) struct ChargedRange {
    warm_ns: f64,
    cool_ns: f64,
    measured_ns: f64,
    /// Whether the interval of a difference to one of its ends contains zero.
    may_hold: bool,
}

impl ChargedRange {
    /// The range of a bill; `None` without cool prices.
    pub(super) fn of(bill: &Bill) -> Option<Self> {
        Some(Self {
            warm_ns: bill.charged.as_ref()?.ns,
            cool_ns: bill.charged_cool.as_ref()?.ns,
            measured_ns: bill.trials.system_time.ns,
            may_hold: [&bill.difference, &bill.difference_cool].into_iter().any(may_be_nothing),
        })
    }

    /// How far the measured time is above the range; negative below it, 0 within.
    pub(super) fn outside_ns(self) -> f64 {
        let [low, high] = self.ends_ns();
        if self.measured_ns > high {
            self.measured_ns - high
        } else if self.measured_ns < low {
            self.measured_ns - low
        } else {
            0.0
        }
    }

    /// Whether its high end is more than so many times its low one.
    pub(super) fn is_wider_than(self, ratio: f64) -> bool {
        let [low, high] = self.ends_ns();
        high > ratio * low
    }

    /// The range, and on which side of it the measured time lies.
    pub(super) fn sentence(self) -> String {
        let times = [self.warm_ns, self.cool_ns, self.measured_ns];
        let [warm, cool, measured] = times.map(|ns| rough(ns, Unit::NsPerOp));
        let side = self.side();
        format!("{warm} (warm caches) to {cool} (cool) charged, {measured} measured: {side}")
    }

    /// Where the measured time lies, with the distance in per cent of it.
    fn side(self) -> String {
        let outside_pct = 100.0 * self.outside_ns() / self.measured_ns;
        let uncertain = if self.may_hold { ", within its uncertainty" } else { "" };
        if outside_pct > 0.0 {
            format!("{} above the range{uncertain}", per_cent(outside_pct))
        } else if outside_pct < 0.0 {
            format!("{} below the range{uncertain}", per_cent(-outside_pct))
        } else {
            "within the range".to_owned()
        }
    }

    /// What a walk adds may be below zero by its error.
    fn ends_ns(self) -> [f64; 2] {
        [self.warm_ns.min(self.cool_ns), self.warm_ns.max(self.cool_ns)]
    }
}

fn may_be_nothing(difference: &Option<Amount>) -> bool {
    let ends = difference.as_ref().and_then(|it| it.ci95);
    ends.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measured_time_lies_within_the_range_or_on_one_side_of_it() {
        let side = |measured_ns: f64, warm_ns: f64, cool_ns: f64| {
            ChargedRange { warm_ns, cool_ns, measured_ns, may_hold: false }.side()
        };
        for inside in [61.0, 65.8, 98.0] {
            assert_eq!(side(inside, 61.0, 98.0), "within the range");
            assert_eq!(side(inside, 98.0, 61.0), "within the range", "the walk adds an error");
        }
        assert_eq!(side(200.0, 61.0, 98.0), "51 % above the range");
        assert_eq!(side(50.0, 61.0, 98.0), "22 % below the range");
        let uncertain =
            ChargedRange { warm_ns: 61.0, cool_ns: 98.0, measured_ns: 200.0, may_hold: true };
        assert_eq!(uncertain.side(), "51 % above the range, within its uncertainty");
    }

    #[test]
    fn a_range_is_as_wide_as_its_ends_are_apart() {
        let range =
            |warm_ns, cool_ns| ChargedRange { warm_ns, cool_ns, measured_ns: 1.0, may_hold: false };
        assert!(range(10.0, 21.0).is_wider_than(2.0) && !range(10.0, 20.0).is_wider_than(2.0));
        assert!(range(21.0, 10.0).is_wider_than(2.0) && !range(0.0, 0.0).is_wider_than(2.0));
    }
}
