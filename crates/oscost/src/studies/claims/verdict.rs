//! The verdict on a claim: it holds, it does not hold, there is no difference, it depends on the
//! placement, or the run cannot decide, and why.

use oscost_stats::interval::Interval;

use crate::studies::figures::rounds::IntervalEstimate;

/// The minimum number of rounds: fewer have no bounded interval of 95 %.
pub(super) const MIN_ROUNDS: usize = 6;

/// The verdict on a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It holds, by the whole interval.
    Holds,
    /// It does not hold, by the whole interval.
    DoesNotHold,
    /// Of an order: two costs that should differ are equal, by the whole interval of their ratio.
    NoDifference,
    /// The study does not state the placement, which decides: the verdict in each.
    DependsOnPlacement(String),
    /// This run cannot decide, and why.
    Undecided(String),
    /// The figures decide, and no verdict may rest on them: it is undecided.
    Withheld {
        /// What the figures say, as part of a sentence.
        would_be: &'static str,
        /// Why no verdict may rest on them.
        why: String,
    },
    /// This run has not measured what it is about, and why.
    NotMeasured(String),
}

impl Verdict {
    /// The verdict as it is shown.
    pub fn text(&self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NoDifference => "no difference",
            Verdict::DependsOnPlacement(_) => "depends on the placement",
            Verdict::Undecided(_) | Verdict::Withheld { .. } => "undecided",
            Verdict::NotMeasured(_) => "not measured",
        }
    }

    /// The verdict as part of a sentence about the claim.
    pub fn sentence(&self) -> &'static str {
        match self {
            Verdict::Holds => "it holds",
            Verdict::DoesNotHold => "it does not hold",
            Verdict::NoDifference => "there is no difference",
            Verdict::DependsOnPlacement(_) => "it depends on the placement",
            Verdict::Undecided(_) | Verdict::Withheld { .. } => "it is undecided",
            Verdict::NotMeasured(_) => "it was not measured",
        }
    }

    /// Why it is no other one; `None` where the figures show it.
    pub fn reason(&self) -> Option<String> {
        match self {
            Verdict::Undecided(why)
            | Verdict::DependsOnPlacement(why)
            | Verdict::NotMeasured(why) => Some(why.clone()),
            Verdict::Withheld { would_be, why } => Some(format!("{would_be}, but {why}")),
            Verdict::Holds | Verdict::DoesNotHold | Verdict::NoDifference => None,
        }
    }

    /// Whether it says something of the claim.
    pub fn is_decided(&self) -> bool {
        match self {
            Verdict::Undecided(_) | Verdict::Withheld { .. } | Verdict::NotMeasured(_) => false,
            Verdict::Holds
            | Verdict::DoesNotHold
            | Verdict::NoDifference
            | Verdict::DependsOnPlacement(_) => true,
        }
    }

    /// Whether it is undecided, for whatever reason.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Verdict::Undecided(_) | Verdict::Withheld { .. })
    }

    /// The same by figures on which no verdict may rest, and why. What was not measured stays so.
    pub(super) fn withheld(self, why: String) -> Self {
        let would_be = match self {
            Verdict::Holds => "it would hold",
            Verdict::DoesNotHold => "it would not hold",
            Verdict::NoDifference => "there would be no difference",
            Verdict::DependsOnPlacement(_) => "it would depend on the placement",
            Verdict::Undecided(_) | Verdict::Withheld { .. } => return Verdict::Undecided(why),
            Verdict::NotMeasured(_) => return self,
        };
        Verdict::Withheld { would_be, why }
    }

    /// Whether both are the same, whatever the reasons of undecided ones.
    pub fn is_same(&self, other: &Verdict) -> bool {
        self.text() == other.text() && self.would_be() == other.would_be()
    }

    /// What the figures say, as part of a sentence, if no verdict may rest on them.
    pub fn would_be(&self) -> Option<&'static str> {
        match self {
            Verdict::Withheld { would_be, .. } => Some(*would_be),
            _ => None,
        }
    }
}

/// Whether all of these lie within bounds, by their whole intervals.
pub(super) fn judge_bounds(each: &[Option<IntervalEstimate>], bounds: Interval) -> Verdict {
    let intervals: Option<Vec<Interval>> =
        each.iter().map(|spot| spot.and_then(|spot| spot.interval)).collect();
    let Some(intervals) = intervals else {
        let why = "too few rounds for an interval, or not all of its cases were measured on both \
                   targets";
        return Verdict::Undecided(why.to_owned());
    };
    let inside = |it: &Interval| bounds.contains(it.lo) && bounds.contains(it.hi);
    let outside = |it: &Interval| it.hi < bounds.lo || bounds.hi < it.lo;
    if intervals.iter().any(outside) {
        Verdict::DoesNotHold
    } else if intervals.iter().all(inside) {
        Verdict::Holds
    } else {
        Verdict::Undecided("intervals reach across the bounds: more rounds would decide".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_figures_say_on_which_no_verdict_may_rest_is_told() {
        let noisy = |verdict: Verdict| verdict.withheld("the run is very noisy".to_owned());
        let holds = noisy(Verdict::Holds);
        assert_eq!(
            (holds.text(), holds.is_decided(), holds.is_undecided()),
            ("undecided", false, true)
        );
        assert_eq!(holds.reason().unwrap(), "it would hold, but the run is very noisy");
        assert!(!holds.is_same(&noisy(Verdict::DoesNotHold)) && holds.is_same(&holds));
        let open = Verdict::Undecided("its interval contains a bound".to_owned());
        assert_eq!(noisy(open).reason().unwrap(), "the run is very noisy");
        let missing = Verdict::NotMeasured("not all of its rows were measured".to_owned());
        assert_eq!(noisy(missing.clone()), missing);
    }

    #[test]
    fn intervals_inside_the_bounds_hold_and_one_outside_does_not() {
        let spot = |lo: f64, hi: f64| {
            let interval = Some(Interval { lo, hi });
            Some(IntervalEstimate { value: f64::midpoint(lo, hi), interval })
        };
        let bounds = Interval { lo: 1.5, hi: 2.0 };
        assert_eq!(judge_bounds(&[spot(1.5, 1.6), spot(1.9, 2.0)], bounds), Verdict::Holds);
        assert_eq!(judge_bounds(&[spot(1.6, 1.7), spot(1.2, 1.4)], bounds), Verdict::DoesNotHold);
        assert_eq!(judge_bounds(&[spot(2.1, 2.4)], bounds), Verdict::DoesNotHold);
        for each in [vec![spot(1.6, 2.1)], vec![spot(1.6, 1.7), None]] {
            assert!(matches!(judge_bounds(&each, bounds), Verdict::Undecided(_)), "{each:?}");
        }
    }
}
