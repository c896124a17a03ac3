//! Answers of comparisons.

use oscost_model::record::{Comparison, Record, Row};
use oscost_model::unit::Unit;

use super::{assert_sentences, record, row};
use crate::estimate::comparison::threshold::Threshold;
use crate::estimate::comparison::{EarlierRuns, RunComparison, compare};
use crate::report::view::answer::comparison::{Group, of_run, of_runs};
use crate::report::view::answer::priority::of_comparison;
use crate::report::view::answer::since::{self, PreviousRun};
use crate::report::view::comparison::compare::{ComparisonContent, not_compared};
use crate::report::view::document::{Answer, Block};

/// A comparison of one row with itself.
fn comparison(case: &str, ratio: f64, added: f64, verdict: &str) -> Comparison {
    let it = serde_json::json!({
        "case": case, "metric": "primary", "base": 0, "new": 0, "design": "pairs", "pairs": 12,
        "span_s": 90.0, "ratio": { "value": ratio, "ci95": null },
        "added": { "value": added, "ci95": null, "unit": "ns/op" }, "p": 0.01, "q": 0.02,
        "verdict": verdict, "mde_pct": null, "control": false, "flags": []
    });
    serde_json::from_value(it).unwrap()
}

fn open(case: &str, mde_pct: Option<f64>) -> Comparison {
    Comparison { mde_pct, ..comparison(case, 1.0, 0.0, "inconclusive") }
}

fn with_flag(mut it: Comparison, flag: &str) -> Comparison {
    it.flags.push(flag.to_owned());
    it
}

fn answer(comparisons: &[Comparison]) -> Answer {
    let mut run = record(vec![row("a/x", 100.0)]);
    run.comparisons = comparisons.to_vec();
    let group = Group {
        new: "seccomp=docker".to_owned(),
        base: "local".to_owned(),
        comparisons: run.comparisons.iter().filter(|it| !it.control).collect(),
    };
    let found = of_run(&run, &[group]).unwrap();
    assert_sentences(&found);
    found
}

fn findings(comparisons: &[Comparison]) -> Vec<String> {
    answer(comparisons).findings
}

#[test]
fn one_price_for_all_calls_is_told_once_with_what_it_is_relatively() {
    let slower = [
        comparison("a/x", 1.29, 41.0, "slower"),
        comparison("a/y", 1.10, 40.0, "slower"),
        comparison("a/z", 2.6, 43.0, "slower"),
        open("a/fork", Some(2.4)),
    ];
    assert_eq!(
        findings(&slower),
        [
            "seccomp=docker adds 40.00 to 43.00 ns to 3 of 4 cases: from +10 % on a/y to 2.6 \
             times on a/z.",
            "Nothing shows on a/fork: an effect below 2.4 % could hide there.",
        ]
    );
}

#[test]
fn different_prices_are_told_by_their_ends_and_a_few_one_by_one() {
    let slower = |case: &str, ratio: f64, added: f64| comparison(case, ratio, added, "slower");
    let [x, y, z] = [slower("a/x", 1.05, 5.0), slower("a/y", 3.0, 900.0), slower("a/z", 1.2, 40.0)];
    assert_eq!(
        findings(&[x.clone(), y.clone(), z]),
        [
            "seccomp=docker is slower than local in all 3 cases: from +5.0 % on a/x (+5.000 ns) to 3.0 \
          times on a/y (+900.0 ns)."
        ]
    );
    let mut with_interval = x.clone();
    with_interval.added.ci95 = Some([4.0, 6.0]);
    assert_eq!(
        findings(&[with_interval, y]),
        [
            "seccomp=docker is slower than local: +5.0 % on a/x (+5.000 ns, +4.000 to +6.000 ns) and \
          3.0 times on a/y (+900.0 ns)."
        ]
    );
    let faster = comparison("a/z", 0.8, -20.0, "faster");
    assert_eq!(
        findings(&[x, faster]),
        [
            "seccomp=docker is slower than local: +5.0 % on a/x (+5.000 ns), of 2 cases.",
            "seccomp=docker is faster than local: -20 % on a/z (-20.00 ns), of 2 cases.",
        ]
    );
}

#[test]
fn what_is_equivalent_and_what_may_hide_is_told_with_its_limits() {
    let equal = |case: &str| comparison(case, 1.0, 0.0, "equivalent");
    let end = "is equivalent to local on a/x (within 3 %).";
    assert_eq!(findings(&[equal("a/x")]), [format!("seccomp=docker {end}")]);
    let commands = findings(&[equal("local")]);
    assert_eq!(commands, ["seccomp=docker is equivalent to local (within 3 %)."], "its case");
    assert_eq!(
        findings(&[equal("a/x"), equal("a/y")]),
        ["seccomp=docker is equivalent to local in both cases (within 3 %)."]
    );
    let mut counted = equal("a/x");
    counted.added.unit = Unit::InstructionsPerOp;
    assert_eq!(
        findings(&[counted]),
        ["seccomp=docker is equivalent to local on a/x (to the last instruction)."]
    );
    let hidden = |rows: &[Comparison]| findings(rows).pop().unwrap();
    let limit = |case: &str| open(case, Some(1.5));
    assert_eq!(
        hidden(&[limit("a/x"), open("a/y", Some(12.0))]),
        "Nothing shows on any of 2 cases: an effect below 12 % could hide in each."
    );
    assert_eq!(
        hidden(&[limit("a/x"), open("a/y", None)]),
        "Nothing shows on any of 2 cases: an effect below 1.5 % could hide in each; for 1 of them no \
         limit is known."
    );
    assert_eq!(
        hidden(&[open("a/x", None)]),
        "Nothing shows on a/x: how large an effect could hide there is not known."
    );
}

#[test]
fn what_only_lacks_time_to_be_equivalent_is_said_to() {
    let short = |case: &str| {
        let mut it = with_flag(open(case, Some(1.0)), "SHORT_SPAN");
        it.ratio.ci95 = Some([0.999, 1.001]);
        it
    };
    assert_eq!(
        findings(&[short("a/x")]),
        [
            "Nothing shows on a/x: an effect below 1.0 % could hide there. It is within 3 %, but not \
             called equivalent: all pairs lie within a minute."
        ]
    );
    let [two] = &findings(&[short("a/x"), open("a/y", Some(4.0))])[..] else { panic!() };
    let end = " 1 of them is within 3 %, but not called equivalent: all pairs lie within a minute.";
    assert!(two.ends_with(end), "{two}");
}

#[test]
fn an_interval_on_one_side_of_no_effect_is_told_though_it_has_no_verdict() {
    let apart = |case: &str, ends: [f64; 2]| {
        let mut it = open(case, Some(2.0));
        it.ratio.value = (ends[0] * ends[1]).sqrt();
        it.ratio.ci95 = Some(ends);
        it
    };
    let fork = apart("a/fork", [1.006, 1.032]);
    assert_eq!(
        findings(&[fork.clone(), open("a/x", Some(2.0))]),
        [
            "Not enough for a verdict: +0.6 to +3.2 % on a/fork, of 2 cases. Nothing shows on a/x: an \
             effect below 2.0 % could hide there."
        ]
    );
    let less = [apart("a/y", [0.9, 0.99]), apart("a/z", [1.01, 1.02])];
    let [told] = &findings(&[vec![fork], less.to_vec()].concat())[..] else { panic!() };
    assert_eq!(
        told,
        "Not enough for a verdict in all 3 cases: from -10 to -1.0 % on a/y to +0.6 to +3.2 % on \
         a/fork."
    );
    let both_sides = apart("a/x", [0.999, 1.02]);
    assert!(findings(&[both_sides])[0].starts_with("Nothing shows on a/x"));
}

#[test]
fn two_commands_are_compared_by_what_they_take() {
    let told = |it: Comparison, metric: &str| {
        let mut run = record(vec![row("a/x", 100.0)]);
        run.comparisons = vec![Comparison { metric: metric.to_owned(), ..it }];
        let group = Group {
            new: "`./v 2`".to_owned(),
            base: "`./v 1`".to_owned(),
            comparisons: run.comparisons.iter().collect(),
        };
        let found = of_run(&run, &[group]).unwrap();
        assert_sentences(&found);
        found.findings.concat()
    };
    let of =
        |ratio: f64, added: f64, verdict: &str| comparison("workload/v", ratio, added, verdict);
    assert_eq!(
        told(of(1.02, 5.0, "slower"), "cpu"),
        "`./v 2` takes 2.0 % more CPU time than `./v 1` (+5.000 ns)."
    );
    assert_eq!(
        told(of(0.8, -5.0, "faster"), "real"),
        "`./v 2` takes 20 % less wall time than `./v 1` (-5.000 ns)."
    );
    assert_eq!(
        told(of(3.0, 5.0, "slower"), "cpu"),
        "`./v 2` takes 3.0 times the CPU time of `./v 1` (+5.000 ns)."
    );
    assert_eq!(
        told(of(1.0, 0.0, "equivalent"), "cpu"),
        "`./v 2` and `./v 1` take the same CPU time (within 3 %)."
    );
    assert_eq!(
        told(open("workload/v", Some(1.5)), "cpu"),
        "No difference of CPU time shows between `./v 2` and `./v 1`: one below 1.5 % could hide."
    );
    let other = told(of(1.5, 5.0, "slower"), "throughput");
    assert!(other.starts_with("`./v 2` is slower than `./v 1`: +50 % on workload/v"), "{other}");
}

#[test]
fn the_size_of_an_effect_that_drifted_is_not_quoted() {
    let drifting = |case: &str, ratio: f64| {
        with_flag(comparison(case, ratio, 50.0, "slower"), "EFFECT_DRIFTS")
    };
    let [one] = &findings(&[drifting("a/x", 1.5)])[..] else { panic!() };
    assert_eq!(
        one,
        "seccomp=docker is slower than local on a/x; the size of the difference changed during the run."
    );
    let both = [drifting("a/x", 1.5), comparison("a/y", 1.25, 25.0, "slower")];
    let [both] = &findings(&both)[..] else { panic!() };
    assert_eq!(
        both,
        "seccomp=docker is slower than local: +25 % on a/y (+25.00 ns), of 2 cases. seccomp=docker is \
         slower than local on a/x, of 2 cases; the size of the difference changed during the run."
    );
    let many: Vec<Comparison> = ["a/x", "a/y", "a/z"].map(|case| drifting(case, 1.5)).into();
    let [many] = &findings(&many)[..] else { panic!() };
    assert!(many.starts_with("seccomp=docker is slower than local in all 3 cases; the "), "{many}");
    let commands = {
        let mut run = record(vec![row("a/x", 100.0)]);
        let it = drifting("workload/ls", 2.0);
        run.comparisons = vec![Comparison { metric: "real".to_owned(), ..it }];
        run.conditions[0].flags = vec!["EFFECT_DRIFTS".to_owned()];
        let comparisons = run.comparisons.iter().collect();
        let group = Group { new: "`ls`".to_owned(), base: "`true`".to_owned(), comparisons };
        of_run(&run, &[group]).unwrap()
    };
    assert_eq!(
        commands.findings,
        [
            "`ls` takes more wall time than `true`; the size of the difference changed during the run."
        ]
    );
    let trust = commands.trust.unwrap();
    assert_eq!(trust, "Trust: fair: the effect that was compared changed during the run.");
}

#[test]
fn no_verdict_is_told_where_there_is_none() {
    let void = with_flag(open("a/x", None), "VOID");
    let found = answer(&[void.clone(), Comparison { control: true, ..open("a/c", None) }]);
    assert!(
        found.findings[0].contains("no verdict, since the control shows an effect"),
        "{found:?}"
    );
    assert!(
        found.trust.unwrap().ends_with("The control, in which nothing differs, shows an effect.")
    );
    let lost = with_flag(open("a/x", None), "UNRELIABLE");
    assert!(findings(&[lost])[0].contains("no verdict, since too much time was lost"));
    let secondary = with_flag(comparison("a/x", 9.0, 9.0, "slower"), "SECONDARY");
    assert_eq!(
        findings(&[secondary]),
        ["seccomp=docker against local: no case could be compared."]
    );
    let doubtful = with_flag(comparison("a/x", 9.0, 9.0, "slower"), "REJECTION_DIFFERS");
    let told = findings(&[doubtful]).remove(0);
    assert!(told.contains("on a/x (do not use: REJECTION_DIFFERS) (+9.000 ns)"), "{told}");
}

#[test]
fn the_control_is_part_of_the_trust() {
    let mut control = Comparison { control: true, ..open("a/c", Some(1.0)) };
    control.ratio.ci95 = Some([0.99, 1.01]);
    let slower = comparison("a/x", 1.5, 50.0, "slower");
    let trust = answer(&[slower.clone(), control.clone()]).trust.unwrap();
    assert_eq!(trust, "Trust: good. The control, in which nothing differs, shows nothing.");
    control.ratio.ci95 = None;
    let trust = answer(&[slower, control]).trust.unwrap();
    assert!(trust.ends_with("The control has too few pairs to show anything."), "{trust}");
}

#[test]
fn a_wide_control_is_no_good_reason_to_trust_verdicts() {
    let mut control = Comparison { control: true, ..open("a/c", Some(1.0136)) };
    control.ratio.ci95 = Some([0.6128, 1.000_01]);
    let mut run = record(vec![row("a/x", 100.0)]);
    run.conditions[0].flags = vec!["CONTROL_WIDE".to_owned()];
    run.comparisons = vec![open("a/x", Some(1.0)), control];
    let group = Group {
        new: "nice=5".to_owned(),
        base: "local".to_owned(),
        comparisons: run.comparisons.iter().filter(|it| !it.control).collect(),
    };
    let found = of_run(&run, &[group]).unwrap();
    assert_sentences(&found);
    assert_eq!(
        found.trust.unwrap(),
        "Trust: fair: the control, in which nothing differs, is not known to 3 %. The control's ratio, \
         which should be 1, is between 0.613 and 1.000."
    );
}

#[test]
fn several_targets_have_a_paragraph_each() {
    let run = record(vec![row("a/x", 100.0)]);
    let slower = comparison("a/x", 1.5, 50.0, "slower");
    let group = |at: usize| Group {
        new: format!("nice={at}"),
        base: "local".to_owned(),
        comparisons: vec![&slower],
    };
    let groups: Vec<Group<'_>> = (0..7).map(group).collect();
    let found = of_run(&run, &groups).unwrap();
    assert_sentences(&found);
    assert_eq!(found.findings.len(), 6);
    assert!(found.findings[1].starts_with("nice=1 is slower than local: +50 % on a/x"));
    assert_eq!(found.findings[5], "2 more pairs were compared: their tables say what they found.");
    assert_eq!(of_run(&run, &[]), None);
}

#[test]
fn runs_that_were_compared_are_named_by_their_sides() {
    let run = record(vec![row("a/x", 100.0)]);
    let compared = [comparison("a/x", 1.5, 50.0, "slower")];
    let compared = of_rows(&run, &compared);
    let one = std::slice::from_ref(&run);
    let found = of_runs(&compared, [one, one]).unwrap();
    assert_sentences(&found);
    assert_eq!(
        found.findings,
        ["The new run is slower than the base run: +50 % on a/x (+50.00 ns)."]
    );
    assert_eq!(found.trust.as_deref(), Some("Trust: good in both runs."));
    let three = [run.clone(), run.clone(), run.clone()];
    let found = of_runs(&compared, [&three, one]).unwrap();
    assert!(found.findings[0].starts_with("The new run is slower than the 3 base runs"));
    let found = of_runs(&compared, [one, &three]).unwrap();
    assert!(found.findings[0].starts_with("The 3 new runs are slower than the base run"));
    assert_eq!(of_runs(&of_rows(&record(Vec::new()), &[]), [&[], &[]]), None);
}

/// These comparisons of the rows of a run.
fn of_rows(run: &Record, comparisons: &[Comparison]) -> RunComparison {
    RunComparison {
        results: run.results.clone(),
        comparisons: comparisons.to_vec(),
        pairs_needed: vec![None; comparisons.len()],
        not_compared: Vec::new(),
        differences: Vec::new(),
        notes: Vec::new(),
    }
}

/// A run of two cases on a target of this host.
fn of_target(label: &str, text: &str) -> Record {
    let on_target = |mut row: Row| {
        row.target.text = text.to_owned();
        row.target.host = "local".to_owned();
        row.target.treatments = if text == "local" { Vec::new() } else { vec![text.to_owned()] };
        row
    };
    let rows = ["a/x", "a/y"].map(|case| on_target(row(case, 100.0)));
    Record { id: format!("0190-{label}"), label: Some(label.to_owned()), ..record(rows.to_vec()) }
}

#[test]
fn runs_of_two_targets_say_that_nothing_can_be_compared_and_what_can() {
    let told = |base: &Record, new: &Record| {
        let sides = [base, new].map(std::slice::from_ref);
        let compared = compare(sides[0], sides[1], &EarlierRuns::default());
        let found = of_runs(&compared, sides).unwrap();
        assert_sentences(&found);
        assert_eq!((found.findings.len(), found.next.len(), found.trust), (1, 1, None));
        (found.findings[0].clone(), found.next[0].clone(), compared)
    };
    let (base, new) = (of_target("a", "local"), of_target("b", "seccomp=docker"));
    let (why, next, compared) = told(&base, &new);
    let expected = "Nothing can be compared: the base is local, the new run under seccomp=docker.";
    assert_eq!(why, expected);
    assert_eq!(
        next,
        "Next: `oscost ab --new seccomp=docker` measures and compares both; `oscost table @a @b` shows \
         both."
    );
    // Each case is listed once, though both of its rows have no counterpart.
    let shown = ComparisonContent {
        base: std::slice::from_ref(&base),
        new: &[new],
        compared: &compared,
        threshold: Threshold::PerCent(3.0),
    };
    assert_eq!(compared.not_compared.len(), 4);
    let section = not_compared(&shown).unwrap();
    let [Block::List(items)] = &section.blocks[..] else { panic!("no list") };
    assert_eq!(items.len(), 1, "{items:?}");
    assert_eq!(items[0].cases, ["a/x", "a/y"]);
    // A command that a shell would split is not suggested, and neither is a label.
    let odd = of_target("it is; $x", "cmd=sh -c");
    let (why, next, _) = told(&base, &odd);
    assert!(why.ends_with("the new run under cmd=sh -c."), "{why}");
    assert_eq!(next, "Next: `oscost table @a RUN` shows both.");
    // Other cases on one target.
    let mut other = of_target("c", "local");
    other.results.iter_mut().for_each(|row| row.case = row.case.replace("a/", "b/"));
    let (why, ..) = told(&base, &other);
    assert_eq!(why, "Nothing can be compared: no case is in both.");
    // The same cases of another revision.
    let mut other = of_target("d", "local");
    other.results.iter_mut().for_each(|row| row.rev += 1);
    let (why, ..) = told(&base, &other);
    assert!(why.starts_with("Nothing can be compared: another revision of the benchmark"), "{why}");
}

#[test]
fn counts_that_are_not_exact_have_the_range_of_their_difference() {
    let inexact = |case: &str, ends: Option<[f64; 2]>| {
        let mut it = open(case, None);
        it.added.unit = Unit::InstructionsPerOp;
        it.added.ci95 = ends;
        it
    };
    let one = inexact("a/x", Some([88.0, 393.0]));
    assert_eq!(
        findings(std::slice::from_ref(&one)),
        ["a/x is inconclusive: its counts are not exact, and the difference is +88 to +393 insn."]
    );
    assert_eq!(
        findings(&[one.clone(), inexact("a/y", Some([-20_750.4, 3.0])), open("a/z", Some(2.0))]),
        [
            "Nothing shows on a/z: an effect below 2.0 % could hide there. Inconclusive, since counts \
          are not exact, are 2 of 3 cases: the largest difference, on a/y, is -20,760 to +3 insn."
        ]
    );
    assert_eq!(
        findings(&[inexact("a/x", None)]),
        ["a/x is inconclusive: its counts are not exact."]
    );
    let mut slower = one;
    slower.verdict = "slower".to_owned();
    slower.added.value = 427_542.0;
    slower.added.ci95 = None;
    let told = findings(&[slower]).remove(0);
    assert!(told.contains("(+427,500 insn)"), "{told}");
    assert!(told.starts_with("seccomp=docker executes more instructions than local: "), "{told}");
}

#[test]
fn where_no_effect_below_a_half_would_show_the_runs_are_too_noisy() {
    let told = |pcts: &[f64]| {
        let rows: Vec<Comparison> = pcts.iter().map(|pct| open("a/x", Some(*pct))).collect();
        findings(&rows).remove(0)
    };
    assert_eq!(
        told(&[122.0]),
        "Nothing shows on a/x: an effect below 122 % could hide there, which is too noisy to compare."
    );
    assert!(told(&[122.0, 60.0]).ends_with("could hide in each, which is too noisy to compare."));
    assert!(told(&[122.0, 6.0]).ends_with("an effect below 122 % could hide in each."));
    let run = record(vec![row("a/x", 100.0)]);
    let since = |pct: f64| {
        let compared = of_rows(&run, &[open("a/x", Some(pct))]);
        since::sentence(&PreviousRun { started: "2026-11-25T08:12:33Z", compared: &compared })
            .unwrap()
    };
    assert!(since(12.0).ends_with("in 1 case; a change of 12 % would have shown."));
    assert!(since(122.0).ends_with("in 1 case; these two runs are too noisy to be compared."));
}

#[test]
fn differences_matter_more_than_equal_rows_and_large_ones_most() {
    let priority =
        |ratio: f64, verdict: &str| of_comparison(&comparison("a/x", ratio, 1.0, verdict));
    let ordered = [
        of_comparison(&with_flag(comparison("a/x", 1.0, 1.0, "inconclusive"), "VOID")),
        priority(1e9, "slower"),
        priority(0.01, "faster"),
        priority(1.3, "slower"),
        priority(1.0, "inconclusive"),
        priority(1.0, "equivalent"),
    ];
    assert!(ordered.is_sorted_by(|one, other| one > other), "{ordered:?}");
    let open = |p: f64| of_comparison(&Comparison { p, ..open("a/x", None) });
    assert!(open(0.06) > open(0.4) && open(0.4) > open(1.0) && open(1.0) == open(f64::NAN));
    assert!(open(-5.0) < priority(1.0, "slower"));
    assert_eq!(priority(-1.0, "slower"), priority(1.0, "slower"), "it has no logarithm");
}
