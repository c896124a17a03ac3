//! The user's predictions for the cases of a run, next to the definition's expectation, the floor and
//! the figure; and which predictions held.

use std::collections::BTreeMap;

use oscost_model::record::{NumberedPrediction, Prediction, Record, Row, RowOutcome};
use oscost_model::unit::Unit;
use serde::Serialize;

use crate::report::figures::rough;
use crate::report::text::plain;
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::run::row;
use crate::studies::ClockRates;
use crate::studies::figures::bound::{PredictionResult, VALUE_TOLERANCE_FACTOR, judge_order};
use crate::studies::figures::prediction::{Estimate, PredictedCost, TimeUnit};

/// The case that measures the length of the core's cycles.
const CORE: &str = "timer/ticks-per-cycle";

/// The predictions of a run; `None` if it has none.
pub(in crate::report::view) fn section(record: &Record) -> Option<Section> {
    let predictions = &record.settings.predictions;
    if predictions.is_empty() {
        return None;
    }
    let rows = RowsByCase::of(record);
    let judged: Vec<PredictionRow> =
        predictions.iter().map(|it| PredictionRow::of(it, record, &rows)).collect();
    let blocks = vec![Block::Table(table(&judged)?), Block::Text(summary(&judged))];
    let title = "Predictions, made before the run".to_owned();
    Some(Section { id: "predictions".to_owned(), title, blocks, ..Section::default() })
}

/// The predictions as a report of their own.
pub fn view(record: &Record) -> View {
    View { sections: section(record).into_iter().collect(), ..View::default() }
}

/// The predictions, grouped by case.
fn table(judged: &[PredictionRow]) -> Option<Table> {
    let columns = vec![
        Column::text("case"),
        Column::number("predicted", "predicted"),
        Column::number("floor", "floor"),
        Column::number("measured", "measured"),
        Column::number("95 % interval", "ci95"),
        Column::choice("verdict"),
    ];
    let mut cases: Vec<&str> = Vec::new();
    for it in judged {
        if !cases.contains(&it.case.as_str()) {
            cases.push(&it.case);
        }
    }
    let of_case = |case: &&str| {
        let of_case: Vec<&PredictionRow> = judged.iter().filter(|it| it.case == *case).collect();
        let mut rows: Vec<TableRow> = of_case.iter().map(|it| it.row()).collect();
        // The definition's expectation is below all predictions of the case.
        let expected = of_case.first().and_then(|it| it.expected.as_ref());
        if let (Some(last), Some(expected)) = (rows.last_mut(), expected) {
            last.notes.push(format!("expected by oscost: {expected}"));
        }
        rows
    };
    let rows: Vec<TableRow> = cases.iter().flat_map(of_case).collect();
    let table = Table { columns, rows, rows_share_names: true, ..Table::default() };
    (!judged.is_empty()).then_some(table)
}

/// How many predictions held, and the rule for it.
fn summary(judged: &[PredictionRow]) -> String {
    let count =
        |result: PredictionResult| judged.iter().filter(|it| it.verdict.result == result).count();
    let counts =
        [PredictionResult::Held, PredictionResult::DidNotHold, PredictionResult::Undecided]
            .map(|result| (count(result), result))
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, result)| format!("{count} {}", result.text()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    format!(
        "{counts}. A value holds within a factor of {VALUE_TOLERANCE_FACTOR}; a prediction holds if \
         the whole interval agrees with it, and does not hold if no part of the interval does."
    )
}

/// The predictions in the store.
pub fn list(predictions: &[NumberedPrediction]) -> View {
    let line = |it: &NumberedPrediction| {
        let NumberedPrediction { number, prediction } = it;
        let when = prediction.made_at.get(..16).unwrap_or(&prediction.made_at).replace('T', " ");
        let text = format!("{number}  {when}  {}: {}", prediction.case, as_typed(prediction));
        Paragraph { text: plain(&text), hanging: 6 }
    };
    let mut lead: Vec<Paragraph> = predictions.iter().map(line).collect();
    if lead.is_empty() {
        lead.push("there are no predictions".to_owned().into());
    }
    View { title: "Predictions".to_owned(), lead, ..View::default() }
}

/// A prediction of the store in a list for programs; what was not predicted is null.
#[derive(Serialize)]
struct ListedPrediction<'a> {
    number: i64,
    case: &'a str,
    estimate: Option<&'a str>,
    hardware: Option<&'a str>,
    software: Option<&'a str>,
    below: Option<&'a str>,
    made_at: &'a str,
}

impl<'a> From<&'a NumberedPrediction> for ListedPrediction<'a> {
    fn from(it: &'a NumberedPrediction) -> Self {
        let NumberedPrediction { number, prediction } = it;
        Self {
            number: *number,
            case: &prediction.case,
            estimate: prediction.estimate.as_deref(),
            hardware: prediction.hardware.as_deref(),
            software: prediction.software.as_deref(),
            below: prediction.below.as_deref(),
            made_at: &prediction.made_at,
        }
    }
}

#[derive(Serialize)]
struct ListDocument<'a> {
    schema: &'static str,
    predictions: Vec<ListedPrediction<'a>>,
}

/// The predictions in the store as one JSON object (`oscost.predictions/1`).
pub fn list_json(predictions: &[NumberedPrediction]) -> Result<String, serde_json::Error> {
    let predictions = predictions.iter().map(ListedPrediction::from).collect();
    let document = ListDocument { schema: "oscost.predictions/1", predictions };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

/// A prediction as it was typed.
fn as_typed(predicted: &Prediction) -> String {
    let part =
        |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name} {text}"));
    let whole = predicted.estimate.clone();
    let below = part("less than", &predicted.below);
    let hardware = part("hardware", &predicted.hardware);
    let software = part("software", &predicted.software);
    let parts = [whole, below, hardware, software].into_iter().flatten();
    parts.collect::<Vec<_>>().join(", ")
}

/// A prediction and its result.
struct PredictionRow {
    case: String,
    predicted: String,
    floor: Option<String>,
    figure: Option<row::Figure>,
    verdict: Verdict,
    notes: Vec<String>,
    expected: Option<String>,
}

/// The verdict on a prediction.
struct Verdict {
    result: PredictionResult,
    /// The reason, or what it is compared with.
    note: Option<String>,
}

impl PredictionRow {
    fn of(predicted: &Prediction, record: &Record, rows: &RowsByCase<'_>) -> Self {
        let row = rows.measured_row(&predicted.case);
        let rates = clock_rates(row.ok(), record, rows);
        let (text, verdict) = match &predicted.below {
            Some(other) => ("less".to_owned(), below(other, row, rows)),
            None => cost(predicted, row, &rates),
        };
        let mut notes = parts(predicted, &rates);
        notes.extend(verdict.note.clone());
        if let Ok(row) = row
            && rows.count(&row.case) > 1
        {
            notes.push(format!("measured at {}", plain(&row.target.text)));
        }
        Self {
            case: plain(&predicted.case),
            predicted: text,
            floor: row.ok().and_then(|row| Some(rough(row.floor.as_ref()?.value?, row.unit))),
            figure: row.ok().and_then(row::figure),
            verdict,
            notes,
            expected: row.ok().map(|row| plain(&row.expected)),
        }
    }

    fn row(&self) -> TableRow {
        let dash = |text: Option<String>| Cell::text(text.unwrap_or_else(|| "-".to_owned()));
        let figure = self.figure.as_ref();
        let cells = vec![
            Cell::text(self.case.as_str()),
            Cell::text(self.predicted.as_str()),
            dash(self.floor.clone()),
            dash(figure.map(|figure| figure.text.clone())),
            dash(figure.and_then(row::Figure::within_run_text)),
            Cell::text(self.verdict.result.text()),
        ];
        TableRow { notes: self.notes.clone(), ..TableRow::of(cells) }
    }
}

/// The rows of a record by their cases, found once for all predictions.
struct RowsByCase<'a>(BTreeMap<&'a str, RowsOfCase<'a>>);

/// The rows of a case.
struct RowsOfCase<'a> {
    first: &'a Row,
    first_measured: Option<&'a Row>,
    count: usize,
}

impl<'a> RowsByCase<'a> {
    fn of(record: &'a Record) -> Self {
        let mut found: BTreeMap<&str, RowsOfCase<'a>> = BTreeMap::new();
        for row in &record.results {
            let none = RowsOfCase { first: row, first_measured: None, count: 0 };
            let rows = found.entry(&row.case).or_insert(none);
            let measured = Some(row).filter(|row| row.outcome == RowOutcome::Measured);
            rows.first_measured = rows.first_measured.or(measured);
            rows.count += 1;
        }
        Self(found)
    }

    /// The first measured row of a case; or why there is none.
    fn measured_row(&self, case: &str) -> Result<&'a Row, &'static str> {
        let rows = self.0.get(case).ok_or("not among the rows")?;
        let measured = rows.first_measured.filter(|row| row.estimate.is_some());
        measured.ok_or(rows.first.outcome.text())
    }

    /// The number of rows of a case.
    fn count(&self, case: &str) -> usize {
        self.0.get(case).map_or(0, |rows| rows.count)
    }
}

/// A row's figure in nanoseconds.
struct FigureNs {
    median: f64,
    ci95: Option<[f64; 2]>,
}

/// Figure and interval of a row in nanoseconds; `None` if it is not a time.
fn in_ns(row: &Row) -> Option<FigureNs> {
    let ns = match row.unit {
        Unit::NsPerOp => 1.0,
        Unit::Seconds => 1e9,
        _ => return None,
    };
    let estimate = row.estimate.as_ref()?;
    let ci95 = estimate.ci95.map(|ends| ends.map(|end| end * ns));
    Some(FigureNs { median: estimate.median * ns, ci95 })
}

/// The rates of the counter and of the core where a row was measured. The counter's is known only
/// if it was the run's clock, and the core's only if it was estimated in the same run: by a row of
/// its own, or when the run chose its CPU.
fn clock_rates(row: Option<&Row>, record: &Record, rows: &RowsByCase<'_>) -> ClockRates {
    let machine = row.and_then(|row| record.machines.iter().find(|it| it.id == row.target.machine));
    let clock = machine.and_then(|machine| machine.clock.as_ref());
    let above_0 = |rate: &f64| rate.is_finite() && *rate > 0.0;
    let counter = clock.filter(|clock| clock.source == "tsc").map(|clock| clock.ticks_per_ns);
    let core = rows.measured_row(CORE).ok().filter(|core| core.unit == Unit::TicksPerCycle);
    let core = core.and_then(|core| core.estimate.as_ref()).map(|estimate| estimate.median);
    let by_row = counter.zip(core).map(|(per_ns, per_cycle)| per_ns / per_cycle);
    // Without that row, the rate from the CPU probe's chain of multiplications.
    let core_ghz = by_row.or_else(|| ClockRates::of(record).core_ghz);
    ClockRates { ticks_per_ns: counter.filter(above_0), core_ghz: core_ghz.filter(above_0) }
}

fn undecided_verdict(reason: impl Into<String>) -> Verdict {
    let note = Some(format!("undecided: {}", reason.into()));
    Verdict { result: PredictionResult::Undecided, note }
}

/// The text of a prediction of a cost, and its verdict.
fn cost(predicted: &Prediction, row: Result<&Row, &str>, rates: &ClockRates) -> (String, Verdict) {
    let expected = match expected(predicted) {
        Ok(expected) => expected,
        Err(why) => return ("?".to_owned(), undecided_verdict(plain(&why))),
    };
    let shown = expected.text(rates).unwrap_or("?".to_owned());
    let judged = row.map_err(|why| format!("the case is {why}")).and_then(|row| {
        let bound = expected.in_ns(rates)?;
        let figure = in_ns(row).ok_or("the figure is not a time")?;
        Ok((bound.judge(figure.median, figure.ci95), figure.ci95))
    });
    let verdict = match judged {
        Err(why) => undecided_verdict(why),
        Ok((PredictionResult::Undecided, None)) => {
            undecided_verdict("fewer than six repetitions have no interval")
        }
        Ok((PredictionResult::Undecided, _)) => {
            undecided_verdict("the interval contains the bound")
        }
        Ok((result, _)) => Verdict { result, note: None },
    };
    (shown, verdict)
}

/// The verdict on an order.
fn below(other: &str, row: Result<&Row, &str>, rows: &RowsByCase<'_>) -> Verdict {
    let other_row = rows.measured_row(other);
    let interval = |row: Result<&Row, &str>, name: &str| {
        let row = row.map_err(|why| format!("{name} is {why}"))?;
        let figure = in_ns(row).ok_or(format!("the figure of {name} is not a time"))?;
        figure.ci95.ok_or(format!("{name} has no interval"))
    };
    let pair =
        interval(row, "the case").and_then(|one| Ok((one, interval(other_row, "the other")?)));
    let result = pair
        .as_ref()
        .map_or(PredictionResult::Undecided, |&(one, other)| judge_order(Some(one), Some(other)));
    let figure = other_row.ok().and_then(row::figure);
    let figure = figure.map(|figure| match figure.within_run_text() {
        Some(interval) => format!(": {} ({interval})", figure.text),
        None => format!(": {}", figure.text),
    });
    let mut note = format!("less than {}{}", plain(other), figure.unwrap_or_default());
    match (result, pair) {
        (_, Err(why)) => note += &format!("; undecided: {why}"),
        (PredictionResult::Undecided, Ok(_)) => note += "; undecided: the intervals overlap",
        _ => {}
    }
    Verdict { result, note: Some(note) }
}

/// The costs of a prediction, parsed.
fn expected(predicted: &Prediction) -> Result<PredictedCost, String> {
    let parse = |text: &Option<String>| text.as_deref().map(Estimate::parse).transpose();
    Ok(PredictedCost {
        whole: parse(&predicted.estimate)?,
        hardware: parse(&predicted.hardware)?,
        software: parse(&predicted.software)?,
    })
}

/// Notes on a prediction by itself: its parts, whether they contradict it, and what it is in
/// nanoseconds.
fn parts(predicted: &Prediction, rates: &ClockRates) -> Vec<String> {
    let Ok(expected) = expected(predicted) else { return Vec::new() };
    // A cost in cycles or ticks is also given in nanoseconds.
    let ns = |it: &Estimate| match it.unit {
        TimeUnit::Cycles | TimeUnit::Ticks => it.in_ns(rates).ok().map(|it| it.round()),
        _ => None,
    };
    let text = |(name, part): (&str, Option<Estimate>)| {
        let part = part?;
        let here = ns(&part).map(|bound| format!(" ({bound} ns here)")).unwrap_or_default();
        Some(format!("{name} {part}{here}"))
    };
    let parts = [("hardware", expected.hardware), ("software", expected.software)];
    let parts = parts.into_iter().filter_map(text).collect::<Vec<_>>();
    let mut notes = Vec::new();
    notes.extend(expected.whole.and_then(|it| Some(format!("{} ns here", ns(&it)?))));
    if !parts.is_empty() {
        notes.push(parts.join(", "));
    }
    if expected.hardware.is_some() {
        notes.push("hardware: not judged (nothing measures it)".to_owned());
    }
    notes.extend(expected.contradiction(rates).map(|it| format!("it contradicts itself: {it}")));
    let all = [expected.whole, expected.hardware, expected.software];
    if all.iter().flatten().any(|it| ns(it).is_some()) {
        notes.extend(rates_text(rates, all.iter().flatten().any(|it| it.unit == TimeUnit::Cycles)));
    }
    notes
}

/// The rates by which ticks, and cycles if there are any, were converted to nanoseconds.
fn rates_text(rates: &ClockRates, has_cycles: bool) -> Option<String> {
    let per_ns = rates.ticks_per_ns?;
    let core = rates.core_ghz.filter(|_| has_cycles);
    let core = core.map(|ghz| format!(", {:.3} ticks per estimated cycle", per_ns / ghz));
    Some(format!("{per_ns:.3} ticks per ns{}", core.unwrap_or_default()))
}
