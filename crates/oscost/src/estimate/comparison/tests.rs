use oscost_model::record::{Record, Row};
use oscost_model::unit::Better;

use super::*;

/// A record that is empty except for these rows and reference cases.
fn record(id: &str, started: &str, rows: Vec<Row>, reference_cases: [f64; 2]) -> Record {
    let ends = |value: f64| serde_json::json!({"syscall/getppid:via=raw": value});
    let text = serde_json::json!({
        "schema": "oscost.run/1", "id": id, "started": started, "ended": null, "complete": true,
        "label": null, "command": [],
        "tool": {"version": "", "commit": null, "rustc": null,
                 "worker": {"hash": "", "link": "static-pie", "libc": "", "catalog": ""}},
        "settings": {"seed": 1, "profile": "quick", "precision_pct": null, "nominal": 0.95,
                     "budget_s": null},
        "machines": [], "results": [], "comparisons": [],
        "conditions": [{"machine": "m0", "class": "quiet", "lambda_per_s": null,
                        "steal_pct": null, "lost_pct": null, "tracers": [], "probe": [],
                        "flags": [],
                        "reference_cases": {"before": ends(reference_cases[0]), "after": ends(reference_cases[1])}}],
    });
    let record: Record = serde_json::from_value(text).unwrap();
    Record { results: rows, ..record }
}

/// A row whose repetitions lie around `cost`, within a few parts in a thousand.
fn row(case: &str, cost: f64) -> Row {
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
        "class": null,
        "disturbed": {"lost_repetitions": 0, "rejected_pct": null, "rejected": {},
            "lost_pct": null, "median_all": null, "plan": null},
        "flags": []
    }))
    .unwrap()
}

fn one(cost: f64, reference_cases: [f64; 2]) -> Record {
    let id = format!("{cost}");
    record(&id, "2026-11-21T08:00:00Z", vec![row("syscall/read", cost)], reference_cases)
}

const NO_DRIFT: [f64; 2] = [100.0, 100.0];

fn verdict(compared: &RunComparison) -> &str {
    &compared.comparisons[0].verdict
}

#[test]
fn each_verdict_of_two_runs_points_to_its_rows() {
    let (base, new) = (one(100.0, NO_DRIFT), one(150.0, NO_DRIFT));
    let compared = compare(std::slice::from_ref(&base), std::slice::from_ref(&new));
    let found = &compared.comparisons[0];
    assert_eq!((found.verdict.as_str(), found.design.as_str()), ("slower", "stored"));
    assert_eq!((found.base, found.new, compared.results.len()), (0, 1, 2));
    assert!((found.ratio.value - 1.5).abs() < 1e-9 && (found.added.value - 50.0).abs() < 1e-9);
    let [low, high] = found.ratio.ci95.unwrap();
    assert!(low < 1.45 && high > 1.55, "an interval of one run alone would be narrower");
    let back = compare(&[new], &[base]);
    assert_eq!(verdict(&back), "faster");
}

#[test]
fn the_drift_of_the_reference_cases_widens_each_interval() {
    let base = one(100.0, NO_DRIFT);
    for new in [one(150.0, [100.0, 150.0]), one(150.0, [150.0, 150.0])] {
        let compared = compare(std::slice::from_ref(&base), &[new]);
        assert_eq!(verdict(&compared), "inconclusive");
        assert!(
            compared.notes.iter().any(|it| it.contains("reference cases moved")),
            "{compared:?}"
        );
    }
}

#[test]
fn a_lower_rate_is_slower() {
    let rate = |value: f64| {
        let mut run = one(value, NO_DRIFT);
        run.results[0].better = Better::Higher;
        run
    };
    assert_eq!(verdict(&compare(&[rate(100.0)], &[rate(60.0)])), "slower");
}

#[test]
fn a_case_with_a_remote_peer_is_compared_with_its_like_alone() {
    let remote = |cost| {
        let mut row = row("socket/trip", cost);
        row.target.peer = Some("m1".to_owned());
        row
    };
    let run = |id: &str, rows| record(id, "2026-11-21T08:00:00Z", rows, NO_DRIFT);
    let base = run("one", vec![row("socket/trip", 100.0), remote(1_000.0)]);
    let new = run("other", vec![remote(1_001.0), row("socket/trip", 150.0)]);
    let compared = compare(std::slice::from_ref(&base), &[new]);
    let mut ratios: Vec<f64> = compared.comparisons.iter().map(|it| it.ratio.value).collect();
    ratios.sort_by(f64::total_cmp);
    assert!((ratios[0] - 1.001).abs() < 1e-9 && (ratios[1] - 1.5).abs() < 1e-9, "{ratios:?}");
    let local = run("local", vec![row("socket/trip", 100.0)]);
    let compared = compare(&[local], &[run("remote", vec![remote(1_000.0)])]);
    assert_eq!(compared.comparisons.len(), 0);
    let why: Vec<&str> = compared.not_compared.iter().map(|it| it.reason.as_str()).collect();
    assert_eq!(
        why,
        [
            "another peer: its ends are on one machine here, on two machines in the new run",
            "another peer: its ends are on two machines here, on one machine in the base",
        ]
    );
}

#[test]
fn a_very_noisy_run_has_no_verdict() {
    let mut new = one(300.0, NO_DRIFT);
    new.conditions[0].class = Some("very-noisy".to_owned());
    let compared = compare(&[one(100.0, NO_DRIFT)], &[new]);
    assert_eq!(verdict(&compared), "inconclusive");
    assert_eq!(compared.comparisons[0].flags, ["UNRELIABLE"]);
}

/// A run for each letter, a minute apart: `a` is the base, `b` costs half as much again.
fn runs(order: &str) -> [Vec<Record>; 2] {
    let mut sides = [Vec::new(), Vec::new()];
    for (minute, letter) in order.chars().enumerate() {
        let cost = if letter == 'a' { 100.0 } else { 150.0 };
        let cost = cost * (1.0 + 0.001 * (minute % 3) as f64);
        let started = format!("2026-11-21T08:{minute:02}:00Z");
        let run = record(&minute.to_string(), &started, vec![row("syscall/read", cost)], NO_DRIFT);
        sides[usize::from(letter == 'b')].push(run);
    }
    sides
}

#[test]
fn several_runs_on_each_side_need_six_alternating_pairs() {
    for (order, expected, pairs) in [
        ("abbaabbaabba", "slower", 6),
        ("abbaabbaab", "inconclusive", 5),
        ("aaaaaabbbbbb", "inconclusive", 1),
    ] {
        let [base, new] = runs(order);
        let compared = compare(&base, &new);
        assert_eq!(
            (verdict(&compared), compared.comparisons[0].pairs),
            (expected, pairs),
            "{order}"
        );
        assert_eq!(compared.comparisons[0].design, "boots");
    }
}

#[test]
fn a_very_noisy_run_among_several_is_left_out_and_named() {
    let [base, mut new] = runs("abbaabbaabbaab");
    new[0].conditions[0].class = Some("very-noisy".to_owned());
    let compared = compare(&base, &new);
    assert_eq!(compared.comparisons[0].pairs, 6);
    assert!(compared.notes.iter().any(|it| it.starts_with("run 1 is left out")), "{compared:?}");
}

#[test]
fn a_run_with_an_invalid_date_has_no_neighbours() {
    let [mut base, new] = runs("abbaabbaabbaab");
    base[0].started = "2026-99-99T08:00:00Z".to_owned();
    let compared = compare(&base, &new);
    assert_eq!(compared.comparisons[0].pairs, 6);
    assert!(
        compared.notes.iter().any(|it| it.contains("it has no valid start time")),
        "{compared:?}"
    );
}
