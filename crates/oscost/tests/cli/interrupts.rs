//! Ctrl-C on a fake target, and a budget that is up: results measured before it are stored and
//! shown.

use serde_json::Value;

use crate::common::{Sandbox, row, rows};
use crate::golden::golden;

/// Three rows, independent of the rest of the catalog: after how many workers a scenario is
/// interrupted hangs on their number.
const THREE: [&str; 2] = ["syscall/getppid", "syscall/open-close"];

/// Those and more arguments.
fn three_and<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&THREE[..], more].concat()
}

#[test]
fn an_interrupted_run_prints_what_there_is_and_exits_130() {
    let ran = Sandbox::new().fake("interrupted", &THREE).exits(130);
    golden("interrupted.txt", &ran.stdout);
}

#[test]
fn an_interrupted_record_is_not_complete_and_has_its_repetitions() {
    let sandbox = Sandbox::new();
    let ran = sandbox.fake("interrupted", &three_and(&["--json", "-"])).exits(130);
    let record = ran.json();
    assert_eq!(record["complete"], false);
    assert!(record["ended"].is_string(), "it ended by itself, if early");
    let getppid = row(&record, "syscall/getppid:via=raw");
    assert_eq!(getppid["outcome"], "measured");
    assert_eq!(getppid["repetitions"].as_array().unwrap().len(), 8);
    assert!(getppid["estimate"]["ci95"].is_array());
    assert_eq!(getppid["estimate"]["converged"], false);
    let kept = sandbox.oscost(&["runs", "show", "last", "--json", "-"]).exits(0).json();
    assert_eq!(kept, record);
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    assert!(list.contains("(cut short)"), "{list}");
}

#[test]
fn too_few_repetitions_have_a_figure_but_no_interval() {
    let ran = Sandbox::new().fake("interrupted-early", &THREE).exits(130);
    golden("interrupted-early.txt", &ran.stdout);
}

#[test]
fn a_run_interrupted_before_its_first_round_gives_the_reason_in_every_row() {
    let sandbox = Sandbox::new();
    let arguments = three_and(&["--json", "-"]);
    let record = sandbox.fake("interrupted-before-rounds", &arguments).exits(130).json();
    assert_eq!(record["complete"], false);
    for row in rows(&record) {
        assert_eq!(row["outcome"], "skipped", "{row}");
        assert_eq!(row["reason"], "the run ended before its first repetition");
    }
    let printed = sandbox.fake("interrupted-before-rounds", &THREE).exits(130);
    let shown = sandbox.oscost(&["runs", "show", "last"]).exits(0);
    assert_eq!(shown.stdout, printed.stdout);
}

#[test]
fn a_run_interrupted_before_its_first_row_leaves_no_trace() {
    let sandbox = Sandbox::new();
    sandbox.fake("interrupted-at-once", &THREE).exits(130).no_data();
    assert_eq!(sandbox.oscost(&["runs", "list"]).exits(0).stdout, "no runs are kept\n");
}

#[test]
fn a_budget_that_is_up_begins_no_row_however_many_are_asked_for() {
    let sandbox = Sandbox::new();
    // Over before the first pilot: of what has no programs nothing is measured.
    let families = ["syscall", "file", "memory", "event", "socket", "--budget", "1e-9"];
    sandbox.fake("measured", &families).exits(3);
    let arguments = ["*/*", "--budget", "1e-9", "--json", "-"];
    let ran = sandbox.fake("measured", &arguments);
    let record: Value = serde_json::from_str(&ran.stdout).unwrap();
    let has_measured = rows(&record).iter().any(|row| row["outcome"] == "measured");
    assert_eq!(ran.code, Some(if has_measured { 0 } else { 3 }), "{}", ran.stderr);
    assert_eq!(record["complete"], false);
    assert!(rows(&record).len() > 200, "{}", rows(&record).len());
    for row in rows(&record) {
        let repetitions = row["repetitions"].as_array().map_or(0, Vec::len);
        // A program that is prepared on this machine has one trial in any case.
        if row["benchmark"].as_str().unwrap().starts_with("workload/") && repetitions == 1 {
            continue;
        }
        assert_eq!(repetitions, 0, "{row}");
        assert!(!row["reason"].as_str().unwrap_or_default().is_empty(), "{row}");
    }
}
