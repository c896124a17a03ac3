//! A run of two places in the form of a study: its tables with what was published and what was
//! measured below each other, and what to think of both.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Record};

use crate::report::figures::{DIGITS, MIN_DIGITS, Style, at_least, decimals_for, signed};
use crate::report::text::{fold, plain};
use crate::report::view::ab::{Targets, added_to_reference_cases, pair_title, summary};
use crate::report::view::claims;
use crate::report::view::document::{Block, Section, View};
use crate::report::view::headline::{headline, title as run_title};
use crate::report::view::lists::preformatted;
use crate::report::view::monitor::states;
use crate::report::view::row::is_asked;
use crate::studies::two_targets::{
    RunStatistic, TwoTargetComparison, TwoTargetRow, TwoTargetTable,
};
use crate::studies::{Published, condition};

/// Of a terminal.
const WIDTH: usize = 80;
/// Between columns.
const GAP: usize = 2;
/// A run in the form of its study.
pub fn view(laid: &TwoTargetComparison<'_>, record: &Record) -> View {
    let mut sections = vec![preformatted(heading(laid))];
    for table in &laid.tables {
        let texts = [as_printed(laid, table), by_medians(laid, table), notes(laid, table)];
        let texts = texts.into_iter().filter(|text| !text.is_empty());
        let blocks = texts.map(Block::Preformatted).collect();
        sections.push(Section { blocks, ..Section::default() });
    }
    let conditions = laid.study.conditions.iter().map(|it| (it, condition::judge(it, record)));
    let conditions: Vec<_> = conditions.collect();
    sections.extend(claims::sections(laid.study, &conditions, &laid.claims));
    let reference_cases: Vec<&Comparison> = record
        .comparisons
        .iter()
        .filter(|it| !it.control && !is_asked(&record.results[it.base as usize]))
        .collect();
    let added = added_to_reference_cases(record, &reference_cases).map(Block::Text);
    sections.push(Section { blocks: added.into_iter().collect(), ..Section::default() });
    sections.extend(summary(record));
    View { title: run_title(record), lead: headline(record), sections, ..View::default() }
}

/// Which study, what it was measured on, and what its columns are here.
pub(super) fn heading(laid: &TwoTargetComparison<'_>) -> String {
    let study = laid.study;
    let authors = study.authors.join(", ");
    let protocol = &study.protocol;
    let targets = laid.columns.iter().zip(laid.targets).map(|(column, target)| match target {
        Some(target) if target != column.target => {
            format!("{} is {target} (of the study: {})", column.name, column.target)
        }
        _ => format!("{} is {}", column.name, column.target),
    });
    let targets = targets.collect::<Vec<_>>().join(", ");
    [
        format!(
            "Study {}, published in {}: {}. {authors}. {}.",
            study.id, study.year, study.title, study.source
        ),
        format!("then: {}; {}", study.measured_on, protocol.original),
        format!("here: {targets}; {}", protocol.replication),
    ]
    .map(|line| fold(&plain(&line), 78, "  "))
    .join("\n")
}

/// The table as the study printed it, with this run's figures by its own statistic below each row.
fn as_printed(laid: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> String {
    let of = table.table;
    let mut text = fold(
        &plain(&format!(
            "{}: {}. In {}: means, in brackets standard deviations; {} runs.",
            of.name,
            of.title,
            of.unit.text(),
            laid.study.protocol.runs
        )),
        78,
        "  ",
    );
    text.push('\n');
    let [base, new] = laid.columns.each_ref().map(|column| plain(&column.name));
    let mut lines = vec![Line::head(["", &base, &new, "added", "ratio"])];
    for row in &table.rows {
        let decimals = decimals(row, table);
        let printed = |side: usize| row.row.published.get(side).and_then(Option::as_ref);
        let then = [0, 1].map(|side| printed(side).map(|it| it.text.clone()));
        let both = [0, 1].map(|side| printed(side).and_then(Published::single));
        let here = row.statistics.map(|it| it.map(|it| statistic(it, decimals)));
        let name = plain(&row.row.name);
        let is_published = both.iter().any(Option::is_some);
        if is_published {
            lines.push(Line::of(&name, "then", then, both, decimals.0));
        }
        let name = if is_published { "" } else { &name };
        let means = row.statistics.map(|it| it.map(|it| it.mean));
        lines.push(Line::of(name, "here", here, means, decimals.0));
    }
    text.push_str(&laid_out(&lines));
    text
}

/// The same rows by oscost's own estimates.
fn by_medians(laid: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> String {
    let compared: Vec<&Comparison> = table.rows.iter().filter_map(|row| row.comparison).collect();
    let targets = laid.targets.map(|target| target.unwrap_or("-"));
    let text = format!(
        "By medians, {}",
        pair_title(Targets { base: targets[0], new: targets[1] }, &compared)
    );
    let mut text = fold(&text, 78, "  ");
    text.push('\n');
    let [base, new] = laid.columns.each_ref().map(|column| plain(&column.name));
    let mut lines = vec![Line::head([&base, &new, "added", "95 % interval", "verdict"])];
    for row in &table.rows {
        let median = |side: usize| {
            let (estimate, unit) = row.estimate(side)?;
            Some(Style::of(estimate.median, unit).with_unit(estimate.median))
        };
        let [added, interval, verdict] = match row.comparison {
            Some(it) => compared_workers(it),
            None => std::array::from_fn(|_| "-".to_owned()),
        };
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        lines.push(Line {
            name: plain(&row.row.name),
            cells: [dash(median(0)), dash(median(1)), added, interval, verdict],
        });
    }
    text.push_str(&laid_out(&lines));
    text
}

/// What is added, its interval, and the verdict.
fn compared_workers(it: &Comparison) -> [String; 3] {
    let style = Style::of(it.added.value, it.added.unit);
    let sign = if it.added.value > 0.0 { "+" } else { "" };
    let interval =
        it.added.ci95.map(|[low, high]| format!("{} .. {}", style.number(low), style.number(high)));
    [
        format!("{sign}{}", style.with_unit(it.added.value)),
        interval.unwrap_or_else(|| "-".to_owned()),
        plain(&it.verdict),
    ]
}

/// Digits behind the points of a figure and of its deviation: as many as were printed of the row,
/// or of the table's first row of which some were.
pub(super) fn decimals(row: &TwoTargetRow<'_>, table: &TwoTargetTable<'_>) -> (usize, usize) {
    let all = std::iter::once(row).chain(&table.rows);
    let first: Option<&Published> = all.flat_map(|row| row.row.published.iter().flatten()).next();
    match first {
        Some(it) => (it.decimals, it.deviation_decimals.unwrap_or(it.decimals)),
        None => {
            let size = row.statistics.iter().flatten().map(|it| it.mean).next().unwrap_or(0.0);
            (decimals_for(size, DIGITS), decimals_for(size, DIGITS))
        }
    }
}

/// A figure by the study's statistic, in its form.
pub(super) fn statistic(here: RunStatistic, (decimals, of_deviation): (usize, usize)) -> String {
    let mean = at_least(here.mean, decimals);
    match here.deviation {
        Some(deviation) => format!("{mean} ({})", at_least(deviation, of_deviation)),
        None => mean,
    }
}

/// A line of a table: a name, and five cells.
struct Line {
    name: String,
    cells: [String; 5],
}

impl Line {
    fn head(cells: [&str; 5]) -> Self {
        Self { name: String::new(), cells: cells.map(str::to_owned) }
    }

    /// Figures of both columns, and what they differ by.
    fn of(
        name: &str,
        when: &str,
        figures: [Option<String>; 2],
        values: [Option<f64>; 2],
        decimals: usize,
    ) -> Self {
        let (added, ratio) = match values {
            [Some(base), Some(new)] => {
                // In the digits of the column that it is made of: there is no more in it.
                let decimals = decimals.max(decimals_for(base, MIN_DIGITS));
                (signed(new - base, decimals), format!("{:.2}", new / base))
            }
            _ => ("-".to_owned(), "-".to_owned()),
        };
        let [base, new] = figures.map(|it| it.unwrap_or_else(|| "-".to_owned()));
        Self { name: name.to_owned(), cells: [when.to_owned(), base, new, added, ratio] }
    }
}

/// Lines under each other; a name for which no room is left stands on a line of its own. The cells
/// below `verdict` are words.
fn laid_out(lines: &[Line]) -> String {
    let wide = |text: &str| text.chars().count();
    let widths: [usize; 5] =
        std::array::from_fn(|at| lines.iter().map(|line| wide(&line.cells[at])).max().unwrap_or(0));
    let left = WIDTH.saturating_sub(widths.iter().map(|width| width + GAP).sum());
    let fitting = lines.iter().map(|line| wide(&line.name)).filter(|&name| name <= left);
    let names = fitting.max().unwrap_or(0);
    let words = lines.first().is_some_and(|head| head.cells[4] == "verdict");
    let mut out = Vec::new();
    for line in lines {
        let mut text = format!("{:names$}", line.name);
        if wide(&line.name) > names {
            out.push(line.name.clone());
            text = " ".repeat(names);
        }
        for (at, (cell, &width)) in line.cells.iter().zip(&widths).enumerate() {
            let cell = if at == 4 && words {
                format!("{cell:<width$}")
            } else {
                format!("{cell:>width$}")
            };
            text.push_str(&format!("{:GAP$}{cell}", ""));
        }
        out.push(text.trim_end().to_owned());
    }
    out.join("\n")
}

/// What there is to say of a table and its rows.
pub(super) fn notes(laid: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> String {
    let mut lines: Vec<String> = table.table.notes.iter().map(|note| note.text.clone()).collect();
    lines.extend(profiles(laid, table));
    for row in &table.rows {
        let (name, runs) = (&row.row.name, row.row.runs);
        lines.extend(row.notes.iter().map(|note| format!("{name}: {note}")));
        for (column, here) in laid.columns.iter().zip(row.statistics) {
            if let Some(here) = here.filter(|here| here.runs < runs) {
                let of = if here.runs == 1 { "run" } else { "runs" };
                lines.push(format!("{name}, {}: {} {of} here, not {runs}", column.name, here.runs));
            }
        }
    }
    let folded = lines.iter().map(|line| fold(&plain(line), 76, "    "));
    let listed: Vec<String> = folded.map(|line| format!("  {line}\n")).collect();
    if listed.is_empty() { String::new() } else { format!("\n{}", listed.concat()) }
}

/// In which state the profile of the measuring program was, row by row, where a monitor told.
fn profiles(laid: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> Option<String> {
    let mut by_state: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    for row in &table.rows {
        if let Some(monitor) = row.sides[1].and_then(|row| row.monitor.as_ref()) {
            by_state.entry(states(monitor)).or_default().push(&row.row.name);
        }
    }
    let each = |(state, rows): (&String, &Vec<&str>)| match by_state.len() {
        1 => format!("{state} in every row"),
        _ => format!("{state} in {}", rows.join(", ")),
    };
    let said: Vec<String> = by_state.iter().map(each).collect();
    let column = &laid.columns[1].name;
    let of = format!("the profile that {column} had of the measuring program");
    (!said.is_empty()).then(|| format!("{of}: {}", said.join("; ")))
}

#[cfg(test)]
mod tests;
