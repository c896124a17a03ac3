//! Cases, and what is added to them, as parts of sentences.

use oscost_model::record::Comparison;
use oscost_model::unit::Unit;

use crate::advice::words::Kind;
use crate::report::figures::{added, rough_count};
use crate::report::text::plain;
use crate::report::view::answer::quote::{cases, range, warning};

/// The flag of a comparison whose effect is not one figure.
const EFFECT_DRIFTS: &str = "EFFECT_DRIFTS";
/// What is said in place of that figure.
pub(super) const DRIFTED: &str = "the size of the difference changed during the run";
/// A few cases are told one by one.
pub(super) const MAX_EACH: usize = 2;

/// Whether the effect differed between the halves of its pairs, so that none of its figures is quoted.
pub(super) fn drifts(it: &Comparison) -> bool {
    it.flags.iter().any(|flag| flag == EFFECT_DRIFTS)
}

pub(super) fn by_ratio(mut comparisons: Vec<&Comparison>) -> Vec<&Comparison> {
    comparisons.sort_by(|one, other| one.ratio.value.total_cmp(&other.ratio.value));
    comparisons
}

/// The interval of a ratio on one side of 1.
pub(super) fn one_sided(it: &Comparison) -> Option<[f64; 2]> {
    let [low, high] = it.ratio.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()))?;
    (low > 1.0 || high < 1.0).then_some([low, high])
}

/// A text as the beginning of a sentence; names of targets and cases stay as they are.
pub(super) fn capitalized(text: &str) -> String {
    for (word, capital) in [("the ", "The "), ("all ", "All "), ("both ", "Both ")] {
        if let Some(rest) = text.strip_prefix(word) {
            return format!("{capital}{rest}");
        }
    }
    text.to_owned()
}

/// Whether a side is several runs, which is a plural.
pub(super) fn are_several(side: &str) -> bool {
    side.ends_with(" runs")
}

/// `3 of 7 cases`, `all 7 cases`.
pub(super) fn of_all(count: usize, all: usize) -> String {
    match count == all {
        true if all == 2 => "both cases".to_owned(),
        true if all > 2 => format!("all {}", cases(all)),
        true => cases(all),
        false => format!("{count} of {}", cases(all)),
    }
}

/// Out of how many, where that is more.
pub(super) fn out_of(count: usize, all: usize) -> String {
    if count < all { format!(", of {}", cases(all)) } else { String::new() }
}

pub(super) fn name(it: &Comparison) -> String {
    format!("{}{}", plain(&it.case), warning(Kind::ComparisonFlag, &it.flags))
}

/// What is added, with its interval.
pub(super) fn addition(it: &Comparison) -> String {
    let value = difference(it.added.value, it.added.unit);
    match it.added.ci95.filter(|ends| ends.iter().all(|end| end.is_finite())) {
        Some([low, high]) if low < high => {
            let [low, high] = [low, high].map(|end| difference(end, it.added.unit));
            format!("{value}, {}", range(&low, &high))
        }
        _ => value,
    }
}

/// A difference with its unit and its sign; instructions in as many digits as one reads.
fn difference(value: f64, unit: Unit) -> String {
    if unit != Unit::InstructionsPerOp {
        return added(value, unit);
    }
    let sign = if value > 0.0 { "+" } else { "" };
    format!("{sign}{} insn", rough_count(value))
}
