//! The table of a run, for a terminal of 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use oscost_model::record::{Record, Row, RowOutcome};

use super::figures::{Style, per_cent};
use super::{flags, fold, plain};

/// Wide enough for a name, a figure, an interval and the calls; every terminal has it.
const COLUMNS: u16 = 80;

/// What a run says of its rows, as text.
pub fn table(record: &Record) -> String {
    let rows: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}\n", headline(record));
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    let measured: Vec<&Row> =
        rows.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect();
    for family in measured.chunk_by(|one, other| family(one) == family(other)) {
        table.add_row([self::family(family[0]), "", "", "", ""]);
        for benchmark in family.chunk_by(|one, other| one.benchmark == other.benchmark) {
            for line in lines(benchmark) {
                table.add_row(line);
            }
        }
    }
    if table.row_iter().next().is_some() {
        table
            .set_header(["", "per op", "95 % interval", "spread", "system calls"])
            .set_content_arrangement(ContentArrangement::Dynamic)
            .set_width(COLUMNS);
        for column in 1..4 {
            if let Some(column) = table.column_mut(column) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.to_string().lines() {
            let _ = writeln!(out, "{}", line.trim_end());
        }
    }
    not_measured(&rows, &mut out);
    notes(record, &rows, &mut out);
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

/// The lines of a benchmark's rows. Where there are several, the axes on which they agree stand in
/// a line of their own, and each row shows what is left.
fn lines(rows: &[&Row]) -> Vec<[String; 5]> {
    let name =
        |row: &Row| row.case.split_once('/').map_or(row.case.clone(), |(_, name)| name.to_owned());
    if let [row] = rows {
        return vec![cells(row, format!("  {}", plain(&name(row))))];
    }
    let agreed = |axis: &str| rows.iter().all(|row| row.point.get(axis) == rows[0].point.get(axis));
    let part = |row: &Row, of: &dyn Fn(&str) -> bool| {
        let axes = row.point.iter().filter(|(axis, _)| of(axis));
        axes.map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(",")
    };
    let short = rows[0].benchmark.split_once('/').map_or("", |(_, short)| short);
    let common = part(rows[0], &agreed);
    let colon = if common.is_empty() { "" } else { ":" };
    let title = plain(&format!("{short}{colon}{common}"));
    let mut lines =
        vec![[format!("  {title}"), String::new(), String::new(), String::new(), String::new()]];
    lines.extend(
        rows.iter()
            .map(|row| cells(row, format!("    {}", plain(&part(row, &|axis| !agreed(axis)))))),
    );
    lines
}

/// The cells of a measured row.
fn cells(row: &Row, name: String) -> [String; 5] {
    let mut line = [name, String::new(), String::new(), String::new(), calls(row)];
    let Some(estimate) = &row.estimate else { return line };
    let hidden = row.flags.iter().any(|flag| flag == "BELOW_DETECTION");
    let width = estimate.ci95.map_or(0.0, |[low, high]| high - low);
    // What cannot be told from nothing is shown as a bound: twice its uncertainty.
    let shown = if hidden { width } else { estimate.median };
    let style = Style::of(shown, row.unit);
    line[1] = format!("{}{}", if hidden { "< " } else { "" }, style.with_unit(shown));
    if let Some([low, high]) = estimate.ci95 {
        line[2] = format!("{} .. {}", style.number(low), style.number(high));
    }
    if let Some(sd) = estimate.sd.filter(|_| shown != 0.0) {
        line[3] = if hidden { style.number(sd) } else { per_cent(100.0 * sd / shown.abs()) };
    }
    line
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
        let what = if record.complete { "" } else { "; the run was cut short" };
        let _ = writeln!(out, "\n{times} repetitions a row, each a fresh process{what}.");
    }
}
