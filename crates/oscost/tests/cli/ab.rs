//! `oscost ab`: verdicts on targets, exit statuses, and the stored record.

use serde_json::Value;

use crate::common::{Ran, Sandbox, scenario_file};
use crate::golden::golden;

/// `ab` on a fake target: every target of the command is fake.
fn ab(sandbox: &Sandbox, scenario: &str, news: &[&str], arguments: &[&str]) -> Ran {
    let file = scenario_file(scenario);
    let host = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let mut all = vec!["ab".to_owned(), "--seed".to_owned(), "1".to_owned()];
    all.extend(["--base".to_owned(), host.clone()]);
    for new in news {
        let target = if new.is_empty() { host.clone() } else { format!("{new}@{host}") };
        all.extend(["--new".to_owned(), target]);
    }
    all.extend(arguments.iter().map(|&it| it.to_owned()));
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    // Titles would contain a path of this machine, of any length.
    Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap()))
}

pub(crate) fn assert_fits(text: &str) {
    assert!(text.is_ascii(), "{text}");
    fits_width(text);
}

pub(crate) fn fits_width(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

const ASKED: &[&str] =
    &["--quick", "timer/clock-gettime", "syscall/getppid", "procedure/call:args=0|7"];

fn rows(record: &Value) -> Vec<&Value> {
    let all = record["comparisons"].as_array().unwrap();
    all.iter().filter(|it| it["control"] == false).collect()
}

fn case<'a>(record: &'a Value, name: &str, new: &str) -> &'a Value {
    let target = |it: &Value| {
        let row = &record["results"][it["new"].as_u64().unwrap() as usize];
        row["target"]["treatments"] == serde_json::json!([new])
    };
    rows(record).into_iter().find(|it| it["case"] == name && target(it)).unwrap()
}

#[test]
fn each_design_finds_what_treatments_add_on_each_target() {
    let sandbox = Sandbox::new();
    let news = ["sud", "ebpf=empty", "env=A=b"];
    let ran = ab(&sandbox, "treated", &news, ASKED).exits(0);
    assert_fits(&ran.stdout);
    golden("ab.txt", &ran.stdout);
    // Kept, and shown again as it was.
    let again = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_eq!(again.stdout, ran.stdout);

    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    for (new, design, added) in
        [("sud", "twins", 38.0), ("ebpf=empty", "toggle", 78.0), ("env=A=b", "pairs", 0.0)]
    {
        let it = case(&record, "syscall/getppid:via=raw", new);
        assert_eq!(it["design"], design);
        let found = it["added"]["value"].as_f64().unwrap();
        assert!((found - added).abs() < 2.0, "{new}: {found}");
        let verdict = if added > 0.0 { "slower" } else { "inconclusive" };
        assert_eq!(it["verdict"], verdict, "{new}");
        assert_eq!(it["monitor_events_per_op"].is_null(), new == "env=A=b", "{new}");
    }
    // A vDSO clock read makes no call.
    let read = case(&record, "timer/clock-gettime:clock=monotonic,via=vdso", "sud");
    assert_eq!(read["monitor_events_per_op"], 0.0);
    let never = "NEVER_SEEN";
    assert!(read["flags"].as_array().unwrap().iter().any(|flag| flag == never), "{read}");
    let controls = record["comparisons"].as_array().unwrap().len() - rows(&record).len();
    assert_eq!(controls, 3, "one for each design");
}

#[test]
fn a_target_against_itself_raises_no_alarm_and_passes_the_gate() {
    let sandbox = Sandbox::new();
    let ran = ab(&sandbox, "treated", &[""], &[ASKED, &["--gate"]].concat()).exits(0);
    let ran = ran.stderr_contains("gate: passed");
    assert!(ran.stdout.contains("0 slower, 0 faster"), "{}", ran.stdout);
}

#[test]
fn a_gate_that_asks_for_more_than_pairs_can_show_is_not_judged() {
    let sandbox = Sandbox::new();
    // No verdict says less than 1 %.
    let gate = |more: &[&str]| {
        let arguments = [ASKED, &["--gate", "0.5"], more].concat();
        ab(&sandbox, "treated", &[""], &arguments)
    };
    let ran = gate(&[]).exits(3).stderr_contains("gate: not judged");
    ran.stderr_contains("`--gate-coverage` asks for 80 % of them");
    gate(&["--gate-coverage", "0"]).exits(0).stderr_contains("gate: passed");
}

#[test]
fn a_gate_fails_on_a_slower_row_and_names_it() {
    let sandbox = Sandbox::new();
    let arguments = ["--quick", "--gate", "20", "syscall/getppid:via=raw"];
    ab(&sandbox, "treated", &["sud"], &arguments)
        .exits(1)
        .stderr_contains("syscall/getppid:via=raw: slower");
    let arguments = ["--quick", "--gate", "40", "syscall/getppid:via=raw"];
    ab(&sandbox, "treated", &["sud"], &arguments).exits(0).stderr_contains("gate: passed");
}

#[test]
fn a_treatment_that_cannot_be_applied_has_its_reason_and_the_others_go_on() {
    let sandbox = Sandbox::new();
    let arguments = ["--quick", "syscall/getppid:via=raw", "--json", "-"];
    let ran = ab(&sandbox, "treated", &["ftrace", "sud"], &arguments).exits(0);
    let record = ran.json();
    let of = |treatment: &str, case: &str| {
        let all = record["results"].as_array().unwrap();
        let is = |row: &&Value| {
            row["case"] == case && row["target"]["treatments"] == serde_json::json!([treatment])
        };
        all.iter().find(is).unwrap().clone()
    };
    let refused = of("ftrace", "syscall/getppid:via=raw");
    assert_eq!(refused["outcome"], "skipped");
    assert!(refused["reason"].as_str().unwrap().contains("tracefs"), "{refused}");
    assert_eq!(of("sud", "syscall/getppid:via=raw")["outcome"], "measured");
    assert_eq!(case(&record, "syscall/getppid:via=raw", "sud")["verdict"], "slower");
}

#[test]
fn nothing_is_compared_with_a_target_that_cannot_be_measured() {
    let sandbox = Sandbox::new();
    let arguments = ["--quick", "syscall/getppid:via=raw", "--json", "-"];
    let record = ab(&sandbox, "treated", &["ftrace"], &arguments).exits(3).json();
    assert_eq!(rows(&record), Vec::<&Value>::new());
    let ab = ["ab", "--quick", "--new", "ebpf=empty", "syscall/getppid:via=raw"];
    // A user without the right to load BPF programs.
    let ran = Ran::of(&mut sandbox.ordinary(&ab)).exits(3);
    assert!(ran.stdout.contains("CAP_BPF"), "{}", ran.stdout);
    sandbox.nothing_is_left();
}

#[test]
fn a_control_that_shows_an_effect_voids_all_verdicts() {
    let sandbox = Sandbox::new();
    let arguments = ["syscall/getppid:via=raw", "--quick"];
    let ran = ab(&sandbox, "biased", &["sud"], &arguments).exits(0);
    assert_fits(&ran.stdout);
    // Of eight pairs no sign test has a p below 0.001: more are needed to be so sure.
    assert!(!ran.stdout.contains("VOID"), "{}", ran.stdout);
    let ran = ab(&sandbox, "biased", &["sud"], &["syscall/getppid:via=raw", "--budget", "30"]);
    golden("ab-void.txt", &ran.exits(0).stdout);
}

#[test]
fn targets_that_make_no_sense_are_refused_with_a_hint() {
    let sandbox = Sandbox::new();
    for (arguments, words) in [
        (&["ab", "--new", "sudd", "syscall/getppid"][..], "did you mean sud"),
        (&["ab", "--new", "ssh:db1", "syscall/getppid"], "oscost compare"),
        (&["ab", "--new", "cmd=strace@ssh:db1", "--base", "ssh:db1"], "of this machine only"),
        (&["ab", "--new", "nice=99", "syscall/getppid"], "nice"),
        (&["ab", "--base", "local"], "--new"),
        (&["ab", "--new", "sud", "nothing/such"], "nothing"),
    ] {
        sandbox.oscost(arguments).exits(2).stderr_contains(words);
    }
}
