//! What a user predicted for the cases of a run, with our own expectation, the floor and the figure,
//! and which predictions held.

use std::fmt::Write as _;

use oscost_model::record::{NumberedPrediction, Prediction, Record, Row, RowOutcome};
use oscost_model::unit::Unit;

use crate::report::figures::rough;
use crate::report::text::{fold, plain};
use crate::report::view::document::{Block, Section, View};
use crate::report::view::row;
use crate::studies::ClockRates;
use crate::studies::bound::{PredictionResult, VALUE_TOLERANCE_FACTOR, judge_order};
use crate::studies::prediction::{Estimate, PredictedCost, TimeUnit};

/// What a terminal of 80 columns takes.
const WIDTH: usize = 80;

const HEADINGS: [&str; 5] = ["predicted", "floor", "measured", "95 % interval", "verdict"];

/// The case that measures the length of the core's cycles.
const CORE: &str = "timer/ticks-per-cycle";

/// The predictions of a run; nothing where it has none.
pub(super) fn section(record: &Record) -> Option<Section> {
    let text = text(record);
    let (id, title) = ("predictions".to_owned(), TITLE.to_owned());
    let blocks = vec![Block::Preformatted(text.clone())];
    (!text.is_empty()).then_some(Section { id, title, blocks, ..Section::default() })
}

/// The predictions as a report of their own.
pub fn view(record: &Record) -> View {
    View { sections: section(record).into_iter().collect(), ..View::default() }
}

const TITLE: &str = "Predictions, made before the run";

/// The predictions as lines; empty where there are none.
fn text(record: &Record) -> String {
    let judged: Vec<Judged> =
        record.settings.predictions.iter().map(|it| Judged::of(it, record)).collect();
    if judged.is_empty() {
        return String::new();
    }
    let widths: [usize; 5] = std::array::from_fn(|at| {
        let cells = judged.iter().map(|it| it.cells[at].chars().count());
        cells.chain([HEADINGS[at].len()]).max().unwrap_or(0)
    });
    let mut out = line(&HEADINGS, &widths);
    for (at, first) in judged.iter().enumerate() {
        let is_its = |it: &&Judged| it.case == first.case;
        if judged[..at].iter().any(|it| is_its(&it)) {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", first.case);
        for it in judged[at..].iter().filter(is_its) {
            out += &line(&it.cells.each_ref().map(String::as_str), &widths);
            for note in &it.notes {
                let _ = writeln!(out, "    {}", fold(note, WIDTH - 6, "      "));
            }
        }
        if let Some(expected) = &first.expected {
            let _ = writeln!(
                out,
                "  {}",
                fold(&format!("expected by oscost: {expected}"), WIDTH - 4, "    ")
            );
        }
    }
    let count = |held: PredictionResult| judged.iter().filter(|it| it.held == held).count();
    let counts =
        [PredictionResult::Held, PredictionResult::DidNotHold, PredictionResult::Undecided]
            .map(|held| (count(held), held))
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, held)| format!("{count} {}", held.text()));
    let counts = counts.collect::<Vec<_>>().join(", ");
    let rule = format!(
        "{counts}. A value holds within a factor of {VALUE_TOLERANCE_FACTOR}; a prediction holds where all of the \
         interval agrees with it, and does not hold where none of it does."
    );
    let _ = writeln!(out, "\n{}", fold(&rule, 78, "  "));
    out
}

/// The predictions that are kept, a line each.
pub fn list(predictions: &[NumberedPrediction]) -> String {
    if predictions.is_empty() {
        return "no predictions are kept\n".to_owned();
    }
    let mut out = String::new();
    for NumberedPrediction { number, prediction: predicted } in predictions {
        let when = predicted.made_at.get(..16).unwrap_or(&predicted.made_at).replace('T', " ");
        let text = format!("{number}  {when}  {}: {}", predicted.case, says(predicted));
        let _ = writeln!(out, "{}", fold(&plain(&text), 74, "      "));
    }
    out
}

/// What a prediction says, as it was typed.
fn says(predicted: &Prediction) -> String {
    let part =
        |name: &str, text: &Option<String>| text.as_ref().map(|text| format!("{name} {text}"));
    let whole = predicted.estimate.clone();
    let below = part("less than", &predicted.below);
    let hardware = part("hardware", &predicted.hardware);
    let software = part("software", &predicted.software);
    let parts = [whole, below, hardware, software].into_iter().flatten();
    parts.collect::<Vec<_>>().join(", ")
}

fn line(cells: &[&str; 5], widths: &[usize; 5]) -> String {
    let mut out = String::new();
    for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
        // The verdict is a word, and stands last.
        let text = if at == 4 { (*cell).to_owned() } else { format!("{cell:>width$}") };
        let _ = write!(out, "  {text}");
    }
    format!("{}\n", out.trim_end())
}

/// A prediction and the result.
struct Judged {
    case: String,
    cells: [String; 5],
    held: PredictionResult,
    notes: Vec<String>,
    expected: Option<String>,
}

impl Judged {
    fn of(predicted: &Prediction, record: &Record) -> Self {
        let row = found(&predicted.case, record);
        let beats = beats(row.ok(), record);
        let (shown, verdict) = match &predicted.below {
            Some(other) => below(other, row, record),
            None => cost(predicted, row, &beats),
        };
        let mut notes = parts(predicted, &beats);
        let (held, why) = verdict;
        notes.extend(why);
        let figure = row.ok().and_then(row::figure);
        let interval = figure.as_ref().and_then(row::Figure::interval_text);
        let measured = figure.map(|figure| figure.text).unwrap_or_default();
        if let Ok(row) = row {
            let targets = record.results.iter().filter(|it| it.case == row.case).count();
            if targets > 1 {
                notes.push(format!("measured at {}", plain(&row.target.text)));
            }
        }
        let floor = row.ok().and_then(|row| Some(rough(row.floor.as_ref()?.value?, row.unit)));
        let cells = [
            shown,
            floor.unwrap_or("-".to_owned()),
            if measured.is_empty() { "-".to_owned() } else { measured },
            interval.unwrap_or("-".to_owned()),
            held.text().to_owned(),
        ];
        let expected = row.ok().map(|row| plain(&row.expected));
        Self { case: plain(&predicted.case), cells, held, notes, expected }
    }
}

/// The measured row of a case, the first of them; or why there is none.
fn found<'a>(case: &str, record: &'a Record) -> Result<&'a Row, &'static str> {
    let of_case = || record.results.iter().filter(|row| row.case == case);
    let measured = of_case().find(|row| row.outcome == RowOutcome::Measured);
    measured.filter(|row| row.estimate.is_some()).ok_or_else(|| match of_case().next() {
        Some(row) => row.outcome.text(),
        None => "not among the rows",
    })
}

/// Figure and interval of a row in nanoseconds; nothing where it is not a time.
fn in_ns(row: &Row) -> Option<(f64, Option<[f64; 2]>)> {
    let ns = match row.unit {
        Unit::NsPerOp => 1.0,
        Unit::Seconds => 1e9,
        _ => return None,
    };
    let estimate = row.estimate.as_ref()?;
    Some((estimate.median * ns, estimate.ci95.map(|ends| ends.map(|end| end * ns))))
}

/// How fast counter and core ran where a row was measured. Only a counter that was the run's clock
/// has a rate, and only a core whose rate was estimated in this very run: by a row of its own, or
/// when the run chose its CPU.
fn beats(row: Option<&Row>, record: &Record) -> ClockRates {
    let machine = row.and_then(|row| record.machines.iter().find(|it| it.id == row.target.machine));
    let clock = machine.and_then(|machine| machine.clock.as_ref());
    let above_0 = |rate: &f64| rate.is_finite() && *rate > 0.0;
    let counter = clock.filter(|clock| clock.source == "tsc").map(|clock| clock.ticks_per_ns);
    let core = found(CORE, record).ok().filter(|core| core.unit == Unit::TicksPerCycle);
    let core = core.and_then(|core| core.estimate.as_ref()).map(|estimate| estimate.median);
    let by_row = counter.zip(core).map(|(per_ns, per_cycle)| per_ns / per_cycle);
    // Without that row, by the chain of multiplications that the CPU was probed with.
    let core_ghz = by_row.or_else(|| ClockRates::of(record).core_ghz);
    ClockRates { ticks_per_ns: counter.filter(above_0), core_ghz: core_ghz.filter(above_0) }
}

type Verdict = (PredictionResult, Option<String>);

fn undecided(why: impl Into<String>) -> Verdict {
    (PredictionResult::Undecided, Some(format!("undecided: {}", why.into())))
}

/// The words of a prediction of a cost, and what became of it.
fn cost(predicted: &Prediction, row: Result<&Row, &str>, beats: &ClockRates) -> (String, Verdict) {
    let expected = match expected(predicted) {
        Ok(expected) => expected,
        Err(why) => return ("?".to_owned(), undecided(plain(&why))),
    };
    let shown = expected.text(beats).unwrap_or("?".to_owned());
    let judged = row.map_err(|why| format!("the case is {why}")).and_then(|row| {
        let bound = expected.in_ns(beats)?;
        let (value, interval) = in_ns(row).ok_or("the figure is not a time")?;
        Ok((bound.judge(value, interval), interval))
    });
    let verdict = match judged {
        Err(why) => undecided(why),
        Ok((PredictionResult::Undecided, None)) => {
            undecided("fewer than six repetitions have no interval")
        }
        Ok((PredictionResult::Undecided, _)) => undecided("the interval lies on both sides"),
        Ok((held, _)) => (held, None),
    };
    (shown, verdict)
}

/// The words of an order, and what became of it.
fn below(other: &str, row: Result<&Row, &str>, record: &Record) -> (String, Verdict) {
    let its = found(other, record);
    let interval = |row: Result<&Row, &str>, name: &str| {
        let row = row.map_err(|why| format!("{name} is {why}"))?;
        let (_, interval) = in_ns(row).ok_or(format!("the figure of {name} is not a time"))?;
        interval.ok_or(format!("{name} has no interval"))
    };
    let pair = interval(row, "the case").and_then(|one| Ok((one, interval(its, "the other")?)));
    let held = pair
        .as_ref()
        .map_or(PredictionResult::Undecided, |&(one, its)| judge_order(Some(one), Some(its)));
    let figure = its.ok().and_then(row::figure);
    let figure = figure.map(|figure| match figure.interval_text() {
        Some(interval) => format!(": {} ({interval})", figure.text),
        None => format!(": {}", figure.text),
    });
    let mut note = format!("less than {}{}", plain(other), figure.unwrap_or_default());
    match (held, pair) {
        (_, Err(why)) => note += &format!("; undecided: {why}"),
        (PredictionResult::Undecided, Ok(_)) => note += "; undecided: the intervals overlap",
        _ => {}
    }
    ("less".to_owned(), (held, Some(note)))
}

/// A prediction's texts, read.
fn expected(predicted: &Prediction) -> Result<PredictedCost, String> {
    let read = |text: &Option<String>| text.as_deref().map(Estimate::parse).transpose();
    Ok(PredictedCost {
        whole: read(&predicted.estimate)?,
        hardware: read(&predicted.hardware)?,
        software: read(&predicted.software)?,
    })
}

/// What there is to say of a prediction by itself: its parts, whether they contradict it, and what
/// it is in nanoseconds.
fn parts(predicted: &Prediction, beats: &ClockRates) -> Vec<String> {
    let Ok(expected) = expected(predicted) else { return Vec::new() };
    // What was not given in units of time is given in nanoseconds too.
    let ns = |it: &Estimate| match it.unit {
        TimeUnit::Cycles | TimeUnit::Ticks => it.in_ns(beats).ok().map(|it| it.rounded()),
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
    notes.extend(expected.contradiction(beats).map(|it| format!("it contradicts itself: {it}")));
    let all = [expected.whole, expected.hardware, expected.software];
    if all.iter().flatten().any(|it| ns(it).is_some()) {
        notes.extend(how_fast(beats, all.iter().flatten().any(|it| it.unit == TimeUnit::Cycles)));
    }
    notes
}

/// The rates that ticks, and cycles where there are any, were turned into nanoseconds by.
fn how_fast(beats: &ClockRates, has_cycles: bool) -> Option<String> {
    let per_ns = beats.ticks_per_ns?;
    let core = beats.core_ghz.filter(|_| has_cycles);
    let core = core.map(|ghz| format!(", {:.3} ticks an estimated cycle", per_ns / ghz));
    Some(format!("{per_ns:.3} ticks a ns{}", core.unwrap_or_default()))
}
