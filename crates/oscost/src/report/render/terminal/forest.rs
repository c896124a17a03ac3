//! Ratios with their intervals as lines of characters.

use super::layout::{ScreenFormat, short_names};
use super::paint::{Paint, width};
use crate::report::view::document::{ForestLine, ForestPlot};

/// Columns to either side of 1.
const ARM: usize = 20;
/// The same on a narrow screen, which needs its columns for names.
const NARROW_ARM: usize = 12;
/// Columns for names.
const NAMES: usize = 38;
/// The ratios at which a scale may end; an interval that reaches beyond the last one ends in an
/// arrow.
const ENDS: [f64; 8] = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 10.0];

/// A logarithmic scale of ratios around 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioScale {
    /// The ratio at its right end.
    end: f64,
    /// Columns to either side of 1.
    arm: usize,
}

/// A ratio on a scale.
#[derive(Clone, Copy, Debug)]
pub(super) struct RatioMark {
    pub(super) ratio: f64,
    pub(super) interval: [f64; 2],
}

impl RatioScale {
    /// The shortest scale that has all intervals; `None` without any.
    pub(super) fn of(marks: impl Iterator<Item = RatioMark>, arm: usize) -> Option<Self> {
        let reach = |mark: RatioMark| mark.interval.map(|end| end.ln().abs());
        let furthest = marks.flat_map(reach).max_by(f64::total_cmp)?;
        let end = ENDS.into_iter().find(|end: &f64| end.ln() >= furthest).unwrap_or(10.0);
        Some(Self { end, arm })
    }

    /// The numbers above it.
    pub(super) fn heading(self) -> String {
        let (left, right) = (format!("{:.2}", 1.0 / self.end), format!("{:.2}", self.end));
        let before = self.arm.saturating_sub(left.len());
        let behind = self.arm.saturating_sub(right.len());
        format!("{left}{:before$}1{:behind$}{right}", "", "")
    }

    /// A ratio with its interval.
    pub(super) fn line(self, RatioMark { ratio, interval }: RatioMark) -> String {
        let (end, arm) = (self.end.ln(), self.arm as f64);
        let column = |log: f64| ((log / end).clamp(-1.0, 1.0) * arm + arm).round() as usize;
        let [low, high] = interval.map(f64::ln);
        let mut line = vec![' '; 2 * self.arm + 1];
        line[self.arm] = '|';
        // Of an untrusted record, an interval may be upside down.
        let (from, to) = (column(low).min(column(high)), column(low).max(column(high)));
        line[from..=to].fill('-');
        let is_beyond = |log: f64| log.abs() > end + 1e-9;
        line[from] = if is_beyond(low) { '<' } else { '[' };
        line[to] = if is_beyond(high) { '>' } else { ']' };
        if !is_beyond(ratio.ln()) {
            line[column(ratio.ln())] = 'o';
        }
        let line: String = line.into_iter().collect();
        line.trim_end().to_owned()
    }
}

/// The plot; empty if no ratio has an interval.
pub(super) fn forest(plot: &ForestPlot, screen: ScreenFormat) -> String {
    let arm = if screen.is_narrow() { NARROW_ARM } else { ARM };
    let columns = NAMES.min(screen.columns.saturating_sub(2 * arm + 2));
    let with_interval = plot.lines.iter().filter(|line| line.interval.is_some());
    let names: Vec<&str> = with_interval.map(|line| line.name.as_str()).collect();
    let mut names = short_names(&names, columns).into_iter();
    let mark =
        |line: &ForestLine| line.interval.map(|interval| RatioMark { ratio: line.ratio, interval });
    let Some(scale) = RatioScale::of(plot.lines.iter().filter_map(mark), arm) else {
        return String::new();
    };
    let mut out = format!("{:columns$} {}\n", "new / base", scale.heading());
    for line in &plot.lines {
        let Some(mark) = mark(line) else { continue };
        let name = names.next().unwrap_or_default();
        let gap = " ".repeat((columns + 1).saturating_sub(width(&name)).max(1));
        let drawn = Paint::Word(&line.verdict).lines(&scale.line(mark), screen.colour);
        out += &format!("{name}{gap}{drawn}\n");
    }
    out
}
