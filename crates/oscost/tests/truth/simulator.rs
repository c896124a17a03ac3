//! The method with known true values: the real pipeline on a simulated machine
//! (docs/explanation/METHOD.md, section 10; S2 to S4 and S6 of the statistics alone are in
//! `coverage.rs`).

use std::cell::Cell;
use std::rc::Rc;

use crate::sim::{SimulatedSubject, checks, measure_one};
use oscost_model::worker::{BatchPlan, Mode};
use oscost_worker::bench::{OpError, Shape, Work};
use oscost_worker::engine::calibrate;
use oscost_worker::engine::collect::{BatchJitter, SampleTag};
use oscost_worker::engine::pilot::pilot;
use oscost_worker::engine::simulator::{SimulatedMachine, Truth};
use oscost_worker::kernel::Errno;

fn passes(result: checks::CheckResult) {
    match result {
        Ok(found) => println!("{found}"),
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn s1_the_pipeline_is_unbiased_and_its_intervals_cover_on_a_contended_machine() {
    passes(checks::s1_pipeline());
}

#[test]
fn s1_an_op_without_a_cost_is_as_often_below_zero_as_above() {
    passes(checks::s1_nothing());
}

#[test]
fn s1_every_mode_finds_the_truth() {
    passes(checks::s1_modes());
}

#[test]
fn s1_a_cold_start_does_not_bias_the_estimate() {
    passes(checks::s1_cold_start());
}

#[test]
fn s4_six_processes_cover_however_much_they_differ() {
    passes(checks::s4_hierarchy(1_000, &[0.0, 0.005, 0.01, 0.02, 0.05]));
}

#[test]
fn s5_autocorrelated_batches_do_not_narrow_the_interval() {
    passes(checks::s5_autocorrelation());
}

#[test]
fn s5_control_an_interval_over_raw_batches_covers_too_little() {
    let coverage = checks::s5_raw_batches();
    assert!(coverage < 0.85, "{coverage}");
}

#[test]
fn s6_stopping_at_two_narrow_looks_keeps_the_coverage() {
    passes(checks::s6_stopping(4_000));
}

#[test]
fn s13_rejection_by_covariate_is_unbiased() {
    passes(checks::s13_rejection());
}

#[test]
fn s13_a_real_slow_path_remains_in_the_quantiles() {
    passes(checks::s13_slow_path());
}

#[test]
fn s14_contamination_is_rejected_or_the_row_is_unmeasurable() {
    passes(checks::s14_contamination());
}

#[test]
fn s19_a_coarse_clock_is_unbiased_or_flagged() {
    passes(checks::s19_quantum_sweep());
}

#[test]
fn s20_faulty_counters_are_refused_flagged_or_measured_correctly() {
    passes(checks::s20_pathologies());
}

#[test]
fn s20_the_next_clock_replaces_an_unusable_one_and_the_record_says_why() {
    passes(checks::s20_unusable_clocks());
}

#[test]
fn s21_counters_that_are_taken_in_the_middle_of_a_run_leave_the_row_and_what_was_counted() {
    passes(checks::s21_taken_counters());
}

#[test]
fn s26_work_that_one_op_does_for_many_is_in_the_instructions_of_an_op() {
    passes(checks::s26_amortized_work());
}

#[test]
fn s27_work_that_the_kernel_does_later_is_in_the_instructions_of_an_op() {
    passes(checks::s27_deferred_work());
}

#[test]
fn equal_cases_on_a_drifting_machine_do_not_differ() {
    passes(checks::spread_repetitions());
}

#[test]
fn a_loop_that_belongs_to_the_op_is_never_unrolled() {
    for op_ns in [1.5, 20.0, 124.0] {
        let machine = SimulatedMachine::new(&Truth { op_ns, ..Truth::QUIET }, 1, 1e9);
        let clock = calibrate::calibrate(&mut machine.clock()).unwrap().calibration;
        let mut work = machine.work(Shape::WithLoop);
        let plan = pilot(&mut machine.collector(), &mut work, &clock, 0.0).unwrap();
        assert_eq!((plan.mode, &plan.unroll_factors[..]), (Mode::B, &[1][..]), "{op_ns} ns");
        let batch_ns = plan.iterations as f64 * (op_ns + Truth::QUIET.loop_ns);
        assert!((40_000.0..60_000.0).contains(&batch_ns), "{op_ns} ns: {batch_ns} ns");
    }
}

#[test]
fn a_batch_has_no_more_ops_than_its_work_allows_and_is_flagged_if_it_is_too_short() {
    for (op_ns, max_ops, mode, coarse) in [
        (600.0, u64::MAX, Mode::B, false),
        (600.0, 256, Mode::B, false),
        // 36 ops of 600 ns are still 1000 times the clock's overhead; 9 are not.
        (600.0, 40, Mode::B, false),
        (600.0, 10, Mode::B, true),
        (20.0, 1_000, Mode::U, false),
        (20.0, 64, Mode::U, true),
        (80_000.0, 1, Mode::S, false),
    ] {
        let prepared = Rc::new(Cell::new(0));
        let max_prepared = Rc::clone(&prepared);
        let machine = SimulatedMachine::new(&Truth { op_ns, ..Truth::QUIET }, 1, 1e9);
        let clock = calibrate::calibrate(&mut machine.clock()).unwrap().calibration;
        let mut work =
            machine.work(Shape::Repeat).with_max_batch_ops(max_ops).with_preparation(move |ops| {
                max_prepared.set(max_prepared.get().max(ops));
                Ok(())
            });
        let mut collector = machine.collector();
        let plan = pilot(&mut collector, &mut work, &clock, 0.0).unwrap();
        assert_eq!(
            (plan.mode, plan.coarse_clock),
            (mode, coarse),
            "{op_ns} ns, {max_ops}: {plan:?}"
        );
        let mut jitter = BatchJitter::new(7);
        for round in 0..50 {
            let tag = SampleTag { arm: 0, round, batch: 0 };
            collector.time_group(&mut work, &plan, &mut jitter, tag, &mut |_| ()).unwrap();
        }
        assert!(prepared.get() <= max_ops, "{op_ns} ns: {} ops, not {max_ops}", prepared.get());
    }
}

#[test]
fn a_batch_with_too_many_ops_is_refused() {
    let machine = SimulatedMachine::new(&Truth::QUIET, 1, 1e9);
    let mut work = machine.work(Shape::Repeat).with_max_batch_ops(10);
    assert_eq!(work.prepare(10), Ok(()));
    assert_eq!(work.prepare(11), Err(OpError { op: 0, errno: Errno::E2BIG }));
}

#[test]
fn each_cold_shot_is_preceded_by_one_eviction() {
    let (evicted, done) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(0)));
    let (evictions, ops_so_far) = (Rc::clone(&evicted), Rc::clone(&done));
    let evict = move || {
        assert_eq!(evictions.get(), ops_so_far.get(), "an eviction too many");
        evictions.set(evictions.get() + 1);
        Ok(())
    };
    let (evictions, ops) = (Rc::clone(&evicted), Rc::clone(&done));
    let op = move || {
        ops.set(ops.get() + 1);
        assert_eq!(evictions.get(), ops.get(), "an op too many");
        Ok(())
    };
    let mut work = Work::cold(evict, op);
    let machine = SimulatedMachine::new(&Truth::QUIET, 1, 1e9);
    let plan = BatchPlan {
        mode: Mode::C,
        iterations: 1,
        unroll_factors: vec![1],
        groups: 21,
        batch_ns: 1_000.0,
        coarse_clock: false,
    };
    let mut collector = machine.collector();
    collector.warm_up(&mut work, &plan).unwrap();
    let mut jitter = BatchJitter::new(7);
    for round in 0..plan.groups {
        let tag = SampleTag { arm: 0, round, batch: round };
        collector.time_group(&mut work, &plan, &mut jitter, tag, &mut |_| ()).unwrap();
    }
    assert_eq!((evicted.get(), done.get()), (21, 21));
}

#[test]
fn a_worker_makes_as_many_cold_passes_as_fit_into_a_tenth_of_a_second() {
    // Preempted a hundred times per second, so that no long pass is undisturbed.
    for (pass_ns, reads, groups) in
        [(6e9, 1 << 24, 1), (6e7, 8_192, 1), (3e7, 4_096, 3), (1e6, 16, 21), (3e8, 1, 21)]
    {
        let truth = Truth { op_ns: pass_ns, preemptions_per_s: 100.0, ..Truth::QUIET };
        let machine = SimulatedMachine::new(&truth, 1, 1e9);
        let clock = calibrate::calibrate(&mut machine.clock()).unwrap().calibration;
        let runs = Rc::new(Cell::new(0));
        let prepared = Rc::clone(&runs);
        let mut work = machine.work(Shape::Cold).with_op_count(reads).with_preparation(move |_| {
            prepared.set(prepared.get() + 1);
            Ok(())
        });
        let plan = pilot(&mut machine.collector(), &mut work, &clock, 0.0).unwrap();
        assert_eq!((plan.mode, plan.groups), (Mode::C, groups), "{pass_ns} ns: {plan:?}");
        assert!(pass_ns < 5e8 || runs.get() == 1, "{pass_ns} ns: {} readings", runs.get());
    }
}

#[test]
fn a_cold_row_stops_at_a_goal_five_times_as_wide() {
    let truth = Truth { op_ns: 3_000.0, between_sd: 0.06, ..Truth::QUIET };
    let warm = measure_one(&SimulatedSubject::op(truth.clone()), checks::DEFAULT, 3);
    let cold = SimulatedSubject { shape: Shape::Cold, ..SimulatedSubject::op(truth) };
    let cold = measure_one(&cold, checks::DEFAULT, 3);
    let (warm, cold) = (warm.estimate.unwrap(), cold.estimate.unwrap());
    assert!(cold.converged && cold.repetitions < warm.repetitions, "{cold:?}\n{warm:?}");
    assert!((2.0..=10.0).contains(&cold.half_width_pct.unwrap()), "{cold:?}");
}
