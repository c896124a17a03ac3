//! `oscost fleet`

mod report;

use super::exit::ExitStatus;
use super::output::Output;

/// What to do with a fleet.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A fleet is many machines that one plan measures, each at several visits.

Examples:
  oscost fleet report night                    which node is not like the others
  oscost fleet report night -o night.html      the same as a page")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Name the nodes that are not like the others, and what sets them apart.
    Report(report::Arguments),
}

pub(super) fn fleet(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Report(arguments) => report::report(arguments, output),
    }
}
