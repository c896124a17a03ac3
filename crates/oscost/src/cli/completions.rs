//! `oscost completions`

use clap::builder::PossibleValuesParser;

use super::output::Output;
use super::programs::Programs;
use super::{Done, command};
use crate::hosts::WorkerBinary;
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

pub(super) fn completions(arguments: &Arguments, output: &mut Output) -> anyhow::Result<Done> {
    // Without a worker the verbs and options are completed, the names of benchmarks are not.
    let programs = Programs::known();
    let names = WorkerBinary::find()
        .map(|worker| report::catalog::names(&programs.beside(&worker.catalog)));
    let names = names.unwrap_or_default();
    let named = |verb: clap::Command, argument: &'static str| {
        let names = names.clone();
        match names.is_empty() {
            true => verb,
            false => verb.mut_arg(argument, |it| it.value_parser(PossibleValuesParser::new(names))),
        }
    };
    let mut command = command()
        .mut_subcommand("run", |verb| named(verb, "selectors"))
        .mut_subcommand("list", |verb| named(verb, "selectors"))
        .mut_subcommand("explain", |verb| named(verb, "benchmark"));
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command, "oscost", &mut script);
    output.write(&script)?;
    Ok(Done::Well)
}
