//! `oscost list`

use oscost_model::definition::Definition;

use super::exit::ExitStatus;
use super::output::Output;
use crate::app::list::{Outcome, list as select};
use crate::report;

/// What to list.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost list                every family and benchmark; `-` marks what is not in
                             the price list
  oscost list syscall        one family
  oscost list '*/open-*'     a glob
  oscost list --json         the definitions, for programs")]
pub(super) struct Arguments {
    /// A family, a benchmark or a glob [default: all].
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// Print the definitions as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn list(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Outcome { catalog, selected } = select(&arguments.selectors)?;
    if arguments.json {
        output.write(&(serde_json::to_string_pretty(&selected)? + "\n"))?;
    } else {
        let selected: Vec<&Definition> = selected.iter().collect();
        output.write(&report::terminal(&report::catalog::list(&catalog, &selected)))?;
    }
    Ok(ExitStatus::Success)
}
