//! A word in the last run: the rows that have it, and their figures.

use oscost_model::point::Value;
use oscost_model::program::PEAK_MEMORY;
use oscost_model::record::{Comparison, Record, Row};
use oscost_model::unit::Better;

use super::command_word::CommandWord;
use crate::advice::words::{Kind, Word};
use crate::report::figures::Style;
use crate::report::text::{minute, plain};
use crate::report::view::answer::trust;
use crate::report::view::document::{Block, Cell, Column, Table};
use crate::report::view::run::instructions::is_counted;
use crate::report::view::run::programs::{is_program, peak_memory};
use crate::report::view::run::row::{entries, figure, has};
use crate::report::view::run::{CountedEvents, FigureUnit, Plots, levels_text, view};

/// How many rows are named.
const MAX_NAMED: usize = 3;

/// What the last run has of a word; `None` of a word that is not of rows.
pub(super) fn of(word: &Word, record: &Record) -> Option<String> {
    let name = word.word;
    let of_rows = |has_it: &dyn Fn(&Row) -> bool| {
        let rows = record.results.iter().filter(|row| has_it(row));
        Some(named(rows.map(row_text).collect(), "row", record.results.len(), record))
    };
    let of_comparisons = |has_it: &dyn Fn(&Comparison) -> bool| {
        let compared = record.comparisons.iter().filter(|it| has_it(it));
        let all = record.comparisons.len();
        (all > 0).then(|| named(compared.map(comparison_text).collect(), "comparison", all, record))
    };
    match word.kind {
        Kind::RowFlag if name == "TWO_LEVELS" => {
            let rows = record.results.iter().filter(|row| has(row, name));
            let texts = rows.map(|row| levels_text(row).unwrap_or_else(|| row_text(row)));
            Some(named(texts.collect(), "row", record.results.len(), record))
        }
        Kind::RowFlag => of_rows(&|row| row.flags.iter().any(|flag| flag == name)),
        Kind::CostClass => of_rows(&|row| row.class.as_deref() == Some(name)),
        Kind::Outcome => of_rows(&|row| row.outcome.text() == name),
        Kind::Mode => of_rows(&|row| row.mode.is_some_and(|mode| mode.text() == name)),
        Kind::Unit if record.results.iter().any(|row| is_in_unit(row, name)) => {
            of_rows(&|row| is_in_unit(row, name))
        }
        Kind::Host if record.results.iter().any(|row| is_on_host(row, name)) => {
            of_rows(&|row| is_on_host(row, name))
        }
        Kind::Trust => {
            let grade = trust::of_record(record).map(|trust| trust.grade.text());
            grade.map(|grade| hold_text(grade == name, record))
        }
        Kind::Direction => of_rows(&|row| match row.better {
            Better::Lower => name == "lower",
            Better::Higher => name == "higher",
        }),
        Kind::Metric => {
            let figures = record.results.iter().filter_map(|row| metric(row, name));
            let all = record.results.len();
            Some(named(figures.collect(), "row", all, record))
        }
        Kind::ComparisonFlag => of_comparisons(&|it| it.flags.iter().any(|flag| flag == name)),
        Kind::Verdict => of_comparisons(&|it| it.verdict == name),
        Kind::Design => of_comparisons(&|it| it.design == name),
        Kind::Cause => of_comparisons(&|it| {
            it.decomposition.as_ref().is_some_and(|parts| parts.cause.text() == name)
        }),
        Kind::RunFlag => {
            let flags = record.conditions.iter().flat_map(|it| &it.flags);
            Some(hold_text(flags.into_iter().any(|flag| flag == name), record))
        }
        Kind::NoiseClass => {
            let mut classes = record.conditions.iter().filter_map(|it| it.class.as_deref());
            Some(hold_text(classes.any(|class| class == name), record))
        }
        Kind::Profile => Some(hold_text(record.settings.profile == name, record)),
        Kind::Column => column(name, record),
        Kind::Mark => match name {
            "?" | "!" | "<" => of_rows(&|row| has_mark(row, name)),
            "exact" | "not exact" if record.results.iter().any(is_counted) => {
                let is_exact = Some(name == "exact");
                of_rows(&|row| {
                    is_counted(row) && row.estimate.as_ref().map(|it| it.exact) == is_exact
                })
            }
            "cut short" => Some(hold_text(!record.complete, record)),
            _ => None,
        },
        Kind::Unit
        | Kind::CurveLine
        | Kind::BillFamily
        | Kind::BillTerm
        | Kind::ClaimVerdict
        | Kind::Weight
        | Kind::Mechanism
        | Kind::Host
        | Kind::Term
        | Kind::GeneralTerm => None,
    }
}

/// The rows of the last run at a value of an axis, or at any; `None` if it has none.
pub(super) fn of_axis(point: &AxisPoint<'_>, record: &Record) -> Option<String> {
    let rows = record.results.iter().filter(|row| point.has(row));
    let texts: Vec<String> = rows.map(row_text).collect();
    (!texts.is_empty()).then(|| named(texts, "row", record.results.len(), record))
}

/// An axis of some benchmarks, with a value on it if only that is meant.
pub(super) struct AxisPoint<'a> {
    pub(super) axis: &'a str,
    pub(super) value: Option<&'a Value>,
    pub(super) benchmarks: &'a [&'a str],
}

impl AxisPoint<'_> {
    fn has(&self, row: &Row) -> bool {
        let at = row.point.get(self.axis);
        let is_at_value = at.is_some_and(|at| self.value.is_none_or(|value| value == at));
        is_at_value && self.benchmarks.contains(&row.benchmark.as_str())
    }
}

/// What the last run has of a treatment: comparisons of it with its base, or rows; `None` of one
/// without them.
pub(super) fn of_treatment(name: &str, record: &Record) -> Option<String> {
    let is_under = |row: &Row| {
        row.target.treatments.iter().any(|treatment| treatment.split('=').next() == Some(name))
    };
    let is_new = |it: &&Comparison| record.results.get(it.new as usize).is_some_and(is_under);
    let compared: Vec<String> =
        record.comparisons.iter().filter(is_new).map(comparison_text).collect();
    if !compared.is_empty() {
        return Some(named(compared, "comparison", record.comparisons.len(), record));
    }
    let rows: Vec<String> =
        record.results.iter().filter(|row| is_under(row)).map(row_text).collect();
    (!rows.is_empty()).then(|| named(rows, "row", record.results.len(), record))
}

/// Whether the last run measured a study; `None` if it did not.
pub(super) fn of_study(id: &str, record: &Record) -> Option<String> {
    let is_it = record.settings.study.as_deref() == Some(id);
    is_it.then(|| {
        let measured = record.results.iter().filter(|row| row.estimate.is_some()).count();
        format!("{} measured it, {measured} rows of it", run_text(record))
    })
}

/// Whether the last run was made with an option, and its value; `None` of one that its command does
/// not have.
pub(super) fn of_option(word: &CommandWord, record: &Record) -> Option<String> {
    let verb = record.command.get(1)?;
    let is_of_its_command = word.commands.iter().any(|it| *it == format!("oscost {verb}"));
    if !is_of_its_command || word.options().next().is_none() {
        return None;
    }
    // What follows is a command that was measured.
    let options: Vec<&str> = record.command.iter().skip(2).map(String::as_str).collect();
    let options = options.split(|option| *option == "--").next().unwrap_or_default();
    let is_assigned =
        |option: &str, name: &str| option.strip_prefix(name).is_some_and(|it| it.starts_with('='));
    let given = options.iter().enumerate().filter_map(|(at, option)| {
        let name = word.options().find(|name| name == option || is_assigned(option, name))?;
        // The value of some options may be left out; another option is none.
        let value = options.get(at + 1).filter(|text| {
            let is_value = **text == "-" || !text.starts_with('-');
            word.takes_value() && name == *option && is_value
        });
        let words: Vec<&str> = [Some(option), value].into_iter().flatten().copied().collect();
        Some(format!("`{}`", plain(&words.join(" "))))
    });
    let given: Vec<String> = given.collect();
    let given = if given.is_empty() { "not given".to_owned() } else { given.join(", ") };
    Some(format!("{}: {given}", run_text(record)))
}

/// Whether the row is printed with this mark: at its class, its calls or its figure.
fn has_mark(row: &Row, mark: &str) -> bool {
    let is_printed = row.estimate.is_some() && !is_program(row);
    match mark {
        "?" => has(row, "CLASS_BORDERLINE") || is_printed && entries(row) == "?",
        "!" => is_printed && entries(row).starts_with('!'),
        _ => figure(row).is_some_and(|figure| figure.text.starts_with(mark)),
    }
}

/// Whether a row has this unit, or its figure is scaled to it.
fn is_in_unit(row: &Row, unit: &str) -> bool {
    let is_scaled = |text: &str| text.rsplit_once(' ').is_some_and(|(_, of)| of == unit);
    row.unit.text() == unit || figure(row).is_some_and(|figure| is_scaled(&figure.text))
}

/// Whether a row was measured on a host of this form: `local`, `vm:`.
fn is_on_host(row: &Row, form: &str) -> bool {
    let host = row.target.host.as_str();
    host == form || (form.ends_with(':') && host.starts_with(form))
}

/// A comparison with its ratio.
fn comparison_text(it: &Comparison) -> String {
    format!("{} (x {:.3})", plain(&it.case), it.ratio.value)
}

/// The last run, with when it began.
fn run_text(record: &Record) -> String {
    format!("the last run ({} UTC)", minute(&record.started))
}

/// Whether something holds of the last run.
fn hold_text(holds: bool, record: &Record) -> String {
    format!("{}: {}", run_text(record), if holds { "yes" } else { "no" })
}

/// The first of some texts, and how many of all there are.
fn named(texts: Vec<String>, noun: &str, all: usize, record: &Record) -> String {
    let run = run_text(record);
    if texts.is_empty() {
        return format!("no {noun} of {run}");
    }
    let more = match texts.len().saturating_sub(MAX_NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let first = texts.iter().take(MAX_NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    format!("{} of {all} {noun}s of {run}: {first}{more}", texts.len())
}

/// A row with its figure, if it has one.
fn row_text(row: &Row) -> String {
    let text = figure(row).map(|figure| match figure.interval_text() {
        Some(interval) => format!(" {} ({interval})", figure.text),
        None => format!(" {}", figure.text),
    });
    format!("{}{}", plain(&row.case), text.unwrap_or_default())
}

/// A metric of a row.
fn metric(row: &Row, name: &str) -> Option<String> {
    if name == "primary" {
        return row.estimate.as_ref().map(|_| row_text(row));
    }
    if name == PEAK_MEMORY {
        return peak_memory(row).map(|text| format!("{} {text}", plain(&row.case)));
    }
    let metric = row.metrics.get(name).map(|metric| (metric.estimate.median, metric.unit));
    let (value, unit) = metric.or_else(|| Some((quantile(row, name)?, row.unit)))?;
    let text = Style::of(value, unit).with_unit(value);
    Some(format!("{} {text}", plain(&row.case)))
}

/// A quantile of the shots of a row.
fn quantile(row: &Row, name: &str) -> Option<f64> {
    let quantiles = row.estimate.as_ref()?.quantiles.as_ref()?;
    match name {
        "p50" => Some(quantiles.p50),
        "p90" => quantiles.p90,
        "p99" => quantiles.p99,
        "p999" => quantiles.p999,
        _ => None,
    }
}

/// The first cells of a column of the run's tables; `None` if none has it.
fn column(title: &str, record: &Record) -> Option<String> {
    let events = CountedEvents { unit: FigureUnit::Own, all: true };
    let shown = view(record, Plots::None, events);
    let tables = shown.sections.iter().flat_map(|section| &section.blocks);
    let mut tables = tables.filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    });
    let is_it = |column: &Column| column.title.replace('\n', " ").trim() == title;
    let at = |table: &Table| table.columns.iter().position(is_it);
    let (table, at) = tables.find_map(|table| at(table).map(|at| (table, at)))?;
    let filled = |cell: &&Cell| !matches!(cell.text.as_str(), "" | "-");
    let cells = table.rows.iter().filter_map(|row| {
        let (name, cell) = (row.cells.first()?, row.cells.get(at).filter(filled)?);
        Some(match at {
            0 => plain(&name.text),
            _ => format!("{} {}", plain(name.text.trim()), plain(&cell.text)),
        })
    });
    let cells: Vec<String> = cells.take(MAX_NAMED).collect();
    (!cells.is_empty()).then(|| format!("in {}: {}", run_text(record), cells.join(", ")))
}
