//! How the time for prices is divided between two runs.

use super::*;

#[test]
fn a_later_stage_keeps_the_time_of_its_rows() {
    let left = OVERHEAD * 2 + ROW_TIME * 40;
    assert_eq!(stage_time(left, 26, 0), left);
    assert_eq!(stage_time(left, 30, 10), OVERHEAD + ROW_TIME * 30);
    assert_eq!(left - stage_time(left, 10, 30), OVERHEAD + ROW_TIME * 30);
    // Without time for two runs the later one has none: its rows were not chosen beside these.
    assert_eq!(stage_time(OVERHEAD, 1, 1), OVERHEAD);
}

#[test]
fn two_runs_leave_less_time_for_rows_than_one() {
    let left = OVERHEAD * 2 + ROW_TIME * 40;
    assert_eq!(most_rows(left + ROW_TIME / 2, true), 40);
    assert!(most_rows(left, false) > 40);
    assert_eq!(most_rows(OVERHEAD, true), 0);
}
