//! Programs in the form of `hyperfine --export-json`, for tools that read it.

use std::collections::BTreeMap;

use oscost_model::program::{REAL, SYSTEM, USER};
use oscost_model::record::{Record, Row, RowOutcome};
use serde_json::{Value, json};

/// All measured programs whose figure is their real time, in seconds.
pub fn results(record: &Record) -> Value {
    let is_timed = |row: &&Row| {
        row.outcome == RowOutcome::Measured && row.primary_metric.as_deref() == Some(REAL)
    };
    // Statuses are not kept: they are known to be 0 only if nothing else was accepted.
    let mut options = record.command.iter().take_while(|word| *word != "--");
    let accepts_any = options.any(|word| word == "--ignore-failure");
    let result = |row| result(row, !accepts_any);
    let results = record.results.iter().filter(is_timed).filter_map(result);
    json!({ "results": results.collect::<Vec<Value>>() })
}

fn result(row: &Row, has_succeeded: bool) -> Option<Value> {
    let estimate = row.estimate.as_ref()?;
    let mean = |metric: &str| row.metrics.get(metric).map(|it| it.estimate.mean);
    let times: Vec<f64> = row.repetitions.iter().filter_map(|it| it.value).collect();
    let command = row.command.as_ref().map_or_else(|| row.case.clone(), |words| words.join(" "));
    let mut found = json!({
        "command": command,
        "mean": estimate.mean,
        "stddev": estimate.sd,
        "median": estimate.median,
        "user": mean(USER),
        "system": mean(SYSTEM),
        "min": estimate.min,
        "max": times.iter().copied().max_by(f64::total_cmp),
        "exit_codes": has_succeeded.then(|| vec![0; times.len()]),
        "times": times,
    });
    // Text, and left out if there are none, as hyperfine has them. One that is drawn for each trial
    // has no value that would be the result's, and hyperfine's readers know no others.
    if !row.point.is_empty() {
        let parameters = row.point.iter().map(|(name, value)| (name, value.to_string()));
        found["parameters"] = json!(parameters.collect::<BTreeMap<&str, String>>());
    }
    Some(found)
}
