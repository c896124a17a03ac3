//! The table of a run, for a terminal of 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use oscost_model::record::{Record, Row, RowOutcome};

use super::figures::{Style, per_cent};
use super::survey::survey;
use super::{flags, fold, plain};

/// What a run says of its rows, as text.
pub fn table(record: &Record) -> String {
    let rows: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", headline(record));
    let measured: Vec<&Row> =
        rows.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect();
    let lines: Vec<Line> = lines(&measured);
    if !lines.is_empty() {
        let _ = write!(out, "\n{}", aligned(&lines));
    }
    not_measured(&rows, &mut out);
    notes(record, &rows, &mut out);
    if let Some(survey) = survey(record) {
        let _ = write!(out, "\n{survey}");
    }
    out
}

/// Whether the user asked for a row; anchors are measured all the same.
pub fn is_asked(row: &Row) -> bool {
    !row.flags.iter().any(|flag| flag == "ANCHOR")
}

fn family(row: &Row) -> &str {
    row.benchmark.split_once('/').map_or(row.benchmark.as_str(), |(family, _)| family)
}

/// Tool, machine, CPU, clock, quiet: what the figures hang on, in one line or two.
fn headline(record: &Record) -> String {
    let mut parts = Vec::new();
    if let Some(machine) = record.machines.first() {
        let model =
            machine.cpu.model_name.clone().unwrap_or_else(|| "unknown processor".to_owned());
        let guest = machine.virtualization.as_deref().filter(|kind| *kind != "none");
        parts.push(match guest {
            Some(kind) => format!("{model} ({kind} guest)"),
            None => model,
        });
        if let Some(release) = &machine.os.release {
            parts.push(format!("Linux {release}"));
        }
        if let Some(cpu) = record.results.iter().find_map(|row| row.place.cpu) {
            parts.push(format!("CPU {cpu}"));
        }
        if let Some(clock) = &machine.clock {
            parts.push(format!("clock {} in steps of {:.0} ns", clock.source, clock.q_ns));
        }
    }
    if let Some(conditions) = record.conditions.first()
        && let Some(class) = &conditions.class
    {
        let lost = conditions.lost_pct.map(|pct| format!(" ({} lost)", per_cent(pct)));
        parts.push(format!("{class}{}", lost.unwrap_or_default()));
    }
    fold(&plain(&parts.join(", ")), 80, "")
}

/// A line of the table: a title that may run on, or a row with its cells.
struct Line {
    name: String,
    cells: Option<[String; 4]>,
}

/// The lines of all measured rows: a title for each family, and where a benchmark has several rows,
/// a title with the axes on which they agree; each row then shows the axes that are left.
fn lines(rows: &[&Row]) -> Vec<Line> {
    let title = |name: String| Line { name: plain(&name), cells: None };
    let row_line = |name: String, row: &Row| Line { name: plain(&name), cells: cells(row) };
    let mut lines = Vec::new();
    for family in rows.chunk_by(|one, other| family(one) == family(other)) {
        lines.push(title(self::family(family[0]).to_owned()));
        for rows in family.chunk_by(|one, other| one.benchmark == other.benchmark) {
            if let [row] = rows {
                lines.push(row_line(format!("  {}", short(&row.case)), row));
                continue;
            }
            // Where some rows leave an axis unsaid, what the others share would be all that they
            // have to show.
            let names = |row: &Row| -> Vec<String> {
                row.point.iter().map(|(axis, _)| axis.to_owned()).collect()
            };
            let alike = rows.iter().all(|row| names(row) == names(rows[0]));
            let agreed = |axis: &str| {
                alike && rows.iter().all(|row| row.point.get(axis) == rows[0].point.get(axis))
            };
            let axes = |row: &Row, of: &dyn Fn(&str) -> bool| {
                let axes = row.point.iter().filter(|(axis, _)| of(axis));
                axes.map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",")
            };
            let common = axes(rows[0], &agreed);
            let colon = if common.is_empty() { "" } else { ":" };
            lines.push(title(format!("  {}{colon}{common}", short(&rows[0].benchmark))));
            for row in rows {
                lines.push(row_line(format!("    {}", axes(row, &|axis| !agreed(axis))), row));
            }
        }
    }
    lines
}

/// An id or a case without its family.
fn short(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// The lines under their headings, each column as wide as it must be; a name that is too long for
/// its column stands on a line of its own.
fn aligned(lines: &[Line]) -> String {
    const HEADINGS: [&str; 4] = ["per op", "95 % interval", "spread", "calls"];
    /// What is left of the columns for names when figures and calls have theirs.
    const LONGEST_NAME: usize = 30;
    const WIDTH: usize = 80;
    let width = |text: &str| text.chars().count();
    let rows =
        || lines.iter().filter_map(|line| line.cells.as_ref().map(|cells| (&line.name, cells)));
    let names = rows().map(|(name, _)| width(name)).filter(|&name| name <= LONGEST_NAME).max();
    let name_width = names.unwrap_or(4);
    let widths: Vec<usize> = (0..3)
        .map(|at| {
            rows().map(|(_, cells)| width(&cells[at])).max().unwrap_or(0).max(HEADINGS[at].len())
        })
        .collect();
    let laid = |name: &str, cells: [&str; 4]| {
        let (op, interval, spread) = (widths[0], widths[1], widths[2]);
        let figures = format!(
            "{name:<name_width$}  {:>op$}  {:>interval$}  {:>spread$}",
            cells[0], cells[1], cells[2]
        );
        let text = format!("{figures}  {}", cells[3]);
        if width(&text) <= WIDTH {
            return format!("{}\n", text.trim_end());
        }
        // Calls that do not fit beside the figures stand below them.
        let calls = fold(cells[3], WIDTH - 4, "    ");
        let calls: Vec<String> = calls.lines().map(|line| format!("{line:>WIDTH$}")).collect();
        format!("{}\n{}\n", figures.trim_end(), calls.join("\n"))
    };
    let mut out = laid("", HEADINGS);
    for Line { name, cells } in lines {
        match cells {
            None => out.push_str(&format!("{name}\n")),
            Some(cells) => {
                let mut name = name.as_str();
                if width(name) > name_width {
                    out.push_str(&format!("{name}\n"));
                    name = "";
                }
                out.push_str(&laid(name, cells.each_ref().map(String::as_str)));
            }
        }
    }
    out
}

/// The cells of a measured row.
fn cells(row: &Row) -> Option<[String; 4]> {
    let mut line = [String::new(), String::new(), String::new(), calls(row)];
    let estimate = row.estimate.as_ref()?;
    let hidden = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
    let width = estimate.ci95.map_or(0.0, |[low, high]| high - low);
    // What cannot be told from nothing is shown as a bound: twice its uncertainty.
    let shown = if hidden { width } else { estimate.median };
    let style = Style::of(shown, row.unit);
    line[0] = format!("{}{}", if hidden { "< " } else { "" }, style.with_unit(shown));
    if let Some([low, high]) = estimate.ci95 {
        line[1] = format!("{} .. {}", style.number(low), style.number(high));
    }
    // What cannot be told from nothing has no size that a spread could be a share of.
    if let Some(sd) = estimate.sd.filter(|_| !hidden && shown != 0.0) {
        line[2] = per_cent(100.0 * sd / shown.abs());
    }
    Some(line)
}

/// The calls of an op, as counted: `openat, close`, `2 read`, `none`; a `!` where they are not what
/// the definition says, a `?` where nobody could count.
fn calls(row: &Row) -> String {
    let Some(calls) = &row.calls else { return "?".to_owned() };
    let names: Vec<String> = calls
        .per_op
        .iter()
        .map(|(call, &times)| match times {
            1.0 => plain(call),
            times if times.fract() == 0.0 => format!("{times:.0} {}", plain(call)),
            times => format!("{times:.2} {}", plain(call)),
        })
        .collect();
    let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    if calls.expected { names } else { format!("! {names}") }
}

fn not_measured(rows: &[&Row], out: &mut String) {
    let left: Vec<&&Row> = rows.iter().filter(|row| row.outcome != RowOutcome::Measured).collect();
    if left.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nnot measured:");
    for row in left {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        let text = format!("{}: {}: {}", row.case, row.outcome.text(), plain(reason));
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
}

/// Flags in words, and how much there is behind the figures.
fn notes(record: &Record, rows: &[&Row], out: &mut String) {
    let mut by_flag: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for row in rows {
        for flag in &row.flags {
            by_flag.entry(flag).or_default().push(&row.case);
        }
    }
    let mut lines: Vec<String> = by_flag
        .iter()
        .map(|(flag, cases)| {
            let named = match &cases[..] {
                few if few.len() <= 2 => few.join(", "),
                many => format!("{} rows", many.len()),
            };
            format!("{}: {}: {named}", plain(flag), flags::of_row(flag))
        })
        .collect();
    for surprise in rows.iter().filter_map(|row| row.calls.as_ref().map(|calls| (row, calls))) {
        let (row, calls) = surprise;
        for words in &calls.surprises {
            lines.push(format!("{}: {}", row.case, plain(words)));
        }
    }
    for conditions in &record.conditions {
        lines.extend(
            conditions.flags.iter().map(|flag| format!("{}: {}", plain(flag), flags::of_run(flag))),
        );
    }
    if !lines.is_empty() {
        let _ = writeln!(out);
    }
    for line in lines {
        let _ = writeln!(out, "{}", fold(&line, 78, "  "));
    }
    let repetitions: Vec<u32> = rows
        .iter()
        .filter_map(|row| row.estimate.as_ref())
        .map(|estimate| estimate.repetitions)
        .collect();
    if let (Some(fewest), Some(most)) = (repetitions.iter().min(), repetitions.iter().max()) {
        let times = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
        let s = if *most == 1 { "" } else { "s" };
        let what = if record.complete { "" } else { "; the run was cut short" };
        let _ = writeln!(out, "\n{times} repetition{s} a row, each a fresh process{what}.");
    }
}
