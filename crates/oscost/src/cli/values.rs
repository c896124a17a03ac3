//! Parsers of option values, and options that several subcommands share.

use crate::app::{Effort, ProgramRequest, Threshold};
use crate::report::run::Plots;

/// The threshold of a gate without a value.
pub(super) const DEFAULT_THRESHOLD: Threshold = Threshold::PerCent(5.0);

/// Whether curves are drawn, by the options `--plot` and `--no-plot`.
pub(super) fn plots(all: bool, none: bool) -> Plots {
    match (all, none) {
        (true, _) => Plots::All,
        (_, true) => Plots::None,
        _ => Plots::WhereFew,
    }
}

/// The effort, by the options `--quick` and `--thorough`.
pub(super) fn effort(quick: bool, thorough: bool) -> Effort {
    match (quick, thorough) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => Effort::Default,
    }
}

/// A number above zero.
pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number > 0.0 && number.is_finite() => Ok(number),
        _ => Err("it must be a number above 0".to_owned()),
    }
}

/// A label: one short line.
pub(super) fn label(text: &str) -> Result<String, String> {
    const MAX_BYTES: usize = 1_024;
    if text.len() > MAX_BYTES || text.chars().any(char::is_control) {
        return Err(format!("it must be one line of at most {MAX_BYTES} bytes"));
    }
    Ok(text.to_owned())
}

/// The threshold of a gate.
pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    Threshold::parse(text).ok_or_else(|| {
        "it must be per cent from 0 to 10000, or instructions such as 10insn".to_owned()
    })
}

/// Programs to measure.
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArguments {
    /// A command to measure.
    #[arg(last = true, index = 2, value_name = "COMMAND")]
    command: Vec<String>,
    /// Run this before each trial of COMMAND, untimed; split into words, without a shell.
    #[arg(long, value_name = "COMMAND", requires = "command")]
    prepare: Vec<String>,
    /// Count the system calls of programs by name, in an extra, untimed run.
    #[arg(long)]
    calls: bool,
    /// A program described by a file: its setup and cleanup, and what is read from its output.
    #[arg(long, value_name = "FILE")]
    workload: Option<String>,
}

impl From<ProgramArguments> for ProgramRequest {
    fn from(arguments: ProgramArguments) -> Self {
        let ProgramArguments { command, prepare, calls, workload } = arguments;
        Self { command, prepare, count_calls: calls, workload }
    }
}
