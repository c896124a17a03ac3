//! Runs at different rates of the core.

use oscost_stats::core_rate::RatedRun;

use super::*;
use crate::estimate::comparison::compare;
use crate::estimate::made_up_rows::rated_row;

/// A run at this rate of the core, whose reference case takes as many cycles as in any other.
fn run_at_rate(id: &str, rate: f64, mut rows: Vec<Row>) -> Record {
    let mut reference = rated_row("syscall/getppid:via=raw", 360.0, &[rate; 10], 1.0);
    reference.flags.push("REFERENCE".to_owned());
    rows.push(reference);
    record(id, "2026-11-21T08:00:00Z", rows, [360.0 / rate; 2])
}

/// Earlier runs of this case at different rates of the core, which its time follows with this slope.
fn insert_rated_runs(earlier: &mut EarlierRuns, case: &str, slope: f64) {
    for at in 0..12 {
        let rate = (1.5 + 0.2 * f64::from(at * 3 % 8)).ln();
        let median = |value| RunMedian { value, standard_error: 0.001, count: 10 };
        let time = 600f64.ln() - slope * rate + 0.02 * f64::from(at % 3 - 1);
        let run = RatedRun { time: median(time), cycles: median(time + rate) };
        earlier.base.insert_rated("local", case, None, run);
    }
}

#[test]
fn a_row_that_follows_the_core_is_judged_in_cycles_and_its_time_stands_beside() {
    let mut earlier = EarlierRuns::default();
    insert_rated_runs(&mut earlier, "syscall/read", 1.0);
    let run = |id: &str, rate: f64, cycles: f64| {
        run_at_rate(id, rate, vec![rated_row("syscall/read", cycles, &[rate; 10], 1.0)])
    };
    // The core of the new side runs at half its rate.
    let judged = |cycles: f64| {
        let (base, new) = (run("one", 3.0, 600.0), run("other", 1.5, cycles));
        let compared = compare(&[base], &[new], &earlier);
        let [time, in_cycles] = &compared.comparisons[..] else { panic!("{compared:?}") };
        assert_eq!((time.metric.as_str(), in_cycles.metric.as_str()), ("primary", "core-cycles"));
        assert_eq!((&time.flags[..], in_cycles.flags.len()), (&["SECONDARY".to_owned()][..], 0));
        assert!((time.ratio.value / in_cycles.ratio.value - 2.0).abs() < 1e-6, "{compared:?}");
        assert!((in_cycles.added.value - (cycles - 600.0)).abs() < 5.0, "{in_cycles:?}");
        assert!(in_cycles.mde_pct < time.mde_pct, "{compared:?}");
        let row = &compared.results[in_cycles.new as usize];
        assert!((row.metrics["core-cycles"].estimate.median / cycles - 1.0).abs() < 0.01);
        let notes = &compared.notes;
        assert!(
            notes.iter().any(|it| it.starts_with("1 row follows the core's rate")),
            "{notes:?}"
        );
        [time.verdict.clone(), in_cycles.verdict.clone()]
    };
    assert_eq!(judged(600.0), ["inconclusive", "inconclusive"]);
    assert_eq!(judged(900.0), ["inconclusive", "slower"], "the clock hides it in time");
}

#[test]
fn a_row_that_does_not_follow_the_core_is_left_alone() {
    let run = |id: &str, rate: f64| {
        run_at_rate(id, rate, vec![rated_row("syscall/read", 600.0, &[rate; 10], 0.0)])
    };
    let metrics = |earlier: &EarlierRuns| -> Vec<String> {
        let compared = compare(&[run("one", 3.0)], &[run("other", 1.5)], earlier);
        compared.comparisons.iter().map(|it| it.metric.clone()).collect()
    };
    let mut memory = EarlierRuns::default();
    insert_rated_runs(&mut memory, "syscall/read", 0.0);
    assert_eq!(metrics(&memory), ["primary"]);
    // Without earlier runs, what the two sides differ by is no evidence.
    assert_eq!(metrics(&EarlierRuns::default()), ["primary"]);
}

#[test]
fn equal_rows_at_other_rates_of_the_core_are_rarely_called_different() {
    const ROWS: usize = 40;
    const COMPARISONS: usize = 20;
    let mut seed = Seed::new(71);
    let slope = |at: usize| if at.is_multiple_of(2) { 1.0 } else { 0.0 };
    let case = |at: usize| format!("syscall/read-{at}");
    let mut earlier = EarlierRuns::default();
    for at in 0..ROWS {
        for _ in 0..8 {
            let rate = (1.5 + 1.5 * seed.unit()).ln();
            let median = |value| RunMedian { value, standard_error: 0.005, count: 10 };
            let time = 600f64.ln() - slope(at) * rate + 0.035 * normal(&mut seed);
            let run = RatedRun { time: median(time), cycles: median(time + rate) };
            earlier.base.insert_rated("local", &case(at), None, run);
        }
    }
    let (mut in_cycles, mut judged, mut alarms) = (0, 0, 0);
    for _ in 0..COMPARISONS {
        let mut run = |id: &str| {
            let rate = 1.5 + 1.5 * seed.unit();
            let rows = (0..ROWS).map(|at| {
                let level = (0.035 * normal(&mut seed)).exp();
                rated_row(&case(at), 600.0 * level, &[rate; 10], slope(at))
            });
            let rows = rows.collect();
            run_at_rate(id, rate, rows)
        };
        let (base, new) = (run("one"), run("other"));
        let compared = compare(&[base], &[new], &earlier);
        let verdicts = compared.comparisons.iter().filter(|it| it.flags.is_empty());
        for it in verdicts {
            judged += 1;
            in_cycles += usize::from(it.metric == "core-cycles");
            alarms += usize::from(it.verdict == "slower" || it.verdict == "faster");
        }
    }
    assert_eq!(judged, ROWS * COMPARISONS, "each row has one verdict");
    assert!(in_cycles > judged / 3 && in_cycles <= judged / 2, "{in_cycles} of {judged}");
    assert!(alarms <= judged / 100, "{alarms} of {judged}");
}
