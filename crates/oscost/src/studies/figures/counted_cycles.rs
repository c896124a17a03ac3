//! The cycles of an op as the processor counted them, where a study's cycles can be compared with them.
//!
//! A study computed its cycles from a clock, over the whole time of an op. Counted ones are those in
//! which the core executed the op, at whatever rate it ran.

use oscost_model::counters::CounterEvent;
use oscost_model::record::{Row, RowOutcome};
use oscost_model::unit::Unit;

/// The part of the time of an op by which that on a CPU may differ from it: so much differs by the
/// accounting of the kernel. An op that waits longer has a time in which its core counts nothing.
const MAX_WAITING_SHARE: f64 = 0.05;

/// The counted core cycles of an op, in user mode and in the kernel; `None` where they were not
/// counted, where the kernel's are not visible, and of an op that waits or whose time on a CPU is
/// unknown (one that creates tasks, a program).
pub fn counted_cycles(row: &Row) -> Option<f64> {
    let is_op = row.outcome == RowOutcome::Measured && row.unit == Unit::NsPerOp;
    let counters = row.counters.as_ref().filter(|it| is_op && it.kernel)?;
    let (running_ns, waiting_ns) = (counters.running_ns?, counters.waiting_ns?);
    let cycles = row.metrics.get(CounterEvent::Cycles.metric())?.estimate.median;
    let is_running = waiting_ns.abs() <= MAX_WAITING_SHARE * (running_ns + waiting_ns);
    (is_running && cycles > 0.0).then_some(cycles)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies::test_record::{CountedOp, measured_row, stored_record, with_counts};

    /// The cycles of a row of 100 ns.
    fn cycles(op: CountedOp) -> Option<f64> {
        let record = stored_record();
        let mut row = measured_row(&record, "syscall/getpid:via=raw", &[100.0; 6]);
        with_counts(&mut row, op);
        counted_cycles(&row)
    }

    #[test]
    fn cycles_of_an_op_that_runs_are_those_of_its_time() {
        let running = CountedOp { cycles: 300.0, running_ns: Some(98.0), waiting_ns: Some(2.0) };
        assert_eq!(cycles(running), Some(300.0));
        // The task's clock may show more than the time between two reads of another clock.
        let more = CountedOp { running_ns: Some(104.0), waiting_ns: Some(-4.0), ..running };
        assert_eq!(cycles(more), Some(300.0));
    }

    #[test]
    fn an_op_that_waits_or_whose_time_on_a_cpu_is_unknown_has_none() {
        let waits = CountedOp { cycles: 300.0, running_ns: Some(80.0), waiting_ns: Some(20.0) };
        assert_eq!(cycles(waits), None);
        // Two tasks that run at the same time have more cycles than their time.
        let both = CountedOp { running_ns: Some(150.0), waiting_ns: Some(-50.0), ..waits };
        assert_eq!(cycles(both), None);
        assert_eq!(cycles(CountedOp { running_ns: None, waiting_ns: None, ..waits }), None);
        let none = CountedOp { cycles: 0.0, running_ns: Some(100.0), waiting_ns: Some(0.0) };
        assert_eq!(cycles(none), None);
    }

    #[test]
    fn cycles_of_user_mode_alone_of_a_rate_and_of_a_lost_row_are_not_compared() {
        let record = stored_record();
        let op = CountedOp { cycles: 300.0, running_ns: Some(100.0), waiting_ns: Some(0.0) };
        let mut row = measured_row(&record, "syscall/getpid:via=raw", &[100.0; 6]);
        assert_eq!(counted_cycles(&row), None, "nothing was counted");
        with_counts(&mut row, op);
        assert_eq!(counted_cycles(&row), Some(300.0));
        let mut user = row.clone();
        user.counters.as_mut().unwrap().kernel = false;
        assert_eq!(counted_cycles(&user), None);
        let rate = Row { unit: Unit::BytesPerSecond, ..row.clone() };
        assert_eq!(counted_cycles(&rate), None);
        let lost = Row { outcome: RowOutcome::Failed, ..row };
        assert_eq!(counted_cycles(&lost), None);
    }
}
