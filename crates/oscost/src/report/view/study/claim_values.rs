//! The values of a claim with what is required of them, as text.

use oscost_model::unit::Unit;
use oscost_stats::interval::Interval;

use crate::report::figures::{Style, signed, times};
use crate::studies::claims::claim::{Claim, Criterion, EQUAL_WITHIN_PCT};
use crate::studies::claims::equal_added_cost::AddedCost;
use crate::studies::claims::judgement::{Correction, DecidingPart};
use crate::studies::claims::quantity::{Measure, Quantity};
use crate::studies::{IntervalEstimate, Study};

/// The value of each part of a claim, and what decides on it beside the value.
pub(super) fn values(
    study: &Study,
    claim: &Claim,
    values: &[Option<IntervalEstimate>],
    deciding: &[Option<DecidingPart>],
) -> Vec<String> {
    let name = |case: &str| study.row(case).map_or(case.to_owned(), |row| row.name.clone());
    let of_cases = |text: fn(&IntervalEstimate) -> String| -> Vec<String> {
        let each = claim.cases.iter().zip(values);
        let each = each.filter_map(|(case, estimate)| Some((case, estimate.as_ref()?)));
        each.map(|(case, estimate)| format!("{}: {}", name(case), text(estimate))).collect()
    };
    match &claim.criterion {
        Criterion::EqualAdded => of_cases(deviation),
        Criterion::Added { .. } => of_cases(added_cost),
        Criterion::Ratio { .. } | Criterion::LargestRatio => of_cases(ratio),
        Criterion::Within(quantities) => {
            let each = quantities.iter().zip(values).enumerate();
            let measured = each.map(|(at, (quantity, estimate))| {
                let decides = deciding.get(at).and_then(Option::as_ref);
                quantity_text(study, quantity, estimate.as_ref(), decides)
            });
            // Bounds that all of several have in common are said once.
            match &quantities[..] {
                [first, others @ ..]
                    if !others.is_empty() && others.iter().all(|it| has_same_bounds(it, first)) =>
                {
                    measured.chain([format!("required of each: {}", bounds(first))]).collect()
                }
                _ => {
                    let required = quantities.iter().map(bounds);
                    let both = measured.zip(required);
                    both.map(|(text, bounds)| format!("{text}; required: {bounds}")).collect()
                }
            }
        }
    }
}

fn has_same_bounds(one: &Quantity, other: &Quantity) -> bool {
    (one.min, one.max) == (other.min, other.max)
}

/// The bounds of a quantity.
pub(super) fn bounds(quantity: &Quantity) -> String {
    match (quantity.min, quantity.max) {
        (Some(min), Some(max)) if min == max => min.to_string(),
        (Some(min), Some(max)) => format!("from {min} to {max}"),
        (Some(min), None) => format!("{min} or more"),
        (None, Some(max)) => format!("{max} or less"),
        (None, None) => String::new(),
    }
}

/// The bounds that all cases of a claim have in common.
pub(super) fn required(claim: &Claim) -> String {
    match &claim.criterion {
        Criterion::Within(_) => String::new(),
        Criterion::Added { min, max, unit } => {
            format!("from {min} to {max} {}, with the whole interval", unit.text())
        }
        Criterion::LargestRatio => {
            "the ratio of the first above all others, with the whole intervals; of rates the \
             inverse ratio"
                .to_owned()
        }
        Criterion::Ratio { min, max } => format!("from {min} to {max}, with the whole interval"),
        Criterion::EqualAdded => {
            format!("within {EQUAL_WITHIN_PCT} % of the mean, with the whole interval")
        }
    }
}

/// What is added to all cases on average.
pub(super) fn added_text(AddedCost { mean, rounds }: AddedCost) -> String {
    let interval = mean.interval.map(|it| format!(" [{} .. {}]", time(it.lo), time(it.hi)));
    let interval = interval.unwrap_or_default();
    format!("{}{interval} are added on average, over {rounds} rounds", time(mean.value))
}

/// The value of a quantity of a claim.
fn measured_text(quantity: &Quantity, estimate: Option<&IntervalEstimate>) -> String {
    let Some(estimate) = estimate else {
        return format!("{}: not measured", quantity.name);
    };
    let interval = estimate.interval.filter(|_| !quantity.measure.is_count());
    let interval = interval.map(|it| format!(" {}", interval_of(quantity, it)));
    let figure = number(quantity, estimate.value);
    let meaning = match &quantity.measure {
        Measure::Exponent(_) => ", as an exponent".to_owned(),
        Measure::Spread(_) => ", the most expensive over the cheapest".to_owned(),
        Measure::Saturation(_) => ", above which there is nothing to gain".to_owned(),
        Measure::Retention(_) => ", the lowest over the largest".to_owned(),
        Measure::Slope { per, unit, .. } => format!(", in {} for each {per}", unit.text()),
        Measure::Ratio(..) | Measure::Gap(..) | Measure::FromMean(_) | Measure::Calls(_) => {
            String::new()
        }
    };
    format!("{}: {figure}{}{meaning}", quantity.name, interval.unwrap_or_default())
}

/// The value of a quantity, and what decides on it beside the value.
pub(super) fn quantity_text(
    study: &Study,
    quantity: &Quantity,
    estimate: Option<&IntervalEstimate>,
    decides: Option<&DecidingPart>,
) -> String {
    let decides = decides.map(|it| deciding_text(study, quantity, it)).unwrap_or_default();
    format!("{}{decides}", measured_text(quantity, estimate))
}

/// What decides on a quantity beside its value: another ratio of it, and the interval that is corrected
/// for the number of comparisons.
fn deciding_text(study: &Study, quantity: &Quantity, part: &DecidingPart) -> String {
    let DecidingPart { ratio, estimate, correction } = part;
    let name = |key: &str| study.row(key).map_or(key.to_owned(), |row| row.name.clone());
    let ratio = ratio.as_ref().zip(estimate.as_ref()).map(|(rows, estimate)| {
        let interval = estimate.interval.map(|it| format!(" {}", interval_of(quantity, it)));
        let figure = number(quantity, estimate.value);
        let (of, over) = (name(&rows.of), name(&rows.over));
        format!("; {of} over {over}: {figure}{}", interval.unwrap_or_default())
    });
    let correction = correction.map(|Correction { comparisons, interval }| match interval {
        Some(it) => {
            format!("; corrected for {comparisons} comparisons {}", interval_of(quantity, it))
        }
        None => format!("; corrected for {comparisons} comparisons it has no interval"),
    });
    [ratio, correction].into_iter().flatten().collect()
}

fn interval_of(quantity: &Quantity, it: Interval) -> String {
    format!("[{} .. {}]", number(quantity, it.lo), number(quantity, it.hi))
}

/// The value of a quantity, in its significant digits.
pub(super) fn number(quantity: &Quantity, value: f64) -> String {
    match quantity.measure {
        Measure::Saturation(_) | Measure::Calls(_) => format!("{value:.0}"),
        Measure::Exponent(_) | Measure::Slope { .. } => signed(value, 2),
        Measure::FromMean(_) => signed(value, 1),
        // A value close to a bound of 1 must not look like 1.
        Measure::Retention(_) => format!("{value:.2}"),
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) if value < 9.95 => {
            format!("{value:.2}")
        }
        Measure::Ratio(..) | Measure::Spread(_) | Measure::Gap(..) => times(value),
    }
}

pub(super) fn time(ns: f64) -> String {
    Style::of(ns, Unit::NsPerOp).with_unit(ns)
}

/// The difference of a case's added cost from the mean.
fn deviation(estimate: &IntervalEstimate) -> String {
    let pct = |share: f64| {
        let digits = signed(100.0 * share, 1);
        let sign = if digits.starts_with('-') || digits == "0.0" { "" } else { "+" };
        format!("{sign}{digits}")
    };
    let interval = estimate.interval.map(|it| format!(" [{} .. {}]", pct(it.lo), pct(it.hi)));
    format!("{} %{}", pct(estimate.value), interval.unwrap_or_default())
}

/// What is added to a case.
fn added_cost(estimate: &IntervalEstimate) -> String {
    let interval = estimate.interval.map(|it| format!(" [{} .. {}]", time(it.lo), time(it.hi)));
    format!("{}{}", time(estimate.value), interval.unwrap_or_default())
}

fn ratio(estimate: &IntervalEstimate) -> String {
    let interval = estimate.interval.map(|it| format!(" [{:.2} .. {:.2}]", it.lo, it.hi));
    format!("{:.2}{}", estimate.value, interval.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::claims::judgement::RatioRows;

    #[test]
    fn a_value_that_does_not_decide_stands_beside_what_does() {
        let study = crate::studies::find_built_in("cse221-2014").unwrap();
        let quantity = Quantity {
            name: "a to c".to_owned(),
            measure: Measure::Spread(vec!["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            min: None,
            max: Some(1.5),
        };
        let text = |ratio: Option<RatioRows>, correction: Option<Correction>| {
            let interval = Some(Interval { lo: 2.0, hi: 3.0 });
            let estimate = Some(IntervalEstimate { value: 2.5, interval });
            deciding_text(&study, &quantity, &DecidingPart { ratio, estimate, correction })
        };
        let corrected = |interval| Some(Correction { comparisons: 6, interval });
        let wide = corrected(Some(Interval { lo: 1.4, hi: 12.0 }));
        assert_eq!(text(None, wide), "; corrected for 6 comparisons [1.40 .. 12]");
        let none = "; corrected for 6 comparisons it has no interval";
        assert_eq!(text(None, corrected(None)), none);
        let ratio = RatioRows { of: "a".to_owned(), over: "b".to_owned() };
        assert_eq!(text(Some(ratio), None), "; a over b: 2.50 [2.00 .. 3.00]");
    }
}
