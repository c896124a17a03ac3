//! The survey of timers: one table at the end of `oscost run timer`, and the clock of the run.

use std::collections::BTreeMap;

use oscost_model::definition::{SurveyEntry, Timer};
use oscost_model::record::{Clock, Record, Row, RowOutcome};

use crate::report::figures::Style;
use crate::report::text::{clock_name, plain};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};

/// The headings after the timer's name.
const HEADINGS: [&str; 7] = [
    "cost",
    "declared\nresolution",
    "quantum",
    "precision",
    "enters\nkernel",
    "can be\nslewed",
    "can step\nback",
];

/// The meaning of two of the columns.
const COLUMN_NOTE: &str = "quantum: the step in which it advances; precision: the smallest difference \
    in work that it resolves, by a staircase of increments: see `oscost explain timer/precision`.";

/// The survey of a run that has one: its table, and the clock that timed the run.
pub(in crate::report::view) fn section(record: &Record) -> Option<Section> {
    if record.timers.is_empty() {
        return None;
    }
    let mut reasons = Reasons::default();
    let arch = architecture(record);
    let measured = rows_by_case(record);
    let rows: Vec<TableRow> =
        record.timers.iter().map(|timer| row_of(timer, arch, &measured, &mut reasons)).collect();
    let columns = HEADINGS.iter().map(|title| Column::number(title, title));
    let table = Table {
        columns: [Column::text("timer")].into_iter().chain(columns).collect(),
        rows,
        ..Table::default()
    };
    let reasons = reasons.texts.iter().enumerate();
    let reasons = reasons.map(|(index, reason)| format!("({}) {reason}", letter(index)));
    let mut blocks = vec![Block::Table(table)];
    blocks.extend(Block::list(reasons));
    blocks.push(Block::Text(COLUMN_NOTE.to_owned()));
    blocks.extend(Block::list(chosen(record)));
    let (id, title) = ("timers".to_owned(), "Timers".to_owned());
    Some(Section { id, title, blocks, ..Section::default() })
}

/// The rows of a record by their cases; of several of one case the first.
type RowsByCase<'a> = BTreeMap<&'a str, &'a Row>;

fn rows_by_case(record: &Record) -> RowsByCase<'_> {
    record.results.iter().rev().map(|row| (row.case.as_str(), row)).collect()
}

/// Reasons, each once below the table; cells refer to them by letter.
#[derive(Default)]
struct Reasons {
    texts: Vec<String>,
    known: BTreeMap<String, usize>,
}

impl Reasons {
    /// The text of a cell that refers to a reason.
    fn mark(&mut self, reason: &str) -> String {
        let reason = plain(reason);
        let next = self.texts.len();
        let index = *self.known.entry(reason.clone()).or_insert(next);
        if index == next {
            self.texts.push(reason);
        }
        format!("n/a({})", letter(index))
    }
}

/// a to z, then aa to az, and so on.
fn letter(index: usize) -> String {
    let last = char::from(b'a' + (index % 26) as u8);
    let before = (index / 26).checked_sub(1).map(letter);
    before.unwrap_or_default() + &last.to_string()
}

/// The architecture of the machine whose timers these are; `None` if it is unknown.
fn architecture(record: &Record) -> Option<&str> {
    record.machines.first().and_then(|machine| machine.os.arch.as_deref())
}

fn row_of(
    timer: &Timer,
    architecture: Option<&str>,
    rows: &RowsByCase<'_>,
    reasons: &mut Reasons,
) -> TableRow {
    let mut cell = |entry: &SurveyEntry| match entry {
        SurveyEntry { case: Some(case), .. } => match row(rows, case) {
            Ok(row) => figure(row),
            Err(why) => reasons.mark(&why),
        },
        SurveyEntry { text: Some(words), .. } => plain(words),
        SurveyEntry { reason, .. } => reasons.mark(reason.as_deref().unwrap_or("no reason given")),
    };
    let (cost, resolution) = (cell(&timer.cost), cell(&timer.resolution));
    let (quantum, precision) = (cell(&timer.quantum), cell(&timer.precision));
    let (slewed, back) = (cell(&timer.slewed), cell(&timer.steps_back));
    let kernel = enters_the_kernel(timer, rows).unwrap_or_else(|why| reasons.mark(&why));
    let name = plain(clock_name(&timer.name, architecture));
    let cells = [name, cost, resolution, quantum, precision, kernel, slewed, back];
    TableRow::of(cells.into_iter().map(Cell::text).collect())
}

/// The row of a case, if it was measured; or why it was not.
fn row<'a>(rows: &RowsByCase<'a>, case: &str) -> Result<&'a Row, String> {
    let row = *rows.get(case).ok_or_else(|| format!("{case} is not among the rows"))?;
    let reason = || row.reason.as_deref().unwrap_or("no reason given");
    match row.outcome {
        RowOutcome::Measured if row.estimate.is_some() => Ok(row),
        RowOutcome::Measured => Err("it has no estimate".to_owned()),
        RowOutcome::Skipped => Err(reason().to_owned()),
        other => Err(format!("{}: {}", other.text(), reason())),
    }
}

/// A row's figure as in the table of the run; without trailing zeros if all repetitions are equal.
fn figure(row: &Row) -> String {
    let Some(estimate) = &row.estimate else { return String::new() };
    if let Some([_, high]) = estimate.ci95
        && row.flags.iter().any(|flag| flag == "BELOW_DETECTION")
    {
        return format!("< {}", Style::of(high, row.unit).with_unit(high));
    }
    let width = estimate.ci95.map(|[low, high]| high - low);
    let shown = Style::of(estimate.median, row.unit).with_unit(estimate.median);
    match shown.split_once(' ') {
        Some((number, unit)) if width == Some(0.0) && number.contains('.') => {
            format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => shown,
    }
}

/// Whether reading the timer enters the kernel, as it was counted.
fn enters_the_kernel(timer: &Timer, rows: &RowsByCase<'_>) -> Result<String, String> {
    let case = timer.cost.case.as_deref().ok_or("its cost is not measured")?;
    let calls = row(rows, case)?.calls.as_ref().ok_or("its calls could not be counted here")?;
    Ok(if calls.per_op.values().any(|&times| times > 0.0) { "yes" } else { "no" }.to_owned())
}

/// Which clock timed the run, why it was chosen, and why no better one was.
fn chosen(record: &Record) -> Vec<String> {
    let Some(clock) = record.machines.first().and_then(|machine| machine.clock.as_ref()) else {
        return vec!["oscost chose no clock: none was calibrated.".to_owned()];
    };
    let name = plain(clock_name(&clock.source, architecture(record)));
    let mut text = format!("oscost chose {name}: {}.", justification(clock));
    text += &match clock.source.as_str() {
        "tsc" => format!(
            " It ticks {:.4} times a nanosecond, in steps of {:.1} ns; an empty window \
             shows {:.1} ns.",
            clock.ticks_per_ns, clock.q_ns, clock.c_in_ns
        ),
        _ => format!(
            " It advances in steps of {:.1} ns; an empty window shows {:.1} ns.",
            clock.q_ns, clock.c_in_ns
        ),
    };
    let rejected = clock.rejected_clocks.iter();
    let rejected = rejected.map(|clock| format!("Not chosen: {}.", plain(clock)));
    [text].into_iter().chain(rejected).collect()
}

fn justification(clock: &Clock) -> &'static str {
    match clock.source.as_str() {
        "tsc" => {
            "the processor's counter, read between fences, is the least expensive clock here and has \
             the finest resolution, and no daemon adjusts it. The processor reports a constant rate, \
             the kernel itself uses it, it did not step back in a million reads, reads are not \
             trapped, and the fences are effective"
        }
        "vdso" => {
            "CLOCK_MONOTONIC_RAW through the vDSO, which does not enter the kernel and which no \
             daemon adjusts"
        }
        "syscall" => {
            "CLOCK_MONOTONIC_RAW by a system call, which no daemon adjusts; batches are longer \
             because of its cost"
        }
        _ => "instructions are counted here, not time",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_given_once_and_letters_continue_after_z() {
        let mut reasons = Reasons::default();
        assert_eq!(reasons.mark("one"), "n/a(a)");
        assert_eq!(reasons.mark("two\u{1b}[2J"), "n/a(b)");
        assert_eq!(reasons.mark("one"), "n/a(a)");
        assert_eq!(reasons.texts, ["one", "two[2J"]);
        assert_eq!([letter(25), letter(26), letter(52), letter(702)], ["z", "aa", "ba", "aaa"]);
    }

    #[test]
    fn the_processors_counter_has_the_name_of_its_architecture_in_the_table_and_below() {
        let text = include_str!("../../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        record.machines[0].clock.as_mut().unwrap().source = "tsc".to_owned();
        let entry = SurveyEntry { case: None, text: Some("no".to_owned()), reason: None };
        let timer = |name: &str| Timer {
            name: name.to_owned(),
            cost: entry.clone(),
            resolution: entry.clone(),
            quantum: entry.clone(),
            precision: entry.clone(),
            slewed: entry.clone(),
            steps_back: entry.clone(),
        };
        for (arch, expected) in [("aarch64", "cntvct_el0"), ("x86_64", "tsc")] {
            record.machines[0].os.arch = Some(arch.to_owned());
            let first_cell = |name: &str| {
                let machine = architecture(&record);
                let rows = rows_by_case(&record);
                let mut reasons = Reasons::default();
                row_of(&timer(name), machine, &rows, &mut reasons).cells.remove(0).text
            };
            assert_eq!(["tsc", "monotonic"].map(first_cell), [expected, "monotonic"]);
            let chosen = chosen(&record).remove(0);
            assert!(chosen.starts_with(&format!("oscost chose {expected}: ")), "{chosen}");
        }
    }
}
