//! What a run found: each of a few rows, or the acts that readers ask for first, and the cheapest and
//! the dearest.

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::unit::Unit;

use crate::advice::trust::Grade;
use crate::advice::words::Kind;
use crate::report::figures::{per_cent, rough, times};
use crate::report::text::plain;
use crate::report::view::answer::quote::{MIN_TIMES, are_apart, bound, cases, quote};
use crate::report::view::answer::{acts, steady, trust};
use crate::report::view::document::Answer;
use crate::report::view::run::flags::unusable;
use crate::report::view::run::row::is_requested;

/// Of more rows, the acts, or the extremes of one benchmark, stand for the others.
const MAX_EACH: usize = 3;
/// With so many acts the extremes say little.
const ENOUGH_ACTS: usize = 2;

/// The answer of a run of one target; `None` if nothing was asked for.
pub(in crate::report::view) fn answer(record: &Record) -> Option<Answer> {
    let requested: Vec<&Row> = record.results.iter().filter(|row| is_requested(row)).collect();
    if requested.is_empty() {
        return None;
    }
    let measured: Vec<&Row> = requested
        .iter()
        .copied()
        .filter(|row| row.outcome == RowOutcome::Measured && quote(row).is_some())
        // Prices are also measured through a function: the table has both.
        .filter(|row| row.target.treatments == requested[0].target.treatments)
        .collect();
    let mut findings: Vec<String> = treatments(record).into_iter().collect();
    findings.extend(figures(&measured, &record.results));
    findings.extend(without_figure(&requested));
    let trust = trust::of_record(record).map(|found| {
        let is_poor = found.grade == Grade::Poor;
        let steady = is_poor.then(|| steady::sentence(record, quoted(&measured))).flatten();
        [Some(trust::sentence(&found)), steady].into_iter().flatten().collect::<Vec<_>>().join(" ")
    });
    let next = trust::next(record).into_iter().collect();
    Some(Answer { findings, trust, next })
}

/// The treatments that everything was measured under, without which no figure may be read; `None` of
/// none, and where targets are compared.
pub(super) fn treatments(record: &Record) -> Option<String> {
    let is_measured = |row: &&Row| row.outcome == RowOutcome::Measured;
    let target = &record.results.iter().find(is_measured)?.target;
    let names: Vec<String> = target.treatments.iter().map(|treatment| plain(treatment)).collect();
    let are_shared = record.comparisons.is_empty() && !names.is_empty();
    are_shared.then(|| format!("Measured under {}.", names.join(" + ")))
}

/// The rows whose figures are quoted, but for the ends of many costs.
fn quoted<'a>(measured: &'a [&'a Row]) -> impl Iterator<Item = &'a Row> {
    let are_few = measured.len() <= MAX_EACH;
    measured.iter().copied().filter(move |row| are_few || acts::is_act(row))
}

/// What the figures say; `results` are all rows of the run.
fn figures(measured: &[&Row], results: &[Row]) -> Vec<String> {
    if measured.len() <= MAX_EACH {
        let each = measured
            .iter()
            .filter_map(|row| Some(format!("{}: {}.", plain(&row.case), quote(row)?)));
        return each.chain(extremes(measured)).collect();
    }
    let mut sentences = acts::sentences(measured, results);
    if sentences.len() < ENOUGH_ACTS {
        sentences.extend(extremes(measured).or_else(|| ends(measured)));
    }
    if sentences.is_empty() {
        sentences.push(format!("{} have figures.", cases(measured.len())));
    }
    sentences
}

/// Whether a row is a cost that can be compared with others.
pub(super) fn is_cost(row: &Row) -> bool {
    let median = row.estimate.as_ref().map_or(0.0, |it| it.median);
    row.class.is_some()
        && row.unit == Unit::NsPerOp
        && bound(row).is_none()
        && unusable(Kind::RowFlag, &row.flags).is_none()
        && median > 0.0
        && median.is_finite()
}

/// The cheapest and the dearest of the costs of one benchmark, if their intervals are apart; `None`
/// below two. A page fault and a fork are two ops, and how many times one costs the other says nothing.
fn extremes(measured: &[&Row]) -> Option<String> {
    let median = |row: &Row| row.estimate.as_ref().map_or(0.0, |it| it.median);
    let mut costs: Vec<&Row> = measured.iter().copied().filter(|row| is_cost(row)).collect();
    if costs.iter().any(|row| row.benchmark != costs[0].benchmark) {
        return None;
    }
    costs.sort_by(|one, other| median(one).total_cmp(&median(other)));
    let [cheapest, .., dearest] = &costs[..] else { return None };
    let named = |row: &Row| format!("{} ({})", plain(&row.case), rough(median(row), row.unit));
    if !are_apart(cheapest, dearest) {
        return Some(format!(
            "The intervals of the lowest and the highest of these {} costs overlap: this run does not \
             order them.",
            costs.len()
        ));
    }
    let ratio = median(dearest) / median(cheapest);
    if !ratio.is_finite() {
        return None;
    }
    Some(match costs.len() {
        2 => {
            format!("{} costs {} {}.", plain(&dearest.case), factor(ratio), plain(&cheapest.case))
        }
        count => format!(
            "Of {count} costs {} is the lowest and {} the highest, {} times as much.",
            named(cheapest),
            named(dearest),
            times(ratio)
        ),
    })
}

/// The lowest and the highest of the costs of several benchmarks, without a ratio; `None` of one
/// benchmark, and where their intervals overlap.
fn ends(measured: &[&Row]) -> Option<String> {
    let median = |row: &Row| row.estimate.as_ref().map_or(0.0, |it| it.median);
    let mut costs: Vec<&Row> = measured.iter().copied().filter(|row| is_cost(row)).collect();
    costs.sort_by(|one, other| median(one).total_cmp(&median(other)));
    let [lowest, .., highest] = &costs[..] else { return None };
    let are_of_one = costs.iter().all(|row| row.benchmark == lowest.benchmark);
    if are_of_one || !are_apart(lowest, highest) {
        return None;
    }
    let named = |row: &Row| format!("{} ({})", plain(&row.case), rough(median(row), row.unit));
    Some(format!(
        "Of {} costs {} is the lowest and {} the highest.",
        costs.len(),
        named(lowest),
        named(highest)
    ))
}

/// How a cost stands to a lower one.
fn factor(ratio: f64) -> String {
    match ratio >= MIN_TIMES {
        true => format!("{} times as much as", times(ratio)),
        false => format!("{} more than", per_cent(100.0 * (ratio - 1.0))),
    }
}

/// How many cases have no figure, by outcome; `None` if all have one.
fn without_figure(requested: &[&Row]) -> Option<String> {
    let outcomes =
        [RowOutcome::Skipped, RowOutcome::Failed, RowOutcome::TimedOut, RowOutcome::Unmeasurable];
    let count = |outcome| requested.iter().filter(|row| row.outcome == outcome).count();
    let counts = outcomes.map(|outcome| (count(outcome), outcome.text()));
    let each: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, text)| format!("{count} {text}"))
        .collect();
    let without: usize = counts.iter().map(|(count, _)| count).sum();
    let of_all = match (without, requested.len()) {
        (_, 1) => "The only case has no figure".to_owned(),
        (without, all) if without == all => format!("None of the {all} cases has a figure"),
        (1, all) => format!("1 of {all} cases has no figure"),
        (without, all) => format!("{without} of {all} cases have no figure"),
    };
    (without > 0).then(|| format!("{of_all}: {}.", each.join(", ")))
}
