//! How many workers of a quick run count events: as many as make the run a tenth longer, by what is
//! planned of it.
//!
//! A quick run has six timed workers a row, and a worker that counts starts and warms up like these:
//! three of them would make it a quarter longer. What is planned is known before the first round, so
//! that no chance of the clock decides how many there are.

use oscost_model::counters::CountingPlan;
use oscost_model::worker::{BatchPlan, COUNTED_WARM_UP_NS, Mode, WARM_UP_NS};
use oscost_stats::stopping::QUICK_REPETITIONS;

use super::row_counting::MIN_WORKERS;
use crate::run::rows::iteration_cost::{WORKER_START_NS, window_overhead_ns};

/// What counting may add to the planned time of everything else.
const MAX_SHARE: f64 = 0.1;
/// Batches without an op in a set, with the one that settles the counters.
const EMPTY_BATCHES: f64 = 10.0;
/// Those of a set whose batches may become longer: as many again show whether they have to.
const EMPTY_BATCHES_OF_DIVIDED: f64 = 19.0;

/// Batches by which a set shows whether one op does work for many: seven of up to five short lengths, and
/// of a long one, which take about so long.
const COMPARED_BATCHES: f64 = 42.0;
const LONG_BATCHES_NS: f64 = 7.0 * 50_000.0;

/// What is planned for a row of a quick run, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PlannedTime {
    /// Its pilot, its counted calls and its timed workers.
    pub(crate) others_ns: f64,
    /// A worker that counts its events.
    pub(crate) counting_ns: f64,
}

impl PlannedTime {
    /// The time of a row with so many timed workers beyond its repetitions.
    pub(crate) fn of(plan: &BatchPlan, counting: &CountingPlan, more_workers: usize) -> Self {
        let batches_ns = f64::from(plan.groups) * group_ns(plan);
        let timed_ns = WORKER_START_NS + WARM_UP_NS as f64 + batches_ns;
        // A pilot runs more batches than a worker, and the calls of a few ops are counted.
        let timed = (1 + QUICK_REPETITIONS + more_workers) as f64;
        Self {
            others_ns: timed * timed_ns + WORKER_START_NS,
            counting_ns: WORKER_START_NS + COUNTED_WARM_UP_NS as f64 + sets_ns(counting),
        }
    }
}

/// The number of workers that count the events of each row; `rest_ns` is what the run takes beside its
/// rows. First each row gets one, then another one, until there are as many as an interval needs; those
/// with the shortest workers get them first, of which most fit, and of these the first.
pub(crate) fn counting_workers(rows: &[PlannedTime], rest_ns: f64) -> Vec<u32> {
    let others_ns = rest_ns + rows.iter().map(|row| row.others_ns).sum::<f64>();
    let mut left_ns = MAX_SHARE * others_ns;
    let mut workers = vec![0; rows.len()];
    let mut shortest_first: Vec<usize> = (0..rows.len()).collect();
    shortest_first
        .sort_by(|&one, &other| rows[one].counting_ns.total_cmp(&rows[other].counting_ns));
    for _ in 0..MIN_WORKERS {
        for &row in &shortest_first {
            if rows[row].counting_ns <= left_ns {
                left_ns -= rows[row].counting_ns;
                workers[row] += 1;
            }
        }
    }
    workers
}

/// A group of batches.
fn group_ns(plan: &BatchPlan) -> f64 {
    // The plan of a fake host has no factors.
    let longest = plan.unroll_factors.iter().copied().max().unwrap_or(1);
    let sum = plan.unroll_factors.iter().sum::<u32>().max(1);
    let windows = plan.unroll_factors.len().max(1) as f64;
    plan.batch_ns * f64::from(sum) / f64::from(longest) + windows * window_overhead_ns(plan.mode)
}

/// All batches of the sets of a counting worker. How much longer they become is not known before.
fn sets_ns(counting: &CountingPlan) -> f64 {
    let plan = &counting.batches;
    let (more_groups, empty) = match plan.mode {
        Mode::U | Mode::B => (2, EMPTY_BATCHES_OF_DIVIDED),
        Mode::S | Mode::C | Mode::T | Mode::F => (1, EMPTY_BATCHES),
    };
    let groups = f64::from(plan.groups + more_groups);
    // Without an op nothing is evicted.
    let set_ns = groups * group_ns(plan) + empty * window_overhead_ns(Mode::B);
    // One set of a worker has instructions, by which lengths are compared.
    let compared_ns = match plan.mode {
        Mode::U | Mode::B => COMPARED_BATCHES * window_overhead_ns(plan.mode) + LONG_BATCHES_NS,
        Mode::S | Mode::C | Mode::T | Mode::F => 0.0,
    };
    counting.sets.len() as f64 * set_ns + compared_ns
}

#[cfg(test)]
mod tests {
    use oscost_model::counters::{CounterEvent, CounterFacts, CounterProbe};

    use super::*;
    use crate::run::counts::counted_events::CountedEvents;

    /// What is counted on a machine with six counters.
    fn counted() -> CountedEvents {
        let probe = |&event: &CounterEvent| CounterProbe { event, refused: None };
        let facts = CounterFacts {
            events: CounterEvent::ALL.iter().map(probe).collect(),
            simultaneous: Some(6),
            ..CounterFacts::default()
        };
        CountedEvents::new(&facts, false, true).unwrap()
    }

    fn plan(mode: Mode, groups: u32, batch_ns: f64) -> BatchPlan {
        let unroll_factors = if mode == Mode::U { vec![1, 2, 4, 8] } else { vec![1] };
        let iterations = if matches!(mode, Mode::U | Mode::B) { 500 } else { 1 };
        BatchPlan { mode, iterations, unroll_factors, groups, batch_ns, coarse_clock: false }
    }

    fn planned(plan: &BatchPlan, more_workers: usize) -> PlannedTime {
        PlannedTime::of(plan, &counted().plan(plan, 0, false), more_workers)
    }

    /// Rows like those of the price list: calls, ops of a few nanoseconds, processes, cold ops, and a
    /// pass over a large file.
    fn price_list() -> Vec<PlannedTime> {
        let light = (0..60).map(|_| plan(Mode::B, 21, 50_000.0));
        let short = (0..20).map(|_| plan(Mode::U, 21, 50_000.0));
        let shots = (0..12).map(|at| plan(Mode::S, 101, 1e5 * f64::from(at + 1)));
        let cold = (0..4).map(|_| plan(Mode::C, 21, 2e4));
        let pass = std::iter::once(plan(Mode::C, 1, 2e9));
        let rows = light.chain(short).chain(shots).chain(cold).chain(pass);
        // The first three are reference cases.
        rows.enumerate().map(|(at, plan)| planned(&plan, if at < 3 { 10 } else { 0 })).collect()
    }

    /// What is planned without and with these workers that count.
    fn totals(rows: &[PlannedTime], workers: &[u32], rest_ns: f64) -> [f64; 2] {
        let others: f64 = rest_ns + rows.iter().map(|row| row.others_ns).sum::<f64>();
        let counting = rows.iter().zip(workers).map(|(row, &of)| f64::from(of) * row.counting_ns);
        [others, others + counting.sum::<f64>()]
    }

    #[test]
    fn counting_makes_a_quick_run_at_most_a_tenth_longer_and_uses_most_of_that() {
        let rows = price_list();
        // The pass alone takes longer than all others, and its tenth is not that of a short run.
        for rows in [&rows[..], &rows[..96], &rows[..80], &rows[..5], &rows[96..]] {
            let workers = counting_workers(rows, 2e8);
            let [without, with] = totals(rows, &workers, 2e8);
            assert!(with <= 1.1 * without, "{} rows: {with} and {without}", rows.len());
            assert!(workers.iter().all(|&of| of <= MIN_WORKERS), "{workers:?}");
        }
        let workers = counting_workers(&rows[..96], 2e8);
        let [without, with] = totals(&rows[..96], &workers, 2e8);
        assert!(with >= 1.07 * without, "{with} and {without}");
    }

    #[test]
    fn three_workers_for_each_row_would_make_it_far_longer() {
        let rows = price_list();
        let [without, with] = totals(&rows[..80], &[MIN_WORKERS; 80], 2e8);
        assert!(with > 1.15 * without, "{with} and {without}");
    }

    #[test]
    fn every_row_of_a_price_list_is_counted_once_before_another_is_twice() {
        let rows = &price_list()[..80];
        let workers = counting_workers(rows, 2e8);
        assert!(workers.iter().all(|&of| of >= 1), "{workers:?}");
        // Rows that take as long get the same number, but for the last ones that fit.
        let of_light: Vec<u32> = workers[..60].to_vec();
        assert!(of_light.iter().max().unwrap() - of_light.iter().min().unwrap() <= 1);
    }

    #[test]
    fn the_first_of_few_rows_have_as_many_as_an_interval_needs_and_none_where_there_is_no_time() {
        // The first three are reference cases, with ten workers more.
        assert_eq!(counting_workers(&price_list()[..5], 2e8), [3, 2, 2, 2, 2]);
        let long = PlannedTime { others_ns: 1e9, counting_ns: 2e8 };
        assert_eq!(counting_workers(&[long], 0.0), [0]);
        assert_eq!(counting_workers(&[long], 1e9), [1]);
        assert!(counting_workers(&[], 1e9).is_empty());
    }

    #[test]
    fn a_counting_worker_starts_like_another_one_and_has_shorter_batches() {
        let light = planned(&plan(Mode::B, 21, 50_000.0), 0);
        // Seven workers of 5 + 3 + 21 * 0.055 ms, and 5 ms.
        assert!((light.others_ns / 69.085e6 - 1.0).abs() < 1e-9, "{light:?}");
        // Two sets of 14 groups of 12.5 us and 33 windows of 5 us, and of one seven batches of 50 us
        // and 42 windows, after 5 + 1 ms.
        assert!((light.counting_ns / 7.24e6 - 1.0).abs() < 1e-9, "{light:?}");
        let reference = planned(&plan(Mode::B, 21, 50_000.0), 10);
        assert!((reference.others_ns - light.others_ns - 91.55e6).abs() < 1.0, "{reference:?}");
        // Each shot of a cold op is preceded by an eviction, also where its events are counted.
        let cold = planned(&plan(Mode::C, 21, 2e4), 0);
        assert!(cold.counting_ns > 2.0 * 21.0 * 5e6, "{cold:?}");
    }
}
