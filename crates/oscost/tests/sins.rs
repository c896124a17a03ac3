//! Each deliberate fault, and the test of the method that goes red for it. A suite that cannot see
//! these proves nothing.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it found"
)]

mod sim;

use oscost_model::sins::{Sin, commit};
use sim::checks::{self, Verdict};

/// The check is red while the sin is committed.
fn seen(sin: Sin, check: fn() -> Verdict) {
    let verdict = commit(sin, check);
    let found = verdict.expect_err("the sin was not seen");
    println!("{sin:?}: {found}");
}

#[test]
fn pooled_batches_are_seen_by_s4() {
    seen(Sin::PooledBatches, checks::s4_hierarchy);
}

#[test]
fn long_batches_are_seen_by_s1() {
    seen(Sin::LongBatches, checks::s1_pipeline);
}

#[test]
fn clamping_at_zero_is_seen_by_s1_for_an_op_of_no_cost() {
    seen(Sin::ClampAtZero, checks::s1_nothing);
}

#[test]
fn a_minimum_as_headline_is_seen_by_s1() {
    seen(Sin::MinimumHeadline, checks::s1_pipeline);
}

#[test]
fn deleting_by_value_is_seen_by_s13() {
    seen(Sin::OutlierRemoval, checks::s13_slow_path);
}

#[test]
fn no_warm_up_is_seen_by_s1_with_a_cold_start() {
    seen(Sin::NoWarmUp, checks::s1_cold_start);
}

#[test]
fn the_smallest_step_as_quantum_is_seen_by_s20() {
    seen(Sin::SmallestStep, checks::s20_pathologies);
}

#[test]
fn stopping_at_the_first_narrow_look_is_seen_by_s6() {
    seen(Sin::PeekAndStop, checks::s6_stopping);
}

#[test]
fn repetitions_back_to_back_are_seen_on_a_drifting_machine() {
    seen(Sin::BackToBack, checks::spread_repetitions);
}
