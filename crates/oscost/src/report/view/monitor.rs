//! What a monitor of calls saw of the rows that it was over.

use std::collections::BTreeSet;

use oscost_model::record::{MonitorSummary, Row};

use crate::report::text::plain;

/// What is said of the rows at places under a monitor; nothing of others.
pub fn line<'a>(rows: impl Iterator<Item = &'a Row>) -> Option<String> {
    let (programs, seen): (Vec<&Row>, Vec<&Row>) =
        rows.filter(|row| row.monitor.is_some()).partition(|row| row.primary_metric.is_some());
    if seen.is_empty() {
        return (!programs.is_empty()).then(|| {
            "pH was over each trial of the programs, whose calls nobody counts to hold what it saw \
             against them."
                .to_owned()
        });
    }
    let seen: Vec<&MonitorSummary> = seen.iter().filter_map(|row| row.monitor.as_ref()).collect();
    let calls: u64 = seen.iter().map(|it| it.observed_calls).sum();
    let states: BTreeSet<String> = seen.iter().map(|it| states(it)).collect();
    let states = states.into_iter().collect::<Vec<_>>().join(" or ");
    // Rows that were measured together saw the same ones.
    let anomalies = match seen.iter().map(|it| it.anomalies).max().unwrap_or(0) {
        0 => "no anomaly".to_owned(),
        1 => "1 anomaly beside a row".to_owned(),
        most => format!("up to {most} anomalies beside a row"),
    };
    Some(format!(
        "pH saw each call of the counted ops ({calls} in {} rows), or a row is void; its profile \
         of the measuring program was {states}; {anomalies}.",
        seen.len()
    ))
}

/// The states that a profile was in.
pub(super) fn states(seen: &MonitorSummary) -> String {
    match seen.profile_states.is_empty() {
        true => "not seen".to_owned(),
        false => seen.profile_states.iter().map(|it| plain(it)).collect::<Vec<_>>().join(" and "),
    }
}
