//! A table of machines as a document for programs.

use oscost_model::record::Ratio;
use oscost_model::unit::Better;
use serde::Serialize;

use super::content::TableContent;
use crate::advice::machine_facts::{DescribedMachine, DescribedRun, MachineFact};
use crate::estimate::machine_table::{CaseLine, CountedModes, Finding, TableCell, TableFigure};

/// The version of the document.
pub const SCHEMA: &str = "oscost.table/1";

/// Indices of machines are those of `machines`; cells are in the order of `columns`, and ratios are
/// to the first of these.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    unit: &'static str,
    machines: Vec<MachineDocument<'a>>,
    columns: Vec<&'a [usize]>,
    left_out: Vec<&'a [usize]>,
    cases: Vec<CaseDocument<'a>>,
    findings: Vec<FindingDocument<'a>>,
    judged: usize,
}

#[derive(Serialize)]
struct MachineDocument<'a> {
    name: &'a str,
    setting_of: Option<&'a str>,
    facts: Vec<FactDocument<'a>>,
    runs: Vec<RunDocument<'a>>,
}

#[derive(Serialize)]
struct FactDocument<'a> {
    name: &'static str,
    value: Option<&'a str>,
    is_of_class: bool,
}

#[derive(Serialize)]
struct RunDocument<'a> {
    id: &'a str,
    started: &'a str,
    not_claimable: Option<&'static str>,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    treatments: &'a [String],
    unit: &'static str,
    /// Which counts the figures are, by the name of their metric; null if no processor counted them.
    counted_metric: Option<&'static str>,
    better: Better,
    cells: Vec<CellDocument<'a>>,
}

/// A figure, or why there is none.
#[derive(Serialize)]
struct CellDocument<'a> {
    median: Option<f64>,
    is_exact: bool,
    ci95: Option<[f64; 2]>,
    is_between_runs: bool,
    lowest_and_highest: Option<[f64; 2]>,
    machines: u32,
    runs: u32,
    ratio: Option<&'a Ratio>,
    reason: Option<&'a str>,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    machines: &'a [usize],
    others: &'a [usize],
    are_equals: bool,
    family: &'a str,
    cases: usize,
    slowness: f64,
    ci95: Option<[f64; 2]>,
    q: f64,
}

fn machine(it: &DescribedMachine) -> MachineDocument<'_> {
    MachineDocument {
        name: &it.name,
        setting_of: it.setting_of.as_deref(),
        facts: it.facts.iter().map(fact).collect(),
        runs: it.runs.iter().map(run).collect(),
    }
}

/// A fact; the value of one that is not known is null.
fn fact(it: &MachineFact) -> FactDocument<'_> {
    FactDocument { name: it.name, value: it.value.as_deref(), is_of_class: it.is_of_class }
}

fn run(it: &DescribedRun) -> RunDocument<'_> {
    RunDocument { id: &it.id, started: &it.started, not_claimable: it.not_claimable }
}

fn cell(it: &TableCell) -> CellDocument<'_> {
    match it {
        TableCell::Figure(TableFigure {
            value,
            is_exact,
            interval,
            is_between_runs,
            spread,
            machines,
            runs,
            ratio,
        }) => CellDocument {
            median: Some(*value),
            is_exact: *is_exact,
            ci95: *interval,
            is_between_runs: *is_between_runs,
            lowest_and_highest: *spread,
            machines: *machines,
            runs: *runs,
            ratio: ratio.as_ref(),
            reason: None,
        },
        TableCell::Missing(why) => CellDocument {
            median: None,
            is_exact: false,
            ci95: None,
            is_between_runs: false,
            lowest_and_highest: None,
            machines: 0,
            runs: 0,
            ratio: None,
            reason: Some(why),
        },
    }
}

fn case(it: &CaseLine) -> CaseDocument<'_> {
    CaseDocument {
        case: &it.case,
        treatments: &it.treatments,
        unit: it.unit.map_or("call/op", |unit| unit.text()),
        counted_metric: it.counted.map(CountedModes::metric),
        better: it.better,
        cells: it.cells.iter().map(cell).collect(),
    }
}

fn finding(it: &Finding) -> FindingDocument<'_> {
    FindingDocument {
        machines: &it.machines,
        others: &it.others,
        are_equals: it.are_equals,
        family: &it.family,
        cases: it.cases,
        slowness: it.slowness,
        ci95: it.ci95,
        q: it.q,
    }
}

/// The table as JSON, indented, with a line end.
pub fn json(content: &TableContent<'_>) -> Result<String, serde_json::Error> {
    let table = content.table;
    let document = Document {
        schema: SCHEMA,
        unit: table.unit.text(),
        machines: content.machines.iter().map(machine).collect(),
        columns: table.columns.iter().map(|column| &column.machines[..]).collect(),
        left_out: table.left_out.iter().map(|column| &column.machines[..]).collect(),
        cases: table.lines.iter().map(case).collect(),
        findings: table.findings.iter().map(finding).collect(),
        judged: table.judged,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
