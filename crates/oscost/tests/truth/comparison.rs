//! Comparisons with known true effects: S7 to S12 of docs/explanation/METHOD.md, section 10. The
//! injected faults that they must detect are in `fault_injection.rs`.

use crate::comparison_checks;

fn passes(result: comparison_checks::CheckResult) {
    match result {
        Ok(found) => println!("{found}"),
        Err(found) => panic!("{found}"),
    }
}

#[test]
fn s7_alternating_runs_raise_no_alarm_on_a_drifting_machine() {
    passes(comparison_checks::s7_pairs());
}

#[test]
fn s7_two_separate_runs_raise_no_alarm_on_a_drifting_machine() {
    passes(comparison_checks::s7_separate_runs());
}

#[test]
fn s7_runs_in_a_row_raise_no_alarm_on_a_drifting_machine() {
    passes(comparison_checks::s7_runs_in_a_row());
}

#[test]
fn ten_per_cent_are_found_in_five_runs_a_side() {
    passes(comparison_checks::five_runs_a_side());
}

#[test]
fn a_row_that_costs_twice_as_much_is_found_in_two_separate_runs() {
    passes(comparison_checks::separate_runs_power());
}

#[test]
fn s8_five_per_cent_are_found_in_sixteen_pairs() {
    passes(comparison_checks::s8_five_per_cent());
}

#[test]
fn s9_five_per_cent_are_found_in_thirty_noisy_pairs() {
    passes(comparison_checks::s9_five_per_cent_in_noise());
}

#[test]
fn s10_three_per_cent_are_seldom_called_equivalent_and_no_difference_nearly_always() {
    passes(comparison_checks::s10_equivalence());
}

#[test]
fn s11_many_rows_raise_few_false_alarms_and_miss_no_effect() {
    passes(comparison_checks::s11_many_rows());
}

#[test]
fn s12_the_smallest_detectable_effect_is_detected_in_four_of_five() {
    passes(comparison_checks::s12_smallest_effect());
}

#[test]
fn s12_the_smallest_detectable_effect_is_that_of_the_whole_rule() {
    passes(comparison_checks::s12_smallest_effect_among_many());
}

#[test]
fn s12_the_smallest_detectable_effect_of_stored_runs_is_that_of_forty_rows() {
    passes(comparison_checks::stored_runs::s12_smallest_effect());
}

#[test]
fn ten_per_cent_are_found_the_less_often_the_more_rows_are_compared() {
    passes(comparison_checks::stored_runs::ten_per_cent_among_rows());
}

#[test]
fn s7_equal_rows_are_rarely_called_different_whichever_boots_their_runs_are_of() {
    passes(comparison_checks::stored_boots::equal_rows_of_boots());
}

#[test]
fn ten_per_cent_are_found_where_runs_have_boots_of_their_own() {
    passes(comparison_checks::stored_boots::ten_per_cent_by_boots());
}
