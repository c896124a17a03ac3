//! `oscost compare`

use super::display;
use super::exit::ExitStatus;
use super::exports::{Exports, Subject};
use super::gate::report_gate;
use super::output::Output;
use super::values::{GateArguments, ScreenArguments};
use crate::app::compare::{Outcome, Request, compare as compare_runs};
use crate::report;

/// Which runs to compare.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
BASE and NEW are runs: an id, the beginning of one, `last`, `last~1` for the run
before it, or `@LABEL` for the newest run with that label; a record file, with a
slash in its name or ending in .json, which gzip(1) may have packed; `-` is
standard input; or `@NAME`, a record that comes with oscost (`oscost table
--list`). Several runs of a side are joined by commas.

Two runs that were measured one after the other also differ by what happened to
the machine in between. Earlier runs of the same machine, kernel and worker in
the store show how much that is; without any, it is that of similar ops on other
machines. Only a difference beyond it is called slower or faster, and nothing is
called equivalent. Several runs on each side, measured in alternation (base,
new, new, base, ...), are better evidence: 6 pairs for one row, 12 for a
hundred.

Examples:
  oscost compare last~1 last
  oscost compare old.json ./new.json -o comparison.json
  oscost compare @vm-6.1 @vm-6.12                 two records that are shipped
  oscost compare last~1 last --markdown -         for a pull request
  oscost compare A,B,C,D,E,F G,H,I,J,K,L          six runs on each side
  oscost compare last~1 last --gate 5             exit 1 on a regression of 5 %
  oscost compare last~1 last --gate 1 --on insn   on work, of one boot
  oscost compare last~1 last --gate 0insn         of kernels in vm: targets")]
pub(super) struct Arguments {
    /// Runs to compare with.
    #[arg(value_name = "BASE", value_parser = run_names)]
    base: RunNames,
    /// Runs to compare.
    #[arg(value_name = "NEW", value_parser = run_names)]
    new: RunNames,
    #[command(flatten)]
    gate: GateArguments,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    screen: ScreenArguments,
}

/// The names of the runs of a side.
#[derive(Clone, Debug)]
struct RunNames(Vec<String>);

fn run_names(text: &str) -> Result<RunNames, String> {
    let names: Vec<String> = text.split(',').map(|name| name.trim().to_owned()).collect();
    match names.iter().any(String::is_empty) {
        true => Err("a name between its commas is empty".to_owned()),
        false => Ok(RunNames(names)),
    }
}

pub(super) fn compare(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { gate: gate_arguments, exports, screen, .. } = arguments;
    let (RunNames(base), RunNames(new)) = (arguments.base, arguments.new);
    let screen = screen.screen();
    exports.check()?;
    let Outcome { base, new, compared, gate } =
        compare_runs(&Request { base, new, gate: gate_arguments.rule() })?;
    let threshold = gate_arguments.threshold();
    let shown = report::compare::ComparisonContent {
        base: &base,
        new: &new,
        compared: &compared,
        threshold,
    };
    let text = || display::fitted_text(report::compare::view(&shown), screen);
    exports.write_with_text(&Subject::Comparison(&shown), text, output)?;
    Ok(gate.zip(gate_arguments.rule()).map_or(ExitStatus::Success, |(gate, rule)| {
        report_gate(&gate, rule, &compared.results, &compared.comparisons)
    }))
}
