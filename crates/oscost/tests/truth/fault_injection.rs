//! Each injected fault, and the check of the method that detects it. A suite that does not detect
//! them proves nothing.

use oscost_model::fault_injection::{InjectedFault, with_fault};

use crate::comparison_checks;
use crate::sim::checks::{self, CheckResult};

/// Asserts that the check fails with the fault.
fn is_detected(fault: InjectedFault, check: impl FnOnce() -> CheckResult) {
    let result = with_fault(fault, check);
    let found = result.expect_err("the fault was not detected");
    println!("{fault:?}: {found}");
}

/// With fewer runs than the check itself has, which shows the fault in less time, provided that as
/// many show none without it.
fn is_detected_by_few_runs(fault: InjectedFault, check: impl Fn() -> CheckResult) {
    check().expect("without a fault the check passes");
    is_detected(fault, check);
}

#[test]
fn s21_detects_lost_counts_that_are_taken_for_zero() {
    is_detected(InjectedFault::LostCountsAreZero, checks::s21_taken_counters);
}

#[test]
fn s26_detects_that_work_for_many_ops_is_dropped() {
    is_detected(InjectedFault::ShortCountedBatches, checks::s26_amortized_work);
}

#[test]
fn s27_detects_that_work_which_the_kernel_does_later_is_dropped() {
    is_detected(InjectedFault::ShortCountedBatches, checks::s27_deferred_work);
}

#[test]
fn s4_detects_pooled_batches() {
    is_detected_by_few_runs(InjectedFault::PooledBatches, || checks::s4_hierarchy(400, &[0.05]));
}

#[test]
fn s1_detects_long_batches() {
    is_detected(InjectedFault::LongBatches, checks::s1_pipeline);
}

#[test]
fn s1_detects_clamping_at_zero_for_an_op_without_a_cost() {
    is_detected(InjectedFault::ClampAtZero, checks::s1_nothing);
}

#[test]
fn s1_detects_a_minimum_as_estimate() {
    is_detected(InjectedFault::MinimumAsEstimate, checks::s1_pipeline);
}

#[test]
fn s13_detects_rejection_by_value() {
    is_detected(InjectedFault::OutlierRemoval, checks::s13_slow_path);
}

#[test]
fn s1_with_a_cold_start_detects_a_missing_warm_up() {
    is_detected(InjectedFault::NoWarmUp, checks::s1_cold_start);
}

#[test]
fn s20_detects_the_smallest_step_as_resolution() {
    is_detected(InjectedFault::SmallestStep, checks::s20_pathologies);
}

#[test]
fn s6_detects_stopping_at_the_first_narrow_look() {
    is_detected_by_few_runs(InjectedFault::PeekAndStop, || checks::s6_stopping(1_000));
}

#[test]
fn a_drifting_machine_detects_repetitions_back_to_back() {
    is_detected(InjectedFault::BackToBack, checks::spread_repetitions);
}

#[test]
fn s7_detects_one_side_measured_after_the_other() {
    is_detected(InjectedFault::AThenB, comparison_checks::s7_pairs);
}

#[test]
fn s7_separate_runs_detects_two_runs_treated_as_one() {
    is_detected(InjectedFault::RunsAsInterleaved, comparison_checks::s7_separate_runs);
    is_detected(InjectedFault::RunsAsInterleaved, comparison_checks::separate_runs_power);
}

#[test]
fn s8_and_s9_detect_ignored_pairs() {
    is_detected(InjectedFault::PairingIgnored, comparison_checks::s8_five_per_cent);
    is_detected(InjectedFault::PairingIgnored, comparison_checks::s9_five_per_cent_in_noise);
}

#[test]
fn s10_detects_equivalence_claimed_without_evidence() {
    is_detected(InjectedFault::AbsenceIsEquivalence, comparison_checks::s10_equivalence);
}

#[test]
fn s11_detects_rows_judged_alone() {
    is_detected(InjectedFault::NoMultiplicityCorrection, comparison_checks::s11_many_rows);
}

#[test]
fn s12_detects_a_detectable_effect_with_half_the_power() {
    is_detected(InjectedFault::HalfThePower, comparison_checks::s12_smallest_effect);
}
