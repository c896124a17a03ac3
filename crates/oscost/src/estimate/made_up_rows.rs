//! Made-up rows and conditions, for tests.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::journal::PlannedRow;
use oscost_model::record::{Conditions, CountedRepetition, Repetition, Row, RowCounters};

/// A row whose repetitions lie around `cost`, within a few parts in a thousand.
pub(super) fn row(case: &str, cost: f64) -> Row {
    let values: Vec<f64> = (-5..=5).map(|step| cost * (1.0 + 0.001 * f64::from(step))).collect();
    let repetitions: Vec<_> = values
        .iter()
        .map(|value| {
            serde_json::json!({"round": 0, "at_s": 0.0, "arm": 0, "value": value,
                "value_all": value, "batches": 21, "rejected": {}, "lost_pct": null,
                "reason": null, "samples": null})
        })
        .collect();
    serde_json::from_value(serde_json::json!({
        "case": case, "benchmark": case, "rev": 1, "point": {},
        "target": {"text": "local", "host": "local", "treatments": [], "machine": "m0", "cpu": 1,
                  "peer": null},
        "outcome": "measured", "reason": null, "mode": "B", "unit": "ns/op", "better": "lower",
        "estimate": {"exact": false, "median": cost, "ci95": [cost, cost], "raw_median": cost,
            "overhead": {"clock": null, "loop": null}, "mean": cost, "sd": null,
            "sd_within": null, "min": cost, "p10": cost, "repetitions": 11, "samples": 231,
            "ops_per_sample": 500, "half_width_pct": null, "converged": true, "quantiles": null},
        "metrics": {}, "repetitions": repetitions, "calls": null, "floor": null, "expected": "",
        "class": "light",
        "disturbed": {"lost_repetitions": 0, "rejected_pct": null, "rejected": {},
            "lost_pct": null, "median_all": null, "plan": null},
        "flags": []
    }))
    .unwrap()
}

/// Counts of workers that did nothing but count, by metric.
pub(super) fn counters<const METRICS: usize>(
    workers: impl IntoIterator<Item = [(&'static str, f64); METRICS]>,
) -> RowCounters {
    let repetition = |(round, figures): (u32, [(&str, f64); METRICS])| CountedRepetition {
        round,
        at_s: f64::from(round),
        figures: figures.map(|(name, value)| (name.to_owned(), value)).into(),
        time_ns: None,
        running_ns: None,
    };
    let repetitions: Vec<_> = (0..).zip(workers).map(repetition).collect();
    RowCounters {
        workers: repetitions.len() as u32,
        read_by: None,
        kernel: true,
        inherited: false,
        insn_sd_pct: None,
        repeats: None,
        counted_time_ratio: None,
        short_by: None,
        amortized: false,
        over_ticks: false,
        running_ns: None,
        waiting_ns: None,
        void: Vec::new(),
        repetitions,
    }
}

/// A row of so many cycles whose workers ran at these rates, in cycles per nanosecond, a worker for
/// each: a slope of 1 follows them, one of 0 takes as long at each. Repetitions vary by a few parts in
/// a thousand.
pub(super) fn rated_row(case: &str, cycles: f64, rates: &[f64], slope: f64) -> Row {
    let mut row = row(case, cycles);
    let first = row.repetitions[0].clone();
    let repetition = |(at, &rate): (usize, &f64)| {
        let value = cycles * rate.powf(-slope) * (1.0 + 0.001 * (at * 7 % 5) as f64);
        Repetition { value: Some(value), core_cycles_per_ns: Some(rate), ..first.clone() }
    };
    row.repetitions = rates.iter().enumerate().map(repetition).collect();
    let mut values: Vec<f64> = row.repetitions.iter().filter_map(|it| it.value).collect();
    values.sort_by(f64::total_cmp);
    let median = (values[(values.len() - 1) / 2] + values[values.len() / 2]) / 2.0;
    let estimate = row.estimate.as_mut().unwrap();
    (estimate.median, estimate.ci95) = (median, Some([median; 2]));
    row
}

/// The plan of a row of a benchmark in this catalog.
pub(super) fn planned_row(catalog: &Catalog, case: &str) -> PlannedRow {
    let case = Case::parse(case).unwrap();
    PlannedRow {
        definition: catalog.get(&case.benchmark).unwrap().clone(),
        target: row(&case.to_string(), 1.0).target,
        case,
        requested: true,
        is_reference: false,
        is_refinement: false,
        monitored: false,
        workload: None,
        study_method: None,
    }
}

/// The conditions of a quiet machine, with the figure of a reference case at the beginning and at the
/// end.
pub(super) fn conditions([before, after]: [f64; 2]) -> Vec<Conditions> {
    let reference = |value: f64| serde_json::json!({"syscall/getppid:via=raw": value});
    let text = serde_json::json!([{
        "machine": "m0", "class": "quiet", "lambda_per_s": null, "steal_pct": null,
        "lost_pct": null, "tracers": [], "probe": [], "flags": [],
        "reference_cases": {"before": reference(before), "after": reference(after)}
    }]);
    serde_json::from_value(text).unwrap()
}
