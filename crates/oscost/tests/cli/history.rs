//! `oscost history`: a step that is known to be there is found, with what was updated beside it.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::days::{CASE, RUNS, STEP, forty_days};
use crate::common::{Sandbox, rows, scenario_file};
use crate::golden::golden;

fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && line.is_ascii(), "{line}");
    }
}

fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Takes away what newer versions keep of a run, as if an older one had kept it.
fn forget_figures(sandbox: &Sandbox) {
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    conn.execute_batch("DELETE FROM summary; DELETE FROM stand; DELETE FROM figure").unwrap();
}

#[test]
fn a_step_is_found_with_the_update_beside_it_and_the_others_stay_as_they_are() {
    let sandbox = forty_days();
    let one = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    fits(&one);
    golden("history-one.txt", &one);
    let said = flat(&one);
    assert!(said.contains("change at run 26 of 2026-09-26"), "{said}");
    assert!(said.contains("updated there: kernel 6.1.0-22-cloud-amd64 -> 6.1.0-23"), "{said}");
    assert!(said.contains("1 run: its class is hostile"), "{said}");

    let all = sandbox.oscost(&["history"]).exits(0).stdout;
    fits(&all);
    golden("history-all.txt", &all);
    let some = sandbox.oscost(&["history", "syscall", "timer/nothing"]).exits(0).stdout;
    fits(&some);
    golden("history-some.txt", &some);

    // What an older oscost has kept is read once, and says the same.
    forget_figures(&sandbox);
    assert_eq!(sandbox.oscost(&["history", CASE]).exits(0).stdout, one);
    assert_eq!(sandbox.oscost(&["history"]).exits(0).stdout, all);
    // No cell is asked: the store alone knows what it has.
    let nowhere = sandbox.file("no-such-cell");
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
    assert_eq!((&change["before"], &change["behind"]), (&points[24]["run"], &points[25]["run"]));
    assert!((change["ratio"].as_f64().unwrap() - 1.06).abs() < 0.01, "{change}");
    let mark = &series["marks"][0];
    assert_eq!((&mark["point"], &mark["what"]), (&json!(STEP), &json!("kernel")));
    assert_eq!(series["left_out"].as_array().unwrap().len(), 3, "{series}");
    // Figures are those of the record to their last bit.
    let id = points[7]["run"].as_str().unwrap();
    let record = sandbox.oscost(&["runs", "show", id, "--json", "-"]).exits(0).json();
    let row = rows(&record).iter().find(|row| row["case"] == CASE).unwrap();
    assert_eq!(points[7]["median"], row["estimate"]["median"]);
    assert_eq!(points[7]["interval"], row["estimate"]["ci95"]);

    let target = sandbox.file("history.json");
    let ran =
        sandbox.oscost(&["history", CASE, "--last", "12", "--json", target.to_str().unwrap()]);
    let said = flat(&ran.exits(0).stdout);
    assert!(said.contains("12 runs, 2026-09-29 to 2026-10-10 (28 runs older)"), "{said}");
    let kept: Value = serde_json::from_str(&fs::read_to_string(target).unwrap()).unwrap();
    assert_eq!(kept["series"][0]["changes"], json!([]));
}

#[test]
fn runs_made_here_are_in_it_at_their_place_until_they_are_deleted() {
    let sandbox = Sandbox::new();
    for _ in 0..3 {
        sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    }
    let place = format!("fake:{}", scenario_file("measured").display());
    let ask = || sandbox.oscost(&["history", CASE, "--place", &place]).exits(0).stdout;
    assert!(flat(&ask()).contains(": 3 runs"), "{}", ask());
    assert!(ask().contains("3 runs: changes are looked for from six on"), "{}", ask());
    let kept = ask();
    forget_figures(&sandbox);
    assert_eq!(ask(), kept);
    sandbox.oscost(&["runs", "delete", "last"]).exits(0);
    assert!(flat(&ask()).contains(": 2 runs"), "{}", ask());
    let local = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert!(flat(&local).contains("measured at other places too (--place): fake:"), "{local}");
}

#[test]
fn what_cannot_be_looked_at_is_said() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.oscost(&["history"]).exits(0).stdout, "no figure of local is kept\n");
    sandbox.oscost(&["history", CASE]).exits(2).no_data().tells("none has any");
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let ran = sandbox.oscost(&["history", "syscall/getpid"]).exits(2).no_data();
    ran.tells("did you mean syscall/getppid?");
    sandbox.oscost(&["history", "--place", "ssh:"]).exits(2).no_data().tells("names nothing");
    sandbox.oscost(&["history", "--last", "0"]).exits(2).no_data();
}
