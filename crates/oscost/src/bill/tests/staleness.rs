//! Whether prices are those of a machine as it is now.

use super::*;

#[test]
fn a_reference_case_that_moved_outdates_a_run() {
    let with = |ns: f64, half: f64| {
        let mut row = row("syscall/getppid:via=raw", ns);
        let estimate = row.estimate.as_mut().unwrap();
        estimate.between_run_ci95 = Some([(1.0 - half) * ns, (1.0 + half) * ns]);
        record(vec![row])
    };
    let moved = |then: &Record, now: &Record| {
        moved_reference_case(then, now, &["timer/nothing", "syscall/getppid:via=raw"], &[])
    };
    let then = with(100.0, 0.02);
    assert_eq!(moved(&then, &with(109.0, 0.02)), None, "a small change");
    assert_eq!(moved(&then, &with(130.0, 0.4)), None, "within what it varies");
    let why = "syscall/getppid:via=raw took 100.0 ns then, and 130.0 ns now";
    assert_eq!(moved(&then, &with(130.0, 0.02)).as_deref(), Some(why));
    assert!(moved(&with(130.0, 0.02), &then).is_some());
    assert_eq!(moved(&then, &record(Vec::new())), None, "it has no such row");
    let mut drifted = stored();
    assert!(!has_drifted(&drifted));
    drifted.conditions[0].flags.push("REFERENCE_DRIFT".to_owned());
    assert!(has_drifted(&drifted));
}

#[test]
fn prices_of_a_run_are_outdated_where_the_median_of_those_that_were_measured_again_moved() {
    let of = |ns: [f64; 4]| {
        let cases =
            ["syscall/getuid:via=raw", "syscall/uname", "syscall/getpgid", "fault/file-minor"];
        record(cases.into_iter().zip(ns).map(|(case, ns)| row(case, ns)).collect())
    };
    let then = of([100.0, 200.0, 300.0, 400.0]);
    let moved = |now: &Record| PriceRatios::of(&then, now, &[]).and_then(PriceRatios::why_moved);
    assert_eq!(moved(&of([95.0, 190.0, 200.0, 500.0])), None, "one or two alone");
    let why = "4 prices that were measured again took 1.25 times as long then (median)";
    assert_eq!(moved(&of([80.0, 160.0, 240.0, 900.0])).as_deref(), Some(why));
    let mut few = of([50.0, 100.0, 150.0, 200.0]);
    few.results[2].flags.push("REFERENCE".to_owned());
    few.results[3].flags.push("PRIMITIVE".to_owned());
    assert_eq!(moved(&few), None, "two of its own");
    few.results[2].flags.clear();
    assert!(moved(&few).is_some());
    few.results[1].estimate.as_mut().unwrap().ci95 = None;
    assert_eq!(moved(&few), None, "two with an interval");
    few.results[1].estimate.as_mut().unwrap().ci95 = Some([99.0, 101.0]);
    assert!(moved(&few).is_some());
    few.results[2].target.treatments.push("nice=5".to_owned());
    assert_eq!(moved(&few), None, "of another target");
}
