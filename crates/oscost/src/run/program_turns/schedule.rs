//! How many rounds the next worker of a set of commands makes, and when the turns end.

use std::time::{Duration, Instant};

use super::{Elapsed, TurnEnd, TurnSet};
use crate::run::error::RunError;
use crate::run::state::Run;

/// How long a worker runs programs in turns. Fresh ones have another layout of their environment.
const WORKER_TIME: Duration = Duration::from_millis(700);
/// The most rounds of a worker.
const MAX_ROUNDS: u32 = 400;

impl Run<'_> {
    /// Says how far the turns are, and when they end at the latest: with their time, or with as many as
    /// each command needs.
    pub(super) fn schedule_turns(&mut self, sets: &[TurnSet], elapsed: &Elapsed) {
        self.schedule.done = sets.iter().map(|set| set.done).max().unwrap_or(0);
        let missing: f64 =
            sets.iter().map(|set| f64::from(self.missing_rounds(set)) * set.round_s).sum();
        let left_s = (elapsed.end_s - elapsed.seconds()).max(missing).max(0.0);
        // The last worker of each set is not stopped, and its commands are run once more to be counted.
        let last_s: f64 =
            sets.iter().map(|set| WORKER_TIME.as_secs_f64().max(set.round_s) + set.round_s).sum();
        let bound = Duration::try_from_secs_f64(left_s + 2.0 * last_s).ok();
        let end = bound.map(|bound| Instant::now() + bound);
        let end_of_time = self.deadline.map(|deadline| deadline + Duration::from_secs_f64(last_s));
        self.schedule.ends_by = end.into_iter().chain(end_of_time).min();
    }

    /// Removes commands that have failed, and sets without anything left to measure or to compare.
    pub(super) fn retain_rows_left(&self, sets: &mut Vec<TurnSet>, compared: bool) {
        sets.retain_mut(|set| {
            let base = set.rows.first().copied();
            let is_left: Vec<bool> = set.rows.iter().map(|&row| !self.rows[row].given_up).collect();
            let mut left = is_left.iter();
            set.rows.retain(|_| left.next() == Some(&true));
            let mut left = is_left.iter();
            set.trials.retain(|_| left.next() == Some(&true));
            match compared {
                true => set.rows.first().copied() == base && set.rows.len() > 1,
                false => !set.rows.is_empty(),
            }
        });
    }

    /// How many rounds of the minimum number are still to be made.
    pub(super) fn missing_rounds(&self, set: &TurnSet) -> u32 {
        let workload = set.rows.first().and_then(|&row| self.rows[row].planned.workload.as_ref());
        workload.map_or(0, |it| it.min_trials.saturating_sub(set.done))
    }

    /// How many rounds the next worker of a set makes; `None` if it is done.
    pub(super) fn rounds_of_worker(
        &self,
        set: &TurnSet,
        end: TurnEnd,
        elapsed_s: f64,
    ) -> Option<u32> {
        let workload = self.rows[*set.rows.first()?].planned.workload.as_ref()?;
        let missing = self.missing_rounds(set);
        let (left_s, most_trials) = match end {
            // The rest is for the pairs until the last look.
            TurnEnd::Elapsed(end_s) => (end_s - elapsed_s, workload.trials / 2),
            TurnEnd::Span(span_s) => (span_s - set.span_s(), workload.trials),
        };
        let is_over = set.done >= most_trials.max(workload.min_trials);
        if left_s <= 0.0 && missing == 0 || is_over && matches!(end, TurnEnd::Elapsed(_)) {
            return None;
        }
        let fit = |seconds: f64| (seconds / set.round_s.max(1e-6)) as u32;
        // What is missing is needed even if the time is up.
        let in_time = fit(left_s.max(0.0)).max(missing).max(1);
        let has_helpers = !workload.program.before.is_empty() || !workload.program.after.is_empty();
        let most = match set.done {
            // The warm-ups do not show how long the commands before and after a trial take.
            0 if has_helpers => 1,
            _ => fit(WORKER_TIME.as_secs_f64()).clamp(1, MAX_ROUNDS),
        };
        Some(in_time.min(most).min(most_trials.saturating_sub(set.done).max(1)))
    }

    /// Waits after a worker, if its set would otherwise have all of its rounds too early.
    pub(super) fn pause(&mut self, set: &TurnSet, end: TurnEnd) -> Result<(), RunError> {
        let TurnEnd::Span(span_s) = end else { return Ok(()) };
        let workload = set.rows.first().and_then(|&row| self.rows[row].planned.workload.as_ref());
        let Some(trials) = workload.map(|it| it.trials) else { return Ok(()) };
        let left_s = span_s - set.span_s();
        let affordable = f64::from(trials.saturating_sub(set.done)) * set.round_s;
        if left_s <= 0.0 || affordable >= left_s {
            return Ok(());
        }
        // As many workers as are affordable, and so many pauses.
        let worker_s = WORKER_TIME.as_secs_f64();
        let pause_s = (left_s - affordable) * worker_s / affordable.max(worker_s);
        self.sleep_until(Instant::now() + Duration::from_secs_f64(pause_s.min(left_s)))
    }
}
