//! A program's trials, in turns with runs of it whose calls are counted.
//!
//! What is timed is never counted, and what is counted is never timed: blocks of trials and counted
//! runs alternate, so that both see the same caches and the same minutes. Calls and events of the
//! processor are counted in runs of their own, too.

use oscost_model::counters::CounterEvent;
use oscost_model::program::{ProgramResult, Trial};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::treatment::TreatmentSet;
use oscost_model::worker::Task;
use oscost_stats::stopping::{AdaptiveStopping, Decision, Look};

use crate::hosts::{HostError, Session};
use crate::run::counts::group_runs::{GroupPlan, run_in_groups};
use crate::run::counts::program_runs::ProgramRuns;
use crate::run::counts::tree_counter::TreeCounter;
use crate::run::counts::trial_count::{FigureWidth, TrialCount};
use crate::run::counts::turn_program::{
    TurnProgram, can_take_turns, spec, traced_spec, turns_spec, uncountable_treatment, warm_up,
    without_events_of_monitor,
};
use crate::run::jobs::job::{JobFailure, JobResult, job_failure};
use crate::run::jobs::workers::Workers;

/// Why a program that the user has ended did not run in control groups.
const NO_GROUPS: &str = "its runs were interrupted before those in control groups";

/// Whether the last block of trials follows what was done before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastBlock {
    /// It does, at once: nothing was done. (If its treatments are attached again, after another run
    /// for the caches.)
    AtOnce,
    /// It does, after another run for the caches.
    AfterWarmUp,
    /// It does not: the session is over, or the user asked for the end.
    Omitted,
}

/// What is done with the session before the last block of trials, after the runs so far.
pub type LastBlockHook<'a> = dyn FnMut(&mut dyn Session, &ProgramRuns) -> LastBlock + 'a;

/// The runs of a program that are asked for.
pub struct TurnRequest<'a> {
    /// The program.
    pub program: TurnProgram<'a>,
    /// How many trials; `None` for as many as their figure needs, within some seconds.
    pub trials: Option<u32>,
    /// How well that figure is known by some trials.
    pub width: fn(&[Trial]) -> FigureWidth,
    /// What counts its calls; `None` for a tracer of the worker.
    pub counter: Option<&'a mut dyn TreeCounter>,
    /// The events of the processor that are counted in runs of their own, or why none is.
    pub events: Result<Vec<CounterEvent>, String>,
    /// The time between two of the clock ticks that divide CPU time, in nanoseconds; `None` where the
    /// kernel measures the times of both modes.
    pub tick_ns: Option<f64>,
    /// What is done before the last block.
    pub before_last_block: &'a mut LastBlockHook<'a>,
}

/// Runs a program once for the caches, then several times in turns with counted runs. The inner
/// error is why the program cannot be measured. If the user ends it after the first counted run, the
/// runs by then are returned.
pub fn run_in_turns(
    session: &mut dyn Session,
    request: TurnRequest<'_>,
) -> Result<Result<ProgramRuns, String>, HostError> {
    let TurnRequest { program, trials, width, counter, events, tick_ns, before_last_block } =
        request;
    let mut counters = Counters { forms: counter, events, tick_ns };
    let mut workers = Workers::new(session);
    let mut runs = no_runs(program, &counters);
    let first = with_attached(&mut workers, program, |workers| {
        let requested = RequestedTrials { trials, width };
        first_blocks(workers, program, requested, &mut counters, &mut runs)
    });
    let rounds = match first {
        Err(HostError::Interrupted) if runs.can_be_billed() => {
            // The bill says what its system time lacks.
            let lacking = group_plan(&runs, counters.tick_ns).map(|_| Err(NO_GROUPS.to_owned()));
            let groups = runs.groups.take().or(lacking);
            return Ok(Ok(ProgramRuns { interrupted: true, groups, ..runs }));
        }
        first => match first? {
            Ok(rounds) => rounds,
            Err(reason) => return Ok(Err(reason)),
        },
    };
    // Without what is attached: what is done there has its own treatments.
    let last_block = before_last_block(workers.session_mut(), &runs);
    if last_block == LastBlock::Omitted {
        return Ok(Ok(runs));
    }
    let ended = with_attached(&mut workers, program, |workers| {
        if is_warmed_up_again(last_block, program.treatments)
            && let Err(failure) = workers.run_program(spec(program, warm_up()))?
        {
            return Ok(Err(failure));
        }
        add_block(workers, program, rounds, &mut counters, &mut runs)
    });
    match ended {
        Err(HostError::Interrupted) => Ok(Ok(ProgramRuns { interrupted: true, ..runs })),
        ended => Ok(ended?.map(|()| runs)),
    }
}

/// Whether a program runs once for the caches before its last block: after something else, or after
/// its treatments were attached again, which leaves other code and data in the caches.
fn is_warmed_up_again(last_block: LastBlock, treatments: &TreatmentSet) -> bool {
    last_block == LastBlock::AfterWarmUp || !treatments.attached.is_empty()
}

/// Does this while those treatments of a program are attached that concern the whole system.
fn with_attached<T>(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    run: impl FnOnce(&mut Workers<'_>) -> JobResult<T>,
) -> Result<Result<T, String>, HostError> {
    let attached = &program.treatments.attached;
    let reason_of = |failure: JobFailure| failure.reason;
    if attached.is_empty() {
        return Ok(run(workers)?.map_err(reason_of));
    }
    let job = match workers.attach(attached.clone(), program.cpu, None)? {
        Ok(job) => job,
        Err(failure) => return Ok(Err(failure.reason)),
    };
    // If this fails, so has the session, whose end detaches them.
    let done = run(workers)?;
    let detached = workers.detach(job)?;
    if let Some(failure) = workers.early_detachment.take() {
        return Ok(Err(format!("an attached treatment ended early: {}", failure.reason)));
    }
    match detached {
        Ok(_) => Ok(done.map_err(reason_of)),
        Err(reason) => Ok(Err(format!("an attached treatment failed: {reason}"))),
    }
}

/// The trials that are asked for, as in [`TurnRequest`].
#[derive(Clone, Copy)]
struct RequestedTrials {
    trials: Option<u32>,
    width: fn(&[Trial]) -> FigureWidth,
}

/// None yet.
fn no_runs(program: TurnProgram<'_>, counters: &Counters<'_>) -> ProgramRuns {
    ProgramRuns {
        trials: Vec::new(),
        counted: Ok(Vec::new()),
        counted_without: uncountable_treatment(program.treatments, counters.forms.is_none()),
        events: counters.events.clone().map(|_| Vec::new()),
        groups: None,
        interrupted: false,
    }
}

/// All before the last block; returns the number of trials in that.
fn first_blocks(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    RequestedTrials { trials, width }: RequestedTrials,
    counters: &mut Counters<'_>,
    runs: &mut ProgramRuns,
) -> JobResult<u32> {
    let warm = match workers.run_program(spec(program, warm_up()))? {
        Ok(warm) => warm,
        Err(failure) => return Ok(Err(failure)),
    };
    let count = match trials {
        Some(trials) => TrialCount::fixed(trials),
        None => TrialCount::fitting(warm.real_ns),
    };
    if let Err(failure) = add_block(workers, program, count.first_block(), counters, runs)? {
        return Ok(Err(failure));
    }
    if let Err(failure) = add_until_enough(workers, program, count, width, runs)? {
        return Ok(Err(failure));
    }
    // By now it has been counted, and where it needs control groups, more trials do not help.
    let going_on = count.going_on(&runs.trials, width(&runs.trials));
    if let Some(rule) = going_on.filter(|_| group_plan(runs, counters.tick_ns).is_none()) {
        let until = runs.trials.len();
        let half_width = |trials: &[Trial]| width(trials).relative_half_width;
        let looks = Looks { rule, until };
        if let Err(failure) = add_until_narrow(workers, program, looks, half_width, runs)? {
            return Ok(Err(failure));
        }
    }
    add_counts(workers, program, counters, runs)?;
    add_group_runs(workers, program, counters.tick_ns, runs)?;
    Ok(Ok(count.last_block(runs.trials.len() as u32)))
}

/// So many trials, and a counted run.
fn add_block(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    rounds: u32,
    counters: &mut Counters<'_>,
    runs: &mut ProgramRuns,
) -> JobResult<()> {
    if let Err(failure) = add_trials(workers, program, rounds, runs)? {
        return Ok(Err(failure));
    }
    add_counts(workers, program, counters, runs)?;
    Ok(Ok(()))
}

/// The trials of the second block: as many as were asked for, or until those so far are enough.
fn add_until_enough(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    count: TrialCount,
    width: fn(&[Trial]) -> FigureWidth,
    runs: &mut ProgramRuns,
) -> JobResult<()> {
    let Some(rule) = count.stopping() else {
        return add_trials(workers, program, count.second_block(), runs);
    };
    let half_width = |trials: &[Trial]| width(trials).for_an_early_end();
    let until = rule.first_look();
    add_until_narrow(workers, program, Looks { rule, until }, half_width, runs)
}

/// A rule, and after how many trials it looks first.
struct Looks {
    rule: AdaptiveStopping,
    until: usize,
}

/// Trials until a rule ends them, by a half-width of those so far.
fn add_until_narrow(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    Looks { mut rule, mut until }: Looks,
    half_width: impl Fn(&[Trial]) -> Option<f64>,
    runs: &mut ProgramRuns,
) -> JobResult<()> {
    loop {
        let rounds = until.saturating_sub(runs.trials.len()) as u32;
        if let Err(failure) = add_trials(workers, program, rounds, runs)? {
            return Ok(Err(failure));
        }
        let relative_half_width = half_width(&runs.trials);
        match rule.look(Look { repetitions: until, relative_half_width }) {
            Decision::Continue { until: next } => until = next,
            Decision::Stop { .. } => return Ok(Ok(())),
        }
    }
}

fn add_trials(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    rounds: u32,
    runs: &mut ProgramRuns,
) -> JobResult<()> {
    let trials = trials_in_a_row(workers, program, rounds)?;
    Ok(trials.map(|trials| runs.trials.extend(trials)))
}

/// What counts in runs of their own.
struct Counters<'a> {
    /// The counter of calls; `None` for a tracer of the worker.
    forms: Option<&'a mut dyn TreeCounter>,
    /// The events of the processor, or why none is counted.
    events: Result<Vec<CounterEvent>, String>,
    /// The time between two clock ticks, if these divide CPU time.
    tick_ns: Option<f64>,
}

/// A run whose calls are counted, and one whose events are.
fn add_counts(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    counters: &mut Counters<'_>,
    runs: &mut ProgramRuns,
) -> Result<(), HostError> {
    add_count(workers, program, &mut counters.forms, runs)?;
    let (Ok(counted), Ok(events)) = (&mut runs.events, &counters.events) else { return Ok(()) };
    let task = Task::Run { warm_up: false, counted: events.clone() };
    match workers.run_program(spec(program, task))? {
        Ok(ProgramResult { counts, .. }) => counted.extend(counts),
        Err(failure) => runs.events = Err(failure.reason),
    }
    Ok(())
}

/// Runs in control groups, if the trials so far need them.
fn add_group_runs(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    tick_ns: Option<f64>,
    runs: &mut ProgramRuns,
) -> Result<(), HostError> {
    let Some(plan) = group_plan(runs, tick_ns) else { return Ok(()) };
    runs.groups = Some(match can_take_turns(program) {
        true => run_in_groups(workers, plan, &turns_spec(program, plan.runs, true))?,
        false => Err("each of its runs needs a worker of its own".to_owned()),
    });
    Ok(())
}

/// How often a program with these runs is to run in control groups; `None` if they do not need that.
fn group_plan(runs: &ProgramRuns, tick_ns: Option<f64>) -> Option<GroupPlan> {
    let counted = runs.counted.as_ref().ok().and_then(|counted| counted.last());
    GroupPlan::of(&runs.trials, counted.map(|calls| calls.forks), tick_ns?)
}

/// A counted run; what is refused once is refused again.
fn add_count(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    counter: &mut Option<&mut dyn TreeCounter>,
    runs: &mut ProgramRuns,
) -> Result<(), HostError> {
    let Ok(counted) = &mut runs.counted else { return Ok(()) };
    let calls = match counter {
        Some(counter) => counted_in_kernel(workers, program, &mut **counter)?,
        None => {
            let spec = traced_spec(program, runs.counted_without.is_some());
            workers.count_forms(spec)?.map_err(|failure| failure.reason)
        }
    };
    match calls {
        Ok(calls) => counted.push(without_events_of_monitor(calls, program.treatments)),
        Err(reason) => runs.counted = Err(reason),
    }
    Ok(())
}

/// Runs a program as in a trial, while a counter follows it.
fn counted_in_kernel(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    counter: &mut dyn TreeCounter,
) -> Result<Result<ProgramCalls, String>, HostError> {
    let token = match counter.begin() {
        Ok(token) => token,
        Err(reason) => return Ok(Err(reason)),
    };
    let ran = workers.run_program(spec(program, Task::RunMarked { token }));
    // However it ran, nothing stays attached.
    let calls = counter.end();
    Ok(match ran? {
        // It was timed as a trial is.
        Ok(ProgramResult { real_ns, .. }) => calls.map(|calls| ProgramCalls { real_ns, ..calls }),
        Err(failure) => Err(failure.reason),
    })
}

fn trials_in_a_row(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    rounds: u32,
) -> JobResult<Vec<Trial>> {
    if rounds == 0 {
        return Ok(Ok(Vec::new()));
    }
    if !can_take_turns(program) {
        return trials_of_workers(workers, program, rounds);
    }
    let taken = match workers.take_turns(turns_spec(program, rounds, false))? {
        Ok(taken) => taken,
        Err(failure) => return Ok(Err(failure)),
    };
    if let Some(failed) = taken.failure {
        return Ok(Err(job_failure(*failed.event)));
    }
    Ok(Ok(taken.trials.into_iter().map(|it| trial(it.result)).collect()))
}

/// Trials of a worker each.
fn trials_of_workers(
    workers: &mut Workers<'_>,
    program: TurnProgram<'_>,
    rounds: u32,
) -> JobResult<Vec<Trial>> {
    let mut trials = Vec::new();
    for _ in 0..rounds {
        let task = Task::Run { warm_up: false, counted: Vec::new() };
        match workers.run_program(spec(program, task))? {
            Ok(result) => trials.push(trial(result)),
            Err(failure) => return Ok(Err(failure)),
        }
    }
    Ok(Ok(trials))
}

fn trial(ProgramResult { real_ns, usage, .. }: ProgramResult) -> Trial {
    Trial { real_ns, usage, ..Trial::default() }
}

#[cfg(test)]
mod tests;
