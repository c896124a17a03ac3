//! A series as a timeline.

use super::causes::counts_text;
use super::updates::update_text;
use crate::estimate::history::{Change, Point, Series, Update, UpdatedPart};
use crate::report::figures::Style;
use crate::report::text::{class_text, day, minute, plain};
use crate::report::view::document::timeline::{self, LevelChange, Timeline, TimelineRun};

/// A series as a timeline.
pub(in crate::report::view) fn timeline(id: String, series: &Series) -> Timeline {
    let newest = series.points.last().map_or(1.0, |point| point.median);
    let style = Style::of(newest, series.unit);
    // Intervals of one kind: with few runs only the newest has one between runs.
    let is_known = series.between_run_sd.is_some();
    let run = |(number, point): (usize, &Point)| {
        let figure = figure_with_intervals(point, &style);
        let class = point.class.as_deref().unwrap_or("not classed");
        let mut details = vec![
            format!("run {} of {}", number + 1, minute(&point.started)),
            figure,
            format!("{}, {}", class_text(class), point.run),
        ];
        details.extend(point.counts.as_ref().and_then(|it| counts_text(&it.medians)));
        TimelineRun {
            day: day(&point.started),
            figure: point.median,
            interval: point.between_run_ci95.filter(|_| is_known).or(point.interval),
            details,
        }
    };
    let change =
        |it: &Change| LevelChange { run: it.point, from: it.from, to: it.to, ratio: it.ratio };
    let update = |mark: &Update| timeline::Update {
        run: mark.point,
        kind: mark.part.text(),
        letter: letter(mark.part),
        text: update_text(mark),
    };
    let which = if is_known { " between runs" } else { "" };
    Timeline {
        id,
        caption: format!(
            "{} at {}: {} runs with their 95 % intervals{which}; lines are medians between changes, \
             symbols at the bottom are updates.",
            plain(&series.case),
            plain(&series.target),
            series.points.len()
        ),
        unit: series.unit,
        runs: series.points.iter().enumerate().map(run).collect(),
        changes: series.changes.iter().map(change).collect(),
        updates: series.updates.iter().map(update).collect(),
    }
}

/// A figure with its intervals: between runs, if it is known, and what the run's own repetitions
/// leave open.
pub(super) fn figure_with_intervals(point: &Point, style: &Style) -> String {
    let ends = |[low, high]: [f64; 2]| format!("{} .. {}", style.number(low), style.number(high));
    let between = point.between_run_ci95.map(ends);
    let within = point.interval.map(|it| format!("{} within the run", ends(it)));
    let intervals: Vec<String> = between.into_iter().chain(within).collect();
    let figure = style.with_unit(point.median);
    if intervals.is_empty() { figure } else { format!("{figure} ({})", intervals.join("; ")) }
}

/// The letter of what can be updated.
pub(super) fn letter(updated: UpdatedPart) -> char {
    match updated {
        UpdatedPart::Kernel => 'K',
        UpdatedPart::Image => 'I',
        UpdatedPart::Microcode => 'M',
        UpdatedPart::CommandLine => 'L',
        UpdatedPart::Mitigations => 'G',
        UpdatedPart::Modules => 'S',
        UpdatedPart::Tracers => 'T',
        UpdatedPart::Clock => 'R',
        UpdatedPart::Mode => 'W',
        UpdatedPart::Cpu => 'P',
        UpdatedPart::Oscost => 'O',
        UpdatedPart::Worker => 'C',
    }
}
