//! By how much cases are slower or faster.

use oscost_model::record::Comparison;
use oscost_model::unit::Unit;

use super::wording::{
    DRIFTED, MAX_EACH, addition, are_several, by_ratio, drifts, name, of_all, out_of,
};
use crate::report::figures::added;
use crate::report::view::answer::quote::{joined, range, relative};

/// Differences whose largest is at most this multiple of their smallest are one price.
const ONE_PRICE: f64 = 1.25;

pub(super) fn slower(
    new: &str,
    base: &str,
    slower: Vec<&Comparison>,
    all: usize,
) -> Option<String> {
    if let Some(price) = one_price(&slower) {
        let slower = by_ratio(slower);
        let (first, last) = (slower.first()?, slower.last()?);
        let adds = if are_several(new) { "add" } else { "adds" };
        return Some(format!(
            "{new} {adds} {price} to {}: from {} on {} to {} on {}.",
            of_all(slower.len(), all),
            relative(first.ratio.value),
            name(first),
            relative(last.ratio.value),
            name(last)
        ));
    }
    let differs = differs(new, &slower, ["slower", "more"]);
    list_differences(&format!("{new} {differs} {base}"), by_ratio(slower), all)
}

pub(super) fn faster(
    new: &str,
    base: &str,
    faster: Vec<&Comparison>,
    all: usize,
) -> Option<String> {
    let differs = differs(new, &faster, ["faster", "fewer"]);
    list_differences(&format!("{new} {differs} {base}"), by_ratio(faster), all)
}

/// How a side differs from its base, as a verb. Instructions are not time: a side of which only these
/// were counted is not slower.
fn differs(new: &str, differences: &[&Comparison], [of_time, of_counts]: [&str; 2]) -> String {
    let is_counted = differences.iter().all(|it| it.added.unit == Unit::InstructionsPerOp);
    match (is_counted, are_several(new)) {
        (false, false) => format!("is {of_time} than"),
        (false, true) => format!("are {of_time} than"),
        (true, false) => format!("executes {of_counts} instructions than"),
        (true, true) => format!("execute {of_counts} instructions than"),
    }
}

/// Some differences, those that are one figure before those that are not.
fn list_differences(what: &str, differences: Vec<&Comparison>, all: usize) -> Option<String> {
    let (drifting, steady): (Vec<&Comparison>, Vec<&Comparison>) =
        differences.into_iter().partition(|it| drifts(it));
    let sentences = [list_steady(what, steady, all), list_drifting(what, &drifting, all)];
    let told: Vec<String> = sentences.into_iter().flatten().collect();
    (!told.is_empty()).then(|| told.join(" "))
}

fn list_drifting(what: &str, drifting: &[&Comparison], all: usize) -> Option<String> {
    let where_it_is = match drifting {
        [] => return None,
        few if few.len() <= MAX_EACH => {
            let names: Vec<String> = few.iter().map(|it| name(it)).collect();
            format!("on {}{}", joined(&names), out_of(few.len(), all))
        }
        many => format!("in {}", of_all(many.len(), all)),
    };
    Some(format!("{what} {where_it_is}; {DRIFTED}."))
}

/// A few differences one by one, of more the ends.
fn list_steady(what: &str, differences: Vec<&Comparison>, all: usize) -> Option<String> {
    let each = |it: &Comparison| {
        format!("{} on {} ({})", relative(it.ratio.value), name(it), addition(it))
    };
    match &differences[..] {
        [] => None,
        few if few.len() <= MAX_EACH => {
            let each: Vec<String> = few.iter().map(|it| each(it)).collect();
            Some(format!("{what}: {}{}.", joined(&each), out_of(few.len(), all)))
        }
        [first, .., last] => Some(format!(
            "{what} in {}: from {} to {}.",
            of_all(differences.len(), all),
            each(first),
            each(last)
        )),
        [_] => None,
    }
}

/// What several rows pay, if all pay about the same time.
fn one_price(slower: &[&Comparison]) -> Option<String> {
    let values = || slower.iter().map(|it| it.added.value);
    let is_of_time = slower.iter().all(|it| it.added.unit == Unit::NsPerOp);
    let (low, high) = (values().reduce(f64::min)?, values().reduce(f64::max)?);
    let is_steady = !slower.iter().any(|it| drifts(it));
    let is_one =
        slower.len() > MAX_EACH && is_of_time && is_steady && low > 0.0 && high <= ONE_PRICE * low;
    let texts = [low, high].map(|value| added(value, Unit::NsPerOp));
    let [low, high] = texts.each_ref().map(|text| text.trim_start_matches('+'));
    is_one.then(|| range(low, high))
}
