//! `oscost bill`

use super::display;
use super::documents::{self, Document, Format};
use super::exit::ExitStatus;
use super::lock_arguments::LockArguments;
use super::output::Output;
use super::terminal::Terminal;
use crate::app::bill::{Request, bill as bill_of};
use crate::report;

/// Of which command, and by which prices.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command runs as with `oscost run -- COMMAND`: some times untouched, for its
times, and in turns with them three times under ptrace, which counts what its
process tree does. Each call is priced by a case of the catalog
(docs/reference/CALLS.md) as the last runs of this machine have measured it. The
difference between what is charged and the measured system time is a line of its
own. docs/explanation/BILL.md says who pays for what, and what a bill cannot
know.

Examples:
  oscost run                                 first the prices, in a minute
  oscost bill -- find /usr -xdev -name '*.c'
  oscost bill --trials 30 -- git status
  oscost bill --prices last~1 -- ls -l       by the prices of another run
  oscost bill --json - -- ls | jq '.items[] | {name, times, amount}'")]
pub(super) struct Arguments {
    /// How many times it runs untouched [default: as often as fits 6 seconds, 6 to 90 times].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(6..=1_000))]
    trials: Option<u32>,
    /// The run whose figures are the prices [default: the newest of this machine].
    #[arg(long, value_name = "RUN")]
    prices: Option<String>,
    /// Where to run it: this machine.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
    /// Write JSON (`oscost.bill/1`); `-` is standard output, instead of the table.
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
    #[command(flatten)]
    lock: LockArguments,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

pub(super) fn bill(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { trials, prices, at, json, lock, command } = arguments;
    let documents: Vec<Document> = Document::new(Format::Json, json.as_ref()).into_iter().collect();
    documents::check(&documents)?;
    let request = Request { command, trials, prices, at, on_busy: lock.policy() };
    let bill = bill_of(&request, &Terminal::new(output))?;
    let json =
        |_: Format| -> anyhow::Result<Vec<u8>> { Ok(report::bill::json(&bill)?.into_bytes()) };
    let text = || display::text(&report::bill::view(&bill));
    documents::write_with_text(&documents, json, text, output)?;
    Ok(ExitStatus::Success)
}
