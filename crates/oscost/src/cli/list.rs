//! `oscost list`

use oscost_model::definition::{Definition, Extent};

use super::Done;
use super::output::Output;
use super::programs::Programs;
use crate::hosts::WorkerBinary;
use crate::plan;
use crate::report;

/// What to list.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost list                every family and benchmark; `-` marks what is not in the price list
  oscost list syscall        one family
  oscost list --json         the definitions, for programs")]
pub(super) struct Arguments {
    /// Families, benchmarks, or globs as `*/open-*`; all when there is none.
    #[arg(value_name = "SELECTOR")]
    selectors: Vec<String>,
    /// Print the definitions as JSON.
    #[arg(long)]
    json: bool,
}

pub(super) fn list(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let catalog = Programs::known().beside(&WorkerBinary::find()?.catalog);
    let wanted = plan::select(&catalog, &arguments.selectors, Extent::Default)?;
    let chosen: Vec<&Definition> = catalog
        .benchmarks
        .iter()
        .filter(|definition| {
            arguments.selectors.is_empty()
                || wanted.iter().any(|case| case.benchmark == definition.id)
        })
        .collect();
    if arguments.json {
        output.write(&(serde_json::to_string_pretty(&chosen)? + "\n"))?;
    } else {
        output.write(&report::catalog::list(&catalog, &chosen))?;
    }
    Ok(Done::Well)
}
