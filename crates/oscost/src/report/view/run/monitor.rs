//! What a monitor of system calls reported about the rows that ran under it.

use std::collections::BTreeSet;

use oscost_model::record::{MonitorSummary, Row};

use crate::report::text::plain;

/// The sentence about rows on targets under a monitor; `None` if there are no such rows.
pub fn line<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let (programs, counted): (Vec<&Row>, Vec<&Row>) =
        rows.filter(|row| row.monitor.is_some()).partition(|row| row.primary_metric.is_some());
    if counted.is_empty() {
        return (!programs.is_empty()).then(|| {
            "pH monitored each trial of the programs; their system calls are not counted, so its \
             reports could not be checked."
                .to_owned()
        });
    }
    let summaries: Vec<&MonitorSummary> =
        counted.iter().filter_map(|row| row.monitor.as_ref()).collect();
    let calls: u64 = summaries.iter().map(|it| it.observed_calls).sum();
    let states: BTreeSet<String> = summaries.iter().map(|it| states(it)).collect();
    let states = states.into_iter().collect::<Vec<_>>().join(" or ");
    // Rows that were measured together report the same anomalies.
    let anomalies = match summaries.iter().map(|it| it.anomalies).max().unwrap_or(0) {
        0 => "no anomaly".to_owned(),
        1 => "1 anomaly during a row".to_owned(),
        max => format!("up to {max} anomalies during a row"),
    };
    Some(format!(
        "pH reported each call of the counted ops ({calls} in {} rows), otherwise the row is void; \
         its profile of the worker was {states}; {anomalies}.",
        summaries.len()
    ))
}

/// The states that a profile was in.
pub(in crate::report::view) fn states(summary: &MonitorSummary) -> String {
    match summary.profile_states.is_empty() {
        true => "not reported".to_owned(),
        false => {
            summary.profile_states.iter().map(|it| plain(it)).collect::<Vec<_>>().join(" and ")
        }
    }
}
