//! From the figures of the store to series: which of them may stand beside each other, and what is
//! found in those.

use std::collections::{BTreeMap, BTreeSet};

use crate::advice::alike::differs;
use crate::report::history::{Change, History, LeftOut, Mark, Newest, Point, Series, Updated};
use crate::stats::change::{self, BEFORE, NEWEST, WINDOW};
use crate::store::{Figure, Kept, Stand};

/// The shuffles are the same each time, so that a history says the same each time.
const SEED: u64 = 0x6f73_636f_7374;
/// What a stranger's record holds beyond these bounds is no cost of anything.
const COSTS: std::ops::RangeInclusive<f64> = 1e-20..=1e20;
/// So much of a cell's hash tells it from others.
const HASH: usize = 12;

/// What was asked for.
pub(super) struct Asked<'a> {
    /// The place.
    pub(super) place: &'a str,
    /// So many of the newest runs of a series.
    pub(super) last: usize,
    /// Whether cases were named.
    pub(super) named: bool,
}

/// A figure, the run that it is of, and where it was measured.
#[derive(Clone, Copy)]
struct Found<'a> {
    run: &'a Kept,
    figure: &'a Figure,
    stand: Option<&'a Stand>,
    peer: Option<&'a Stand>,
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

/// The series of the figures that were found; of these each with its history.
pub(super) fn history(kept: &[Kept], asked: &Asked<'_>, without: Vec<LeftOut>) -> History {
    let mut cases: BTreeMap<(&str, bool), Vec<Found<'_>>> = BTreeMap::new();
    for run in kept {
        for figure in &run.summary.figures {
            let of_case = cases.entry((&figure.case, figure.peer.is_some())).or_default();
            of_case.push(Found::of(run, figure));
        }
    }
    let all = cases.values().filter_map(|found| series(found, asked));
    // Nobody asked for those of other places by their names.
    let mut all: Vec<Series> = all.filter(|it| asked.named || !it.points.is_empty()).collect();
    look_for_changes(&mut all);
    History {
        named: asked.named,
        place: asked.place.to_owned(),
        window: WINDOW,
        series: all,
        without_figures: without,
    }
}

/// The runs of a case that may stand beside each other.
fn series(found: &[Found<'_>], asked: &Asked<'_>) -> Option<Series> {
    let here: Vec<Found<'_>> =
        found.iter().copied().filter(|it| it.figure.place == asked.place).collect();
    // What was measured here says which machine is meant, however new a record from elsewhere is.
    let reference = here.iter().rev().find(|it| !it.run.imported).or(here.last());
    let reference = reference.copied().or(found.last().copied())?;
    let mut left: BTreeMap<String, usize> = BTreeMap::new();
    let mut fit: Vec<Found<'_>> = Vec::new();
    for &it in &here {
        match unfit(&reference, &it) {
            None => fit.push(it),
            Some(why) => {
                let from = if it.run.imported { " (imported)" } else { "" };
                *left.entry(format!("{why}{from}")).or_insert(0) += 1;
            }
        }
    }
    let older = fit.len().saturating_sub(asked.last);
    let fit = &fit[older..];
    let elsewhere = found.iter().filter(|it| it.figure.place != asked.place);
    let other_places: BTreeSet<&str> = elsewhere.map(|it| it.figure.place.as_str()).collect();
    let figure = reference.figure;
    let class = |of: fn(&Stand) -> &String| {
        let ends = [reference.stand, reference.peer];
        let ends: Vec<&str> = ends.into_iter().flatten().map(|it| of(it).as_str()).collect();
        ends.join("; other end: ")
    };
    Some(Series {
        case: figure.case.clone(),
        place: asked.place.to_owned(),
        peer: figure.peer.is_some(),
        unit: figure.unit,
        better: figure.unit.better(),
        rev: figure.rev,
        machine_class: class(|stand| &stand.machine),
        kernel_class: class(|stand| &stand.kernel),
        points: fit.iter().map(point).collect(),
        older,
        p: None,
        q: None,
        changes: Vec::new(),
        newest: None,
        marks: marks(fit),
        left_out: left.into_iter().map(|(why, runs)| LeftOut { why, runs }).collect(),
        other_places: other_places.into_iter().map(str::to_owned).collect(),
    })
}

/// Why a figure may not stand in one series with the reference; `None` where it may.
fn unfit(reference: &Found<'_>, it: &Found<'_>) -> Option<String> {
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
    if theirs.mode != ours.mode {
        return Some("timed in another mode".to_owned());
    }
    if it.run.summary.link != reference.run.summary.link {
        return Some("other linkage of the cell".to_owned());
    }
    let ends = [(reference.stand, it.stand, ""), (reference.peer, it.peer, " of the other end")];
    for (ours, theirs, whose) in ends {
        let (ours, theirs) = match (ours, theirs) {
            (None, None) => continue,
            (Some(ours), Some(theirs)) => (ours, theirs),
            _ => return Some(format!("its record names no machine{whose}")),
        };
        if let Some(why) = differs(&theirs.machine, &ours.machine) {
            return Some(format!("another class of machine{whose}: {why}"));
        }
        if let Some(why) = differs(&theirs.kernel, &ours.kernel) {
            return Some(format!("another class of kernel{whose}: {why}"));
        }
        if theirs.class.as_deref() == Some("hostile") {
            return Some(format!("its class is hostile{whose}"));
        }
    }
    if it.run.summary.clock_drifted {
        return Some("its clock drifted".to_owned());
    }
    if it.has("NOT_CLAIMABLE") {
        return Some("too much time was lost for a figure of single shots".to_owned());
    }
    let figures = theirs.interval.iter().flatten().chain([&theirs.median]);
    if it.has("BELOW_DETECTION") || !figures.into_iter().all(|value| COSTS.contains(value)) {
        return Some("it cannot be told from nothing: there is no ratio".to_owned());
    }
    None
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

/// What was updated from run to run: each against what the last run that tells it had.
fn marks(fit: &[Found<'_>]) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let mut last: BTreeMap<Updated, &str> = BTreeMap::new();
    for (point, it) in fit.iter().enumerate() {
        let of = |part: fn(&Stand) -> &Option<String>| it.stand.and_then(|it| part(it).as_deref());
        let summary = &it.run.summary;
        let now = [
            (Updated::Kernel, of(|stand| &stand.release)),
            (Updated::Image, of(|stand| &stand.build_id)),
            (Updated::Microcode, of(|stand| &stand.microcode)),
            (Updated::Oscost, Some(summary.tool.as_str())),
            (Updated::Cell, Some(summary.cell.as_str())),
        ];
        let mut released = false;
        for (what, now) in now {
            let Some(now) = now else { continue };
            let Some(before) = last.insert(what, now).filter(|&before| before != now) else {
                continue;
            };
            released |= what == Updated::Kernel;
            // Another release is another image.
            if what == Updated::Image && released {
                continue;
            }
            let short = matches!(what, Updated::Image | Updated::Cell);
            let text = |whole: &str| match short {
                true => whole.chars().take(HASH).collect(),
                false => whole.to_owned(),
            };
            marks.push(Mark { point, what, from: text(before), to: text(now) });
        }
    }
    marks
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
