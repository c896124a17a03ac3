//! The table of a run, for a terminal of 80 columns.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use oscost_model::channel::Datagrams;
use oscost_model::record::{Machine, Record, Row, RowOutcome};
use oscost_model::unit::Unit;

use crate::report::figures::{Style, each, per_cent, rough};
use crate::report::text::{fold, plain};
pub use crate::report::view::curves::Plots;
use crate::report::view::timer_survey::survey;
use crate::report::view::{
    cost_groups, curves, event_scaling, flags, instructions, monitor, one_way, page_cache,
    predictions, programs, request_latency, wait_steps,
};

/// What a run says of its rows, as text.
pub fn table(record: &Record, plots: Plots) -> String {
    let rows: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{}", headline(record));
    let measured: Vec<&Row> =
        rows.iter().copied().filter(|row| row.outcome == RowOutcome::Measured).collect();
    // A curve has a line for each of its points, and need not stand here as well.
    let curved = curves::cases(record);
    let single: Vec<&Row> = measured
        .iter()
        .copied()
        .filter(|row| !curved.contains(&curves::named(row)) && !programs::is_program(row))
        .collect();
    let (counted, single): (Vec<&Row>, Vec<&Row>) =
        single.into_iter().partition(|row| instructions::is_it(row));
    if !single.is_empty() {
        let _ = write!(out, "\n{}", aligned(&single));
    }
    out.push_str(&instructions::text(&counted));
    out.push_str(&programs::text(&measured));
    out.push_str(&curves::text(record, plots));
    out.push_str(&wait_steps::text(&record.steps));
    out.push_str(&request_latency::text(&measured));
    out.push_str(&cost_groups::text(record, &measured));
    for it in &record.half_round_trips {
        let _ = writeln!(out, "\n{}", fold(&one_way::line(it), 78, "  "));
    }
    not_measured(&rows, &mut out);
    notes(record, &rows, &mut out);
    if let Some(survey) = survey(record) {
        let _ = write!(out, "\n{survey}");
    }
    out.push_str(&event_scaling::text(record));
    out.push_str(&predictions::text(record));
    out
}

/// Whether the user asked for a row; reference cases and parts of floors are measured all the same.
pub fn is_asked(row: &Row) -> bool {
    row.is_requested()
}

pub(super) fn family(row: &Row) -> &str {
    row.benchmark.split_once('/').map_or(row.benchmark.as_str(), |(family, _)| family)
}

/// Tool, machine, CPU, clock, quiet: what the figures hang on, in one line or two.
pub(super) fn headline(record: &Record) -> String {
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
        if let Some(cpu) = record.results.iter().find_map(|row| row.target.cpu) {
            parts.push(format!("CPU {cpu}"));
        }
        parts.extend(machine.vm.as_ref().map(|vm| format!("{} ({})", vm.emulator, vm.accel)));
        if let Some(clock) = &machine.clock {
            let decimals = usize::from(clock.q_ns < 1.0);
            parts.push(format!("clock {} in steps of {:.decimals$} ns", clock.source, clock.q_ns));
        }
    }
    if let Some(conditions) = record.conditions.first()
        && let Some(class) = &conditions.class
    {
        let lost = conditions.lost_pct.map(|pct| format!(" ({} lost)", per_cent(pct)));
        parts.push(format!("{class}{}", lost.unwrap_or_default()));
    }
    let others = record.machines.iter().skip(1);
    // What was booted beside the first one is the other side, and no peer.
    let other = |machine| instructions::headline(machine).unwrap_or_else(|| peer(record, machine));
    let own = record.machines.first().filter(|machine| instructions::counts(machine));
    let own = own.and_then(instructions::headline);
    let own = own.unwrap_or_else(|| fold(&plain(&parts.join(", ")), 80, ""));
    [own].into_iter().chain(others.map(other)).collect::<Vec<_>>().join("\n")
}

/// The machine on which the other ends stood, in a line.
fn peer(record: &Record, machine: &Machine) -> String {
    let model = machine.cpu.model_name.as_deref().unwrap_or("unknown processor");
    let release = machine.os.release.as_ref().map(|release| format!("Linux {release}"));
    let conditions = record.conditions.iter().find(|it| it.machine == machine.id);
    let class = conditions.and_then(|it| it.class.as_ref());
    let class = class.map(|class| format!("{class} when it was probed"));
    let parts = [Some(format!("peer: {model}")), release, class];
    fold(&plain(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")), 80, "  ")
}

/// What stands beside a row's name: here figure, interval, spread, class, calls and floor.
pub(in crate::report) type Cells = [String; 6];

/// What stands above them.
pub(in crate::report) type Headings = [&'static str; 6];

pub(super) const HEADINGS: Headings =
    ["per op", "95 % interval", "spread", "class", "calls", "floor"];

/// The columns of figures, each as wide as it must be; names have what is left.
struct Columns([usize; 6], Headings);

impl Columns {
    const WIDTH: usize = 80;
    const GAP: usize = 2;

    fn of(rows: &[Cells], headings: Headings) -> Self {
        let widths = std::array::from_fn(|at| {
            let widest = rows.iter().map(|cells| width(&cells[at])).max().unwrap_or(0);
            // A column in which nothing stands is left out.
            if widest == 0 { 0 } else { widest.max(headings[at].len()) }
        });
        Self(widths, headings)
    }

    fn left_for_names(&self) -> usize {
        let there = self.0.iter().filter(|&&width| width > 0);
        Self::WIDTH.saturating_sub(there.map(|width| width + Self::GAP).sum())
    }

    /// A line; a name that is too long for `names` stands on one of its own.
    fn line(&self, name: &str, names: usize, cells: [&str; 6]) -> String {
        let (above, name) = match width(name) > names {
            true => (format!("{name}\n"), ""),
            false => (String::new(), name),
        };
        let mut text = format!("{name:<names$}");
        for (at, (cell, &width)) in cells.into_iter().zip(&self.0).enumerate() {
            let gap = Self::GAP;
            match (width, self.1[at]) {
                (0, _) => {}
                // The columns of words.
                (_, "class" | "verdict") => text.push_str(&format!("{:gap$}{cell:<width$}", "")),
                _ => text.push_str(&format!("{:gap$}{cell:>width$}", "")),
            }
        }
        format!("{above}{}\n", text.trim_end())
    }
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// The measured rows under their headings.
fn aligned(rows: &[&Row]) -> String {
    laid_out(rows, &rows.iter().map(|row| cells(row)).collect::<Vec<_>>(), HEADINGS)
}

/// Rows by family and benchmark, each with its cells, under their headings.
pub(super) fn laid_out(rows: &[&Row], cells: &[Cells], headings: Headings) -> String {
    let columns = Columns::of(cells, headings);
    let left = columns.left_for_names();
    let mut lines = Vec::new();
    for family in rows.chunk_by(|one, other| family(one) == family(other)) {
        lines.push((plain(self::family(family[0])), false));
        for rows in family.chunk_by(|one, other| one.benchmark == other.benchmark) {
            lines.extend(names(rows, left));
        }
    }
    let fitting = lines.iter().filter(|(_, is_row)| *is_row).map(|(name, _)| width(name));
    let names = fitting.filter(|&name| name <= left).max().unwrap_or(1);
    let mut out = columns.line("", names, headings);
    let mut cells = cells.iter();
    for (name, is_row) in lines {
        match cells.as_slice() {
            [next, ..] if is_row => {
                out.push_str(&columns.line(&name, names, next.each_ref().map(String::as_str)));
                cells.next();
            }
            _ => out.push_str(&format!("{name}\n")),
        }
    }
    out
}

/// The names of a benchmark's rows, each with whether it is a row's or a title. Where there are
/// several rows, a title says on which axes they agree, and each row the axes that are left. Where
/// those do not fit, the title names these axes too, and a row its values alone.
fn names(rows: &[&Row], left: usize) -> Vec<(String, bool)> {
    let first = rows[0];
    if rows.len() == 1 {
        return vec![(plain(&format!(" {}", short(&first.case))), true)];
    }
    let axes_of = |row: &Row| row.point.iter().map(|(axis, _)| axis.to_owned()).collect::<Vec<_>>();
    // Where some rows leave an axis unsaid, what the others share would be all that they have to
    // show.
    let alike = rows.iter().all(|row| axes_of(row) == axes_of(first));
    let agreed =
        |axis: &str| alike && rows.iter().all(|row| row.point.get(axis) == first.point.get(axis));
    let joined = |parts: &mut dyn Iterator<Item = String>| parts.collect::<Vec<_>>().join(",");
    let full = |row: &Row| {
        let axes = row.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(axis, value)| format!("{axis}={value}")))
    };
    let brief = |row: &Row| {
        let axes = row.point.iter().filter(|(axis, _)| !agreed(axis));
        joined(&mut axes.map(|(_, value)| value.to_string()))
    };
    let fits = !alike || rows.iter().all(|row| width(&full(row)) + 2 <= left);
    let axes = first.point.iter().filter_map(|(axis, value)| match (agreed(axis), fits) {
        (true, _) => Some(format!("{axis}={value}")),
        (false, true) => None,
        (false, false) => Some(axis.to_owned()),
    });
    let axes = joined(&mut { axes });
    let colon = if axes.is_empty() { "" } else { ":" };
    let title = plain(&format!(" {}{colon}{axes}", short(&first.benchmark)));
    let of_rows = rows.iter().map(|row| {
        let name = if fits { full(row) } else { brief(row) };
        (plain(&format!("  {name}")), true)
    });
    [(title, false)].into_iter().chain(of_rows).collect()
}

/// An id or a case without its family.
fn short(id: &str) -> &str {
    id.split_once('/').map_or(id, |(_, name)| name)
}

/// The figure of a measured row, its interval, and how large the figure is in the row's unit. What
/// cannot be told from nothing is a bound: twice its uncertainty.
pub(super) fn figure(row: &Row) -> Option<(String, Option<String>, f64)> {
    let estimate = row.estimate.as_ref()?;
    let hidden = has(row, "BELOW_DETECTION");
    let width = estimate.ci95.map_or(0.0, |[low, high]| high - low);
    let size = if hidden { width } else { estimate.median };
    let style = Style::of(size, row.unit);
    let text = format!("{}{}", if hidden { "<" } else { "" }, style.with_unit(size));
    let interval = estimate.ci95;
    let interval =
        interval.map(|[low, high]| format!("{} .. {}", style.number(low), style.number(high)));
    Some((text, interval, size))
}

/// The cells of a measured row.
pub(super) fn cells(row: &Row) -> Cells {
    let Some((text, interval, size)) = figure(row) else { return Cells::default() };
    // What cannot be told from nothing has no size that a spread could be a share of.
    let sd = row.estimate.as_ref().and_then(|estimate| estimate.sd);
    let spread = sd.filter(|_| !has(row, "BELOW_DETECTION") && size != 0.0);
    let doubt = if has(row, "CLASS_BORDERLINE") { "?" } else { "" };
    let class = row.class.as_deref().map(|class| format!("{}{doubt}", plain(class)));
    [
        text,
        interval.unwrap_or_default(),
        spread.map(|sd| per_cent(100.0 * sd / size.abs())).unwrap_or_default(),
        class.unwrap_or("-".to_owned()),
        entries(row),
        floor(row).unwrap_or_default(),
    ]
}

/// The floor of a row, where it is known.
pub(super) fn floor(row: &Row) -> Option<String> {
    let value = row.floor.as_ref()?.value?;
    Some(match row.unit {
        // The floor of what contains next to nothing.
        Unit::NsPerOp if value.abs() < 0.01 => "<10 ps".to_owned(),
        unit => rough(value, unit),
    })
}

/// How often an op enters the kernel, as counted; with a `!` where its calls are not what the
/// definition says, and `?` where nobody could count.
pub(super) fn entries(row: &Row) -> String {
    let Some(calls) = &row.calls else { return "?".to_owned() };
    let marked = if calls.expected { "" } else { "!" };
    format!("{marked}{}", each(calls.per_op.values().fold(0.0, |sum, times| sum + times)))
}

pub(super) fn has(row: &Row, flag: &str) -> bool {
    row.flags.iter().any(|it| it == flag)
}

pub(super) fn not_measured(rows: &[&Row], out: &mut String) {
    let left: Vec<&&Row> = rows.iter().filter(|row| row.outcome != RowOutcome::Measured).collect();
    if left.is_empty() {
        return;
    }
    let _ = writeln!(out, "\nnot measured:");
    let reasons = left.iter().map(|row| {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        (format!("{}: {}", row.outcome.text(), plain(reason)), row.case.as_str())
    });
    for (reason, cases) in gathered(reasons) {
        let _ = writeln!(out, "  {}", fold(&format!("{}: {reason}", first_of(&cases)), 76, "    "));
    }
}

/// Of which cases the same is said, in the order in which it is said first.
pub(super) fn gathered<'a>(
    said: impl Iterator<Item = (String, &'a str)>,
) -> Vec<(String, Vec<&'a str>)> {
    let mut found: Vec<(String, Vec<&str>)> = Vec::new();
    for (words, case) in said {
        match found.iter_mut().find(|(same, _)| *same == words) {
            Some((_, cases)) => cases.push(case),
            None => found.push((words, vec![case])),
        }
    }
    found
}

/// Some cases by the first of them; the record names them all.
pub(super) fn first_of(cases: &[&str]) -> String {
    match cases {
        [] => String::new(),
        [case] => (*case).to_owned(),
        [first, others @ ..] => format!("{first} and {} more", others.len()),
    }
}

/// What became of datagrams that did not come once and in order.
fn lost_datagrams(rows: &[&Row]) -> Option<String> {
    let odd = |seen: &Datagrams| seen.lost + seen.late + seen.duplicate + seen.reordered > 0;
    let seen = rows.iter().filter_map(|row| row.channel?.datagrams).filter(odd);
    let Datagrams { sent, lost, late, duplicate, reordered, .. } =
        seen.reduce(Datagrams::merged_with)?;
    Some(format!(
        "datagrams: of {sent} {lost} were lost, {late} came late, {duplicate} twice, {reordered} \
         out of order: what did not come back in time is in no figure"
    ))
}

/// The flag that most rows have, on most machines.
const COMMON: &str = "PROCESSES_DIFFER";

/// What was done to all that was measured; nothing where nothing was.
fn treatments(record: &Record) -> Option<String> {
    let measured = |row: &&Row| row.outcome == RowOutcome::Measured;
    let target = &record.results.iter().find(measured)?.target;
    let done: Vec<String> = target.treatments.iter().map(|treatment| plain(treatment)).collect();
    (!done.is_empty()).then(|| format!("Measured under {}.", done.join(" + ")))
}

/// What must be known of rows beside their figures: flags in words, what surprised, what was lost.
pub(super) fn said(record: &Record, rows: &[&Row]) -> Vec<String> {
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
                [case] if *flag != COMMON => (*case).to_owned(),
                [one, other] if *flag != COMMON => format!("{one}, {other}"),
                [_] => "1 row".to_owned(),
                many => format!("{} rows", many.len()),
            };
            format!("{}: {}: {named}", plain(flag), flags::of_row(flag))
        })
        .collect();
    lines.splice(0..0, treatments(record).into_iter().chain(monitor::line(rows.iter().copied())));
    // What most rows have stands last, and in one line.
    let common = lines.extract_if(.., |line| line.starts_with(COMMON)).collect::<Vec<_>>();
    let surprises = rows.iter().flat_map(|row| {
        let words = row.calls.iter().flat_map(|calls| &calls.unexpected);
        words.map(|words| (plain(words), row.case.as_str()))
    });
    for (words, cases) in gathered(surprises) {
        lines.push(format!("{}: {words}", first_of(&cases)));
    }
    lines.extend(lost_datagrams(rows));
    let strangers: u64 = rows
        .iter()
        .filter_map(|row| row.channel.as_ref())
        .map(|seen| seen.unauthorised_connections)
        .sum();
    if strangers > 0 {
        lines.push(format!(
            "{strangers} connections of strangers to the data sockets: each was closed, and none \
             is in a figure"
        ));
    }
    lines.extend(page_cache::lines(rows.iter().filter_map(|row| row.file.as_ref())));
    for conditions in &record.conditions {
        lines.extend(
            conditions.flags.iter().map(|flag| format!("{}: {}", plain(flag), flags::of_run(flag))),
        );
    }
    lines.extend(common);
    lines.extend(instructions::line(rows.iter().copied()));
    lines
}

/// Flags in words, and how much there is behind the figures.
pub(super) fn notes(record: &Record, rows: &[&Row], out: &mut String) {
    let lines = said(record, rows);
    if !lines.is_empty() {
        let _ = writeln!(out);
    }
    for line in lines {
        let _ = writeln!(out, "{}", fold(&line, 78, "  "));
    }
    if let Some(text) = behind(record, rows) {
        let _ = writeln!(out, "\n{text}");
    }
}

/// How much there is behind the figures.
pub(super) fn behind(record: &Record, rows: &[&Row]) -> Option<String> {
    let estimates = rows.iter().filter_map(|row| row.estimate.as_ref());
    let repetitions = estimates.map(|estimate| estimate.repetitions);
    let (fewest, most) = (repetitions.clone().min()?, repetitions.max()?);
    let times = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let s = if most == 1 { "" } else { "s" };
    let what = if record.complete { "" } else { "; the run was cut short" };
    Some(format!("{times} repetition{s} a row, each a fresh process{what}."))
}
