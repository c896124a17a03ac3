//! `oscost predict`

use super::display;
use super::exit::ExitStatus;
use super::output::{Output, report_line};
use crate::app::predict::{self, Estimate, PredictionSelection, Request};
use crate::report;

/// A prediction, or what to do with predictions.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "\
An ESTIMATE is a number and its unit: ns, us, ms, s, cycles (of the core) or
ticks (of the processor's counter). It may be
  120 ns         a value: it holds within a factor of 1.25
  <25 cycles     a bound (`>1 us` is the other); it needs quotes
  100..200 ns    a range
It holds if the whole 95 % interval of the figure is within it, does not hold if
the whole interval is outside, and is undecided otherwise. Cycles are those of
the core, at the rate estimated in the same run.

Each later run of the case keeps the prediction in its record, and shows it with
the figure, the floor and what oscost expected.

Examples:
  oscost predict syscall/getppid:via=raw 120 ns
  oscost predict syscall/getppid:via=raw '<300 cycles'
  oscost predict syscall/getpid:via=raw --hardware 40..80cycles --software 9ns
  oscost predict syscall/getpid:via=raw --below syscall/getppid:via=raw
  oscost run syscall                            measures, and shows which held
  oscost predict check                          the table of the last run again
  oscost predict delete all")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
    /// One case in full, as tables and `oscost explain` name it.
    #[arg(value_name = "CASE", required = true)]
    case: Option<String>,
    /// What it will cost.
    #[arg(value_name = "ESTIMATE")]
    estimate: Vec<String>,
    /// The hardware's part of it; without ESTIMATE, the cost is the sum of both parts.
    #[arg(long, value_name = "ESTIMATE", value_parser = Estimate::parse)]
    hardware: Option<Estimate>,
    /// The software's part of it.
    #[arg(long, value_name = "ESTIMATE", value_parser = Estimate::parse)]
    software: Option<Estimate>,
    /// It costs less than this case.
    #[arg(long, value_name = "CASE", conflicts_with_all = ["estimate", "hardware", "software"])]
    below: Option<String>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the predictions in the store, with their numbers.
    #[command(after_help = "\
Examples:
  oscost predict list
  oscost predict list --json | jq '.predictions[].number'")]
    List {
        /// Print one JSON object (`oscost.predictions/1`).
        #[arg(long)]
        json: bool,
    },
    /// Delete predictions; runs keep theirs.
    #[command(after_help = "\
Examples:
  oscost predict delete 3
  oscost predict delete all")]
    Delete {
        /// The number of one, or `all`.
        #[arg(value_name = "N|all", value_parser = parse_selection)]
        which: PredictionSelection,
    },
    /// Show the predictions of a run, and which of them held.
    #[command(after_help = "\
Examples:
  oscost predict check           those of the last run
  oscost predict check last~1    those of the run before it")]
    Check {
        /// An id, the beginning of one, `last`, or `last~1`.
        #[arg(default_value = "last")]
        run: String,
    },
}

fn parse_selection(text: &str) -> Result<PredictionSelection, String> {
    match text {
        "all" => Ok(PredictionSelection::All),
        text => {
            let number = text.parse().map_err(|_| "it must be a number or `all`".to_owned())?;
            Ok(PredictionSelection::Number(number))
        }
    }
}

pub(super) fn predict(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { verb, case, estimate, hardware, software, below } = arguments;
    match verb {
        None => {
            let case = case.unwrap_or_default();
            let estimate = estimate.join(" ");
            let number = predict::predict(&Request { case, estimate, hardware, software, below })?;
            report_line(&format!(
                "kept as prediction {number}: runs that begin from now on are compared with it"
            ));
        }
        Some(Verb::List { json: true }) => {
            output.write(&report::predictions::list_json(&predict::list()?)?)?;
        }
        Some(Verb::List { json: false }) => {
            output.show(&report::predictions::list(&predict::list()?))?;
        }
        Some(Verb::Delete { which }) => {
            let deleted = predict::delete(which)?;
            let s = if deleted == 1 { "" } else { "s" };
            report_line(&format!("deleted {deleted} prediction{s}"));
        }
        Some(Verb::Check { run }) => {
            let record = predict::check(&run)?;
            let text = display::text(&report::predictions::view(&record));
            match text.as_str() {
                "" => report_line(&format!("run {} has no predictions", record.id)),
                text => output.write(text)?,
            }
        }
    }
    Ok(ExitStatus::Success)
}
