//! The columns of a table, and the cells of its lines.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use oscost_model::record::Ratio;
use oscost_model::unit::Unit;

use super::content::{
    CaseLine, Finding, TableCell, TableColumn, TableFigure, TableMachine, TableUnit,
};
use super::counts::LineCounts;
use super::figures::{MachineFigure, PooledFigure, Z_95, exact_count, pooled};
use super::lines::MachineLine;

/// More columns are not read side by side, and each has a cell in each line.
const MAX_COLUMNS: usize = 64;

/// The columns that are shown, and further ones.
pub(super) struct ShownColumns {
    pub(super) shown: Vec<TableColumn>,
    pub(super) left_out: Vec<TableColumn>,
}

/// Of too many columns the first one, to which ratios are, those in which something stands out, and
/// those of the most machines, as many as are shown. Both lists keep their order.
pub(super) fn shown_columns(columns: Vec<TableColumn>, findings: &[Finding]) -> ShownColumns {
    let found: BTreeSet<usize> =
        findings.iter().flat_map(|it| it.machines.iter().copied()).collect();
    let rank = |at: usize, column: &TableColumn| {
        let stands_out = column.machines.iter().any(|machine| found.contains(machine));
        (at > 0, !stands_out, Reverse(column.machines.len()))
    };
    let mut ranked: Vec<usize> = (0..columns.len()).collect();
    ranked.sort_by_key(|&at| rank(at, &columns[at]));
    let shown: BTreeSet<usize> = ranked.into_iter().take(MAX_COLUMNS).collect();
    let mut columns_of = ShownColumns { shown: Vec::new(), left_out: Vec::new() };
    for (at, column) in columns.into_iter().enumerate() {
        match shown.contains(&at) {
            true => columns_of.shown.push(column),
            false => columns_of.left_out.push(column),
        }
    }
    columns_of
}

/// Machines that share no column with others.
#[derive(Default)]
pub(super) struct Apart {
    /// Those that stand out: each has a column of its own.
    pub(super) alone: BTreeSet<usize>,
    /// Those without a figure in any line, which would be told of none in a column with others that
    /// have one.
    pub(super) without_figures: BTreeSet<usize>,
}

/// The columns, that of the base first: machines with the same facts are one, except those that are
/// apart.
pub(super) fn columns(
    machines: &[TableMachine<'_>],
    apart: &Apart,
    base: usize,
) -> Vec<TableColumn> {
    let Apart { alone, without_figures } = apart;
    let mut columns: Vec<TableColumn> = Vec::new();
    for (at, machine) in machines.iter().enumerate() {
        let is_same = |column: &&mut TableColumn| {
            let first = column.machines[0];
            let is_alone = alone.contains(&at) || alone.contains(&first);
            let is_apart = without_figures.contains(&at) != without_figures.contains(&first);
            !is_alone
                && !is_apart
                && machine.facts.is_some()
                && machines[first].facts == machine.facts
        };
        match columns.iter_mut().find(is_same) {
            Some(column) => column.machines.push(at),
            None => columns.push(TableColumn { machines: vec![at] }),
        }
    }
    // The sort is stable: the others keep their order.
    columns.sort_by_key(|column| !column.machines.contains(&base));
    columns
}

/// The lines, those that differ most first: by what is certain of the ratios, then by the ratios.
pub(super) fn case_lines(
    lines: &[MachineLine<'_>],
    columns: &[TableColumn],
    unit: TableUnit,
) -> Vec<CaseLine> {
    let mut made: Vec<CaseLine> = lines.iter().map(|line| case_line(line, columns, unit)).collect();
    made.sort_by(|one, other| {
        let order = other.certain_difference().total_cmp(&one.certain_difference());
        let order = order.then(other.largest_difference().total_cmp(&one.largest_difference()));
        order.then_with(|| (&one.case, &one.treatments).cmp(&(&other.case, &other.treatments)))
    });
    made
}

fn case_line(line: &MachineLine<'_>, columns: &[TableColumn], unit: TableUnit) -> CaseLine {
    let row = line.reference.row;
    let of_first = columns.first().map_or_else(Vec::new, |it| line.figures_of(&it.machines));
    let (first, first_count) = (pooled(&of_first), exact_count(&of_first));
    let cell = |(at, column): (usize, &TableColumn)| {
        let figures = line.figures_of(&column.machines);
        match pooled(&figures) {
            Some(own) => {
                let of_counts = exact_count(&figures)
                    .zip(first_count)
                    .map(|(own, first)| ratio_of_counts(own, first));
                let of_figures = |first| ratio(own, first, line.counts);
                let ratio = first.map(|first| of_counts.unwrap_or_else(|| of_figures(first)));
                TableCell::Figure(figure(&figures, own, ratio.filter(|_| at > 0)))
            }
            None => TableCell::Missing(missing(line, column)),
        }
    };
    CaseLine {
        case: row.case.clone(),
        benchmark: row.benchmark.clone(),
        point: row.point.clone(),
        treatments: row.target.treatments.clone(),
        unit: match unit {
            TableUnit::Own => Some(row.unit),
            TableUnit::Cycles => Some(Unit::CyclesPerOp),
            TableUnit::Calls => None,
            TableUnit::Instructions => Some(Unit::InstructionsPerOp),
        },
        better: line.better,
        counted: line.counts.map(|it| it.modes),
        cells: columns.iter().enumerate().map(cell).collect(),
    }
}

/// The figure of the machines of a column.
fn figure(figures: &[MachineFigure], own: PooledFigure, ratio: Option<Ratio>) -> TableFigure {
    let logs = || figures.iter().map(|it| it.log);
    let ends = [logs().fold(f64::INFINITY, f64::min), logs().fold(f64::NEG_INFINITY, f64::max)];
    let alone = figures.first().filter(|_| figures.len() == 1);
    let exp = |ends: [f64; 2]| ends.map(f64::exp);
    let count = exact_count(figures);
    TableFigure {
        value: count.unwrap_or_else(|| own.log.exp()),
        is_exact: count.is_some(),
        interval: alone.and_then(|it| it.interval).map(exp),
        is_between_runs: figures.iter().all(|it| it.is_between_runs),
        spread: (figures.len() > 1).then(|| exp(ends)),
        machines: figures.len() as u32,
        runs: figures.iter().map(|it| it.runs).sum(),
        ratio,
    }
}

/// A column over the first one. The interval has the errors of both: two machines, two moments; of
/// counts it is that of their runs, since nothing is known of other boots.
fn ratio(own: PooledFigure, first: PooledFigure, counts: Option<LineCounts>) -> Ratio {
    let log = own.log - first.log;
    let [own, first] = [own, first].map(|it| counts.map_or(it.error, |_| it.error_of_runs));
    let error = own.zip(first).map(|(own, first)| Z_95 * own.hypot(first));
    Ratio { value: log.exp(), ci95: error.map(|error| [(log - error).exp(), (log + error).exp()]) }
}

/// A count over another one, of which neither leaves anything open.
fn ratio_of_counts(own: f64, first: f64) -> Ratio {
    Ratio { value: own / first, ci95: Some([own / first; 2]) }
}

/// Why no machine of a column has a figure.
fn missing(line: &MachineLine<'_>, column: &TableColumn) -> String {
    let mut reasons = column.machines.iter().filter_map(|&at| line.figures.get(at)?.as_ref().err());
    reasons.next().cloned().unwrap_or_else(|| "not measured".to_owned())
}

impl CaseLine {
    fn ratios(&self) -> impl Iterator<Item = &Ratio> {
        self.cells.iter().filter_map(|cell| cell.figure()?.ratio.as_ref())
    }

    /// How far the interval of a ratio lies from 1, as a logarithm: of the one that lies farthest.
    fn certain_difference(&self) -> f64 {
        let certain = |it: &Ratio| it.ci95.map_or(0.0, |[low, high]| low.ln().max(-high.ln()));
        self.ratios().map(certain).fold(0.0, f64::max)
    }

    /// The same of the ratios themselves.
    fn largest_difference(&self) -> f64 {
        self.ratios().map(|it| it.value.ln().abs()).fold(0.0, f64::max)
    }
}
