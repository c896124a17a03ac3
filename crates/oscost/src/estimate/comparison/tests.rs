use oscost_model::record::{Calls, Record, Row};
use oscost_model::seed::Seed;
use oscost_model::unit::Better;
use oscost_stats::between_runs::RunMedian;

use super::*;
use crate::estimate::made_up_rows::{conditions, row};

mod boots;
mod core_rate;
mod counted_work;
mod machines;
mod programs;

/// Compares runs without earlier ones of their systems.
fn compare(base: &[Record], new: &[Record]) -> RunComparison {
    super::compare(base, new, &EarlierRuns::default())
}

/// A record that is empty except for these rows and reference cases.
fn record(id: &str, started: &str, rows: Vec<Row>, reference_cases: [f64; 2]) -> Record {
    let text = serde_json::json!({
        "schema": "oscost.run/1", "id": id, "started": started, "ended": null, "complete": true,
        "label": null, "command": [],
        "tool": {"version": "", "commit": null, "rustc": null,
                 "worker": {"hash": "", "link": "static-pie", "libc": "", "catalog": ""}},
        "settings": {"seed": 1, "profile": "quick", "precision_pct": null, "nominal": 0.95,
                     "budget_s": null},
        "machines": [], "results": [], "comparisons": [],
        "conditions": conditions(reference_cases),
    });
    let record: Record = serde_json::from_value(text).unwrap();
    Record { results: rows, ..record }
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
    assert!(
        compared.notes.iter().any(|it| it.contains("no earlier runs of this system")),
        "{compared:?}"
    );
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
            compared.notes.iter().any(|it| it.contains("reference cases differ by 22 %")
                || it.contains("reference cases differ by 50 %")),
            "{compared:?}"
        );
    }
}

/// A run whose reference cases cost this much from beginning to end: an empty loop, a call in user
/// mode, and one of the kernel.
fn with_reference_cases(cost: f64, [nothing, function, getppid]: [f64; 3]) -> Record {
    let mut run = one(cost, NO_DRIFT);
    let costs = [
        ("timer/nothing", nothing),
        ("procedure/call", function),
        ("syscall/getppid:via=raw", getppid),
    ];
    let figures = &mut run.conditions[0].reference_cases;
    for figures in [&mut figures.before, &mut figures.after] {
        *figures = costs.map(|(case, cost)| (case.to_owned(), cost)).into();
    }
    for (case, cost) in costs {
        let calls = if case.starts_with("syscall/") { 1.0 } else { 0.0 };
        let calls = making(&[("getppid", calls)]);
        let row =
            Row { calls: Some(calls), flags: vec!["REFERENCE".to_owned()], ..row(case, cost) };
        run.results.push(row);
    }
    run
}

/// The calls of an op, by name.
fn making(calls: &[(&str, f64)]) -> Calls {
    Calls {
        per_op: calls.iter().map(|&(call, times)| (call.to_owned(), times)).collect(),
        peer_per_op: Default::default(),
        counted_ops: 23,
        by: "ptrace".to_owned(),
        expected: true,
        unexpected: Vec::new(),
        vdso: None,
        instructions_per_op: None,
        tasks_per_op: None,
        faults_per_op: None,
        bytes_per_op: None,
    }
}

#[test]
fn a_reference_case_that_jumps_alone_does_not_blind_the_comparison() {
    // The turn of an empty loop depends on where it was placed: 0.41 or 0.90 ns.
    let base = with_reference_cases(100.0, [0.41, 1.5, 100.0]);
    let compared = |cost: f64, reference_cases: [f64; 3]| {
        let new = with_reference_cases(cost, reference_cases);
        compare(std::slice::from_ref(&base), &[new])
    };
    let quiet = compared(150.0, [0.41, 1.5, 100.0]);
    let jumped = compared(150.0, [0.90, 1.5, 100.0]);
    assert_eq!([verdict(&quiet), verdict(&jumped)], ["slower", "slower"]);
    assert_eq!(quiet.comparisons[0].mde_pct, jumped.comparisons[0].mde_pct);
    assert!(!jumped.notes.iter().any(|it| it.contains("reference cases")), "{:?}", jumped.notes);
    // What all of them share is the machine.
    let moved = compared(150.0, [0.90, 3.3, 220.0]);
    assert_eq!(verdict(&moved), "inconclusive");
    assert!(moved.notes.iter().any(|it| it.contains("reference cases differ by 120 %")));
}

#[test]
fn an_op_that_makes_other_calls_than_in_the_base_is_flagged() {
    fn is_flagged(base: &[(&str, f64)], new: Option<&[(&str, f64)]>) -> bool {
        let with = |cost: f64, calls: Option<Calls>| {
            let mut run = one(cost, NO_DRIFT);
            run.results[0].calls = calls;
            run
        };
        let (base, new) = (with(100.0, Some(making(base))), with(101.0, new.map(making)));
        compare(&[base], &[new]).comparisons[0].flags.contains(&"CALLS_DIFFER".to_owned())
    }
    let read = [("read", 1.0)];
    assert!(!is_flagged(&read, Some(&read)) && !is_flagged(&read, None));
    assert!(is_flagged(&read, Some(&[("pread64", 1.0)])));
    assert!(is_flagged(&read, Some(&[("read", 2.0)])));
    assert!(is_flagged(&read, Some(&[("read", 1.0), ("futex", 1.0)])));
    // A wait that some ops make and some do not.
    let waits = |times: f64| [("read", 1.0), ("futex", times)];
    assert!(!is_flagged(&waits(0.87), Some(&waits(0.35))));
    assert!(!is_flagged(&read, Some(&waits(0.35))), "none of the base's 23 ops waited");
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
            "another peer: its ends are on one machine in the base, on two machines in the new run",
            "another peer: its ends are on one machine in the base, on two machines in the new run",
        ],
        "a row of either side, for one reason"
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
fn several_runs_on_each_side_are_paired_if_they_alternate_and_values_of_their_own_otherwise() {
    // Half as much again is more than twice what a light call varies by, in any order.
    for (order, expected, design, pairs) in [
        ("abbaabbaabba", "slower", "boots", 6),
        ("abbaabbaab", "slower", "stored", 5),
        ("aaaaaabbbbbb", "slower", "stored", 1),
    ] {
        let [base, new] = runs(order);
        let compared = compare(&base, &new);
        assert_eq!(
            (verdict(&compared), compared.comparisons[0].pairs),
            (expected, pairs),
            "{order}"
        );
        assert_eq!(compared.comparisons[0].design, design);
    }
}

#[test]
fn earlier_runs_of_the_system_decide_how_far_apart_two_runs_may_be() {
    let (base, new) = (one(100.0, NO_DRIFT), one(110.0, NO_DRIFT));
    let compare = |deviation: f64| {
        let mut earlier = EarlierRuns::default();
        for step in -10..=10 {
            let value = 100f64.ln() + deviation * f64::from(step) / 6.0;
            let run = RunMedian { value, standard_error: 0.001, count: 6 };
            earlier.base.insert("local", "syscall/read", None, run);
        }
        super::compare(std::slice::from_ref(&base), std::slice::from_ref(&new), &earlier)
    };
    let (steady, varying) = (compare(0.001), compare(0.1));
    let mde = |it: &RunComparison| it.comparisons[0].mde_pct.unwrap();
    assert!(mde(&steady) < mde(&varying), "{steady:?}");
    assert_eq!(verdict(&varying), "inconclusive");
    assert!(steady.notes.iter().any(|it| it.contains("21 earlier runs")), "{:?}", steady.notes);
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

/// The sum of twelve uniform deviates approximates a normal deviate.
fn normal(seed: &mut Seed) -> f64 {
    (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0
}
