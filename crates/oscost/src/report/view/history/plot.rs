//! A series as a picture of characters: run by run along, the figure up, what was updated below.
//!
//! The scale is a plain one around the medians: what is looked for are some per cent, which no scale
//! of ratios shows (that one is in `render/terminal/plot.rs`).

use std::fmt::Write as _;

use crate::report::figures::Style;
use crate::report::figures::quantity;
use crate::report::text::fold;
use crate::report::view::history::{Point, Series, Updated};

/// Lines from the smallest figure to the largest.
const HEIGHT: usize = 14;
/// What a terminal takes.
const WIDTH: usize = 80;
/// Of fewer runs each may have so many columns.
const WIDEST_STEP: usize = 4;
/// A run's number stands under each so many runs.
const NUMBERED: usize = 10;

/// The figures of the picture, from its lowest line to its highest.
struct Up {
    low: f64,
    high: f64,
}

impl Up {
    /// All medians, and half an interval of the usual width on either side.
    fn of(points: &[Point]) -> Option<Self> {
        let medians = || points.iter().map(|point| point.median);
        let low = medians().min_by(f64::total_cmp)?;
        let high = medians().max_by(f64::total_cmp)?;
        let mut halves: Vec<f64> = points
            .iter()
            .filter_map(|point| point.interval.map(|[low, high]| (high - low).max(0.0) / 2.0))
            .collect();
        halves.sort_by(f64::total_cmp);
        let usual = halves.get(halves.len() / 2).copied().unwrap_or(0.0);
        // Where all are equal and exact there is nothing to see but a line; it needs a scale too.
        let beyond = usual.max((high - low) * 0.02).max(high.abs() * 1e-3);
        let sound = beyond.is_finite() && beyond > 0.0;
        sound.then_some(Self { low: low - beyond, high: high + beyond })
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

/// Where each run stands: those that have a column, and which.
struct Along {
    /// The first run of the picture.
    first: usize,
    /// The column of each from there on.
    columns: Vec<usize>,
    /// The column of each change among them, between two runs.
    changes: Vec<(usize, f64)>,
}

impl Along {
    fn of(series: &Series, targets: usize) -> Self {
        let count = series.points.len();
        let changed = |at: usize| series.changes.iter().find(|change| change.point == at);
        // From the newest run backwards, as far as there is room.
        let (mut first, mut needed) = (count, 0);
        while first > 0 {
            let more = 1 + usize::from(changed(first - 1).is_some());
            if needed + more > targets {
                break;
            }
            (first, needed) = (first - 1, needed + more);
        }
        let step = (targets / needed.max(1)).clamp(1, WIDEST_STEP);
        let (mut columns, mut changes, mut next) = (Vec::new(), Vec::new(), 0);
        for at in first..count {
            if let Some(change) = changed(at) {
                changes.push((next, change.ratio));
                next += step;
            }
            columns.push(next);
            next += step;
        }
        Self { first, columns, changes }
    }

    fn width(&self) -> usize {
        self.columns.last().map_or(0, |last| last + 1)
    }

    /// The column of a run of the series, where it has one.
    fn column(&self, point: usize) -> Option<usize> {
        self.columns.get(point.checked_sub(self.first)?).copied()
    }
}

/// The picture; `None` where there are too few runs for one, or no scale for their figures.
pub(in crate::report) fn picture(series: &Series) -> Option<String> {
    let points = &series.points;
    let up = Up::of(points).filter(|_| points.len() > 1)?;
    let style = Style::of(up.high, series.unit);
    let marks: Vec<(usize, String)> =
        up.marks().into_iter().map(|mark| (up.row(mark), style.with_unit(mark))).collect();
    let names = marks.iter().map(|(_, name)| name.chars().count()).max().unwrap_or(0);
    let margin = 2 + names + 2;
    let along = Along::of(series, WIDTH - margin - 1);
    // Writing to a String cannot fail.
    let mut out = format!("  {} by run\n", quantity(series.unit));
    let ratios: Vec<(usize, String)> =
        along.changes.iter().map(|&(column, ratio)| (column, times(ratio))).collect();
    out.push_str(&in_lines(&ratios, margin));
    let (cells, beyond) = cells(series, &up, &along);
    for row in (0..HEIGHT).rev() {
        let name = marks.iter().find(|(at, _)| *at == row).map_or("", |(_, name)| name.as_str());
        let tick = if name.is_empty() { '|' } else { '+' };
        let line: String = cells[row].iter().collect();
        let _ = writeln!(out, "{}", format!("  {name:>names$} {tick}{line}").trim_end());
    }
    out.push_str(&foot(series, &along, margin));
    let mut legend = vec!["o run, : its interval".to_owned()];
    if beyond {
        legend.push("^ v it goes beyond the picture".to_owned());
    }
    if !along.changes.is_empty() {
        legend.push("| change".to_owned());
    }
    let updated = |what: &Updated| {
        series.marks.iter().any(|it| it.what == *what && along.column(it.point).is_some())
    };
    let letters = Updated::ALL.into_iter().filter(updated);
    legend.extend(letters.map(|it| format!("{} {}", it.letter(), it.text())));
    let _ = writeln!(out, "  {}", fold(&legend.join(", "), 76, "  "));
    if along.first > 0 {
        let shown = points.len() - along.first;
        let _ = writeln!(out, "  the picture has room for the newest {shown} runs");
    }
    Some(out)
}

/// A ratio in as many digits as tell it from 1, and in at most five letters behind the x.
pub(in crate::report) fn times(ratio: f64) -> String {
    match ratio {
        near if (near - 1.0).abs() < 0.095 => format!("x{near:.3}"),
        usual if (0.01..99.995).contains(&usual) => format!("x{usual:.2}"),
        large if (99.995..99_999.5).contains(&large) => format!("x{large:.0}"),
        far => format!("x{far:.0e}"),
    }
}

/// The characters, lines from below; and whether an interval leaves the picture.
fn cells(series: &Series, up: &Up, along: &Along) -> (Vec<Vec<char>>, bool) {
    let mut cells = vec![vec![' '; along.width()]; HEIGHT];
    let mut beyond = false;
    for &(column, _) in &along.changes {
        cells.iter_mut().for_each(|row| row[column] = '|');
    }
    for (point, &column) in series.points[along.first..].iter().zip(&along.columns) {
        if let Some([low, high]) = point.interval.filter(|[low, high]| low <= high) {
            let (bottom, top) = (up.row(low), up.row(high));
            cells[bottom..=top].iter_mut().for_each(|row| row[column] = ':');
            if low < up.low {
                (cells[bottom][column], beyond) = ('v', true);
            }
            if high > up.high {
                (cells[top][column], beyond) = ('^', true);
            }
        }
        cells[up.row(point.median)][column] = 'o';
    }
    (cells, beyond)
}

/// The line at the bottom; under it numbers of runs, days, and letters of what was updated.
fn foot(series: &Series, along: &Along, margin: usize) -> String {
    let count = series.points.len();
    let mut line = vec!['-'; along.width()];
    let numbered = (along.first..count).filter(|at| (at + 1) % NUMBERED == 0 || *at == along.first);
    let mut numbers = Vec::new();
    for at in numbered {
        if let Some(column) = along.column(at) {
            line[column] = '+';
            numbers.push((column, (at + 1).to_string()));
        }
    }
    let line: String = line.into_iter().collect();
    let mut out = format!("{:gap$}+{line}\n", "", gap = margin - 1);
    out.push_str(&in_lines(&numbers, margin));
    let day =
        |at: usize| series.points.get(at).map(|point| crate::report::text::day(&point.started));
    let (first, last) = (day(along.first).unwrap_or_default(), day(count - 1).unwrap_or_default());
    let width = along.width().max(first.len());
    match width >= first.len() + last.len() + 2 {
        true => {
            let gap = width - first.len();
            let _ = writeln!(out, "{:margin$}{first}{last:>gap$}", "");
        }
        false => {
            let _ = writeln!(out, "{:margin$}{first} .. {last}", "");
        }
    }
    let letters: Vec<(usize, String)> = series
        .marks
        .iter()
        .filter_map(|mark| Some((along.column(mark.point)?, mark.what.letter().to_string())))
        .collect();
    out.push_str(&in_lines(&letters, margin));
    out
}

/// Texts under or above their columns, each in the first line that has room for it.
fn in_lines(texts: &[(usize, String)], margin: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for (column, text) in texts {
        // Not beyond the edge.
        let start = (margin + column).min(WIDTH - text.len());
        // Letters may touch each other, words may not.
        let apart = usize::from(text.len() > 1);
        let parted = |line: &&mut String| line.is_empty() || line.len() + apart <= start;
        match lines.iter_mut().find(parted) {
            Some(line) => {
                let gap = start - line.len();
                let _ = write!(line, "{:gap$}{text}", "");
            }
            None => lines.push(format!("{:start$}{text}", "")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}
