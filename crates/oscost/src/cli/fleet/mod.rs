//! `oscost fleet`

mod ab;
mod check;
mod links;
mod table_exports;

use super::exit::ExitStatus;
use super::output::Output;

/// What to do with many machines.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost fleet check --against monday     is this node like its equals?
  oscost fleet links --ssh hosts.txt      latency between all pairs
  oscost fleet ab monday                  what a treatment costs")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Check whether a node is like the others of its class.
    Check(check::Arguments),
    /// Measure messages between pairs of nodes.
    Links(links::Arguments),
    /// Compare the sides of a fleet, with the node as the unit.
    Ab(ab::Arguments),
}

impl Arguments {
    /// Whether it measures; others read what was measured.
    pub(super) fn measures(&self) -> bool {
        match self.verb {
            Verb::Check(_) | Verb::Links(_) => true,
            Verb::Ab(_) => false,
        }
    }
}

pub(super) fn fleet(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Check(arguments) => check::check(arguments, output),
        Verb::Links(arguments) => links::links(arguments, output),
        Verb::Ab(arguments) => ab::ab(arguments, output),
    }
}
