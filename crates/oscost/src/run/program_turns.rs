//! Commands whose trials follow each other without a pause, as many as fit into their time.
//!
//! The trials of all commands of a comparison take turns in random order, round after round. After
//! the time of the first look, a comparison that has found a difference is over; the others go on
//! until the last one (docs/explanation/METHOD.md, section 13).

mod schedule;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use oscost_model::journal::{Phase, WorkerOutcome};
use oscost_model::parameter::ParameterValues;
use oscost_model::program::{ProgramResult, Trial, TrialTime, TurnResult, Workload};
use oscost_model::protocol::TurnFailure;
use oscost_model::record::RowOutcome;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Subject, Task, WorkerSpec};

use super::comparison::ComparisonPlan;
use super::error::RunError;
use super::jobs::job::{JobFailure, job_failure};
use super::jobs::workers::TurnsTaken;
use super::state::{MAX_LOST_WORKERS, Run};
use super::trials::CountedTrial;
use crate::estimate::comparison::programs::{CompletedTrials, have_differences};

/// Commands that take turns.
pub(super) struct TurnSet {
    /// The number of the set in the journal.
    number: u32,
    /// The base comes first.
    rows: Vec<usize>,
    /// The rounds so far.
    done: u32,
    /// The trials of each row, by round.
    trials: Vec<BTreeMap<u32, Trial>>,
    /// What a round takes, in seconds, with the commands before and after the trials.
    round_s: f64,
    /// When its first trial ended, and its last one, in seconds since the start of the run.
    span: Option<[f64; 2]>,
    lost_workers: u32,
    /// After how many workers each command was run once more to count its events.
    countings: u32,
}

impl TurnSet {
    /// The time from its first pair to its last one, in seconds.
    fn span_s(&self) -> f64 {
        self.span.map_or(0.0, |[first, last]| last - first)
    }
}

/// Which round a turn belongs to, and what all turns of the round share.
#[derive(Clone, Copy)]
struct RoundOfTurn<'a> {
    round: u32,
    /// When the turn ended, in seconds since the start of the run.
    at_s: f64,
    /// The values of sampled parameters.
    values: &'a ParameterValues,
}

/// When turns end.
#[derive(Clone, Copy)]
enum TurnEnd {
    /// So many seconds after the first turn.
    Elapsed(f64),
    /// When the pairs of a set span so many seconds. Rounds that would exceed their maximum until then
    /// are spread.
    Span(f64),
}

/// The time since the first turn: that of the clock, or the sum of all trials, if that is more (on a
/// made-up machine no time passes).
struct Elapsed {
    started_at: Instant,
    /// The same in seconds since the start of the run.
    start_s: f64,
    trials: Duration,
    /// When the last turn begins, in seconds since the first.
    end_s: f64,
}

impl Elapsed {
    fn seconds(&self) -> f64 {
        self.started_at.elapsed().max(self.trials).as_secs_f64()
    }

    /// Now, in seconds since the start of the run.
    fn now_s(&self) -> f64 {
        self.start_s + self.seconds()
    }
}

/// What may help a command that ran in its warm-ups.
fn with_advice(failure: JobFailure) -> JobFailure {
    match failure.outcome {
        RowOutcome::Failed if !failure.is_final => JobFailure {
            reason: format!(
                "{}; it succeeded before: `--prepare COMMAND` runs before each trial, and \
                 `--ignore-failure` accepts every exit status",
                failure.reason
            ),
            ..failure
        },
        _ => failure,
    }
}

impl Run<'_> {
    /// Whether the programs of these rows can take turns: in particular, nothing that concerns one of
    /// them is attached to the whole system for a trial, or part of the worker's own start.
    pub(super) fn can_take_turns(&self, rows: &[usize], attaches: bool) -> bool {
        rows.iter().all(|&row| {
            let treatments = &self.rows[row].treatments;
            let is_command = |it: &Workload| it.time.is_some() && it.program.can_take_turns();
            self.rows[row].planned.workload.as_deref().is_some_and(is_command)
                && (!attaches || treatments.attached.is_empty())
                && treatments.applied.iter().all(AppliedTreatment::allows_turns)
        })
    }

    /// How often a comparison of these rows may be looked at.
    pub(super) fn looks(&self, rows: &[usize]) -> u32 {
        let time = self.trial_time(rows).filter(|_| self.can_take_turns(rows, true));
        time.map_or(1, TrialTime::looks)
    }

    fn trial_time(&self, rows: &[usize]) -> Option<TrialTime> {
        self.rows[*rows.first()?].planned.workload.as_ref()?.time
    }

    /// Commands that take turns, after their warm-ups.
    pub(super) fn turn_set(&self, number: u32, rows: Vec<usize>) -> TurnSet {
        let seconds = |&row: &usize| {
            let warm_up = self.rows[row].warm_up.as_ref();
            warm_up.map_or(0.0, |trial| trial.real_ns as f64 * 1e-9)
        };
        let round_s = rows.iter().map(seconds).sum();
        let trials = vec![BTreeMap::new(); rows.len()];
        let (done, lost_workers, countings) = (0, 0, 0);
        TurnSet { number, rows, done, trials, round_s, span: None, lost_workers, countings }
    }

    /// Lets all commands take turns until their time is up.
    pub(super) fn take_turns(
        &mut self,
        mut sets: Vec<TurnSet>,
        compared: Option<&ComparisonPlan>,
    ) -> Result<(), RunError> {
        let Some(time) = sets.first().and_then(|set| self.trial_time(&set.rows)) else {
            return Ok(());
        };
        let (started_at, start_s) = (Instant::now(), self.now_s());
        let is_compared = compared.is_some();
        let last_look_s = time.last_look_s.filter(|_| is_compared);
        let end_s = last_look_s.unwrap_or(time.first_look_s);
        let mut elapsed = Elapsed { started_at, start_s, trials: Duration::ZERO, end_s };
        let first = match is_compared && time.last_look_s.is_none() {
            // The only look: its pairs span all of the time, however short they are.
            true => TurnEnd::Span(time.first_look_s),
            false => TurnEnd::Elapsed(time.first_look_s),
        };
        self.turns_until(&mut sets, first, is_compared, &mut elapsed)?;
        let (Some(compared), Some(last_look_s)) = (compared, time.last_look_s) else {
            return Ok(());
        };
        let all: usize = compared.sets.iter().map(|set| set.news.len()).sum();
        self.retain_undecided(&mut sets, time, all);
        self.turns_until(&mut sets, TurnEnd::Span(last_look_s), true, &mut elapsed)
    }

    /// Takes turns until their end, and as often as each command needs.
    fn turns_until(
        &mut self,
        sets: &mut Vec<TurnSet>,
        end: TurnEnd,
        compared: bool,
        elapsed: &mut Elapsed,
    ) -> Result<(), RunError> {
        loop {
            self.order.shuffle(sets);
            self.schedule_turns(sets, elapsed);
            let mut has_run = false;
            for set in &mut *sets {
                let Some(rounds) = self.rounds_of_worker(set, end, elapsed.seconds()) else {
                    continue;
                };
                if self.time_is_up() && set.done > 0 {
                    // As many rounds as the time allows are what was asked for.
                    self.pairs_missing |= self.missing_rounds(set) > 0;
                    continue;
                }
                has_run = true;
                elapsed.trials += self.rounds_in_turns(set, rounds, elapsed.now_s())?;
                self.pause(set, end)?;
            }
            self.retain_rows_left(sets, compared);
            if !has_run {
                return Ok(());
            }
        }
    }

    /// Runs a worker that makes some rounds from `start_s` on; returns how long its trials took
    /// together.
    fn rounds_in_turns(
        &mut self,
        set: &mut TurnSet,
        rounds: u32,
        start_s: f64,
    ) -> Result<Duration, RunError> {
        self.report(set.rows[0]);
        let programs = set.rows.iter().map(|&row| {
            let workload = self.rows[row].planned.workload.as_deref();
            workload.map(|it| it.program.clone()).unwrap_or_default()
        });
        let programs: Vec<_> = programs.collect();
        let mut turn: Vec<u8> = (0..=u8::MAX).take(programs.len()).collect();
        let (mut order, mut values) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            self.order.shuffle(&mut turn);
            order.extend_from_slice(&turn);
            values.push(self.next_values(set.rows[0]));
        }
        let no_values = ParameterValues::new();
        values.retain(|it| !it.is_empty());
        let task =
            Task::TakeTurns { order: order.clone(), values: values.clone(), in_group: false };
        let seconds = programs.iter().map(|it| u64::from(it.limits.seconds)).max().unwrap_or(0);
        let treatments =
            set.rows.iter().map(|&row| self.rows[row].treatments.applied.clone()).collect();
        let one_cpu = self.rows[set.rows[0]].planned.workload.as_ref().is_some_and(|it| it.one_cpu);
        let spec = WorkerSpec {
            subject: Subject::Programs(programs),
            cpu: self.cpu.filter(|_| one_cpu),
            arms: turn.len() as u8,
            treatments,
            timeout_ms: 1_000 * (seconds + 20) * order.len() as u64,
            ..self.worker_spec(set.rows[0], task)
        };
        let TurnsTaken { trials, failure, .. } = match self.workers.take_turns(spec)? {
            Ok(taken) => taken,
            // No program of them is known to be the cause. The first loss may be an accident.
            Err(failure) => {
                set.lost_workers += 1;
                for &row in &set.rows {
                    self.emit_lost_turn(set, row, set.done, &failure);
                }
                set.done += 1;
                if set.lost_workers > MAX_LOST_WORKERS || failure.is_final {
                    set.rows.iter().for_each(|&row| self.give_up(row, failure.clone()));
                }
                return Ok(Duration::ZERO);
            }
        };
        self.check_early_detachment();
        let per_round = set.rows.len();
        let took_s = trials.last().map_or(0.0, |it| it.ended_ns as f64 * 1e-9);
        // A failure ends its round, also if it was the first trial of it.
        let whole_rounds = (trials.len() / per_round) as u32;
        let made = match failure {
            Some(_) => whole_rounds + 1,
            None => trials.len().div_ceil(per_round).max(1) as u32,
        };
        let lost_round = set.done + whole_rounds;
        let mut took = Duration::ZERO;
        for (position, turn) in trials.into_iter().enumerate() {
            let round_of_worker = position / per_round;
            let round = set.done + round_of_worker as u32;
            let TurnResult { program, ended_ns, result } = turn;
            took += Duration::from_nanos(result.real_ns);
            let at_s = start_s + ended_ns as f64 * 1e-9;
            let [first_s, _] = set.span.unwrap_or([at_s; 2]);
            set.span = Some([first_s, at_s]);
            let values = values.get(round_of_worker).unwrap_or(&no_values);
            let trial = RoundOfTurn { round, at_s, values };
            self.keep_turn(set, usize::from(program), trial, result);
        }
        set.done += made;
        if took_s > 0.0 {
            set.round_s = took_s / f64::from(made);
        }
        if let Some(TurnFailure { program, event }) = failure {
            let row = set.rows.get(usize::from(program)).copied().unwrap_or(set.rows[0]);
            self.lose_turn(set, row, lost_round, with_advice(job_failure(*event)));
        }
        for row in set.rows.clone() {
            let counted = CountedTrial {
                round: set.done - 1,
                opportunity: set.countings,
                set: set.number,
                attaches: false,
                is_one_of_pair: per_round > 1,
                values: values.get(made as usize - 1).unwrap_or(&no_values),
            };
            self.counted_trial(row, counted)?;
        }
        set.countings += 1;
        Ok(took)
    }

    /// Emits a trial, and keeps it for the next look.
    fn keep_turn(
        &mut self,
        set: &mut TurnSet,
        program: usize,
        RoundOfTurn { round, at_s, values }: RoundOfTurn<'_>,
        result: ProgramResult,
    ) {
        let Some(&row) = set.rows.get(program) else { return };
        match self.read_trial(row, values, result) {
            Ok(trial) => {
                let outcome = WorkerOutcome::Trial(Box::new(trial.clone()));
                self.emit_worker_at(row, Phase::Round(round), at_s, set.number, outcome);
                set.trials[program].insert(round, trial);
            }
            Err(failure) => self.lose_turn(set, row, round, failure),
        }
    }

    /// Emits that a row has no trial in a round.
    fn emit_lost_turn(&mut self, set: &TurnSet, row: usize, round: u32, failure: &JobFailure) {
        let JobFailure { outcome, reason, .. } = failure.clone();
        let lost = WorkerOutcome::Lost { outcome, reason };
        self.emit_worker(row, Phase::Round(round), set.number, lost);
    }

    /// The same, if the row is to blame.
    fn lose_turn(&mut self, set: &TurnSet, row: usize, round: u32, failure: JobFailure) {
        self.emit_lost_turn(set, row, round, &failure);
        self.count_lost_worker(row, failure);
    }

    /// Removes the sets in which every comparison has found a difference among all that the run makes.
    fn retain_undecided(&self, sets: &mut Vec<TurnSet>, time: TrialTime, all: usize) {
        let mut so_far = Vec::new();
        for set in &*sets {
            let Some(workload) = self.rows[set.rows[0]].planned.workload.as_deref() else {
                continue;
            };
            let warm_up = |row: usize| self.rows[row].warm_up.as_ref();
            for (&row, trials) in set.rows.iter().zip(&set.trials).skip(1) {
                so_far.push(CompletedTrials {
                    workload,
                    warm_ups: [warm_up(set.rows[0]), warm_up(row)],
                    trials: [&set.trials[0], trials],
                    span_s: set.span_s(),
                    looks: time.looks(),
                });
            }
        }
        let mut differ = have_differences(&so_far, all).into_iter();
        sets.retain(|set| {
            let comparisons = set.rows.len() - 1;
            let found: Vec<bool> = differ.by_ref().take(comparisons).collect();
            !found.into_iter().all(|differs| differs)
        });
    }
}
