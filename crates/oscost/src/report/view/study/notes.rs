//! Sentences about the rows of a study of one target: expectations, missing figures, notes.

use oscost_model::counters::CounterEvent;
use oscost_model::record::RowOutcome;

use crate::report::figures::{DIGITS, MIN_DIGITS, at_least, decimals_for};
use crate::report::text::plain;
use crate::report::view::document::Block;
use crate::report::view::run::counters;
use crate::report::view::sections::{first_of, grouped};
use crate::report::view::study::method::op_count;
use crate::report::view::study::rows::has_figure;
use crate::studies::comparison::single_target::{
    PredictionComparison, SingleTargetRow, SingleTargetTable,
};
use crate::studies::figures::counted_cycles::counted_cycles as comparable_cycles;
use crate::studies::figures::study_statistic::is_few_steps;
use crate::studies::study::Figure;
use crate::studies::{PublishedFigure, Subject, Table, TableUnit};

/// What the study says of each of its curves.
pub(in crate::report::view) fn statements(table: &Table) -> Option<Block> {
    let said = table.series.iter().map(|series| {
        let given = series.given.as_deref().unwrap_or("given neither as figures nor in words");
        (given.to_owned(), series.published_name())
    });
    // A curve in two placements is one of the study's, and several may be said to be alike.
    let said = grouped(said).into_iter().map(|(given, mut names)| {
        names.dedup();
        plain(&format!("then, {}: {given}", names.join(", ")))
    });
    Block::list(said)
}

/// A list under a heading; nothing where it has no items.
pub(super) fn headed_list(heading: String, items: Vec<String>) -> Vec<Block> {
    let list = Block::list(items);
    list.into_iter().flat_map(|list| [Block::Heading(heading.clone()), list]).collect()
}

/// What was expected of rows before measuring, and whether it held then and holds here.
pub(in crate::report::view) fn expectations(table: &SingleTargetTable<'_>) -> Vec<Block> {
    let expected: Vec<(&str, &PredictionComparison<'_>)> = table
        .rows
        .iter()
        .filter_map(|row| Some((row.row.name.as_str(), row.expected.as_ref()?)))
        .collect();
    // Several acts of one program have one expectation, which is said once.
    let common = match &expected[..] {
        [(_, first), others @ ..] if !others.is_empty() => {
            others.iter().all(|(_, it)| it.expected == first.expected).then_some(first.expected)
        }
        _ => None,
    };
    let mut lines: Vec<String> =
        expected.iter().map(|(name, it)| expectation(name, it, common.is_none())).collect();
    lines.extend(
        common
            .filter(|it| !it.is_empty())
            .map(|it| plain(&format!("expected by oscost, of all acts of the program: {it}"))),
    );
    let unit = table.table.figures.first().map_or("", |figure| figure.unit.text());
    headed_list(format!("Expected before measuring, in {unit}"), lines)
}

fn expectation(name: &str, it: &PredictionComparison<'_>, with_own: bool) -> String {
    let part = |what: &str, figure: &Option<PublishedFigure>| {
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
        _ if !with_own => String::new(),
        expected => format!("; expected by oscost: {expected}"),
    };
    plain(&format!(
        "{name}: {parts}: {} then, {} here{}{expected}",
        it.published_result.text(),
        it.measured_result.text(),
        floor.unwrap_or_default()
    ))
}

/// Notes on a table and its rows: rows without a figure, fewer ops than then, the study's notes.
pub(in crate::report::view) fn notes(
    table: &SingleTargetTable<'_>,
    clock_step_ns: Option<f64>,
) -> Vec<Block> {
    let mut lines: Vec<String> = table.table.notes.iter().map(|note| note.text.clone()).collect();
    let without = table.rows.iter().filter_map(|row| Some((missing(row)?, row.row.name.as_str())));
    let without = grouped(without).into_iter();
    lines.extend(without.map(|(words, rows)| format!("{}: {words}", first_of(&rows))));
    lines.extend(fewer(table));
    lines.extend(clock_step_ns.and_then(|step_ns| in_steps(table, step_ns)));
    lines.extend(counted_cycles(table));
    // A row in two placements is one of the study's.
    let of_rows = table.rows.iter().flat_map(|row| {
        row.notes.iter().map(|note| format!("{}: {note}", row.row.published_name()))
    });
    for line in of_rows {
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    let lines = lines.iter().map(|line| plain(line)).collect();
    headed_list(format!("Notes on {}", plain(&table.table.name)), lines)
}

/// Why a table has no figures, neither then nor here; `None` where it has one.
pub(super) fn empty_table_reason(table: &SingleTargetTable<'_>) -> Option<Block> {
    if table.rows.iter().any(has_figure) {
        return None;
    }
    let reasons = table.rows.iter().filter_map(|row| Some((missing(row)?, row.row.name.as_str())));
    let reasons = grouped(reasons);
    let text = match &reasons[..] {
        [] => return None,
        [(why, _)] => format!("no figures to compare: {why}"),
        [(why, rows), ..] => {
            format!(
                "no figures to compare: {}: {why}; the notes have other reasons",
                first_of(rows)
            )
        }
    };
    Some(Block::Text(plain(&text)))
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

/// The cycles that the processor counted per op, of a table in cycles or in ticks, or in times of which
/// cycles are computed: these are at the rate of a clock.
fn counted_cycles(table: &SingleTargetTable<'_>) -> Option<String> {
    let is_in_cycles =
        |figure: &Figure| matches!(figure.unit, TableUnit::Cycles | TableUnit::Ticks);
    let is_compared = |row: &SingleTargetRow<'_>| {
        row.cells.iter().any(|cell| cell.published_ratio_in_counted_cycles.is_some())
    };
    if !table.table.figures.iter().any(is_in_cycles) && !table.rows.iter().any(is_compared) {
        return None;
    }
    let counted = table.rows.iter().filter_map(|row| {
        let measured = row.measured?;
        let cycles = counters::median(measured, CounterEvent::Cycles.metric())?;
        let sees_kernel = measured.counters.as_ref().is_some_and(|it| it.kernel);
        let why_not = match (sees_kernel, comparable_cycles(measured).is_some()) {
            (false, _) => " (user mode alone)",
            (true, false) => " (not all of its time)",
            (true, true) => "",
        };
        let digits = decimals_for(cycles, DIGITS);
        Some(format!("{} {}{why_not}", row.row.name, at_least(cycles, digits)))
    });
    let counted: Vec<String> = counted.collect();
    let named = counted.iter().take(MAX_COUNTED_ROWS).cloned().collect::<Vec<_>>().join("; ");
    let more = match counted.len().saturating_sub(MAX_COUNTED_ROWS) {
        0 => String::new(),
        1 => "; and 1 more row in the record".to_owned(),
        more => format!("; and {more} more rows in the record"),
    };
    (!counted.is_empty()).then(|| {
        format!(
            "core cycles of an op as the processor counted them, where those of the table are times \
             at the rate of a clock: {named}{more}"
        )
    })
}

/// The maximum number of rows whose counted cycles are named: a note has 400 characters.
const MAX_COUNTED_ROWS: usize = 5;

/// The maximum number of rows that are named one by one.
const MAX_NAMED_ROWS: usize = 5;

/// The rows for which fewer ops were done by the study's method than the study did, or none.
fn fewer(table: &SingleTargetTable<'_>) -> Vec<String> {
    let timed = table.table.figures.iter().any(|figure| figure.formula.has_figures());
    let done = table.rows.iter().filter(|_| timed).filter_map(|row| {
        // The reason of a row without any figure is reported by `missing`.
        let found = row.measured.filter(|found| found.outcome == RowOutcome::Measured)?;
        let by = found.study_method.as_ref().filter(|_| row.row.study_method.is_some())?;
        Some((by, row.row.name.as_str()))
    });
    let mut without: Vec<(String, &str)> = Vec::new();
    let mut by_original: Vec<(String, Vec<(u64, String)>)> = Vec::new();
    for (by, name) in done {
        let study_method = &by.method;
        if let Some(reason) = &by.reason {
            let what = match by.value {
                None => "no figure by the method of the study".to_owned(),
                Some(_) => format!("only {} ops by the method of the study", op_count(by.ops, 1)),
            };
            without.push((format!("{what}: {reason}"), name));
        } else if (by.iterations, by.experiments)
            != (study_method.iterations, study_method.experiments)
        {
            let original = op_count(study_method.iterations, study_method.experiments);
            let all = by.ops;
            let distance = by.distance_from_rounds_pct.map_or(String::new(), |distance_pct| {
                format!(" ({distance_pct:+.1} % from the median of its rounds)")
            });
            let one =
                (all, format!("{name} {}{distance}", op_count(by.iterations, by.experiments)));
            match by_original.iter_mut().find(|(same, _)| *same == original) {
                Some((_, rows)) => rows.push(one),
                None => by_original.push((original, vec![one])),
            }
        }
    }
    let mut lines = Vec::new();
    for (words, rows) in grouped(without.into_iter()) {
        lines.push(format!("{}: {words}", rows.join(", ")));
    }
    for (original, mut rows) in by_original {
        rows.sort();
        let named: Vec<&str> = rows.iter().map(|(_, words)| words.as_str()).collect();
        // Of many rows only the ends are named; the record has all.
        let named = match named[..] {
            [first, .., last] if named.len() > MAX_NAMED_ROWS => {
                format!("from {first} to {last}, of {} rows", named.len())
            }
            _ => named.join("; "),
        };
        lines.push(format!("ops here, where the study did {original}: {named}"));
    }
    lines
}

/// The rows whose smallest op took only a few steps of the clock.
fn in_steps(table: &SingleTargetTable<'_>, step_ns: f64) -> Option<String> {
    let coarse = table.rows.iter().filter(|row| {
        let by = row.measured.and_then(|found| found.study_method.as_ref());
        row.row.study_method.is_some() && by.is_some_and(|by| is_few_steps(by, step_ns))
    });
    let names: Vec<&str> = coarse.map(|row| row.row.name.as_str()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "{}: the smallest op is a multiple of the clock's step of {step_ns:.0} ns, and up to one \
             step too small",
            first_of(&names)
        )
    })
}
