//! The method on known truth: the real pipeline on a machine that is made up (docs/METHOD.md,
//! section 10; S2 to S4 and S6 of the statistics alone are in `stats_coverage.rs`).

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test may panic, and says what it found"
)]

mod sim;

use sim::checks;

fn green(verdict: checks::Verdict) {
    match verdict {
        Ok(found) => println!("{found}"),
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn s1_the_pipeline_is_unbiased_and_its_intervals_hold_on_a_contended_machine() {
    green(checks::s1_pipeline());
}

#[test]
fn s1_an_op_of_no_cost_is_as_often_below_zero_as_above() {
    green(checks::s1_nothing());
}

#[test]
fn s1_every_mode_finds_the_truth() {
    green(checks::s1_modes());
}

#[test]
fn s1_a_cold_start_is_warmed_away() {
    green(checks::s1_cold_start());
}

#[test]
fn s4_six_processes_cover_however_much_they_differ() {
    green(checks::s4_hierarchy());
}

#[test]
fn s5_autocorrelated_batches_do_not_narrow_the_interval() {
    green(checks::s5_autocorrelation());
}

#[test]
fn s5_control_an_interval_over_raw_batches_covers_too_little() {
    let coverage = checks::s5_raw_batches();
    assert!(coverage < 0.85, "{coverage}");
}

#[test]
fn s6_stopping_at_two_narrow_looks_keeps_the_coverage() {
    green(checks::s6_stopping());
}

#[test]
fn s13_rejection_by_covariate_is_unbiased() {
    green(checks::s13_rejection());
}

#[test]
fn s13_a_real_slow_path_stays_in_the_quantiles() {
    green(checks::s13_slow_path());
}

#[test]
fn s14_contamination_is_rejected_or_the_row_is_unmeasurable() {
    green(checks::s14_contamination());
}

#[test]
fn s19_a_coarse_clock_is_unbiased_or_flagged() {
    green(checks::s19_quantum_sweep());
}

#[test]
fn s20_ill_counters_are_refused_flagged_or_seen_through() {
    green(checks::s20_pathologies());
}

#[test]
fn s20_on_bad_days_the_next_clock_is_taken_and_the_record_says_why() {
    green(checks::s20_bad_days());
}

#[test]
fn equal_cases_on_a_drifting_machine_do_not_seem_to_differ() {
    green(checks::spread_repetitions());
}
