//! Each deliberate fault, and the test of the method that goes red for it. A suite that cannot see
//! these proves nothing.

use oscost_model::fault_injection::{InjectedFault, with_fault};

use crate::comparison_checks;
use crate::sim::checks::{self, Verdict};

/// The check is red while the sin is committed.
fn seen(sin: InjectedFault, check: fn() -> Verdict) {
    let verdict = with_fault(sin, check);
    let found = verdict.expect_err("the sin was not seen");
    println!("{sin:?}: {found}");
}

#[test]
fn pooled_batches_are_seen_by_s4() {
    seen(InjectedFault::PooledBatches, checks::s4_hierarchy);
}

#[test]
fn long_batches_are_seen_by_s1() {
    seen(InjectedFault::LongBatches, checks::s1_pipeline);
}

#[test]
fn clamping_at_zero_is_seen_by_s1_for_an_op_of_no_cost() {
    seen(InjectedFault::ClampAtZero, checks::s1_nothing);
}

#[test]
fn a_minimum_as_headline_is_seen_by_s1() {
    seen(InjectedFault::MinimumAsEstimate, checks::s1_pipeline);
}

#[test]
fn deleting_by_value_is_seen_by_s13() {
    seen(InjectedFault::OutlierRemoval, checks::s13_slow_path);
}

#[test]
fn no_warm_up_is_seen_by_s1_with_a_cold_start() {
    seen(InjectedFault::NoWarmUp, checks::s1_cold_start);
}

#[test]
fn the_smallest_step_as_quantum_is_seen_by_s20() {
    seen(InjectedFault::SmallestStep, checks::s20_pathologies);
}

#[test]
fn stopping_at_the_first_narrow_look_is_seen_by_s6() {
    seen(InjectedFault::PeekAndStop, checks::s6_stopping);
}

#[test]
fn repetitions_back_to_back_are_seen_on_a_drifting_machine() {
    seen(InjectedFault::BackToBack, checks::spread_repetitions);
}

#[test]
fn first_one_side_and_then_the_other_is_seen_by_s7() {
    seen(InjectedFault::AThenB, comparison_checks::s7_pairs);
}

#[test]
fn two_runs_taken_for_one_are_seen_by_s7_apart() {
    seen(InjectedFault::RunsAsInterleaved, comparison_checks::s7_apart);
    seen(InjectedFault::RunsAsInterleaved, comparison_checks::apart_power);
}

#[test]
fn forgotten_pairs_are_seen_by_s8_and_s9() {
    seen(InjectedFault::PairingIgnored, comparison_checks::s8_five_per_cent);
    seen(InjectedFault::PairingIgnored, comparison_checks::s9_five_per_cent_in_noise);
}

#[test]
fn no_difference_seen_and_equivalence_claimed_is_seen_by_s10() {
    seen(InjectedFault::AbsenceIsEquivalence, comparison_checks::s10_equivalence);
}

#[test]
fn every_row_judged_alone_is_seen_by_s11() {
    seen(InjectedFault::NoMultiplicityCorrection, comparison_checks::s11_many_rows);
}

#[test]
fn an_effect_that_shows_every_second_time_is_seen_by_s12() {
    seen(InjectedFault::HalfThePower, comparison_checks::s12_smallest_effect);
}
