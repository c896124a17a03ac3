//! `oscost history`: why a figure changed, by what the processor counted in its runs.

use std::fs;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::common::Sandbox;
use crate::common::day_series::{CASE, RUNS, STEP, changed_days_of};
use crate::history::{assert_fits, flat, row, series};

/// An op as it is counted.
#[derive(Clone, Copy)]
struct CountedOp {
    insn_kernel: f64,
    cpi: f64,
}

const PLAIN: CountedOp = CountedOp { insn_kernel: 293.0, cpi: 1.2 };
/// The same on a shared core: 6 % slower.
const SHARED: CountedOp = CountedOp { cpi: 1.06 * PLAIN.cpi, ..PLAIN };
/// The same with 6 % more instructions.
const FILTERED: CountedOp = CountedOp { insn_kernel: 293.0 + 0.06 * 312.0, ..PLAIN };

/// Sets what the workers of the row of [`CASE`] counted.
fn count(record: &mut Value, op: CountedOp) {
    const GHZ: f64 = 3.0;
    let CountedOp { insn_kernel, cpi } = op;
    let insn = 19.0 + insn_kernel;
    let counted = row(record)["counters"]["repetitions"].as_array_mut().unwrap();
    assert!(counted.len() >= 3, "{counted:?}");
    for it in counted {
        it["figures"] = json!({
            "insn": insn, "insn_user": 19.0, "insn_kernel": insn_kernel, "cycles": insn * cpi,
            "cpi": cpi, "ghz": GHZ,
        });
        it["time_ns"] = json!(insn * cpi / GHZ);
        it["running_ns"] = json!(insn * cpi / GHZ);
    }
}

/// The op of a day, whose core is shared from the step on.
fn shared_from_step(day: usize) -> CountedOp {
    if day < STEP { PLAIN } else { SHARED }
}

/// The only change of [`CASE`].
fn only_change(sandbox: &Sandbox) -> Value {
    let changes = series(sandbox, CASE)["changes"].as_array().unwrap().clone();
    assert_eq!(changes.len(), 1, "{changes:?}");
    changes[0].clone()
}

#[test]
fn a_change_of_the_time_at_equal_work_has_its_cause_by_all_runs_of_both_levels() {
    let sandbox = changed_days_of("counters", RUNS, |day, it| count(it, shared_from_step(day)));
    let change = only_change(&sandbox);
    assert_eq!(change["decomposition"]["cause"], "core", "{change}");
    assert_eq!(change["not_decomposed"], Value::Null);
    assert_eq!(change["counted_runs"], json!({"before": STEP, "since": RUNS - STEP}));
    let last = series(&sandbox, CASE)["points"][RUNS - 1]["counts"].clone();
    assert_eq!(last["medians"]["insn"]["median"], 312.0, "{last}");
    assert_eq!(last["boot"], "0123456789abcdef");
    let shown = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    assert_fits(&shown);
    let words = flat(&shown);
    let counted = "Counted in 25 runs before and 15 since: work 1.000 (to 0.";
    assert!(words.contains(counted), "{shown}");
    assert!(words.contains("; cycles per instruction 1.06 [1.06 .. 1.06]: the core"), "{shown}");
    assert!(words.contains("; by its counts the cause is cycles per instruction."), "{shown}");
    let page = sandbox.file("history.html");
    sandbox.oscost(&["history", CASE, "-o", page.to_str().unwrap()]).exits(0);
    let page = flat(&fs::read_to_string(page).unwrap());
    assert!(page.contains(counted) && page.contains("312.0 instructions, 1.272 cycles each"));

    // Without a name, too.
    let all = sandbox.oscost(&["history", "--json", "-"]).exits(0).json();
    let changed = all["series"].as_array().unwrap().iter().find(|it| it["case"] == CASE).unwrap();
    assert_eq!(changed["changes"][0]["decomposition"]["cause"], "core");
    let shown = sandbox.oscost(&["history"]).exits(0).stdout;
    assert_fits(&shown);
    let sentence = format!("{CASE}: since 2026-09-26 ");
    assert!(flat(&shown).contains(&sentence), "{shown}");
    assert!(flat(&shown).contains(" times the time: work 1.000 (to 0."), "{shown}");

    // What an older oscost has stored is read once, with the same result.
    let before = sandbox.oscost(&["history", CASE]).exits(0).stdout;
    let conn = Connection::open(sandbox.folder("data").join("oscost/store.db")).unwrap();
    let older = "UPDATE summary SET rules = 2; DROP TABLE counted_figure; DROP TABLE machine_boot";
    conn.execute_batch(older).unwrap();
    assert_eq!(sandbox.oscost(&["history", CASE]).exits(0).stdout, before);
    let kept = "SELECT count(DISTINCT run) FROM counted_figure";
    assert_eq!(conn.query_row(kept, [], |row| row.get(0)), Ok(RUNS as i64));
}

#[test]
fn added_instructions_are_named_with_their_place() {
    let sandbox = changed_days_of("counters", RUNS, |day, record| {
        count(record, if day < STEP { PLAIN } else { FILTERED });
    });
    let change = only_change(&sandbox);
    assert_eq!(change["decomposition"]["cause"], "work", "{change}");
    let added = change["decomposition"]["insn_kernel_added"]["value"].as_f64().unwrap();
    assert!((added - 18.72).abs() < 1e-9, "{added}");
    let shown = flat(&sandbox.oscost(&["history", CASE]).exits(0).stdout);
    assert!(shown.contains(" since: work 1.06 ["), "{shown}");
    assert!(shown.contains("(instructions: +18.7 in the kernel)"), "{shown}");
    assert!(shown.contains("; by its counts the cause is instructions."), "{shown}");
}

#[test]
fn runs_that_counted_nothing_are_left_out_of_the_cause_and_too_few_are_said() {
    let counted_on = |days: &[usize]| {
        changed_days_of("counters", RUNS, |day, record| match days.contains(&day) {
            true => count(record, shared_from_step(day)),
            false => row(record)["counters"] = Value::Null,
        })
    };
    let some = counted_on(&[3, 11, 17, 20, 28, 33, 37]);
    let change = only_change(&some);
    assert_eq!(change["decomposition"]["cause"], "core", "{change}");
    assert_eq!(change["counted_runs"], json!({"before": 4, "since": 3}));

    // With one run on a side their workers are compared.
    let two = counted_on(&[STEP - 1, STEP]);
    let change = only_change(&two);
    assert_eq!(change["counted_runs"], json!({"before": 1, "since": 1}), "{change}");
    assert_eq!(change["not_decomposed"], Value::Null);
    let shown = flat(&two.oscost(&["history", CASE]).exits(0).stdout);
    assert!(shown.contains("Counted in the two runs around it: work 1.000"), "{shown}");

    let since = counted_on(&[STEP, STEP + 1, STEP + 2, STEP + 3]);
    let shown = flat(&since.oscost(&["history", CASE]).exits(0).stdout);
    let why =
        "The counts of runs before and since are not compared: none of the runs before has counts.";
    assert!(shown.contains(why), "{shown}");

    let nothing = counted_on(&[]);
    let change = only_change(&nothing);
    assert_eq!((&change["decomposition"], &change["not_decomposed"]), (&Value::Null, &Value::Null));
    let shown = flat(&nothing.oscost(&["history", CASE]).exits(0).stdout);
    assert!(!shown.contains("ounted in") && !shown.contains("not compared"), "{shown}");
}

#[test]
fn counts_of_another_boot_are_not_compared_and_those_of_one_explain_the_change() {
    let booted_on = |boot_day: usize| {
        changed_days_of("counters", RUNS, |day, record| {
            count(record, shared_from_step(day));
            let boot = if day < boot_day { "0123456789abcdef" } else { "fedcba9876543210" };
            record["machines"][0]["counters"]["boot"] = json!(boot);
        })
    };
    let at_the_step = booted_on(STEP);
    assert_eq!(only_change(&at_the_step)["decomposition"], Value::Null);
    let shown = flat(&at_the_step.oscost(&["history", CASE]).exits(0).stdout);
    let why =
        "The counts of runs before and since are not compared: the runs are of two boots, and";
    assert!(shown.contains(why), "{shown}");

    let change = only_change(&booted_on(STEP - 5));
    assert_eq!(change["decomposition"]["cause"], "core", "{change}");
    assert_eq!(change["counted_runs"], json!({"before": 5, "since": RUNS - STEP}));
}
