//! Real workers on this machine: states, counts and intervals; never a figure.

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, has_flag, row, rows, until};
use crate::survey::cells;

/// A run on this machine in which every row was measured: repeated if the machine is too loaded to
/// measure some workers.
pub(crate) fn measured(mut run: impl FnMut() -> Ran) -> Value {
    for _ in 0..3 {
        let ran = run();
        let record = ran.json();
        if rows(&record).iter().any(|row| row["outcome"] == "unmeasurable") {
            eprintln!("once more: {}", record["conditions"]);
            continue;
        }
        ran.exits(0);
        return record;
    }
    panic!("this machine is too busy to measure anything");
}

/// Whether ptrace may be used here; where it may not, calls cannot be counted.
fn is_counted(row: &Value) -> bool {
    let uncounted = has_flag(row, "CALLS_UNCOUNTED");
    if uncounted {
        eprintln!("cannot count here: ptrace is refused");
    }
    !uncounted
}

#[test]
fn five_benchmarks_are_measured_with_intervals_and_their_expected_calls() {
    let sandbox = Sandbox::new();
    let selectors = ["timer/nothing", "timer/clock-gettime", "procedure/call:args=0", "syscall"];
    let record =
        measured(|| sandbox.oscost(&[&["run", "--quick", "--json", "-"], &selectors[..]].concat()));
    assert_eq!(record["complete"], true);
    assert_eq!(
        record["machines"][0]["clock"]["ticks_per_ns"].as_f64().map(f64::is_normal),
        Some(true)
    );
    assert!(
        ["quiet", "noisy", "very-noisy"]
            .contains(&record["conditions"][0]["class"].as_str().unwrap())
    );
    for row in rows(&record) {
        let case = &row["case"];
        if row["outcome"] == "skipped" {
            // For example a kernel without a vDSO.
            assert!(row["reason"].is_string(), "{case}");
            continue;
        }
        assert_eq!(row["outcome"], "measured", "{case}: {}", row["reason"]);
        let interval: [f64; 2] = serde_json::from_value(row["estimate"]["ci95"].clone()).unwrap();
        let median = row["estimate"]["median"].as_f64().unwrap();
        assert!(interval[0] <= median && median <= interval[1], "{case}: {}", row["estimate"]);
        assert!(row["estimate"]["repetitions"].as_u64().unwrap() >= 6, "{case}");
        assert_eq!(row["target"]["host"], "local");
    }
    let clock_source = &record["machines"][0]["scheduling"]["clocksource"];
    for (case, calls) in [
        ("timer/nothing", json!({})),
        ("timer/clock-gettime:clock=monotonic,via=raw", json!({"clock_gettime": 1.0})),
        ("timer/clock-gettime:clock=monotonic,via=libc", json!({})),
        ("timer/clock-gettime:clock=monotonic,via=vdso", json!({})),
        ("procedure/call:args=0,chain=independent", json!({})),
        ("syscall/getppid:via=raw", json!({"getppid": 1.0})),
        ("syscall/getppid:via=libc", json!({"getppid": 1.0})),
        ("syscall/open-close:via=raw", json!({"openat": 1.0, "close": 1.0})),
    ] {
        let row = row(&record, case);
        if row["outcome"] == "skipped" || !is_counted(row) {
            continue;
        }
        if has_flag(row, "CALLS_UNEXPECTED") && case.starts_with("timer/clock-gettime") {
            // A clock source that no program can read by itself.
            eprintln!("{case} makes {}: the clock source is {clock_source}", row["calls"]);
            assert_ne!(clock_source, "tsc", "{case}: {}", row["calls"]);
            continue;
        }
        assert_eq!(row["calls"]["per_op"], calls, "{case}");
        assert_eq!(row["calls"]["expected"], true, "{case}");
        assert_eq!(row["calls"]["counted_ops"], 23, "{case}");
    }
    sandbox.nothing_is_left();
}

/// What explains a case that was counted just now, on this machine.
fn explained(sandbox: &Sandbox, case: &str) -> String {
    let mut here = String::new();
    until("no other test measures", || {
        let text = sandbox.oscost(&["explain", case]).exits(0).stdout;
        text.split_once("\nOn this machine\n").unwrap().1.clone_into(&mut here);
        !here.contains("is measuring on this machine")
    });
    here
}

#[test]
fn l13_reference_cases_are_classified_by_their_figures() {
    let sandbox = Sandbox::new();
    let selectors = [
        "timer/nothing",
        "timer/clock-gettime",
        "procedure/call:args=0",
        "syscall/getppid:via=*",
        "process/fork-exit:touched_mib=0",
    ];
    let record =
        measured(|| sandbox.oscost(&[&["run", "--quick", "--json", "-"], &selectors[..]].concat()));
    for (case, class) in [
        ("timer/nothing", "user"),
        ("procedure/call:args=0,chain=independent", "user"),
        ("timer/clock-gettime:clock=monotonic,via=libc", "vdso"),
        ("timer/clock-gettime:clock=monotonic,via=vdso", "vdso"),
        ("timer/clock-gettime:clock=monotonic,via=raw", "light"),
        ("syscall/getppid:via=raw", "light"),
        ("syscall/getppid:via=libc", "light"),
        ("process/fork-exit:touched_mib=0,peer_cpu=same", "heavy"),
    ] {
        let row = row(&record, case);
        if row["outcome"] == "skipped" || !is_counted(row) {
            continue;
        }
        let flagged = has_flag(row, "CLASS_UNEXPECTED") || has_flag(row, "CLASS_BORDERLINE");
        if case.starts_with("timer/clock-gettime") && (flagged || row["calls"]["vdso"] == false) {
            eprintln!("{case}: no vDSO, or one that enters the kernel: {}", row["calls"]);
            continue;
        }
        assert_eq!(row["class"], class, "{case}: {row}");
        assert!(!flagged, "{case}: {}", row["flags"]);
    }
    // What the kernel charged: CPU time at least, and no op of these waits.
    let getppid = row(&record, "syscall/getppid:via=raw");
    let metric = |name: &str| getppid["metrics"][name]["estimate"]["median"].as_f64();
    if let (Some(user), Some(system)) = (metric("user"), metric("system")) {
        assert!(user + system > 0.0, "{}", getppid["metrics"]);
        assert!(metric("voluntary-switches").unwrap() < 0.1, "{}", getppid["metrics"]);
    }
    sandbox.nothing_is_left();
}

#[test]
fn explain_counts_calls_here_and_shows_the_last_figure() {
    let sandbox = Sandbox::new();
    let here = explained(&sandbox, "syscall/getppid");
    if here.contains("ptrace is refused") {
        eprintln!("cannot count here: ptrace is refused");
        return;
    }
    assert!(here.contains("1 kernel entry per op: getppid"), "{here}");
    let words = here.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("instructions in user mode"), "{here}");
    assert!(here.contains("not measured on this machine yet"), "{here}");
    measured(|| sandbox.oscost(&["run", "--quick", "--json", "-", "syscall/getppid:via=raw"]));
    let here = explained(&sandbox, "syscall/getppid:via=raw");
    assert!(here.contains("last figure: ") && here.contains(" ns ("), "{here}");
    assert!(here.contains(", light, of 20"), "{here}");
    assert!(here.lines().all(|line| line.chars().count() <= 80), "{here}");
    sandbox.nothing_is_left();
}

#[test]
fn the_survey_of_this_machine_has_no_empty_cell_and_names_the_chosen_clock() {
    let sandbox = Sandbox::new();
    // What a busy machine leaves no time for is a worker with a reason, too.
    let ran = sandbox.oscost(&["run", "--quick", "--budget", "20", "timer"]);
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    let (_, survey) = ran.stdout.split_once("\nTimers\n").unwrap();
    let table: Vec<&str> = survey.lines().take_while(|line| !line.is_empty()).collect();
    assert!(table.len() > 25, "{survey}");
    // Where the figures are wide, a long name has a line of its own above them.
    let mut name = String::new();
    for line in &table[2..] {
        let row = format!("{name} {line}");
        let cells = cells(&row);
        name = if cells.len() == 1 { cells[0].clone() } else { String::new() };
        assert!([1, 8].contains(&cells.len()), "a cell is empty in `{row}`:\n{survey}");
    }
    assert_eq!(name, "", "a name without figures:\n{survey}");
    assert!(survey.contains("oscost chose "), "{survey}");
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    assert_eq!(sandbox.oscost(&["runs", "show", "last"]).exits(0).stdout, ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_real_run_is_shown_again_unchanged() {
    let sandbox = Sandbox::new();
    let printed = sandbox.oscost(&["run", "--quick", "syscall/getppid:via=raw", "--samples"]);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_eq!(shown.stdout, printed.stdout);
    let json = ["run", "--quick", "syscall/getppid:via=raw", "--json", "-", "--samples"];
    let printed = sandbox.oscost(&json);
    let shown = sandbox.oscost(&["runs", "show", "last", "--json", "-", "--samples"]).exits(0);
    assert_eq!(shown.stdout, printed.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_case_that_does_not_apply_is_skipped_and_alone_measures_nothing() {
    let sandbox = Sandbox::new();
    let case = "procedure/call:args=0,chain=dependent";
    let ran = sandbox.oscost(&["run", "--quick", case]).exits(3);
    assert!(ran.stdout.contains("Not measured\n"), "{}", ran.stdout);
    assert!(ran.stdout.contains("skipped: a call without"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_missing_cpu_is_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    for arguments in [
        &["run", "--quick", "timer/nothing", "--cpu", "4095"][..],
        // Before it asks for a price list, or waits for the machine.
        &["bill", "--cpu", "4095", "--", "true"],
    ] {
        let ran = sandbox.oscost(arguments).exits(2).no_data();
        let ran = ran.stderr_contains("cannot measure on CPU 4095").stderr_contains("hint:");
        let (_, listed) = ran.stderr.split_once("available to this process: ").unwrap();
        let first = listed.split([',', '\n']).next().unwrap();
        assert!(first.trim().parse::<u32>().is_ok(), "the CPUs are listed: {}", ran.stderr);
    }
    sandbox.nothing_is_left();
}

#[test]
fn a_machine_without_room_for_temporary_files_is_still_measured() {
    let sandbox = Sandbox::new();
    let record = measured(|| {
        let arguments = ["run", "--quick", "--no-store", "--json", "-", "syscall/getppid:via=raw"];
        Ran::of(sandbox.command(&arguments).env("TMPDIR", sandbox.folder("no-such-folder")))
    });
    assert_eq!(row(&record, "syscall/getppid:via=raw")["outcome"], "measured");
}

#[test]
fn an_ordinary_user_can_measure() {
    let sandbox = Sandbox::new();
    let record = measured(|| {
        let timers =
            ["timer/clock-gettime", "timer/clock-settime", "timer/adjtimex", "timer/alarm"];
        let arguments = ["run", "--quick", "--json", "-", "syscall"];
        Ran::of(&mut sandbox.ordinary(&[&arguments[..], &timers].concat()))
    });
    for row in rows(&record) {
        let outcome = row["outcome"].as_str().unwrap();
        assert!(["measured", "skipped"].contains(&outcome), "{}: {}", row["case"], row["reason"]);
    }
    let getppid = row(&record, "syscall/getppid:via=raw");
    assert_eq!(getppid["outcome"], "measured");
    if is_counted(getppid) {
        assert_eq!(getppid["calls"]["expected"], true);
    }
    for refused in ["argument", "permission"] {
        let row = row(&record, &format!("timer/clock-settime:refused={refused}"));
        assert_eq!(row["outcome"], "measured", "{refused}: {}", row["reason"]);
    }
    let store = sandbox.folder("data").join("oscost/store.db");
    assert!(store.is_file(), "the run was not kept");
    sandbox.nothing_is_left();
}
