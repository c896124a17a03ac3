//! `oscost run --study`: rows by oscost's method and by that of the study.

use std::fs;

use serde_json::Value;

use crate::common::{Ran, Sandbox, rows, scenario_file};

const STUDY: &str = r#"
id = "mine"
title = "An unasked question"
authors = ["A. N. Author"]
year = 2026
source = "a desk"
measured-on = "this machine"
protocol = { original = "by hand", replication = "again", experiments = 4, METHOD }

[[table]]
name = "Table A"
title = "Doors"
unit = "ns"
row = [
    { name = "getpid", case = "syscall/getpid:via=raw" },
    { name = "null call", case = "syscall/getppid:via=raw" },
    { name = "trip", case = "socket/round-trip:by=tcp,size=64,peer_cpu=other" },
    { name = "remote trip", case = "socket/round-trip:by=tcp,size=64,peer_cpu=other", peer = true },
]
"#;

/// The keys of a method: the timed span, repetitions, statistic, and the clock's cost.
fn keys_of(words: &str) -> String {
    let words: Vec<&str> = words.split(' ').collect();
    let [timed, iterations, statistic, clock] = words[..] else { panic!("{words:?}") };
    format!(
        "timed = \"{timed}\", iterations = {iterations}, statistic = \"{statistic}\", \
         overhead = \"{clock}\""
    )
}

fn file(sandbox: &Sandbox, text: &str) -> String {
    let path = sandbox.file("mine.toml");
    fs::write(&path, text).unwrap();
    path.to_str().unwrap().to_owned()
}

/// Measures a study of its own on the fake host.
fn measured(sandbox: &Sandbox, text: &str, arguments: &[&str]) -> Ran {
    let path = file(sandbox, text);
    sandbox.fake("study", &[&["--study", &path], arguments].concat())
}

fn requested(record: &Value) -> Vec<&Value> {
    rows(record).iter().filter(|row| !row["study_method"].is_null()).collect()
}

#[test]
fn each_row_of_a_study_has_a_figure_by_its_study_method_even_in_a_quick_run() {
    for arguments in [&["--json", "-"][..], &["--quick", "--json", "-"]] {
        let sandbox = Sandbox::new();
        let text = STUDY.replace("METHOD", &keys_of("each 50 mean-and-deviation included"));
        let ran = measured(&sandbox, &text, arguments).exits(0);
        let record = ran.json();
        let path = sandbox.file("mine.toml");
        assert_eq!(record["settings"]["study"], path.to_str().unwrap());
        assert_eq!(record["settings"]["budget_s"], 60.0);
        let requested = requested(&record);
        assert_eq!(requested.len(), 4);
        for row in &requested[..3] {
            let study_method = &row["study_method"];
            let own = row["estimate"]["median"].as_f64().unwrap();
            let value = study_method["value"].as_f64().unwrap();
            assert!((value / own - 1.0).abs() < 0.1, "{value}, {own}: {study_method}");
            assert!(
                study_method["deviation"].as_f64().is_some_and(|it| it > 0.0),
                "{study_method}"
            );
            assert_eq!(
                (&study_method["iterations"], &study_method["experiments"]),
                (&50.into(), &4.into()),
                "{study_method}"
            );
            assert_eq!(study_method["reason"], Value::Null);
            // Samples of the study's method are not repetitions of the row.
            let most = if arguments.contains(&"--quick") { 6 } else { 80 };
            let repetitions = row["repetitions"].as_array().unwrap();
            assert!(repetitions.len() <= most || row["case"] == "syscall/getppid:via=raw");
        }
        let reference_case =
            rows(&record).iter().find(|row| row["case"] == "timer/nothing").unwrap();
        assert_eq!(reference_case["study_method"], Value::Null, "no study has measured it");
        let kept = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
        assert_eq!(rows(&kept)[0]["study_method"], rows(&record)[0]["study_method"]);
    }
}

#[test]
fn a_loop_is_as_long_as_the_study_s_where_that_fits() {
    let sandbox = Sandbox::new();
    let text = STUDY.replace("METHOD", &keys_of("together 10000 mean subtracted"));
    let record = measured(&sandbox, &text, &["--quick", "--json", "-"]).exits(0).json();
    let study_method = &requested(&record)[0]["study_method"];
    assert_eq!(study_method["iterations"], 10_000);
    assert_eq!(study_method["method"]["timed"], "together");
    assert_eq!(study_method["method"]["clock"], "subtracted");
    assert_eq!(study_method["deviation"], Value::Null, "of a mean there is none");
    let text = STUDY.replace("METHOD", &keys_of("together 100000000 mean subtracted"));
    let record = measured(&sandbox, &text, &["--quick", "--json", "-"]).exits(0).json();
    let study_method = &requested(&record)[0]["study_method"];
    let done = study_method["iterations"].as_u64().unwrap();
    assert!((1_000_000..100_000_000).contains(&done), "{study_method}");
    assert_eq!(study_method["method"]["iterations"], 100_000_000);
}

#[test]
fn rows_between_machines_are_skipped_without_a_peer_and_local_rows_are_measured() {
    let sandbox = Sandbox::new();
    let text = STUDY.replace("METHOD", &keys_of("each 50 mean included"));
    let record = measured(&sandbox, &text, &["--quick", "--json", "-"]).exits(0).json();
    let trips: Vec<&Value> = requested(&record)
        .into_iter()
        .filter(|row| row["benchmark"] == "socket/round-trip")
        .collect();
    let [local, remote] = trips[..] else { panic!("{trips:#?}") };
    assert_eq!((&local["outcome"], &remote["outcome"]), (&"measured".into(), &"skipped".into()));
    assert_eq!(remote["reason"], "the peer is on another machine: name that with --peer ssh:HOST");
    assert_eq!(remote["study_method"]["value"], Value::Null);
    assert!(
        remote["study_method"]["reason"].as_str().unwrap().contains("--peer ssh:HOST"),
        "{remote}"
    );
    assert_eq!((&local["target"]["peer"], &remote["target"]["peer"]), (&Value::Null, &Value::Null));
    assert_eq!(record["machines"].as_array().unwrap().len(), 1);
}

#[test]
fn programs_of_a_study_have_as_many_trials_as_it_made() {
    let sandbox = Sandbox::new();
    let row = "{ name = \"getpid\", case = \"syscall/getpid:via=raw\" },";
    let program =
        "{ name = \"find\", case = \"workload/find:over=all\", metric = \"real\", runs = 7 },";
    let text = STUDY.replace(row, &format!("{row}\n    {program}"));
    let text = text.replace("METHOD", &keys_of("each 50 mean included"));
    let record = measured(&sandbox, &text, &["--json", "-"]).exits(0).json();
    let find = rows(&record).iter().find(|row| row["benchmark"] == "workload/find").unwrap();
    assert_eq!(find["repetitions"].as_array().unwrap().len(), 7, "{find}");
    assert_eq!(find["study_method"], Value::Null);
}

#[test]
fn a_large_study_has_as_much_time_per_row_as_the_price_list() {
    let sandbox = Sandbox::new();
    let row = "{ name = \"getpid\", case = \"syscall/getpid:via=raw\" },";
    let more = (0..96).map(|at| {
        let size = 64 + at;
        format!(
            "{{ name = \"{at}\", case = \"pipe/round-trip:by=pipe,size={size},peer_cpu=same\" }},"
        )
    });
    let text = STUDY
        .replace(row, &more.collect::<String>())
        .replace("METHOD", &keys_of("each 5 mean included"));
    let budget = |arguments: &[&str]| {
        let all = [arguments, &["--quick", "--json", "-"]].concat();
        measured(&sandbox, &text, &all).exits(0).json()["settings"]["budget_s"].clone()
    };
    // Ninety-six, and three others.
    assert_eq!(budget(&[]), 1.2 * 99.0);
    assert_eq!(budget(&["--budget", "30"]), 30.0);
}

#[test]
fn a_study_of_one_target_is_compared_if_two_are_named() {
    let sandbox = Sandbox::new();
    let path = file(&sandbox, &STUDY.replace("METHOD", &keys_of("each 50 mean included")));
    let target = format!("fake:{}", scenario_file("study").display());
    let new = format!("sud@{target}");
    let arguments = ["ab", "--study", &path, "--base", &target, "--new", &new, "--quick"];
    let ran = sandbox.oscost(&arguments).exits(0);
    assert!(ran.stdout.contains("twins"), "{}", ran.stdout);
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let cases: Vec<&str> = record["comparisons"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["control"] == false)
        .map(|it| it["case"].as_str().unwrap())
        .collect();
    assert!(cases.contains(&"syscall/getpid:via=raw"), "{cases:?}");
    assert!(requested(&record).is_empty(), "compared rows are timed by oscost's own method only");
}

#[test]
fn a_study_of_the_other_verb_is_refused_with_its_name() {
    let sandbox = Sandbox::new();
    let path = file(&sandbox, &STUDY.replace("METHOD", &keys_of("each 50 mean included")));
    let nothing = STUDY.replace("syscall/getpid:via=raw", "no/such");
    let nothing = nothing.replace("METHOD", &keys_of("each 50 mean included"));
    let other = sandbox.file("nothing.toml");
    fs::write(&other, nothing).unwrap();
    for (arguments, words) in [
        (&["run", "--study", "ph-2000"][..], "oscost ab --study ph-2000"),
        (&["run", "--study", "zzz"], "`zzz` is not a study"),
        (&["run", "--study", &path, "syscall"], "cannot be used with"),
        (&["run", "--study", &path, "--refine"], "cannot be used with"),
        (&["run", "--study", &path, "--", "true"], "cannot be used with"),
        (&["run", "--study", &path, "--workload", "x.toml"], "cannot be used with"),
        (&["run", "--study", other.to_str().unwrap()], "line 15: "),
        (&["ab", "--study", &path], "oscost run --study"),
    ] {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    }
}

#[test]
fn the_calls_of_a_program_are_counted_unless_the_run_is_quick() {
    let text = STUDY.replace("METHOD", &keys_of("each 50 mean included"));
    let table = r#"
[[table]]
name = "Table B"
title = "Lines"
unit = "calls"

[[table.column]]
name = "lines"
unit = "calls"
figure = "calls + 2"

[[table.row]]
name = "sh"
case = "workload/find:over=all"
published = ["30"]
"#;
    for (arguments, counted) in [(&["--quick"][..], false), (&[], true)] {
        let sandbox = Sandbox::new();
        let shown = measured(&sandbox, &[&text, table].concat(), arguments).exits(0).stdout;
        let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
        let found =
            rows(&record).iter().find(|row| row["case"] == "workload/find:over=all").unwrap();
        // Invented by the fake host: three calls of openat and seven of read.
        let calls = if counted { 7.0.into() } else { Value::Null };
        assert_eq!(found["calls"]["per_op"]["read"], calls, "{found}");
        let table = shown.split("Table B: ").nth(1).unwrap();
        assert_eq!(table.contains(" 12"), counted, "{table}");
    }
}
