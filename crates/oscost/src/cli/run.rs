//! `oscost run`

use super::exit::ExitStatus;
use super::exports::{Exports, RunDocument, Subject, Table};
use super::lock_arguments::LockArguments;
use super::output::Output;
use super::run_nodes::{NodeRunsReport, check_options, run_nodes};
use super::run_text::{self, RunText};
use super::terminal::Terminal;
use super::values::{
    PlotArguments, ProgramArguments, ScreenArguments, effort, event_counting, figure_unit, label,
    positive,
};
use crate::app::run::{Request, run as measure};
use crate::app::{CompletedRun, Retention, node_targets};
use crate::report::run::{CountedEvents, FigureUnit, Plots};

/// What to measure, and how.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
SELECTOR is a family (syscall), the id of a benchmark (syscall/getppid) or its
last part if that is unique, at least in the price list (getppid), a case
(pipe/round-trip:size=64k) or a glob ('*/round-trip', '{pipe,socket}/*').
axis=a|b or axis={a,b} selects two points, axis=* all of them; axes that are
not named have their default points. The price list has few points of each of
its benchmarks: `oscost explain` marks default points and names those.

Examples:
  oscost run                                   the price list
  oscost run syscall                           a family
  oscost run getppid                           one benchmark
  oscost run syscall/getppid:via=raw           one case
  oscost run 'procedure/call:args=*'           every point of an axis
  oscost run --quick                           six repetitions of everything
  oscost run syscall --precision 0.5           narrower intervals
  oscost run pipe --refine                     where exactly curves bend
  oscost run -o run.html -o run.csv            a page, and a table
  oscost run --json - | jq '.results[].case'   the record, for programs
  oscost run --in cycles syscall               cycles, where they can be counted
  oscost run --treat seccomp=docker syscall    the costs under a filter
  oscost run --at ssh:joe@db1                  the price list of another machine
  oscost run --at vm:6.12 syscall              instructions of another kernel
  oscost run --at slurm:partition=debug        a node that Slurm allocates
  oscost run --at 'slurm:nodes=n[1-4]' pipe    four nodes, side by side
  oscost run workload/find                     a whole program
  oscost run -- gzip -kf9 FILE                 a command of yours
  oscost run --workload ./mine.toml            one that needs preparation
  oscost run socket --peer ssh:db1             from here to there and back
  oscost run socket --at ssh:db1 --peer local  the other way round
  oscost run --study cse221-2014               a published study, measured here")]
pub(super) struct Arguments {
    /// A family, a benchmark, a case or a glob [default: the price list].
    #[arg(value_name = "SELECTOR", index = 1)]
    selectors: Vec<String>,
    #[command(flatten)]
    programs: ProgramArguments,
    /// Measure a published study again: its cases, by oscost's method and by the study's.
    #[arg(
        long,
        value_name = "STUDY",
        conflicts_with_all = ["selectors", "command", "workload", "refine"]
    )]
    study: Option<String>,
    /// Six repetitions of each row, however wide the intervals are.
    #[arg(long, conflicts_with_all = ["thorough", "precision"])]
    quick: bool,
    /// For figures to publish: a first phase fixes the number of repetitions, then all are measured
    /// afresh.
    #[arg(long)]
    thorough: bool,
    /// Then measure eight more sizes around each break of a curve; a thorough run does this, too.
    #[arg(long, conflicts_with = "quick")]
    refine: bool,
    /// Stop after this many seconds; rows that are not precise enough by then are marked.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive)]
    budget: Option<f64>,
    /// Half-width of the intervals to aim at, in per cent of the median.
    #[arg(long, value_name = "PCT", allow_negative_numbers = true, value_parser = positive)]
    precision: Option<f64>,
    /// Treatments of the measured processes: see `oscost treat list`.
    #[arg(long, value_name = "TREATMENTS")]
    treat: Option<String>,
    /// Where to measure: a host, with treatments before it: `seccomp=docker@ssh:db1`.
    #[arg(long, value_name = "TARGET", default_value = "local")]
    at: String,
    /// Count instructions, cycles and misses in every round, whatever time it takes, and of ops of
    /// microseconds and more also what the kernel leaves to later; the kernel's own events where the
    /// processor's counters are not visible [default: in a few rounds, where they are].
    #[arg(long)]
    counters: bool,
    /// Count no events, but time alone.
    #[arg(long, conflicts_with = "counters")]
    no_counters: bool,
    /// Show figures in this unit: `ns` (each row's own), `cycles` or `insn`, as counted by the
    /// processor.
    #[arg(long = "in", value_name = "UNIT", default_value = "ns", value_parser = figure_unit)]
    figure_unit: FigureUnit,
    /// CPU to measure on [default: the least disturbed].
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// Host of the other end of cases with two ends: another machine.
    #[arg(long, value_name = "HOST")]
    peer: Option<String>,
    /// CPU of the other end, where it is to have another one (`peer_cpu=other`).
    #[arg(long, value_name = "N")]
    peer_cpu: Option<u32>,
    /// A label, kept with the run.
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// Seed of all randomness of the run [default: a fresh one].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Include every raw sample in the JSON record.
    #[arg(long)]
    samples: bool,
    #[command(flatten)]
    exports: Exports,
    #[command(flatten)]
    plots: PlotArguments,
    /// Do not keep the run.
    #[arg(long)]
    no_store: bool,
    /// Show notes and errors only: no progress, and not where the run is kept.
    #[arg(short, long)]
    quiet: bool,
    #[command(flatten)]
    screen: ScreenArguments,
    #[command(flatten)]
    lock: LockArguments,
}

pub(super) fn run(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let (exports, samples, quiet) = (arguments.exports, arguments.samples, arguments.quiet);
    exports.check()?;
    let plots = Plots::from(arguments.plots);
    let (screen, verbose) = (arguments.screen.screen_of_run(), arguments.screen.is_verbose());
    let counted = CountedEvents { unit: arguments.figure_unit, all: arguments.counters };
    let request = Request {
        selectors: arguments.selectors,
        programs: arguments.programs.into(),
        study: arguments.study,
        effort: effort(arguments.quick, arguments.thorough),
        precision_pct: arguments.precision,
        refine: arguments.refine,
        budget_s: arguments.budget,
        treatments: arguments.treat,
        at: arguments.at,
        event_counting: event_counting(arguments.counters, arguments.no_counters),
        cpu: arguments.cpu,
        numa_turn: None,
        peer: arguments.peer,
        peer_cpu: arguments.peer_cpu,
        label: arguments.label,
        seed: arguments.seed,
        retention: Retention {
            keep: !arguments.no_store,
            raw_samples: samples || exports.needs_samples(),
        },
        on_busy: arguments.lock.policy(),
    };
    let terminal = Terminal::new(output).quiet_if(quiet).verbose_if(verbose);
    if let Some(nodes) = node_targets(&request.at)? {
        let of_one_run = [("--samples", samples), exports.hyperfine_option()];
        check_options(arguments.plots.options().into_iter().chain(of_one_run))?;
        let screen = arguments.screen.screen_of_machines();
        let report = NodeRunsReport { exports: &exports, unit: counted.unit, screen, quiet };
        return run_nodes(&request, nodes, &report, &terminal, output);
    }
    let CompletedRun { record, study, before, kept_as, ended } = measure(&request, &terminal)?;
    let (study, before) = (study.as_ref(), before.as_ref());
    let document = RunDocument { record: &record, samples, study, before, table: Table::Rows };
    let text = || run_text::single(&record, RunText { study, before, screen }, plots, counted);
    let shown = exports.write_with_text(&Subject::Run(document), text, output);
    if !quiet {
        run_text::report_id(kept_as.as_deref());
    }
    shown?;
    Ok(ended?.into())
}
