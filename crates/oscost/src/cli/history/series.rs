//! From the figures of the store to series: which of them may stand beside each other, and what is
//! found in those.

use std::collections::{BTreeMap, BTreeSet};
use std::ptr;

use oscost_model::worker::Mode;

use super::marks::marks;
use crate::advice::classes::difference;
use crate::report::history::{Change, History, LeftOut, Newest, Point, Series};
use crate::store::{Figure, Kept, Stand};
use oscost_stats::change::{self, BEFORE, NEWEST, WINDOW};

/// The shuffles are the same each time, so that a history says the same each time.
const SEED: u64 = 0x6f73_636f_7374;
/// What a stranger's record holds beyond these bounds is no cost of anything.
const COSTS: std::ops::RangeInclusive<f64> = 1e-20..=1e20;

/// What was asked for.
pub(super) struct Asked<'a> {
    /// The place.
    pub(super) target: &'a str,
    /// So many of the newest runs of a series.
    pub(super) last: usize,
    /// Whether cases were named.
    pub(super) named: bool,
}

/// A figure, the run that it is of, and where it was measured.
#[derive(Clone, Copy)]
pub(super) struct Found<'a> {
    pub(super) run: &'a Kept,
    pub(super) figure: &'a Figure,
    pub(super) stand: Option<&'a Stand>,
    pub(super) peer: Option<&'a Stand>,
}

impl<'a> Found<'a> {
    fn of(run: &'a Kept, figure: &'a Figure) -> Self {
        let stand = |at: Option<usize>| at.and_then(|at| run.summary.stands.get(at));
        Self { run, figure, stand: stand(figure.machine), peer: stand(figure.peer) }
    }

    fn has(&self, flag: &str) -> bool {
        self.figure.flags.iter().any(|it| it == flag)
    }
}

/// Runs by the reason why they are left out.
type Left<'a> = BTreeMap<String, BTreeSet<&'a str>>;

/// The series of the figures that were found; of these each with its history.
pub(super) fn history(kept: &[Kept], asked: &Asked<'_>, without: Vec<LeftOut>) -> History {
    // Two peers, and two ends on one machine, are three series.
    let mut cases: BTreeMap<(&str, Option<&str>), Vec<Found<'_>>> = BTreeMap::new();
    for run in kept {
        for figure in &run.summary.figures {
            let peer = figure.peer.map(|_| run.summary.peer.as_deref().unwrap_or_default());
            let of_case = cases.entry((&figure.case, peer)).or_default();
            // One figure a run: of both sides of a comparison at one place, the base, which is the
            // one that others compare, too.
            let before = of_case.iter().rev().take_while(|it| ptr::eq(it.run, run));
            if !before.into_iter().any(|it| it.figure.target == figure.target) {
                of_case.push(Found::of(run, figure));
            }
        }
    }
    let (mut all, mut left, mut elsewhere) = (Vec::new(), Left::new(), BTreeSet::new());
    for found in cases.values() {
        let Some((series, its)) = series(found, asked) else { continue };
        // Nobody asked for those of other places by their names, nor for reference cases.
        let is_here = |it: &Found<'_>| it.figure.target == asked.target;
        if !asked.named && !found.iter().any(|it| is_here(it) && was_asked(it)) {
            elsewhere.extend(series.other_targets);
            continue;
        }
        elsewhere.extend(series.other_targets.iter().cloned());
        for (why, runs) in its {
            left.entry(why).or_default().extend(runs);
        }
        all.push(series);
    }
    look_for_changes(&mut all);
    History {
        named: asked.named,
        target: asked.target.to_owned(),
        window: WINDOW,
        series: all,
        without_figures: without,
        left_out: counted(left),
        other_targets: elsewhere.into_iter().collect(),
    }
}

/// Whether anybody asked for the case: reference cases and parts of floors are measured all the same.
fn was_asked(it: &Found<'_>) -> bool {
    !it.has("ANCHOR") && !it.has("PRIMITIVE")
}

fn counted(left: Left<'_>) -> Vec<LeftOut> {
    left.into_iter().map(|(why, runs)| LeftOut { why, runs: runs.len() }).collect()
}

/// The runs of a case that may stand beside each other.
fn series<'a>(found: &[Found<'a>], asked: &Asked<'_>) -> Option<(Series, Left<'a>)> {
    let here: Vec<Found<'_>> =
        found.iter().copied().filter(|it| it.figure.target == asked.target).collect();
    // What was measured here says which machine is meant, however new a record from elsewhere is;
    // and one odd run is no reason to take all others for odd.
    let newest = |takes: &dyn Fn(&Found<'_>) -> bool| here.iter().rev().find(|it| takes(it));
    let reference = newest(&|it| !it.run.imported && faulty(it).is_none())
        .or_else(|| newest(&|it| faulty(it).is_none()))
        .or(here.last());
    let reference = reference.copied().or(found.last().copied())?;
    let mut left = Left::new();
    let mut fit: Vec<Found<'_>> = Vec::new();
    for &it in &here {
        match faulty(&it).or_else(|| unlike(&reference, &it)) {
            None => fit.push(it),
            Some(why) => {
                let from = if it.run.imported { " (imported)" } else { "" };
                left.entry(format!("{why}{from}")).or_default().insert(&it.run.id);
            }
        }
    }
    let older = fit.len().saturating_sub(asked.last);
    let fit = &fit[older..];
    let elsewhere = found.iter().filter(|it| it.figure.target != asked.target);
    let other_targets: BTreeSet<&str> = elsewhere.map(|it| it.figure.target.as_str()).collect();
    let figure = reference.figure;
    let class = |of: fn(&Stand) -> &String| {
        let ends = [reference.stand, reference.peer];
        let ends: Vec<&str> = ends.into_iter().flatten().map(|it| of(it).as_str()).collect();
        ends.join("; other end: ")
    };
    let series = Series {
        case: figure.case.clone(),
        target: asked.target.to_owned(),
        peer: figure.peer.is_some(),
        peer_at: figure.peer.and(reference.run.summary.peer.clone()),
        unit: figure.unit,
        better: figure.unit.better(),
        rev: figure.rev,
        machine_class: class(|stand| &stand.machine),
        kernel_class: class(|stand| &stand.kernel),
        points: fit.iter().map(point).collect(),
        older,
        p: None,
        missed: false,
        together: None,
        q: None,
        changes: Vec::new(),
        newest: None,
        marks: marks(fit),
        left_out: counted(left.clone()),
        other_targets: other_targets.into_iter().map(str::to_owned).collect(),
    };
    Some((series, left))
}

/// Why a figure may stand in no series at all; `None` where it may.
fn faulty(it: &Found<'_>) -> Option<String> {
    let has_peer = it.figure.peer.is_some();
    for (there, stand, whose) in [(true, it.stand, ""), (has_peer, it.peer, " of the other end")] {
        // A record from elsewhere that says nothing of its machine is like any other; of what was
        // measured here it is known that somebody here had that place in mind.
        let named = stand.is_some_and(|stand| !(it.run.imported && stand.machine.is_empty()));
        if there && !named {
            return Some(format!("its record names no machine{whose}"));
        }
        if stand.and_then(|it| it.class.as_deref()) == Some("very-noisy") {
            return Some(format!("its class is hostile{whose}"));
        }
    }
    if it.run.summary.clock_drifted {
        return Some("its clock drifted".to_owned());
    }
    if it.has("NOT_CLAIMABLE") {
        return Some("too much time was lost for a figure of single shots".to_owned());
    }
    let figures = it.figure.interval.iter().flatten().chain([&it.figure.median]);
    if it.has("BELOW_DETECTION") || !figures.into_iter().all(|value| COSTS.contains(value)) {
        return Some("it cannot be told from nothing: there is no ratio".to_owned());
    }
    if it.figure.interval.is_none() {
        return Some("it has no interval: fewer than six repetitions".to_owned());
    }
    None
}

/// Why a figure may not stand in one series with the reference; `None` where it may.
fn unlike(reference: &Found<'_>, it: &Found<'_>) -> Option<String> {
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
    if theirs.subject != ours.subject {
        return Some("another command of that name, or another metric of it".to_owned());
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
        return Some("other linkage of the worker".to_owned());
    }
    let ends = [(reference.stand, it.stand, ""), (reference.peer, it.peer, " of the other end")];
    for (ours, theirs, whose) in ends {
        let Some((ours, theirs)) = ours.zip(theirs) else { continue };
        if let Some(why) = difference(&theirs.machine, &ours.machine) {
            return Some(format!("another class of machine{whose}: {why}"));
        }
        if let Some(why) = difference(&theirs.kernel, &ours.kernel) {
            return Some(format!("another class of kernel{whose}: {why}"));
        }
    }
    None
}

/// Whether a mode is one of those that a pilot chooses between by what the op costs. A case near
/// the bound has now one and now another, and one that steps across it has another from there on:
/// to part them would hide the step. They are marked instead.
fn by_cost(mode: Option<Mode>) -> bool {
    matches!(mode, Some(Mode::U | Mode::B | Mode::S))
}

fn point(it: &Found<'_>) -> Point {
    Point {
        run: it.run.id.clone(),
        started: it.run.started.clone(),
        median: it.figure.median,
        interval: it.figure.interval,
        class: it.stand.and_then(|stand| stand.class.clone()),
        imported: it.run.imported,
    }
}

/// Looks for changes in all series at once, since chance finds some in many.
fn look_for_changes(all: &mut [Series]) {
    let logs = |series: &Series| -> Vec<change::Point> {
        let points = series.points.iter();
        points
            .map(|point| change::Point {
                log: point.median.ln(),
                unsure: point.unsure(),
                began: humantime::parse_rfc3339(&point.started.replace("+00:00", "Z")).ok(),
            })
            .collect()
    };
    let points: Vec<Vec<change::Point>> = all.iter().map(logs).collect();
    let found = change::changes(&points, SEED);
    for (series, (points, found)) in all.iter_mut().zip(points.iter().zip(found)) {
        if let Some(found) = found {
            (series.p, series.q) = (Some(found.p), Some(found.q));
            (series.missed, series.together) = (found.missed, found.together);
            let changes = found.changes.iter();
            series.changes = changes.map(|it| changed(&series.points, it, found.q)).collect();
        }
        // Where the newest runs are a part by themselves, that says it, and better.
        let last = series.changes.last().map(|it| it.point);
        let untold = |it: &change::Elsewhere| last.is_none_or(|last| last < it.first);
        series.newest = change::elsewhere(points).filter(untold).map(|it| Newest {
            runs: NEWEST,
            before: BEFORE,
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
        behind: points[it.first].run.clone(),
        from: it.from.exp(),
        to: it.to.exp(),
        ratio: (it.to - it.from).exp(),
        ci95: it.interval.map(|it| [it.lo.exp(), it.hi.exp()]),
        p: it.p,
        q,
    }
}
