//! The lost time of a worker.

use super::*;

#[test]
fn lost_time_is_unknown_for_an_op_that_switches_by_itself() {
    let delayed = Disturbance {
        wall_ns: 1_000,
        cpu_ns: 400,
        run_delay_ns: Some(500),
        ..Disturbance::default()
    };
    assert_eq!(delayed.lost_pct(true), None);
    assert_eq!(delayed.lost_pct(false), Some(60.0));
}
