//! Cases that are equivalent, and those on which nothing shows, with what could hide there.

use oscost_model::record::Comparison;
use oscost_model::unit::Unit;

use super::wording::{MAX_EACH, are_several, by_ratio, name, of_all, one_sided, out_of};
use crate::advice::words::Kind;
use crate::report::figures::{per_cent, rough_range};
use crate::report::view::answer::quote::{
    MAX_DETECTABLE_PCT, cases, joined, range, relative, warning,
};
use crate::report::view::comparison::verdicts::is_too_short;

pub(super) fn equivalent(
    new: &str,
    base: &str,
    equivalent: &[&Comparison],
    all: usize,
) -> Option<String> {
    let is_counted = equivalent.iter().all(|it| it.added.unit == Unit::InstructionsPerOp);
    let how = if is_counted { "to the last instruction" } else { "within 3 %" };
    let place = match equivalent {
        [] => return None,
        // The sides are commands, each of which is a case.
        [one] if one.case == base => warning(Kind::ComparisonFlag, &one.flags),
        [one] => format!(" on {}", name(one)),
        several => format!(" in {}", of_all(several.len(), all)),
    };
    let verb = if are_several(new) { "are" } else { "is" };
    Some(format!("{new} {verb} equivalent to {base}{place} ({how})."))
}

/// On what nothing shows, and the largest effect that may hide there. Counts that are not exact have
/// ranges in place of such an effect.
pub(super) fn inconclusive(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let (counted, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        inconclusive.iter().copied().partition(|it| it.added.unit == Unit::InstructionsPerOp);
    let is_apart = |it: &&Comparison| one_sided(it).is_some();
    let (apart, timed): (Vec<&Comparison>, Vec<&Comparison>) =
        timed.into_iter().partition(is_apart);
    let sentences = [indicated(apart, all), hidden(&timed, all), inexact(&counted, all)];
    let sentences: Vec<String> = sentences.into_iter().flatten().collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What is inconclusive although its interval is on one side of 1: a few one by one, of more the ends.
fn indicated(apart: Vec<&Comparison>, all: usize) -> Option<String> {
    let apart = by_ratio(apart);
    let each = |it: &Comparison| {
        let ends = one_sided(it).map(|ends| ends.map(relative));
        ends.map(|[low, high]| format!("{} on {}", range(&low, &high), name(it)))
    };
    match &apart[..] {
        [] => None,
        few if few.len() <= MAX_EACH => {
            let each: Vec<String> = few.iter().filter_map(|it| each(it)).collect();
            Some(format!("Not enough for a verdict: {}{}.", joined(&each), out_of(few.len(), all)))
        }
        [first, .., last] => Some(format!(
            "Not enough for a verdict in {}: from {} to {}.",
            of_all(apart.len(), all),
            each(first)?,
            each(last)?
        )),
        [_] => None,
    }
}

fn hidden(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let on = match inconclusive {
        [] => return None,
        [one] => name(one),
        several if several.len() == all => format!("any of {}", cases(all)),
        several => of_all(several.len(), all),
    };
    let limits = inconclusive.iter().filter_map(|it| it.mde_pct).filter(|pct| pct.is_finite());
    let limits: Vec<f64> = limits.collect();
    let [least, most] = limits
        .iter()
        .copied()
        .fold([f64::INFINITY, 0.0], |[least, most]: [f64; 2], pct| [least.min(pct), most.max(pct)]);
    let effect = format!("an effect below {} could hide", per_cent(most));
    let hidden = match inconclusive.len() - limits.len() {
        0 if inconclusive.len() == 1 => format!("{effect} there"),
        0 => format!("{effect} in each"),
        _ if limits.is_empty() => "how large an effect could hide there is not known".to_owned(),
        unknown => format!("{effect} in each; for {unknown} of them no limit is known"),
    };
    let is_too_noisy = !limits.is_empty() && least > MAX_DETECTABLE_PCT;
    let noise = if is_too_noisy { ", which is too noisy to compare" } else { "" };
    Some(format!("Nothing shows on {on}: {hidden}{noise}.{}", too_short(inconclusive)))
}

/// That time alone keeps some of these from being equivalent; nothing if it does of none.
fn too_short(inconclusive: &[&Comparison]) -> String {
    let short = inconclusive.iter().filter(|it| is_too_short(it)).count();
    let what = match (short, inconclusive.len()) {
        (0, _) => return String::new(),
        (1, 1) => "It is".to_owned(),
        (1, _) => "1 of them is".to_owned(),
        (short, all) if short == all => "They are".to_owned(),
        (short, _) => format!("{short} of them are"),
    };
    format!(" {what} within 3 %, but not called equivalent: all pairs lie within a minute.")
}

/// The counts that differ, and not by more than each side varies; with the range of the largest
/// difference, if it is known.
fn inexact(inconclusive: &[&Comparison], all: usize) -> Option<String> {
    let range_of = |it: &Comparison| {
        let ends = it.added.ci95.filter(|ends| ends.iter().all(|end| end.is_finite()))?;
        let signs = ends.map(|end| if end > 0.0 { "+" } else { "" });
        let [low, high] = rough_range(ends);
        Some(format!("{}{low} to {}{high} insn", signs[0], signs[1]))
    };
    let widest =
        |it: &Comparison| it.added.ci95.map_or(0.0, |[low, high]| low.abs().max(high.abs()));
    let largest =
        inconclusive.iter().copied().max_by(|one, other| widest(one).total_cmp(&widest(other)))?;
    let by = range_of(largest);
    Some(match (inconclusive.len(), by) {
        (1, Some(by)) => format!(
            "{} is inconclusive: its counts are not exact, and the difference is {by}.",
            name(largest)
        ),
        (1, None) => format!("{} is inconclusive: its counts are not exact.", name(largest)),
        (count, Some(by)) => format!(
            "Inconclusive, since counts are not exact, are {}: the largest difference, on {}, is {by}.",
            of_all(count, all),
            name(largest)
        ),
        (count, None) => {
            format!("Inconclusive, since counts are not exact, are {}.", of_all(count, all))
        }
    })
}
