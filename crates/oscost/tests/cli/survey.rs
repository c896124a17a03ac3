//! The survey of timers, on fake targets.

use std::fs;

use serde_json::Value;

use crate::common::{Sandbox, row};
use crate::golden::golden;

/// The cells of a line of the survey: words separated by a single space are one cell only where
/// a number and its unit do.
pub(crate) fn cells(line: &str) -> Vec<String> {
    let mut cells: Vec<String> = Vec::new();
    for word in line.split_whitespace() {
        let is_unit = ["ns", "us", "ms", "s", "tick"].contains(&word);
        match cells.last_mut() {
            Some(number) if is_unit => *number += word,
            Some(sign) if sign == "<" => *sign += word,
            _ => cells.push(word.to_owned()),
        }
    }
    cells
}

/// The survey's part of the output, and the lines of its table.
fn survey(stdout: &str) -> (&str, Vec<&str>) {
    let (_, survey) = stdout.split_once("\nTimers\n").expect("there is no survey");
    let lines = survey.lines().take_while(|line| !line.is_empty()).skip(2).collect();
    (survey, lines)
}

/// The workers of a timer.
fn of(stdout: &str, timer: &str) -> Vec<String> {
    let (_, lines) = survey(stdout);
    let found = lines.iter().map(|line| cells(line)).find(|workers| workers[0] == timer);
    found.unwrap_or_else(|| panic!("no `{timer}` in:\n{stdout}"))
}

#[test]
fn the_survey_is_at_the_end_and_has_seven_columns_without_an_empty_cell() {
    let ran = Sandbox::new().fake("survey", &["timer"]).exits(0);
    let (text, lines) = survey(&ran.stdout);
    golden("survey.txt", text);
    for line in &lines {
        assert_eq!(cells(line).len(), 8, "`{line}`");
    }
    let long: Vec<&str> = ran.stdout.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(long.is_empty(), "{long:#?}");
    assert!(ran.stdout.is_ascii());
}

#[test]
fn a_cell_without_a_figure_has_a_letter_that_names_its_reason() {
    let ran = Sandbox::new().fake("survey", &["timer"]).exits(0);
    let (text, _) = survey(&ran.stdout);
    for (timer, at, reason) in [
        ("realtime-alarm", 1, "there is no real-time clock"),
        ("gethrtime", 1, "gone"),
        ("time", 3, "it advances once per second"),
        ("getrusage", 1, "unmeasurable: only 0 of 20 workers"),
        ("clock_settime", 2, "it does not return a time"),
    ] {
        let worker = of(&ran.stdout, timer)[at].clone();
        let letter = worker.strip_prefix("n/a").unwrap_or_else(|| panic!("{timer}: {worker}"));
        let note = text.lines().find(|line| line.starts_with(letter)).unwrap();
        assert!(note.contains(reason) || text.contains(reason), "{timer}: {note}");
    }
}

#[test]
fn an_incomplete_survey_is_not_shown() {
    let sandbox = Sandbox::new();
    for selectors in [&["timer/clock-gettime"][..], &["timer/*"], &["timer:via=libc"], &["syscall"]]
    {
        let ran = sandbox.fake("measured", selectors).exits(0);
        assert!(!ran.stdout.contains("survey"), "{selectors:?}:\n{}", ran.stdout);
        let json =
            sandbox.fake("measured", &[selectors, &["--json", "-"]].concat()).exits(0).json();
        assert_eq!(json["timers"], Value::Array(vec![]), "{selectors:?}");
    }
    let ran = sandbox.fake("measured", &["timer", "syscall"]).exits(0);
    assert!(ran.stdout.contains("\nTimers\n"), "{}", ran.stdout);
}

#[test]
fn the_store_and_an_imported_record_show_the_survey_again_without_any_worker() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fake("survey", &["timer"]).exits(0).stdout;
    let no_worker = sandbox.file("no-such-worker");
    let show =
        |sandbox: &Sandbox| sandbox.oscost_with(&no_worker, &["runs", "show", "last"]).exits(0);
    assert_eq!(show(&sandbox).stdout, printed);
    let file = sandbox.file("run.json");
    let file = file.to_str().unwrap();
    sandbox.oscost(&["runs", "export", "last", file]).exits(0);
    let other = Sandbox::new();
    other.oscost(&["runs", "import", file]).exits(0);
    assert_eq!(show(&other).stdout, printed);
}

/// An invented scenario: the keys of `more` replace those of an ordinary one.
fn bad_day(more: &str) -> (String, Value) {
    let sandbox = Sandbox::new();
    let file = sandbox.file("day.json");
    fs::write(&file, format!("{{ {more} }}")).unwrap();
    let target = format!("fake:{}", file.display());
    let run = ["run", "--quick", "--seed", "1", "--at", &target, "timer"];
    let shown = sandbox.oscost(&run).exits(0).stdout;
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    (shown, record)
}

const NO_VDSO: &str = r#"
    "unusable_clocks": {
        "tsc": "the kernel itself uses clocksource `hpet`",
        "vdso": "the kernel maps no vDSO with clock_gettime"
    },
    "skipped": {
        "timer/clock-gettime:clock=monotonic,via=vdso": "this kernel's vDSO has no clock_gettime",
        "timer/gettimeofday:via=vdso": "this kernel's vDSO has no gettimeofday",
        "timer/time:via=vdso": "this kernel's vDSO has no time"
    },
    "calls": {
        "timer/clock-gettime:clock=monotonic,via=libc": { "clock_gettime": 1 },
        "timer/clock-gettime:clock=realtime,via=libc": { "clock_gettime": 1 },
        "timer/gettimeofday:via=libc": { "gettimeofday": 1 },
        "timer/time:via=libc": { "time": 1 }
    }"#;

#[test]
fn without_a_vdso_the_system_call_is_chosen_and_every_row_has_its_reason() {
    let (shown, record) = bad_day(NO_VDSO);
    let (text, _) = survey(&shown);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "oscost chose syscall: CLOCK_MONOTONIC_RAW by a system call",
        "Not chosen: tsc: the kernel itself uses clocksource `hpet`.",
        "Not chosen: vdso: the kernel maps no vDSO with clock_gettime.",
    ] {
        assert!(flat.contains(words), "{text}");
    }
    for timer in ["monotonic", "realtime", "gettimeofday", "time"] {
        assert_eq!(of(&shown, timer)[5], "yes", "{timer} seems to do without the kernel");
    }
    for (case, why) in [
        ("timer/clock-gettime:clock=monotonic,via=vdso", "this kernel's vDSO has no clock_gettime"),
        ("timer/time:via=vdso", "this kernel's vDSO has no time"),
    ] {
        let row = row(&record, case);
        assert_eq!((&row["outcome"], &row["reason"]), (&"skipped".into(), &why.into()), "{case}");
    }
    let entered = row(&record, "timer/clock-gettime:clock=monotonic,via=libc");
    assert_eq!(entered["calls"]["expected"], false);
    assert_eq!(record["machines"][0]["clock"]["source"], "syscall");
    assert_eq!(record["machines"][0]["clock"]["rejected_clocks"].as_array().unwrap().len(), 2);
}

#[test]
fn with_a_trapped_counter_the_vdso_is_chosen() {
    let (shown, record) = bad_day(
        r#""unusable_clocks":
           { "tsc": "a pair of reads takes 2034 ns: the counter is trapped or emulated" },
           "costs_ns": { "timer/tsc:read=fenced-rdtsc": 1017 }"#,
    );
    let (text, _) = survey(&shown);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("oscost chose vdso: CLOCK_MONOTONIC_RAW through the vDSO"), "{text}");
    assert!(flat.contains("Not chosen: tsc: a pair of reads takes 2034 ns"), "{text}");
    assert!(of(&shown, "tsc")[1].ends_with("us"), "a trapped counter is still a row:\n{text}");
    assert_eq!(record["machines"][0]["clock"]["source"], "vdso");
}

#[test]
fn with_another_clocksource_clocks_enter_the_kernel_as_the_survey_shows() {
    let (shown, _) = bad_day(
        r#""unusable_clocks": {
               "tsc": "the kernel itself uses clocksource `acpi_pm`",
               "vdso": "the vDSO's clock_gettime enters the kernel with this clocksource"
           },
           "calls": { "timer/clock-gettime:clock=monotonic,via=libc": { "clock_gettime": 1 } }"#,
    );
    assert_eq!(of(&shown, "monotonic")[5], "yes");
    assert_eq!(of(&shown, "monotonic-coarse")[5], "no");
    let flat = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("Not chosen: vdso: the vDSO's clock_gettime enters the kernel"),
        "{flat}"
    );
    assert!(flat.contains("CALLS_UNEXPECTED"), "{flat}");
}
