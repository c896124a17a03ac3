//! Parsers of option values, and options that several subcommands share.

use oscost_model::parameter::SampledParameter;

use super::display::height;
use crate::app::{
    Effort, EventCounting, GateMetric, GateRule, Parameter, ProgramRequest, Threshold,
    sampled_parameter,
};
use crate::report::run::{CountedEvents, FigureUnit, Plots};
use crate::report::{Screen, WholeTable};

/// The threshold of a gate without a value.
const DEFAULT_THRESHOLD: Threshold = Threshold::PerCent(5.0);

/// The same of a gate on instructions.
const DEFAULT_WORK_THRESHOLD: Threshold = Threshold::PerCent(0.1);

/// When the exit status is 1.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct GateArguments {
    /// Exit with 1 if a case is significantly slower by more than PCT per cent, or by more than N
    /// instructions (`10insn`) [default: 5; with `--on insn` 0.1].
    #[arg(long, value_name = "PCT", num_args = 0..=1, default_missing_value = "default",
          value_parser = gate_threshold)]
    gate: Option<GateThreshold>,
    /// What the gate judges: `figure`, or `insn`, the instructions that the processor counted, of
    /// rows in which they repeat.
    #[arg(long, value_name = "METRIC", default_value = "figure", value_parser = gate_metric,
          requires = "gate")]
    on: GateMetric,
    /// Exit with 3 if a change of the gate's size would have been detected in fewer than PCT per cent
    /// of the rows.
    #[arg(long, value_name = "PCT", default_value = "80", value_parser = gate_coverage,
          requires = "gate")]
    gate_coverage: f64,
}

fn gate_coverage(text: &str) -> Result<f64, String> {
    let share = text.trim_end_matches('%').trim_end().parse::<f64>().ok();
    let share = share.filter(|it| (0.0..=100.0).contains(it));
    share.ok_or_else(|| "a share of the rows is 0 to 100 per cent".to_owned())
}

/// The threshold of a gate.
#[derive(Clone, Copy, Debug)]
enum GateThreshold {
    /// The default of what is judged.
    Default,
    /// A given one.
    Given(Threshold),
}

fn gate_threshold(text: &str) -> Result<GateThreshold, String> {
    match text {
        "default" => Ok(GateThreshold::Default),
        text => threshold(text).map(GateThreshold::Given),
    }
}

impl GateArguments {
    /// The rule of the gate; `None` if there is none.
    pub(super) fn rule(self) -> Option<GateRule> {
        let default = match self.on {
            GateMetric::Figure => DEFAULT_THRESHOLD,
            GateMetric::Work => DEFAULT_WORK_THRESHOLD,
        };
        let threshold = match self.gate? {
            GateThreshold::Default => default,
            GateThreshold::Given(threshold) => threshold,
        };
        Some(GateRule { threshold, on: self.on, min_coverage_pct: self.gate_coverage })
    }

    /// The difference of a row's own figure that is called a regression.
    pub(super) fn threshold(self) -> Threshold {
        let rule = self.rule().filter(|rule| rule.on == GateMetric::Figure);
        rule.map_or(DEFAULT_THRESHOLD, |rule| rule.threshold)
    }
}

fn gate_metric(text: &str) -> Result<GateMetric, String> {
    match text {
        "figure" => Ok(GateMetric::Figure),
        "insn" => Ok(GateMetric::Work),
        _ => Err("it must be figure or insn".to_owned()),
    }
}

/// The unit in which figures are shown.
pub(super) fn figure_unit(text: &str) -> Result<FigureUnit, String> {
    match text {
        "ns" => Ok(FigureUnit::Own),
        "cycles" => Ok(FigureUnit::Cycles),
        "insn" => Ok(FigureUnit::Instructions),
        _ => Err("it must be ns, cycles or insn".to_owned()),
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

/// In which rounds events are counted, by the options `--counters` and `--no-counters`.
pub(super) fn event_counting(in_every_round: bool, never: bool) -> EventCounting {
    match (in_every_round, never) {
        (true, _) => EventCounting::InEveryRound,
        (_, true) => EventCounting::InNoRound,
        _ => EventCounting::default(),
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

/// How much of a report is shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct ScreenArguments {
    /// Show every row [default: of a table that is longer than the terminal the 15 that matter most;
    /// where the output is no terminal, all].
    #[arg(long)]
    all_rows: bool,
    /// Also show flags for information, and how figures were measured.
    #[arg(short, long)]
    verbose: bool,
}

impl ScreenArguments {
    /// What is shown on the terminal at standard output.
    pub(super) fn screen(self) -> Screen {
        let lines = height().filter(|_| !self.all_rows);
        Screen { lines, verbose: self.verbose, ..Screen::default() }
    }

    /// Whether details are shown.
    pub(super) fn is_verbose(self) -> bool {
        self.verbose
    }

    /// The same of a run that was just measured.
    pub(super) fn screen_of_run(self) -> Screen {
        Screen { whole: WholeTable::ByShowingAgain, ..self.screen() }
    }

    /// The same of machines that were just measured, a run each.
    pub(super) fn screen_of_machines(self) -> Screen {
        Screen { whole: WholeTable::ByTabulatingAgain, ..self.screen() }
    }
}

/// Whether curves are drawn.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct PlotArguments {
    /// Draw all curves [default: only if they fit into two pictures].
    #[arg(long)]
    plot: bool,
    /// Draw no curves.
    #[arg(long, conflicts_with = "plot")]
    no_plot: bool,
}

impl PlotArguments {
    /// Each option, and whether it was given.
    pub(super) fn options(self) -> [(&'static str, bool); 2] {
        [("--plot", self.plot), ("--no-plot", self.no_plot)]
    }
}

impl From<PlotArguments> for Plots {
    fn from(arguments: PlotArguments) -> Self {
        match (arguments.plot, arguments.no_plot) {
            (true, _) => Self::All,
            (_, true) => Self::None,
            _ => Self::WhereFew,
        }
    }
}

/// How counted events of a run are shown.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct CountedArguments {
    /// Show figures in this unit: `ns` (each row's own), `cycles` or `insn`, as counted by the
    /// processor.
    #[arg(long = "in", value_name = "UNIT", default_value = "ns", value_parser = figure_unit)]
    figure_unit: FigureUnit,
    /// Show all counted events.
    #[arg(long)]
    counters: bool,
}

impl From<CountedArguments> for CountedEvents {
    fn from(arguments: CountedArguments) -> Self {
        Self { unit: arguments.figure_unit, all: arguments.counters }
    }
}

/// Programs to measure.
#[derive(Debug, clap::Args)]
pub(super) struct ProgramArguments {
    /// A command to measure.
    #[arg(last = true, index = 2, value_name = "COMMAND")]
    command: Vec<String>,
    /// Measure COMMAND with each of these values in place of `{NAME}`; may be repeated.
    #[arg(long, value_name = "NAME=VALUE,...")]
    param: Vec<Parameter>,
    /// Measure COMMAND with a whole number from LOW to HIGH in place of `{NAME}`, a random one in
    /// each round, the same for all commands; may be repeated.
    #[arg(long, value_name = "NAME=LOW..HIGH", value_parser = sampled_parameter)]
    param_sample: Vec<SampledParameter>,
    /// Run this before each trial of COMMAND, untimed; split into words, without a shell.
    #[arg(long, value_name = "COMMAND")]
    prepare: Vec<String>,
    /// Run this after each trial of COMMAND, untimed, also after a failed one.
    #[arg(long, value_name = "COMMAND")]
    cleanup: Vec<String>,
    /// The standard input of COMMAND; `-` for that of oscost itself, which is read once, up to 64
    /// MiB [default: empty].
    #[arg(long, value_name = "FILE")]
    stdin: Option<String>,
    /// Measure COMMAND whatever its exit status is.
    #[arg(long)]
    ignore_failure: bool,
    /// Count the system calls of programs by name, in an extra, untimed run.
    #[arg(long)]
    calls: bool,
    /// A program described by a file: its setup and cleanup, and what is read from its output.
    #[arg(long, value_name = "FILE")]
    workload: Option<String>,
}

impl From<ProgramArguments> for ProgramRequest {
    fn from(arguments: ProgramArguments) -> Self {
        let ProgramArguments { command, .. } = arguments;
        Self {
            commands: (!command.is_empty()).then_some(command).into_iter().collect(),
            command_texts: Vec::new(),
            parameters: arguments.param,
            sampled: arguments.param_sample,
            prepare: arguments.prepare,
            cleanup: arguments.cleanup,
            input: arguments.stdin,
            ignore_failure: arguments.ignore_failure,
            count_calls: arguments.calls,
            workload: arguments.workload,
            workload_seconds: None,
        }
    }
}
