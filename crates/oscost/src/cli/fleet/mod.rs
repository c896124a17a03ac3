//! `oscost fleet`

mod cancel;
mod run;
mod status;
mod visit;

use super::exit::ExitStatus;
use super::output::Output;

/// What to do with a fleet.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
A fleet is many machines, measured by one command: by Slurm, whose jobs go on
when oscost has ended, or by ssh. FOLDER holds the plan and what was measured;
with Slurm it must be on a file system that all nodes see at the same path.

Examples:
  oscost fleet run /shared/lab --slurm partition=debug    measure all nodes
  oscost fleet status /shared/lab                         how far is it?
  oscost fleet run /shared/lab --retry                    what is missing, again
  oscost fleet cancel /shared/lab                         end its jobs")]
pub(super) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Measure many machines, by Slurm or by ssh.
    Run(Box<run::Arguments>),
    /// Measure the node of one task: what each job of a fleet does.
    Visit(visit::Arguments),
    /// Show which nodes were measured, and what became of the others.
    Status(status::Arguments),
    /// End the jobs of a fleet; what was measured stays.
    Cancel(cancel::Arguments),
}

impl Arguments {
    /// Whether it measures, or lets measure; others read what was measured.
    pub(super) fn measures(&self) -> bool {
        matches!(self.verb, Verb::Run(_) | Verb::Visit(_))
    }
}

pub(super) fn fleet(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Run(arguments) => run::run(*arguments, output),
        Verb::Visit(arguments) => visit::visit(arguments, output),
        Verb::Status(arguments) => status::status(arguments, output),
        Verb::Cancel(arguments) => cancel::cancel(arguments, output),
    }
}
