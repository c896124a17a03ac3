//! What bills say where the charge is above the system time and the time of both modes holds it.

use oscost_model::bill::Bill;
use oscost_model::program_calls::FormCount;

use super::super::answer;
use crate::report::view::bill::made_up::{bill, priced};

/// 300,000 calls at 176 ns each, 40.2 ms in the kernel and so much in user mode.
fn of_calls(user_s: f64, calls: u64) -> Bill {
    let mut found = bill(vec![priced("getppid", "processes", 300_000.0, 176.0)], 40.2e6);
    found.trials.user.median = user_s;
    let forms = vec![FormCount { form: "getppid".to_owned(), calls, ..FormCount::default() }];
    found.counted.iter_mut().for_each(|counted| counted.calls.forms = forms.clone());
    found
}

fn names_ticks(bill: &Bill) -> bool {
    answer(bill).findings[0].contains("clock ticks may book the entry and the exit of calls")
}

#[test]
fn a_charge_that_both_modes_hold_names_the_clock_ticks() {
    let found = of_calls(0.0117, 300_000);
    assert!(names_ticks(&found), "{:?}", answer(&found).findings);
    assert!(answer(&found).findings[0].contains("user and system time together: 51.9 ms"));
}

#[test]
fn clock_ticks_are_no_excuse_for_what_they_cannot_explain() {
    assert!(!names_ticks(&of_calls(0.001, 300_000)), "both modes do not hold the charge");
    assert!(!names_ticks(&of_calls(5.0, 1_000)), "so few calls do not take so much at their ends");
    let mut open = of_calls(0.0117, 300_000);
    open.difference.iter_mut().for_each(|it| it.ci95 = Some([-25e6, 1e6]));
    assert!(!names_ticks(&open), "the charge may be the system time");
}
