//! Ratios with their intervals as lines of characters.

use crate::report::text::shorten;
use crate::report::view::document::ForestPlot;

/// Columns to either side of 1.
const ARM: usize = 20;
/// Columns for names.
const NAMES: usize = 38;

/// The plot; empty if no ratio has an interval.
pub(super) fn forest(plot: &ForestPlot) -> String {
    let logs: Vec<(&str, f64, [f64; 2])> = plot
        .lines
        .iter()
        .filter_map(|it| Some((it.name.as_str(), it.ratio.ln(), it.interval?.map(f64::ln))))
        .collect();
    let Some(furthest) =
        logs.iter().map(|(_, _, [low, high])| low.abs().max(high.abs())).max_by(f64::total_cmp)
    else {
        return String::new();
    };
    // The scale ends at a round ratio; an interval that reaches beyond the last one ends in an arrow.
    let ends = [1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 4.0, 10.0];
    let end = ends.into_iter().find(|end: &f64| end.ln() >= furthest).unwrap_or(10.0);
    let arm = ARM as f64;
    let column = |log: f64| ((log / end.ln()).clamp(-1.0, 1.0) * arm + arm).round() as usize;
    let (left, right) = (format!("{:.2}", 1.0 / end), format!("{end:.2}"));
    let before = ARM.saturating_sub(left.len());
    let behind = ARM.saturating_sub(right.len());
    let mut out = format!("{:NAMES$} {left}{:before$}1{:behind$}{right}\n", "new / base", "", "");
    for (name, value, [low, high]) in logs {
        let mut line = [' '; 2 * ARM + 1];
        line[ARM] = '|';
        let (from, to) = (column(low), column(high));
        line[from..=to].fill('-');
        let is_beyond = |log: f64| log.abs() > end.ln() + 1e-9;
        line[from] = if is_beyond(low) { '<' } else { '[' };
        line[to] = if is_beyond(high) { '>' } else { ']' };
        if !is_beyond(value) {
            line[column(value)] = 'o';
        }
        let line: String = line.into_iter().collect();
        out += &format!("{} {}\n", shorten(name, NAMES), line.trim_end());
    }
    out
}
