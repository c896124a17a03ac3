use oscost_model::study_method::{ClockCost, Statistic};

use super::*;
use crate::run::test_pilot::pilot;

fn study_method(timed: TimingScope, iterations: u64, experiments: u32) -> StudyMethod {
    let (statistic, clock) = (Statistic::Mean, ClockCost::Included);
    StudyMethod { timed, iterations, experiments, statistic, clock }
}

fn cost(iteration_ns: f64) -> IterationCost {
    IterationCost { ns: iteration_ns, ops: 1, window_ns: 1e6 }
}

fn plan_for(study_method: StudyMethod, pilot: &BatchPlan, iteration_ns: f64) -> ExperimentPlan {
    fit_to_budget(&study_method, pilot, cost(iteration_ns), TIME_BUDGET).unwrap()
}

#[test]
fn a_study_method_that_fits_is_applied_as_in_the_study() {
    let plan =
        plan_for(study_method(TimingScope::Together, 1_000_000, 1), &pilot(Mode::B, 400), 120.0);
    assert_eq!((plan.experiments, plan.iterations), (1, 1_000_000));
    // With exactly this many iterations, in one window.
    assert_eq!((plan.plan.mode, plan.plan.iterations, plan.plan.groups), (Mode::S, 1_000_000, 1));
    let plan = plan_for(study_method(TimingScope::Each, 1_000, 10), &pilot(Mode::U, 400), 120.0);
    assert_eq!((plan.experiments, plan.iterations), (10, 1_000));
    assert_eq!((plan.plan.mode, plan.plan.iterations, plan.plan.groups), (Mode::B, 1, 1_000));
    assert_eq!(plan.plan.unroll_factors, [1]);
}

#[test]
fn a_study_method_that_takes_too_long_has_fewer_ops_then_fewer_experiments_then_fewer_ops_again() {
    let plan =
        plan_for(study_method(TimingScope::Together, 1_000_000, 10), &pilot(Mode::B, 400), 500.0);
    assert_eq!(plan.experiments, 10);
    assert!((10_000..100_000).contains(&plan.iterations), "{plan:?}");
    let plan = plan_for(
        study_method(TimingScope::Together, 1_000_000, 10_000),
        &pilot(Mode::B, 400),
        500.0,
    );
    assert!((100..130).contains(&plan.experiments), "{plan:?}");
    assert!(plan.iterations >= MIN_ITERATIONS, "{plan:?}");
    let slow = pilot(Mode::S, 1);
    let plan = plan_for(study_method(TimingScope::Together, 1_000, 30), &slow, 2e6);
    assert_eq!((plan.experiments, plan.plan.iterations), (4, 1));
    let plan = plan_for(study_method(TimingScope::Together, 1_000, 30), &slow, 3e7);
    assert_eq!((plan.experiments, plan.iterations), (MIN_EXPERIMENTS, 5));
    let plan = plan_for(study_method(TimingScope::Each, 1_000, 1), &slow, 3e7);
    assert_eq!((plan.experiments, plan.iterations), (1, 28));
    let never =
        fit_to_budget(&study_method(TimingScope::Each, 1_000, 1), &slow, cost(1e10), TIME_BUDGET);
    assert_eq!(never, None);
}

#[test]
fn no_row_has_more_than_ten_thousand_windows() {
    let plan = plan_for(study_method(TimingScope::Each, 1_000_000, 1), &pilot(Mode::B, 400), 10.0);
    assert_eq!(u64::from(plan.plan.groups), MAX_WINDOWS);
    let plan = plan_for(study_method(TimingScope::Each, 1_000_000, 10), &pilot(Mode::B, 400), 10.0);
    assert_eq!((plan.plan.groups, plan.experiments), (1_000, 10));
    let experiment_plan =
        plan_for(study_method(TimingScope::Together, 1_000_000, 1), &pilot(Mode::B, 50), 10.0);
    let chunked = chunked_plan(&pilot(Mode::B, 50), &experiment_plan, cost(10.0));
    assert_eq!((chunked.groups, chunked.iterations, chunked.mode), (10_000, 50, Mode::S));
}

#[test]
fn each_cold_or_long_op_or_returned_figure_has_its_own_window() {
    for mode in [Mode::C, Mode::F, Mode::S] {
        let plan = plan_for(study_method(TimingScope::Together, 50, 1), &pilot(mode, 1), 1e5);
        assert_eq!((plan.plan.mode, plan.plan.iterations, plan.plan.groups), (mode, 1, 50));
    }
    let plan = plan_for(study_method(TimingScope::Together, 50, 1), &pilot(Mode::B, 1), 1e5);
    assert_eq!((plan.plan.iterations, plan.plan.groups), (1, 50), "it fills a batch by itself");
}

#[test]
fn an_iteration_of_many_ops_is_repeated_less_often() {
    let pages = IterationCost { ops: 512, ..cost(1_000.0) };
    let plan = fit_to_budget(
        &study_method(TimingScope::Together, 51_200, 1),
        &pilot(Mode::B, 40),
        pages,
        TIME_BUDGET,
    )
    .unwrap();
    assert_eq!(plan.iterations, 100);
    let plan = fit_to_budget(
        &study_method(TimingScope::Each, 100, 1),
        &pilot(Mode::B, 40),
        pages,
        TIME_BUDGET,
    )
    .unwrap();
    assert_eq!(plan.iterations, 1);
}
