//! `oscost run` at several nodes of Slurm: their machines side by side.

use super::display::fitted_text;
use super::exit::ExitStatus;
use super::exports::{Exports, Subject};
use super::node_reports::report_left_out;
use super::output::{Output, report_line};
use super::run_text::report_id;
use super::terminal::Terminal;
use crate::app::run::Request;
use crate::app::run_nodes::{KeptNodeRun, Outcome, run_nodes as measure};
use crate::app::table::TableUnit;
use crate::app::{NodeTarget, UsageError};
use crate::report::Screen;
use crate::report::machine_table::{self, TableContent};
use crate::report::run::FigureUnit;

/// How the runs are shown, and where.
pub(super) struct NodeRunsReport<'a> {
    pub(super) exports: &'a Exports,
    pub(super) unit: FigureUnit,
    pub(super) screen: Screen,
    /// Whether it is not told where the runs are kept.
    pub(super) quiet: bool,
}

/// Refuses options that show a run by itself, if one of these was given.
pub(super) fn check_options(
    options: impl IntoIterator<Item = (&'static str, bool)>,
) -> Result<(), UsageError> {
    match options.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((name, _)) => Err(UsageError::with_hint(
            &format!("cannot use `{name}` at several nodes: their machines are shown side by side"),
            "leave it out: each run is kept, and `oscost report` and `oscost runs show` show one",
        )),
    }
}

/// Measures at these nodes in turn.
pub(super) fn run_nodes(
    request: &Request,
    nodes: Vec<NodeTarget>,
    report: &NodeRunsReport<'_>,
    terminal: &Terminal,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    let unit = table_unit(report.unit);
    let Outcome { table, kept, left_out, completion } = measure(request, nodes, unit, terminal)?;
    let shown = table.as_ref().map_or(Ok(()), |found| {
        let content = TableContent { table: &found.table, machines: &found.machines };
        let text = || fitted_text(machine_table::view(&content), report.screen);
        report.exports.write_with_text(&Subject::Machines(&content), text, output)
    });
    if !report.quiet {
        report_kept(&kept, unit);
    }
    report_left_out(&left_out);
    if table.is_none() {
        report_line("note: nothing was measured");
    }
    shown?;
    Ok(completion.into())
}

fn table_unit(unit: FigureUnit) -> TableUnit {
    match unit {
        FigureUnit::Own => TableUnit::Own,
        FigureUnit::Cycles => TableUnit::Cycles,
        FigureUnit::Instructions => TableUnit::Instructions,
    }
}

/// Reports where the runs are kept.
fn report_kept(kept: &[KeptNodeRun], unit: TableUnit) {
    match kept {
        [] => {}
        [KeptNodeRun { id, .. }] => report_id(Some(id.as_str())),
        several => report_line(&format!("kept: `{}`", table_command(several, unit))),
    }
}

/// The command that shows these runs side by side again, in the same unit.
fn table_command(runs: &[KeptNodeRun], unit: TableUnit) -> String {
    let mut command = "oscost table".to_owned();
    if unit != TableUnit::default() {
        command.push_str(&format!(" --in {}", unit.text()));
    }
    command.extend(runs.iter().map(|KeptNodeRun { node, id }| format!(" {node}={id}")));
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_that_shows_kept_runs_again_is_in_the_unit_of_the_run() {
        let kept = |node: &str, id: &str| KeptNodeRun { node: node.to_owned(), id: id.to_owned() };
        let runs = [kept("n1", "20261127-a"), kept("n2", "20261127-b")];
        let command = |unit: FigureUnit| table_command(&runs, table_unit(unit));
        assert_eq!(command(FigureUnit::Own), "oscost table n1=20261127-a n2=20261127-b");
        assert_eq!(
            command(FigureUnit::Instructions),
            "oscost table --in insn n1=20261127-a n2=20261127-b"
        );
        assert!(command(FigureUnit::Cycles).starts_with("oscost table --in cycles n1="));
    }
}
