//! `oscost fleet`

mod ab;
mod cancel;
mod check;
mod collect;
mod links;
mod report;
mod run;
mod simulate;
mod status;
mod table_exports;
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
  oscost fleet collect /shared/lab                        keep what is there
  oscost fleet report lab -o lab.html                     which node differs?
  oscost fleet check --against lab                        is this node healthy?
  oscost fleet links --ssh hosts.txt                      latency of all pairs")]
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
    /// Keep the records of a fleet's folder, and name the visits that are missing.
    Collect(collect::Arguments),
    /// Name the nodes that are not like the others, and what sets them apart.
    Report(Box<report::Arguments>),
    /// Check whether a node is like the others of its class.
    Check(Box<check::Arguments>),
    /// Measure messages between pairs of nodes.
    Links(Box<links::Arguments>),
    /// Compare the sides of a fleet, with the node as the unit.
    Ab(Box<ab::Arguments>),
    /// Write the folder of a made-up fleet with planted faults.
    Simulate(simulate::Arguments),
}

impl Arguments {
    /// Whether it measures, or lets measure; others read what was measured.
    pub(super) fn measures(&self) -> bool {
        matches!(self.verb, Verb::Run(_) | Verb::Visit(_) | Verb::Check(_) | Verb::Links(_))
    }
}

pub(super) fn fleet(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match arguments.verb {
        Verb::Run(arguments) => run::run(*arguments, output),
        Verb::Visit(arguments) => visit::visit(arguments, output),
        Verb::Status(arguments) => status::status(arguments, output),
        Verb::Cancel(arguments) => cancel::cancel(arguments, output),
        Verb::Collect(arguments) => collect::collect(arguments, output),
        Verb::Report(arguments) => report::report(*arguments, output),
        Verb::Check(arguments) => check::check(*arguments, output),
        Verb::Links(arguments) => links::links(*arguments, output),
        Verb::Ab(arguments) => ab::ab(*arguments, output),
        Verb::Simulate(arguments) => simulate::simulate(arguments, output),
    }
}
