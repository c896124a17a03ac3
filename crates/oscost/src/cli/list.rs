//! `oscost list`

use oscost_model::definition::Definition;

use super::display;
use super::exit::ExitStatus;
use super::output::Output;
use crate::app::list::{Outcome, Request, list as select};
use crate::report;

/// What to list.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost list                  the families, a line each (through a pipe: all)
  oscost list syscall          one family: each benchmark with its question
  oscost list all              every benchmark
  oscost list '*/open-*'       a glob
  oscost list '{pipe,socket}'  several names
  oscost list -k fork          a word in names, questions and system calls
  oscost list --calls openat   those whose ops make this system call
  oscost list -v pipe          with the axes of each
  oscost list --json           the definitions, for programs")]
pub(super) struct Arguments {
    /// A family, a benchmark, a glob, or `all` [default: the families on a terminal, else all].
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// List benchmarks with this text in their names, questions or system calls.
    #[arg(short, long, value_name = "TEXT", value_parser = word)]
    keyword: Option<String>,
    /// List benchmarks whose ops make this system call.
    #[arg(long, value_name = "CALL", value_parser = word)]
    calls: Option<String>,
    /// List the axes of each benchmark, too.
    #[arg(short, long, conflicts_with = "json")]
    verbose: bool,
    /// Print the definitions as JSON.
    #[arg(long)]
    json: bool,
}

/// A word to look for: an empty one is in every text.
fn word(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty, and would find everything: name a word, such as `fork`".to_owned()),
        word => Ok(word.to_owned()),
    }
}

/// The selector of all benchmarks.
const ALL: &str = "all";

pub(super) fn list(arguments: &Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { selectors, keyword, calls, .. } = arguments;
    let is_all = selectors.iter().any(|selector| selector == ALL);
    let named = if is_all { Vec::new() } else { selectors.clone() };
    let request = Request { selectors: named, keyword: keyword.clone(), call: calls.clone() };
    let Outcome { catalog, selected } = select(&request)?;
    let is_plain = selectors.is_empty() && keyword.is_none() && calls.is_none();
    // Several hundred lines would scroll the families away.
    let are_families_enough = is_plain && !arguments.verbose && display::height().is_some();
    if arguments.json {
        output.write(&(serde_json::to_string_pretty(&selected)? + "\n"))?;
    } else if are_families_enough {
        output.show(&report::catalog::families(&catalog))?;
    } else {
        let selected: Vec<&Definition> = selected.iter().collect();
        let view = report::catalog::list(&catalog, &selected, arguments.verbose);
        output.show(&view)?;
    }
    Ok(ExitStatus::Success)
}
