//! `oscost explain`

use super::Done;
use super::output::Output;
use crate::plan;
use crate::reach::CellProgram;
use crate::report;

/// What to explain.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost explain syscall/getppid
  oscost explain timer             every benchmark of a family")]
pub(super) struct Arguments {
    /// A benchmark, or a family.
    #[arg(value_name = "BENCHMARK")]
    benchmark: String,
}

pub(super) fn explain(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let catalog = CellProgram::find()?.catalog;
    let cases = plan::select(&catalog, std::slice::from_ref(&arguments.benchmark))?;
    let texts: Vec<String> = catalog
        .benchmarks
        .iter()
        .filter(|definition| cases.iter().any(|case| case.benchmark == definition.id))
        .map(report::catalog::explain)
        .collect();
    output.write(&texts.join("\n"))?;
    Ok(Done::Well)
}
