//! `oscost machine`

use super::exit::ExitStatus;
use super::output::Output;
use super::terminal::Terminal;
use crate::app::machine::{Outcome, machine as describe};
use crate::report;
use crate::report::machine::{Description, Rates};

/// Which machine to describe.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every row is always shown: with a value, or with `not visible` and the reason.
Host names, addresses and serial numbers are not read. Root sees more.

Examples:
  oscost machine                                what this machine is made of
  sudo oscost machine                           memory modules and tracers, too
  oscost machine --json | jq .caches            the same, for programs
  oscost machine --json | jq -r .os.cmdline     one fact")]
pub(super) struct Arguments {
    /// Print the facts as one JSON object (`oscost.machine/1`).
    #[arg(long)]
    json: bool,
    /// Which machine.
    #[arg(long, value_name = "HOST", default_value = "local")]
    at: String,
}

pub(super) fn machine(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Outcome { facts, clocks, worker, probe, calibration, measuring } =
        describe(&arguments.at, &Terminal::new(output))?;
    let not_measured =
        measuring.map(|by| format!("{by} is measuring on this machine: try again later"));
    let rates = Rates { probe, calibration, not_measured };
    let description =
        Description { facts: &facts, clocks: &clocks, worker: &worker, rates: &rates };
    match arguments.json {
        true => output.write(&report::machine::json(&description)?)?,
        false => output.show(&report::machine::view(&description))?,
    }
    Ok(ExitStatus::Success)
}
