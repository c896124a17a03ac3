use oscost_model::study_method::{ClockCost, Statistic};

use super::*;
use crate::run::rows::test_pilot::pilot;

const DEFAULT: Profile = Profile::Default { precision_pct: 2.0 };

fn study_method(timed: TimingScope, iterations: u64, experiments: u32) -> StudyMethod {
    let (statistic, clock) = (Statistic::Mean, ClockCost::Included);
    StudyMethod { timed, iterations, experiments, statistic, clock }
}

fn cost(iteration_ns: f64) -> IterationCost {
    IterationCost { ns: iteration_ns, ops: 1, window_ns: 1e6 }
}

fn method_cost(study_method: StudyMethod, pilot: &BatchPlan, iteration_ns: f64) -> MethodCost<'_> {
    let limits = Limits::of(DEFAULT, None);
    MethodCost { study_method, pilot, cost: cost(iteration_ns), rehearsed_ns: None, limits }
}

fn plan_in(of: &MethodCost<'_>, limit_ns: f64) -> ExperimentPlan {
    of.fit(limit_ns).unwrap()
}

/// The iterations that each round has in all.
fn iterations_by_round(plan: &ExperimentPlan) -> Vec<u64> {
    let mut found = vec![0; plan.rounds as usize];
    for worker in 0..plan.workers() {
        found[plan.round_of(worker) as usize] += plan.iterations_of(worker);
    }
    found
}

/// The first worker of a plan.
fn first_part(of: &MethodCost<'_>, plan: &ExperimentPlan) -> PartPlan {
    plan.part(of.pilot, of.cost, plan.iterations_of(0))
}

#[test]
fn all_ops_of_a_study_are_made_and_spread_over_the_rounds() {
    let pilot = pilot(Mode::B, 400);
    let million = method_cost(study_method(TimingScope::Together, 1_000_000, 1), &pilot, 120.0);
    let plan = plan_in(&million, 60e9);
    assert_eq!((plan.experiments, plan.iterations, plan.parts), (1, 1_000_000, 10));
    assert_eq!(iterations_by_round(&plan), [100_000; 10]);
    // With exactly this many iterations, in one window.
    let part = first_part(&million, &plan);
    assert_eq!((part.plan.mode, part.plan.iterations, part.plan.groups), (Mode::S, 100_000, 1));
    assert_eq!((part.windows, part.iterations), (None, 100_000));
    let hundred = method_cost(study_method(TimingScope::Each, 1_000, 100), &pilot, 120.0);
    let plan = plan_in(&hundred, 60e9);
    assert_eq!((plan.experiments, plan.iterations, plan.parts), (100, 1_000, 1));
    assert_eq!(iterations_by_round(&plan), [10_000; 10]);
    let experiments: Vec<u32> = (0..plan.workers()).map(|it| plan.experiment_of(it)).collect();
    assert_eq!(experiments, (0..100).collect::<Vec<_>>());
    let four = method_cost(study_method(TimingScope::Each, 1_000, 4), &pilot, 120.0);
    let plan = plan_in(&four, 60e9);
    assert_eq!((plan.parts, plan.workers()), (3, 12));
    assert_eq!(iterations_by_round(&plan).iter().sum::<u64>(), 4_000);
    assert!(iterations_by_round(&plan).iter().all(|&it| it > 0), "{plan:?}");
}

#[test]
fn ten_million_windows_fill_some_thousand_samples() {
    let pilot = BatchPlan { unroll_factors: vec![1, 2, 4, 8], ..pilot(Mode::U, 400) };
    let of = method_cost(study_method(TimingScope::Each, 10_000_000, 1), &pilot, 10.0);
    let plan = plan_in(&of, 60e9);
    assert_eq!((plan.iterations, plan.workers()), (10_000_000, 10));
    let part = first_part(&of, &plan);
    assert_eq!((part.plan.mode, part.plan.iterations), (Mode::B, 1));
    assert_eq!((part.plan.unroll_factors, part.windows), (vec![1], Some(1_000_000)));
    assert_eq!(u64::from(part.plan.groups) * plan.workers(), MAX_SAMPLES);
    // The study's loop, not the accounting around each of its ops.
    let few = method_cost(study_method(TimingScope::Each, 10_000, 1), &pilot, 10.0);
    let plan = plan_in(&few, 60e9);
    assert_eq!(first_part(&few, &plan).plan.groups, 1);
}

#[test]
fn what_takes_too_long_has_fewer_ops_then_fewer_experiments_then_fewer_ops_again() {
    let batches = pilot(Mode::B, 400);
    let of = method_cost(study_method(TimingScope::Each, 1_000_000, 10), &batches, 50_000.0);
    let plan = plan_in(&of, 60e9);
    assert_eq!(plan.experiments, 10);
    assert!((110_000..120_000).contains(&plan.iterations), "{plan:?}");
    assert!(of.plan_ns(&plan) <= 60e9 && of.whole_ns() > 500e9);
    let of = method_cost(study_method(TimingScope::Each, 10_000, 10_000), &batches, 40_000.0);
    let plan = plan_in(&of, 60e9);
    assert!((1_000..1_500).contains(&plan.experiments), "{plan:?}");
    assert!((MIN_ITERATIONS..MIN_ITERATIONS + 20).contains(&plan.iterations), "{plan:?}");
    let slow = pilot(Mode::S, 1);
    let of = method_cost(study_method(TimingScope::Together, 1_000, 30), &slow, 1e9);
    let plan = plan_in(&of, 60e9);
    assert_eq!(plan.experiments, MIN_EXPERIMENTS);
    assert!((1..20).contains(&plan.iterations), "{plan:?}");
    let never = method_cost(study_method(TimingScope::Each, 1_000, 1), &slow, 1e12);
    assert_eq!(never.fit(60e9), None);
}

#[test]
fn an_op_that_might_not_fit_is_rehearsed_and_planned_with_what_was_found() {
    let pilot = pilot(Mode::B, 400);
    let fork = method_cost(study_method(TimingScope::Each, 10_000, 100), &pilot, 20_000.0);
    let iterations = fork.rehearsal().unwrap();
    assert!((2_000..2_600).contains(&iterations), "{iterations}");
    // Waiting for the child takes four times as long as creating it.
    let known = MethodCost { rehearsed_ns: Some(100_000.0), ..fork };
    assert_eq!(known.iteration_ns(), 100_000.0);
    let plan = plan_in(&known, 60e9);
    assert_eq!(plan.experiments, 100);
    assert!((5_800..6_000).contains(&plan.iterations), "{plan:?}");
    let cheap = method_cost(study_method(TimingScope::Each, 10_000, 100), &pilot, 100.0);
    assert_eq!(cheap.rehearsal(), None);
    let long = method_cost(study_method(TimingScope::Each, 10_000, 100), &pilot, 1e9);
    assert_eq!(long.rehearsal(), None);
}

#[test]
fn with_fewer_ops_than_rounds_a_verdict_still_gets_its_rounds() {
    let cold = pilot(Mode::C, 1);
    // A pass over a file, whose reads are its ops.
    let pass = IterationCost { ns: 6e9, ops: 1 << 24, window_ns: 6.1e9 };
    let of = |experiments| MethodCost {
        study_method: study_method(TimingScope::Together, 1 << 24, experiments),
        pilot: &cold,
        cost: pass,
        rehearsed_ns: None,
        limits: Limits::of(DEFAULT, None),
    };
    for experiments in [1, 3, 6] {
        let plan = plan_in(&of(experiments), 60e9);
        assert_eq!(plan.workers(), 6, "{plan:?}");
        assert_eq!(plan.iterations * u64::from(plan.experiments), 6);
        let rounds: Vec<u32> = (0..6).map(|worker| plan.round_of(worker)).collect();
        assert_eq!(rounds, [0, 1, 3, 5, 6, 8], "the same for each row");
    }
    // Two passes fit.
    let plan = plan_in(&of(1), 15e9);
    assert_eq!((plan.workers(), plan.iterations), (2, 2));
    // A short pass is made in every round.
    for (window_ns, rounds) in [(0.2e9, 10), (1.2e9, 10), (1.3e9, 6)] {
        let cost = IterationCost { window_ns, ..pass };
        let plan = plan_in(&MethodCost { cost, ..of(1) }, 60e9);
        assert_eq!((plan.workers(), plan.iterations), (rounds, rounds), "{window_ns}");
    }
}

#[test]
fn each_cold_or_long_op_or_returned_figure_has_its_own_window() {
    for (mode, iterations) in [(Mode::C, 1), (Mode::F, 1), (Mode::S, 1), (Mode::B, 1)] {
        let pilot = pilot(mode, iterations);
        let of = method_cost(study_method(TimingScope::Together, 50, 1), &pilot, 1e5);
        let part = first_part(&of, &plan_in(&of, 60e9));
        assert_eq!((part.plan.mode, part.plan.iterations, part.windows), (mode, 1, Some(5)));
    }
}

#[test]
fn an_iteration_of_many_ops_is_repeated_less_often() {
    let pilot = pilot(Mode::B, 40);
    let iterations = |study_method| {
        let pages = IterationCost { ops: 512, ..cost(1_000.0) };
        let of = MethodCost { cost: pages, ..method_cost(study_method, &pilot, 0.0) };
        plan_in(&of, 60e9).iterations
    };
    assert_eq!(iterations(study_method(TimingScope::Together, 51_200, 1)), 100);
    assert_eq!(iterations(study_method(TimingScope::Each, 100, 10)), 1);
}

#[test]
fn a_loop_that_cannot_be_prepared_at_once_is_divided_evenly() {
    let pilot = pilot(Mode::B, 3_000);
    let of = method_cost(study_method(TimingScope::Together, 100_000, 1), &pilot, 100.0);
    let whole = plan_in(&of, 60e9);
    let plan = ExperimentPlan { max_loop: Some(3_000), ..whole };
    let part = first_part(&of, &plan);
    assert_eq!((part.plan.iterations, part.windows, part.iterations), (2_500, Some(4), 10_000));
    assert_eq!(part.plan.mode, Mode::S);
    let short = plan.part(&pilot, of.cost, 3_000);
    assert_eq!((short.plan.iterations, short.windows), (3_000, None));
}

#[test]
fn rows_share_the_time_and_none_gets_more_than_it_needs() {
    let share = |needs: &[f64], available| fair_share_ns(needs.iter().copied(), available);
    assert_eq!(share(&[1.0, 2.0, 3.0], 6.0), f64::INFINITY);
    assert_eq!(share(&[1.0, 20.0, 30.0], 11.0), 5.0);
    assert_eq!(share(&[8.0, 8.0], 2.0), 1.0);
    assert_eq!(share(&[8.0], -1.0), 0.0, "the time is up");
    assert_eq!(share(&[], 1.0), f64::INFINITY);
}

#[test]
fn a_quick_run_has_a_twentieth_of_the_time_and_a_requested_limit_is_kept() {
    let (usual, quick) = (Limits::of(DEFAULT, None), Limits::of(Profile::Quick, None));
    assert_eq!(usual.row_ns, 60e9);
    assert_eq!((20.0 * quick.row_ns, 20.0 * quick.all_ns), (usual.row_ns, usual.all_ns));
    assert_eq!((quick.rounds, quick.min_rounds), (3, 3));
    let thorough = Limits::of(Profile::Thorough { precision_pct: 1.0 }, None);
    assert_eq!(thorough.row_ns, 300e9);
    let limited = Limits::of(DEFAULT, Some(Duration::from_secs(7)));
    assert_eq!((limited.row_ns, limited.all_ns), (60e9, 7e9));
}
