//! Counted instructions of two runs, and of several a side.

use std::collections::BTreeMap;

use oscost_model::facts::Facts;
use oscost_model::record::{Comparison, Machine, RowCounters};

use super::*;
use crate::estimate::made_up_rows::counters;

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
        let workers = (0..6).map(|_| {
            let insn = insn * of_run * (noise.workers * normal(seed)).exp();
            [("insn", insn), ("insn_user", 20.0), ("insn_kernel", insn - 20.0)]
        });
        let counters = RowCounters {
            read_by: Some("read".to_owned()),
            insn_sd_pct: Some(100.0 * noise.workers),
            repeats: Some(true),
            ..counters(workers)
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
fn work_verdicts(base: &Record, new: &Record) -> BTreeMap<String, u32> {
    verdicts_on_work(&compare(std::slice::from_ref(base), std::slice::from_ref(new)))
}

fn verdicts_on_work(compared: &RunComparison) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
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
fn rows_whose_class_varies_by_too_much_to_be_equivalent_are_told() {
    let exact = WorkNoise { runs: 0.0, workers: 0.0 };
    let run = |id: &str| {
        let mut run = counted_run(id, "boot", &[305.0, 7_000.0], exact, &mut Seed::new(1));
        run.results[1].class = Some("heavy".to_owned());
        run
    };
    let is_told = |compared: &RunComparison, text: &str| {
        let of_work = |note: &&String| note.contains("cannot be shown to be equivalent");
        compared.notes.iter().find(of_work).is_some_and(|note| note.contains(text))
    };
    let compared = compare(&[run("one")], &[run("other")]);
    let found = verdicts_on_work(&compared);
    assert_eq!((found["equivalent"], found["inconclusive"]), (1, 1), "{found:?}");
    assert!(is_told(&compared, "instructions of 1 row"), "{:?}", compared.notes);
    let mut earlier = EarlierRuns::default();
    for _ in 0..20 {
        let run = RunMedian { value: 0.0, standard_error: 0.0, count: 6 };
        earlier.base.insert_work("local", "syscall/op1", "boot", run);
    }
    let compared = crate::estimate::comparison::compare(&[run("one")], &[run("other")], &earlier);
    assert_eq!(verdicts_on_work(&compared)["equivalent"], 2);
    assert!(!is_told(&compared, ""), "{:?}", compared.notes);
}

#[test]
fn earlier_runs_show_how_far_work_varies_between_two_single_runs() {
    let mut seed = Seed::new(28);
    let varying = WorkNoise { runs: 0.003, workers: 0.0002 };
    let insn: Vec<f64> = (0..200).map(|number| 300.0 + 10.0 * f64::from(number)).collect();
    let base = [counted_run("one", "boot", &insn, varying, &mut seed)];
    let new = [counted_run("other", "boot", &insn, varying, &mut seed)];
    let mut earlier = EarlierRuns::default();
    for number in 0..insn.len() {
        for _ in 0..20 {
            let value = varying.runs * normal(&mut seed);
            let run = RunMedian { value, standard_error: 0.0, count: 6 };
            earlier.base.insert_work("local", &format!("syscall/op{number}"), "boot", run);
        }
    }
    let changed = |earlier: &EarlierRuns| {
        let found = verdicts_on_work(&crate::estimate::comparison::compare(&base, &new, earlier));
        ["slower", "faster"].iter().filter_map(|verdict| found.get(*verdict)).sum::<u32>()
    };
    // Their class says 0.05 %.
    let by_class = changed(&EarlierRuns::default());
    assert!(by_class > 20, "the control: {by_class}");
    assert_eq!(changed(&earlier), 0);
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

/// Runs of a side, of which the counts of the second row are means in some.
fn runs_with_means(side: &str, means: [bool; 3], seed: &mut Seed) -> Vec<Record> {
    let run = |(at, is_mean): (usize, bool)| {
        let insn = [305.0, 7_000.0];
        let mut run = counted_run(&format!("{side} {at}"), "boot", &insn, CALM, seed);
        run.results[1].counters.as_mut().unwrap().amortized = is_mean;
        run
    };
    means.into_iter().enumerate().map(run).collect()
}

#[test]
fn counts_that_are_means_in_one_run_alone_are_not_compared_and_the_reason_is_given() {
    let mut seed = Seed::new(1);
    let mut sides = |base, new| {
        [runs_with_means("base", base, &mut seed), runs_with_means("new", new, &mut seed)]
    };
    let compared = |base: &[Record], new: &[Record]| {
        let compared = compare(base, new);
        let cases = compared.comparisons.iter().filter(|it| it.metric == "insn");
        let is_said = compared.notes.iter().any(|note| note.contains("they are means in one run"));
        (cases.map(|it| it.case.clone()).collect::<Vec<String>>(), is_said)
    };
    let [first, second] = ["syscall/op0", "syscall/op1"].map(str::to_owned);
    let all = (vec![first.clone(), second], false);
    let without_means = (vec![first], true);
    for means in [false, true] {
        let [base, new] = sides([means; 3], [means; 3]);
        assert_eq!(compared(&base[..1], &new[..1]), all);
        assert_eq!(compared(&base, &new), all);
        let [base, new] = sides([means; 3], [!means; 3]);
        assert_eq!(compared(&base[..1], &new[..1]), without_means);
        assert_eq!(compared(&base, &new), without_means);
    }
    // One run of six has no such counts.
    let [base, new] = sides([true, false, true], [true; 3]);
    assert_eq!(compared(&base, &new), without_means);
}

#[test]
fn means_over_ticks_are_not_compared_with_others_and_the_reason_is_given() {
    let mut seed = Seed::new(1);
    let mut side = |name: &str, over_ticks: bool| {
        let mut runs = runs_with_means(name, [true; 3], &mut seed);
        for run in &mut runs {
            run.results[1].counters.as_mut().unwrap().over_ticks = over_ticks;
        }
        runs
    };
    let short = side("short", false);
    let [long, other] = ["long", "other"].map(|name| side(name, true));
    let work = |base: &[Record], new: &[Record]| {
        let compared = compare(base, new);
        let count = compared.comparisons.iter().filter(|it| it.metric == "insn").count();
        (count, compared.notes.iter().any(|note| note.contains("in one alone over ticks")))
    };
    for runs in [1, 3] {
        assert_eq!(work(&short[..runs], &long[..runs]), (1, true));
        assert_eq!(work(&other[..runs], &long[..runs]), (2, false));
    }
}

/// What runs of most rows differ by.
const CALM: WorkNoise = WorkNoise { runs: 0.0003, workers: 0.0002 };

/// So many runs of one boot.
fn counted_runs(side: &str, runs: u32, insn: &[f64], noise: WorkNoise) -> Vec<Record> {
    let mut seed = Seed::new(if side == "base" { 3 } else { 5 });
    (0..runs)
        .map(|run| counted_run(&format!("{side}-{run}"), "boot", insn, noise, &mut seed))
        .collect()
}

#[test]
fn of_several_runs_a_side_each_is_a_value_of_the_work() {
    let insn: Vec<f64> = (0..200).map(|number| 300.0 + 10.0 * f64::from(number)).collect();
    let more: Vec<f64> = insn.iter().map(|insn| 1.01 * insn).collect();
    for (runs, noise) in [(3, CALM), (6, REPEATING)] {
        let base = counted_runs("base", runs, &insn, noise);
        let equal = verdicts_on_work(&compare(&base, &counted_runs("new", runs, &insn, noise)));
        assert_eq!(equal.values().sum::<u32>(), 200, "{equal:?}");
        assert!(!equal.contains_key("slower") && !equal.contains_key("faster"), "{equal:?}");
        let compared = compare(&base, &counted_runs("new", runs, &more, noise));
        let found = verdicts_on_work(&compared);
        assert!(found.get("slower").is_some_and(|&rows| rows >= 190), "{runs} runs: {found:?}");
        let work = compared.comparisons.iter().find(|it| it.metric == "insn").unwrap();
        assert_eq!((work.design.as_str(), work.pairs), ("stored", runs));
        let is_primary = |it: &&Comparison| it.metric == "primary" && it.case == work.case;
        let primary = compared.comparisons.iter().find(is_primary).unwrap();
        let decomposition = primary.decomposition.as_ref().unwrap();
        // One comparison has one ratio of the work, of means or of medians.
        assert_eq!(decomposition.insn.as_ref(), Some(&work.ratio), "{runs} runs");
        let sentence = &decomposition.sentence;
        assert!(sentence.starts_with("work 1.0"), "{sentence}");
        assert!(sentence.contains(" in the kernel)"), "{sentence}");
    }
}

#[test]
fn a_few_runs_whose_work_differs_decide_nothing_although_the_workers_of_each_agree() {
    let noise = WorkNoise { runs: 0.01, workers: 0.0 };
    let base = counted_runs("base", 3, &[305.0; 100], noise);
    let compared = compare(&base, &counted_runs("new", 3, &[305.0; 100], noise));
    let is_decided = |it: &&Comparison| it.metric == "insn" && it.verdict != "inconclusive";
    let decided: Vec<_> = compared.comparisons.iter().filter(is_decided).collect();
    assert!(decided.is_empty(), "{decided:?}");
    let varies = |it: &&Comparison| it.flags.iter().any(|flag| flag == "WORK_VARIES");
    assert!(compared.comparisons.iter().filter(varies).count() >= 90);
}

#[test]
fn work_of_runs_that_alternate_is_compared_beside_their_pairs() {
    let mut base = counted_runs("base", 6, &[305.0], CALM);
    let mut new = counted_runs("new", 6, &[311.0], CALM);
    let runs = base.iter_mut().zip(&mut new).flat_map(|(base, new)| [base, new]);
    for (hour, run) in runs.enumerate() {
        run.started = format!("2026-11-21T{hour:02}:00:00Z");
    }
    let compared = compare(&base, &new);
    let of = |metric: &str| compared.comparisons.iter().find(|it| it.metric == metric).unwrap();
    assert_eq!((of("primary").design.as_str(), of("insn").design.as_str()), ("boots", "boots"));
    assert_eq!((of("insn").verdict.as_str(), of("insn").pairs), ("slower", 6));
    assert!(of("primary").decomposition.is_some());
}

#[test]
fn fewer_than_three_runs_of_one_boot_a_side_have_no_comparison_of_work_and_the_reason_is_given() {
    let base = counted_runs("base", 2, &[305.0], CALM);
    let mut new = counted_runs("new", 3, &[305.0], CALM);
    let said = |new: &[Record], reason: &str| {
        let compared = compare(&base, new);
        assert!(compared.comparisons.iter().all(|it| it.metric == "primary"));
        assert!(compared.comparisons.iter().all(|it| it.decomposition.is_none()));
        let note = format!("instructions are not compared: {reason}");
        assert!(compared.notes.iter().any(|it| it.contains(&note)), "{:?}", compared.notes);
    };
    said(&new, "fewer than three runs of one boot and worker on a side have counts");
    for run in &mut new {
        run.machines[0].counters.boot = Some("other".to_owned());
    }
    said(&new, "the runs are of two boots");
}
