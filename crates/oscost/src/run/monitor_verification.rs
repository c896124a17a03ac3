//! Verification of a monitor's report against the calls that were made.
//!
//! The cost of a monitor is only valid if it observed every call. The calls of the counted process
//! are known exactly, so both numbers must be equal there; of the timed ops it must have observed
//! at least as many calls as they make, since it observes all processes. Otherwise the row fails.

use oscost_model::calls::CallCount;
use oscost_model::journal::Entry;
use oscost_model::monitor_report::MonitorReport;
use oscost_model::record::RowOutcome;
use oscost_model::treatment::AttachedTreatment;

use super::error::RunError;
use super::jobs::job::JobFailure;
use super::state::Run;

/// The result of detaching treatments: the report of a monitor, if one was among them, or why it
/// failed.
pub(super) type MonitorResult = Result<Option<MonitorReport>, String>;

/// How many ops of a row were timed.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedOps {
    pub(super) row: usize,
    pub(super) ops: u64,
}

/// Whether a monitor that reports its calls is among the attached treatments.
pub(super) fn has_reporting_monitor(attached: &[AttachedTreatment]) -> bool {
    attached.iter().any(|it| matches!(it, AttachedTreatment::Ph { .. }))
}

/// The report of the monitor, or why there is none.
fn report_of(result: &MonitorResult) -> Result<&MonitorReport, String> {
    match result {
        Ok(Some(report)) => Ok(report),
        Ok(None) => Err("the monitor did not report".to_owned()),
        Err(reason) => Err(format!("the monitor did not report: {reason}")),
    }
}

/// The calls of the counted process that it observed, if they are all of its calls.
fn verify_counted_ops(count: Option<&CallCount>, report: &MonitorReport) -> Result<u64, String> {
    let counted =
        count.and_then(|count| Some((count.counted_pid?, count.own.values().sum::<u64>())));
    let Some((pid, made)) = counted else {
        let reason = "its calls could not be counted, so the monitor cannot be verified";
        return Err(reason.to_owned());
    };
    match report.calls_of_pid(pid) {
        Some(observed) if observed == made => Ok(observed),
        Some(observed) => Err(format!(
            "the monitor observed {observed} calls in the counted ops, which made {made}"
        )),
        None => Err("the monitor did not observe the counted ops".to_owned()),
    }
}

/// Checks that it observed at least as many calls as the timed ops made.
fn verify_timed_ops(made: f64, observed: u64) -> Result<(), String> {
    match observed as f64 >= made {
        true => Ok(()),
        false => Err(format!(
            "the monitor observed {observed} calls of all processes, but the timed ops alone made \
             {made:.0}"
        )),
    }
}

fn void_row(reason: &str) -> JobFailure {
    JobFailure::new(RowOutcome::Failed, format!("void: {reason}"))
}

impl Run<'_> {
    /// Detaches the treatments of a job, if there is one.
    pub(super) fn detach(&mut self, job: Option<u64>) -> Result<MonitorResult, RunError> {
        match job {
            Some(id) => Ok(self.workers.detach(id)?),
            None => Ok(Ok(None)),
        }
    }

    /// Verifies the counted calls of these rows against the report of the monitor that observed
    /// them.
    pub(super) fn verify_counted_rows(&mut self, rows: &[usize], result: &MonitorResult) {
        for &row in rows {
            let it = &self.rows[row];
            let is_program = it.planned.workload.is_some();
            if it.given_up || is_program || !has_reporting_monitor(&it.treatments.attached) {
                continue;
            }
            let count = it.count.as_ref();
            match report_of(result)
                .and_then(|report| Ok((verify_counted_ops(count, report)?, report)))
            {
                Ok((observed, report)) => self.emit_monitor_report(row, Some(observed), report),
                Err(reason) => self.give_up(row, void_row(&reason)),
            }
        }
    }

    /// Verifies the timed ops of these rows against the reports of the monitor that observed them.
    /// The error says why none of them is valid.
    pub(super) fn verify_timed_rows(
        &mut self,
        timed: &[TimedOps],
        results: &[MonitorResult],
    ) -> Result<(), JobFailure> {
        let is_monitored =
            |it: &TimedOps| has_reporting_monitor(&self.rows[it.row].treatments.attached);
        let timed: Vec<TimedOps> = timed.iter().copied().filter(is_monitored).collect();
        if timed.is_empty() {
            return Ok(());
        }
        let calls = |&TimedOps { row, ops }: &TimedOps| {
            let entries = self.rows[row].count.as_ref().map_or(0.0, CallCount::entries_per_op);
            entries * ops as f64
        };
        let made = timed.iter().map(calls).sum();
        let reports = results.iter().map(report_of).collect::<Result<Vec<_>, _>>();
        let reports = reports.map_err(|reason| void_row(&reason))?;
        verify_timed_ops(made, reports.iter().map(|report| report.calls).sum())
            .map_err(|reason| void_row(&reason))?;
        for TimedOps { row, .. } in timed {
            reports.iter().for_each(|report| self.emit_monitor_report(row, None, report));
        }
        Ok(())
    }

    fn emit_monitor_report(
        &mut self,
        row: usize,
        observed_calls: Option<u64>,
        report: &MonitorReport,
    ) {
        let (profile_state, anomalies) = (report.profile_state.clone(), report.anomalies);
        let row = row as u32;
        self.emit(Entry::MonitorReported { row, observed_calls, profile_state, anomalies });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(pid: u32, calls: u64) -> CallCount {
        let own = [("getppid".to_owned(), calls)].into();
        CallCount { ops: 23, own, counted_pid: Some(pid), ..CallCount::default() }
    }

    #[test]
    fn each_call_of_the_counted_process_must_be_observed() {
        let mut report = MonitorReport::default();
        report.add_marked(7, 20);
        report.add_marked(7, 3);
        assert_eq!(verify_counted_ops(Some(&count(7, 23)), &report), Ok(23));
        for made in [22, 24] {
            let reason = verify_counted_ops(Some(&count(7, made)), &report).unwrap_err();
            assert!(
                reason.contains("observed 23 calls") && reason.contains(&made.to_string()),
                "{reason}"
            );
        }
        assert!(verify_counted_ops(Some(&count(8, 23)), &report).is_err(), "another process");
        assert!(verify_counted_ops(None, &report).is_err(), "not counted");
    }

    #[test]
    fn an_op_without_calls_is_observed_by_its_marks() {
        let mut report = MonitorReport::default();
        assert!(verify_counted_ops(Some(&count(7, 0)), &report).is_err());
        report.add_marked(7, 0);
        assert_eq!(verify_counted_ops(Some(&count(7, 0)), &report), Ok(0));
    }

    #[test]
    fn at_least_the_calls_of_the_timed_ops_must_be_observed() {
        assert_eq!(verify_timed_ops(1_000.0, 1_000), Ok(()));
        assert_eq!(verify_timed_ops(0.0, 1_000), Ok(()));
        assert!(verify_timed_ops(1_001.0, 1_000).is_err());
    }

    #[test]
    fn a_monitor_without_a_report_is_not_verified() {
        assert!(report_of(&Ok(None)).is_err());
        assert!(report_of(&Err("no room".to_owned())).unwrap_err().contains("no room"));
    }
}
