//! The values and the rejected batches of made-up samples.

use oscost_model::clock::ClockKind;

use super::*;

const CLOCK: Calibration = Calibration {
    kind: ClockKind::Tsc,
    ticks_per_ns: 2.0,
    quantum_ticks: 1.0,
    inside_ticks: 40.0,
    pair_ticks: 80.0,
};

fn plan(mode: Mode, unroll_factors: &[u32]) -> BatchPlan {
    BatchPlan {
        mode,
        iterations: 100,
        unroll_factors: unroll_factors.to_vec(),
        groups: 21,
        batch_ns: 50_000.0,
        coarse_clock: false,
    }
}

fn context(plan: &BatchPlan) -> SampleContext<'_> {
    let unit = Unit::NsPerOp;
    SampleContext { plan, clock: &CLOCK, unit, switches: false, major_faults: false }
}

fn sample(round: u32, n: u64, ticks: i64) -> Sample {
    Sample { round, batch: round, n, ticks, cpu_ns: None, ..Sample::default() }
}

#[test]
fn a_batch_is_its_ticks_over_its_ops_and_nothing_is_subtracted() {
    let plan = plan(Mode::B, &[1]);
    let samples: Vec<Sample> = (0..7).map(|round| sample(round, 100, 20_000)).collect();
    let value = worker_value(&samples, 0, context(&plan));
    assert_eq!(value.value, Some(100.0));
    assert_eq!(value.raw, Some(100.0));
    assert_eq!(value.clock_ns, Some(0.2));
}

#[test]
fn a_slope_excludes_loop_and_clock() {
    let plan = plan(Mode::U, &[1, 2, 4, 8]);
    // 40 ticks of clock, half a tick per iteration, 3 ticks per op.
    let samples: Vec<Sample> = (0..5)
        .flat_map(|round| {
            [1u64, 2, 4, 8].map(|factor| sample(round, 100 * factor, 90 + 300 * factor as i64))
        })
        .collect();
    let value = worker_value(&samples, 0, context(&plan));
    assert_eq!(value.value, Some(1.5));
    assert_eq!(value.raw, Some(1.95));
    assert_eq!((value.batches, value.samples), (5, 20));
}

#[test]
fn a_single_shot_may_be_negative() {
    let plan = plan(Mode::S, &[1]);
    let samples: Vec<Sample> = (0..5).map(|round| sample(round, 1, 30)).collect();
    assert_eq!(worker_value(&samples, 0, context(&plan)).value, Some(-5.0));
}

#[test]
fn only_covariates_reject_and_both_figures_are_kept() {
    let plan = plan(Mode::B, &[1]);
    let mut samples: Vec<Sample> = (0..9).map(|round| sample(round, 100, 20_000)).collect();
    samples[0].ticks = 9_000_000; // Slow but undisturbed: it is kept.
    for slow in &mut samples[6..9] {
        slow.involuntary_switches = 1;
        slow.ticks = 40_000;
    }
    let value = worker_value(&samples, 0, context(&plan));
    assert_eq!(value.rejected, BTreeMap::from([("preempted".to_owned(), 3)]));
    assert_eq!((value.batches, value.value), (6, Some(100.0)));
    assert!(value.sd.unwrap() > 1_000.0);
}

#[test]
fn a_worker_with_too_few_clean_batches_has_no_value() {
    let plan = plan(Mode::B, &[1]);
    let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 100, 20_000)).collect();
    for hit in &mut samples[..9] {
        hit.involuntary_switches = 1;
    }
    let value = worker_value(&samples, 0, context(&plan));
    assert_eq!((value.value, value.value_all), (None, Some(100.0)));
}

#[test]
fn a_worker_of_a_single_pass_has_its_value_if_that_is_clean() {
    let plan = BatchPlan { groups: 1, ..plan(Mode::C, &[1]) };
    let pass = sample(0, 16_384, 2 * 16_384 * 30 + 40);
    assert_eq!(worker_value(&[pass], 0, context(&plan)).value, Some(30.0));
    let preempted = Sample { involuntary_switches: 1, ..pass };
    assert_eq!(worker_value(&[preempted], 0, context(&plan)).value, None);
    assert_eq!(worker_value(&[], 0, context(&plan)).value, None);
    // Of three, all are needed.
    let plan = BatchPlan { groups: 3, ..plan };
    assert_eq!(worker_value(&[pass, pass], 0, context(&plan)).value, None);
    assert_eq!(worker_value(&[pass, pass, pass], 0, context(&plan)).value, Some(30.0));
}

#[test]
fn an_op_that_switches_itself_is_not_rejected_for_it() {
    let plan = plan(Mode::B, &[1]);
    let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 100, 20_000)).collect();
    for hit in &mut samples {
        hit.involuntary_switches = 1;
    }
    let context = SampleContext { switches: true, ..context(&plan) };
    assert_eq!(worker_value(&samples, 0, context).value, Some(100.0));
}

#[test]
fn a_major_fault_is_a_disturbance_unless_the_op_waits_for_a_disk() {
    let plan = plan(Mode::C, &[1]);
    let mut samples: Vec<Sample> = (0..21).map(|round| sample(round, 1, 2_040)).collect();
    for waited in &mut samples {
        waited.major_faults = 1;
    }
    let disturbed = worker_value(&samples, 0, context(&plan));
    assert_eq!((disturbed.value, disturbed.rejected["major-fault"]), (None, 21));
    let context = SampleContext { major_faults: true, ..context(&plan) };
    assert_eq!(worker_value(&samples, 0, context).value, Some(1_000.0));
}

#[test]
fn throughput_is_the_inverse_of_the_slope() {
    let plan = plan(Mode::T, &[1, 2]);
    let samples: Vec<Sample> = (0..5)
        .flat_map(|round| [sample(round, 1_000, 2_500), sample(round, 2_000, 4_500)])
        .collect();
    let context = SampleContext { unit: Unit::BytesPerSecond, ..context(&plan) };
    assert_eq!(worker_value(&samples, 0, context).value, Some(1e9));
}
