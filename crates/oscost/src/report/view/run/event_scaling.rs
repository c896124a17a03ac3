//! The question of study cs161-syscalls, answered with the figures of a run: which calls do work for
//! all descriptors to report a few, in which steps, and from which number of descriptors it matters.

use std::collections::BTreeSet;

use oscost_model::crossing::Crossing;
use oscost_model::curve::{BoundedValue, Curve, Scaling};
use oscost_model::point::Value;
use oscost_model::record::Record;
use oscost_model::steps::WaitSteps;
use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::text::plain;
use crate::report::view::document::{Block, Section};

const BENCHMARK: &str = "event/wait";
const AXIS: &str = "fds";
const METHOD: &str = "method";

/// A run has a few targets and seven methods. A foreign record with more than these has no answer:
/// all methods are compared with all others.
const MAX_TARGETS: usize = 20;
const MAX_METHODS: usize = 20;

/// How the cost of a method grows with the number of idle descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Growth {
    /// It grows with each of them.
    Each,
    /// It does not grow.
    None,
    /// Unknown, or only slowly.
    Unclear,
}

impl Growth {
    fn of(law: Option<&Scaling>) -> Self {
        let Some(law) = law else { return Growth::Unclear };
        let flat = |model: &str| matches!(model, "1" | "log N");
        match (law.model.as_str(), law.alternative_model.as_deref()) {
            ("1", _) => Growth::None,
            (model, second) if !flat(model) && !second.is_some_and(flat) => Growth::Each,
            _ => Growth::Unclear,
        }
    }
}

/// A method's curve with one descriptor ready.
struct MethodCurve<'a> {
    method: String,
    curve: &'a Curve,
    growth: Growth,
}

/// The answer, a paragraph for each target; `None` if the required curves were not measured.
pub(in crate::report::view) fn section(record: &Record) -> Option<Section> {
    let mut targets: Vec<&str> = Vec::new();
    for curve in record.curves.iter().filter(|curve| method(curve).is_some()) {
        if !targets.contains(&curve.target.as_str()) {
            targets.push(&curve.target);
        }
        if targets.len() > MAX_TARGETS {
            return None;
        }
    }
    let several = targets.len() > 1;
    let answer = |target: &str| {
        let sentences = sentences(record, target);
        let at = if several { format!(" at {}", plain(target)) } else { String::new() };
        (!sentences.is_empty()).then(|| {
            let text = format!(
                "Study cs161-syscalls asks which calls do O(N) work to learn of O(1) events. Here{at} \
                 {}",
                sentences.join(" ")
            );
            Block::Text(without_control(&text))
        })
    };
    let blocks: Vec<Block> = targets.into_iter().filter_map(answer).collect();
    (!blocks.is_empty()).then(|| Section { blocks, ..Section::default() })
}

/// The method of a curve that shows what a call costs when one descriptor is ready, with
/// all other axes at their defaults.
fn method(curve: &Curve) -> Option<String> {
    let matches = curve.benchmark == BENCHMARK
        && curve.axis == AXIS
        && curve.unit == Unit::NsPerOp
        && curve.point.iter().count() == 2
        && curve.point.get("ready") == Some(&Value::from("one"));
    match curve.point.get(METHOD) {
        Some(Value::Word(word)) if matches => Some(plain(word)),
        _ => None,
    }
}

fn sentences(record: &Record, target: &str) -> Vec<String> {
    let here = record.curves.iter().filter(|curve| curve.target == target);
    let all: Vec<MethodCurve> = here
        .filter_map(|curve| {
            let growth = Growth::of(curve.scaling.as_ref());
            Some(MethodCurve { method: method(curve)?, curve, growth })
        })
        .collect();
    if all.len() > MAX_METHODS {
        return Vec::new();
    }
    let methods: BTreeSet<&str> = all.iter().map(|it| it.method.as_str()).collect();
    let mut known = BTreeSet::new();
    let pairs: Vec<&Crossing> = record
        .crossings
        .iter()
        .filter(|it| {
            it.benchmark == BENCHMARK
                && it.axis == AXIS
                && it.differing_axis == METHOD
                && it.target == target
                && it.point.iter().count() == 1
                && it.point.get("ready") == Some(&Value::from("one"))
                && [&it.costlier, &it.cheaper].iter().all(|it| methods.contains(plain(it).as_str()))
                && known.insert((it.costlier.as_str(), it.cheaper.as_str()))
        })
        .collect();
    let of = |growth: Growth| all.iter().filter(move |it| it.growth == growth);
    let names = |growth: Growth| of(growth).map(|it| it.method.clone()).collect::<Vec<_>>();
    let (growing, flat, unclear) =
        (names(Growth::Each), names(Growth::None), names(Growth::Unclear));
    if growing.is_empty() && flat.is_empty() {
        return Vec::new();
    }
    let time = |ns: f64| rough(ns, Unit::NsPerOp);
    let do_ = |names: &[String]| if names.len() == 1 { "does" } else { "do" };
    let mut sentences = Vec::new();
    if !growing.is_empty() {
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
        sentences.push(format!(
            "{} {}: each further descriptor costs {}, ready or not.",
            joined(&growing),
            do_(&growing),
            joined(&each.collect::<Vec<_>>())
        ));
    }
    if !flat.is_empty() {
        let fixed = of(Growth::None).filter_map(|it| {
            let law = it.curve.scaling.as_ref()?;
            Some(format!("{} {}", it.method, time(law.fixed_cost.value)))
        });
        sentences.push(format!(
            "{} {} not: {} at every number of descriptors.",
            joined(&flat),
            do_(&flat),
            joined(&fixed.collect::<Vec<_>>())
        ));
    }
    if !unclear.is_empty() {
        sentences.push(format!("It is unknown for {}.", joined(&unclear)));
    }
    let steps_here = record.steps.iter().filter(|it| it.target == target);
    sentences.extend(steps(steps_here, &growing));
    sentences.extend(threshold(&growing, &flat, &pairs));
    sentences.extend(poll_against_select(&pairs));
    sentences
}

/// The marginal cost of a linear law that fits.
fn marginal(curve: &Curve) -> Option<f64> {
    let law = curve.scaling.as_ref().filter(|law| law.fits && law.model == "N")?;
    law.marginal_cost.as_ref().map(|b| b.value)
}

/// The steps of the methods whose cost grows.
fn steps<'a>(all: impl Iterator<Item = &'a WaitSteps>, growing: &[String]) -> Option<String> {
    let growing = all.filter(|split| growing.contains(&plain(&split.method)));
    let parts = growing.filter_map(|split| {
        let parts = [
            (&split.check, "to pass and check"),
            (&split.wait_queues, "for the wait queues"),
            (&split.wakeup, "at a wakeup"),
        ];
        // A step whose cost may be zero is left out.
        let significant = |(known, what): (&Option<BoundedValue>, &str)| {
            let known = known.as_ref().filter(|known| known.ci95[0] > 0.0)?;
            Some(format!("{} {what}", rough(known.value, Unit::NsPerOp)))
        };
        let parts: Vec<String> = parts.into_iter().filter_map(significant).collect();
        (!parts.is_empty()).then(|| format!("{} {}", plain(&split.method), joined(&parts)))
    });
    let parts: Vec<String> = parts.collect();
    (!parts.is_empty()).then(|| format!("Step by step: {}.", parts.join("; ")))
}

/// The number of descriptors from which on the growth matters.
fn threshold(growing: &[String], flat: &[String], pairs: &[&Crossing]) -> Option<String> {
    let pair = |costly: &String, cheaper: &String| {
        pairs
            .iter()
            .copied()
            .find(|it| plain(&it.costlier) == *costly && plain(&it.cheaper) == *cheaper)
    };
    // The others are compared with the cheapest of those that do not grow.
    let against = flat.iter().max_by_key(|cheaper| {
        let own = growing.iter().chain(flat).filter(|costly| pair(costly, cheaper).is_some());
        own.count()
    })?;
    let from = |it: &Crossing| match (&it.crossover, it.cheaper_wins_from) {
        (_, Some(from)) if from == it.range[0] => Some("at every number measured".to_owned()),
        (Some(at), Some(_)) => Some(format!("from {:.0} descriptors on", at.value)),
        (None, Some(from)) => Some(format!("from {from} descriptors on")),
        _ => None,
    };
    let mut by_start: Vec<(String, Vec<String>)> = Vec::new();
    for costly in growing {
        let Some(from) = pair(costly, against).and_then(from) else { continue };
        match by_start.iter_mut().find(|it| it.0 == from) {
            Some(it) => it.1.push(costly.clone()),
            None => by_start.push((from, vec![costly.clone()])),
        }
    }
    let ranges = by_start.iter().map(|(from, of)| format!("{from} for {}", joined(of)));
    let ranges: Vec<String> = ranges.collect();
    (!ranges.is_empty())
        .then(|| format!("It matters {}: there {against} is cheaper.", joined(&ranges)))
}

/// Whether poll is worse than select, as the study claims.
fn poll_against_select(pairs: &[&Crossing]) -> Option<String> {
    let of = |one: &str, other: &str| {
        pairs
            .iter()
            .find(|it| it.costlier == one && it.cheaper == other && it.cheaper_wins_from.is_some())
    };
    let words = |it: &Crossing| match it.cheaper_wins_from {
        Some(from) if from == it.range[0] => "at every number measured".to_owned(),
        from => format!("from {} on", from.unwrap_or_default()),
    };
    match (of("poll", "select"), of("select", "poll")) {
        (Some(it), _) => {
            Some(format!("The study's claim that poll is worse than select holds {}.", words(it)))
        }
        (_, Some(it)) => Some(format!(
            "The study's claim that poll is worse than select does not hold {}.",
            words(it)
        )),
        _ => None,
    }
}

/// Words as a list: `a, b and c`.
fn joined(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

/// A long text without control characters.
fn without_control(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).collect()
}
