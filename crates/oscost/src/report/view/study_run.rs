//! A run of one place in the form of a study: each of its tables with what was printed, what was
//! measured by the study's own statistic and by oscost's, and how many times as much it was then.

use std::fmt::Write as _;

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::study_method::{ClockCost, Statistic, StudyMethod, TimingScope};
use oscost_model::unit::Unit;

use crate::report::figures::times;
use crate::report::figures::{DIGITS, MIN_DIGITS, at_least, decimals_for};
use crate::report::text::{fold, plain};
use crate::report::view::document::{Block, LogPlot, PlotLine, Section, View};
use crate::report::view::headline::{headline, title as run_title};
use crate::report::view::lists::grouped;
use crate::report::view::lists::preformatted;
use crate::report::view::row::is_asked;
use crate::report::view::run::{self, Plots};
use crate::report::view::{claims, predictions};
use crate::studies::single_target::{
    ColumnResult, PredictionComparison, SingleTargetComparison, SingleTargetRow, SingleTargetTable,
};
use crate::studies::unit::UnitKind;
use crate::studies::{ClockRates, IntervalEstimate, Published, Series, Subject, Table};

/// Of a terminal.
const WIDTH: usize = 80;
/// Between columns.
const GAP: usize = 2;

/// A run in the form of its study.
pub fn view(beside: &SingleTargetComparison<'_>, record: &Record, plots: Plots) -> View {
    let mut sections = vec![preformatted(heading(beside))];
    for table in &beside.tables {
        let mut blocks = curves(table, beside.clock_rates, plots);
        let head = format!("{}\n{}", title(table), single_rows(table));
        match blocks.first_mut() {
            Some(Block::Preformatted(text)) => *text = format!("{head}{text}"),
            _ => blocks.insert(0, Block::Preformatted(head)),
        }
        let rest = [expectations(table), notes(table, beside.clock_step_ns)];
        let rest = rest.into_iter().filter(|text| !text.is_empty()).map(Block::Preformatted);
        blocks.extend(rest);
        sections.push(Section { blocks, ..Section::default() });
    }
    sections.extend(claims::sections(beside.study, &beside.conditions, &beside.claims));
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_asked(row)).collect();
    sections.extend(run::notes(record, &asked));
    sections.extend(predictions::section(record));
    View { title: run_title(record), lead: headline(record), sections, ..View::default() }
}

/// Which study, what it was measured on, and what is done here.
pub(super) fn heading(beside: &SingleTargetComparison<'_>) -> String {
    let study = beside.study;
    let cycles = match (study.clock_rates.core_ghz, beside.clock_rates.core_ghz) {
        (Some(then), Some(here)) => format!(
            "cycles are of a core of {then} GHz then, and of {here:.2} GHz here (an estimate, by a \
             chain of multiplications)"
        ),
        (None, Some(here)) => {
            format!("cycles here are of a core of {here:.2} GHz, by a chain of multiplications")
        }
        (_, None) => "how fast the core is was not told here: there are no cycles".to_owned(),
    };
    [
        format!(
            "Study {}, published in {}: {}. {}. {}.",
            study.id,
            study.year,
            study.title,
            study.authors.join(", "),
            study.source
        ),
        format!("then: {}; {}", study.measured_on, study.protocol.original),
        format!("here: {}", study.protocol.replication),
        cycles,
    ]
    .map(|line| fold(&plain(&line), 78, "  "))
    .join("\n")
}

/// What stands above a table: its name, and how its rows are found.
pub(super) fn title(table: &SingleTargetTable<'_>) -> String {
    let of = table.table;
    let study_methods: Vec<(String, &str)> = table
        .rows
        .iter()
        .filter(|row| row.row.case().is_some())
        .map(|row| (study_method(row.row.study_method.as_ref()), row.row.name.as_str()))
        .collect();
    // Each part is bounded by itself: together they are as long as the table has manners.
    let each = grouped(study_methods.into_iter());
    let words = match &each[..] {
        [(one, _)] => one.clone(),
        several => {
            let one = |(words, rows): &(String, Vec<&str>)| match rows[..] {
                [only] => format!("{}: {words}", plain(only)),
                [first, ..] => format!("{} and {} more: {words}", plain(first), rows.len() - 1),
                [] => String::new(),
            };
            several.iter().map(one).collect::<Vec<_>>().join("; ")
        }
    };
    let words = if words.is_empty() { String::new() } else { format!("; {words}") };
    let text = format!("{}: {}. In {}{words}.", plain(&of.name), plain(&of.title), of.unit.text());
    fold(&text, 78, "  ")
}

/// The manner of a study in words.
pub(super) fn study_method(study_method: Option<&StudyMethod>) -> String {
    let Some(study_method) = study_method else { return "by oscost's own estimate".to_owned() };
    let ops = count(study_method.iterations);
    let timed = match study_method.timed {
        TimingScope::Each => format!("{ops} ops, each timed by itself"),
        TimingScope::Together => format!("{ops} ops timed together"),
    };
    let times = match study_method.experiments {
        1 => String::new(),
        many => format!(", {} times", count(u64::from(many))),
    };
    let what = match study_method.statistic {
        Statistic::Mean => "the mean",
        Statistic::MeanAndDeviation => "the mean, and the deviation between their means,",
        Statistic::Minimum => "the smallest",
    };
    let clock = match study_method.clock {
        ClockCost::Included => "the clock's cost included",
        ClockCost::Subtracted => "the clock's cost subtracted",
    };
    format!("{what} of {timed}{times}, {clock}")
}

/// A whole number with commas between thousands.
fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// What stands above the cells: then and here, oscost's own, and how many times as much it was.
const HEADINGS: [&str; 6] = ["", "then", "here", "oscost's median", "then/here", "in cycles"];

/// The rows that stand in no curve.
fn single_rows(table: &SingleTargetTable<'_>) -> String {
    let in_series = |at: usize| table.table.series.iter().any(|it| it.rows().contains(&at));
    let rows: Vec<&SingleTargetRow<'_>> = table
        .rows
        .iter()
        .enumerate()
        .filter(|(at, _)| !in_series(*at))
        .map(|(_, row)| row)
        .collect();
    let lines = |spread: Spread| {
        let mut lines: Vec<(String, [String; 6])> = Vec::new();
        for row in &rows {
            // What cannot be measured has no more than what was printed.
            let is_measured = row.row.case().is_some();
            let shown = row.cells.iter().filter(|cell| is_measured || cell.published.is_some());
            for (at, cell) in shown.enumerate() {
                let name = if at == 0 { plain(&row.row.name) } else { String::new() };
                lines.push((name, cells(cell, table, spread)));
            }
        }
        lines
    };
    if lines(Spread::Ends).is_empty() {
        return String::new();
    }
    let text = laid_out(&lines(Spread::Ends));
    let fits = text.lines().all(|line| line.chars().count() <= WIDTH);
    if fits { text } else { laid_out(&lines(Spread::Half)) }
}

/// How an interval is told.
#[derive(Clone, Copy)]
pub(super) enum Spread {
    /// By its ends.
    Ends,
    /// By half of it, in per cent: where the ends leave no room.
    Half,
}

/// A figure of oscost's own, with its interval.
fn own_figure(own: IntervalEstimate, spread: Spread) -> String {
    let digits = decimals_for(own.value, DIGITS);
    let figure = at_least(own.value, digits);
    match (own.interval, spread) {
        (None, _) => figure,
        (Some(it), Spread::Ends) => {
            format!("{figure} [{} .. {}]", at_least(it.lo, digits), at_least(it.hi, digits))
        }
        (Some(it), Spread::Half) => {
            let half = (it.hi - it.lo) / 2.0;
            // What cannot be told from nothing has no size that a share could be of.
            match own.value.abs() > half {
                true => format!("{figure} +-{:.1}%", 100.0 * half / own.value.abs()),
                false => format!("{figure} +-{}", at_least(half, decimals_for(half, MIN_DIGITS))),
            }
        }
    }
}

/// The cells of a column of a row.
pub(super) fn cells(
    cell: &ColumnResult<'_>,
    table: &SingleTargetTable<'_>,
    spread: Spread,
) -> [String; 6] {
    let dash = || "-".to_owned();
    let several = table.table.figures.len() > 1;
    let unit = cell.figure.unit.text();
    let other = cell.figure.unit != table.table.unit;
    let column = match (several, other) {
        (true, _) => format!("{}, {unit}", cell.figure.name),
        (false, true) => unit.to_owned(),
        (false, false) => String::new(),
    };
    let printed = cell.published.or_else(|| first_printed(cell, table));
    let decimals = |value: f64| match printed {
        Some(it) => (it.decimals, it.deviation_decimals.unwrap_or(it.decimals)),
        None => (decimals_for(value, DIGITS), decimals_for(value, DIGITS)),
    };
    let here = cell.by_study_statistic.map(|here| {
        let (decimals, of_deviation) = decimals(here.value);
        let figure = at_least(here.value, decimals);
        match here.deviation {
            Some(deviation) => format!("{figure} ({})", at_least(deviation, of_deviation)),
            None => figure,
        }
    });
    let own = cell.estimate.map(|own| own_figure(own, spread));
    let ratio = |of: Option<[f64; 2]>| match of {
        Some([least, most]) if least == most => times(least),
        Some([least, most]) => format!("{}..{}", times(least), times(most)),
        None => dash(),
    };
    [
        plain(&column),
        cell.published.map_or_else(dash, |it| plain(&it.text)),
        here.unwrap_or_else(dash),
        own.unwrap_or_else(dash),
        ratio(cell.published_ratio),
        ratio(cell.published_ratio_in_cycles),
    ]
}

/// The first figure that was printed in the column of a cell.
fn first_printed<'a>(
    cell: &ColumnResult<'_>,
    table: &SingleTargetTable<'a>,
) -> Option<&'a Published> {
    let cells = table.rows.iter().flat_map(|row| &row.cells);
    let mut same = cells.filter(|it| it.figure == cell.figure);
    same.find_map(|it| it.published)
}

/// Lines under their headings; a name for which no room is left stands on a line of its own, and a
/// column in which nothing stands is left out.
fn laid_out(lines: &[(String, [String; 6])]) -> String {
    let wide = |text: &str| text.chars().count();
    let widths: [usize; 6] = std::array::from_fn(|at| {
        let filled = lines.iter().map(|(_, cells)| cells[at].as_str());
        let filled = filled.filter(|cell| !matches!(*cell, "" | "-"));
        let widest = filled.map(wide).max().unwrap_or(0);
        if widest == 0 { 0 } else { widest.max(wide(HEADINGS[at])) }
    });
    let there = widths.iter().filter(|width| **width > 0);
    let left = WIDTH.saturating_sub(there.map(|width| width + GAP).sum());
    let fitting = lines.iter().map(|(name, _)| wide(name)).filter(|&name| name <= left);
    let names = fitting.max().unwrap_or(0).max(2).min(left.max(2));
    let line = |name: &str, cells: &[&str; 6]| {
        let (above, name) = match wide(name) > names {
            true => (format!("{name}\n"), ""),
            false => (String::new(), name),
        };
        let mut text = format!("{name:<names$}");
        for (at, (cell, &width)) in cells.iter().zip(&widths).enumerate() {
            match (at, width) {
                (_, 0) => {}
                // Names of columns are words.
                (0, _) => text.push_str(&format!("{:GAP$}{cell:<width$}", "")),
                _ => text.push_str(&format!("{:GAP$}{cell:>width$}", "")),
            }
        }
        format!("{above}{}\n", text.trim_end())
    };
    let head = line("", &HEADINGS);
    let rows = lines.iter().map(|(name, cells)| line(name, &cells.each_ref().map(String::as_str)));
    std::iter::once(head).chain(rows).collect()
}

/// The curves of a figure: a table of its points, and a picture.
fn curves(table: &SingleTargetTable<'_>, beats: ClockRates, plots: Plots) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut drawn: Vec<&Series> = Vec::new();
    for series in &table.table.series {
        if drawn.iter().any(|it| std::ptr::eq(*it, series)) {
            continue;
        }
        // Those over the same numbers stand side by side, as in a picture.
        let alike: Vec<&Series> =
            table.table.series.iter().filter(|it| it.axis == series.axis).collect();
        drawn.extend(&alike);
        let groups = fitting(table, &alike);
        let points = groups.iter().map(|some| points(table, some));
        blocks.push(Block::Preformatted(legend(table, &alike) + &points.collect::<String>()));
        if plots != Plots::None {
            blocks.extend(picture(table, &alike, beats).map(Block::LogPlot));
        }
    }
    let given = given(table.table);
    let given = given.iter().map(|line| format!("  {}\n", fold(line, 76, "    ")));
    let given: String = given.collect();
    blocks.extend((!given.is_empty()).then_some(Block::Preformatted(given)));
    blocks
}

/// What the study says of each of its curves.
pub(super) fn given(table: &Table) -> Vec<String> {
    let words = |series: &Series| {
        let given = series.given.as_deref().unwrap_or("not given as figures, nor in words");
        plain(&format!("then, {}: {given}", series.name))
    };
    table.series.iter().map(words).collect()
}

/// What stands in a cell of the points of some curves.
fn legend(table: &SingleTargetTable<'_>, alike: &[&Series]) -> String {
    let rows = || alike.iter().flat_map(|series| &table.rows[series.rows()]);
    let printed = rows().any(|row| row.cells.iter().any(|cell| cell.published.is_some()));
    let timed = rows().any(|row| row.row.study_method.is_some());
    let parts = [
        printed.then_some("then"),
        timed.then_some("here in the study's manner"),
        Some("oscost's median"),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().collect();
    let unit = table.table.figures.last().map_or("", |figure| figure.unit.text());
    format!("{}, in {unit}\n", parts.join(" | "))
}

/// Curves in groups whose columns stand side by side in the width of a terminal.
fn fitting<'a>(table: &SingleTargetTable<'_>, alike: &[&'a Series]) -> Vec<Vec<&'a Series>> {
    let mut groups: Vec<Vec<&Series>> = Vec::new();
    for series in alike {
        let wide = |some: &[&Series]| {
            let text = points(table, some);
            text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
        };
        match groups.last_mut() {
            Some(group) if wide(&[&group[..], &[*series]].concat()) <= WIDTH => group.push(series),
            _ => groups.push(vec![series]),
        }
    }
    groups
}

/// The points of some curves over one number: a line for each number, a column for each curve.
fn points(table: &SingleTargetTable<'_>, alike: &[&Series]) -> String {
    let mut values: Vec<u64> = alike.iter().flat_map(|it| it.values.iter().copied()).collect();
    values.sort_unstable();
    values.dedup();
    let mut rows = vec![
        std::iter::once(alike[0].axis.clone())
            .chain(alike.iter().map(|it| it.name.clone()))
            .collect::<Vec<_>>(),
    ];
    for value in values {
        let cells = alike.iter().map(|series| point(table, series, value));
        rows.push(std::iter::once(value.to_string()).chain(cells).collect());
    }
    let wide = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(wide).collect();
    let mut out = String::new();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", plain(cells.join("  ").trim_end()));
    }
    out
}

/// A point of a curve: what was printed of it, and oscost's figure with half of its interval. Of a
/// table with several columns it stands in the last.
fn point(table: &SingleTargetTable<'_>, series: &Series, value: u64) -> String {
    let at = series.values.iter().position(|it| *it == value);
    let Some(row) = at.and_then(|at| table.rows.get(series.first + at)) else {
        return String::new();
    };
    let then = row.cells.iter().find_map(|cell| cell.published).map(|then| then.text.clone());
    let Some(cell) = row.cells.iter().rev().find(|cell| cell.estimate.is_some()) else {
        return then.map_or("-".to_owned(), |then| format!("{then} | -"));
    };
    let here = cell.by_study_statistic.filter(|here| here.by.is_some());
    let here = here.map(|here| at_least(here.value, decimals_for(here.value, DIGITS)));
    let own = cell.estimate.map(|own| own_figure(own, Spread::Half));
    [then, here, own].into_iter().flatten().collect::<Vec<_>>().join(" | ")
}

/// The picture of some curves.
fn picture(table: &SingleTargetTable<'_>, alike: &[&Series], beats: ClockRates) -> Option<LogPlot> {
    // What stands in the table's last column is drawn, in the plainest unit of its kind.
    let figure = table.table.figures.last()?;
    let unit = match figure.unit.kind() {
        UnitKind::Time => Unit::NsPerOp,
        UnitKind::Rate => Unit::BytesPerSecond,
        UnitKind::Frames => Unit::FramesPerSecond,
        UnitKind::Plain => Unit::TimesPerOp,
    };
    let size = figure.unit.size(beats).unwrap_or(1.0);
    let lines: Vec<PlotLine> = alike
        .iter()
        .map(|series| {
            let rows = series.values.iter().zip(&table.rows[series.rows()]);
            let points = rows.filter_map(|(value, row)| {
                let drawn = row.cells.last()?.estimate?.value * size;
                (*value > 0 && drawn > 0.0).then_some((*value, drawn))
            });
            PlotLine { label: plain(&series.name), points: points.collect() }
        })
        .filter(|curve| !curve.points.is_empty())
        .collect();
    (!lines.is_empty()).then(|| LogPlot { lines, by: alike[0].axis.clone(), unit })
}

/// What was expected of rows, then and here, and whether it was so.
pub(super) fn expectations(table: &SingleTargetTable<'_>) -> String {
    let rows = table.rows.iter();
    let expected: Vec<(&str, &PredictionComparison<'_>)> =
        rows.filter_map(|row| Some((row.row.name.as_str(), row.expected.as_ref()?))).collect();
    if expected.is_empty() {
        return String::new();
    }
    let unit = table.table.figures.first().map_or("", |figure| figure.unit.text());
    let mut out = format!("\n  What was expected before measuring, in {unit}\n");
    for (name, it) in expected {
        let part = |what: &str, figure: &Option<Published>| {
            figure.as_ref().map(|figure| format!("{what} {}", figure.text))
        };
        let parts = [
            part("in all", &it.printed.total),
            part("by the hardware", &it.printed.hardware),
            part("by the software", &it.printed.software),
        ];
        let parts = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let floor = it
            .floor
            .map(|floor| format!("; floor {}", at_least(floor, decimals_for(floor, MIN_DIGITS))));
        let expected = match it.expected {
            "" => String::new(),
            expected => format!("; oscost's guess: {expected}"),
        };
        let text = format!(
            "{name}: {parts}: {} then, {} here{}{expected}",
            it.published_result.text(),
            it.measured_result.text(),
            floor.unwrap_or_default()
        );
        let _ = writeln!(out, "    {}", fold(&plain(&text), 74, "      "));
    }
    out
}

/// What there is to say of a table and its rows: fewer ops than then, rows without a figure, notes.
pub(super) fn notes(table: &SingleTargetTable<'_>, step_ns: Option<f64>) -> String {
    let mut lines: Vec<String> = table.table.notes.iter().map(|note| note.text.clone()).collect();
    let without = table.rows.iter().filter_map(|row| Some((missing(row)?, row.row.name.as_str())));
    for (words, rows) in grouped(without) {
        let named = match rows[..] {
            [one] => one.to_owned(),
            [first, ..] => format!("{first} and {} more", rows.len() - 1),
            [] => String::new(),
        };
        lines.push(format!("{named}: {words}"));
    }
    lines.extend(fewer(table));
    lines.extend(step_ns.and_then(|step_ns| in_steps(table, step_ns)));
    for row in &table.rows {
        lines.extend(row.notes.iter().map(|note| format!("{}: {note}", row.row.name)));
    }
    let folded = lines.iter().map(|line| fold(&plain(line), 76, "    "));
    let listed: Vec<String> = folded.map(|line| format!("  {line}\n")).collect();
    if listed.is_empty() { String::new() } else { format!("\n{}", listed.concat()) }
}

/// Why a row has no figure.
fn missing(row: &SingleTargetRow<'_>) -> Option<String> {
    if let Subject::Unmeasurable(why) = &row.row.subject {
        return Some(format!("not measured: {why}"));
    }
    let Some(found) = row.measured else { return Some("not in this run".to_owned()) };
    match found.outcome {
        RowOutcome::Measured => None,
        other => {
            let reason = found.reason.as_deref().unwrap_or("no reason given");
            Some(format!("{}: {reason}", other.text()))
        }
    }
}

/// As many rows are named one by one.
const MAX_NAMED_RUNS: usize = 5;

/// Where fewer ops were done in the manner of the study than it did, or none.
fn fewer(table: &SingleTargetTable<'_>) -> Vec<String> {
    let timed = table.table.figures.iter().any(|figure| figure.formula.has_figures());
    let done = table.rows.iter().filter(|_| timed).filter_map(|row| {
        // Of a row without any figure its reason is told already.
        let found = row.measured.filter(|found| found.outcome == RowOutcome::Measured)?;
        let by = found.study_method.as_ref().filter(|_| row.row.study_method.is_some())?;
        Some((by, row.row.name.as_str()))
    });
    let mut without: Vec<(String, &str)> = Vec::new();
    let mut by_wanted: Vec<(String, Vec<(u64, String)>)> = Vec::new();
    for (by, name) in done {
        let study_method = &by.method;
        if let Some(reason) = &by.reason {
            without.push((format!("no figure in the manner of the study: {reason}"), name));
        } else if (by.iterations, by.experiments)
            != (study_method.iterations, study_method.experiments)
        {
            let wanted = ops(study_method.iterations, study_method.experiments);
            let all = by.iterations.saturating_mul(u64::from(by.experiments));
            let one = (all, format!("{name} {}", ops(by.iterations, by.experiments)));
            match by_wanted.iter_mut().find(|(same, _)| *same == wanted) {
                Some((_, rows)) => rows.push(one),
                None => by_wanted.push((wanted, vec![one])),
            }
        }
    }
    let mut lines = Vec::new();
    for (words, rows) in grouped(without.into_iter()) {
        lines.push(format!("{}: {words}", rows.join(", ")));
    }
    for (wanted, mut rows) in by_wanted {
        rows.sort();
        let named: Vec<&str> = rows.iter().map(|(_, words)| words.as_str()).collect();
        // Of many rows the ends say enough; the record has each.
        let named = match named[..] {
            [fewest, .., most] if named.len() > MAX_NAMED_RUNS => {
                format!("from {fewest} to {most}, of {} rows", named.len())
            }
            _ => named.join("; "),
        };
        lines.push(format!("ops here, where the study did {wanted}: {named}"));
    }
    lines
}

/// The largest share of a figure that a step of the clock may be without a word.
const STEP_SHARE: f64 = 0.02;

/// Where the smallest shot is told in steps of the clock that it is not many of.
fn in_steps(table: &SingleTargetTable<'_>, step_ns: f64) -> Option<String> {
    let coarse = table.rows.iter().filter(|row| {
        let by = row.measured.and_then(|found| found.study_method.as_ref());
        let is_smallest = by.is_some_and(|by| {
            let StudyMethod { statistic, timed, .. } = by.method;
            (statistic, timed) == (Statistic::Minimum, TimingScope::Each)
        });
        let value = by.and_then(|by| by.value);
        row.row.study_method.is_some()
            && is_smallest
            && value.is_some_and(|value| step_ns > STEP_SHARE * value)
    });
    let names: Vec<&str> = coarse.map(|row| row.row.name.as_str()).collect();
    let names = match names[..] {
        [] => return None,
        [one] => one.to_owned(),
        [first, ..] => format!("{first} and {} more", names.len() - 1),
    };
    Some(format!(
        "{names}: the smallest shot is told in the clock's steps of {step_ns:.0} ns, and is up to one \
         of them too small"
    ))
}

/// How many ops there were.
fn ops(iterations: u64, experiments: u32) -> String {
    match experiments {
        1 => count(iterations),
        many => format!("{} times {}", count(u64::from(many)), count(iterations)),
    }
}
