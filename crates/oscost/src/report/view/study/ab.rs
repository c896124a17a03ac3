//! A run of two targets in the form of a study: its tables with what was published and what was
//! measured below each other, and the comparison of both.

use std::collections::BTreeMap;

use oscost_model::counters::is_work;
use oscost_model::record::{Comparison, Record};

use crate::report::figures::{DIGITS, MIN_DIGITS, Style, added, at_least, decimals_for, signed};
use crate::report::text::plain;
use crate::report::view::answer;
use crate::report::view::comparison::ab::{Targets, added_to_reference_cases, pair_title, summary};
use crate::report::view::comparison::verdicts::verdict_style;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};
use crate::report::view::run::headline::{headline, title as run_title};
use crate::report::view::run::monitor::states;
use crate::report::view::run::row::is_requested;
use crate::report::view::study::claims;
use crate::report::view::study::heading::heading_lines;
use crate::report::view::study::machine;
use crate::report::view::study::notes::headed_list;
use crate::studies::PublishedFigure;
use crate::studies::comparison::two_targets::{
    RunStatistic, TwoTargetComparison, TwoTargetRow, TwoTargetTable,
};
use crate::studies::machine::condition;

/// A run in the form of its study.
pub fn view(comparison: &TwoTargetComparison<'_>, record: &Record) -> View {
    let heading = Block::list(heading(comparison)).into_iter().collect();
    let mut sections = vec![Section { blocks: heading, ..Section::default() }];
    let tables = comparison.tables.iter();
    sections.extend(tables.map(|table| {
        let mut blocks = vec![
            Block::Heading(title(comparison, table)),
            Block::Table(by_study_statistic(comparison, table)),
            Block::Heading(median_heading(comparison, table)),
            Block::Table(by_medians(comparison, table)),
        ];
        blocks.extend(notes(comparison, table));
        Section { blocks, ..Section::default() }
    }));
    let conditions = condition::judge_all(&comparison.study.conditions, record);
    sections.extend(machine::section(comparison.study, record));
    sections.extend(claims::sections(comparison.study, &conditions, &comparison.claims));
    let reference_cases: Vec<&Comparison> = record
        .comparisons
        .iter()
        .filter(|it| !it.control && !is_work(&it.metric))
        .filter(|it| !is_requested(&record.results[it.base as usize]))
        .collect();
    let added = added_to_reference_cases(record, &reference_cases).map(Block::Text);
    sections.push(Section { blocks: added.into_iter().collect(), ..Section::default() });
    sections.extend(summary(record));
    let answer = Some(answer::study::answer(comparison.study, &comparison.claims, record));
    let (title, lead) = (run_title(record), headline(record));
    View { title, lead, answer, sections, ..View::default() }
}

/// Which study, what it was measured on, and the targets of its columns here; a sentence each.
pub(in crate::report::view) fn heading(comparison: &TwoTargetComparison<'_>) -> Vec<String> {
    let columns = comparison.columns.iter().zip(comparison.targets);
    let targets = columns.map(|(column, target)| match target {
        Some(target) if target != column.target => {
            format!("{} is {target} (of the study: {})", column.name, column.target)
        }
        _ => format!("{} is {}", column.name, column.target),
    });
    heading_lines(comparison.study, Some(&targets.collect::<Vec<_>>().join(", ")))
}

/// The title of a table, its unit, and its statistic.
pub(in crate::report::view) fn title(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
) -> String {
    let of = table.table;
    plain(&format!(
        "{}: {}. Unit: {}; means, in brackets standard deviations; {} runs.",
        of.name,
        of.title,
        of.unit.plural(),
        comparison.study.protocol.runs
    ))
}

/// The table as it was published, with this run's figures by the same statistic below each row.
pub(in crate::report::view) fn by_study_statistic(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
) -> Table {
    let [base, new] = target_columns(comparison);
    let columns = vec![
        Column::text("row"),
        Column::text(""),
        base,
        new,
        Column::number("added", "added"),
        Column::number("ratio", "ratio"),
    ];
    let mut rows = Vec::new();
    for row in &table.rows {
        let decimals = Decimals::of(row, table);
        let name = plain(&row.row.name);
        let published = [0, 1].map(|column| row.row.published.get(column).and_then(Option::as_ref));
        if published.iter().flatten().any(|it| it.single().is_some()) {
            let figures = published.map(|it| Figure {
                text: it.map(|it| plain(&it.text)),
                value: it.and_then(PublishedFigure::single),
            });
            rows.push(line(&name, "then", figures, decimals));
        }
        let figures = row.statistics.map(|it| Figure {
            text: it.map(|it| statistic(it, decimals)),
            value: it.map(|it| it.mean),
        });
        rows.push(line(&name, "here", figures, decimals));
    }
    Table { columns, rows, rows_share_names: true, ..Table::default() }
}

/// The columns of the two targets, with the names that the study gives them.
fn target_columns(comparison: &TwoTargetComparison<'_>) -> [Column; 2] {
    let [base, new] = comparison.columns.each_ref().map(|column| plain(&column.name));
    [Column::number(&base, "base"), Column::number(&new, "new")]
}

/// A figure of one of the two columns.
struct Figure {
    text: Option<String>,
    value: Option<f64>,
}

/// The figures of both columns, and their difference.
fn line(name: &str, when: &str, figures: [Figure; 2], decimals: Decimals) -> TableRow {
    let dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let [base, new] = &figures;
    let values = base.value.zip(new.value);
    let added = values.map(|(base, new)| {
        // With the decimals of the column that it is computed from: it is not more precise.
        let decimals = decimals.of_figure.max(decimals_for(base, MIN_DIGITS));
        signed(new - base, decimals)
    });
    let ratio = values.map(|(base, new)| new / base);
    let difference = values.map(|(base, new)| new - base);
    let [base, new] = figures.map(|it| Cell::number(dash(it.text), it.value));
    TableRow::of(vec![
        Cell::text(name),
        Cell::text(when),
        base,
        new,
        Cell::number(dash(added), difference),
        Cell::number(dash(ratio.map(|ratio| format!("{ratio:.2}"))), ratio),
    ])
}

/// What is compared in the table of oscost's own estimates.
pub(in crate::report::view) fn median_heading(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
) -> String {
    let compared: Vec<&Comparison> = table.rows.iter().filter_map(|row| row.comparison).collect();
    let [base, new] = comparison.targets.map(|target| target.unwrap_or("-"));
    format!("By medians, {}", pair_title(Targets { base, new }, &compared))
}

/// The same rows by oscost's own estimates.
pub(in crate::report::view) fn by_medians(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
) -> Table {
    let [base, new] = target_columns(comparison);
    let columns = vec![
        Column::text("row"),
        base,
        new,
        Column::number("added", "added"),
        Column::number("95 % interval", "added_ci95"),
        Column { optional: true, ..Column::number("ratio [95 % interval]", "ratio") },
        Column::choice("verdict"),
    ];
    let row = |row: &TwoTargetRow<'_>| {
        let median = |column: usize| {
            let estimate = row.estimate(column);
            let median = estimate.map(|it| it.estimate.median);
            let text = estimate.zip(median);
            let text = text.map(|(it, median)| Style::of(median, it.unit).with_unit(median));
            Cell::number(text.unwrap_or("-".to_owned()), median)
        };
        let [added, interval, ratio, verdict] = match row.comparison {
            Some(it) => compared_cells(it),
            None => std::array::from_fn(|_| Cell::text("-")),
        };
        let name = Cell::text(plain(&row.row.name));
        TableRow::of(vec![name, median(0), median(1), added, interval, ratio, verdict])
    };
    let rows = table.rows.iter().map(row).collect();
    Table { columns, rows, ..Table::default() }
}

/// What is added, its interval, the ratio, and the verdict.
fn compared_cells(it: &Comparison) -> [Cell; 4] {
    let style = Style::of(it.added.value, it.added.unit);
    let interval =
        it.added.ci95.map(|[low, high]| format!("{} .. {}", style.number(low), style.number(high)));
    let ratio_interval = it.ratio.ci95.map(|[low, high]| format!(" [{low:.3} .. {high:.3}]"));
    let ratio = format!("{:.3}{}", it.ratio.value, ratio_interval.unwrap_or_default());
    [
        Cell::number(added(it.added.value, it.added.unit), Some(it.added.value)),
        Cell::text(interval.unwrap_or_else(|| "-".to_owned())),
        Cell::number(ratio, Some(it.ratio.value)),
        Cell::text(plain(&it.verdict)).with_style(verdict_style(it)),
    ]
}

/// How many decimals figures have.
#[derive(Clone, Copy)]
struct Decimals {
    of_figure: usize,
    of_deviation: usize,
}

impl Decimals {
    /// As many as the row's published figures have, or those of the first row of the table that has
    /// any.
    fn of(row: &TwoTargetRow<'_>, table: &TwoTargetTable<'_>) -> Self {
        let all = std::iter::once(row).chain(&table.rows);
        let first = all.flat_map(|row| row.row.published.iter().flatten()).next();
        let Some(PublishedFigure { decimals, deviation_decimals, .. }) = first else {
            let size = row.statistics.iter().flatten().map(|it| it.mean).next().unwrap_or(0.0);
            let decimals = decimals_for(size, DIGITS);
            return Self { of_figure: decimals, of_deviation: decimals };
        };
        Self { of_figure: *decimals, of_deviation: deviation_decimals.unwrap_or(*decimals) }
    }
}

/// A figure by the study's statistic, in its form.
fn statistic(here: RunStatistic, decimals: Decimals) -> String {
    let mean = at_least(here.mean, decimals.of_figure);
    match here.deviation {
        Some(deviation) => format!("{mean} ({})", at_least(deviation, decimals.of_deviation)),
        None => mean,
    }
}

/// Notes on a table and its rows.
pub(in crate::report::view) fn notes(
    comparison: &TwoTargetComparison<'_>,
    table: &TwoTargetTable<'_>,
) -> Vec<Block> {
    let mut lines: Vec<String> = table.table.notes.iter().map(|note| note.text.clone()).collect();
    lines.extend(profiles(comparison, table));
    for row in &table.rows {
        let (name, runs) = (&row.row.name, row.row.runs);
        lines.extend(row.notes.iter().map(|note| format!("{name}: {note}")));
        for (column, here) in comparison.columns.iter().zip(row.statistics) {
            if let Some(here) = here.filter(|here| here.runs < runs) {
                let noun = if here.runs == 1 { "run" } else { "runs" };
                lines.push(format!(
                    "{name}, {}: {} {noun} here, not {runs}",
                    column.name, here.runs
                ));
            }
        }
    }
    let lines = lines.iter().map(|line| plain(line)).collect();
    headed_list(format!("Notes on {}", plain(&table.table.name)), lines)
}

/// The states of the measuring program's profile, by row, where a monitor reported them.
fn profiles(comparison: &TwoTargetComparison<'_>, table: &TwoTargetTable<'_>) -> Option<String> {
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
    let states: Vec<String> = by_state.iter().map(each).collect();
    let column = &comparison.columns[1].name;
    let states = states.join("; ");
    (!states.is_empty())
        .then(|| format!("the profile that {column} had of the measuring program: {states}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_the_decimals_that_were_published_and_two_significant_digits_at_least() {
        assert_eq!(at_least(1.15769, 4), "1.1577");
        assert_eq!(at_least(0.104_71, 4), "0.1047");
        assert_eq!(at_least(0.000_041_2, 4), "0.000041");
        assert_eq!(at_least(18_223.956, 2), "18223.96");
        assert_eq!(at_least(0.0, 3), "0.000");
        let here = RunStatistic { mean: 0.104_71, deviation: Some(0.003_27), runs: 10 };
        let decimals = |of_figure, of_deviation| Decimals { of_figure, of_deviation };
        assert_eq!(statistic(here, decimals(4, 5)), "0.1047 (0.00327)");
        assert_eq!(statistic(RunStatistic { deviation: None, ..here }, decimals(2, 3)), "0.10");
        let signed = [signed(-0.000_01, 4), signed(-0.06, 1), signed(2.0, 0)];
        assert_eq!(signed, ["0.0000", "-0.1", "2"]);
    }
}
