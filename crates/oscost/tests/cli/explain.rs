//! `oscost explain`.

use std::fs;

use crate::common::{Ran, Sandbox};
use crate::golden::golden;
use crate::words::catalog;

/// Explains every second benchmark, from this one on. The calls of a few are counted on this machine: to
/// count those of all takes a minute, and the supervisor's tests do it.
fn explained(from: usize) {
    const COUNTED_HERE: usize = 16;
    let sandbox = Sandbox::new();
    let fake = format!("fake:{}", crate::common::scenario_file("classes").display());
    let definitions = catalog().benchmarks;
    for (number, definition) in definitions.iter().skip(from).step_by(2).enumerate() {
        let at = if number.is_multiple_of(COUNTED_HERE) { "local" } else { &fake };
        let text = sandbox.oscost(&["explain", "--at", at, &definition.id]).exits(0).stdout;
        let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let parts = [&definition.asks, &definition.op, &definition.expected, &definition.source];
        for part in parts {
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains(&part), "`{part}` is not in:\n{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}

#[test]
fn explain_shows_all_of_one_half_of_the_benchmarks_within_eighty_columns() {
    explained(0);
}

#[test]
fn explain_shows_all_of_the_other_half_of_the_benchmarks_within_eighty_columns() {
    explained(1);
}

#[test]
fn explain_lists_the_benchmarks_of_a_family() {
    let family = Sandbox::new().oscost(&["explain", "syscall"]).exits(0).stdout;
    let names = ["syscall/getppid", "syscall/open-close"];
    for name in names {
        let is_its =
            |line: &&str| line.trim_start_matches([' ', '-']).split(' ').next() == Some(name);
        assert_eq!(family.lines().filter(is_its).count(), 1, "{family}");
    }
    let all = Sandbox::new().oscost(&["explain", "syscall", "--full"]).exits(0).stdout;
    assert!(names.iter().all(|name| all.contains(&format!("{name}\n"))), "{all}");
    assert!(5 * family.lines().count() < all.lines().count(), "{family}");
}

#[test]
fn explain_lists_the_benchmarks_that_a_name_may_mean_before_values_of_that_name() {
    let text = Sandbox::new().oscost(&["explain", "open-close"]).exits(0).stdout;
    let value = text.find("open-close: value of the axis").unwrap();
    for name in ["directory/open-close ", "socket/open-close ", "syscall/open-close "] {
        assert!(text.find(name).is_some_and(|at| at < value), "{name}: {text}");
    }
}

/// The part of an explanation that is of the machine at hand.
fn here(ran: &Ran) -> &str {
    ran.stdout.split_once("\nOn this machine\n").map_or("", |(_, here)| here)
}

#[test]
fn explain_shows_counted_calls_and_the_last_figure_of_this_target() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("classes").display());
    let explain = |case: &str| sandbox.oscost(&["explain", "--at", &at, case]).exits(0);
    let ran = explain("timer/clock-gettime");
    golden("explain-here.txt", here(&ran));
    assert!(!sandbox.folder("data").join("oscost").exists(), "a store was made for nothing");
    sandbox.fake("classes", &["timer", "syscall/getppid", "procedure"]).exits(0);
    let ran = explain("timer/clock-gettime");
    // The day of the run is today's.
    let today = &humantime_day(&sandbox);
    golden("explain-last.txt", &here(&ran).replace(today, "2026-11-21 08:15"));
    // Another target has other figures, and none is stored.
    let other = format!("fake:{}", crate::common::scenario_file("measured").display());
    let ran = sandbox.oscost(&["explain", "--at", &other, "timer/clock-gettime"]).exits(0);
    assert!(here(&ran).contains("not measured on this machine yet"), "{}", here(&ran));
}

/// When the last run began, to the minute, as shown.
fn humantime_day(sandbox: &Sandbox) -> String {
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    record["started"].as_str().unwrap()[..16].replace('T', " ")
}

#[test]
fn explain_prefers_an_older_figure_with_an_interval_to_one_of_an_interrupted_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    let at = format!("fake:{}", file.display());
    let explain = || sandbox.oscost(&["explain", "--at", &at, "syscall/getppid:via=raw"]).exits(0);
    let run = |scenario: &str, code: i32| {
        fs::write(&file, scenario).unwrap();
        sandbox.oscost(&["run", "--at", &at, "syscall/getppid:via=raw"]).exits(code);
    };
    run(
        r#"{"costs_ns": {"syscall/getppid:via=raw": 300.0}, "interrupted_after_workers": 20}"#,
        130,
    );
    let cut = explain();
    let cut = here(&cut);
    assert!(cut.contains("last figure: ") && !cut.contains(" ns ("), "no interval yet: {cut}");
    run(r#"{"costs_ns": {"syscall/getppid:via=raw": 200.0}, "between_sd": 0.01}"#, 0);
    run(
        r#"{"costs_ns": {"syscall/getppid:via=raw": 300.0}, "interrupted_after_workers": 20}"#,
        130,
    );
    let sure = explain();
    let sure = here(&sure);
    assert!(sure.contains("last figure: 2") || sure.contains("last figure: 1"), "200 ns: {sure}");
    assert!(sure.contains(" ns ("), "{sure}");
}

#[test]
fn a_word_of_the_glossary_is_explained_before_other_meanings_of_it() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("measured").display());
    let explain = |word: &str| sandbox.oscost(&["explain", "--at", &at, word]).exits(0).stdout;
    for word in ["run", "record", "store", "estimate", "bill", "batch", "sample", "round", "pair"] {
        assert!(explain(word).contains(": word of the glossary\n"), "{word}: {}", explain(word));
    }
    let batch = explain("batch");
    assert!(batch.starts_with("batch, sample: word of the glossary\n"), "{batch}");
    assert!(batch.contains("\n\nsocket/batch\n"), "{batch}");
    let store = explain("store");
    assert!(store.starts_with("run, record, store: word of the glossary\n"), "{store}");
    assert!(store.contains("\nstore: value of the axis `op`\n"), "{store}");
    assert!(explain("socket/batch").starts_with("socket/batch\n"));
}

#[test]
fn explain_of_a_word_shows_the_rows_of_the_last_run_that_have_it() {
    let sandbox = Sandbox::new();
    let explain = |word: &str| {
        let text = sandbox.oscost(&["explain", word]).exits(0).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let before = explain("light");
    assert!(before.starts_with("light: class of a cost"), "{before}");
    assert!(!before.contains("the last run"), "no run is kept: {before}");
    assert!(!sandbox.folder("data").join("oscost").exists(), "a store was made for nothing");
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let outcome = explain("measured");
    assert!(outcome.contains("rows of the last run"), "{outcome}");
    assert!(outcome.contains("syscall/getppid:via=raw"), "{outcome}");
    assert!(explain("lost").starts_with("lost: term means of the time of a run"));
    assert!(explain("page cache").starts_with("page cache: term"));
    let words = sandbox.oscost(&["explain", "cost", "group"]).exits(0).stdout;
    assert!(words.starts_with("cost group: word of the glossary"), "{words}");
    assert!(explain("VOID").starts_with("VOID: flag of a comparison"));
    assert!(explain("WORKER_LOST").contains("no row of the last run"));
    let column = explain("per op");
    assert!(column.contains("in the last run (") && column.contains("getppid"), "{column}");
    // A word in several places has all its meanings, and an option is found by either name.
    assert!(!explain("median").contains("**"), "{}", explain("median"));
    let verdict = explain("verdict");
    for part in ["verdict: column of a table", "key of the record", "comparisons[].verdict"] {
        assert!(verdict.contains(part), "`{part}` is not in {verdict}");
    }
    for option in ["precision", "--precision"] {
        let text = explain(option);
        assert!(text.contains("--precision PCT: option of the command line"), "{text}");
    }
    assert!(explain("peer_cpu=other").starts_with("other: value of the axis `peer_cpu`"));
    assert!(explain("vm:6.12").starts_with("vm: host"));
    assert!(explain("list").starts_with("oscost list: subcommand"));
    assert!(explain("fleet").starts_with("oscost fleet: subcommand"));
    assert!(explain("instructions").starts_with("instructions: unit"));
    assert!(explain("p99").starts_with("p99: metric of a row means 99 of 100"));
    assert!(explain("64Ki").starts_with("Ki: unit means times 1024"));
    assert!(!explain("--quick").contains("values"), "an option without a value has none");
    for (target, kind, host) in [
        ("seccomp=docker", "seccomp=", ""),
        ("nice=5", "nice=", ""),
        ("sud@local", "sud", "local: host"),
        ("sud@ssh:user@db1", "sud", "ssh: host"),
    ] {
        let text = explain(target);
        assert!(text.starts_with(kind) && text.contains(host), "{target}: {text}");
    }
    assert!(explain("sunos-1999").contains("oscost study show sunos-1999"));
}

#[test]
fn axes_values_units_hosts_treatments_and_grades_have_figures_of_the_last_run() {
    let sandbox = Sandbox::new();
    let explain = |word: &str| {
        let text = sandbox.oscost(&["explain", word]).exits(0).stdout;
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let has_row = |text: &str| text.contains("rows of the last run") && text.contains("via=raw 1");
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    for word in ["via", "via=raw"] {
        assert!(has_row(&explain(word)), "{word}: {}", explain(word));
    }
    for word in ["ns", "fake:"] {
        assert!(explain(word).contains("rows of the last run"), "{word}: {}", explain(word));
    }
    assert!(!has_row(&explain("via=vdso")), "{}", explain("via=vdso"));
    assert!(!explain("us").contains("rows of the last run"), "{}", explain("us"));
    let grades = ["good", "fair", "poor"].map(explain);
    let is_grade = |text: &&String| text.contains("the last run (") && text.contains("UTC): yes");
    assert_eq!(grades.iter().filter(is_grade).count(), 1, "{grades:?}");
    assert!(!explain("sud").contains("the last run"), "it was not measured");
    for mark in ["?", "!", "<"] {
        let text = explain(mark);
        assert!(text.contains("of the last run ("), "{mark}: {text}");
    }
    assert!(!explain("not exact").contains("the last run"), "no instructions were counted");
    let cut = explain("cut short");
    assert!(cut.contains("the last run (") && cut.contains("UTC): no"), "{cut}");
    let seed = explain("--seed");
    assert!(seed.contains("UTC): `--seed 1`"), "{seed}");
    assert!(explain("--precision").contains("UTC): not given"), "{}", explain("--precision"));
    assert!(!explain("--base").contains("the last run"), "it is none of `oscost run`");
    let fake = |name: &str| format!("fake:{}", crate::common::scenario_file(name).display());
    let (base, new) = (fake("treated"), format!("sud@{}", fake("treated")));
    let case = "syscall/getppid:via=raw";
    sandbox.oscost(&["ab", "--quick", "--base", &base, "--new", &new, case]).exits(0);
    let treatment = explain("sud");
    assert!(treatment.contains(" of the last run ("), "{treatment}");
    assert!(treatment.contains("comparison") && treatment.contains(" (x "), "{treatment}");
    let base = explain("--base");
    assert!(base.contains("UTC): `--base fake:"), "{base}");
    let cause = explain("core");
    assert!(
        cause.contains("comparison of the last run (") || cause.contains("comparisons of"),
        "{cause}"
    );
    let (base, new) = (fake("treated"), format!("sud@{}", fake("treated")));
    let gated: [&str; 8] = ["ab", "--quick", "--gate", "--base", &base, "--new", &new, case];
    assert!(sandbox.oscost(&gated).code.is_some_and(|code| [0, 1, 3].contains(&code)));
    let gate = explain("--gate");
    assert!(gate.contains("UTC): `--gate`"), "the next option is no value of it: {gate}");
}

#[test]
fn explain_shows_a_benchmark_before_a_word_of_the_same_name() {
    let text = Sandbox::new().oscost(&["explain", "timer"]).exits(0).stdout;
    let benchmark = text.find("timer/nothing ").unwrap();
    let word = text.find("timer: column of a table\n").unwrap();
    assert!(benchmark < word, "{text}");
}

#[test]
fn explain_gives_the_reason_why_nothing_was_counted_in_one_line() {
    let sandbox = Sandbox::new();
    let at = format!("fake:{}", crate::common::scenario_file("uncounted").display());
    let ran = sandbox.oscost(&["explain", "--at", &at, "syscall/getppid"]).exits(0);
    let count = here(&ran).matches("Nothing was counted: ptrace is refused").count();
    assert_eq!(count, 1, "{}", here(&ran));
    let nowhere = sandbox.oscost(&["explain", "--at", "fake:/no/such/file", "syscall/getppid"]);
    let nowhere = nowhere.exits(0);
    assert!(here(&nowhere).contains("Nothing was counted: cannot read"), "{}", nowhere.stdout);
}

#[test]
fn explain_of_a_family_counts_nothing() {
    let ran = Sandbox::new().oscost(&["explain", "timer"]).exits(0);
    assert!(ran.stdout.contains("timer/nothing ") && here(&ran).is_empty(), "{}", ran.stdout);
}
