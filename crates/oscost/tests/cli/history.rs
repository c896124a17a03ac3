//! `oscost history`: a known step is found, with the updates at it.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::day_series::{CASE, RUNS, STEP, changed_days, forty_days, of_day, record};
use crate::common::{Ran, Sandbox, rows, scenario_file};
use crate::golden::golden;

pub(crate) fn assert_fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && line.is_ascii(), "{line}");
    }
}

pub(crate) fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes away what newer versions keep of a run, as if an older one had kept it.
fn forget_figures(sandbox: &Sandbox) {
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    conn.execute_batch("DELETE FROM summary; DELETE FROM machine_state; DELETE FROM figure")
        .unwrap();
}

#[test]
fn a_step_is_found_and_its_update_is_marked_while_other_series_have_no_change() {
    let sandbox = forty_days();
    let one = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert_fits(&one);
    golden("history-one.txt", &one);
    let shown = flat(&one);
    assert!(shown.contains("change at run 26 of 2026-09-26"), "{shown}");
    assert!(
        shown.contains("updated at that run: kernel 6.1.0-22-cloud-amd64 -> 6.1.0-23"),
        "{shown}"
    );
    assert!(shown.contains("1 run: machine very noisy"), "{shown}");

    let all = sandbox.oscost(&["history"]).exits(0).stdout;
    assert_fits(&all);
    golden("history-all.txt", &all);
    let some = sandbox.oscost(&["history", "syscall", "timer/nothing"]).exits(0).stdout;
    assert_fits(&some);
    golden("history-some.txt", &some);

    // What an older oscost has stored is read once, with the same result.
    forget_figures(&sandbox);
    assert_eq!(sandbox.oscost(&["history", CASE]).exits(0).stdout, one);
    assert_eq!(sandbox.oscost(&["history"]).exits(0).stdout, all);
    // No worker is started: everything is in the store.
    let nowhere = sandbox.file("no-such-worker");
    assert_eq!(sandbox.oscost_with(&nowhere, &["history", CASE]).exits(0).stdout, one);
}

#[test]
fn as_json_every_point_names_its_run_and_every_change_the_runs_around_it() {
    let sandbox = forty_days();
    let found = sandbox.oscost(&["history", CASE, "--json", "-"]).exits(0).json();
    assert_eq!(found["schema"], "oscost.history/1");
    let series = &found["series"][0];
    let points = series["points"].as_array().unwrap();
    assert_eq!(points.len(), RUNS);
    let change = &series["changes"][0];
    assert_eq!(change["point"], STEP);
    assert_eq!((&change["before"], &change["after"]), (&points[24]["run"], &points[25]["run"]));
    assert!((change["ratio"].as_f64().unwrap() - 1.06).abs() < 0.01, "{change}");
    let update = &series["updates"][0];
    assert_eq!((&update["point"], &update["part"]), (&json!(STEP), &json!("kernel")));
    assert_eq!(series["left_out"].as_array().unwrap().len(), 3, "{series}");
    // Figures are those of the record to their last bit.
    let id = points[7]["run"].as_str().unwrap();
    let record = sandbox.oscost(&["runs", "show", id, "--json", "-"]).exits(0).json();
    let row = rows(&record).iter().find(|row| row["case"] == CASE).unwrap();
    assert_eq!(points[7]["median"], row["estimate"]["median"]);
    assert_eq!(points[7]["interval"], row["estimate"]["ci95"]);
    // Between runs it lies within more than the run leaves open.
    let end = |key: &str, at: usize| points[7][key][at].as_f64().unwrap();
    assert!(end("between_run_ci95", 0) <= end("interval", 0));
    assert!(end("between_run_ci95", 1) >= end("interval", 1));
    assert!(series["between_run_sd"].as_f64().unwrap() < 0.05, "{series}");

    let target = sandbox.file("history.json");
    let ran =
        sandbox.oscost(&["history", CASE, "--last", "12", "--json", target.to_str().unwrap()]);
    let shown = flat(&ran.exits(0).stdout);
    assert!(shown.contains("12 runs, 2026-09-29 to 2026-10-10 (28 runs older)"), "{shown}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(target).unwrap()).unwrap();
    assert_eq!(kept["series"][0]["changes"], json!([]));
}

#[test]
fn runs_of_this_machine_are_in_the_history_of_their_target_until_deleted() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    }
    let target = format!("fake:{}", scenario_file("measured").display());
    let ask = || sandbox.oscost(&["history", CASE, "--at", &target]).exits(0).stdout;
    assert!(flat(&ask()).contains(": 3 runs"), "{}", ask());
    assert!(ask().contains("3 runs: changes are looked for from "), "{}", ask());
    // Three runs do not show how far they vary: the newest record says it, by the class of the case.
    let record = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    let row = rows(&record).iter().find(|row| row["case"] == CASE).unwrap();
    let found = sandbox.oscost(&["history", CASE, "--at", &target, "--json", "-"]).exits(0).json();
    let series = &found["series"][0];
    assert!(row["estimate"]["between_run_ci95"].is_array(), "{row}");
    assert_eq!(series["points"][2]["between_run_ci95"], row["estimate"]["between_run_ci95"]);
    assert!(series["points"][1]["between_run_ci95"].is_null(), "{series}");
    assert!(series["between_run_sd"].is_null(), "{series}");
    assert!(flat(&ask()).contains(" within the run)"), "{}", ask());
    let kept = ask();
    forget_figures(&sandbox);
    assert_eq!(ask(), kept);
    sandbox.oscost(&["runs", "delete", "last"]).exits(0);
    assert!(flat(&ask()).contains(": 2 runs"), "{}", ask());
    let local = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert!(flat(&local).contains("also measured at other targets (--at): fake:"), "{local}");
}

#[test]
fn a_list_and_a_history_read_no_run_and_a_comparison_only_its_own() {
    let sandbox = forty_days();
    let ask = |arguments: &[&str]| sandbox.oscost(arguments).exits(0).stdout;
    let all = || [ask(&["runs", "list"]), ask(&["history"]), ask(&["compare", "last~1", "last"])];
    let before = all();
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    let newest = "SELECT key FROM run ORDER BY started DESC, id DESC LIMIT 2";
    let damage = format!("UPDATE run SET record = 'damaged' WHERE key NOT IN ({newest})");
    assert!(conn.execute(&damage, []).unwrap() >= RUNS - 2);
    assert_eq!(all(), before);
    conn.execute("UPDATE run SET record = 'damaged'", []).unwrap();
    assert_eq!([ask(&["runs", "list"]), ask(&["history"])], before[..2]);
}

#[test]
fn a_history_that_cannot_be_read_is_an_error_with_a_reason() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.oscost(&["history"]).exits(0).stdout, "no figure of local is kept\n");
    sandbox.oscost(&["history", CASE]).exits(2).no_data().stderr_contains("the store is empty");
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let ran = sandbox.oscost(&["history", "syscall/getpid"]).exits(2).no_data();
    ran.stderr_contains("did you mean syscall/getppid?");
    sandbox
        .oscost(&["history", "--at", "ssh:"])
        .exits(2)
        .no_data()
        .stderr_contains("`ssh:` names no host");
    sandbox.oscost(&["history", "--last", "0"]).exits(2).no_data();
}

/// The values of the only series of a history as JSON.
pub(crate) fn series(sandbox: &Sandbox, case: &str) -> Value {
    let found = sandbox.oscost(&["history", case, "--json", "-"]).exits(0).json();
    let all = found["series"].as_array().unwrap();
    assert_eq!(all.len(), 1, "{found}");
    all[0].clone()
}

fn points(series: &Value) -> usize {
    series["points"].as_array().unwrap().len()
}

/// The row of [`CASE`].
pub(crate) fn row(record: &mut Value) -> &mut Value {
    let rows = record["results"].as_array_mut().unwrap();
    rows.iter_mut().find(|row| row["case"] == CASE).unwrap()
}

fn left_out(series: &Value) -> Vec<(String, u64)> {
    let left = series["left_out"].as_array().unwrap().iter();
    left.map(|it| (it["reason"].as_str().unwrap().to_owned(), it["runs"].as_u64().unwrap()))
        .collect()
}

#[test]
fn an_interval_with_swapped_ends_is_refused_and_a_kept_one_is_ignored() {
    let sandbox = changed_days(12, |_, _| {});
    let mut wrong = of_day(&record(&sandbox), 20);
    row(&mut wrong)["estimate"]["ci95"] = json!([130.0, 110.0]);
    let path = sandbox.file("wrong.json");
    fs::write(&path, wrong.to_string()).unwrap();
    let ran = sandbox.oscost(&["runs", "import", path.to_str().unwrap()]).exits(2).no_data();
    ran.stderr_contains("estimate.ci95[1]` is 110, below 130 where it begins");

    // An older oscost took it.
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    let sql = "UPDATE run SET record = ?1 WHERE started LIKE '2026-09-05%'";
    assert_eq!(conn.execute(sql, [wrong.to_string()]), Ok(1));
    forget_figures(&sandbox);
    let shown = flat(&sandbox.oscost(&["history", CASE]).exits(0).stdout);
    assert!(shown.contains("local: 11 runs"), "{shown}");
    assert!(shown.contains("left out: 1 run: no interval: fewer than six"), "{shown}");
}

#[test]
fn tracers_and_settings_that_changed_are_marked_at_the_change() {
    let sandbox = changed_days(RUNS, |day, record| {
        let machine = &mut record["machines"][0];
        machine["os"]["release"] = json!("6.1.0-22-cloud-amd64");
        let requested = if day < STEP { "quiet" } else { "quiet audit=1" };
        machine["os"]["cmdline"] = json!(format!("BOOT_IMAGE=/vmlinuz-{day} {requested}"));
        machine["os"]["lsm"] = json!(["capability"]);
        machine["mitigations"] = json!({"meltdown": "Mitigation: PTI", "srbds": "Not affected"});
        if day >= STEP {
            machine["os"]["lsm"] = json!(["capability", "bpf"]);
            machine["mitigations"]["meltdown"] = json!("Vulnerable");
            record["conditions"][0]["tracers"] = json!(["sys_enter is traced"]);
        }
        if day >= STEP + 2 {
            row(record)["mode"] = json!("S");
        }
        row(record)["target"]["cpu"] = json!(usize::from(day >= STEP));
    });
    let found = series(&sandbox, CASE);
    assert_eq!(points(&found), RUNS, "{found}");
    let updates: Vec<String> = found["updates"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| {
            let text = |key: &str| it[key].as_str().unwrap().to_owned();
            format!("{} {}: {} -> {}", it["point"], text("part"), text("from"), text("to"))
        })
        .collect();
    let expected = [
        "25 command-line: nothing -> audit=1",
        "25 mitigations: meltdown: Mitigation: PTI -> meltdown: Vulnerable",
        "25 modules: nothing -> bpf",
        "25 tracers: nothing -> sys_enter is traced",
        "25 cpu: 0 -> 1",
        "27 mode: B -> S",
    ];
    assert_eq!(updates, expected);
    let shown = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert_fits(&shown);
    assert!(
        flat(&shown).contains("updated at that run: command line nothing -> audit=1"),
        "{shown}"
    );
}

#[test]
fn programs_of_one_name_differ_by_their_words_and_files_by_their_file_system() {
    let as_program = |day: usize, record: &mut Value| {
        let words = if day < 8 { &["true"][..] } else { &["true", "other", "args"] };
        let command: Vec<&str> = ["oscost", "run", "--"].iter().chain(words).copied().collect();
        record["command"] = json!(command);
        let row = row(record);
        (row["case"], row["benchmark"]) = (json!("workload/true"), json!("workload/true"));
        row["command"] = json!(words);
    };
    let sandbox = changed_days(12, as_program);
    let found = series(&sandbox, "workload/true");
    assert_eq!(points(&found), 4, "{found}");
    let why = "another command of the same name, or another of its metrics (imported)".to_owned();
    assert_eq!(left_out(&found), [(why, 8)]);

    let sandbox = changed_days(12, |day, record| {
        let (system, behind) = if day < 5 { ("ext4", "disk") } else { ("tmpfs", "memory") };
        row(record)["file"] = json!({"filesystem": system, "backing": behind, "cold": false,
            "pages": 1, "checks": 1, "cached": [1, 1]});
        let state = if day == 6 { "training" } else { "normal" };
        row(record)["monitor"] =
            json!({"profile_states": [state], "observed_calls": 1, "anomalies": 0});
    });
    let found = series(&sandbox, CASE);
    let expected = [
        ("on another file system: ext4 (disk), not tmpfs (memory) (imported)".to_owned(), 5),
        ("under a monitor in another state: training, not normal (imported)".to_owned(), 1),
    ];
    assert_eq!(left_out(&found), expected);
}

#[test]
fn a_run_is_one_point_each_peer_a_series_and_a_faulty_run_not_the_reference() {
    let sandbox = changed_days(12, |day, record| {
        let mut again = row(record).clone();
        again["estimate"]["median"] = json!(500.0);
        again["estimate"]["ci95"] = json!([499.0, 501.0]);
        record["results"].as_array_mut().unwrap().push(again);
        match day {
            // What would part it from the others, were it the measure.
            11 => {
                record["conditions"][0]["class"] = json!("very-noisy");
                row(record)["rev"] = json!(9);
            }
            10 => row(record)["estimate"]["ci95"] = Value::Null,
            9 => record["machines"] = json!([]),
            8 => record["ended"] = Value::Null,
            _ => {}
        }
    });
    let found = series(&sandbox, CASE);
    assert_eq!(points(&found), 8, "{found}");
    assert!(found["points"].as_array().unwrap().iter().all(|it| it["median"] != 500.0));
    let expected = [
        ("machine very noisy (imported)".to_owned(), 1),
        ("no interval: fewer than six repetitions (imported)".to_owned(), 1),
        ("record without a machine (imported)".to_owned(), 1),
    ];
    assert_eq!(left_out(&found), expected);
    let shown = flat(&sandbox.oscost(&["history"]).exits(0).stdout);
    assert!(shown.contains("left out of a case or more: 1 run: machine very noisy"), "{shown}");
    assert!(shown.contains("not read: 1 run: it has not ended, or was killed"), "{shown}");

    let sandbox = changed_days(9, |day, record| {
        row(record)["target"]["peer"] = json!("m0");
        let peer = if day < 6 { "ssh:db1" } else { "ssh:db2" };
        record["command"] = json!(["oscost", "run", "--peer", peer, "socket"]);
    });
    let found = sandbox.oscost(&["history", CASE, "--json", "-"]).exits(0).json();
    let found: Vec<(usize, &str)> = found["series"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| (points(it), it["peer_host"].as_str().unwrap()))
        .collect();
    assert_eq!(found, [(6, "ssh:db1"), (3, "ssh:db2")]);
    let shown = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert!(flat(&shown).contains("at local, its other end at ssh:db2: 3 runs"), "{shown}");
}

#[test]
fn an_empty_series_has_its_reasons_and_names_other_targets() {
    let very_noisy = changed_days(3, |_, it| it["conditions"][0]["class"] = json!("very-noisy"));
    let shown = flat(&very_noisy.oscost(&["history"]).exits(0).stdout);
    assert!(shown.contains("nothing at local has enough runs"), "{shown}");
    assert!(shown.contains("3 runs: machine very noisy (imported)"), "{shown}");
    assert!(!shown.contains("no figure of local is kept"), "{shown}");
    let shown = flat(&very_noisy.oscost(&["history", "--at", "ssh:db1"]).exits(0).stdout);
    assert!(shown.contains("no figure of ssh:db1 is kept"), "{shown}");
    assert!(shown.contains("also measured at other targets (--at): local"), "{shown}");

    // Reference cases that were not requested are in no table; if they are named, they are shown.
    let sandbox = changed_days(3, |_, record| row(record)["flags"] = json!(["REFERENCE"]));
    let all = sandbox.oscost(&["history", "--json", "-"]).exits(0).json();
    let cases: Vec<&Value> =
        all["series"].as_array().unwrap().iter().map(|it| &it["case"]).collect();
    assert!(!cases.is_empty() && !cases.contains(&&json!(CASE)), "{cases:?}");
    assert_eq!(points(&series(&sandbox, CASE)), 3);
}

#[test]
fn an_unwritable_store_is_one_note_and_the_run_goes_on() {
    let sandbox = changed_days(8, |_, _| {});
    let before = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    forget_figures(&sandbox);
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    conn.execute_batch("BEGIN IMMEDIATE").unwrap();
    let Ran { stdout, stderr, .. } = sandbox.oscost(&["history", CASE]).exits(0);
    assert_eq!(stdout, before);
    assert_eq!(stderr.matches("note: ").count(), 1, "{stderr}");
    assert!(stderr.contains("figures of runs are read again each time: cannot"), "{stderr}");
}
