//! A program's trials, in turns with runs of it whose calls are counted.
//!
//! What is timed is never counted, and what is counted is never timed: blocks of trials and counted
//! runs alternate, so that both see the same caches and the same minutes.

use std::time::Duration;

use oscost_model::program::{Program, ProgramResult, Trial};
use oscost_model::program_calls::ProgramCalls;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use crate::hosts::{HostError, Session};
use crate::run::counts::tree_counter::TreeCounter;
use crate::run::jobs::job::{JobFailure, job_failure};
use crate::run::jobs::workers::Workers;
use crate::run::machine::cpu_survey::NO_CLOCK;

/// After each third of the trials the program is counted once: a form whose count varies shows.
const BLOCKS: u32 = 3;
/// The time for the trials, if their number is not given.
const TRIAL_TIME: Duration = Duration::from_secs(6);
/// The least that have an interval.
const MIN_TRIALS: u32 = 6;
/// More change little; the clock ticks of short runs are many enough.
const MAX_TRIALS: u32 = 90;
/// The time for cleaning up after a trial, beyond the program's own limit.
const CLEANUP_GRACE: Duration = Duration::from_secs(20);

/// The runs of a program.
#[derive(Clone, Debug)]
pub struct ProgramRuns {
    /// Those that were timed.
    pub trials: Vec<Trial>,
    /// What each counted one did, or why it could not be counted.
    pub counted: Result<Vec<ProgramCalls>, String>,
}

/// Whether the last block of trials follows what was done before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastBlock {
    /// It does, at once: nothing was done.
    AtOnce,
    /// It does, after another run for the caches.
    AfterWarmUp,
    /// It does not: the session is over, or the user asked for the end.
    Omitted,
}

/// What is done with the session before the last block of trials, after the runs so far.
pub type BeforeLastBlock<'a> = dyn FnMut(&mut dyn Session, &ProgramRuns) -> LastBlock + 'a;

/// The runs of a program that are asked for.
pub struct TurnRequest<'a> {
    /// The program.
    pub program: &'a Program,
    /// How many trials; `None` for as many as fit into some seconds.
    pub trials: Option<u32>,
    /// What counts its calls; `None` for a tracer of the worker.
    pub counter: Option<&'a mut dyn TreeCounter>,
    /// What is done before the last block.
    pub before_last_block: &'a mut BeforeLastBlock<'a>,
}

/// Runs a program once for the caches, then so many times in turns with counted runs. The inner
/// error is why the program cannot be measured.
pub fn run_in_turns(
    session: &mut dyn Session,
    request: TurnRequest<'_>,
) -> Result<Result<ProgramRuns, String>, HostError> {
    let TurnRequest { program, trials, mut counter, before_last_block } = request;
    let mut workers = Workers::new(session);
    let warm_up = || Task::Run { warm_up: true, counted: Vec::new() };
    let warm = match workers.run_program(spec(program, warm_up()))? {
        Ok(warm) => warm,
        Err(failure) => return Ok(Err(failure.reason)),
    };
    let count = trials.unwrap_or_else(|| fitting_trials(&warm));
    let mut runs = ProgramRuns { trials: Vec::new(), counted: Ok(Vec::new()) };
    for block in 0..BLOCKS {
        if block + 1 == BLOCKS {
            match before_last_block(workers.session_mut(), &runs) {
                LastBlock::AtOnce => {}
                LastBlock::AfterWarmUp => {
                    if let Err(failure) = workers.run_program(spec(program, warm_up()))? {
                        return Ok(Err(failure.reason));
                    }
                }
                LastBlock::Omitted => break,
            }
        }
        let rounds = trials_of_block(count, block);
        match trials_in_a_row(&mut workers, program, rounds)? {
            Ok(trials) => runs.trials.extend(trials),
            Err(failure) => return Ok(Err(failure.reason)),
        }
        // What is refused once is refused again.
        if let Ok(counted) = &mut runs.counted {
            let calls = match &mut counter {
                Some(counter) => counted_in_kernel(&mut workers, program, &mut **counter)?,
                None => {
                    let traced = workers.count_forms(spec(program, Task::CountForms))?;
                    traced.map_err(|failure| failure.reason)
                }
            };
            match calls {
                Ok(calls) => counted.push(calls),
                Err(reason) => runs.counted = Err(reason),
            }
        }
    }
    Ok(Ok(runs))
}

/// Runs a program as in a trial, while a counter follows it.
fn counted_in_kernel(
    workers: &mut Workers<'_>,
    program: &Program,
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
        Ok(_) => calls,
        Err(failure) => Err(failure.reason),
    })
}

/// As many trials as fit, if one takes as long as the warm-up did.
fn fitting_trials(warm: &ProgramResult) -> u32 {
    let fit = TRIAL_TIME.as_nanos() / u128::from(warm.real_ns.max(1));
    u32::try_from(fit).unwrap_or(u32::MAX).clamp(MIN_TRIALS, MAX_TRIALS)
}

/// The trials of a block: all blocks have as many, or one more.
fn trials_of_block(count: u32, block: u32) -> u32 {
    let until = |block: u32| u64::from(count) * u64::from(block) / u64::from(BLOCKS);
    (until(block + 1) - until(block)) as u32
}

fn trials_in_a_row(
    workers: &mut Workers<'_>,
    program: &Program,
    rounds: u32,
) -> Result<Result<Vec<Trial>, JobFailure>, HostError> {
    if rounds == 0 {
        return Ok(Ok(Vec::new()));
    }
    let task = Task::TakeTurns { order: vec![0; rounds as usize], values: Vec::new() };
    let one = spec(program, task);
    let spec = WorkerSpec {
        subject: Subject::Programs(vec![program.clone()]),
        timeout_ms: one.timeout_ms.saturating_mul(u64::from(rounds)),
        ..one
    };
    let taken = match workers.take_turns(spec)? {
        Ok(taken) => taken,
        Err(failure) => return Ok(Err(failure)),
    };
    if let Some(failed) = taken.failure {
        return Ok(Err(job_failure(*failed.event)));
    }
    let trial = |ProgramResult { real_ns, usage, .. }: ProgramResult| Trial {
        real_ns,
        usage,
        ..Trial::default()
    };
    Ok(Ok(taken.trials.into_iter().map(|it| trial(it.result)).collect()))
}

/// A worker that does this with the program.
fn spec(program: &Program, task: Task) -> WorkerSpec {
    let limit = Duration::from_secs(program.limits.seconds.into()) + CLEANUP_GRACE;
    let subject = Subject::Program(Box::new(program.clone()));
    WorkerSpec::new(subject, task, NO_CLOCK, limit.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trials_of_all_blocks_are_as_many_as_were_asked_for() {
        for count in [0, 1, 2, 3, 10, 1_000] {
            let all: u32 = (0..BLOCKS).map(|block| trials_of_block(count, block)).sum();
            assert_eq!(all, count);
        }
    }

    #[test]
    fn a_long_program_has_few_trials_and_a_short_one_not_too_many() {
        let of = |real_ns| fitting_trials(&ProgramResult { real_ns, ..ProgramResult::default() });
        assert_eq!([of(0), of(500_000_000), of(60_000_000_000)], [MAX_TRIALS, 12, MIN_TRIALS]);
    }
}
