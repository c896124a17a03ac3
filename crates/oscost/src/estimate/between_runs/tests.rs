use oscost_stats::moments;

use super::*;

/// A row whose repetitions lie around `cost`, within a few parts in a thousand.
fn row(cost: f64, repetitions: i32) -> Row {
    let values = (0..repetitions).map(|step| cost * (1.0 + 0.001 * f64::from(step)));
    let repetitions: Vec<_> = values
        .map(|value| {
            serde_json::json!({"round": 0, "at_s": 0.0, "arm": 0, "value": value,
                "value_all": value, "batches": 21, "rejected": {}, "lost_pct": null,
                "reason": null, "samples": null})
        })
        .collect();
    serde_json::from_value(serde_json::json!({
        "case": "syscall/read", "benchmark": "syscall/read", "rev": 1, "point": {},
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

fn conditions(before: f64, after: f64) -> Vec<Conditions> {
    let reference = |value: f64| serde_json::json!({"syscall/getppid:via=raw": value});
    let text = serde_json::json!([{
        "machine": "m0", "class": "quiet", "lambda_per_s": null, "steal_pct": null,
        "lost_pct": null, "tracers": [], "probe": [], "flags": [],
        "reference_cases": {"before": reference(before), "after": reference(after)}
    }]);
    serde_json::from_value(text).unwrap()
}

/// The interval of a row, as a share of its figure.
fn relative_width(mut row: Row, known: &[CaseVariation], conditions: &[Conditions]) -> Option<f64> {
    set_intervals(std::slice::from_mut(&mut row), known, conditions);
    let estimate = row.estimate.unwrap();
    let [low, high] = estimate.between_run_ci95?;
    assert!(low < estimate.median && estimate.median < high, "{low} {high}");
    Some((high - low) / estimate.median)
}

#[test]
fn an_interval_between_runs_is_that_of_the_class_until_there_are_earlier_runs() {
    let quiet = conditions(100.0, 100.0);
    let of_class = relative_width(row(100.0, 11), &[], &quiet).unwrap();
    // 2.776 times 5 % on both sides.
    assert!((0.26..0.31).contains(&of_class), "{of_class}");
    let earlier = |deviation: f64| {
        let mut runs = SystemRuns::default();
        let logs: Vec<f64> = (-3..=3).map(|step| deviation * f64::from(step) / 2.0).collect();
        assert!((moments::standard_deviation(&logs).unwrap() / deviation - 1.08).abs() < 0.01);
        for value in logs {
            runs.insert(
                "local",
                "syscall/read",
                RunMedian { value, standard_error: 0.0, count: 6 },
            );
        }
        variations(&[row(100.0, 11)], &runs)
    };
    let (steady, varying) = (earlier(0.002), earlier(0.2));
    assert_eq!((steady[0].runs, steady[0].degrees_of_freedom), (7, 10.0));
    let width = |known: &[CaseVariation]| relative_width(row(100.0, 11), known, &quiet).unwrap();
    assert!(width(&steady) < 0.7 * of_class && width(&varying) > 2.0 * of_class);
    assert_eq!(variations(&[row(100.0, 11)], &SystemRuns::default()), []);
}

#[test]
fn a_machine_that_changed_during_the_run_widens_the_interval() {
    let quiet = relative_width(row(100.0, 11), &[], &conditions(100.0, 101.0)).unwrap();
    let moved = relative_width(row(100.0, 11), &[], &conditions(100.0, 150.0)).unwrap();
    assert!(moved > 3.0 * quiet, "{moved} {quiet}");
}

#[test]
fn figures_without_six_repetitions_or_that_may_be_zero_have_no_interval_between_runs() {
    let quiet = conditions(100.0, 100.0);
    assert_eq!(relative_width(row(100.0, 5), &[], &quiet), None);
    let mut below = row(100.0, 11);
    below.flags.push("BELOW_DETECTION".to_owned());
    assert_eq!(relative_width(below, &[], &quiet), None);
    let mut exact = row(100.0, 11);
    exact.estimate.as_mut().unwrap().exact = true;
    assert_eq!(relative_width(exact, &[], &quiet), None);
    let mut negative = row(100.0, 11);
    negative.repetitions[0].value = Some(-1.0);
    assert_eq!(relative_width(negative, &[], &quiet), None);
}
