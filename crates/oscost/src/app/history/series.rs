//! Series of comparable figures from the store, and the changes in them.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use oscost_model::unit::Unit;
use oscost_model::worker::Mode;

use super::run_figure::RunFigure;
use super::updates::updates;
use crate::advice::classes::difference;
use crate::app::results::figures::is_same_command;
use crate::estimate::history::{Change, History, LeftOut, Point, RecentShift, RunCounts, Series};
use crate::estimate::level_changes::explain_changes;
use crate::store::{MachineState, SummarisedRun};
use oscost_stats::between_runs::RunMedian;
use oscost_stats::change::{self, NEWEST_POINTS, PRECEDING_POINTS, WINDOW_POINTS};
use oscost_stats::core_rate::{CoreDependence, PeriodRegression, RatedCost, RatedRun};

/// A fixed seed, so that a history gives the same result each time.
const SEED: u64 = 0x6f73_636f_7374;
/// A figure outside these bounds is not a plausible cost; an imported record may contain one.
pub(super) const PLAUSIBLE: std::ops::RangeInclusive<f64> = 1e-20..=1e20;

/// Which series are wanted.
pub(super) struct Query<'a> {
    /// The target.
    pub(super) target: &'a str,
    /// How many of the newest runs of a series.
    pub(super) last: usize,
    /// Whether cases were named.
    pub(super) named: bool,
}

/// The ids of runs that are left out, by the reason.
type LeftOutRuns<'a> = BTreeMap<String, BTreeSet<&'a str>>;

/// The series of the figures that were kept, each with its changes.
pub(super) fn history(kept: &[SummarisedRun], query: &Query<'_>, without: Vec<LeftOut>) -> History {
    // Two peers, and two ends on one machine, are three series.
    // And so are figures in time, and the same in cycles of the core.
    let mut cases: BTreeMap<(&str, Option<&str>, bool), Vec<RunFigure<'_>>> = BTreeMap::new();
    for run in kept {
        for figure in &run.summary.figures {
            let peer = figure.peer.map(|_| run.summary.peer.as_deref().unwrap_or_default());
            let in_cycles = figure.unit == Unit::CyclesPerOp;
            let of_case = cases.entry((&figure.case, peer, in_cycles)).or_default();
            // One figure per run: of a comparison of a target with itself the base, which other
            // runs have, too.
            let before = of_case.iter().rev().take_while(|it| ptr::eq(it.run, run));
            if !before.into_iter().any(|it| it.figure.target == figure.target) {
                of_case.push(RunFigure::new(run, figure));
            }
        }
    }
    let mut all = Vec::new();
    let mut left_out = LeftOutRuns::new();
    let mut other_targets = BTreeSet::new();
    for found in cases.values() {
        let Some(SeriesOfCase { series, left_out: of_case }) = series_of_case(found, query) else {
            continue;
        };
        // Without selectors, cases of other targets and reference cases are left out.
        let is_here = |it: &RunFigure<'_>| it.figure.target == query.target;
        if !query.named && !found.iter().any(|it| is_here(it) && was_requested(it)) {
            other_targets.extend(series.other_targets);
            continue;
        }
        other_targets.extend(series.other_targets.iter().cloned());
        for (why, runs) in of_case {
            left_out.entry(why).or_default().extend(runs);
        }
        all.push(series);
    }
    let all = choose_units(all);
    let (mut all, mut others): (Vec<Series>, Vec<Series>) =
        all.into_iter().partition(|it| !it.secondary);
    // The verdicts on cases are one family of hypotheses; the others stand beside.
    find_changes(&mut all);
    find_changes(&mut others);
    all.append(&mut others);
    all.sort_by(|one, other| (&one.case, one.secondary).cmp(&(&other.case, other.secondary)));
    History {
        named: query.named,
        target: query.target.to_owned(),
        window: WINDOW_POINTS,
        series: all,
        without_figures: without,
        left_out: excluded_runs(left_out),
        other_targets: other_targets.into_iter().collect(),
    }
}

/// Drops the series in cycles of cases that do not follow the core's rate, and marks of the others the
/// one on which no verdict rests: that which varies more from one run to the next. Neither depends on
/// where its figures change.
fn choose_units(all: Vec<Series>) -> Vec<Series> {
    let (cycles, mut kept): (Vec<Series>, Vec<Series>) =
        all.into_iter().partition(|it| it.unit == Unit::CyclesPerOp);
    for mut cycles in cycles {
        let is_it = |time: &&mut Series| {
            (&time.case, time.peer, &time.peer_host)
                == (&cycles.case, cycles.peer, &cycles.peer_host)
        };
        let Some(time) = kept.iter_mut().find(is_it).filter(|time| follows(time, &cycles)) else {
            continue;
        };
        let deviation = |series: &Series| series.variation_of_neighbours().map(|it| it.deviation);
        let both = deviation(&cycles).zip(deviation(time));
        let by_cycles = both.is_some_and(|(cycles, time)| cycles < time);
        (time.secondary, cycles.secondary) = (by_cycles, !by_cycles);
        kept.push(cycles);
    }
    kept
}

/// Whether a case follows the core's rate, by its runs.
fn follows(time: &Series, cycles: &Series) -> bool {
    let in_cycles: BTreeMap<&str, RunMedian> = cycles.run_medians().collect();
    let rated = |(run, time): (&str, RunMedian)| {
        Some(RatedRun { time, cycles: *in_cycles.get(run)? }.rated_cost())
    };
    let runs: Vec<RatedCost> = time.run_medians().filter_map(rated).collect();
    CoreDependence::of(&[PeriodRegression::of(&[&runs])]).follows()
}

/// Whether the user asked for the case; reference cases and parts of floors are measured anyway.
fn was_requested(it: &RunFigure<'_>) -> bool {
    !it.has_flag("REFERENCE") && !it.has_flag("PRIMITIVE")
}

fn excluded_runs(left_out: LeftOutRuns<'_>) -> Vec<LeftOut> {
    left_out.into_iter().map(|(why, runs)| LeftOut { reason: why, runs: runs.len() }).collect()
}

/// A series, and the runs of its case that are not in it.
struct SeriesOfCase<'a> {
    series: Series,
    left_out: LeftOutRuns<'a>,
}

/// The comparable runs of a case.
fn series_of_case<'a>(found: &[RunFigure<'a>], query: &Query<'_>) -> Option<SeriesOfCase<'a>> {
    let here: Vec<RunFigure<'_>> =
        found.iter().copied().filter(|it| it.figure.target == query.target).collect();
    // Runs measured on this machine decide which machine is meant, even if an imported record is
    // newer; a faulty run does not.
    let newest = |takes: &dyn Fn(&RunFigure<'_>) -> bool| here.iter().rev().find(|it| takes(it));
    let reference = newest(&|it| !it.run.imported && fault(it).is_none())
        .or_else(|| newest(&|it| fault(it).is_none()))
        .or(here.last());
    let reference = reference.copied().or(found.last().copied())?;
    let mut left_out = LeftOutRuns::new();
    let mut comparable: Vec<RunFigure<'_>> = Vec::new();
    for &it in &here {
        match fault(&it).or_else(|| difference_from(&reference, &it)) {
            None => comparable.push(it),
            Some(why) => {
                let from = if it.run.imported { " (imported)" } else { "" };
                left_out.entry(format!("{why}{from}")).or_default().insert(&it.run.id);
            }
        }
    }
    let older = comparable.len().saturating_sub(query.last);
    let comparable = &comparable[older..];
    let at_other_targets = found.iter().filter(|it| it.figure.target != query.target);
    let other_targets: BTreeSet<&str> =
        at_other_targets.map(|it| it.figure.target.as_str()).collect();
    let figure = reference.figure;
    let class = |of: fn(&MachineState) -> &String| {
        let ends = [reference.machine, reference.peer];
        let ends: Vec<&str> = ends.into_iter().flatten().map(|it| of(it).as_str()).collect();
        ends.join("; other end: ")
    };
    let series = Series {
        case: figure.case.clone(),
        target: query.target.to_owned(),
        peer: figure.peer.is_some(),
        peer_host: figure.peer.and(reference.run.summary.peer.clone()),
        unit: figure.unit,
        better: figure.unit.better(),
        rev: figure.rev,
        machine_class: class(|state| &state.machine),
        kernel_class: class(|state| &state.kernel),
        points: comparable.iter().map(point).collect(),
        older_runs: older,
        p: None,
        rejected_by_correction: false,
        secondary: false,
        autocorrelation: None,
        between_run_sd: None,
        q: None,
        changes: Vec::new(),
        recent_shift: None,
        updates: updates(comparable),
        left_out: excluded_runs(left_out.clone()),
        other_targets: other_targets.into_iter().map(str::to_owned).collect(),
    };
    Some(SeriesOfCase { series, left_out })
}

/// Why a figure can be in no series; `None` if it can.
fn fault(it: &RunFigure<'_>) -> Option<String> {
    let has_peer = it.figure.peer.is_some();
    for (exists, state, which_end) in
        [(true, it.machine, ""), (has_peer, it.peer, " at the other end")]
    {
        // An imported record that does not describe its machine could be of any; of one that was
        // measured here the target is known.
        let named = state.is_some_and(|state| !(it.run.imported && state.machine.is_empty()));
        if exists && !named {
            return Some(format!("record without a machine{which_end}"));
        }
        if state.and_then(|it| it.class.as_deref()) == Some("very-noisy") {
            return Some(format!("machine very noisy{which_end}"));
        }
    }
    if it.run.summary.clock_drifted {
        return Some("clock drifted".to_owned());
    }
    if it.has_flag("UNRELIABLE") {
        return Some("too much time lost for single shots".to_owned());
    }
    let figures = it.figure.interval.iter().flatten().chain([&it.figure.median]);
    if it.has_flag("BELOW_DETECTION") || !figures.into_iter().all(|value| PLAUSIBLE.contains(value))
    {
        return Some("too close to zero for a ratio".to_owned());
    }
    if it.figure.interval.is_none() {
        return Some("no interval: fewer than six repetitions".to_owned());
    }
    None
}

/// Why a figure is not comparable with the reference; `None` if it is.
fn difference_from(reference: &RunFigure<'_>, it: &RunFigure<'_>) -> Option<String> {
    let (ours, theirs) = (reference.figure, it.figure);
    if theirs.rev != ours.rev {
        return Some(format!(
            "another revision of the benchmark: {}, not {}",
            theirs.rev, ours.rev
        ));
    }
    if theirs.unit != ours.unit {
        return Some(format!("another unit: {}, not {}", theirs.unit.text(), ours.unit.text()));
    }
    if theirs.mode != ours.mode && !(by_cost(theirs.mode) && by_cost(ours.mode)) {
        let letter = |mode: Option<Mode>| mode.map_or("none", Mode::text);
        let (theirs, ours) = (letter(theirs.mode), letter(ours.mode));
        return Some(format!("timed in another mode: {theirs}, not {ours}"));
    }
    // Another build of it may be the change that is looked for.
    if !is_same_command(theirs, ours) {
        return Some("another command of the same name, or another of its metrics".to_owned());
    }
    for (what, theirs, ours) in [
        ("on another file system", &theirs.file, &ours.file),
        ("under a monitor in another state", &theirs.monitor, &ours.monitor),
    ] {
        if let (Some(theirs), Some(ours)) = (theirs, ours)
            && theirs != ours
        {
            return Some(format!("{what}: {theirs}, not {ours}"));
        }
    }
    if it.run.summary.link != reference.run.summary.link {
        return Some("the worker was linked differently".to_owned());
    }
    let ends =
        [(reference.machine, it.machine, ""), (reference.peer, it.peer, " at the other end")];
    for (ours, theirs, which_end) in ends {
        let Some((ours, theirs)) = ours.zip(theirs) else { continue };
        if let Some(why) = difference(&theirs.machine, &ours.machine) {
            return Some(format!("another class of machine{which_end}: {why}"));
        }
        if let Some(why) = difference(&theirs.kernel, &ours.kernel) {
            return Some(format!("another class of kernel{which_end}: {why}"));
        }
    }
    None
}

/// Whether a mode is one of those that a pilot chooses by the cost of the op. A case near the bound
/// changes between them, and one whose cost steps across it keeps the new one: separate series
/// would hide the step, so the change is marked instead.
fn by_cost(mode: Option<Mode>) -> bool {
    mode.is_some_and(Mode::is_by_cost)
}

fn point(it: &RunFigure<'_>) -> Point {
    Point {
        run: it.run.id.clone(),
        started: it.run.started.clone(),
        median: it.figure.median,
        interval: it.figure.interval,
        between_run_ci95: None,
        class: it.machine.and_then(|state| state.class.clone()),
        imported: it.run.imported,
        counts: it.figure.counts.as_deref().map(|medians| RunCounts {
            worker: it.run.summary.worker.clone(),
            boot: it.machine.and_then(|state| state.boot.clone()),
            medians: medians.clone(),
        }),
    }
}

/// Finds changes in all series at once: among many, some appear by chance.
fn find_changes(all: &mut [Series]) {
    let logs = |series: &Series| -> Vec<change::RunValue> {
        let points = series.points.iter();
        points
            .map(|point| change::RunValue {
                log: point.median.ln(),
                relative_half_width: point.relative_half_width(),
                started: humantime::parse_rfc3339(&point.started.replace("+00:00", "Z")).ok(),
            })
            .collect()
    };
    let points: Vec<Vec<change::RunValue>> = all.iter().map(logs).collect();
    let found = change::changes(&points, SEED);
    for (series, (points, found)) in all.iter_mut().zip(points.iter().zip(found)) {
        if let Some(found) = found {
            (series.p, series.q) = (Some(found.p), Some(found.q));
            (series.rejected_by_correction, series.autocorrelation) =
                (found.rejected_by_correction, found.autocorrelation);
            let changes = found.changes.iter();
            series.changes = changes.map(|it| changed(&series.points, it, found.q)).collect();
        }
        series.set_intervals_between_runs();
        explain_changes(series);
        // A change at the newest runs says the same, with more evidence.
        let last = series.changes.last().map(|it| it.point);
        let is_new = |it: &change::RecentShift| last.is_none_or(|last| last < it.first);
        series.recent_shift = change::recent_shift(points).filter(is_new).map(|it| RecentShift {
            runs: NEWEST_POINTS,
            before: PRECEDING_POINTS,
            from: it.from.exp(),
            to: it.to.exp(),
            ratio: (it.to - it.from).exp(),
        });
    }
}

fn changed(points: &[Point], it: &change::Change, q: f64) -> Change {
    Change {
        point: it.first,
        before: points[it.first - 1].run.clone(),
        after: points[it.first].run.clone(),
        from: it.from.exp(),
        to: it.to.exp(),
        ratio: (it.to - it.from).exp(),
        ci95: it.interval.map(|it| [it.lo.exp(), it.hi.exp()]),
        p: it.p,
        q,
        decomposition: None,
        not_decomposed: None,
        counted_runs: None,
    }
}

#[cfg(test)]
mod tests;
