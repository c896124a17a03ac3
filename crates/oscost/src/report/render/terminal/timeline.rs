//! Figures of successive runs as a picture of characters: runs along, figures up, updates below.
//!
//! The scale is linear around the medians: changes of a few per cent show on no logarithmic one.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::ScreenFormat;
use crate::report::figures::{Style, quantity};
use crate::report::text::fold;
use crate::report::view::document::timeline::{Timeline, TimelineRun, ratio_text};

/// Lines from the smallest figure to the largest.
const HEIGHT: usize = 14;
/// The maximum number of columns of a run.
const MAX_STEP: usize = 4;
/// A run's number is under every tenth run.
const NUMBERED: usize = 10;
/// Of so few runs all intervals fit into the picture: no one of them is unusual.
const FEW_RUNS: usize = 10;
/// The maximum number of updates that are listed.
const MAX_UPDATES: usize = 8;

/// The figures of the picture, from its lowest line to its highest.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    /// All medians, and half an interval of the usual width on either side; of few runs, all intervals.
    fn of(runs: &[TimelineRun]) -> Option<Self> {
        let medians = runs.iter().map(|run| run.figure);
        let of_few = runs.iter().filter(|_| runs.len() <= FEW_RUNS);
        let ends = of_few.filter_map(|run| run.interval).flatten().filter(|end| end.is_finite());
        let figures: Vec<f64> = medians.chain(ends).collect();
        let low = figures.iter().copied().min_by(f64::total_cmp)?;
        let high = figures.iter().copied().max_by(f64::total_cmp)?;
        let mut halves: Vec<f64> = runs
            .iter()
            .filter_map(|run| run.interval.map(|[low, high]| (high - low).max(0.0) / 2.0))
            .collect();
        halves.sort_by(f64::total_cmp);
        let usual = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
        let usual = if runs.len() <= FEW_RUNS { 0.0 } else { usual };
        // Figures that are all equal and exact need a scale, too.
        let margin = usual.max((high - low) * 0.02).max(high.abs() * 1e-3);
        let is_usable = margin.is_finite() && margin > 0.0;
        is_usable.then_some(Self { low: low - margin, high: high + margin })
    }

    fn row(&self, value: f64) -> usize {
        let share = (value - self.low) / (self.high - self.low);
        (share.clamp(0.0, 1.0) * (HEIGHT - 1) as f64).round() as usize
    }

    /// Round figures on it, three to seven of them.
    fn marks(&self) -> Vec<f64> {
        let step = (self.high - self.low) / 7.0;
        let base = 10f64.powf(step.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|times| times * base).into_iter().find(|it| *it >= step);
        let step = step.unwrap_or(10.0 * base);
        let first = (self.low / step).ceil() as i64;
        let last = (self.high / step).floor() as i64;
        (first..=last).map(|number| number as f64 * step).collect()
    }
}

/// The columns of runs.
struct Columns {
    /// The first run of the picture.
    first: usize,
    /// The column of each run from there on.
    runs: Vec<usize>,
    /// The changes among them.
    changes: Vec<ChangeColumn>,
}

/// A change between two runs.
struct ChangeColumn {
    column: usize,
    ratio: f64,
}

impl Columns {
    fn of(timeline: &Timeline, width: usize) -> Self {
        let count = timeline.runs.len();
        let changed = |run: usize| timeline.changes.iter().find(|change| change.run == run);
        // From the newest run backwards, as far as there is room.
        let (mut first, mut needed) = (count, 0);
        while first > 0 {
            let more = 1 + usize::from(changed(first - 1).is_some());
            if needed + more > width {
                break;
            }
            (first, needed) = (first - 1, needed + more);
        }
        let step = (width / needed.max(1)).clamp(1, MAX_STEP);
        let (mut runs, mut changes, mut next) = (Vec::new(), Vec::new(), 0);
        for run in first..count {
            if let Some(change) = changed(run) {
                changes.push(ChangeColumn { column: next, ratio: change.ratio });
                next += step;
            }
            runs.push(next);
            next += step;
        }
        Self { first, runs, changes }
    }

    fn width(&self) -> usize {
        self.runs.last().map_or(0, |last| last + 1)
    }

    /// The column of a run, where it has one.
    fn of_run(&self, run: usize) -> Option<usize> {
        self.runs.get(run.checked_sub(self.first)?).copied()
    }
}

/// A text at a column.
struct Label {
    column: usize,
    text: String,
}

/// The plot with its legend and updates; `None` if there are too few runs, or if no scale fits the
/// figures.
pub(super) fn timeline(timeline: &Timeline, screen: ScreenFormat) -> Option<String> {
    let width = screen.prose();
    let runs = &timeline.runs;
    let scale = Scale::of(runs).filter(|_| runs.len() > 1)?;
    let style = Style::of(scale.high, timeline.unit);
    let marks: BTreeMap<usize, String> =
        scale.marks().into_iter().map(|mark| (scale.row(mark), style.with_unit(mark))).collect();
    let names = marks.values().map(|name| name.chars().count()).max().unwrap_or(0);
    let margin = 2 + names + 2;
    let columns = Columns::of(timeline, width - margin - 1);
    // Writing to a String cannot fail.
    let mut out = format!("  {} by run\n", quantity(timeline.unit));
    let ratio = |it: &ChangeColumn| Label { column: it.column, text: ratio_text(it.ratio) };
    out += &in_lines(columns.changes.iter().map(ratio), margin, width);
    let Picture { rows, is_cut } = picture(runs, &scale, &columns);
    for (number, row) in rows.iter().enumerate().rev() {
        let name = marks.get(&number).map_or("", String::as_str);
        let tick = if name.is_empty() { '|' } else { '+' };
        let row: String = row.iter().collect();
        let _ = writeln!(out, "{}", format!("  {name:>names$} {tick}{row}").trim_end());
    }
    out += &footer(timeline, &columns, margin, width);
    let mut legend = vec!["o run, : its interval".to_owned()];
    if is_cut {
        legend.push("^ v it leaves the picture".to_owned());
    }
    if !columns.changes.is_empty() {
        legend.push("| change".to_owned());
    }
    let mut kinds: Vec<String> = Vec::new();
    for update in timeline.updates.iter().filter(|it| columns.of_run(it.run).is_some()) {
        let kind = format!("{} {}", update.letter, update.kind);
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    legend.extend(kinds);
    let _ = writeln!(out, "  {}", fold(&legend.join(", "), width - 4, "  "));
    if columns.first > 0 {
        let shown = runs.len() - columns.first;
        let _ = writeln!(out, "  the picture has room for the newest {shown} runs");
    }
    Some(out + &updates(timeline, width))
}

/// The newest updates, a line each.
fn updates(timeline: &Timeline, width: usize) -> String {
    let skipped = timeline.updates.len().saturating_sub(MAX_UPDATES);
    let mut out = String::new();
    for update in &timeline.updates[skipped..] {
        let day = timeline.runs.get(update.run).map_or("", |run| &run.day);
        let text = format!("{} run {} of {day}: {}", update.letter, update.run + 1, update.text);
        let _ = writeln!(out, "  {}", fold(&text, width - 4, "    "));
    }
    if skipped > 0 {
        let _ = writeln!(out, "  and {skipped} earlier updates");
    }
    out
}

/// The characters of a picture.
struct Picture {
    /// Its rows, from below.
    rows: Vec<Vec<char>>,
    /// Whether an interval leaves it.
    is_cut: bool,
}

fn picture(runs: &[TimelineRun], scale: &Scale, columns: &Columns) -> Picture {
    let mut rows = vec![vec![' '; columns.width()]; HEIGHT];
    let mut is_cut = false;
    for change in &columns.changes {
        rows.iter_mut().for_each(|row| row[change.column] = '|');
    }
    for (run, &column) in runs[columns.first..].iter().zip(&columns.runs) {
        if let Some([low, high]) = run.interval.filter(|[low, high]| low <= high) {
            let (bottom, top) = (scale.row(low), scale.row(high));
            rows[bottom..=top].iter_mut().for_each(|row| row[column] = ':');
            if low < scale.low {
                (rows[bottom][column], is_cut) = ('v', true);
            }
            if high > scale.high {
                (rows[top][column], is_cut) = ('^', true);
            }
        }
        rows[scale.row(run.figure)][column] = 'o';
    }
    Picture { rows, is_cut }
}

/// The line at the bottom; under it numbers of runs, days, and letters of updates.
fn footer(timeline: &Timeline, columns: &Columns, margin: usize, width: usize) -> String {
    let count = timeline.runs.len();
    let mut line = vec!['-'; columns.width()];
    let mut numbers = Vec::new();
    for run in columns.first..count {
        let is_numbered = (run + 1) % NUMBERED == 0 || run == columns.first;
        if let Some(column) = columns.of_run(run).filter(|_| is_numbered) {
            line[column] = '+';
            numbers.push(Label { column, text: (run + 1).to_string() });
        }
    }
    let line: String = line.into_iter().collect();
    let mut out = format!("{:gap$}+{line}\n", "", gap = margin - 1);
    out += &in_lines(numbers, margin, width);
    let day = |run: usize| timeline.runs.get(run).map_or("", |run| &run.day);
    let (first, last) = (day(columns.first), day(count - 1));
    let drawn = columns.width().max(first.len());
    out += &match drawn >= first.len() + last.len() + 2 {
        true => format!("{:margin$}{first}{last:>gap$}\n", "", gap = drawn - first.len()),
        false => format!("{:margin$}{first} .. {last}\n", ""),
    };
    let letters = timeline.updates.iter().filter_map(|update| {
        Some(Label { column: columns.of_run(update.run)?, text: update.letter.to_string() })
    });
    out + &in_lines(letters, margin, width)
}

/// Labels above or under their columns, each in the first line that has room for it.
fn in_lines(labels: impl IntoIterator<Item = Label>, margin: usize, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for Label { column, text } in labels {
        // Not beyond the edge.
        let start = (margin + column).min(width - text.len());
        // Letters may touch each other, words may not.
        let space = usize::from(text.len() > 1);
        let has_room = |line: &&mut String| line.is_empty() || line.len() + space <= start;
        match lines.iter_mut().find(has_room) {
            Some(line) => {
                let gap = start - line.len();
                let _ = write!(line, "{:gap$}{text}", "");
            }
            None => lines.push(format!("{:start$}{text}", "")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intervals_of_few_runs_fit_into_the_picture() {
        let run = |figure: f64, interval: [f64; 2]| TimelineRun {
            day: String::new(),
            figure,
            interval: Some(interval),
            details: Vec::new(),
        };
        let few =
            [run(115.2, [114.9, 115.5]), run(115.5, [98.0, 133.0]), run(115.8, [115.6, 116.0])];
        let scale = Scale::of(&few).unwrap();
        assert!(scale.low < 98.0 && scale.high > 133.0, "{} {}", scale.low, scale.high);
        let many: Vec<TimelineRun> = few.iter().cycle().take(30).cloned().collect();
        let scale = Scale::of(&many).unwrap();
        assert!(scale.low > 110.0 && scale.high < 120.0, "{} {}", scale.low, scale.high);
    }

    #[test]
    fn a_ratio_has_as_many_digits_as_distinguish_it_from_1() {
        for (ratio, text) in
            [(1.0501, "x1.050"), (0.5, "x0.50"), (99.996, "x100"), (1e9, "x1e9"), (1e-40, "x1e-40")]
        {
            assert_eq!(ratio_text(ratio), text);
        }
    }
}
