//! `oscost run`: measures cases on one target.

use std::time::Duration;

use oscost_model::call_names::Arch;
use oscost_model::definition::Extent;
use oscost_model::journal::PlannedRow;
use oscost_model::record::{Machine, Settings};
use oscost_model::target::Target;

use super::error::UsageError;
use super::measurement::counting::{CountRequest, CountedTarget, count};
use super::measurement::predictions::predictions_for;
use super::measurement::retention::{CompletedRun, Retention, observe};
use super::measurement::run_header::{fresh_seed, run_header};
use super::observer::Observer;
use super::results::earlier_study_runs::MeasuredStudy;
use super::results::run_before::PreviousRun;
use super::selection::cases::{Selection, select};
use super::selection::effort::{CommandTrials, Effort, trial_budget};
use super::selection::programs::ProgramRequest;
use super::selection::study_rows::{
    StudyRows, repeat_as_study, study_rows, study_without_comparison,
};
use super::targets::connect::{BusyPolicy, ConnectOptions, connect};
use super::targets::numa::cpu_of_turn;
use super::targets::peer::{
    ConnectedHost, PeerConnection, cases_between, move_ends_to_peer, peer_host,
};
use super::targets::prepare::{PreparedTarget, check, prepare};
use super::targets::requested_cpu::check_cpu;
use super::targets::resolve::resolve;
use super::targets::vm::{GivenOption, counted_machine, refuse_options};
use crate::app::interrupt::listen;
use crate::hosts::{Interrupt, Session, WorkerBinary};
use crate::plan::ComparedTarget;
use crate::run::{self, EventCounting, Profile};
use crate::studies::Study;
use crate::{advice, plan};

/// The half-width that a default run aims at, in per cent: a difference of twice that shows.
const PRECISION_PCT: f64 = 2.0;
/// The same for figures that are published.
const THOROUGH_PRECISION_PCT: f64 = 1.0;
/// The price list takes about a minute.
const BUDGET_S: f64 = 60.0;
/// Refining the breaks of curves takes as long again.
const BUDGET_REFINED_S: f64 = 2.0 * BUDGET_S;
/// A row takes 0.3 to 1.2 s to reach its precision: with less, rows of a large study would miss it
/// only because there are many.
const STUDY_ROW_S: f64 = 1.2;

/// What to measure, and how.
#[derive(Clone, Debug)]
pub struct Request {
    /// Families, ids, cases or globs; without any, the price list.
    pub selectors: Vec<String>,
    /// Programs to measure.
    pub programs: ProgramRequest,
    /// The study to measure again.
    pub study: Option<String>,
    /// How many repetitions are enough.
    pub effort: Effort,
    /// The half-width of the intervals to aim at, in per cent of the median.
    pub precision_pct: Option<f64>,
    /// Whether the breaks of curves are measured more closely.
    pub refine: bool,
    /// The time after which the run stops, in seconds.
    pub budget_s: Option<f64>,
    /// Treatments, if they are not part of `at`.
    pub treatments: Option<String>,
    /// The target.
    pub at: String,
    /// In which rounds events are counted.
    pub event_counting: EventCounting,
    /// The CPU of the workers; without it, the least disturbed.
    pub cpu: Option<u32>,
    /// Whose turn it is among the NUMA nodes of the machine, if they are measured in turn: a number
    /// that goes round. A CPU that is named has precedence.
    pub numa_turn: Option<u32>,
    /// The host of the other end of cases with two ends.
    pub peer: Option<String>,
    /// The CPU of the other end.
    pub peer_cpu: Option<u32>,
    /// The user's own words.
    pub label: Option<String>,
    /// The seed of all randomness; without it, a fresh one.
    pub seed: Option<u64>,
    /// What is kept.
    pub retention: Retention,
    /// What to do while another run has the machine.
    pub on_busy: BusyPolicy,
}

impl Request {
    fn profile(&self) -> Profile {
        match self.effort {
            Effort::Quick => Profile::Quick,
            Effort::Thorough => Profile::Thorough {
                precision_pct: self.precision_pct.unwrap_or(THOROUGH_PRECISION_PCT),
            },
            Effort::Default => {
                Profile::Default { precision_pct: self.precision_pct.unwrap_or(PRECISION_PCT) }
            }
        }
    }

    fn extent(&self) -> Extent {
        if self.effort == Effort::Thorough { Extent::Thorough } else { Extent::Default }
    }

    /// A thorough run has no limit; a study has as much time per row as the price list, and at
    /// least the budget that its file states.
    fn budget_s(&self, rows: &[PlannedRow], study: Option<&Study>) -> Option<f64> {
        let is_quick = self.effort == Effort::Quick;
        let requested = rows.iter().filter(|row| row.requested).count() as f64;
        let usual = match (study, self.refine) {
            (Some(study), _) => {
                let min = study
                    .min_budget
                    .map_or(0, |it| if is_quick { it.quick_seconds } else { it.seconds });
                BUDGET_S.max(STUDY_ROW_S * requested).max(f64::from(min))
            }
            (None, true) => BUDGET_REFINED_S,
            (None, false) => BUDGET_S,
        };
        self.budget_s.or((self.effort != Effort::Thorough).then_some(usual))
    }

    /// Sizes are added neither to a study, whose sizes are published, nor to a run that did not
    /// ask.
    fn refines(&self) -> bool {
        self.study.is_none() && (self.refine || self.effort == Effort::Thorough)
    }

    /// Refuses options without meaning where instructions are counted.
    fn check_counting(&self) -> Result<(), UsageError> {
        let option = |name, is_given| GivenOption { name, is_given };
        refuse_options(&[
            option("--study", self.study.is_some()),
            option("--refine", self.refine),
            option("--budget", self.budget_s.is_some()),
            option("--precision", self.precision_pct.is_some()),
            option("--counters", self.event_counting == EventCounting::InEveryRound),
            option("--cpu", self.cpu.is_some()),
            option("--peer", self.peer.is_some()),
            option("--peer-cpu", self.peer_cpu.is_some()),
            option("--seed", self.seed.is_some()),
        ])
    }
}

/// Measures the selected cases.
pub fn run(request: &Request, observer: &dyn Observer) -> anyhow::Result<CompletedRun> {
    run_until(&listen()?, request, observer)
}

/// The same as one of several runs, which one interrupt ends.
pub(crate) fn run_until(
    interrupt: &Interrupt,
    request: &Request,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let target = resolve(&request.at, request.treatments.as_deref())?;
    check(&target)?;
    let worker = WorkerBinary::find()?;
    let study = request.study.as_deref().map(study_without_comparison).transpose()?;
    let mut selection =
        select(&worker, &request.selectors, &request.programs, study, request.extent())?;
    selection.programs.check_commands(&target.host)?;
    let on_busy = request.on_busy;
    let options = ConnectOptions { interrupt, on_busy, observer };
    if let Some(machine) = counted_machine(&target)? {
        request.check_counting()?;
        let counted = CountRequest {
            label: request.label.clone(),
            study: None,
            effort: request.effort,
            targets: vec![CountedTarget { target, machine }],
            compared: false,
            retention: request.retention,
        };
        let measured = count(&worker, &selection, counted, options)?;
        let before = PreviousRun::of_measured(&measured.record, observer);
        return Ok(CompletedRun { before, ..measured });
    }
    let host = &target.host;
    check_cpu(host, request.cpu)?;
    let peer_host = request.peer.as_deref().map(|text| peer_host(text, host)).transpose()?;
    let mut connection = connect(host, &worker, options)?;
    let session = &mut *connection.session;
    let workers = ConnectedHost { host, hello: session.hello() };
    let mut peer =
        peer_host.map(|peer| PeerConnection::open(&peer, workers, &worker, options)).transpose()?;
    let arch = session.hello().facts.os.arch.as_deref().and_then(Arch::from_uname);
    let PreparedTarget { side, notes } = prepare(&target, arch)?;
    notes.iter().for_each(|note| observer.note(note));
    let peer = peer.as_mut().map(|peer| peer.peer(request.peer_cpu));
    let peer_machine = peer.as_ref().map(|peer| peer.machine.id.clone());
    if peer_machine.is_some() && selection.study.is_none() {
        selection.cases = cases_between(&worker, selection.cases, observer);
        selection.named = selection.named.with_remote_peer(&worker.catalog);
    }
    let at = RunTarget { target: &target, side: &side, peer: peer_machine.as_deref() };
    let planned = plan_run(request, &worker, &selection, at, session, observer)?;
    let header = planned.header.clone();
    let measured = observe(&header, request.retention, &selection.named, observer, |listener| {
        run::run_with_peer(session, peer, planned, listener)
    })?;
    let with_runs = |study| MeasuredStudy::of(study, &measured.record, observer);
    let before = PreviousRun::of_measured(&measured.record, observer);
    Ok(CompletedRun { study: selection.study.map(with_runs), before, ..measured })
}

/// Where a run measures.
#[derive(Clone, Copy)]
struct RunTarget<'a> {
    target: &'a Target,
    side: &'a ComparedTarget,
    /// The id of the peer's machine.
    peer: Option<&'a str>,
}

fn plan_run(
    request: &Request,
    worker: &WorkerBinary,
    selection: &Selection,
    RunTarget { target, side, peer }: RunTarget<'_>,
    session: &dyn Session,
    observer: &dyn Observer,
) -> anyhow::Result<run::Request> {
    let Selection { cases, definitions, programs, study, .. } = selection;
    let hello = session.hello();
    let profile = request.profile();
    let StudyRows { mut rows, mut skipped } = match study {
        Some(study) => study_rows(definitions, study, &side.target, peer)?,
        None => {
            let rows = plan::rows(definitions, cases.clone(), &side.target);
            StudyRows { rows, skipped: Vec::new() }
        }
    };
    if study.is_none() && peer.is_some() {
        skipped = move_ends_to_peer(&mut rows);
    }
    let trials = CommandTrials::alone(request.effort, request.budget_s);
    skipped.extend(programs.fill(&mut rows, &target.host, request.effort, trials));
    if let Some(study) = study.as_ref().filter(|_| request.effort != Effort::Quick) {
        repeat_as_study(study, &mut rows);
    }
    // A million calls under a tracer take some seconds, which a quick run does not have.
    let study_counts = study.as_ref().is_some_and(Study::counts_calls_of_programs);
    let count_calls =
        request.programs.count_calls || study_counts && request.effort != Effort::Quick;
    let monitored = plan::has_monitor(&side.treatments);
    rows.iter_mut().for_each(|row| row.monitored = monitored);
    let budget_s = request.budget_s(&rows, study.as_ref());
    let settings = Settings {
        seed: request.seed.unwrap_or_else(fresh_seed),
        profile: profile.text().to_owned(),
        precision_pct: profile.precision_pct(),
        nominal: profile.nominal().share(),
        budget_s,
        study: request.study.clone(),
        predictions: predictions_for(&rows, observer),
    };
    Ok(run::Request {
        header: run_header(request.label.clone(), hello, settings),
        machine: Machine::new("m0", hello.facts.clone(), advice::machine_notes(&hello.facts)),
        tracers: hello.facts.tracers.clone(),
        timers: plan::survey_timers(&worker.catalog, cases),
        treatments: vec![side.treatments.clone(); rows.len()],
        budget: budget_s.map(Duration::from_secs_f64),
        rows,
        profile,
        comparison: None,
        refine: request.refines(),
        trials: trial_budget(request.effort, count_calls, request.budget_s),
        skipped,
        event_counting: request.event_counting,
        requested_cpu: request.cpu.or_else(|| cpu_of_turn(&hello.facts, request.numa_turn?)),
        // With a peer's machine, `--peer-cpu` is a CPU there.
        peer_cpu: request.peer_cpu.filter(|_| peer.is_none()),
    })
}
