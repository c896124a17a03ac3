//! Cases down, machines across.

use std::collections::{BTreeMap, BTreeSet};

use super::content::TableContent;
use super::texts::{
    count, count_difference, count_factor, count_range, factor, figure, joined, range, ratio,
};
use crate::advice::machine_facts::DescribedMachine;
use crate::estimate::machine_table::{
    CaseLine, CountedModes, TableCell, TableColumn, TableFigure, TableUnit,
};
use crate::report::text::{plain, plural};
use crate::report::view::document::{Cell, Column, Table, TableRow};

/// The caption of a table whose rows have no other order.
pub(super) const BY_NAME: &str = "Cases by their names";

/// Of more columns that are left out the first are named.
const MAX_NAMED: usize = 8;

/// Of more reasons the most frequent are told.
const MAX_REASONS: usize = 3;

/// A case that a column lacks, and why.
pub(super) struct MissingCase<'a> {
    pub(super) case: &'a str,
    pub(super) reason: String,
}

/// What stands where, in a line. The table has so many rows.
pub(super) fn conditions(content: &TableContent<'_>, rows: usize) -> String {
    let table = content.table;
    let runs: usize = content.machines.iter().map(|it| it.runs.len()).sum();
    let unit = match table.unit {
        TableUnit::Own => "in the unit of each case",
        TableUnit::Cycles => "in cycles of each core",
        TableUnit::Calls => "in calls of an empty function of each machine",
        TableUnit::Instructions => "in instructions of an op",
    };
    let base = match has_ratios(content) {
        true => format!("; ratios are to {}", content.base_name()),
        false => String::new(),
    };
    format!(
        "{} of {}, {}{}, {unit}{base}",
        plural(runs as u64, "run"),
        machine_count(content.machines),
        plural(rows as u64, "case"),
        without_figures(content),
    )
}

/// How many cases have no row; nothing if all have one.
fn without_figures(content: &TableContent<'_>) -> String {
    let lines = content.lines_with_figures();
    let shown: BTreeSet<&str> = lines.iter().map(|it| it.case.as_str()).collect();
    let all = content.table.lines.iter().map(|it| it.case.as_str());
    let others: BTreeSet<&str> = all.filter(|case| !shown.contains(case)).collect();
    match others.len() {
        0 => String::new(),
        count => format!(" ({count} more without a figure)"),
    }
}

/// How many machines there are, and in how many settings.
fn machine_count(machines: &[DescribedMachine]) -> String {
    let alone = machines.iter().filter(|it| it.setting_of.is_none()).count();
    let count = plural(alone as u64, "machine");
    match machines.len() {
        all if all == alone => count,
        all => format!("{count} in {all} settings"),
    }
}

/// Whether any case has a ratio between two columns, by which the lines are in order.
fn has_ratios(content: &TableContent<'_>) -> bool {
    let cells = content.table.lines.iter().flat_map(|it| &it.cells);
    cells.filter_map(TableCell::figure).any(|it| it.ratio.is_some())
}

/// The table, a column for each machine or for several with the same facts, if they have a figure.
pub(super) fn grid(content: &TableContent<'_>) -> Table {
    let table = content.table;
    let shown = content.shown_columns();
    let names = shown.iter().map(|&at| content.column_name(&table.columns[at]));
    let columns = names.map(|name| Column {
        title: name.clone(),
        word: "machine",
        ..Column::number("", &name)
    });
    let lines = content.lines_with_figures();
    let count = lines.len();
    let row = |(at, &line): (usize, &&CaseLine)| {
        let cells = shown.iter().filter_map(|&at| Some(cell(line, line.cells.get(at)?)));
        TableRow {
            benchmark: line.benchmark.clone(),
            priority: (count - at) as u32,
            ..TableRow::of([Cell::text(name(line))].into_iter().chain(cells).collect())
        }
    };
    Table {
        id: "machine-table".to_owned(),
        caption: match has_ratios(content) {
            true => "What differs most comes first".to_owned(),
            false => BY_NAME.to_owned(),
        },
        columns: [Column::text("case")].into_iter().chain(columns).collect(),
        rows: lines.iter().enumerate().map(row).collect(),
        notes: notes(content),
        interactive: true,
        ..Table::default()
    }
}

/// The case, with the treatments that it was measured under.
pub(super) fn name(line: &CaseLine) -> String {
    match line.treatments.is_empty() {
        true => plain(&line.case),
        false => plain(&format!("{} under {}", line.case, line.treatments.join("+"))),
    }
}

/// A figure of a case; with its interval and its ratio where there is room.
pub(super) fn cell(line: &CaseLine, cell: &TableCell) -> Cell {
    let TableCell::Figure(found) = cell else { return Cell::number("-", None) };
    let (own, ends) = match line.counted {
        Some(modes) => (count(found.value, modes), count_range(found)),
        None => (figure(found.value, line.unit), range(found, line.unit)),
    };
    let base = line.cells.first().and_then(TableCell::figure).filter(|it| it.is_exact);
    let (long, short) = match (&found.ratio, base.filter(|_| found.is_exact)) {
        (Some(_), Some(base)) => {
            let difference = count_difference(found.value, base.value);
            let times = factor(found.value / base.value);
            // A ratio that is nearly 1 does not show that counts differ.
            let short = if times == "1.00" { difference.clone() } else { format!("x {times}") };
            (format!("{own}{ends} x {times}, {difference}"), format!("{own} {short}"))
        }
        (Some(it), None) => {
            let factor = if line.counted.is_some() { count_factor } else { factor };
            let short = format!("{own} x {}", factor(it.value));
            (format!("{own}{ends} {}", ratio(it, factor)), short)
        }
        (None, _) => (format!("{own}{ends}"), own),
    };
    Cell::number(long, Some(found.value)).or_short(short)
}

/// What the brackets and the ratios of the cells mean.
pub(super) fn notes(content: &TableContent<'_>) -> Vec<String> {
    let lines = || content.table.lines.iter();
    let figures = || lines().flat_map(|it| &it.cells).filter_map(TableCell::figure);
    let has = |is: fn(&TableFigure) -> bool| figures().any(is);
    let counted = |modes: &[CountedModes]| {
        lines().any(|it| it.counted.is_some_and(|counted| modes.contains(&counted)))
    };
    let are_counted = counted(&[CountedModes::Both, CountedModes::User]);
    let with_interval = || figures().filter(|it| it.interval.is_some() && !it.is_exact);
    let within = with_interval().filter(|it| !it.is_between_runs).count();
    let interval = match within {
        _ if are_counted => {
            "the 95 % interval of a run's counts (of three to five workers their range), with what \
             runs of one boot differ by"
                .to_owned()
        }
        0 => "the 95 % interval, with the variation between runs".to_owned(),
        all if all == with_interval().count() => {
            "the 95 % interval of one run's own repetitions, without the variation between runs"
                .to_owned()
        }
        some => format!(
            "the 95 % interval, with the variation between runs except in {}",
            plural(some as u64, "cell")
        ),
    };
    // Cells in a narrow window have no brackets.
    let interval = format!("[], where the window has room: {interval}");
    let spread =
        "(): the lowest and the highest of equal machines, of which the figure is the median";
    let base = content.base_name();
    let ratio = match are_counted {
        true => format!(
            "x: over {base}, with the interval of both counts; a ratio is of two kernels and their \
             boots, and of two workers where their builds differ: how far instructions differ \
             between boots is not in it"
        ),
        false => format!(
            "x: over {base}, with its 95 % interval where both have one between runs; two machines, \
             two moments: a ratio is of both"
        ),
    };
    let user = "u: in user mode alone, in the whole line: the kernel's instructions are not visible \
                on one of the machines";
    let exact = "[exact]: the same number of instructions in all repetitions, counted by one emulator \
                 and worker: any difference is the machines' own";
    let meanings = [
        has(|it| it.is_exact).then(|| exact.to_owned()),
        has(|it| it.interval.is_some() && !it.is_exact).then_some(interval),
        has(|it| it.spread.is_some()).then(|| spread.to_owned()),
        has(|it| it.ratio.is_some()).then_some(ratio),
        counted(&[CountedModes::User]).then(|| user.to_owned()),
    ];
    let meanings = meanings.into_iter().flatten().chain(folded(content));
    meanings.chain(left_out(content)).chain(beyond_bound(content)).collect()
}

/// Which machines the columns of several are of.
fn folded(content: &TableContent<'_>) -> Option<String> {
    let shown = content.shown_columns();
    let columns = shown.iter().map(|&at| &content.table.columns[at]);
    let all: Vec<&TableColumn> = columns.filter(|column| column.machines.len() > 1).collect();
    let name = |column: &&TableColumn| {
        format!("{} is {}", content.column_name(column), content.listed_names(column))
    };
    let mut told: Vec<String> = all.iter().take(MAX_NAMED).map(name).collect();
    if all.len() > MAX_NAMED {
        told.push(format!("{} more are named below", all.len() - MAX_NAMED));
    }
    (!told.is_empty()).then(|| format!("columns of several machines: {}", told.join("; ")))
}

/// The columns that a table has no room for.
fn beyond_bound(content: &TableContent<'_>) -> Option<String> {
    let further = &content.table.left_out;
    if further.is_empty() {
        return None;
    }
    let machines: usize = further.iter().map(|column| column.machines.len()).sum();
    let names = further.iter().take(MAX_NAMED).map(|column| content.column_name(column));
    let mut names: Vec<String> = names.collect();
    if further.len() > MAX_NAMED {
        names.push(format!("{} more", further.len() - MAX_NAMED));
    }
    Some(format!(
        "{} of {} {} left out, since a table has at most {}: those in which something stands out \
         stay, then those of the most machines. They are {}",
        plural(further.len() as u64, "column"),
        plural(machines as u64, "machine"),
        if further.len() == 1 { "is" } else { "are" },
        content.table.columns.len(),
        joined(&names)
    ))
}

/// The columns that have no figure beside those of the others, and why.
fn left_out(content: &TableContent<'_>) -> Vec<String> {
    let shown = content.shown_columns();
    let columns = content.table.columns.iter().enumerate();
    let line = |(at, column): (usize, &TableColumn)| {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for line in &content.table.lines {
            if let Some(TableCell::Missing(why)) = line.cells.get(at) {
                *counts.entry(why).or_default() += 1;
            }
        }
        let mut reasons: Vec<(&str, u64)> = counts.into_iter().collect();
        // The sort is stable: equally frequent reasons stay in their order.
        reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let told = reasons.iter().take(MAX_REASONS);
        let told = told.map(|(why, count)| format!("{} in {}", plain(why), plural(*count, "case")));
        let told: Vec<String> = told.collect();
        format!("{} has no figure to show here: {}", content.column_name(column), told.join("; "))
    };
    columns.filter(|(at, _)| !shown.contains(at)).map(line).collect()
}

/// What a column is called, with the number of its runs if a machine has several: it is called by the
/// first, and the reason may be that of another.
fn name_with_runs(content: &TableContent<'_>, column: &TableColumn) -> String {
    let name = content.column_name(column);
    match &column.machines[..] {
        [only] => match content.machines.get(*only).map_or(0, |it| it.runs.len()) {
            0 | 1 => name,
            runs => format!("{name} ({runs} runs)"),
        },
        _ => name,
    }
}

/// The cases that a column with figures lacks, with the column and the reason.
pub(super) fn missing<'a>(content: &TableContent<'a>) -> Vec<MissingCase<'a>> {
    let shown = content.shown_columns();
    let columns = content.table.columns.iter();
    let names: Vec<String> = columns.map(|column| name_with_runs(content, column)).collect();
    let mut found = Vec::new();
    for line in &content.table.lines {
        for &at in &shown {
            if let Some(TableCell::Missing(why)) = line.cells.get(at) {
                let name = &names[at];
                let reason = format!("{name}: {}", plain(why));
                found.push(MissingCase { case: &line.case, reason });
            }
        }
    }
    found
}
