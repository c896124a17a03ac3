//! `oscost completions`

use clap::builder::PossibleValuesParser;

use super::exit::ExitStatus;
use super::output::Output;
use crate::app::list::definitions;
use crate::report;

/// For which shell.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  oscost completions bash > ~/.local/share/bash-completion/completions/oscost
  oscost completions zsh > ~/.zfunc/_oscost")]
pub(super) struct Arguments {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints the completions of `command`.
pub(super) fn completions(
    arguments: &Arguments,
    command: clap::Command,
    output: &mut Output,
) -> anyhow::Result<ExitStatus> {
    // Without a worker, verbs and options are completed, but not the names of benchmarks.
    let names = definitions().map(|catalog| report::catalog::names(&catalog)).unwrap_or_default();
    let with_names = |verb: clap::Command, argument: &'static str| {
        let names = names.clone();
        match names.is_empty() {
            true => verb,
            false => verb.mut_arg(argument, |it| it.value_parser(PossibleValuesParser::new(names))),
        }
    };
    let mut command = command
        .mut_subcommand("run", |verb| with_names(verb, "selectors"))
        .mut_subcommand("list", |verb| with_names(verb, "selectors"))
        .mut_subcommand("explain", |verb| with_names(verb, "name"));
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "oscost", &mut script);
    output.write(&script)?;
    Ok(ExitStatus::Success)
}
