//! `oscost list`

use oscost_model::definition::Definition;

use super::exit::ExitStatus;
use super::output::Output;
use crate::app::list::{Outcome, Request, list as select};
use crate::report;

/// What to list.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost list                  families, then every benchmark with its question;
                               `-` marks what is not in the price list
  oscost list syscall          one family
  oscost list '*/open-*'       a glob
  oscost list '{pipe,socket}'  several names
  oscost list -k fork          a word in names, questions and system calls
  oscost list --calls openat   those whose ops make this system call
  oscost list -v pipe          with the axes of each
  oscost list --json           the definitions, for programs")]
pub(super) struct Arguments {
    /// A family, a benchmark or a glob [default: all].
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// List benchmarks with this text in their names, questions or system calls.
    #[arg(short, long, value_name = "TEXT")]
    keyword: Option<String>,
    /// List benchmarks whose ops make this system call.
    #[arg(long, value_name = "CALL")]
    calls: Option<String>,
    /// List the axes of each benchmark, too.
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    /// Print the definitions as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn list(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { selectors, keyword, calls, .. } = arguments;
    let request =
        Request { selectors: selectors.clone(), keyword: keyword.clone(), call: calls.clone() };
    let Outcome { catalog, selected } = select(&request)?;
    if arguments.json {
        output.write(&(serde_json::to_string_pretty(&selected)? + "\n"))?;
    } else {
        let selected: Vec<&Definition> = selected.iter().collect();
        let view = report::catalog::list(&catalog, &selected, arguments.verbose);
        output.show(&view)?;
    }
    Ok(ExitStatus::Success)
}
