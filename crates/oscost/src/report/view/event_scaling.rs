//! What the exercise of study cs161-syscalls asks, answered with the figures of a run: which calls
//! do work for all descriptors to learn of a few, in which steps, and from how many on it matters.

use std::fmt::Write as _;

use oscost_model::crossing::Crossing;
use oscost_model::curve::{BoundedValue, Curve, Scaling};
use oscost_model::point::Value;
use oscost_model::record::Record;
use oscost_model::steps::WaitSteps;
use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::text::{fold, plain};

const BENCHMARK: &str = "event/wait";
const AXIS: &str = "fds";
const METHOD: &str = "method";

/// How the cost of a method grows with the number of idle descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// With each of them.
    Each,
    /// Not at all.
    None,
    /// That cannot be told, or only slowly.
    Unclear,
}

impl Growth {
    fn of(law: Option<&Scaling>) -> Self {
        let Some(law) = law else { return Growth::Unclear };
        let flat = |model: &str| matches!(model, "1" | "log N");
        match (law.model.as_str(), law.second.as_deref()) {
            ("1", _) => Growth::None,
            (model, second) if !flat(model) && !second.is_some_and(flat) => Growth::Each,
            _ => Growth::Unclear,
        }
    }
}

/// A method's curve with one descriptor ready.
struct Of<'a> {
    method: String,
    curve: &'a Curve,
    growth: Growth,
}

/// The answer, after an empty line; empty where nothing was measured that bears on it.
pub(super) fn text(record: &Record) -> String {
    let mut targets: Vec<&str> = Vec::new();
    for curve in record.curves.iter().filter(|curve| method(curve).is_some()) {
        if !targets.contains(&curve.target.as_str()) {
            targets.push(&curve.target);
        }
    }
    let several = targets.len() > 1;
    let mut out = String::new();
    for target in targets {
        let sentences = sentences(record, target);
        if sentences.is_empty() {
            continue;
        }
        let at = if several { format!(" at {}", plain(target)) } else { String::new() };
        let text = format!(
            "Study cs161-syscalls asks which calls do O(N) work to learn of O(1) events. Here{at} {}",
            sentences.join(" ")
        );
        // Writing to a String cannot fail.
        let _ = writeln!(out, "\n{}", fold(&plain_long(&text), 78, "  "));
    }
    out
}

/// The method of a curve that shows what a call costs when one descriptor is ready, and nothing
/// else is out of the usual.
fn method(curve: &Curve) -> Option<String> {
    let usual = curve.benchmark == BENCHMARK
        && curve.axis == AXIS
        && curve.unit == Unit::NsPerOp
        && curve.point.iter().count() == 2
        && curve.point.get("ready") == Some(&Value::from("one"));
    match curve.point.get(METHOD) {
        Some(Value::Word(word)) if usual => Some(plain(word)),
        _ => None,
    }
}

fn sentences(record: &Record, target: &str) -> Vec<String> {
    let here = record.curves.iter().filter(|curve| curve.target == target);
    let all: Vec<Of> = here
        .filter_map(|curve| {
            let growth = Growth::of(curve.scaling.as_ref());
            Some(Of { method: method(curve)?, curve, growth })
        })
        .collect();
    let pairs: Vec<&Crossing> = record
        .crossings
        .iter()
        .filter(|it| {
            it.benchmark == BENCHMARK
                && it.axis == AXIS
                && it.between == METHOD
                && it.target == target
                && it.point.iter().count() == 1
                && it.point.get("ready") == Some(&Value::from("one"))
        })
        .collect();
    let of = |growth: Growth| all.iter().filter(move |it| it.growth == growth);
    let names = |growth: Growth| of(growth).map(|it| it.method.clone()).collect::<Vec<_>>();
    let (pay, flat, unclear) = (names(Growth::Each), names(Growth::None), names(Growth::Unclear));
    if pay.is_empty() && flat.is_empty() {
        return Vec::new();
    }
    let time = |ns: f64| rough(ns, Unit::NsPerOp);
    let do_ = |names: &[String]| if names.len() == 1 { "does" } else { "do" };
    let mut said = Vec::new();
    if !pay.is_empty() {
        let beyond = |method: &String| {
            let flat = |it: &&&Crossing| flat.contains(&plain(&it.cheaper));
            let pair = pairs.iter().filter(flat).find(|it| plain(&it.costlier) == *method)?;
            let more = pair.added_cost.as_ref().filter(|more| more.ci95[0] > 0.0)?;
            Some(format!("{method} {} on average", time(more.value)))
        };
        let each = of(Growth::Each).map(|it| match marginal(it.curve) {
            Some(ns) => format!("{} {}", it.method, time(ns)),
            None => beyond(&it.method).unwrap_or(format!("{} more", it.method)),
        });
        said.push(format!(
            "{} {}: each further descriptor costs {}, ready or not.",
            listed(&pay),
            do_(&pay),
            listed(&each.collect::<Vec<_>>())
        ));
    }
    if !flat.is_empty() {
        let fixed = of(Growth::None).filter_map(|it| {
            let law = it.curve.scaling.as_ref()?;
            Some(format!("{} {}", it.method, time(law.a.value)))
        });
        said.push(format!(
            "{} {} not: {} at every number.",
            listed(&flat),
            do_(&flat),
            listed(&fixed.collect::<Vec<_>>())
        ));
    }
    if !unclear.is_empty() {
        said.push(format!("Of {} it cannot be told.", listed(&unclear)));
    }
    let taken = record.steps.iter().filter(|it| it.target == target);
    said.extend(in_which(taken, &pay));
    said.extend(matters(&pay, &flat, &pairs));
    said.extend(worse(&pairs));
    said
}

/// The marginal cost of a law that holds.
fn marginal(curve: &Curve) -> Option<f64> {
    let law = curve.scaling.as_ref().filter(|law| law.holds && law.model == "N")?;
    law.b.as_ref().map(|b| b.value)
}

/// In which steps those that pay do so.
fn in_which<'a>(taken: impl Iterator<Item = &'a WaitSteps>, pay: &[String]) -> Option<String> {
    let paying = taken.filter(|split| pay.contains(&plain(&split.method)));
    let told = paying.filter_map(|split| {
        let parts = [
            (&split.check, "to be passed and checked"),
            (&split.wait_queues, "for the lists of those who wait"),
            (&split.wakeup, "when woken"),
        ];
        // What may as well be nothing is no step that somebody pays in.
        let sure = |(known, what): (&Option<BoundedValue>, &str)| {
            let known = known.as_ref().filter(|known| known.ci95[0] > 0.0)?;
            Some(format!("{} {what}", rough(known.value, Unit::NsPerOp)))
        };
        let parts: Vec<String> = parts.into_iter().filter_map(sure).collect();
        (!parts.is_empty()).then(|| format!("{} {}", plain(&split.method), listed(&parts)))
    });
    let told: Vec<String> = told.collect();
    (!told.is_empty()).then(|| format!("Step by step: {}.", told.join("; ")))
}

/// From how many descriptors on it matters.
fn matters(pay: &[String], flat: &[String], pairs: &[&Crossing]) -> Option<String> {
    let pair = |dear: &String, cheap: &String| {
        pairs
            .iter()
            .copied()
            .find(|it| plain(&it.costlier) == *dear && plain(&it.cheaper) == *cheap)
    };
    // The cheapest of those that do not grow is what the others are held against.
    let against = flat.iter().max_by_key(|cheap| {
        let own = pay.iter().chain(flat).filter(|dear| pair(dear, cheap).is_some());
        own.count()
    })?;
    let from = |it: &Crossing| match (&it.crossover, it.cheaper_wins_from) {
        (_, Some(from)) if from == it.numbers[0] => Some("at every number measured".to_owned()),
        (Some(at), Some(_)) => Some(format!("from {:.0} descriptors on", at.value)),
        (None, Some(from)) => Some(format!("from {from} descriptors on")),
        _ => None,
    };
    let mut known: Vec<(String, Vec<String>)> = Vec::new();
    for dear in pay {
        let Some(from) = pair(dear, against).and_then(from) else { continue };
        match known.iter_mut().find(|it| it.0 == from) {
            Some(it) => it.1.push(dear.clone()),
            None => known.push((from, vec![dear.clone()])),
        }
    }
    let known = known.iter().map(|(from, of)| format!("{from} for {}", listed(of)));
    let known: Vec<String> = known.collect();
    (!known.is_empty())
        .then(|| format!("It matters {}: there {against} is cheaper.", listed(&known)))
}

/// Whether poll is worse than select, as the study has it.
fn worse(pairs: &[&Crossing]) -> Option<String> {
    let of = |one: &str, other: &str| {
        pairs
            .iter()
            .find(|it| it.costlier == one && it.cheaper == other && it.cheaper_wins_from.is_some())
    };
    let words = |it: &Crossing| match it.cheaper_wins_from {
        Some(from) if from == it.numbers[0] => "at every number measured".to_owned(),
        from => format!("from {} on", from.unwrap_or_default()),
    };
    match (of("poll", "select"), of("select", "poll")) {
        (Some(it), _) => {
            Some(format!("That poll is worse than select, as the study says, holds {}.", words(it)))
        }
        (_, Some(it)) => Some(format!(
            "That poll is worse than select, as the study says, does not hold {}.",
            words(it)
        )),
        _ => None,
    }
}

/// Words in a row: `a, b and c`.
fn listed(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A text of several sentences whose parts are plain already.
fn plain_long(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
