//! How often the events of a row are counted, and how often they were.

use std::time::Duration;

/// Every row gets this many counting workers, in a quick run where they fit (see
/// [`super::quick_counting`]): with fewer there is no interval ...
pub(super) const MIN_WORKERS: u32 = 3;
/// ... and further ones while they take at most this part of the time of the timed workers, so that
/// a run is hardly longer, or hardly less precise in the same time.
const TIME_PART: u32 = 10;
/// Workers that count for as long as work that the kernel defers takes are longer than those that time,
/// and no more of them count a row.
const MAX_LONG_WORKERS: u32 = 9;
/// After the second lost worker a row is not counted further: the first may be an accident.
const MAX_LOST: u32 = 1;

/// How far the events of a row have been counted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RowCounting {
    pub(super) workers: u32,
    pub(super) lost: u32,
    /// The time of its counting workers.
    pub(super) took: Duration,
    /// The time of its timed workers.
    pub(crate) timed: Duration,
    /// How many workers are planned for it; `None` if their time decides.
    pub(super) planned: Option<u32>,
    /// Whether they count for as long as work that the kernel defers takes.
    pub(super) is_long: bool,
}

impl RowCounting {
    /// Whether a worker counts after the timed one of this round.
    pub(super) fn is_due(&self, round: u32, is_requested: bool) -> bool {
        if self.is_given_up() || (self.is_long && self.workers >= MAX_LONG_WORKERS) {
            return false;
        }
        // The first ones are in every second round, so that they are spread over a short run.
        let first = self.planned.unwrap_or(MIN_WORKERS);
        let is_early = self.workers < first && 2 * self.workers <= round;
        let with_next = self.took + self.took / self.workers.max(1);
        let is_cheap = self.planned.is_none()
            && self.workers >= MIN_WORKERS
            && TIME_PART * with_next <= self.timed;
        is_requested || is_early || is_cheap
    }

    /// Plans so many workers, and no others.
    pub(super) fn set_planned(&mut self, workers: u32) {
        self.planned = Some(workers);
    }

    /// Says that its workers count for as long as work that the kernel defers takes.
    pub(super) fn set_long(&mut self) {
        self.is_long = true;
    }

    /// Whether too many of its workers were lost.
    pub(super) fn is_given_up(&self) -> bool {
        self.lost > MAX_LOST
    }

    /// The number of its workers so far.
    pub(super) fn workers(&self) -> u32 {
        self.workers
    }

    /// Adds a worker that took this long.
    pub(super) fn add_worker(&mut self, took: Duration) {
        self.workers += 1;
        self.took += took;
    }

    /// Adds the loss of a worker; a final one would be repeated by any other.
    pub(super) fn add_loss(&mut self, is_final: bool) {
        self.lost += if is_final { MAX_LOST + 1 } else { 1 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_workers_are_spread_over_a_quick_run_and_more_take_a_tenth_of_the_time() {
        // A counting worker takes a fifth of the time of a timed one.
        let mut counting = RowCounting::default();
        let mut rounds = Vec::new();
        for round in 0..60 {
            counting.timed += Duration::from_millis(10);
            if counting.is_due(round, false) {
                rounds.push(round);
                counting.workers += 1;
                counting.took += Duration::from_millis(2);
            }
        }
        assert_eq!(rounds[..3], [0, 2, 4]);
        // 600 ms of timed workers: 60 ms.
        assert_eq!(rounds.len(), 30, "{rounds:?}");
        assert!(TIME_PART * counting.took <= counting.timed);
        let lost = RowCounting { lost: MAX_LOST + 1, ..RowCounting::default() };
        assert!(!lost.is_due(0, true));
    }

    #[test]
    fn as_many_workers_count_as_are_planned_whatever_time_they_take() {
        for planned in 0..=MIN_WORKERS {
            let mut counting = RowCounting::default();
            counting.set_planned(planned);
            let mut rounds = Vec::new();
            for round in 0..60 {
                counting.timed += Duration::from_secs(1);
                if counting.is_due(round, false) {
                    rounds.push(round);
                    counting.add_worker(Duration::from_nanos(1));
                }
            }
            assert_eq!(rounds, [0, 2, 4][..planned as usize]);
            assert!(counting.is_due(60, true), "counts that were asked for are in every round");
        }
    }

    #[test]
    fn workers_that_count_for_long_are_few_also_where_counts_were_asked_for() {
        let due = |is_long: bool, timed_ms: u64| {
            let mut counting = RowCounting { is_long, ..RowCounting::default() };
            let is_due = |round: &u32| {
                counting.timed += Duration::from_millis(timed_ms);
                let is_due = counting.is_due(*round, true);
                if is_due {
                    counting.add_worker(Duration::from_millis(80));
                }
                is_due
            };
            (0..40).filter(is_due).count()
        };
        assert_eq!([false, true].map(|is_long| due(is_long, 10)), [40, MAX_LONG_WORKERS as usize]);
        // Nor are they more where timed workers take so long that others would be cheap.
        assert_eq!(due(true, 5_000), MAX_LONG_WORKERS as usize);
    }
}
