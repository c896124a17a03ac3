//! Answers of runs.

use oscost_model::record::{Record, Row, RowOutcome};
use oscost_model::unit::Unit;

use super::{assert_sentences, flagged, record, row};
use crate::estimate::comparison::{EarlierRuns, compare};
use crate::report::view::answer::priority::of_rows;
use crate::report::view::answer::run::answer;
use crate::report::view::answer::since::{self, PreviousRun};
use crate::report::view::answer::{study, trust};
use crate::report::view::document::Answer;
use crate::studies::comparison::single_target::compare_single_target;
use crate::studies::{built_in_names, find_built_in};

const NULL_CALL: &str = "syscall/getppid:via=raw";
const PIPE: &str = "switch/pipe:between=processes,peer_cpu=";
const EXEC: &str = "process/fork-exec:link=";
const FAULT: &str = "fault/zero-fill:access=write,map=outside,order=ascending,pages=4k";
const COPY: &str = "fault/copy-on-write:child=lives,order=ascending";

fn of(rows: Vec<Row>) -> Answer {
    let found = answer(&record(rows)).unwrap();
    assert_sentences(&found);
    found
}

/// The rows of a price list.
fn price_list() -> Vec<Row> {
    let mut call = row(NULL_CALL, 121.0);
    call.multiples.insert("procedure/call:args=0,chain=independent".to_owned(), 114.2);
    call.multiples.insert("syscall/invalid".to_owned(), 1.2);
    vec![
        call,
        row(&format!("{PIPE}same"), 4_500.0),
        row(&format!("{PIPE}other"), 40_000.0),
        row(&format!("{EXEC}static"), 136_000.0),
        row(&format!("{EXEC}dynamic"), 545_000.0),
        row(FAULT, 1_870.0),
        row(COPY, 2_100.0),
        row("file/stat", 600.0),
    ]
}

#[test]
fn a_price_list_is_told_by_the_acts_that_are_asked_for_first() {
    let Answer { findings, trust, next, .. } = of(price_list());
    assert_eq!(
        findings,
        [
            "A system call (getppid) costs 121 ns (115 to 127 ns), as much as 114 function calls.",
            "A byte through a pipe to a waiting process, and one back, cost 4.50 us (4.28 to 4.72 us) \
             on one CPU, 40.0 us (38.0 to 42.0 us) on two.",
            "fork, exec and wait cost 545 us (518 to 572 us), of which the dynamic linker and the C \
             library are 75 %.",
            "The first write to a page, a fault, costs 1.87 us (1.78 to 1.96 us); one that copies a \
             page after a fork 2.10 us (2.00 to 2.21 us).",
        ]
    );
    assert_eq!((trust.as_deref(), next.len()), (Some("Trust: good."), 0));
}

#[test]
fn treatments_are_told_before_figures() {
    let mut rows = price_list();
    rows.iter_mut().for_each(|row| row.target.treatments = vec!["ptrace".to_owned()]);
    let found = of(rows).findings;
    assert_eq!(found[0], "Measured under ptrace.");
    assert!(found[1].starts_with("A system call (getppid) costs 121 ns"), "{found:?}");
}

#[test]
fn a_poor_run_names_the_quoted_figures_that_hardly_vary() {
    let told = |flag: Option<&str>, spreads: [f64; 2]| {
        let mut run = record(price_list());
        run.conditions[0].class = Some("very-noisy".to_owned());
        run.conditions[0].flags = flag.into_iter().map(str::to_owned).collect();
        for row in &mut run.results {
            let act = [NULL_CALL, FAULT].iter().position(|act| *act == row.case);
            let estimate = row.estimate.as_mut().unwrap();
            let spread = act.map_or(50.0, |act| spreads[act]);
            estimate.sd = Some(spread * estimate.median / 100.0);
            estimate.repetitions = 6;
        }
        let found = answer(&run).unwrap();
        assert_sentences(&found);
        found.trust.unwrap()
    };
    let one = told(None, [0.3, 20.0]);
    assert!(one.starts_with("Trust: poor: "), "{one}");
    let still = format!(". Still, {NULL_CALL} varies by 0.3 % between its 6 processes.");
    assert!(one.ends_with(&still), "{one}");
    let both = told(None, [0.3, 1.5]);
    assert!(both.ends_with(&format!(" between its 6 processes, {FAULT} by 1.5 %.")), "{both}");
    assert!(!told(None, [3.0, 20.0]).contains("Still"));
    assert!(!told(Some("CLOCK_DRIFTED"), [0.3, 1.5]).contains("Still"), "no figure is a time");
}

#[test]
fn a_ratio_to_a_figure_that_should_not_be_used_is_not_told() {
    let told = |flag: Option<&str>| {
        let base = row("procedure/call:args=0,chain=independent", 1.06);
        let base = flagged(base, "PRIMITIVE");
        let base = flag.into_iter().fold(base, flagged);
        let mut run = record(price_list());
        run.results.push(base);
        answer(&run).unwrap().findings.remove(0)
    };
    assert!(told(None).contains(", as much as 114 function calls."));
    assert!(told(Some("NOT_CONVERGED")).contains("function calls"), "it is only wide");
    let without = told(Some("NOT_A_LINE"));
    assert_eq!(without, "A system call (getppid) costs 121 ns (115 to 127 ns).");
    let mut rows = price_list();
    rows[0] = flagged(rows[0].clone(), "DRIFT");
    let of_unusable = of(rows).findings.remove(0);
    assert!(!of_unusable.contains("function calls"), "{of_unusable}");
}

#[test]
fn an_act_that_was_not_measured_is_not_told() {
    let only = |cases: &[&str]| {
        let rows = price_list().into_iter();
        let kept: Vec<Row> = rows.filter(|row| cases.contains(&&*row.case)).collect();
        let others = ["a/a", "a/b", "a/c"].map(|case| row(case, 50.0));
        of(kept.into_iter().chain(others).collect()).findings
    };
    let found = only(&[&format!("{PIPE}other"), &format!("{EXEC}static")]);
    assert!(
        found[0].ends_with("one back, cost 40.0 us (38.0 to 42.0 us) on two CPUs."),
        "{found:?}"
    );
    assert!(
        found[1].starts_with("fork, exec and wait of a statically linked program"),
        "{found:?}"
    );
    let found = only(&[COPY, &format!("{EXEC}dynamic")]);
    assert_eq!(found[0], "fork, exec and wait cost 545 us (518 to 572 us).");
    assert!(
        found[1].starts_with("A write that copies a page after a fork costs 2.10"),
        "{found:?}"
    );
    let other_axes = row("syscall/getppid:via=raw,state=cold", 900.0);
    let found = of(vec![other_axes, row("a/a", 1.0), row("a/b", 2.0), row("a/c", 9.0)]).findings;
    assert!(!found.concat().contains("A system call"), "a cold call is another act: {found:?}");
}

#[test]
fn the_linkers_share_is_only_told_where_the_intervals_show_it() {
    let program = |fixed: Row| {
        let others = ["a/a", "a/b"].map(|case| row(case, 50.0));
        let rows = [row(&format!("{EXEC}dynamic"), 545_000.0), fixed];
        of(rows.into_iter().chain(others).collect()).findings.remove(0)
    };
    let fixed = |median: f64| row(&format!("{EXEC}static"), median);
    assert!(program(fixed(136_000.0)).contains(" are 75 %."));
    let close = program(fixed(530_000.0));
    assert!(close.ends_with("of a program without a dynamic linker 530 us (504 to 556 us)."));
    let doubtful = program(flagged(fixed(136_000.0), "CALLS_UNEXPECTED"));
    assert!(doubtful.ends_with("136 us (129 to 143 us) (do not use: CALLS_UNEXPECTED)."));
}

#[test]
fn each_of_a_few_rows_is_told_and_the_dearest_compared_with_the_cheapest() {
    let [x, y] = ["a/b:by=x", "a/b:by=y"];
    let found = of(vec![row(x, 100.0), row(y, 350.0)]).findings;
    assert_eq!(
        found,
        [
            "a/b:by=x: 100 ns (95.0 to 105 ns).",
            "a/b:by=y: 350 ns (332 to 368 ns).",
            "a/b:by=y costs 3.5 times as much as a/b:by=x.",
        ]
    );
    let found = of(vec![row(x, 100.0), row(y, 120.0)]).findings;
    assert_eq!(found[2], "a/b:by=y costs 20 % more than a/b:by=x.");
    let found = of(vec![row(x, 100.0), row(y, 101.0)]).findings;
    assert!(found[2].ends_with("of these 2 costs overlap: this run does not order them."));
    assert_eq!(of(vec![row(x, 100.0)]).findings.len(), 1);
    let many = ["a/b:by=p", "a/b:by=q", x, y].into_iter().zip([3.0, 300.0, 40.0, 20.0]);
    let found = of(many.map(|(case, median)| row(case, median)).collect()).findings;
    let only = "Of 4 costs a/b:by=p (3.00 ns) is the lowest and a/b:by=q (300 ns) the highest, 100 \
                times as much.";
    assert_eq!(found, [only]);
}

#[test]
fn costs_of_several_benchmarks_have_no_ratio() {
    let two = of(vec![row("fault/touch", 108.0), row("process/fork", 352_000.0)]).findings;
    assert_eq!(
        two,
        ["fault/touch: 108 ns (103 to 113 ns).", "process/fork: 352 us (334 to 370 us)."]
    );
    let many = ["a/a", "a/b", "a/c", "a/d"].into_iter().zip([3.0, 300.0, 40.0, 20.0]);
    let found = of(many.map(|(case, median)| row(case, median)).collect()).findings;
    assert_eq!(found, ["Of 4 costs a/a (3.00 ns) is the lowest and a/b (300 ns) the highest."]);
    let equal = ["a/a", "a/b", "a/c", "a/d"].map(|case| row(case, 3.0));
    assert_eq!(of(equal.to_vec()).findings, ["4 cases have figures."]);
}

#[test]
fn a_figure_that_may_not_be_claimed_is_told_with_its_flag_or_as_a_bound() {
    let told = |flag: &str| {
        let mut one = flagged(row("a/x", 0.02), flag);
        one.estimate.as_mut().unwrap().ci95 = Some([-0.01, 0.05]);
        of(vec![one]).findings.remove(0)
    };
    assert_eq!(told("BELOW_DETECTION"), "a/x: less than 50.0 ps.");
    for flag in ["CALLS_UNEXPECTED", "UNRELIABLE", "DRIFT", "BELOW_FLOOR", "NOT_A_LINE"] {
        assert!(told(flag).ends_with(&format!("(do not use: {flag}).")), "{}", told(flag));
    }
    assert!(!told("PROCESSES_DIFFER").contains("PROCESSES_DIFFER"), "it is for information");
    let doubtful = flagged(row("a/b:by=y", 1.0), "UNRELIABLE");
    let found = of(vec![row("a/b:by=x", 100.0), doubtful, row("a/b:by=z", 400.0)]).findings;
    let only = "a/b:by=z costs 4.0 times as much as a/b:by=x.";
    assert_eq!(found[3], only, "it is not an extreme");
}

#[test]
fn units_and_missing_intervals_are_told() {
    let of_unit = |unit: Unit, median: f64| {
        let mut one = row("a/x", median);
        one.unit = unit;
        one.class = None;
        of(vec![one]).findings.remove(0)
    };
    assert_eq!(of_unit(Unit::BytesPerSecond, 3e9), "a/x: 3.00 GB/s (2.85 to 3.15 GB/s).");
    assert_eq!(of_unit(Unit::YesOrNo, 1.0), "a/x: yes (0.950 to 1.050).");
    assert_eq!(of_unit(Unit::NsPerOp, 1_000.0), "a/x: 1.00 us (950 ns to 1.05 us).");
    let mut few = row("a/x", 7.0);
    few.estimate.as_mut().unwrap().ci95 = None;
    assert_eq!(of(vec![few]).findings, ["a/x: 7.00 ns (no interval)."]);
    let mut between = row("a/x", 100.0);
    between.estimate.as_mut().unwrap().between_run_ci95 = Some([80.0, 125.0]);
    assert_eq!(of(vec![between]).findings, ["a/x: 100 ns (80.0 to 125 ns)."], "as in the table");
}

#[test]
fn cases_without_a_figure_are_counted_by_outcome() {
    let without = |outcome: RowOutcome| {
        let mut one = row("a/z", 1.0);
        (one.outcome, one.estimate) = (outcome, None);
        one
    };
    let skipped = || without(RowOutcome::Skipped);
    let last = |rows: Vec<Row>| of(rows).findings.pop().unwrap();
    assert_eq!(last(vec![skipped()]), "The only case has no figure: 1 skipped.");
    assert_eq!(last(vec![row("a/x", 1.0), skipped()]), "1 of 2 cases has no figure: 1 skipped.");
    let mixed = vec![row("a/x", 1.0), skipped(), without(RowOutcome::TimedOut), skipped()];
    assert_eq!(last(mixed), "3 of 4 cases have no figure: 2 skipped, 1 timed-out.");
    let none = vec![skipped(), without(RowOutcome::Failed)];
    assert_eq!(last(none.clone()), "None of the 2 cases has a figure: 1 skipped, 1 failed.");
    assert_eq!(of(none).trust, None, "nothing is to be trusted");
    assert_eq!(answer(&record(vec![flagged(row("a/x", 1.0), "REFERENCE")])), None);
}

#[test]
fn trust_has_its_reasons_and_a_next_step() {
    let mut noisy = record(vec![row("a/x", 1.0), flagged(row("a/y", 9.0), "DRIFT")]);
    noisy.conditions[0].class = Some("noisy".to_owned());
    noisy.conditions[0].lost_pct = Some(6.3);
    noisy.conditions[0].flags = vec!["REFERENCE_DRIFT".to_owned()];
    let Answer { trust, next, .. } = answer(&noisy).unwrap();
    assert_eq!(
        trust.unwrap(),
        "Trust: poor: reference cases drifted during the run; 1 of 2 rows has a figure that should \
         not be used (a/y); 6 % of the time was lost: the machine was noisy."
    );
    assert!(next[0].contains("`oscost doctor`"), "{next:?}");
    let wide = flagged(row("a/x", 1.0), "NOT_CONVERGED");
    let Answer { trust, next, .. } = of(vec![wide]);
    assert_eq!(trust.unwrap(), "Trust: fair: its only row has a wide interval.");
    assert!(next[0].contains("`--budget`"), "{next:?}");
    let contended = flagged(row("workload/command", 1.0), "CPU_CONTENTION");
    let Answer { trust, next, .. } = of(vec![contended]);
    assert_eq!(trust.unwrap(), "Trust: fair: its only row has a wall time with waits for a CPU.");
    assert!(next[0].contains("`oscost doctor`"), "{next:?}");
}

#[test]
fn the_worst_of_several_runs_is_told() {
    let good = record(vec![row("a/x", 1.0)]);
    let mut cut = good.clone();
    cut.complete = false;
    let told = |runs: &[&Record]| trust::sentence_of_all(runs.iter().copied()).unwrap();
    assert_eq!(told(&[&good, &good]), "Trust: good in both runs.");
    assert_eq!(
        told(&[&good, &cut, &cut]),
        "Trust: fair in 2 of 3 runs, in the first of them: the run was cut short."
    );
    assert_eq!(told(&[&cut]), "Trust: fair: the run was cut short.");
}

#[test]
fn what_changed_since_the_run_before_is_told_with_what_else_differs() {
    let run = |id: &str, release: &str, medians: [f64; 2]| {
        let mut run = record(vec![row("a/x", medians[0]), row("a/y", medians[1])]);
        run.id = id.to_owned();
        run.machines[0].os.release = Some(release.to_owned());
        run.results.iter_mut().filter_map(|row| row.estimate.as_mut()).for_each(|estimate| {
            estimate.repetitions = 12;
            let median = estimate.median;
            estimate.ci95 = Some([0.999 * median, 1.001 * median]);
        });
        for row in &mut run.results {
            let median = row.estimate.as_ref().unwrap().median;
            let one = row.repetitions[0].clone();
            row.repetitions = (0..12)
                .map(|at| {
                    let mut repetition = one.clone();
                    repetition.value = Some(median * (1.0 + 0.0001 * f64::from(at % 3)));
                    repetition
                })
                .collect();
        }
        run
    };
    let told = |base: Record, new: Record| {
        let compared = compare(&[base], &[new], &EarlierRuns::default());
        let started = "2026-11-25T08:12:33Z";
        since::sentence(&PreviousRun { started, compared: &compared })
    };
    let same = told(run("1", "6.1", [100.0, 50.0]), run("2", "6.1", [100.0, 50.0])).unwrap();
    let begins =
        "Since the run before this one (2026-11-25 08:12) no change shows in 2 cases; a change of ";
    assert!(
        same.starts_with(begins) && same.ends_with(" would have shown in half of them."),
        "{same}"
    );
    let other = told(run("1", "6.1", [100.0, 50.0]), run("2", "6.2", [1_000.0, 50.0])).unwrap();
    assert!(other.contains(" 1 of 2 cases changed: a/x is slower (10 times). What differs: the "));
    assert!(other.ends_with("the kernel: `6.1` and `6.2`."), "{other}");
    let mut noisy = run("1", "6.1", [100.0, 50.0]);
    noisy.conditions[0].class = Some("very-noisy".to_owned());
    let none = told(noisy, run("2", "6.1", [900.0, 50.0])).unwrap();
    assert!(none.ends_with(": no verdict: that run is very noisy."), "{none}");
    let elsewhere = record(vec![row("b/z", 1.0)]);
    assert_eq!(told(elsewhere, run("2", "6.1", [1.0, 1.0])), None, "no case is in both");
}

#[test]
fn figures_from_outside_make_no_broken_sentence() {
    let odd = [0.0, -3.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 1e-300];
    for first in odd {
        for second in odd {
            let mut rows = price_list();
            for (row, median) in rows.iter_mut().zip([first, second].into_iter().cycle()) {
                let estimate = row.estimate.as_mut().unwrap();
                (estimate.median, estimate.ci95) = (median, Some([second, first]));
                row.multiples.values_mut().for_each(|it| *it = median);
            }
            // Whatever is left to say is said in sentences.
            of(rows.clone());
            of(rows.split_off(5));
        }
    }
}

#[test]
fn the_answer_of_a_study_counts_its_claims_and_quotes_those_that_do_not_hold() {
    let run = record(vec![row("a/x", 1.0)]);
    for name in built_in_names() {
        let found = find_built_in(name).unwrap();
        let joined = compare_single_target(&found, &run, &[]);
        let told = study::answer(&found, &joined.claims, &run);
        assert!(told.findings[0].contains(&found.id), "{told:?}");
        assert!(told.findings[0].ends_with('.'), "{told:?}");
        let without = study::answer(&found, &[], &run).findings;
        assert!(without[0].contains("makes no claims"), "{without:?}");
    }
}

#[test]
fn rows_that_matter_are_acts_flagged_ones_surprises_and_the_ends_of_families() {
    let rows = [
        row(NULL_CALL, 121.0),
        row("syscall/read:via=raw", 160.0),
        row("syscall/write:via=raw", 150.0),
        flagged(row("syscall/poll", 140.0), "NOT_CONVERGED"),
        row("syscall/stat", 900.0),
        flagged(row("syscall/brk", 130.0), "DRIFT"),
        flagged(row("timer/time", 30.0), "CLASS_UNEXPECTED"),
        row("timer/add", 1.0),
        row("timer/loop", 2.0),
        row("timer/ftime", 3.0),
    ];
    let priorities = of_rows(&rows.iter().collect::<Vec<_>>());
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(priorities[at]));
    let cases: Vec<&str> = order.iter().map(|&at| &*rows[at].case).collect();
    let bad_act = [row("a/x", 1.0), flagged(row(FAULT, 9.0), "DRIFT")];
    let of_bad_act = of_rows(&bad_act.iter().collect::<Vec<_>>())[1];
    assert_eq!(of_bad_act, priorities[0], "the answer quotes it with its flag");
    assert_eq!(
        cases,
        [
            NULL_CALL,
            "syscall/brk",
            "timer/time",
            "syscall/stat",
            "timer/add",
            "syscall/poll",
            "syscall/read:via=raw",
            "syscall/write:via=raw",
            "timer/loop",
            "timer/ftime",
        ]
    );
}
