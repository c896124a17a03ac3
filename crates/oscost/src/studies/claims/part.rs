//! A part of a quantity that is compared with its bounds by itself, and why one leaves a claim open.

use oscost_stats::interval::Interval;

use super::judgement::{Correction, DecidingPart, RatioRows};
use super::quantity::{EQUAL_FACTOR, Measure, Quantity};
use super::verdict::MIN_ROUNDS;
use crate::studies::figures::rounds::IntervalEstimate;

/// A part of a quantity that is compared with the bounds by itself.
pub(super) struct Part<'a> {
    pub(super) quantity: &'a Quantity,
    pub(super) measure: Measure,
    /// Its value, with the interval alone.
    pub(super) estimate: Option<IntervalEstimate>,
    /// The interval that is valid together with those of all parts.
    pub(super) strict: Option<Interval>,
}

impl Part<'_> {
    pub(super) fn interval(&self) -> Option<Interval> {
        self.estimate.and_then(|it| it.interval)
    }

    pub(super) fn is_equal(&self) -> bool {
        self.interval().is_some_and(|interval| self.quantity.is_equal(&interval))
    }

    pub(super) fn holds(&self) -> bool {
        self.interval().is_some_and(|interval| self.quantity.holds(&interval))
    }

    pub(super) fn fails(&self) -> bool {
        self.strict.is_some_and(|interval| self.quantity.fails(&interval))
    }

    /// Whether it neither holds nor fails.
    fn is_open(&self) -> bool {
        !self.is_equal() && !self.holds() && !self.fails()
    }

    /// Whether it is open since it is one of several comparisons: its interval alone would refute it.
    fn is_open_by_correction(&self) -> bool {
        self.is_open() && self.interval().is_some_and(|interval| self.quantity.fails(&interval))
    }

    /// Whether it is the ratio that is shown as the value of its quantity.
    fn is_shown(&self, value: Option<&IntervalEstimate>) -> bool {
        self.estimate.as_ref() == value
    }

    /// Why it is open, where `subject` is its interval.
    fn open_reason(&self, subject: &str, comparisons: usize) -> String {
        let within = format!("within {:.0} % of", 100.0 * (EQUAL_FACTOR - 1.0));
        let Some(interval) = self.interval() else {
            return format!("too few rounds for an interval ({MIN_ROUNDS} are needed)");
        };
        if !self.is_open_by_correction() {
            return match self.quantity.is_outside(&interval) {
                _ if self.quantity.is_order() => format!("an interval lies partly {within} 1"),
                true => format!("{subject} is {within} a bound"),
                false => format!("{subject} contains a bound"),
            };
        }
        match self.strict {
            None => format!(
                "too few rounds for an interval that is corrected for {comparisons} comparisons"
            ),
            Some(strict) => {
                let reaches = match self.quantity.is_outside(&strict) {
                    true => format!("lies partly {within}"),
                    false => "reaches".to_owned(),
                };
                format!("corrected for {comparisons} comparisons {subject} {reaches} a bound")
            }
        }
    }
}

/// The part of a quantity that decides, of those `is_meant` chooses: the one that is shown as its
/// value, if it is among them, else the first.
fn deciding_part<'p, 'a>(
    quantity: &Quantity,
    value: Option<&IntervalEstimate>,
    parts: &'p [Part<'a>],
    is_meant: impl Fn(&Part<'a>) -> bool,
) -> Option<&'p Part<'a>> {
    let of_quantity = || {
        let its = parts.iter().filter(|it| std::ptr::eq(it.quantity, quantity));
        its.filter(|it| is_meant(it))
    };
    of_quantity().find(|it| it.is_shown(value)).or_else(|| of_quantity().next())
}

/// For each quantity the part that decides, where its value and interval alone do not show it.
pub(super) fn deciding_parts(
    quantities: &[Quantity],
    values: &[Option<IntervalEstimate>],
    parts: &[Part<'_>],
) -> Vec<Option<DecidingPart>> {
    let refuted = parts.iter().any(Part::fails);
    let is_meant = |part: &Part<'_>| if refuted { part.fails() } else { part.is_open() };
    let each = quantities.iter().zip(values);
    each.map(|(quantity, value)| {
        let part = deciding_part(quantity, value.as_ref(), parts, is_meant)?;
        let ratio = match &part.measure {
            Measure::Ratio(of, over) if !part.is_shown(value.as_ref()) => {
                Some(RatioRows { of: of.clone(), over: over.clone() })
            }
            _ => None,
        };
        let correction = part
            .is_open_by_correction()
            .then_some(Correction { comparisons: parts.len(), interval: part.strict });
        let estimate = part.estimate;
        (ratio.is_some() || correction.is_some()).then_some(DecidingPart {
            ratio,
            estimate,
            correction,
        })
    })
    .collect()
}

/// Why a claim of which no part fails is undecided: for each quantity the reason of the part that
/// decides, each reason once, with the quantities that have it where there are several.
pub(super) fn open_reason(
    quantities: &[Quantity],
    values: &[Option<IntervalEstimate>],
    parts: &[Part<'_>],
) -> String {
    let mut reasons: Vec<OpenReason<'_>> = Vec::new();
    for (quantity, value) in quantities.iter().zip(values) {
        let Some(part) = deciding_part(quantity, value.as_ref(), parts, Part::is_open) else {
            continue;
        };
        let subject = match (quantities.len(), part.is_shown(value.as_ref())) {
            (1, true) => "its interval",
            (_, true) => "an interval",
            (_, false) => "the interval of one of its ratios",
        };
        let text = part.open_reason(subject, parts.len());
        match reasons.iter_mut().find(|it| it.text == text) {
            Some(same) => same.quantities.push(quantity.name.as_str()),
            None => reasons.push(OpenReason { text, quantities: vec![quantity.name.as_str()] }),
        }
    }
    let each = reasons.into_iter().map(|OpenReason { text, quantities: names }| {
        let is_order = quantities.iter().all(Quantity::is_order);
        match quantities.len() > 1 || is_order {
            true => format!("{text}: {}", names.join(", ")),
            false => text,
        }
    });
    each.collect::<Vec<_>>().join("; ")
}

/// A reason, and the quantities that have it.
struct OpenReason<'a> {
    text: String,
    quantities: Vec<&'a str>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quantity that must be 1.5 or less.
    fn quantity() -> Quantity {
        Quantity {
            name: "a to c".into(),
            measure: Measure::Spread(["a", "b", "c"].map(str::to_owned).into()),
            min: None,
            max: Some(1.5),
        }
    }

    fn estimate(lo: f64, hi: f64) -> IntervalEstimate {
        IntervalEstimate { value: f64::midpoint(lo, hi), interval: Some(Interval { lo, hi }) }
    }

    fn part<'a>(
        quantity: &'a Quantity,
        over: &str,
        alone: IntervalEstimate,
        strict: Option<[f64; 2]>,
    ) -> Part<'a> {
        Part {
            quantity,
            measure: Measure::Ratio("a".into(), over.into()),
            estimate: Some(alone),
            strict: strict.map(|[lo, hi]| Interval { lo, hi }),
        }
    }

    /// The reason and the part that decides, of the largest ratio alone and of a further one.
    fn judged(largest: Option<[f64; 2]>, other: Part<'_>) -> (String, Option<DecidingPart>) {
        let quantity = other.quantity;
        let shown = estimate(2.0, 3.0);
        let parts = [part(quantity, "b", shown, largest), other];
        let (quantities, values) = (std::slice::from_ref(quantity), [Some(shown)]);
        let why = open_reason(quantities, &values, &parts);
        (why, deciding_parts(quantities, &values, &parts).remove(0))
    }

    #[test]
    fn an_interval_that_would_refute_alone_is_shown_with_its_corrected_one() {
        let it = quantity();
        let holding = || part(&it, "c", estimate(1.0, 1.1), Some([0.9, 1.2]));
        let corrected = |interval: Option<[f64; 2]>| {
            let interval = interval.map(|[lo, hi]| Interval { lo, hi });
            let correction = Some(Correction { comparisons: 2, interval });
            Some(DecidingPart { ratio: None, estimate: Some(estimate(2.0, 3.0)), correction })
        };
        let why = "too few rounds for an interval that is corrected for 2 comparisons";
        assert_eq!(judged(None, holding()), (why.to_owned(), corrected(None)));
        let why = "corrected for 2 comparisons its interval reaches a bound";
        let wide = Some([1.4, 4.0]);
        assert_eq!(judged(wide, holding()), (why.to_owned(), corrected(wide)));
        let why = "corrected for 2 comparisons its interval lies partly within 5 % of a bound";
        let near = Some([1.55, 4.0]);
        assert_eq!(judged(near, holding()), (why.to_owned(), corrected(near)));
    }

    #[test]
    fn a_ratio_that_decides_and_is_not_the_largest_is_named() {
        let it = quantity();
        let refuted = part(&it, "c", estimate(1.9, 2.0), Some([1.8, 2.1]));
        let (_, found) = judged(Some([1.4, 4.0]), refuted);
        let ratio = Some(RatioRows { of: "a".into(), over: "c".into() });
        let expected = DecidingPart { ratio, estimate: Some(estimate(1.9, 2.0)), correction: None };
        assert_eq!(found, Some(expected));
    }

    #[test]
    fn what_the_value_s_own_interval_shows_is_not_repeated() {
        let it = quantity();
        let shown = estimate(1.0, 2.0);
        let parts = [part(&it, "b", shown, None)];
        let (quantities, values) = (std::slice::from_ref(&it), [Some(shown)]);
        assert_eq!(open_reason(quantities, &values, &parts), "its interval contains a bound");
        assert!(deciding_parts(quantities, &values, &parts)[0].is_none());
    }
}
