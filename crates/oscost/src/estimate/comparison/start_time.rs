//! When runs began.

use std::time::{Duration, SystemTime};

use oscost_model::record::Record;

/// When a run began; `None` if its record contains no valid date.
pub(super) fn start_time(run: &Record) -> Option<SystemTime> {
    humantime::parse_rfc3339(&run.started.replace("+00:00", "Z")).ok()
}

/// The seconds between two times; 0 if one of them is unknown.
pub(super) fn distance_s(one: Option<SystemTime>, other: Option<SystemTime>) -> f64 {
    let Some((one, other)) = one.zip(other) else { return 0.0 };
    let distance = other.duration_since(one).or_else(|_| one.duration_since(other));
    distance.unwrap_or(Duration::ZERO).as_secs_f64()
}
