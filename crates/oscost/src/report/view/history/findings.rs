//! What is found in series, and what is in none of them, in sentences.

use oscost_model::unit::Unit;
use oscost_stats::change::{MIN_POINTS, WINDOW_POINTS};

use super::causes::{explanation, times};
use super::updates::update_text;
use crate::estimate::history::{Change, History, LeftOut, Series, UpdatedPart};
use crate::report::figures::Style;
use crate::report::text::{day, plain, shortest_unique};

/// An update this many runs from a change may be its cause: of a step of 5 % nine in ten are placed
/// within two runs.
const MAX_DISTANCE_RUNS: usize = 2;
/// Of more other targets than these, the first are named.
const MAX_TARGETS: usize = 4;

/// What is in none of the series, and why.
pub(in crate::report::view) fn notes(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    // Where cases were named, each says its own.
    if !history.named {
        if !history.left_out.is_empty() {
            notes.push(format!("left out of a case or more: {}", reasons(&history.left_out)));
        }
        if !history.other_targets.is_empty() {
            notes.push(other_targets(&history.other_targets));
        }
    }
    if !history.without_figures.is_empty() {
        notes.push(format!("not read: {}", reasons(&history.without_figures)));
    }
    notes
}

/// `3 runs: why; 1 run: why`.
fn reasons(left: &[LeftOut]) -> String {
    let one = |it: &LeftOut| format!("{}: {}", runs(it.runs), plain(&it.reason));
    left.iter().map(one).collect::<Vec<_>>().join("; ")
}

pub(super) fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

pub(super) fn cases(count: usize) -> String {
    format!("{count} case{}", if count == 1 { "" } else { "s" })
}

/// What is found in a series, a sentence or two a piece.
pub(in crate::report::view) fn sentences(series: &Series) -> Vec<String> {
    let mut sentences: Vec<String> = series.changes.iter().map(|it| change(series, it)).collect();
    sentences.extend(no_change(series));
    sentences.extend(series.autocorrelation.map(|share| {
        format!(
            "successive runs are correlated: {share:.2} of a run's deviation is that of the run \
             before it, which was removed before testing for changes"
        )
    }));
    sentences.extend(newest(series));
    sentences.extend(unit_of_verdict(series));
    if !series.left_out.is_empty() {
        sentences.push(format!("left out: {}", reasons(&series.left_out)));
    }
    if !series.other_targets.is_empty() {
        sentences.push(other_targets(&series.other_targets));
    }
    sentences
}

/// Whether the verdict on a case that follows the core's rate rests on this series.
fn unit_of_verdict(series: &Series) -> Option<String> {
    let in_cycles = series.unit == Unit::CyclesPerOp;
    let of = |in_cycles: bool| if in_cycles { "cycles of the core" } else { "time" };
    let (own, other) = (of(in_cycles), of(!in_cycles));
    match series.secondary {
        true => Some(format!(
            "shown for comparison: the case follows the core's rate, and is judged in {other}, which \
             varies less between runs than {own}"
        )),
        false => in_cycles.then(|| {
            format!(
                "judged in {own}: the case follows the core's rate, and they vary less between runs \
                 than its {other}"
            )
        }),
    }
}

fn other_targets(targets: &[String]) -> String {
    let shown: Vec<String> = targets.iter().take(MAX_TARGETS).map(|target| plain(target)).collect();
    let more = targets.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("also measured at other targets (--at): {}{more}", shown.join(", "))
}

fn change(series: &Series, it: &Change) -> String {
    let style = Style::of(it.from, series.unit);
    let (from, to) = (style.number(it.from), style.with_unit(it.to));
    let interval = it.ci95.map(|[low, high]| format!(" ({low:.3} .. {high:.3})"));
    let interval = interval.unwrap_or_else(|| ", too few runs for an interval".to_owned());
    let ids: Vec<&str> = series.points.iter().map(|point| point.run.as_str()).collect();
    let length = shortest_unique(&ids);
    let id = |id: &String| id.get(..length).unwrap_or(id).to_owned();
    let near =
        series.updates.iter().filter(|it_| it_.point.abs_diff(it.point) <= MAX_DISTANCE_RUNS);
    let near: Vec<String> = near
        .map(|mark| match mark.point == it.point {
            true => format!("at that run: {}", update_text(mark)),
            false => format!("at run {}: {}", mark.point + 1, update_text(mark)),
        })
        .collect();
    let near = match near.is_empty() {
        true => {
            let watched = UpdatedPart::ALL.map(UpdatedPart::text).join(", ");
            format!("nothing that is watched was updated within two runs ({watched})")
        }
        false => format!("updated {}", near.join("; ")),
    };
    let counted = explanation(it).map(|text| format!(" {text}")).unwrap_or_default();
    format!(
        "change at run {} of {}: {from} -> {to}, {} times{interval}; p {}, q {}. Between runs {} and \
         {}; {near}.{counted}",
        it.point + 1,
        started(series, it),
        times(it.ratio),
        probability(it.p),
        probability(it.q),
        id(&it.before),
        id(&it.after),
    )
}

/// The day of the first run after a change.
pub(super) fn started(series: &Series, it: &Change) -> String {
    series.points.get(it.point).map_or(String::new(), |point| day(&point.started))
}

/// A p or a q.
pub(super) fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.4}") } else { format!("{p:.3}") }
}

/// That no change was found, and what that does not say.
fn no_change(series: &Series) -> Option<String> {
    let count = series.points.len();
    match series.p.zip(series.q) {
        None if count == 0 => None,
        None if count < MIN_POINTS => {
            Some(format!("{}: changes are looked for from {MIN_POINTS} on", runs(count)))
        }
        None => Some(format!(
            "{}, but of fewer than {MIN_POINTS} times: runs within an hour count as one, and changes \
             are looked for from {MIN_POINTS} on",
            runs(count)
        )),
        Some((p, q)) if series.changes.is_empty() => {
            let window = match count > WINDOW_POINTS {
                true => format!(" in the newest {WINDOW_POINTS} runs: older ones were not tested"),
                false => String::new(),
            };
            let others = match series.rejected_by_correction {
                true => " Tested alone it would have changed: name only this case.",
                false => "",
            };
            Some(format!(
                "no change shows{window} (p {}, q {}). A change of less than 2 %, or of less than an \
                 interval, is not reported.{others}",
                probability(p),
                probability(q)
            ))
        }
        Some(_) => None,
    }
}

fn newest(series: &Series) -> Option<String> {
    let it = series.recent_shift.as_ref()?;
    let style = Style::of(it.from, series.unit);
    let direction = if it.to > it.from { "above" } else { "below" };
    Some(format!(
        "provisional: the newest {} runs are {direction} all of the {} before them, {} -> {}, {} \
         times. The next runs will show whether it lasts.",
        it.runs,
        it.before,
        style.number(it.from),
        style.with_unit(it.to),
        times(it.ratio),
    ))
}
