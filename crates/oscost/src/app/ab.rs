//! `oscost ab`: measures targets side by side and compares them.

mod request;
mod sides;

use std::time::Duration;

use oscost_model::call_names::Arch;
use oscost_model::case::Case;
use oscost_model::definition::Extent;
use oscost_model::program::FAMILY;
use oscost_model::protocol::Hello;
use oscost_model::record::{Comparison, Machine, Record, Settings};
use oscost_stats::interval::Nominal;

pub use self::request::Request;
use self::sides::{Targets, check_same_host, compared_commands, counted_targets, targets};
use super::measurement::counting::{CountRequest, count};
use super::measurement::predictions::predictions_for;
use super::measurement::retention::{CompletedRun, observe};
use super::measurement::run_header::{fresh_seed, run_header};
use super::observer::Observer;
use super::results::earlier_study_runs::MeasuredStudy;
use super::results::gate::{self, Gate, GateMetric, GateRule};
use super::selection::cases::{Selection, select};
use super::selection::effort::{CommandTrials, Effort, trial_budget};
use super::selection::named_files::find_study;
use super::selection::study_rows::repeat_as_study;
use super::targets::connect::{ConnectOptions, connect};
use super::targets::numa::cpu_of_turn;
use super::targets::prepare::{PreparedTarget, check, prepare};
use super::targets::requested_cpu::check_cpu;
use crate::app::interrupt::listen;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::hosts::WorkerBinary;
use crate::plan::ComparisonRows;
use crate::run::{self, ComparisonPlan, PairCount, Profile};
use crate::{advice, plan};

/// A comparison that was measured.
pub struct Outcome {
    /// The run.
    pub measured: CompletedRun,
    /// What the gate found, if there is one.
    pub gate: Option<Gate>,
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
