//! Whether the prices of a run are those of a machine as it is now.

use std::time::{Duration, SystemTime};

use oscost_model::record::{Machine, Record, Row, RowOutcome};

use super::pairs::is_of_pair;
use crate::bill::{differences, has_drifted};

/// What synchronises a clock sets it back by less than this, also between a run and the bill of it.
const MAX_CORRECTION: Duration = Duration::from_secs(60);

/// Whether a row is a price under exactly these treatments.
pub(super) fn is_price(row: &Row, treatments: &[String]) -> bool {
    row.outcome == RowOutcome::Measured
        && row.target.treatments == treatments
        && !row.benchmark.starts_with("workload/")
}

/// Why the prices of a run may not be those of the machine as it is now, as far as it shows by itself.
pub(super) fn stale_reasons(
    record: &Record,
    machine: &Machine,
    treatments: &[String],
) -> Vec<String> {
    let mut reasons = state_reasons(record, machine, treatments);
    if has_drifted(record) {
        reasons.push("the reference cases moved while they were measured".to_owned());
    }
    reasons
}

/// In what the machine of a run differs from the machine as it is now, its age included.
pub(super) fn state_reasons(
    record: &Record,
    machine: &Machine,
    treatments: &[String],
) -> Vec<String> {
    let mut reasons = match machine_of(record, treatments) {
        Some(priced) => differences(priced, machine, age(&record.started)),
        None => vec!["their machine is unknown".to_owned()],
    };
    if age(&record.started).is_none() {
        let started = &record.started;
        reasons.push(format!("they began at {started}, and their age is unknown: a clock was set"));
    }
    reasons
}

/// The machine of the first price of a run, which may have measured on others, too.
pub(super) fn machine_of<'a>(record: &'a Record, treatments: &[String]) -> Option<&'a Machine> {
    let price = record.results.iter().find(|row| is_price(row, treatments) || is_of_pair(row));
    let id = price.map(|row| row.target.machine.as_str());
    let of_price = record.machines.iter().find(|machine| Some(machine.id.as_str()) == id);
    of_price.or(record.machines.first())
}

/// The time since a run was started, which is unknown if a clock was set so that its start is still to
/// come.
pub(crate) fn age(started: &str) -> Option<Duration> {
    let started = humantime::parse_rfc3339(&started.replace("+00:00", "Z")).ok()?;
    match SystemTime::now().duration_since(started) {
        Ok(age) => Some(age),
        Err(ahead) => (ahead.duration() < MAX_CORRECTION).then_some(Duration::ZERO),
    }
}
