use oscost_model::clock::ClockKind;
use oscost_model::study_method::{ClockCost, Statistic};

use super::*;

fn pilot(mode: Mode, turns: u64) -> BatchPlan {
    BatchPlan {
        mode,
        iterations: turns,
        unroll_factors: vec![1],
        groups: 21,
        batch_ns: 5e4,
        coarse_clock: false,
    }
}

fn study_method(timed: TimingScope, iterations: u64, experiments: u32) -> StudyMethod {
    let (statistic, clock) = (Statistic::Mean, ClockCost::Included);
    StudyMethod { timed, iterations, experiments, statistic, clock }
}

fn taken(turn_ns: f64) -> IterationCost {
    IterationCost { ns: turn_ns, ops: 1, window_ns: 1e6 }
}

fn cut_of(study_method: StudyMethod, pilot: &BatchPlan, turn_ns: f64) -> ExperimentPlan {
    fit_to_budget(&study_method, pilot, taken(turn_ns), TIME_BUDGET).unwrap()
}

#[test]
fn a_study_method_that_fits_is_done_as_in_the_study() {
    let of = cut_of(study_method(TimingScope::Together, 1_000_000, 1), &pilot(Mode::B, 400), 120.0);
    assert_eq!((of.experiments, of.iterations), (1, 1_000_000));
    // With exactly this many iterations, in one window.
    assert_eq!((of.plan.mode, of.plan.iterations, of.plan.groups), (Mode::S, 1_000_000, 1));
    let of = cut_of(study_method(TimingScope::Each, 1_000, 10), &pilot(Mode::U, 400), 120.0);
    assert_eq!((of.experiments, of.iterations), (10, 1_000));
    assert_eq!((of.plan.mode, of.plan.iterations, of.plan.groups), (Mode::B, 1, 1_000));
    assert_eq!(of.plan.unroll_factors, [1]);
}

#[test]
fn a_study_method_that_would_take_too_long_has_fewer_ops_then_fewer_experiments_then_what_fits() {
    let of =
        cut_of(study_method(TimingScope::Together, 1_000_000, 10), &pilot(Mode::B, 400), 500.0);
    assert_eq!(of.experiments, 10);
    assert!((10_000..100_000).contains(&of.iterations), "{of:?}");
    let of =
        cut_of(study_method(TimingScope::Together, 1_000_000, 10_000), &pilot(Mode::B, 400), 500.0);
    assert!((100..130).contains(&of.experiments), "{of:?}");
    assert!(of.iterations >= MIN_ITERATIONS, "{of:?}");
    let slow = pilot(Mode::S, 1);
    let of = cut_of(study_method(TimingScope::Together, 1_000, 30), &slow, 2e6);
    assert_eq!((of.experiments, of.plan.iterations), (4, 1));
    let of = cut_of(study_method(TimingScope::Together, 1_000, 30), &slow, 3e7);
    assert_eq!((of.experiments, of.iterations), (MIN_EXPERIMENTS, 5));
    let of = cut_of(study_method(TimingScope::Each, 1_000, 1), &slow, 3e7);
    assert_eq!((of.experiments, of.iterations), (1, 28));
    let never =
        fit_to_budget(&study_method(TimingScope::Each, 1_000, 1), &slow, taken(1e10), TIME_BUDGET);
    assert_eq!(never, None);
}

#[test]
fn no_row_has_more_than_ten_thousand_windows() {
    let of = cut_of(study_method(TimingScope::Each, 1_000_000, 1), &pilot(Mode::B, 400), 10.0);
    assert_eq!(u64::from(of.plan.groups), MAX_WINDOWS);
    let of = cut_of(study_method(TimingScope::Each, 1_000_000, 10), &pilot(Mode::B, 400), 10.0);
    assert_eq!((of.plan.groups, of.experiments), (1_000, 10));
    let cut = cut_of(study_method(TimingScope::Together, 1_000_000, 1), &pilot(Mode::B, 50), 10.0);
    let pieces = chunked_plan(&pilot(Mode::B, 50), &cut, taken(10.0));
    assert_eq!((pieces.groups, pieces.iterations, pieces.mode), (10_000, 50, Mode::S));
}

#[test]
fn a_cold_or_found_or_long_op_is_alone_in_its_window() {
    for mode in [Mode::C, Mode::F, Mode::S] {
        let of = cut_of(study_method(TimingScope::Together, 50, 1), &pilot(mode, 1), 1e5);
        assert_eq!((of.plan.mode, of.plan.iterations, of.plan.groups), (mode, 1, 50));
    }
    let of = cut_of(study_method(TimingScope::Together, 50, 1), &pilot(Mode::B, 1), 1e5);
    assert_eq!((of.plan.iterations, of.plan.groups), (1, 50), "it fills a batch by itself");
}

#[test]
fn an_iteration_of_many_ops_is_repeated_less_often() {
    let pages = IterationCost { ops: 512, ..taken(1_000.0) };
    let of = fit_to_budget(
        &study_method(TimingScope::Together, 51_200, 1),
        &pilot(Mode::B, 40),
        pages,
        TIME_BUDGET,
    )
    .unwrap();
    assert_eq!(of.iterations, 100);
    let of = fit_to_budget(
        &study_method(TimingScope::Each, 100, 1),
        &pilot(Mode::B, 40),
        pages,
        TIME_BUDGET,
    )
    .unwrap();
    assert_eq!(of.iterations, 1);
}

#[test]
fn samples_show_the_cost_of_an_iteration_and_its_ops() {
    let clock = Calibration {
        kind: ClockKind::Tsc,
        ticks_per_ns: 2.0,
        quantum_ticks: 1.0,
        inside_ticks: 0.0,
        pair_ticks: 0.0,
    };
    let of = |mode, turns: u64, copies: &[u32], samples: &[(u64, i64)]| {
        let plan = BatchPlan { unroll_factors: copies.to_vec(), ..pilot(mode, turns) };
        let sample = |&(n, ticks): &(u64, i64)| Sample { n, ticks, ..Sample::default() };
        let samples: Vec<Sample> = samples.iter().map(sample).collect();
        IterationCost::from_samples(&samples, &plan, &clock, Duration::from_millis(1))
    };
    let batches = of(Mode::B, 100, &[1], &[(95 * 8, 20_000), (105 * 8, 20_000)]).unwrap();
    assert_eq!(batches, IterationCost { ns: 100.0, ops: 8, window_ns: 5e5 });
    let unrolled = of(Mode::U, 10, &[1, 2], &[(10, 100), (20, 200)]).unwrap();
    assert_eq!((unrolled.ns, unrolled.ops), (5.0, 1));
    let unnamed = of(Mode::B, 10, &[], &[(10, 200)]).unwrap();
    assert_eq!((unnamed.ns, unnamed.ops), (10.0, 1));
    assert_eq!(of(Mode::S, 1, &[1], &[]), None);
}

#[test]
fn before_its_first_worker_a_row_is_planned_with_its_pilot() {
    let unrolled = BatchPlan { unroll_factors: vec![1, 2, 4, 8], ..pilot(Mode::U, 625) };
    assert_eq!(IterationCost::from_pilot(&unrolled).ns, 10.0);
    let batched = IterationCost::from_pilot(&pilot(Mode::B, 500));
    assert_eq!((batched.ns, batched.ops), (100.0, 1));
    let cold = IterationCost::from_pilot(&pilot(Mode::C, 1));
    assert!(cold.window_ns > EVICTION_NS, "{cold:?}");
}
