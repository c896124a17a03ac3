//! `oscost run` on a fake target: tables, records and exit codes without a clock.

use std::fs;

use crate::common::{Sandbox, has_flag, row, rows};
use crate::golden::golden;

/// The cases of the scenarios, selected by name, so that new benchmarks change no golden file.
const USUAL: &[&str] = &[
    "timer/nothing",
    "timer/clock-gettime",
    "procedure/call",
    "syscall/getppid",
    "syscall/open-close",
];
/// Three rows of one family.
const THREE: &[&str] = &["syscall/getppid", "syscall/open-close"];

#[test]
fn a_table_shows_figures_intervals_spread_class_calls_and_floor() {
    let ran = Sandbox::new().fake("measured", USUAL).exits(0);
    golden("measured.txt", &ran.stdout);
}

#[test]
fn the_answer_is_last_in_the_text_and_first_in_a_file_with_the_trust_of_the_record() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.md").to_str().unwrap().to_owned();
    let ran = sandbox.fake("measured", &[THREE, &["--markdown", &file]].concat()).exits(0);
    let (figures, answer) = ran.stdout.rsplit_once("\n\n").unwrap();
    assert!(figures.contains("open-close:via=raw"), "{}", ran.stdout);
    let lines: Vec<&str> = answer.lines().collect();
    assert!(lines[0].starts_with("syscall/getppid:via=raw: 12"), "{answer}");
    assert!(lines.contains(&"Trust: good."), "{answer}");
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.starts_with("**oscost**\n\n- syscall/getppid:via=raw: 12"), "{page}");
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(record["trust"], "good");
    assert_eq!(record["trust_reasons"], serde_json::json!([]));
    let listed = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["trust"], record["trust"]);
}

#[test]
fn flags_for_information_and_the_method_are_shown_on_demand() {
    let sandbox = Sandbox::new();
    let short = sandbox.fake("measured", THREE).exits(0).stdout;
    let long = sandbox.oscost(&["runs", "show", "last", "--verbose"]).exits(0).stdout;
    for words in ["PROCESSES_DIFFER: processes differ", "repetitions a row", "Intervals say where"]
    {
        assert!(long.contains(words) && !short.contains(words), "{words}: {short}\n{long}");
    }
    assert!(short.contains("More: `--verbose` shows"), "{short}");
}

#[test]
fn a_second_run_says_what_changed_since_the_first() {
    let sandbox = Sandbox::new();
    let first = sandbox.fake("measured", THREE).exits(0).stdout;
    let second = sandbox.fake("measured", THREE).exits(0).stdout;
    let since = "Since the run before this one (";
    assert!(!first.contains(since) && second.contains(since), "{second}");
    let words = second.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains(") no change shows in 3 cases; a change of "), "{words}");
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, second);
    // Another target has no run before.
    let elsewhere = sandbox.fake("wide", &["syscall/getppid", "--quick"]).exits(0).stdout;
    assert!(!elsewhere.contains(since), "{elsewhere}");
}

#[test]
fn a_table_of_a_quick_run_names_its_six_repetitions() {
    let ran =
        Sandbox::new().fake("measured", &[THREE, &["--quick", "--verbose"]].concat()).exits(0);
    golden("quick.txt", &ran.stdout);
}

#[test]
fn a_thorough_table_fixes_its_repetitions_by_a_first_phase() {
    let ran =
        Sandbox::new().fake("measured", &[THREE, &["--thorough", "--verbose"]].concat()).exits(0);
    golden("thorough.txt", &ran.stdout);
}

#[test]
fn rows_that_were_not_measured_are_listed_below_with_reasons_and_failures_exit_3() {
    let ran = Sandbox::new().fake("all-outcomes", USUAL).exits(3);
    golden("all-outcomes.txt", &ran.stdout);
}

#[test]
fn only_rows_that_were_asked_for_by_name_decide_the_exit_status_and_all_failures_are_told() {
    let told = |selectors: &[&str], status: i32| {
        let ran = Sandbox::new().fake("all-outcomes", selectors).exits(status);
        let told = ran.stderr.lines().find(|line| line.contains(" could not be measured: "));
        told.unwrap_or_else(|| panic!("{selectors:?}: {}", ran.stderr)).to_owned()
    };
    let price_list = told(&[], 0);
    for words in ["note: ", "syscall/getppid:via=libc (failed)", "(timed-out)"] {
        assert!(price_list.contains(words), "{words}: {price_list}");
    }
    assert!(price_list.ends_with("; none of them was asked for by name"), "{price_list}");
    assert!(told(&["*/getppid"], 0).ends_with("; it was not asked for by name"));
    let by_name = told(&["syscall", "getppid:via=libc"], 3);
    assert!(by_name.contains("getppid:via=libc (failed)"), "{by_name}");
    assert!(!by_name.contains("by name"), "{by_name}");
    // A case that was lost to other processes was not measured either.
    let disturbed = "procedure/call:args=4,chain=independent";
    assert!(
        told(&[disturbed, "timer/nothing"], 3).contains(&format!("{disturbed} (unmeasurable)"))
    );
}

#[test]
fn a_run_whose_rows_all_failed_has_failed_whoever_chose_them() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    let failed = r#"{"failed": {"syscall/getppid:via=raw": "x", "syscall/getppid:via=libc": "x"}}"#;
    fs::write(&file, failed).unwrap();
    let target = format!("fake:{}", file.display());
    let run = |selectors: &[&str], status: i32| {
        sandbox.oscost(&[&["run", "--at", &target], selectors].concat()).exits(status);
    };
    run(&["syscall/getpp*"], 3);
    run(&["syscall/getpp*", "syscall/open-close"], 0);
}

#[test]
fn every_outcome_is_a_row_of_the_record_with_its_reason() {
    let ran = Sandbox::new().fake("all-outcomes", &[USUAL, &["--json", "-"]].concat()).exits(3);
    let record = ran.json();
    assert_eq!(record["complete"], true, "every requested row was tried");
    for (case, outcome, reason) in [
        ("syscall/getppid:via=raw", "measured", None),
        ("timer/clock-gettime:clock=monotonic,via=vdso", "skipped", Some("this kernel's vDSO")),
        ("syscall/getppid:via=libc", "failed", Some("the worker was killed by SIGKILL")),
        ("syscall/open-close:via=raw", "timed-out", Some("the worker was killed after ")),
        ("procedure/call:args=4,chain=independent", "unmeasurable", Some("of ")),
    ] {
        let row = row(&record, case);
        assert_eq!(row["outcome"], outcome, "{case}");
        match reason {
            Some(words) => {
                assert!(row["reason"].as_str().unwrap().contains(words), "{}", row["reason"]);
                assert!(row["estimate"].is_null(), "{case} has no figure");
            }
            None => {
                assert!(row["reason"].is_null(), "{}", row["reason"]);
                assert!(row["estimate"]["ci95"].is_array(), "{case} has an interval");
            }
        }
    }
}

#[test]
fn a_wide_interval_above_zero_is_a_wide_interval_and_no_bound() {
    let ran = Sandbox::new().fake("wide", &["getppid", "--quick", "--json", "-"]).exits(0);
    let record = ran.json();
    let row = row(&record, "syscall/getppid:via=raw");
    let [median, low, high] =
        ["/median", "/ci95/0", "/ci95/1"].map(|at| row["estimate"].pointer(at).unwrap().as_f64());
    let (median, low, high) = (median.unwrap(), low.unwrap(), high.unwrap());
    // By its half-width alone it would be a bound that lies inside its own interval.
    assert!(low > 0.0 && high - low > median, "{median} [{low} .. {high}]");
    assert!(!has_flag(row, "BELOW_DETECTION"), "{}", row["flags"]);
}

#[test]
fn a_table_shows_and_explains_doubts_about_classes_and_calls() {
    let selectors = ["timer", "procedure", "syscall/getppid", "syscall/open-close:via=*"];
    let ran = Sandbox::new().fake("classes", &selectors).exits(0);
    golden("classes.txt", &ran.stdout);
}

#[test]
fn classes_multiples_and_what_the_kernel_charged_are_in_the_record_and_in_the_store() {
    let sandbox = Sandbox::new();
    let selectors = ["timer", "procedure", "syscall/getppid", "syscall/open-close:via=*"];
    let record =
        sandbox.fake("classes", &[&selectors[..], &["--json", "-"]].concat()).exits(0).json();
    let shown = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    for (case, class, flag) in [
        ("timer/nothing", "user", None),
        ("timer/clock-gettime:clock=monotonic,via=raw", "light", None),
        ("timer/clock-gettime:clock=monotonic,via=libc", "vdso", Some("CLASS_UNEXPECTED")),
        ("timer/clock-gettime:clock=monotonic,via=vdso", "vdso", None),
        ("procedure/call:args=4,chain=independent", "", Some("CALLS_UNCOUNTED")),
        ("syscall/getppid:via=libc", "", Some("CLASS_BORDERLINE")),
        ("syscall/open-close:via=raw", "blocking", None),
        ("syscall/open-close:via=libc", "heavy", Some("CALLS_UNEXPECTED")),
    ] {
        let row = row(&record, case);
        match (class, flag) {
            ("", Some("CLASS_BORDERLINE")) => {
                assert!(["light", "heavy"].contains(&row["class"].as_str().unwrap()), "{case}");
            }
            ("", _) => assert!(row["class"].is_null(), "{case}: {}", row["class"]),
            (class, _) => assert_eq!(row["class"], class, "{case}"),
        }
        assert!(flag.is_none_or(|flag| has_flag(row, flag)), "{case}: {}", row["flags"]);
        assert_eq!(row["class"], self::row(&shown, case)["class"], "{case}, shown again");
    }
    let pair = row(&record, "syscall/open-close:via=raw");
    let times = |base: &str| pair["multiples"][base].as_f64().unwrap();
    // The null call is there as a part of floors; the empty function is not: its substitute is
    // named.
    assert!((19.0..22.0).contains(&times("syscall/invalid")), "{}", pair["multiples"]);
    let calls = times("procedure/call:args=0,chain=independent");
    assert!((1_300.0..1_400.0).contains(&calls), "{}", pair["multiples"]);
    let metric = |name: &str| &pair["metrics"][name];
    assert_eq!(metric("voluntary-switches")["estimate"]["median"], 1.0);
    assert_eq!(metric("voluntary-switches")["unit"], "1/op");
    assert_eq!(metric("system")["estimate"]["median"], 0.0);
    assert_eq!(metric("user")["unit"], "ns/op");
    assert!(metric("user")["estimate"]["ci95"].is_null(), "ticks have no interval");
}

#[test]
fn a_run_with_skipped_rows_only_succeeds() {
    let ran = Sandbox::new().fake("skipped", THREE).exits(0);
    golden("skipped.txt", &ran.stdout);
}

#[test]
fn wrong_calls_are_flagged_and_listed() {
    let ran = Sandbox::new().fake("all-outcomes", &["timer", "--json", "-"]).exits(0);
    let record = ran.json();
    let wrong = row(&record, "timer/clock-gettime:clock=monotonic,via=raw");
    assert!(has_flag(wrong, "CALLS_UNEXPECTED"), "{}", wrong["flags"]);
    assert_eq!(wrong["calls"]["expected"], false);
    assert_eq!(wrong["calls"]["per_op"]["clock_gettime"], 2.0);
    assert_eq!(wrong["calls"]["unexpected"][0], "46 clock_gettime in 23 ops, not 23");
    let right = row(&record, "timer/clock-gettime:clock=monotonic,via=libc");
    assert!(!has_flag(right, "CALLS_UNEXPECTED"), "{}", right["flags"]);
    assert_eq!(right["calls"]["expected"], true);
}

#[test]
fn a_failed_reference_case_does_not_fail_the_run() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    fs::write(&file, r#"{"failed": {"timer/nothing": "made up"}}"#).unwrap();
    let target = format!("fake:{}", file.display());
    let ran = sandbox.oscost(&["run", "--at", &target, "--json", "-", "syscall"]).exits(0);
    let reference_case = row(&ran.json(), "timer/nothing").clone();
    assert_eq!(reference_case["outcome"], "failed");
    assert!(has_flag(&reference_case, "REFERENCE"));
    sandbox.oscost(&["run", "--at", &target, "timer/nothing"]).exits(3);
}

#[test]
fn a_noisy_machine_is_reported_and_costs_have_units_that_fit() {
    let ran = Sandbox::new().fake("very-noisy", THREE).exits(0);
    golden("very-noisy.txt", &ran.stdout);
}

#[test]
fn text_from_a_worker_cannot_control_the_terminal() {
    let ran = Sandbox::new().fake("terminal", &["syscall/getppid"]).exits(3);
    let is_plain = |text: &str| text.chars().all(|c| c == '\n' || !c.is_control());
    assert!(is_plain(&ran.stdout), "{:?}", ran.stdout);
    assert!(is_plain(&ran.stderr), "{:?}", ran.stderr);
    golden("terminal.txt", &ran.stdout);
}

#[test]
fn every_table_fits_into_eighty_columns() {
    for scenario in
        ["measured", "all-outcomes", "classes", "skipped", "very-noisy", "terminal", "interrupted"]
    {
        let ran = Sandbox::new().fake(scenario, &["timer:clock=*", "procedure:args=*", "syscall"]);
        let long: Vec<&str> = ran.stdout.lines().filter(|line| line.chars().count() > 80).collect();
        assert!(long.is_empty(), "{scenario}: {long:#?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_table() {
    let sandbox = Sandbox::new();
    let first = sandbox.fake("measured", USUAL).stdout;
    // In a store without a run to compare with.
    assert_eq!(Sandbox::new().fake("measured", USUAL).stdout, first);
    let other = sandbox.fake("measured", &[USUAL, &["--precision", "0.2"]].concat()).stdout;
    assert_ne!(other, first, "a finer goal needs more repetitions");
}

#[test]
fn json_on_stdout_is_one_document_and_all_else_goes_to_stderr() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("measured", &["syscall", "--json", "-", "--label", "a word"]).exits(0);
    let record = ran.json();
    assert_eq!(record["schema"], "oscost.run/1");
    assert_eq!(record["label"], "a word");
    assert_eq!(record["settings"]["seed"], 1);
    assert!(ran.stderr.contains("kept as "), "{}", ran.stderr);
    assert!(rows(&record).iter().all(|row| row["repetitions"][0]["samples"].is_null()));
    let ran = sandbox.fake("measured", &["syscall", "--json", "-", "--samples"]).exits(0);
    let samples = row(&ran.json(), "syscall/getppid:via=raw")["repetitions"][0]["samples"].clone();
    assert_eq!(samples.as_array().unwrap().len(), 21);
}

#[test]
fn a_json_file_is_written_complete_while_the_table_is_shown() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("run.json");
    fs::write(&file, "what was there before").unwrap();
    let name = file.to_str().unwrap();
    let ran = sandbox.fake("measured", &["syscall", "--json", name]).exits(0);
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
    let kept = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0);
    assert_eq!(fs::read_to_string(&file).unwrap(), kept.stdout);
    let files = fs::read_dir(sandbox.folder("files")).unwrap().count();
    assert_eq!(files, 1, "a partial file was left next to it");
}

#[test]
fn an_unwritable_file_is_named_and_the_table_is_still_shown() {
    let sandbox = Sandbox::new();
    // That it is full shows only in the end.
    let ran = sandbox.fake("measured", &["syscall", "--json", "/dev/full"]).exits(4);
    let ran = ran
        .stderr_contains("error: cannot write /dev/full")
        .stderr_contains("No space left on device");
    assert!(ran.stdout.contains("getppid"), "what was measured is lost:\n{}", ran.stdout);
    assert!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout.contains("getppid"));
}

#[test]
fn no_store_keeps_nothing() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("measured", &["syscall/getppid", "--no-store"]).exits(0);
    assert_eq!(ran.stderr, "");
    assert_eq!(fs::read_dir(sandbox.folder("data")).unwrap().count(), 0);
}

#[test]
fn an_invalid_scenario_is_named() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    fs::write(&file, r#"{"no_such_word": 1}"#).unwrap();
    let target = format!("fake:{}", file.display());
    let ran = sandbox.oscost(&["run", "--at", &target]).exits(3).no_data();
    ran.stderr_contains("cannot read the scenario").stderr_contains("no_such_word");
    let target = format!("fake:{}", sandbox.file("nothing.json").display());
    sandbox.oscost(&["run", "--at", &target]).exits(3).stderr_contains("nothing.json");
}
