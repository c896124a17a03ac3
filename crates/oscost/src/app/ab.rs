//! `oscost ab`: measures targets side by side and compares them.

use std::time::Duration;

use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::Extent;
use oscost_model::journal::Design;
use oscost_model::program::FAMILY;
use oscost_model::protocol::Hello;
use oscost_model::record::{Comparison, Machine, Record, Settings};
use oscost_model::target::{Host, Target};
use oscost_stats::interval::Nominal;

use super::error::UsageError;
use super::measurement::counting::{CountRequest, CountedTarget, count};
use super::measurement::predictions::predictions_for;
use super::measurement::retention::{CompletedRun, Retention, observe};
use super::measurement::run_header::{fresh_seed, run_header};
use super::observer::Observer;
use super::results::earlier_study_runs::MeasuredStudy;
use super::results::gate::{self, Gate, GateMetric, GateRule};
use super::selection::cases::{Selection, select};
use super::selection::named_files::find_study;
use super::selection::programs::{CommandTrials, Effort, ProgramRequest, Programs, trial_budget};
use super::selection::study_rows::repeat_as_study;
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::numa::cpu_of_turn;
use super::targets::prepare::{PreparedTarget, check, prepare};
use super::targets::requested_cpu::check_cpu;
use super::targets::resolve::{resolve, resolve_distinct};
use super::targets::vm::{GivenOption, counted_machine, refuse_options};
use crate::app::interrupt::listen;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::estimate::comparison::verdict::min_pairs_for_discovery;
use crate::hosts::WorkerBinary;
use crate::plan::{ComparisonRows, ComparisonSet};
use crate::run::{self, ComparisonPlan, EventCounting, PairCount, Profile, RoundLimit};
use crate::studies::Study;
use crate::treatments::time_alone_like_cooled;
use crate::{advice, plan};

/// How many targets one command compares with a base.
const MAX_NEW_TARGETS: usize = 12;

/// After the minimum number of pairs, rounds go on for this long.
const ROUNDS_S: f64 = 75.0;
const THOROUGH_S: f64 = 600.0;
/// Below this a minute is better spent on one row alone.
const MIN_PAIRS: u32 = 12;
/// Two consecutive workers differ more than two arms of one worker.
const MIN_PAIRS_OF_WORKERS: u32 = 20;
/// Pairs that may be lost.
const SPARE_PAIRS: u32 = 2;
/// More pairs add little: intervals narrow with their root.
const MAX_PAIRS: u32 = 40;
/// The same for figures that are published.
const MAX_PAIRS_THOROUGH: u32 = 120;
/// The minimum number of pairs that allows a verdict.
const QUICK_PAIRS: u32 = 8;

/// Which targets to compare, and with which cases.
#[derive(Clone, Debug)]
pub struct Request {
    /// The target to compare with; without it, the study's, or `local`.
    pub base: Option<String>,
    /// The targets to compare; without any, the study's.
    pub new: Vec<String>,
    /// Families, ids, cases or globs; without any, the price list.
    pub selectors: Vec<String>,
    /// Programs to measure.
    pub programs: ProgramRequest,
    /// The study to measure again.
    pub study: Option<String>,
    /// How many pairs are enough.
    pub effort: Effort,
    /// The time after which the run stops, in seconds.
    pub budget_s: Option<f64>,
    /// In which rounds events are counted.
    pub event_counting: EventCounting,
    /// The CPU of the workers; without it, the least disturbed.
    pub cpu: Option<u32>,
    /// Whose turn it is among the NUMA nodes of the machine, if they are measured in turn: a number
    /// that goes round. A CPU that is named has precedence.
    pub numa_turn: Option<u32>,
    /// The CPU of the second process of cases with two ends.
    pub peer_cpu: Option<u32>,
    /// The user's own words.
    pub label: Option<String>,
    /// The seed of all randomness; without it, a fresh one.
    pub seed: Option<u64>,
    /// How much slower is too much, if that is to be judged.
    pub gate: Option<GateRule>,
    /// What is kept.
    pub retention: Retention,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

/// A comparison that was measured.
pub struct Outcome {
    /// The run.
    pub measured: CompletedRun,
    /// What the gate found, if there is one.
    pub gate: Option<Gate>,
}

impl Request {
    /// Refuses options without meaning where instructions are counted.
    fn check_counting(&self, study: Option<&Study>) -> Result<(), UsageError> {
        let option = |name, is_given| GivenOption { name, is_given };
        refuse_options(&[
            option("--study", study.is_some_and(|study| !study.has_instructions())),
            option("--budget", self.budget_s.is_some()),
            option("--counters", self.event_counting == EventCounting::InEveryRound),
            option("--cpu", self.cpu.is_some()),
            option("--peer-cpu", self.peer_cpu.is_some()),
            option("--seed", self.seed.is_some()),
        ])
    }

    /// How many pairs each row of these sets gets; a row of a study at least as many as it had
    /// runs.
    fn pairs(&self, sets: &[ComparisonSet], study: Option<&Study>) -> PairCount {
        // A verdict on one row among many needs more pairs than a verdict on one alone.
        let rows = sets.iter().map(|set| set.news.len()).sum();
        let enough = min_pairs_for_discovery(rows) + SPARE_PAIRS;
        let is_quick = self.effort == Effort::Quick;
        let in_workers = sets.iter().any(|set| set.design == Design::Pairs) && !is_quick;
        let enough = if in_workers { enough.max(MIN_PAIRS_OF_WORKERS) } else { enough };
        let runs = study.map_or(0, |study| study.protocol.runs as u32 + SPARE_PAIRS);
        let count = |min: u32, max: u32, seconds: f64, spread: bool| PairCount {
            min: min.max(enough).max(runs),
            max: max.max(runs),
            spread,
            time_budget: Duration::from_secs_f64(seconds),
            // The pairs of a study are as many as it had runs, whatever time they take.
            limit: (is_quick && study.is_none()).then_some(RoundLimit::QUICK),
        };
        match self.effort {
            Effort::Quick => count(QUICK_PAIRS, QUICK_PAIRS, 0.0, false),
            Effort::Thorough => count(MIN_PAIRS, MAX_PAIRS_THOROUGH, THOROUGH_S, true),
            Effort::Default => count(MIN_PAIRS, MAX_PAIRS, ROUNDS_S, true),
        }
    }
}

/// The targets of a comparison.
struct Targets {
    base: Target,
    new: Vec<Target>,
}

impl Targets {
    fn all(&self) -> impl Iterator<Item = &Target> {
        std::iter::once(&self.base).chain(&self.new)
    }
}

/// Measures the targets side by side.
pub fn ab(request: &Request, observer: &dyn Observer) -> anyhow::Result<Outcome> {
    let study = request.study.as_deref().map(find_study).transpose()?;
    let targets = targets(request, study.as_ref())?;
    let counted = counted_targets(&targets)?.filter(|_| !targets.new.is_empty());
    match counted {
        Some(_) => request.check_counting(study.as_ref())?,
        None => targets.new.iter().try_for_each(|new| check_same_host(&targets.base, new))?,
    }
    let worker = WorkerBinary::find()?;
    let selection = select(&worker, &request.selectors, &request.programs, study, Extent::Default)?;
    targets.all().try_for_each(check)?;
    let commands = compared_commands(request, &selection, &targets)?;
    selection.programs.check_commands(&targets.base.host)?;
    let interrupt = listen()?;
    let on_busy = request.on_busy;
    let options = ConnectOptions { interrupt: &interrupt, on_busy, observer };
    let measured = match counted {
        Some(targets) => {
            let counted = CountRequest {
                label: request.label.clone(),
                study: request.study.clone(),
                effort: request.effort,
                targets,
                compared: true,
                retention: request.retention,
            };
            let measured = count(&worker, &selection, counted, options)?;
            CompletedRun { study: selection.study.map(MeasuredStudy::alone), ..measured }
        }
        None => {
            check_cpu(&targets.base.host, request.cpu)?;
            let mut connection = connect(&targets.base.host, &worker, options)?;
            let session = &mut *connection.session;
            let compared = ComparedArms { targets: &targets, commands: commands.as_deref() };
            let planned = plan_run(request, &selection, &compared, session.hello(), observer)?;
            let header = planned.header.clone();
            let (retention, named) = (request.retention, &selection.named);
            let measured = observe(&header, retention, named, observer, |listener| {
                run::run(session, planned, listener)
            })?;
            CompletedRun { study: selection.study.map(MeasuredStudy::alone), ..measured }
        }
    };
    let gate = request.gate.map(|rule| judge(&measured.record, rule));
    Ok(Outcome { measured, gate })
}

/// The targets that the request names, or those of its study.
fn targets(request: &Request, study: Option<&Study>) -> anyhow::Result<Targets> {
    let columns = study.and_then(|study| study.columns.as_ref());
    let of_study = |at: usize| columns.map(|columns| columns[at].target.as_str());
    let base = request.base.as_deref().or(of_study(0)).unwrap_or("local");
    let mut new: Vec<&str> = request.new.iter().map(String::as_str).collect();
    if new.is_empty() {
        new.extend(of_study(1));
    }
    if new.is_empty() && study.is_none() && !request.programs.has_commands() {
        let hint = "`--new TARGET` names a target, `-- COMMAND -- COMMAND` two commands";
        return Err(UsageError::with_hint("nothing to compare with the base", hint).into());
    }
    if let (Some(study), true) = (study, new.is_empty()) {
        let name = request.study.as_deref().unwrap_or_default();
        let what =
            format!("study {} compares nothing: `oscost run --study {name}` measures it", study.id);
        let hint = format!("`--new TARGET` compares its cases there with those at `{base}`");
        return Err(UsageError::with_hint(&what, &hint).into());
    }
    let count = new.len();
    if columns.is_some() && count > 1 {
        let what = format!("{count} new targets: a study with two columns compares one");
        return Err(UsageError::with_hint(&what, "name one by `--new`").into());
    }
    if count > MAX_NEW_TARGETS {
        let what = format!("{count} new targets: at most {MAX_NEW_TARGETS} are compared");
        return Err(UsageError::with_hint(&what, "compare the others in another run").into());
    }
    let new = resolve_distinct(&new)?;
    let mut targets = Targets { base: resolve(base, None)?, new };
    time_alone_like_cooled(std::iter::once(&mut targets.base).chain(&mut targets.new));
    Ok(targets)
}

/// The commands that are compared with each other, as groups of cases, the first of which is the
/// base; `None` if targets are compared.
fn compared_commands(
    request: &Request,
    selection: &Selection,
    targets: &Targets,
) -> Result<Option<Vec<Vec<Case>>>, UsageError> {
    if !request.programs.has_commands() {
        return Ok(None);
    }
    let groups = selection.programs.compared_commands(&selection.cases);
    let is_several = selection.programs.has_several_commands();
    match (targets.new.is_empty(), groups) {
        (false, _) if is_several => Err(UsageError::with_hint(
            "cannot compare several commands and several targets in one run",
            "name one command, or leave out `--new`",
        )),
        (false, _) => Ok(None),
        (true, None) => Err(UsageError::with_hint(
            "nothing to compare the command with",
            "a second one after another `--`, another target (`--new`), or several values \
             (`--param n=1,2`)",
        )),
        (true, Some(_)) if !request.selectors.is_empty() => Err(UsageError::with_hint(
            "cannot compare benchmarks and commands in one run",
            "leave out the selectors",
        )),
        (true, Some(_)) if matches!(targets.base.host, Host::Vm(_)) => Err(UsageError::with_hint(
            "commands run on this machine only: a virtual machine has none",
            "leave out `--base`, or name benchmarks to measure there",
        )),
        (true, Some(_)) if request.programs.workload.is_some() => Err(UsageError::with_hint(
            "cannot compare a workload and commands in one run",
            "leave out `--workload`",
        )),
        (true, Some(groups)) => Programs::check_turns(&groups).map(|()| Some(groups)),
    }
}

/// The machines of these targets, if instructions are counted on every one of them.
fn counted_targets(targets: &Targets) -> Result<Option<Vec<CountedTarget>>, UsageError> {
    let mut counted = Vec::new();
    let mut timed = Vec::new();
    for target in targets.all() {
        match counted_machine(target)? {
            Some(machine) => counted.push(CountedTarget { target: target.clone(), machine }),
            None => timed.push(target),
        }
    }
    match (counted.first(), timed.first()) {
        (None, _) => Ok(None),
        (Some(CountedTarget { target, .. }), Some(other)) => Err(UsageError::with_hint(
            &format!(
                "cannot compare `{target}` with `{other}`: instructions are counted at the first, \
                 and time is measured at the second"
            ),
            "name two kernels (`vm:KERNEL`), or two targets on one machine whose time is measured",
        )),
        (Some(_), None) => Ok(Some(counted)),
    }
}

/// Refuses two machines: everything differs between them, and no interleaving separates the causes.
fn check_same_host(base: &Target, new: &Target) -> Result<(), UsageError> {
    if base.host == new.host {
        return Ok(());
    }
    Err(UsageError::with_hint(
        &format!("cannot measure `{base}` and `{new}` side by side: they are two machines"),
        &format!(
            "`oscost run --at {}` and `oscost run --at {}`, then `oscost compare`",
            base.host, new.host
        ),
    ))
}

fn judge(record: &Record, rule: GateRule) -> Gate {
    // A control is one of times: it says nothing of instructions.
    let is_void = record.comparisons.iter().any(|it| it.flags.iter().any(|flag| flag == "VOID"));
    if is_void && rule.on == GateMetric::Figure {
        return Gate::ControlFailed;
    }
    gate::judge(&record.results, &requested_comparisons(record), rule)
}

/// The comparisons of the rows that the user asked for, on which the verdict of the run rests.
pub fn requested_comparisons(record: &Record) -> Vec<Comparison> {
    let is_requested = |it: &&Comparison| {
        let is_secondary = it.flags.iter().any(|flag| flag == SECONDARY);
        !it.control && !is_secondary && record.results[it.base as usize].is_requested()
    };
    record.comparisons.iter().filter(is_requested).cloned().collect()
}

/// What is compared.
struct ComparedArms<'a> {
    targets: &'a Targets,
    /// Commands at the base, if they are compared with each other.
    commands: Option<&'a [Vec<Case>]>,
}

fn plan_run(
    request: &Request,
    selection: &Selection,
    compared: &ComparedArms<'_>,
    hello: &Hello,
    observer: &dyn Observer,
) -> anyhow::Result<run::Request> {
    let Selection { cases, definitions, programs, study, .. } = selection;
    let ComparedArms { targets, commands } = compared;
    let arch = hello.facts.os.arch.as_deref().and_then(Arch::from_uname);
    let PreparedTarget { side: base, mut notes } = prepare(&targets.base, arch)?;
    let mut new_sides = Vec::new();
    for new in &targets.new {
        let new = prepare(new, arch)?;
        new_sides.push(new.side);
        notes.extend(new.notes);
    }
    notes.dedup();
    notes.iter().for_each(|note| observer.note(note));
    let ComparisonRows { mut rows, treatments, sets } = match commands {
        Some(groups) => plan::program_rows(definitions, groups, &base),
        None => plan::comparison_rows(definitions, cases, &base, &new_sides),
    };
    let comparisons = sets.iter().map(|set| set.news.len()).sum();
    let trials = CommandTrials::compared(request.effort, request.budget_s, comparisons);
    let skipped = programs.fill(&mut rows, &targets.base.host, request.effort, trials);
    if let Some(study) = study.as_ref().filter(|_| request.effort != Effort::Quick) {
        repeat_as_study(study, &mut rows);
    }
    let only_programs = cases
        .iter()
        .all(|case| case.benchmark.split_once('/').is_some_and(|(family, _)| family == FAMILY));
    let compared = study.as_ref().filter(|study| study.columns.is_some());
    let pairs = request.pairs(&sets, compared);
    // Programs are compared by their trials: reference cases are measured for the record only.
    let pairs =
        if only_programs { PairCount { max: pairs.min, spread: false, ..pairs } } else { pairs };
    let settings = Settings {
        seed: request.seed.unwrap_or_else(fresh_seed),
        profile: request.effort.text().to_owned(),
        precision_pct: None,
        nominal: Nominal::FIXED.share(),
        budget_s: request.budget_s,
        study: request.study.clone(),
        predictions: predictions_for(&rows, observer),
    };
    Ok(run::Request {
        header: run_header(request.label.clone(), hello, settings),
        machine: Machine::new("m0", hello.facts.clone(), advice::machine_notes(&hello.facts)),
        tracers: hello.facts.tracers.clone(),
        rows,
        timers: Vec::new(),
        profile: Profile::Quick,
        budget: request.budget_s.map(Duration::from_secs_f64),
        treatments,
        comparison: Some(ComparisonPlan { sets, pairs, measure_lone_bases: compared.is_some() }),
        refine: false,
        trials: trial_budget(request.effort, request.programs.count_calls, request.budget_s),
        skipped,
        event_counting: request.event_counting,
        requested_cpu: request.cpu.or_else(|| cpu_of_turn(&hello.facts, request.numa_turn?)),
        peer_cpu: request.peer_cpu,
    })
}
