//! Instructions instead of time: runs and comparisons of kernels that are booted for counting.

use std::fs;

use oscost::estimate::Assembler;
use oscost::estimate::comparison::{EarlierRuns, compare};
use oscost_model::record::{Comparison, Record, Row};
use proptest::prelude::*;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox};
use crate::golden::golden;

#[path = "../common/counting.rs"]
mod made_up;

use made_up::{Kernel, exactly, journal, kernel};

const OLD: &[(&str, i64)] =
    &[("syscall/getppid", 324), ("pipe/round-trip", 12_925), ("process/fork-exit", 301_118)];
const NEW: &[(&str, i64)] =
    &[("syscall/getppid", 325), ("pipe/round-trip", 12_717), ("process/fork-exit", 301_118)];

fn record(number: u32, kernels: &[Kernel]) -> Record {
    Assembler::read(&journal(number, kernels)).record(false).unwrap()
}

fn old() -> Kernel {
    kernel("6.1.0-22-amd64", OLD)
}

fn new() -> Kernel {
    kernel("6.12.41-amd64", NEW)
}

/// A kernel in which the count of one call varies and one worker failed.
fn unsure() -> Kernel {
    let mut kernel = new();
    kernel.costs[0].1 = vec![Some(331), Some(329), Some(340)];
    kernel.costs[2].1[1] = None;
    kernel
}

fn file(sandbox: &Sandbox, record: &Record) -> String {
    let path = sandbox.file(&format!("{}.json", record.id));
    fs::write(&path, serde_json::to_string(record).unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

fn report(sandbox: &Sandbox, record: &Record, arguments: &[&str]) -> Ran {
    let path = file(sandbox, record);
    sandbox.oscost(&[&["report", &path], arguments].concat()).exits(0)
}

/// No word on time, noise or chance.
fn is_of_counts(text: &str) {
    for word in [" ns", " us", "95 %", "quiet", "noisy", "pairs over", "control", "within 3 %"] {
        assert!(!text.contains(word), "`{word}` in:\n{text}");
    }
}

fn row<'a>(record: &'a Record, case: &str) -> &'a Row {
    record.results.iter().find(|row| row.case == case).unwrap()
}

#[test]
fn a_repeating_count_is_exact_and_others_are_flagged() {
    let run = record(1, &[unsure()]);
    let of = |case: &str| row(&run, case).estimate.clone().unwrap();
    let exact = of("pipe/round-trip");
    assert_eq!((exact.exact, exact.median, exact.ci95), (true, 12_717.0, Some([12_717.0; 2])));
    assert_eq!((exact.half_width_pct, exact.sd, exact.converged), (Some(0.0), Some(0.0), true));
    assert_eq!(row(&run, "pipe/round-trip").flags, Vec::<String>::new());
    let wide = of("syscall/getppid");
    assert_eq!((wide.exact, wide.median, wide.ci95), (false, 331.0, None));
    assert_eq!((wide.min, wide.converged), (329.0, false));
    assert_eq!(row(&run, "syscall/getppid").flags, ["NOT_EXACT"]);
    let lost = of("process/fork-exit");
    assert_eq!((lost.exact, lost.repetitions, lost.sd), (false, 2, Some(0.0)));
    assert_eq!(row(&run, "process/fork-exit").flags, ["WORKER_LOST", "NOT_EXACT"]);
    for row in &run.results {
        assert_eq!((&row.class, row.disturbed.lost_pct), (&None, None));
        assert!(row.multiples.is_empty() && !row.metrics.contains_key("user"), "{row:?}");
        assert_eq!(row.repetitions[0].lost_pct, None);
    }
    let clock = run.machines[0].clock.as_ref().unwrap();
    assert_eq!((clock.source.as_str(), clock.ticks_per_ns), ("instructions", 1.0));
    let conditions = &run.conditions[0];
    assert_eq!((&conditions.class, conditions.lost_pct), (&None, None));
    assert_eq!(conditions.flags, Vec::<String>::new());
}

#[test]
fn one_worker_alone_is_not_exact() {
    let mut alone = old();
    alone.costs[0].1.truncate(1);
    let run = record(1, &[alone]);
    assert_eq!(row(&run, "syscall/getppid").flags, ["NOT_EXACT"]);
}

#[test]
fn two_boots_are_compared_each_with_its_own_clock() {
    let run = record(1, &[old(), new()]);
    let ids: Vec<&str> = run.machines.iter().map(|machine| &*machine.id).collect();
    assert_eq!((ids, run.conditions.len()), (vec!["m0", "m1"], 2));
    let c_in = |at: usize| run.machines[at].clock.as_ref().unwrap().c_in_ns;
    assert_eq!((c_in(0), c_in(1)), (20.0, 21.0));
    let found: Vec<(&str, f64, &str, f64, f64)> = run
        .comparisons
        .iter()
        .map(|it| (&*it.case, it.added.value, &*it.verdict, it.p, it.q))
        .collect();
    assert_eq!(
        found,
        [
            ("syscall/getppid", 1.0, "slower", 0.0, 0.0),
            ("pipe/round-trip", -208.0, "faster", 0.0, 0.0),
            ("process/fork-exit", 0.0, "equivalent", 1.0, 1.0),
        ]
    );
    for it in &run.comparisons {
        assert_eq!((&*it.design, it.pairs, it.mde_pct), ("boots", 3, Some(0.0)));
        assert_eq!(it.added.ci95, Some([it.added.value; 2]));
        assert_eq!(it.ratio.ci95, Some([it.ratio.value; 2]));
        assert!(it.flags.is_empty() && !it.control, "{it:?}");
    }
}

#[test]
fn a_run_and_a_comparison_of_boots_are_shown_in_instructions() {
    let sandbox = Sandbox::new();
    let one = report(&sandbox, &record(1, &[old()]), &[]).stdout;
    golden("counted.txt", &one);
    let unsure_one = report(&sandbox, &record(2, &[unsure()]), &[]).stdout;
    golden("counted-unsure.txt", &unsure_one);
    let mut off = new();
    off.append = Some("mitigations=off");
    let two = report(&sandbox, &record(3, &[old(), off]), &[]).stdout;
    golden("counted-boots.txt", &two);
    let two_unsure = report(&sandbox, &record(4, &[old(), unsure()]), &[]).stdout;
    golden("counted-boots-unsure.txt", &two_unsure);
    for text in [one, unsure_one, two, two_unsure] {
        assert_fits(&text);
        is_of_counts(&text);
    }
}

#[test]
fn other_formats_have_every_digit_too() {
    let sandbox = Sandbox::new();
    let boots = record(1, &[old(), new()]);
    let markdown = report(&sandbox, &boots, &["--markdown", "-"]).stdout;
    assert!(markdown.contains("| -208 (-1.6 %) |"), "{markdown}");
    is_of_counts(&markdown);
    let run = report(&sandbox, &record(2, &[old()]), &["--markdown", "-"]).stdout;
    assert!(run.contains("| 301,118 insn | exact |"), "{run}");
    is_of_counts(&run);
    let csv = report(&sandbox, &boots, &["--csv", "-", "--table", "comparisons"]).stdout;
    assert!(csv.contains("insn/op") && csv.contains("-208"), "{csv}");
    let csv = report(&sandbox, &boots, &["--csv", "-", "--table", "rows"]).stdout;
    assert!(csv.contains(",12925.0,") && csv.contains("insn/op"), "{csv}");
    let html = report(&sandbox, &boots, &["--html", "-"]).stdout;
    assert!(html.contains("-208 insn (-1.6 %)"), "the page has the difference");
    assert!(html.contains("one per tick") && !html.contains("a pair of reads costs"));
    let mut kept = report(&sandbox, &boots, &["--json", "-"]).json();
    // What a reader makes of the record is written beside it.
    for key in ["trust", "trust_reasons"] {
        assert!(kept.as_object_mut().unwrap().remove(key).is_some(), "{key}");
    }
    assert_eq!(kept, serde_json::to_value(&boots).unwrap());
}

fn comparisons(base: &[Record], new: &[Record]) -> Vec<Comparison> {
    compare(base, new, &EarlierRuns::default()).comparisons
}

#[test]
fn stored_runs_of_two_kernels_are_compared_exactly() {
    let sandbox = Sandbox::new();
    let (base, other) = (record(1, &[old()]), record(2, &[new()]));
    let (one, two) = (file(&sandbox, &base), file(&sandbox, &other));
    let ran = sandbox.oscost(&["compare", &one, &two]).exits(0);
    assert_fits(&ran.stdout);
    is_of_counts(&ran.stdout);
    golden("compare-counted.txt", &ran.stdout);
    let found = comparisons(std::slice::from_ref(&base), std::slice::from_ref(&other));
    let designs: Vec<&str> = found.iter().map(|it| it.design.as_str()).collect();
    assert_eq!(designs, ["stored"; 3]);
    let several = |run: &Record, from: u32| -> Vec<Record> {
        let with = |number: u32| Record { id: format!("{number}"), ..run.clone() };
        (from..from + 6).map(with).collect()
    };
    let many = comparisons(&several(&base, 10), &several(&other, 20));
    let summaries = |it: &[Comparison]| -> Vec<(f64, String, u32)> {
        it.iter().map(|it| (it.added.value, it.verdict.clone(), it.pairs)).collect()
    };
    let verdicts = [(1.0, "slower"), (-208.0, "faster"), (0.0, "equivalent")];
    assert_eq!(summaries(&many), verdicts.map(|(added, verdict)| (added, verdict.to_owned(), 6)));
    // Runs that are exact each by itself, and differ.
    let mut mixed = several(&base, 10);
    mixed[3] = Record { id: "13".to_owned(), ..other };
    let found = comparisons(&mixed, &several(&base, 20));
    assert_eq!(
        (&*found[0].verdict, &found[0].flags[..]),
        ("inconclusive", &["NOT_EXACT".into()][..])
    );
}

#[test]
fn counts_are_compared_only_for_one_emulator_and_one_worker() {
    let base = record(1, &[old()]);
    for (path, value, words) in [
        ("/machines/0/vm/emulator", "QEMU 10.0.2".into(), "another emulator: QEMU 7.2.22 and"),
        ("/machines/0/vm/cpu", "qemu64".into(), "another CPU: max and qemu64"),
        ("/machines/0/vm/mem_mib", 256.into(), "another machine: 512 MiB of memory and 256"),
        (
            "/machines/0/vm",
            serde_json::Value::Null,
            "one side does not record how its machine was booted",
        ),
        ("/tool/worker/hash", "dead".into(), "another build of the worker"),
        ("/results/0/unit", "ns/op".into(), "another unit: insn/op and ns/op"),
    ] {
        let mut other = serde_json::to_value(record(2, &[old()])).unwrap();
        *other.pointer_mut(path).unwrap() = value;
        let other: Record = serde_json::from_value(other).unwrap();
        let compared = compare(std::slice::from_ref(&base), &[other], &EarlierRuns::default());
        let left = &compared.not_compared;
        assert!(left.iter().any(|it| it.reason.contains(words)), "{path}: {left:?}");
    }
}

#[test]
fn a_gate_takes_instructions_or_per_cent() {
    let sandbox = Sandbox::new();
    let (base, other) = (record(1, &[old()]), record(2, &[new()]));
    let (one, two) = (file(&sandbox, &base), file(&sandbox, &other));
    let gate = |base: &str, new: &str, threshold: &str| {
        sandbox.oscost(&["compare", base, new, "--gate", threshold])
    };
    gate(&one, &two, "0insn").exits(1).stderr_contains("syscall/getppid: slower, +1 insn (+0.3 %)");
    gate(&one, &two, "1insn").exits(0).stderr_contains(
        "gate: passed: none of 3 rows compared is significantly slower by more than 1 instruction; \
         in 3 of them one instruction would have been detected",
    );
    gate(&one, &two, "0.1").exits(1).stderr_contains("gate: failed: syscall/getppid: slower");
    gate(&one, &two, "5%")
        .exits(0)
        .stderr_contains("in 3 of them a change of 5 % would have been detected");
    gate(&one, &one, "0insn").exits(2).stderr_contains("named twice");
    let same = file(&sandbox, &record(3, &[old()]));
    gate(&one, &same, "0insn").exits(0);
    gate(&one, &same, "0").exits(0);
    gate(&one, &two, "5ns").exits(2).no_data();
    // A hundred and five of a hundred are five per cent, and no more than that.
    let [hundred, five_more] = [(4, 100), (5, 105)].map(|(number, cost)| {
        file(&sandbox, &record(number, &[kernel("6.1", &[("syscall/getppid", cost)])]))
    });
    gate(&hundred, &five_more, "5").exits(0);
    gate(&hundred, &five_more, "4.99%").exits(1);
    gate(&hundred, &five_more, "5insn").exits(0);
    gate(&hundred, &five_more, "4insn").exits(1);

    let [timed, again] = [1, 2].map(|minute| {
        let ran = sandbox.fake("measured", &["syscall/getppid", "--json", "-"]);
        let mut record: Record = serde_json::from_value(ran.exits(0).json()).unwrap();
        record.started = format!("2026-11-21T08:{minute:02}:00Z");
        file(&sandbox, &record)
    });
    gate(&timed, &again, "0insn")
        .exits(3)
        .stderr_contains("rows compared is counted in instructions");
}

#[test]
fn a_history_of_counts_has_a_step_where_the_kernel_changed() {
    let sandbox = Sandbox::new();
    for number in 0..16 {
        let kernel = if number < 8 { old() } else { kernel("6.1.0-23-amd64", NEW) };
        // One name for both, as of an installed kernel that is updated.
        let mut run = record(number, &[kernel]);
        for row in &mut run.results {
            row.target.text = "vm:installed".to_owned();
            row.target.host = "vm:installed".to_owned();
        }
        let path = file(&sandbox, &run);
        sandbox.oscost(&["runs", "import", &path]).exits(0);
    }
    let ran = sandbox.oscost(&["history", "pipe/round-trip", "--at", "vm:installed"]).exits(0);
    assert!(ran.stdout.contains("12,717 insn"), "{}", ran.stdout);
    is_of_counts(&ran.stdout.replace("95 % interval", ""));
    let same = sandbox.oscost(&["history", "process/fork-exit", "--at", "vm:installed"]);
    assert!(same.exits(0).stdout.contains("301,118 insn"));
}

fn any_kernel() -> impl Strategy<Value = Vec<Option<i64>>> {
    let workers = proptest::collection::vec(300i64..330, 3);
    prop_oneof![
        (300i64..330).prop_map(exactly),
        workers.prop_map(|workers| workers.into_iter().map(Some).collect()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn swapped_kernels_swap_verdict_and_sign(one in any_kernel(), other in any_kernel()) {
        let of = |workers: &Vec<Option<i64>>| Kernel {
            release: "6.1",
            append: None,
            costs: vec![("syscall/getppid", workers.clone())],
        };
        let there = record(1, &[of(&one), of(&other)]).comparisons.remove(0);
        let back = record(2, &[of(&other), of(&one)]).comparisons.remove(0);
        let swapped = match there.verdict.as_str() {
            "slower" => "faster",
            "faster" => "slower",
            same => same,
        };
        prop_assert_eq!(&back.verdict, swapped);
        prop_assert_eq!(back.added.value, -there.added.value);
        // The same of stored runs, but for how they were measured.
        let (base, new) = (record(3, &[of(&one)]), record(4, &[of(&other)]));
        let stored = comparisons(&[base], &[new]).remove(0);
        prop_assert_eq!(&stored.verdict, &there.verdict);
        prop_assert_eq!(stored.added, there.added);
    }

    #[test]
    fn an_instruction_more_or_less_is_always_found(cost in 1i64..1_000_000_000, more in 1i64..9) {
        let of = |cost: i64| kernel("6.1", &[("syscall/getppid", cost)]);
        let run = record(1, &[of(cost), of(cost + more)]);
        let found = &run.comparisons[0];
        prop_assert_eq!((&*found.verdict, found.added.value), ("slower", more as f64));
        let same = record(1, &[of(cost), of(cost)]);
        prop_assert_eq!(&same.comparisons[0].verdict, "equivalent");
    }
}
