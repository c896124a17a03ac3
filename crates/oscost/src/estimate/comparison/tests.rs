use oscost_model::facts::Facts;
use oscost_model::record::{Calls, CountedRepetition, Machine, Record, Row, RowCounters};
use oscost_model::seed::Seed;
use oscost_model::unit::Better;
use oscost_stats::between_runs::RunMedian;
use oscost_stats::core_rate::RatedRun;

use super::*;
use crate::estimate::made_up_rows::{conditions, rated_row, row};

mod boots;

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

/// The run on a machine with this processor.
fn on_processor(run: Record, name: &str) -> Record {
    let mut facts = Facts::default();
    facts.cpu.model_name = Some(name.to_owned());
    Record { machines: vec![Machine::new("m0", facts, Vec::new())], ..run }
}

#[test]
fn two_machines_have_a_ratio_and_are_never_equivalent() {
    // Equal costs in turns: on one machine they are equivalent.
    let equal = |order: &str, names: [&str; 2]| {
        let [base, new] = runs(order);
        let cost = |run: &Record| run.results[0].estimate.as_ref().unwrap().median;
        let of = |side: usize, run: Record| {
            let scale = if side == 1 { cost(&base[0]) / cost(&new[0]) } else { 1.0 };
            let row = row("syscall/read", scale * cost(&run));
            Record { results: vec![row], ..on_processor(run, names[side]) }
        };
        let base: Vec<Record> = base.iter().map(|run| of(0, run.clone())).collect();
        let new: Vec<Record> = new.iter().map(|run| of(1, run.clone())).collect();
        compare(&base, &new)
    };
    let order = "abbaabbaabba".repeat(2);
    assert_eq!(verdict(&equal(&order, ["one", "one"])), "equivalent");
    for order in [&order[..], "ab"] {
        let compared = equal(order, ["one", "other"]);
        let found = &compared.comparisons[0];
        assert_eq!(found.verdict, "inconclusive");
        assert!(found.flags.iter().any(|flag| flag == MACHINES_DIFFER), "{found:?}");
        assert!(found.ratio.ci95.is_some() && (found.ratio.value - 1.0).abs() < 0.01);
        assert!(compared.differences[0].starts_with("another CPU: one"), "{compared:?}");
    }
}

#[test]
fn the_reference_cases_of_two_machines_do_not_drift() {
    let base = on_processor(one(100.0, NO_DRIFT), "one");
    let new = on_processor(one(300.0, [300.0, 300.0]), "other");
    let compared = compare(&[base], &[new]);
    assert_eq!(verdict(&compared), "slower");
    assert!(!compared.notes.iter().any(|it| it.contains("reference cases")), "{compared:?}");
}

#[test]
fn a_run_of_another_machine_on_one_side_is_left_out() {
    let [mut base, new] = runs("aaabbb");
    let on = |runs: Vec<Record>| runs.into_iter().map(|run| on_processor(run, "one")).collect();
    base = on(base);
    let new: Vec<Record> = on(new);
    base[2] = on_processor(base[2].clone(), "other");
    let compared = compare(&base, &new);
    assert!(compared.comparisons[0].flags.is_empty(), "{compared:?}");
    let told = "the base runs differ among themselves: another CPU";
    assert!(compared.notes.iter().any(|it| it.starts_with(told)), "{compared:?}");
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
        let compared = super::compare(&[base], &[new], &earlier);
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
        let compared = super::compare(&[run("one", 3.0)], &[run("other", 1.5)], earlier);
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
        let compared = super::compare(&[base], &[new], &earlier);
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

/// How the instructions of a row vary, as standard deviations of logarithms.
#[derive(Clone, Copy)]
struct WorkNoise {
    runs: f64,
    workers: f64,
}

/// The noisiest that a row which repeats may be, and what runs of one boot differed by.
const REPEATING: WorkNoise = WorkNoise { runs: 0.0008, workers: 0.0015 };

/// A run of one boot of rows with so many instructions per op, each counted by workers of its own,
/// whose times vary by 20 % from run to run.
fn counted_run(id: &str, boot: &str, insn: &[f64], noise: WorkNoise, seed: &mut Seed) -> Record {
    let rows = insn.iter().enumerate().map(|(number, &insn)| {
        let of_run = (noise.runs * normal(seed)).exp();
        let repetitions = (0..6).map(|round| {
            let insn = insn * of_run * (noise.workers * normal(seed)).exp();
            CountedRepetition {
                round,
                at_s: f64::from(round),
                figures: [("insn".to_owned(), insn), ("insn_user".to_owned(), 20.0)].into(),
                time_ns: None,
                running_ns: None,
            }
        });
        let counters = RowCounters {
            workers: 6,
            read_by: Some("read".to_owned()),
            kernel: true,
            inherited: false,
            insn_sd_pct: Some(100.0 * noise.workers),
            repeats: Some(true),
            counted_time_ratio: None,
            running_ns: None,
            waiting_ns: None,
            void: Vec::new(),
            repetitions: repetitions.collect(),
        };
        let time = insn * (0.2 * normal(seed)).exp();
        Row { counters: Some(counters), ..row(&format!("syscall/op{number}"), time) }
    });
    let rows = rows.collect();
    let mut facts = Facts::default();
    facts.counters.boot = Some(boot.to_owned());
    let machines = vec![Machine::new("m0", facts, Vec::new())];
    Record { machines, ..record(id, "2026-11-21T08:00:00Z", rows, NO_DRIFT) }
}

/// How many rows have each verdict on their work.
fn work_verdicts(base: &Record, new: &Record) -> std::collections::BTreeMap<String, u32> {
    let compared = compare(std::slice::from_ref(base), std::slice::from_ref(new));
    let mut found = std::collections::BTreeMap::new();
    for it in compared.comparisons.iter().filter(|it| it.metric == "insn") {
        *found.entry(it.verdict.clone()).or_default() += 1;
        let [low, high] = it.ratio.ci95.unwrap();
        match it.verdict.as_str() {
            "slower" => assert!(low > 1.001),
            "faster" => assert!(high < 0.999),
            "equivalent" => assert!(low > 0.997 && high < 1.003),
            _ => {}
        }
    }
    found
}

#[test]
fn no_row_of_a_thousand_has_a_false_change_of_work_between_runs_of_one_boot() {
    let mut seed = Seed::new(27);
    let insn: Vec<f64> = (0..1_000).map(|number| 300.0 + 10.0 * f64::from(number)).collect();
    for noise in [REPEATING, WorkNoise { runs: 0.0003, workers: 0.0002 }] {
        let base = counted_run("one", "boot", &insn, noise, &mut seed);
        let new = counted_run("other", "boot", &insn, noise, &mut seed);
        let found = work_verdicts(&base, &new);
        assert_eq!(found.values().sum::<u32>(), 1_000, "{found:?}");
        assert!(!found.contains_key("slower") && !found.contains_key("faster"), "{found:?}");
    }
    // Rows that repeat as getppid does are the same to the third digit behind the point.
    let exact = WorkNoise { runs: 0.0, workers: 0.0 };
    let base = counted_run("one", "boot", &insn, exact, &mut seed);
    let new = counted_run("other", "boot", &insn, exact, &mut seed);
    assert_eq!(work_verdicts(&base, &new).get("equivalent"), Some(&1_000));
}

#[test]
fn one_per_cent_more_instructions_are_found_in_95_per_cent_of_the_rows() {
    let mut seed = Seed::new(27);
    let insn: Vec<f64> = (0..200).map(|number| 300.0 + 10.0 * f64::from(number)).collect();
    let more: Vec<f64> = insn.iter().map(|insn| 1.01 * insn).collect();
    let base = counted_run("one", "boot", &insn, REPEATING, &mut seed);
    let new = counted_run("other", "boot", &more, REPEATING, &mut seed);
    let found = work_verdicts(&base, &new);
    assert!(found.get("slower").is_some_and(|&rows| rows >= 190), "{found:?}");
}

#[test]
fn instructions_of_two_boots_are_not_compared_and_the_reason_is_given() {
    let exact = WorkNoise { runs: 0.0, workers: 0.0 };
    let run = |id: &str, boot: &str| counted_run(id, boot, &[305.0], exact, &mut Seed::new(1));
    let mut new = run("other", "another boot");
    let compared = compare(&[run("one", "boot")], std::slice::from_ref(&new));
    assert!(compared.comparisons.iter().all(|it| it.metric == "primary"));
    assert!(compared.comparisons.iter().all(|it| it.decomposition.is_none()));
    let said = |text: &str, notes: &[String]| notes.iter().any(|note| note.contains(text));
    assert!(said("two boots", &compared.notes), "{:?}", compared.notes);
    new.machines[0].counters.boot = None;
    let compared = compare(&[run("one", "boot")], std::slice::from_ref(&new));
    assert!(said("boot of a run is unknown", &compared.notes), "{:?}", compared.notes);
    // Runs without counts say nothing about boots.
    let compared = compare(&[one(100.0, NO_DRIFT)], &[one(101.0, NO_DRIFT)]);
    assert!(!said("boot", &compared.notes), "{:?}", compared.notes);
}
