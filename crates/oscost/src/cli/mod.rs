//! The command line: one file per subcommand.
//!
//! It turns arguments into a request, and an outcome into output and an exit
//! status. Data goes to standard output, everything else to standard error. It may not know
//! how anything is done, and opens no file itself.

mod ab;
mod benchmark_names;
mod bill;
mod command_words;
mod compare;
mod completions;
mod display;
mod doctor;
mod documents;
mod exit;
mod explain;
mod exports;
mod fleet;
mod gate;
mod history;
mod kernels;
mod list;
mod lock_arguments;
mod machine;
mod man;
mod node_reports;
mod output;
mod ph;
mod predict;
mod refusals;
mod report;
mod run;
mod run_nodes;
mod run_text;
mod runs;
mod schema;
mod study;
mod study_across;
mod study_book;
mod suggestions;
mod table;
mod table_choice;
mod terminal;
mod treat;
mod values;
mod workload;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};
use oscost_model::untrusted_text::escape_controls;

use crate::app::fleet::data_set::on_malformed_file;
use crate::app::{
    is_interrupted, outlive_file_size_limit, program_folder_note, redirection_note,
    wait_for_children,
};
use display::DisplayArguments;
use exit::ExitStatus;
use output::Output;

pub use output::GENERAL_HINT;

/// Measure what operating system operations cost, and what a change adds.
#[derive(Debug, Parser)]
#[command(name = "oscost", version, max_term_width = 80, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
    #[command(flatten)]
    display: DisplayArguments,
}

const EXAMPLES: &str = "\
Examples:
  oscost run                       the price list: 71 benchmarks, few points
  oscost run getppid               one benchmark at its default points
  oscost explain getppid           what is timed, what is not, and why
  oscost explain NOT_CONVERGED     any word that oscost prints
  oscost runs show last            the table of the last run
  oscost ab --new seccomp=docker   what a sandbox costs, call by call
  oscost bill -- find /usr         what the system charges a command, by item
  oscost compare last~1 last       what differs between the last two runs
  oscost report last -o run.html   the last run as a page
  oscost table last ./other.json   machines side by side
  oscost fleet run --help          many machines, and those that stand out
  oscost history                   which figures changed over all runs
  oscost doctor                    what makes figures noisy here, and fixes
  oscost machine                   what this machine is made of";

#[derive(Debug, Subcommand)]
enum Verb {
    /// Measure the price list, or what the selectors name.
    Run(run::Arguments),
    /// Measure targets side by side: what does a change cost?
    Ab(ab::Arguments),
    /// Itemise what the system charges a command: calls times prices.
    Bill(bill::Arguments),
    /// Compare two runs, or several on each side.
    Compare(compare::Arguments),
    /// Put machines side by side, by their runs.
    Table(table::Arguments),
    /// Measure many machines, and name those that differ.
    Fleet(fleet::Arguments),
    /// Show the figures of successive runs, and what changed.
    History(history::Arguments),
    /// List families and benchmarks.
    List(list::Arguments),
    /// Explain a benchmark, or any word that oscost prints.
    Explain(explain::Arguments),
    /// List, show, delete, export, import and prune runs and bills.
    Runs(runs::Arguments),
    /// Write a run or a bill as a page, CSV, JSON, ..., or show it.
    Report(report::Arguments),
    /// Describe the machine: processor, memory, disks, kernel, settings.
    Machine(machine::Arguments),
    /// Find what makes figures noisy here, and how to fix it.
    Doctor(doctor::Arguments),
    /// List whole workloads, and prepare what they work on.
    Workload(workload::Arguments),
    /// List the kernels that `vm:` can boot, fetch and delete them.
    Kernels(kernels::Arguments),
    /// List published studies, show one, and check their claims.
    Study(study::Arguments),
    /// Run any command under treatments, or list them.
    Treat(treat::Arguments),
    /// Predict what a case will cost, and check what held.
    Predict(predict::Arguments),
    /// Learn the call sequences of executables, and watch for anomalies.
    Ph(ph::Arguments),
    /// Print the JSON Schema of a run's or a bill's record.
    Schema(schema::Arguments),
    /// Print a completion script for a shell.
    Completions(completions::Arguments),
    /// Print the manual page of oscost or of one of its subcommands.
    Man(man::Arguments),
}

impl Verb {
    /// Whether it measures, or prepares what is measured; others read what was measured.
    fn measures(&self) -> bool {
        match self {
            Verb::Run(_)
            | Verb::Ab(_)
            | Verb::Machine(_)
            | Verb::Doctor(_)
            | Verb::Workload(_)
            | Verb::Kernels(_)
            | Verb::Treat(_)
            | Verb::Ph(_) => true,
            Verb::Bill(arguments) => arguments.measures(),
            Verb::Fleet(arguments) => arguments.measures(),
            Verb::Compare(_)
            | Verb::Table(_)
            | Verb::History(_)
            | Verb::List(_)
            | Verb::Explain(_)
            | Verb::Runs(_)
            | Verb::Report(_)
            | Verb::Study(_)
            | Verb::Predict(_)
            | Verb::Schema(_)
            | Verb::Completions(_)
            | Verb::Man(_) => false,
        }
    }

    /// Whether it may read or write the user's store or cache.
    fn uses_folders(&self) -> bool {
        !matches!(self, Verb::Schema(_) | Verb::Completions(_) | Verb::Man(_))
    }
}

/// Reads the command line and does what it says.
pub fn main() -> ExitCode {
    outlive_file_size_limit();
    wait_for_children();
    let words = with_gate_values(std::env::args_os());
    display::choose_colours(&words);
    let arguments = match Arguments::try_parse_from(words) {
        Ok(arguments) => arguments,
        Err(error) => return refuse(&refusals::amend(error, &command())),
    };
    let measures = arguments.verb.measures();
    let of_folders = if arguments.verb.uses_folders() { redirection_note() } else { None };
    let of_programs = match arguments.verb {
        Verb::Workload(_) => program_folder_note(),
        _ => None,
    };
    for note in of_folders.into_iter().chain(of_programs) {
        output::report_line(&format!("note: {note}"));
    }
    on_malformed_file(move |error| {
        output::report_error(error);
        exit::of_error(error, measures).number()
    });
    match dispatch(arguments.verb, &mut Output::stdout(arguments.display)) {
        Ok(status) => status.into(),
        Err(error) if is_interrupted(&error) => ExitStatus::Interrupted.into(),
        Err(error) => fail(&error, measures),
    }
}

/// Reports an error; a reader may close its pipe whenever it has enough: this ends as by SIGPIPE.
fn fail(error: &anyhow::Error, measures: bool) -> ExitCode {
    if output::is_broken_pipe(error) {
        return ExitStatus::ClosedOutput.into();
    }
    output::report_error(error);
    exit::of_error(error, measures).into()
}

/// Ends as clap does on invalid arguments, with 2 and a hint; or shows a help that was asked for.
/// Its message quotes arguments as they are, so one that would control the terminal is written out,
/// and the message is not in colours.
fn refuse(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        return match output::show_help(error) {
            Ok(()) => ExitStatus::Success.into(),
            Err(error) => fail(&error, false),
        };
    }
    let text = error.render().to_string();
    if escape_controls(&text) == text {
        // Where standard error is closed or full, the message is lost, and the status stands.
        let _ = error.print();
    } else {
        output::report_line(text.trim_end());
    }
    ExitStatus::Of(error.exit_code() as u8).into()
}

fn dispatch(verb: Verb, output: &mut Output) -> anyhow::Result<ExitStatus> {
    match verb {
        Verb::Run(arguments) => run::run(arguments, output),
        Verb::Ab(arguments) => ab::ab(arguments, output),
        Verb::Bill(arguments) => bill::bill(arguments, output),
        Verb::Compare(arguments) => compare::compare(arguments, output),
        Verb::Table(arguments) => table::table(arguments, output),
        Verb::Fleet(arguments) => fleet::fleet(arguments, output),
        Verb::History(arguments) => history::history(arguments, output),
        Verb::List(arguments) => list::list(&arguments, output),
        Verb::Explain(arguments) => explain::explain(arguments, command(), output),
        Verb::Runs(arguments) => runs::runs(arguments, output),
        Verb::Report(arguments) => report::report(&arguments, output),
        Verb::Machine(arguments) => machine::machine(&arguments, output),
        Verb::Doctor(arguments) => doctor::doctor(arguments, output),
        Verb::Workload(arguments) => workload::workload(&arguments, output),
        Verb::Kernels(arguments) => kernels::kernels(&arguments, output),
        Verb::Study(arguments) => study::study(&arguments, output),
        Verb::Treat(arguments) => treat::treat(arguments, output),
        Verb::Predict(arguments) => predict::predict(arguments, output),
        Verb::Ph(arguments) => ph::ph(arguments, output),
        Verb::Schema(arguments) => schema::schema(&arguments, output),
        Verb::Completions(arguments) => completions::completions(&arguments, command(), output),
        Verb::Man(arguments) => man::man(&arguments, command(), output),
    }
}

/// The whole command line, for its completions, manual pages and reference.
pub fn command() -> clap::Command {
    Arguments::command()
}

/// Parses a command line as [`main`] does, and does nothing.
pub fn check(arguments: impl Iterator<Item = OsString>) -> Result<(), clap::Error> {
    Arguments::try_parse_from(with_gate_values(arguments)).map(drop)
}

/// A gate with its default threshold, which depends on what it judges.
const BARE_GATE: &str = "--gate=default";

/// Gives a bare `--gate` its default threshold where the next argument is not a threshold: the
/// value of the option is optional, and clap would take a selector for it.
fn with_gate_values(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.peekable();
    let mut completed = Vec::new();
    while let Some(argument) = arguments.next() {
        if argument == "--" {
            completed.push(argument);
            break;
        }
        let is_threshold =
            |next: &OsString| next.to_str().is_some_and(|text| values::threshold(text).is_ok());
        let is_bare = argument == "--gate" && !arguments.peek().is_some_and(is_threshold);
        completed.push(if is_bare { BARE_GATE.into() } else { argument });
    }
    completed.extend(arguments);
    completed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_bare_gate_does_not_take_a_selector_as_its_threshold() {
        let completed = |text: &str| {
            let words = with_gate_values(text.split(' ').map(OsString::from));
            words.iter().map(|it| it.to_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(completed("oscost ab --gate syscall"), "oscost ab --gate=default syscall");
        assert_eq!(completed("oscost compare a b --gate"), "oscost compare a b --gate=default");
        for unchanged in
            ["oscost compare a b --gate 5", "oscost ab --gate 10insn x", "oscost ab -- x --gate y"]
        {
            assert_eq!(completed(unchanged), unchanged);
        }
    }
}
