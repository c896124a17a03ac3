//! A plot of curves in characters, with logarithmic scales.
//!
//! No crate is used, because those that plot on terminals use Braille characters or linear scales.
//! ASCII is readable in every log and mail.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::layout::ScreenFormat;
use crate::report::figures::{quantity, short};
use crate::report::text::plain;
use crate::report::view::document::{LogPlot, PlotLine, PlotPoint};

/// Lines from the largest figure to the smallest.
const HEIGHT: usize = 16;
/// More curves than these cannot be distinguished.
const MAX_CURVES: usize = 10;
/// A position at which two curves have a point.
const SEVERAL: char = '*';
/// Between two points of a curve.
const BETWEEN: char = '.';
/// The maximum number of marks on a scale that can be read.
const MAX_MARKS: usize = 9;

/// A logarithmic scale over a number of columns or lines.
struct Scale {
    from: f64,
    to: f64,
    cells: usize,
}

impl Scale {
    fn cell(&self, value: f64) -> usize {
        let share = (value / self.from).ln() / (self.to / self.from).ln();
        (share * (self.cells - 1) as f64).round().clamp(0.0, (self.cells - 1) as f64) as usize
    }

    /// Round numbers on it: by steps of 1, 2, 5 or, where these are too many, of 10 and more; or by
    /// powers of four and more.
    fn marks(&self, binary: bool) -> Vec<f64> {
        let inside = |mark: &f64| self.from * 0.999 <= *mark && *mark <= self.to * 1.001;
        let powers = |base: f64, steps: &[f64]| -> Vec<f64> {
            let first = self.from.log(base).floor() as i32;
            let last = self.to.log(base).ceil() as i32;
            let all = (first..=last)
                .flat_map(|power| steps.iter().map(move |step| step * base.powi(power)));
            all.filter(inside).collect()
        };
        let few = |marks: &Vec<f64>| marks.len() <= MAX_MARKS;
        let ways: Vec<Vec<f64>> = match binary {
            true => [4.0, 16.0, 64.0, 256.0].map(|base| powers(base, &[1.0])).to_vec(),
            false => vec![
                powers(10.0, &[1.0, 2.0, 5.0]),
                powers(10.0, &[1.0]),
                powers(100.0, &[1.0]),
                powers(1_000.0, &[1.0]),
            ],
        };
        ways.into_iter().find(few).unwrap_or_default()
    }
}

/// The nearest round number, of 1, 2 and 5 times a power of ten, not above or not below a value.
fn round(value: f64, up: bool) -> f64 {
    let base = 10f64.powf(value.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * base);
    // What lies on one is not pushed to the next by the last bit.
    match up {
        true => steps.into_iter().find(|step| *step >= value * 0.999_999),
        false => steps.into_iter().rev().find(|step| *step <= value * 1.000_001),
    }
    .unwrap_or(value)
}

/// A letter for each label, from the label where it has one left.
fn letters(labels: &[&str]) -> Vec<char> {
    let mut used: Vec<char> = Vec::new();
    for label in labels {
        let own = label.chars().filter(char::is_ascii_alphanumeric);
        let lower = own.clone().map(|letter| letter.to_ascii_lowercase());
        let others =
            own.map(|letter| letter.to_ascii_uppercase()).chain('a'..='z').chain('A'..='Z');
        // A curve that needs no name is drawn in the plainest letter.
        let nameless = label.is_empty().then_some('o');
        let free =
            nameless.into_iter().chain(lower).chain(others).find(|letter| !used.contains(letter));
        used.push(free.unwrap_or('?'));
    }
    used
}

/// The plot, with scales and a legend; `None` if its points do not span a scale.
pub(super) fn plot(plot: &LogPlot, screen: ScreenFormat) -> Option<String> {
    let width = screen.prose();
    let LogPlot { lines, by, unit } = plot;
    let unit = *unit;
    let drawn = &lines[..lines.len().min(MAX_CURVES)];
    let points = || drawn.iter().flat_map(|line| line.points.iter().copied());
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        values.fold((f64::INFINITY, 0f64), |(low, high), value| (low.min(value), high.max(value)))
    };
    let (first, last) = ends(&mut points().map(|point| point.x as f64));
    let (low, high) = ends(&mut points().map(|point| point.y));
    // An untrusted record may contain any number; no real figure exceeds these bounds.
    let is_valid = first > 0.0 && first < last && low > 1e-30 && high < 1e30;
    if !is_valid {
        return None;
    }
    let (mut from, mut to) = (round(low, false), round(high, true));
    if from == to {
        (from, to) = (round(from * 0.6, false), round(to * 1.4, true));
    }
    let up = Scale { from, to, cells: HEIGHT };
    let marks: BTreeMap<usize, String> =
        up.marks(false).into_iter().map(|mark| (up.cell(mark), short(mark, unit))).collect();
    let names = marks.values().map(|name| name.chars().count()).max().unwrap_or(0);
    let margin = 2 + names + 2;
    let along = Scale { from: first, to: last, cells: width - margin - 2 };
    let cells = cells(drawn, &up, &along);
    let mut out = format!("  {} by {}, both on logarithmic scales\n", quantity(unit), plain(by));
    for row in (0..HEIGHT).rev() {
        let line: String = (0..along.cells)
            .map(|column| cells.get(&(row, column)).copied().unwrap_or(' '))
            .collect();
        let name = marks.get(&row).map_or("", String::as_str);
        let tick = if name.is_empty() { '|' } else { '+' };
        let text = format!("  {name:>names$} {tick}{line}");
        let _ = writeln!(out, "{}", text.trim_end());
    }
    let binary = points().all(|point| point.x.is_power_of_two());
    out.push_str(&footer(&along, binary, margin, width));
    let labels: Vec<&str> = drawn.iter().map(|line| line.label.as_str()).collect();
    out.push_str(&legend(&labels, cells.values().any(|&it| it == SEVERAL), width));
    if lines.len() > MAX_CURVES {
        let _ = writeln!(out, "  the first {MAX_CURVES} of {} curves", lines.len());
    }
    Some(out)
}

/// The characters of the plot, by row, counted from below, and column.
fn cells(lines: &[PlotLine], up: &Scale, along: &Scale) -> BTreeMap<(usize, usize), char> {
    let labels: Vec<&str> = lines.iter().map(|line| line.label.as_str()).collect();
    let mut cells = BTreeMap::new();
    let cell = |point: &PlotPoint| (up.cell(point.y), along.cell(point.x as f64));
    for line in lines {
        for pair in line.points.windows(2) {
            let ((from_row, from), (to_row, to)) = (cell(&pair[0]), cell(&pair[1]));
            let steps = (to - from).max(from_row.abs_diff(to_row));
            for step in 1..steps {
                let share = step as f64 / steps as f64;
                let between = |one: usize, other: usize| {
                    (one as f64 + share * (other as f64 - one as f64)).round() as usize
                };
                cells.insert((between(from_row, to_row), between(from, to)), BETWEEN);
            }
        }
    }
    let mut owner = BTreeMap::new();
    for (at, (line, letter)) in lines.iter().zip(letters(&labels)).enumerate() {
        for point in &line.points {
            let by = *owner.entry(cell(point)).or_insert(at);
            cells.insert(cell(point), if by == at { letter } else { SEVERAL });
        }
    }
    cells
}

/// The scale at the bottom: a line with marks, and under it their numbers.
fn footer(along: &Scale, binary: bool, margin: usize, width: usize) -> String {
    let mut line = vec!['-'; along.cells];
    let mut names = String::new();
    for mark in along.marks(binary) {
        let cell = along.cell(mark);
        let name = number(mark, binary);
        // Under its mark, but not beyond the edge.
        let centred = (margin + cell + 1).saturating_sub(name.len().div_ceil(2));
        let start = centred.min(width - name.len());
        if names.is_empty() || start > names.len() {
            let _ = write!(names, "{:gap$}{name}", "", gap = start - names.len());
            line[cell] = '+';
        }
    }
    let line: String = line.into_iter().collect();
    format!("{:gap$}+{line}\n{names}\n", "", gap = margin - 1)
}

/// A round number in as few characters as possible.
fn number(mark: f64, binary: bool) -> String {
    let letters: &[(f64, &str)] = match binary {
        true => &[(1_073_741_824.0, "Gi"), (1_048_576.0, "Mi"), (1_024.0, "Ki")],
        false => &[(1e9, "G"), (1e6, "M"), (1e4, "k")],
    };
    let kilo = |least: f64, letter: &str| if letter == "k" { 1_000.0 } else { least };
    match letters.iter().find(|(least, _)| mark >= *least) {
        Some((least, letter)) => format!("{:.0}{letter}", mark / kilo(*least, letter)),
        None => format!("{mark:.0}"),
    }
}

/// The letter of each curve; a line break never separates a letter from its label.
fn legend(labels: &[&str], several: bool, width: usize) -> String {
    let named = letters(labels).into_iter().zip(labels).filter(|(_, label)| !label.is_empty());
    let mut parts: Vec<String> =
        named.map(|(letter, label)| format!("{letter} {}", plain(label))).collect();
    if several {
        parts.push(format!("{SEVERAL} several at one point"));
    }
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut() {
            Some(line) if line.chars().count() + part.chars().count() + 4 <= width => {
                line.push_str(&format!(", {part}"));
            }
            Some(line) => {
                line.push(',');
                lines.push(format!("  {part}"));
            }
            None => lines.push(format!("  {part}")),
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use oscost_model::unit::Unit;

    use super::*;

    fn drawn(lines: &[PlotLine], by: &str, unit: Unit) -> Option<String> {
        plot(&LogPlot { lines: lines.to_vec(), by: by.to_owned(), unit }, ScreenFormat::PLAIN)
    }

    fn line(label: &str, figure: impl Fn(f64) -> f64) -> PlotLine {
        let numbers = [10, 18, 32, 56, 100, 180, 320, 560, 1_000, 1_800];
        let points = numbers.map(|x| PlotPoint { x, y: figure(x as f64) }).to_vec();
        PlotLine { label: label.into(), points }
    }

    /// A text in one line.
    fn flat(text: &str) -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_plot_fits_a_terminal_and_has_a_legend_and_scales() {
        let lines = [
            line("select", |n| 310.0 + 9.0 * n),
            line("poll", |n| 400.0 + 21.0 * n),
            line("epoll", |_| 250.0),
            line("io-uring-poll", |_| 252.0),
        ];
        let shown = drawn(&lines, "fds", Unit::NsPerOp).unwrap();
        // The scales end at round numbers; two of the four curves coincide.
        let lines: Vec<&str> = shown.lines().collect();
        assert_eq!(lines.len(), 1 + HEIGHT + 2 + 1, "{shown}");
        assert_eq!(lines[1].trim_end(), "   50 us +", "{shown}");
        assert!(lines[2].ends_with("....p") && lines[4].ends_with("..s"), "{shown}");
        assert_eq!(lines[HEIGHT - 1].matches('*').count(), 10, "{shown}");
        assert_eq!(lines[HEIGHT], "  200 ns +", "{shown}");
        let scale = "          10       20          50      100      200        500      1000";
        assert_eq!(lines[HEIGHT + 2], scale);
        let legend = "  s select, p poll, e epoll, i io-uring-poll, * several at one point";
        assert_eq!(lines[HEIGHT + 3], legend);

        assert!(
            shown.lines().all(|line| line.len() <= ScreenFormat::PLAIN.columns) && shown.is_ascii()
        );
    }

    #[test]
    fn letters_come_from_the_labels_and_are_never_two_curves() {
        let found = letters(&["poll", "ppoll", "pselect", "epoll", "p", "-"]);
        assert_eq!(found, ['p', 'o', 's', 'e', 'P', 'a']);
    }

    #[test]
    fn scales_end_and_are_marked_at_round_numbers() {
        assert_eq!([round(250.0, false), round(250.0, true)], [200.0, 500.0]);
        assert_eq!([round(200.0, false), round(200.0, true)], [200.0, 200.0]);
        assert_eq!([round(0.7, false), round(7e5, true)], [0.5, 1e6]);
        let scale = |from, to| Scale { from, to, cells: 60 };
        assert_eq!(
            scale(10.0, 1_800.0).marks(false),
            [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0]
        );
        assert_eq!(scale(10.0, 100_000.0).marks(false), [10.0, 100.0, 1e3, 1e4, 1e5]);
        assert_eq!(scale(1.0, 524_288.0).marks(true), [1.0, 16.0, 256.0, 4_096.0, 65_536.0]);
        assert_eq!(scale(1.0, 1e9).marks(false), [1.0, 100.0, 1e4, 1e6, 1e8]);
        let numbers = [1.0, 1_000.0, 10_000.0, 100_000.0, 1e6].map(|mark| number(mark, false));
        assert_eq!(numbers, ["1", "1000", "10k", "100k", "1M"]);
        assert_eq!([64.0, 65_536.0].map(|mark| number(mark, true)), ["64", "64Ki"]);
    }

    #[test]
    fn flat_and_empty_curves_are_handled() {
        let flat = [line("one", |_| 100.0)];
        assert!(drawn(&flat, "fds", Unit::NsPerOp).unwrap().contains("100 ns +"));
        assert_eq!(drawn(&[], "fds", Unit::NsPerOp), None);
        let unnamed = |points: &[(u64, f64)]| {
            let points = points.iter().map(|&(x, y)| PlotPoint { x, y }).collect();
            [PlotLine { label: String::new(), points }]
        };
        let nothing = unnamed(&[(10, 0.0), (20, 1.0)]);
        assert_eq!(drawn(&nothing, "fds", Unit::NsPerOp), None);
        let one = unnamed(&[(10, 5.0)]);
        assert_eq!(drawn(&one, "fds", Unit::NsPerOp), None);
        let endless = unnamed(&[(1, 1.0), (u64::MAX, 1e308)]);
        assert_eq!(drawn(&endless, "fds", Unit::NsPerOp), None);
        let wide = unnamed(&[(1, 1e-20), (u64::MAX, 1e20)]);
        assert!(drawn(&wide, "fds", Unit::NsPerOp).is_some());
    }

    #[test]
    fn only_the_first_of_too_many_curves_are_drawn() {
        let many: Vec<PlotLine> = (0..14).map(|at| line(&format!("by{at}"), |n| n)).collect();
        let shown = drawn(&many, "size", Unit::BytesPerSecond).unwrap();
        assert!(shown.contains("the first 10 of 14 curves"), "{shown}");
        assert!(flat(&shown).contains("* several at one point"), "{shown}");
    }
}
