//! `oscost ab`

use super::exit::ExitStatus;
use super::exports::{Exports, RunDocument, Subject, Table};
use super::gate::report_gate;
use super::lock_arguments::LockArguments;
use super::output::Output;
use super::run_text;
use super::terminal::Terminal;
use super::values::{
    GateArguments, ProgramArguments, ScreenArguments, effort, event_counting, label, positive,
};
use crate::app::ab::{Outcome, Request, ab as measure, requested_comparisons};
use crate::app::{CompletedRun, Completion, ProgramRequest, Retention};

/// Which targets to compare, and with which cases.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
TARGET is treatments (`oscost treat list`) joined by `+`, a host, or treatments
at a host: `seccomp=docker@ssh:db1`; `local` is this machine without any.
The targets are measured side by side, interleaved, pair after pair over a
minute: drift of the machine affects both alike. A control, in which nothing
differs, is measured with them; if it shows an effect, no verdict is given.

A STUDY is a set of published measurements that compares two targets: ph-2000,
or a file like studies/ph-2000.toml. Its tables are shown in its own form,
published and measured side by side.

Examples:
  oscost ab --base local --new seccomp=docker syscall/getppid process/fork-exit
  oscost ab --base local --new ptrace --new ebpf=empty syscall
  oscost ab --base local --new local 'syscall/*'      no difference: no alarm
  oscost ab --base seccomp=allow --new seccomp=./profile.json syscall
  oscost ab --base local --new cmd='nice -n 5' --gate 5 syscall
  oscost ab --base local --new seccomp=docker --gate --on insn syscall
  sudo oscost ab --base local --new ph workload/find  what a whole program pays
  oscost ab -- ./old -n 9 -- ./new -n 9               two commands, as pairs
  oscost ab --param size=10,20,40 -- ./sort {size}    one, by a parameter
  oscost ab --param-sample key=1..99 -- ./a {key} -- ./b {key}
                                                      a random key each round
  oscost ab --base local --new nice=5 -- make -C x    one, at two targets
  oscost ab --base ssh:db1 --new sud@ssh:db1 syscall  both on another machine
  oscost ab --base vm:6.1 --new vm:6.12 syscall       two kernels, exactly
  sudo oscost ab --study ph-2000 --quick              what pH cost, then and now
  oscost ab --study ph-2000 --new ptrace              another monitor instead")]
pub(super) struct Arguments {
    /// Target to compare with [default: the study's, or `local`].
    #[arg(long, value_name = "TARGET")]
    base: Option<String>,
    /// Target to compare; may be repeated.
    #[arg(long, value_name = "TARGET")]
    new: Vec<String>,
    /// The command to compare with, as text that is split into words, without a shell.
    #[arg(long, value_name = "COMMAND", requires = "new_cmd", conflicts_with_all = ["command", "new"])]
    base_cmd: Option<String>,
    /// A command to compare with it; may be repeated.
    #[arg(long, value_name = "COMMAND", requires = "base_cmd")]
    new_cmd: Vec<String>,
    /// A family, a benchmark, a case or a glob [default: the price list].
    #[arg(value_name = "SELECTOR", index = 1)]
    selectors: Vec<String>,
    #[command(flatten)]
    programs: ProgramArguments,
    /// Measure a published study again, on its targets unless `--base` and `--new` name others.
    #[arg(long, value_name = "STUDY", conflicts_with_all = ["selectors", "command", "workload"])]
    study: Option<String>,
    /// The fewest pairs that allow a verdict, as fast as possible: for large effects.
    #[arg(long, conflicts_with = "thorough")]
    quick: bool,
    /// Up to 120 pairs per row, spread over ten minutes; commands in turns for two minutes.
    #[arg(long)]
    thorough: bool,
    /// Stop after this many seconds; rows with too few pairs by then are marked.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true, value_parser = positive)]
    budget: Option<f64>,
    /// Count instructions, cycles and misses in every round, whatever time it takes; the kernel's own
    /// events where the processor's counters are not visible [default: in a few rounds, where they
    /// are].
    #[arg(long)]
    counters: bool,
    /// CPU to measure on [default: the least disturbed].
    #[arg(long, value_name = "N")]
    cpu: Option<u32>,
    /// CPU of the second process of a case, where it is to have another one (`peer_cpu=other`).
    #[arg(long, value_name = "N")]
    peer_cpu: Option<u32>,
    /// A label, kept with the run.
    #[arg(long, value_name = "TEXT", value_parser = label)]
    label: Option<String>,
    /// Seed of all randomness of the run [default: a fresh one].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    gate: GateArguments,
    /// Include every raw sample in the JSON record.
    #[arg(long)]
    samples: bool,
    #[command(flatten)]
    exports: Exports,
    /// What a line of CSV and Parquet is.
    #[arg(long, value_name = "TABLE", default_value = "comparisons")]
    table: Table,
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

/// The commands after `--`, which further ones separate, or those of options.
fn commands(
    arguments: ProgramArguments,
    base: Option<String>,
    new: Vec<String>,
    at_targets: bool,
) -> ProgramRequest {
    let request = ProgramRequest::from(arguments);
    // At several targets there is one command, and a `--` is its own.
    let is_split = |word: &String| !at_targets && word == "--";
    let split = request.commands.iter().flat_map(|words| words.split(is_split));
    ProgramRequest {
        commands: split.map(<[String]>::to_vec).collect(),
        command_texts: base.into_iter().chain(new).collect(),
        ..request
    }
}

pub(super) fn ab(arguments: Arguments, output: &mut Output) -> anyhow::Result<ExitStatus> {
    let Arguments { exports, samples, table, quiet, gate: gate_arguments, .. } = arguments;
    exports.check()?;
    let at_targets = !arguments.new.is_empty();
    let (screen, verbose) = (arguments.screen.screen_of_run(), arguments.screen.is_verbose());
    let request = Request {
        base: arguments.base,
        new: arguments.new,
        selectors: arguments.selectors,
        programs: commands(arguments.programs, arguments.base_cmd, arguments.new_cmd, at_targets),
        study: arguments.study,
        effort: effort(arguments.quick, arguments.thorough),
        budget_s: arguments.budget,
        event_counting: event_counting(arguments.counters, false),
        cpu: arguments.cpu,
        numa_turn: None,
        peer_cpu: arguments.peer_cpu,
        label: arguments.label,
        seed: arguments.seed,
        gate: gate_arguments.rule(),
        retention: Retention {
            keep: !arguments.no_store,
            raw_samples: samples || exports.needs_samples(),
        },
        on_busy: arguments.lock.policy(),
    };
    let Outcome { measured, gate } =
        measure(&request, &Terminal::new(output).quiet_if(quiet).verbose_if(verbose))?;
    let CompletedRun { record, study, kept_as, ended, .. } = measured;
    let study = study.as_ref();
    let document = RunDocument { record: &record, samples, study, before: None, table };
    let text = || run_text::comparison(&record, study, screen);
    let shown = exports.write_with_text(&Subject::Run(document), text, output);
    if !quiet {
        run_text::report_id(kept_as.as_deref());
    }
    shown?;
    let ended = ended?;
    let judged = match (gate, gate_arguments.rule()) {
        (Some(gate), Some(rule)) if ended != Completion::Interrupted => {
            report_gate(&gate, rule, &record.results, &requested_comparisons(&record))
        }
        _ => ExitStatus::Success,
    };
    Ok(if ended == Completion::Complete { judged } else { ended.into() })
}
