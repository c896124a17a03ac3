//! The figures of each case on each machine, as far as they are of one op.

use oscost_model::record::{FileSummary, MonitorSummary, Row, RowOutcome};
use oscost_model::unit::{Better, Unit};

use super::content::{TableMachine, TableUnit};
use super::counts::LineCounts;
use super::figures::{MachineFigure, is_emulated, machine_figure};
use super::join::{JoinedRow, joined};
use crate::estimate::comparison::{other_count, other_op};

/// A case on all machines.
pub(super) struct MachineLine<'a> {
    /// The row that the others are compared with: a measured one of the base, if it has any.
    pub(super) reference: JoinedRow<'a>,
    /// Which direction of its figures is better.
    pub(super) better: Better,
    /// What its instructions are of; `None` in other units, and where no processor counted any.
    pub(super) counts: Option<LineCounts>,
    /// The figure on each machine, or why there is none.
    pub(super) figures: Vec<Result<MachineFigure, String>>,
}

impl MachineLine<'_> {
    /// The family of its benchmark.
    pub(super) fn family(&self) -> &str {
        let benchmark = self.reference.row.benchmark.as_str();
        benchmark.split_once('/').map_or(benchmark, |(family, _)| family)
    }

    /// The figures of some machines, as far as there are any.
    pub(super) fn figures_of(&self, machines: &[usize]) -> Vec<MachineFigure> {
        let figure = |&at: &usize| self.figures.get(at)?.as_ref().ok().copied();
        machines.iter().filter_map(figure).collect()
    }
}

/// The lines of a table; `base` is the machine that the others are compared with.
pub(super) fn machine_lines<'a>(
    machines: &[TableMachine<'a>],
    unit: TableUnit,
    base: usize,
) -> Vec<MachineLine<'a>> {
    joined(machines).into_values().filter_map(|rows| line(&rows, unit, base)).collect()
}

fn line<'a>(rows: &[Vec<JoinedRow<'a>>], unit: TableUnit, base: usize) -> Option<MachineLine<'a>> {
    let of_base = rows.get(base).into_iter().flatten();
    let all = || of_base.clone().chain(rows.iter().flatten());
    let is_measured = |it: &&JoinedRow<'_>| it.row.outcome == RowOutcome::Measured;
    let reference = *all().find(is_measured).or_else(|| all().next())?;
    let counts = match unit {
        TableUnit::Instructions if !is_emulated(reference.row) => {
            let of_base = LineCounts::of(of_base.clone().copied());
            of_base.or_else(|| LineCounts::of(all().copied()))
        }
        _ => None,
    };
    let figures = rows.iter().map(|rows| figure(rows, reference, unit, counts)).collect();
    let better = match unit {
        TableUnit::Own => reference.row.better,
        TableUnit::Cycles | TableUnit::Calls => Unit::CyclesPerOp.better(),
        TableUnit::Instructions => Unit::InstructionsPerOp.better(),
    };
    Some(MachineLine { reference, better, counts, figures })
}

/// The figure of a machine by those of its rows that are of the op of the reference.
fn figure(
    rows: &[JoinedRow<'_>],
    reference: JoinedRow<'_>,
    unit: TableUnit,
    counts: Option<LineCounts>,
) -> Result<MachineFigure, String> {
    let first_reason = rows.iter().find_map(|it| difference(reference, *it));
    let same: Vec<JoinedRow<'_>> =
        rows.iter().copied().filter(|it| difference(reference, *it).is_none()).collect();
    match (same.is_empty(), first_reason) {
        (true, Some(why)) => Err(why),
        _ => {
            let figure = machine_figure(&same, unit, counts)?;
            let are_comparable = same.iter().all(|it| counts_are_comparable(reference, *it));
            let exact_count = figure.exact_count.filter(|_| are_comparable);
            Ok(MachineFigure { exact_count, ..figure })
        }
    }
}

/// Whether a difference between the counts of two rows is one of their machines: another emulator
/// or another build of the worker executes other instructions for the same op.
fn counts_are_comparable(reference: JoinedRow<'_>, it: JoinedRow<'_>) -> bool {
    other_count([reference.run, it.run], [reference.row, it.row]).is_none()
}

/// Why a row is of another op than the reference; `None` if it is not, and of one without a figure.
fn difference(reference: JoinedRow<'_>, it: JoinedRow<'_>) -> Option<String> {
    if it.row.outcome != RowOutcome::Measured {
        return None;
    }
    if it.row.command != reference.row.command {
        return Some("another command of the same name".to_owned());
    }
    if it.row.primary_metric != reference.row.primary_metric {
        return Some("its figure is another metric".to_owned());
    }
    let surroundings = other_surroundings(reference.row, it.row);
    surroundings.or_else(|| other_op([reference.run, it.run], [reference.row, it.row]))
}

/// Whether a row used files of another file system, or was watched by a monitor in another state,
/// as far as both are known: neither is a property of the machine.
fn other_surroundings(reference: &Row, it: &Row) -> Option<String> {
    let file = |it: &FileSummary| format!("{} ({})", it.filesystem, it.backing);
    let state = |it: &MonitorSummary| it.profile_states.join(" ");
    let files = |row: &Row| row.file.as_ref().map(file);
    let states = |row: &Row| row.monitor.as_ref().map(state);
    [
        ("on another file system", files(reference), files(it)),
        ("under a monitor in another state", states(reference), states(it)),
    ]
    .into_iter()
    .find_map(|(what, ours, theirs)| {
        let (ours, theirs) = ours.zip(theirs)?;
        (ours != theirs).then(|| format!("{what}: {theirs}, not {ours}"))
    })
}
