//! Comparisons against known truth: S7 to S12 of docs/explanation/METHOD.md, section 10. The faults that must
//! turn them red are in `fault_injection.rs`.

use crate::comparison_checks;

fn green(found: comparison_checks::Found) {
    match found {
        Ok(found) => println!("{found}"),
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn s7_runs_in_turns_raise_no_alarm_on_a_machine_that_wanders() {
    green(comparison_checks::s7_pairs());
}

#[test]
fn s7_two_runs_measured_apart_raise_no_alarm_on_a_machine_that_wanders() {
    green(comparison_checks::s7_apart());
}

#[test]
fn a_row_that_is_half_as_dear_again_shows_in_two_runs_measured_apart() {
    green(comparison_checks::apart_power());
}

#[test]
fn s8_five_per_cent_are_found_in_sixteen_pairs() {
    green(comparison_checks::s8_five_per_cent());
}

#[test]
fn s9_five_per_cent_are_found_in_thirty_noisy_pairs() {
    green(comparison_checks::s9_five_per_cent_in_noise());
}

#[test]
fn s10_three_per_cent_are_seldom_called_equivalent_and_nothing_nearly_always() {
    green(comparison_checks::s10_equivalence());
}

#[test]
fn s11_many_rows_raise_few_false_alarms_and_lose_no_true_one() {
    green(comparison_checks::s11_many_rows());
}

#[test]
fn s12_the_smallest_effect_that_is_said_to_show_shows_in_four_of_five() {
    green(comparison_checks::s12_smallest_effect());
}
