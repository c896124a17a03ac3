//! The run: pilots, call counts, reference cases and rounds, within the time budget.
//!
//! Purpose: deciding which worker is measured next, and emitting journal entries. It must not know
//! how a session is reached, who observes the journal, or how anything is shown. While a worker is
//! timing, the tool sleeps in one poll(2).

mod attached_treatments;
mod comparison;
mod counts;
mod error;
mod exit_status;
mod jobs;
mod machine;
mod monitor_verification;
mod observer;
mod program_turns;
mod progress;
mod progress_reports;
mod request;
mod rows;
mod state;
mod trials;

pub use comparison::{ComparisonPlan, PairCount, RoundLimit};
pub use counts::call_count::{CaseCallCount, count_calls};
pub use counts::form_count::{LastBlock, LastBlockHook, TurnRequest, run_in_turns};
pub use counts::group_runs::GroupRuns;
pub use counts::instruction_count::{
    InstructionCountRequest, Machines, count_instructions, machine_id,
};
pub use counts::process_count::count_process;
pub use counts::program_runs::ProgramRuns;
pub use counts::tree_counter::TreeCounter;
pub use counts::trial_count::FigureWidth;
pub use counts::turn_program::TurnProgram;
pub use error::{RunEnd, RunError};
pub use exit_status::is_exit_status;
pub use jobs::process_watch::{ProcessWatch, WatchedCalls};
pub use jobs::remote_peer::Peer;
pub use machine::inspection::{ClockInspection, MachineInspection, inspect_clock, inspect_machine};
pub use machine::lock::{
    Claim, HeldLock, LockHolder, MachineLock, OtherPrograms, claim, name_holder, wait_for_claim,
    wait_for_release,
};
pub use observer::Observer;
pub use progress::{RunActivity, RunProgress, SettledFigure};
pub use request::{EventCounting, Request, TrialBudget};
pub use rows::stopping::Profile;

use std::time::{Duration, Instant};

use oscost_model::journal::{Entry, Phase};
use oscost_model::record::RowOutcome;

use crate::hosts::{HostError, Session};
use crate::plan::{RandomOrder, SkippedRow};
use attached_treatments::AttachPhase;
use counts::counted_events::CountedEvents;
use jobs::job::JobFailure;
use jobs::remote_peer::PeerServers;
use jobs::workers::Workers;
use progress::Schedule;
use rows::row::RowRun;
use state::Run;

/// Carries out a run. However it ends, the journal says so and contains what was measured.
pub fn run(
    session: &mut dyn Session,
    request: Request,
    observer: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    run_with_peer(session, None, request, observer)
}

/// The same, with the peers of some cases on another machine.
pub fn run_with_peer(
    session: &mut dyn Session,
    peer: Option<Peer<'_>>,
    mut request: Request,
    observer: &mut dyn Observer,
) -> Result<RunEnd, RunError> {
    for workload in request.rows.iter_mut().filter_map(|row| row.workload.as_mut()) {
        // A program may use all CPUs, unless its definition or `--cpu` says that it has one.
        workload.one_cpu |= request.requested_cpu.is_some();
    }
    let machine = request.machine.id.clone();
    observer.observe(&Entry::Started(Box::new(request.header.clone())));
    observer.observe(&Entry::MachineDescribed {
        machine: Box::new(request.machine.clone()),
        tracers: request.tracers.clone(),
    });
    let mut rows: Vec<RowRun> =
        request.rows.iter().cloned().map(|planned| RowRun::new(planned, request.profile)).collect();
    for (row, treatments) in rows.iter_mut().zip(&request.treatments) {
        row.treatments = treatments.clone();
    }
    let servers = peer.map(|Peer { session, machine, tracers, bind, cpu }| {
        observer.observe(&Entry::MachineDescribed { machine: Box::new(machine.clone()), tracers });
        let requested = RequestedPeer { machine: machine.id, cpu };
        (PeerServers::new(session, bind), requested)
    });
    let (servers, peer) = servers.unzip();
    let mut run = Run {
        workers: Workers::new(session).with_peer(servers),
        peer_cpu: request.peer_cpu,
        observer,
        order: RandomOrder::new(request.header.settings.seed),
        started_at: Instant::now(),
        deadline: request.budget.map(|budget| Instant::now() + budget),
        cpu: None,
        clock: None,
        counted_events: CountedEvents::new(
            &request.machine.counters,
            request.event_counting == EventCounting::InEveryRound,
            request.header.settings.profile == Profile::Quick.text(),
        )
        .filter(|_| request.event_counting != EventCounting::InNoRound),
        interruptions_per_s: 0.0,
        rounds_done: 0,
        pairs_missing: false,
        pilots_missing: false,
        programs_missing: false,
        schedule: Schedule::new(),
        rows,
    };
    let end = match run.measure_all(&request, &machine, peer) {
        Ok(()) => RunEnd::Completed,
        Err(RunError::Host(HostError::Interrupted)) => RunEnd::Interrupted,
        Err(error) => {
            run.end(false);
            return Err(error);
        }
    };
    // Rows cut short by Ctrl-C or by the budget have not reached their precision goal.
    let lost_peer = run.workers.peer_servers().is_some_and(|servers| servers.failure().is_some());
    let settled = !run.pairs_missing
        && !run.pilots_missing
        && !run.programs_missing
        && (request.comparison.is_some() || run.rows.iter().all(RowRun::is_settled));
    run.end(end == RunEnd::Completed && settled && !lost_peer);
    Ok(if lost_peer && end == RunEnd::Completed { RunEnd::MachineLost } else { end })
}

/// The remote peer as requested.
struct RequestedPeer {
    /// The id of its machine.
    machine: String,
    cpu: Option<u32>,
}

impl Run<'_> {
    fn end(&mut self, complete: bool) {
        let at = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
        self.emit(Entry::Ended { at, complete });
    }

    /// A bound of what follows the rounds of a run without a comparison, but its last stage.
    fn bound_after_rounds(&self, request: &Request) -> Option<Duration> {
        Some(self.bound_of_study_methods(request) + self.bound_of_trials()?)
    }

    fn measure_all(
        &mut self,
        request: &Request,
        machine: &str,
        peer: Option<RequestedPeer>,
    ) -> Result<(), RunError> {
        let is_plain = request.comparison.is_none();
        let clocks =
            if is_plain { self.attach_for_run(AttachPhase::BeforeClocks)? } else { Ok(None) };
        self.survey_cpus(request, machine)?;
        if let Some(RequestedPeer { machine, cpu }) = &peer {
            self.survey_peer_cpus(machine, *cpu)?;
        }
        self.emit(Entry::Planned { rows: request.rows.clone(), timers: request.timers.clone() });
        for SkippedRow { row, reason } in request.skipped.iter().cloned() {
            self.give_up(row, JobFailure::new(RowOutcome::Skipped, reason));
        }
        if let Some(comparison) = &request.comparison {
            self.measure_comparison(comparison, request.trials)?;
            return self.calibrate_again(machine);
        }
        let after_clocks = match &clocks {
            Ok(_) => self.attach_for_run(AttachPhase::AfterClocks)?,
            Err(failure) => Err(failure.clone()),
        };
        if let Err(failure) = &after_clocks {
            self.give_up_all(failure);
        }
        let deadline = self.deadline;
        if request.refine {
            // The other half of the budget is for the additional rows.
            self.deadline = request.budget.map(|budget| self.started_at + budget / 2);
        }
        self.reserve_for_study_methods(request);
        let after_rounds = self.bound_after_rounds(request);
        let refinement = match (request.refine, request.budget) {
            (false, _) => Some(Duration::ZERO),
            (true, budget) => budget.map(|budget| budget / 2),
        };
        self.schedule.ends_by = self.deadline;
        self.schedule.following =
            after_rounds.zip(refinement).map(|(after, refinement)| after + refinement);
        self.prepare(0)?;
        self.reference_cases(Phase::Before)?;
        self.measure_until_settled(0, request)?;
        self.deadline = deadline;
        if request.refine {
            self.schedule.ends_by = self.deadline;
            self.schedule.following = after_rounds;
            self.refine(request)?;
        }
        self.measure_by_study_methods(request)?;
        self.finish_counts()?;
        self.trials(None, request.trials)?;
        self.schedule.close(Instant::now());
        self.reference_cases(Phase::After)?;
        self.detach_after_run(after_clocks.ok().flatten())?;
        self.calibrate_again(machine)?;
        self.detach_after_run(clocks.ok().flatten())
    }
}
