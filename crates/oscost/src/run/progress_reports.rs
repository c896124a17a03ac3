//! Reports of how far a run is.

use std::time::{Duration, Instant};

use super::progress::{REPORT_INTERVAL, RunProgress, Schedule, SettledFigure};
use super::state::Run;

impl Run<'_> {
    /// Keeps the figure of a row that has just settled.
    pub(super) fn show_settled(&mut self, row: usize) {
        let figure = self.rows[row].progress.figure();
        let figure = figure.map(|(value, relative_half_width)| SettledFigure {
            row: row as u32,
            value,
            relative_half_width,
        });
        self.schedule.settled = figure.or(self.schedule.settled);
    }

    /// A bound of the trials of programs: none is known before their warm-ups, so that there is none
    /// of a run that has such rows.
    pub(super) fn bound_of_trials(&self) -> Option<Duration> {
        let has_trials =
            (0..self.rows.len()).any(|row| self.is_program(row) && !self.rows[row].given_up);
        (!has_trials).then_some(Duration::ZERO)
    }

    /// Reports how far the run is, before a worker of a row starts.
    pub(super) fn report(&mut self, row: usize) {
        let now = Instant::now();
        let is_early = |last: Instant| now - last < REPORT_INTERVAL;
        if self.schedule.reported_at.is_some_and(is_early) {
            return;
        }
        self.schedule.reported_at = Some(now);
        let Schedule { activity, done, all, settled, .. } = self.schedule;
        let progress = RunProgress {
            activity,
            done,
            all,
            elapsed: now - self.started_at,
            at_most: self.schedule.at_most(now),
            row: Some(row as u32),
            settled,
        };
        self.observer.progress(&progress);
    }
}
