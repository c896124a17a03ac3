//! Study methods with known true values: their figures, and that they do not affect the row.

use std::collections::VecDeque;
use std::time::Duration;

use nix::errno::Errno;
use oscost::hosts::{HostError, Session};
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::record::{Record, RowOutcome};
use oscost_model::study_method::{
    ClockCost, Statistic, StudyMethod, StudyMethodFigure, TimingScope,
};
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode, Sample, Task, WorkerSpec};
use oscost_worker::bench::Shape;
use oscost_worker::engine::collect::{BatchJitter, SampleTag};
use oscost_worker::engine::simulator::{SimulatedMachine, Truth};

use super::sim::{
    SimSession, SimulatedSubject, measure_with_study_method, measure_with_study_method_in,
};

fn study_method(timed: TimingScope, statistic: Statistic) -> StudyMethod {
    StudyMethod { timed, iterations: 500, experiments: 10, statistic, clock: ClockCost::Included }
}

fn figure(record: &Record) -> &StudyMethodFigure {
    record.results[0].study_method.as_ref().unwrap()
}

fn value(subject: &SimulatedSubject, study_method: StudyMethod) -> f64 {
    let record = measure_with_study_method(subject, Some(study_method), 3);
    let found = figure(&record);
    found.value.unwrap_or_else(|| panic!("{found:?}"))
}

#[test]
fn interruptions_raise_the_mean_of_a_study_but_not_its_minimum_or_the_row() {
    let truth = Truth { op_ns: 20_000.0, contaminated: 0.1, ..Truth::QUIET };
    let subject = SimulatedSubject::op(truth);
    let mean = value(&subject, study_method(TimingScope::Each, Statistic::Mean));
    assert!((200_000.0..800_000.0).contains(&mean), "a tenth is preempted for 4 ms: {mean}");
    let minimum = value(&subject, study_method(TimingScope::Each, Statistic::Minimum));
    assert!((18_000.0..20_500.0).contains(&minimum), "{minimum}");
    let record = measure_with_study_method(
        &subject,
        Some(study_method(TimingScope::Each, Statistic::Mean)),
        3,
    );
    let own = record.results[0].estimate.as_ref().unwrap().median;
    assert!((19_000.0..21_000.0).contains(&own), "{own}");
}

#[test]
fn including_the_clock_adds_the_time_of_an_empty_window_to_a_single_shot() {
    let subject = SimulatedSubject::op(Truth::QUIET);
    for statistic in [Statistic::Mean, Statistic::MeanAndDeviation, Statistic::Minimum] {
        let included = study_method(TimingScope::Each, statistic);
        let subtracted = StudyMethod { clock: ClockCost::Subtracted, ..included };
        let record = measure_with_study_method(&subject, Some(included), 3);
        let inside_ns = record.machines[0].clock.as_ref().unwrap().c_in_ns;
        let difference = figure(&record).value.unwrap() - value(&subject, subtracted);
        assert!((difference - inside_ns).abs() < 1e-6, "{difference}, not {inside_ns}");
        assert!((15.0..25.0).contains(&inside_ns), "{inside_ns}");
    }
}

#[test]
fn a_loop_includes_its_overhead_and_almost_none_of_the_clock() {
    let truth = Truth { between_sd: 0.0, ..Truth::QUIET };
    let of = study_method(TimingScope::Together, Statistic::Mean);
    let record = measure_with_study_method(&SimulatedSubject::op(truth.clone()), Some(of), 3);
    assert_eq!((figure(&record).iterations, figure(&record).experiments), (500, 10));
    let expected = 124.0 + truth.loop_ns + (truth.call_ns + truth.inside_ns) / 500.0;
    let ratio = figure(&record).value.unwrap() / expected;
    assert!((0.98..1.02).contains(&ratio), "{ratio}");
}

#[test]
fn experiments_differ_like_processes() {
    let truth = Truth { between_sd: 0.05, within_sd: 0.001, ..Truth::QUIET };
    for timed in [TimingScope::Each, TimingScope::Together] {
        let of =
            StudyMethod { experiments: 20, ..study_method(timed, Statistic::MeanAndDeviation) };
        let record = measure_with_study_method(&SimulatedSubject::op(truth.clone()), Some(of), 3);
        let figure = figure(&record);
        let share = figure.deviation.unwrap() / figure.value.unwrap();
        assert!((0.02..0.08).contains(&share), "{timed:?}: {share}");
    }
}

#[test]
fn the_figures_of_a_row_do_not_depend_on_its_study_method() {
    let truth = Truth { contaminated: 0.2, op_ns: 20_000.0, ..Truth::QUIET };
    let subject = SimulatedSubject::op(truth);
    let with = measure_with_study_method(
        &subject,
        Some(study_method(TimingScope::Each, Statistic::Mean)),
        3,
    );
    let without = measure_with_study_method(&subject, None, 3);
    let (row, other) = (&with.results[0], &without.results[0]);
    assert!(row.study_method.is_some() && other.study_method.is_none());
    let figures = |record: &Record| {
        let row = &record.results[0];
        let estimate = row.estimate.as_ref().unwrap();
        (row.repetitions.len(), estimate.samples, row.disturbed.rejected.clone(), row.flags.clone())
    };
    assert_eq!(figures(&with), figures(&without));
    let ratio = row.estimate.as_ref().unwrap().median / other.estimate.as_ref().unwrap().median;
    // The rate of the clock differs slightly, since the run is longer.
    assert!((ratio - 1.0).abs() < 1e-4, "{ratio}");
    assert_eq!(with.conditions[0].lost_pct, without.conditions[0].lost_pct);
}

#[test]
fn a_rate_has_no_study_method_and_says_why() {
    let truth = Truth { op_ns: 0.25, loop_ns: 0.0, call_ns: 2_000.0, ..Truth::QUIET };
    let subject = SimulatedSubject { truth, shape: Shape::Transfer, unit: Unit::BytesPerSecond };
    let record = measure_with_study_method(
        &subject,
        Some(study_method(TimingScope::Each, Statistic::Mean)),
        3,
    );
    assert_eq!(record.results[0].outcome, RowOutcome::Measured);
    let figure = figure(&record);
    assert_eq!((figure.value, figure.experiments), (None, 0));
    assert!(figure.reason.as_ref().unwrap().contains("slope"), "{figure:?}");
}

/// Decides for a worker and its plan whether it fails: at which op, with which error, and why.
type Failure =
    Box<dyn FnMut(&WorkerSpec, &BatchPlan) -> Option<(Option<u64>, Option<Errno>, &'static str)>>;

/// A simulated machine on which some workers fail.
struct FailingSession {
    inner: SimSession,
    failure: Failure,
    failed: VecDeque<Event>,
}

impl Session for FailingSession {
    fn hello(&self) -> &Hello {
        self.inner.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        if let Order::Measure { id, spec } = order
            && let Task::Measure(plan) = &spec.task
            && let Some((at_op, errno, why)) = (self.failure)(spec, plan)
        {
            let (id, why, errno) = (*id, why.to_owned(), errno.map(|errno| errno as i32));
            self.failed.push_back(Event::Failed { id, at_op, reason: why, errno, arm: None });
            return Ok(());
        }
        self.inner.send(order)
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.failed.pop_front().map_or_else(|| self.inner.next(patience), Ok)
    }
}

fn failing(of: StudyMethod, failure: Failure) -> Record {
    let subject = SimulatedSubject::op(Truth { between_sd: 0.0, ..Truth::QUIET });
    let inner = SimSession::new(vec![subject.clone()]);
    let mut session = FailingSession { inner, failure, failed: VecDeque::new() };
    measure_with_study_method_in(&mut session, &subject, Some(of), 3)
}

#[test]
fn a_loop_that_cannot_be_prepared_at_once_is_split_and_has_the_same_total() {
    let of =
        StudyMethod { iterations: 5_000, ..study_method(TimingScope::Together, Statistic::Mean) };
    let too_many = (Some(0), Some(Errno::E2BIG), "so many at once");
    let failure = Box::new(move |_: &WorkerSpec, plan: &BatchPlan| {
        (plan.iterations > 1_000).then_some(too_many)
    });
    let record = failing(of, failure);
    let found = figure(&record);
    assert!((5_000..5_500).contains(&found.iterations), "in whole windows: {found:?}");
    let value = found.value.unwrap();
    // It includes the clock once, and the call of the loop in each window.
    assert!((123.0..126.0).contains(&value), "{value}");
    // The same error at another op is the op's own, and so is another error at the first.
    for own in [(Some(1), Some(Errno::E2BIG), "so many"), (Some(0), Some(Errno::EPERM), "not I")] {
        let failure = Box::new(move |_: &WorkerSpec, plan: &BatchPlan| {
            (plan.iterations > 1_000).then_some(own)
        });
        let record = failing(of, failure);
        let reason = figure(&record).reason.clone().unwrap();
        assert_eq!(reason, format!("op {} of a batch: {}", own.0.unwrap(), own.2));
    }
}

#[test]
fn a_lost_experiment_is_repeated_once_and_does_not_affect_the_row() {
    let of = study_method(TimingScope::Each, Statistic::MeanAndDeviation);
    let lost_times = |times: u32| {
        let mut left = times;
        let failure = move |spec: &WorkerSpec, _: &BatchPlan| {
            let is_lost = spec.windows.is_some() && left > 0;
            left -= u32::from(is_lost);
            is_lost.then_some((None, None, "killed"))
        };
        failing(of, Box::new(failure))
    };
    let once = lost_times(1);
    assert_eq!((figure(&once).experiments, &figure(&once).reason), (10, &None));
    let twice = lost_times(2);
    let found = figure(&twice);
    assert_eq!((found.value, found.reason.as_deref()), (None, Some("killed")));
    let later = {
        let mut done = 0;
        let failure = move |spec: &WorkerSpec, _: &BatchPlan| {
            done += u32::from(spec.windows.is_some());
            (spec.windows.is_some() && done > 5).then_some((Some(0), None, "not cold"))
        };
        failing(of, Box::new(failure))
    };
    let found = figure(&later);
    assert_eq!((found.ops, found.reason.as_deref()), (2_500, Some("op 0 of a batch: not cold")));
    assert!(found.value.is_some_and(|value| value > 100.0), "{found:?}");
    assert_eq!(found.rounds.iter().map(|it| it.ops).sum::<u64>(), 2_500);
    for record in [&once, &twice, &later] {
        let row = &record.results[0];
        assert_eq!(row.outcome, RowOutcome::Measured);
        assert!(row.flags.iter().all(|flag| flag != "WORKER_LOST"), "{:?}", row.flags);
    }
}

/// A simulated machine whose user presses Ctrl-C before a worker of a study method.
struct InterruptedSession {
    inner: SimSession,
    workers_left: u32,
}

impl Session for InterruptedSession {
    fn hello(&self) -> &Hello {
        self.inner.hello()
    }

    fn send(&mut self, order: &Order) -> Result<(), HostError> {
        if let Order::Measure { spec, .. } = order
            && spec.windows.is_some()
        {
            self.workers_left = self.workers_left.checked_sub(1).ok_or(HostError::Interrupted)?;
        }
        self.inner.send(order)
    }

    fn next(&mut self, patience: Duration) -> Result<Event, HostError> {
        self.inner.next(patience)
    }
}

#[test]
fn ctrl_c_keeps_the_rounds_that_were_done() {
    let of = study_method(TimingScope::Each, Statistic::MeanAndDeviation);
    let subject = SimulatedSubject::op(Truth::QUIET);
    let inner = SimSession::new(vec![subject.clone()]);
    let mut session = InterruptedSession { inner, workers_left: 7 };
    let record = measure_with_study_method_in(&mut session, &subject, Some(of), 3);
    assert!(!record.complete);
    let found = figure(&record);
    let rounds: Vec<(u32, u64)> = found.rounds.iter().map(|it| (it.round, it.ops)).collect();
    assert_eq!(rounds, [(0, 2_000), (1, 1_500)]);
    assert_eq!((found.experiments, found.ops, &found.reason), (7, 3_500, &None));
    assert!(found.value.is_some() && found.deviation.is_some(), "{found:?}");
}

/// The samples of a worker on a machine that depends on the seed alone: each a single window, or
/// all windows in one.
fn windows_of(shape: Shape, prepared: bool, in_one: bool) -> Vec<Sample> {
    let truth = Truth { op_ns: 20_000.0, contaminated: 0.05, within_sd: 0.2, ..Truth::QUIET };
    let machine = SimulatedMachine::new(&truth, 5, 1e9);
    let mut work = machine.work(shape).with_op_count(4);
    if prepared {
        work = work.with_preparation(|_| Ok(()));
    }
    let mut collector = machine.collector();
    let plan = BatchPlan {
        mode: Mode::S,
        iterations: 1,
        unroll_factors: vec![1],
        groups: 1,
        batch_ns: 20_000.0,
        coarse_clock: false,
    };
    let mut jitter = BatchJitter::new(7);
    let mut samples = Vec::new();
    let mut keep = |sample| samples.push(sample);
    let tag = SampleTag { arm: 0, round: 0, batch: 0 };
    if in_one {
        collector.time_windows(&mut work, &plan, 400, &mut jitter, tag, &mut keep).unwrap();
    } else {
        for _ in 0..400 {
            collector.time_group(&mut work, &plan, &mut jitter, tag, &mut keep).unwrap();
        }
    }
    samples
}

#[test]
fn a_sample_of_many_windows_has_the_mean_and_the_minimum_of_single_ones() {
    for prepared in [false, true] {
        let single = windows_of(Shape::SingleShot, prepared, false);
        let [whole] = windows_of(Shape::SingleShot, prepared, true)[..] else { panic!("one") };
        assert_eq!(single.len(), 400);
        let windows = whole.windows.unwrap();
        assert_eq!((whole.n, windows.count), (4 * 400, 400));
        // Exactly: both saw the same machine.
        assert_eq!(whole.ticks, single.iter().map(|sample| sample.ticks).sum::<i64>());
        let smallest = single.iter().map(|sample| sample.ticks).min().unwrap();
        assert_eq!((windows.smallest_ops, windows.smallest_ticks), (4, smallest));
        let largest = single.iter().map(|sample| sample.ticks).max().unwrap();
        assert!(largest > 20 * smallest, "no window was interrupted: {smallest} to {largest}");
        let switches = single.iter().map(|sample| sample.involuntary_switches).sum::<u32>();
        assert!(switches > 5 && whole.involuntary_switches == switches, "{switches}: {whole:?}");
    }
}

#[test]
fn ops_are_spread_over_the_rounds_and_stored_in_few_samples() {
    let truth = Truth { between_sd: 0.05, within_sd: 0.001, ..Truth::QUIET };
    let of = StudyMethod {
        iterations: 100_000,
        experiments: 1,
        ..study_method(TimingScope::Each, Statistic::Mean)
    };
    let record = measure_with_study_method(&SimulatedSubject::op(truth.clone()), Some(of), 3);
    let found = figure(&record);
    assert_eq!((found.ops, found.iterations, found.experiments), (100_000, 100_000, 1));
    let rounds: Vec<(u32, u64)> = found.rounds.iter().map(|it| (it.round, it.ops)).collect();
    assert_eq!(rounds, [(0, 33_333), (1, 33_333), (2, 33_334)], "a quick run");
    let mean = found.rounds.iter().map(|it| it.value * it.ops as f64).sum::<f64>() / 100_000.0;
    assert!((found.value.unwrap() / mean - 1.0).abs() < 1e-9, "{found:?}");
    // Each round is a process of its own.
    let apart = found.rounds[0].value / found.rounds[1].value - 1.0;
    assert!(apart.abs() > 1e-3, "{found:?}");
    let expected = truth.op_ns + truth.loop_ns + truth.call_ns + truth.inside_ns;
    assert!((found.value.unwrap() / expected - 1.0).abs() < 0.15, "{found:?}");
}
