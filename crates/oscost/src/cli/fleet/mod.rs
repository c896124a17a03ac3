//! `oscost fleet`

mod collect;
mod simulate;

use super::exit::ExitStatus;
use super::output::Output;

/// What to do with a fleet: many machines that are measured by one plan, each several times.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost fleet simulate ./fleet --nodes 100    a made-up fleet with slow nodes
  oscost fleet collect ./fleet                 keep the records that are there")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Keep the records of a fleet's folder, and name the visits that are missing.
    Collect(collect::Arguments),
    /// Write the folder of a made-up fleet with planted faults.
    Simulate(simulate::Arguments),
}

impl Arguments {
    /// Whether it measures; other verbs read what was measured.
    pub(super) fn measures(&self) -> bool {
        match self.verb {
            Verb::Collect(_) | Verb::Simulate(_) => false,
        }
    }
}

pub(super) fn fleet(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Collect(arguments) => collect::collect(arguments, output),
        Verb::Simulate(arguments) => simulate::simulate(arguments, output),
    }
}
