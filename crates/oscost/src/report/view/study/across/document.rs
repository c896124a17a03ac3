//! The acts as a document for programs.

use serde::Serialize;

use super::content::AcrossContent;
use super::costs::cycles_by;
use crate::studies::figures::unit::UnitKind;
use crate::studies::history::across::{ActFigures, AgeFigure, Cost};
use crate::studies::history::lesson::{Ratios, Trend};

/// The version of the document.
const SCHEMA: &str = "oscost.study-across/1";

/// The acts, then and here: times in nanoseconds, rates in bytes per second.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    target: &'a str,
    machine: Option<&'a str>,
    other_runs: usize,
    acts: Vec<ActDocument<'a>>,
    missing: &'a [String],
}

#[derive(Serialize)]
struct ActDocument<'a> {
    act: &'static str,
    name: &'static str,
    definition: &'static str,
    kind: &'static str,
    trend: &'static str,
    then_over_here: Option<RatiosDocument>,
    then_over_here_in_cycles: Option<RatiosDocument>,
    then_over_here_in_loads: Option<RatiosDocument>,
    figures: Vec<FigureDocument<'a>>,
}

#[derive(Serialize)]
struct RatiosDocument {
    figures: usize,
    min: f64,
    median: f64,
    max: f64,
    oldest: f64,
}

#[derive(Serialize)]
struct FigureDocument<'a> {
    study: &'a str,
    year: u16,
    system: Option<&'a str>,
    is_reference: bool,
    table: &'a str,
    row: &'a str,
    case: Option<&'a str>,
    published: &'a str,
    then: CostDocument,
    here: Option<CostDocument>,
    here_cycles_by: Option<&'static str>,
    here_interval: Option<[f64; 2]>,
    here_started: Option<&'a str>,
    here_runs: &'a [String],
}

/// The ends of each figure; both are the same where it is not a range.
#[derive(Serialize)]
struct CostDocument {
    value: [f64; 2],
    cycles: Option<[f64; 2]>,
    calls: Option<[f64; 2]>,
    loads: Option<[f64; 2]>,
}

fn cost(it: &Cost) -> CostDocument {
    let Cost { value, cycles, calls, loads } = *it;
    CostDocument { value, cycles, calls, loads }
}

fn ratios(it: Ratios) -> RatiosDocument {
    let Ratios { count, min, median, max, oldest } = it;
    RatiosDocument { figures: count, min, median, max, oldest }
}

fn trend(trend: Trend) -> &'static str {
    match trend {
        Trend::WithCore => "with-core",
        Trend::WithMemory => "with-memory",
        Trend::WithBoth => "with-both",
        Trend::FewerCycles => "fewer-cycles",
        Trend::MoreCycles => "more-cycles",
        Trend::Disagreement => "disagreement",
        Trend::Unknown => "unknown",
    }
}

fn figure<'a>(it: &'a AgeFigure<'a>) -> FigureDocument<'a> {
    let here = it.here.as_ref();
    FigureDocument {
        study: &it.study.id,
        year: it.year,
        system: it.system,
        is_reference: it.is_reference,
        table: &it.table.name,
        row: &it.row.name,
        case: it.row.case(),
        published: &it.published,
        then: cost(&it.then),
        here: here.map(|it| cost(&it.cost)),
        here_cycles_by: here.and_then(cycles_by),
        here_interval: here.and_then(|it| it.interval),
        here_started: here.map(|it| it.started.as_str()),
        here_runs: here.map(|it| &it.runs[..]).unwrap_or_default(),
    }
}

fn act<'a>(it: &'a ActFigures<'a>) -> ActDocument<'a> {
    ActDocument {
        act: it.act.key,
        name: it.act.name,
        definition: it.act.definition,
        kind: if it.act.kind == UnitKind::Rate { "rate" } else { "time" },
        trend: trend(it.lesson.trend),
        then_over_here: it.lesson.in_time.map(ratios),
        then_over_here_in_cycles: it.lesson.in_cycles.map(ratios),
        then_over_here_in_loads: it.lesson.in_loads.map(ratios),
        figures: it.figures.iter().map(figure).collect(),
    }
}

/// The acts as JSON, indented, with a line end.
pub fn json(content: &AcrossContent<'_>) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        target: content.target,
        machine: content.machine,
        other_runs: content.other_runs,
        acts: content.across.acts.iter().map(act).collect(),
        missing: &content.across.missing,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
