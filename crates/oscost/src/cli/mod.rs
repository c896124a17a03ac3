//! The command line: one file a verb.
//!
//! What this room is for: words in, words out, exit codes. Data goes to standard output, everything
//! else to standard error. Exit 0: done, skips included; 1: a case that was asked for failed, or a
//! gate; 2: usage; 130: Ctrl-C, and what was measured until then is kept and shown.

mod ab;
mod compare;
mod completions;
mod doctor;
mod explain;
mod exports;
mod history;
mod kernels;
mod list;
mod machine;
mod man;
mod named;
mod output;
mod peer;
mod ph;
mod predict;
mod programs;
mod records;
mod report;
mod run;
mod runs;
mod schema;
mod studies;
mod study;
mod target;
mod treat;
mod vm;
mod workload;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::plan::SelectorError;
use output::Output;

/// What the operating system charges you, and what a change does to the price list.
#[derive(Debug, Parser)]
#[command(name = "oscost", version, max_term_width = 80, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  oscost run                       the price list: every usual case
  oscost run syscall/getppid       one benchmark at its usual points
  oscost explain syscall/getppid   what is timed, what is not, and why
  oscost runs show last            the table of the last run once more
  oscost ab --new seccomp=docker   what a sandbox costs, call by call
  oscost compare last~1 last       what differs between the last two runs
  oscost report last --html o.html the last run as a page to look at
  oscost history                   which figures changed over all runs kept
  oscost doctor                    what makes figures noisy here, what mends it
  oscost machine                   what this machine is made of";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure: the price list, or what the selectors name.
    Run(run::Arguments),
    /// Measure places side by side: what does a change cost?
    Ab(ab::Arguments),
    /// Compare two runs, or several a side that took turns.
    Compare(compare::Arguments),
    /// Show how figures went from run to run, and what changed.
    History(history::Arguments),
    /// List families and benchmarks.
    List(list::Arguments),
    /// Say what a benchmark times, what it does not, and what to expect.
    Explain(explain::Arguments),
    /// List, show, delete, export and import the runs that were kept.
    Runs(runs::Arguments),
    /// Write a run as a page, CSV, JSON, Markdown or Parquet, or show it.
    Report(report::Arguments),
    /// Describe the machine: processor, memory, disks, kernel, settings.
    Machine(machine::Arguments),
    /// Say what makes figures noisy here, and what mends it.
    Doctor(doctor::Arguments),
    /// List whole workloads, and prepare what they work on.
    Workload(workload::Arguments),
    /// List the kernels that `vm:` can boot, and fetch more.
    Kernels(kernels::Arguments),
    /// List published studies, show one, and judge their claims.
    Study(studies::Arguments),
    /// Run any command under treatments, or list them.
    Treat(treat::Arguments),
    /// Say beforehand what a case will cost, and see what held.
    Predict(predict::Arguments),
    /// Learn what executables do, and watch for what is not normal.
    Ph(ph::Arguments),
    /// Print the JSON Schema of a run's record.
    Schema,
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
    /// Print the manual page, of oscost or of one of its verbs.
    Man(man::Arguments),
}

/// How a command that could do its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Done {
    /// Well.
    Well,
    /// A case that was asked for could not be measured, or a gate failed.
    WithFailures,
    /// The user pressed Ctrl-C.
    Interrupted,
    /// With the status of what was to be run for the user.
    With(u8),
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    let arguments = Arguments::parse(); // Exits with 2 and a hint on anything it does not know.
    let mut output = Output::stdout();
    let done = match arguments.verb {
        Verb::Run(arguments) => run::run(arguments, &mut output),
        Verb::Ab(arguments) => ab::ab(&arguments, &mut output),
        Verb::Compare(arguments) => compare::compare(&arguments, &mut output),
        Verb::History(arguments) => history::history(&arguments, &mut output),
        Verb::List(arguments) => list::list(&arguments, &mut output),
        Verb::Explain(arguments) => explain::explain(&arguments, &mut output),
        Verb::Runs(arguments) => runs::runs(arguments, &mut output),
        Verb::Report(arguments) => report::report(&arguments, &mut output),
        Verb::Machine(arguments) => machine::machine(&arguments, &mut output),
        Verb::Doctor(arguments) => doctor::doctor(&arguments, &mut output),
        Verb::Workload(arguments) => workload::workload(&arguments, &mut output),
        Verb::Kernels(arguments) => kernels::kernels(&arguments, &mut output),
        Verb::Study(arguments) => studies::study(&arguments, &mut output),
        Verb::Treat(arguments) => treat::treat(arguments, &mut output),
        Verb::Predict(arguments) => predict::predict(arguments, &mut output),
        Verb::Ph(arguments) => ph::ph(arguments, &mut output),
        Verb::Schema => schema::schema(&mut output),
        Verb::Completions(arguments) => completions::completions(&arguments, &mut output),
        Verb::Man(arguments) => man::man(&arguments, &mut output),
    };
    match done {
        Ok(Done::Well) => ExitCode::SUCCESS,
        Ok(Done::WithFailures) => ExitCode::from(1),
        Ok(Done::Interrupted) => ExitCode::from(130),
        Ok(Done::With(status)) => ExitCode::from(status),
        // Whoever reads our output has had enough: that is their right.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            output::complain(&error);
            ExitCode::from(if is_usage(&error) { 2 } else { 1 })
        }
    }
}

/// Whether the user's words are at fault.
fn is_usage(error: &anyhow::Error) -> bool {
    error.is::<SelectorError>() || error.is::<UsageError>()
}

/// Words that cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct UsageError(String);

/// The whole command line, for its completions and its manual pages.
pub fn command() -> clap::Command {
    Arguments::command()
}
