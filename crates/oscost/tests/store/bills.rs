//! Bills beside runs: kept, found by name, listed and deleted; those from elsewhere are checked.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use oscost::counter::process_times::command_of;
use oscost::store::{
    Cause, FindError, ImportError, MAX_BILL_BYTES, NamedRecord, RecordKind, Store, kind_of,
    validate, validate_bill,
};
use oscost_model::bill::Bill;
use oscost_model::journal::RunHeader;
use oscost_model::program::{MAX_COMMAND_BYTES, MAX_COMMAND_WORDS};
use rusqlite::Connection;
use serde_json::{Value, json};

use super::examples::{entries, id, started};
use super::record::{golden, record};
use super::{begin, journal, keep, new_store};

fn bill() -> Bill {
    serde_json::from_slice(&fs::read(golden("bill-1.json")).unwrap()).unwrap()
}

/// The bill with another id, which was started and finished in this second.
fn bill_of(number: u32, second: u32) -> Bill {
    let at = |fraction: &str| format!("2026-11-21T08:15:{second:02}{fraction}Z");
    Bill { id: id(number), started: at(""), ended: at(".5"), ..bill() }
}

/// The bill with one part changed.
fn with(pointer: &str, part: Value) -> Vec<u8> {
    let mut value = serde_json::to_value(bill()).unwrap();
    *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = part;
    value.to_string().into_bytes()
}

/// A process that was watched so long.
fn watched(seconds: f64) -> Value {
    json!({
        "pid": 7, "seconds": seconds, "threads": 1, "children": false, "ended": false,
        "on_cpu_ns": null,
    })
}

/// Prices that took so long to measure.
fn measured(seconds: f64) -> Value {
    json!({
        "cases": ["syscall/getppid"], "seconds": seconds, "limit_seconds": 30.0,
        "interrupted": false, "block_missing": false, "failure": null,
    })
}

/// Pairs that took so long to measure.
fn pairs(seconds: f64) -> Value {
    json!([{
        "treatment": "call=function", "cases": ["syscall/getppid:via=raw"], "seconds": seconds,
        "limit_seconds": 15.0, "interrupted": false, "failure": null,
    }])
}

/// A prediction of less system time, with so many calls without an added cost.
fn prediction(unpriced_calls: f64) -> Value {
    let amount = json!({"ns": -1.0, "ci95": null});
    json!({
        "treatments": ["nice=5"], "predicted_at": "2026-11-21T08:20:05Z", "runs": [],
        "predicted_system_ns": amount, "predicted_real_ns": amount, "estimated_ns": amount,
        "unpriced_calls": unpriced_calls, "items": [], "doubt": null, "measured": null,
        "not_measured": null, "judged_by": "system", "ratio": null, "judged": null,
    })
}

/// A sum by the prices of another run, with so many calls without a price.
fn other_prices(unpriced: f64) -> Value {
    json!({
        "run": {"id": "x", "started": "2026-11-21T08:20:05Z"}, "cpu": null, "kernel": null,
        "here": {"ns": 1.0, "ci95": null}, "there": {"ns": -1.0, "ci95": null},
        "ratio": null, "unpriced": unpriced, "items": [],
    })
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) -> ImportError {
    let error = validate_bill(bytes).expect_err(words);
    let text = error.to_string();
    assert!(text.contains(words), "`{text}` lacks `{words}`");
    assert!(text.len() < 2_000 && !text.contains(char::is_control), "{text:?}");
    error
}

/// Whether the store in a folder has a table of bills.
fn has_bills(folder: &tempfile::TempDir) -> bool {
    let conn = Connection::open(folder.path().join("store.db")).unwrap();
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'bill'";
    conn.prepare(sql).unwrap().exists([]).unwrap()
}

#[test]
fn a_kept_bill_is_listed_and_read_back_unchanged_also_by_another_process() {
    let (folder, mut store) = new_store();
    assert_eq!(store.list_bills().unwrap(), []);
    assert!(!has_bills(&folder), "a store gets the table with its first bill");
    store.keep_bill(&bill()).unwrap();
    assert!(has_bills(&folder));
    drop(store);
    let store = Store::open(&folder.path().join("store.db")).unwrap();
    assert_eq!(store.load_bill(&bill().id).unwrap(), bill());
    let all = store.list_bills().unwrap();
    let [listed] = &all[..] else { panic!("one was kept: {all:?}") };
    assert_eq!((&listed.id, &listed.label), (&bill().id, &bill().label));
    assert_eq!((&listed.program, listed.system_ns), (&bill().program, 1e7));
    assert_eq!((&listed.processor, listed.imported), (&bill().machine.cpu.model_name, false));
    assert_eq!(listed.pid, None);
    assert_eq!(store.list().unwrap(), [], "it is no run");
}

#[test]
fn a_store_with_bills_is_open_to_programs_that_do_not_know_them() {
    let (folder, mut store) = new_store();
    let run = keep(&mut store, &entries());
    let version = |path: &std::path::Path| -> i64 {
        let conn = Connection::open(path).unwrap();
        conn.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
    };
    let path = folder.path().join("store.db");
    let before = version(&path);
    store.keep_bill(&bill()).unwrap();
    assert_eq!(version(&path), before);
    assert_eq!(journal(&store, &run), entries());
}

#[test]
fn the_last_record_is_of_the_kind_that_is_wanted() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    store.keep_bill(&bill_of(2, 2)).unwrap();
    begin(&mut store, &id(3), 3);
    store.keep_bill(&bill_of(4, 4)).unwrap();
    for (name, run, bill) in [("last", 3, 4), ("last~1", 1, 2)] {
        assert_eq!(store.find(name).unwrap(), id(run), "{name}");
        assert_eq!(store.find_bill(name).unwrap(), id(bill), "{name}");
    }
    for (name, number, kind) in [
        ("last", 4, RecordKind::Bill),
        ("last~1", 3, RecordKind::Run),
        ("last~3", 1, RecordKind::Run),
        ("@before", 4, RecordKind::Bill),
    ] {
        let NamedRecord { kind: found, id: found_id, .. } = store.find_record(name).unwrap();
        assert_eq!((found, found_id), (kind, id(number)), "{name}");
    }
    // A run that measures the prices of a bill is started before the bill is finished.
    store.keep_bill(&Bill { ended: "2026-11-21T08:15:09Z".to_owned(), ..bill_of(4, 4) }).unwrap();
    begin(&mut store, &id(5), 5);
    assert_eq!(store.find_record("last").unwrap().id, id(4));
    store.delete(&id(5)).unwrap();
    let error = store.find_record("0190").unwrap_err().to_string();
    assert!(error.starts_with("`0190` is ambiguous: 4 record ids start with it"), "{error}");
    let error = store.find("last~2").unwrap_err().to_string();
    assert!(error.starts_with("there is no run `last~2`; the newest are "), "{error}");
}

/// A run with the command line of a bill, that started in this second.
fn begin_for_a_bill(store: &mut Store, number: u32, second: u32) {
    let header = RunHeader {
        id: id(number),
        started_at: format!("2026-11-21T08:15:{second:02}Z"),
        command: ["oscost", "bill", "--", "ls"].map(str::to_owned).into(),
        ..started()
    };
    store.begin(&header).unwrap();
}

#[test]
fn the_last_run_is_none_that_a_bill_has_started() {
    let (_folder, mut store) = new_store();
    begin_for_a_bill(&mut store, 1, 1);
    let alone = [store.find("last"), store.find_record("last").map(|found| found.id)];
    for error in alone.map(Result::unwrap_err) {
        assert!(matches!(error, FindError::OfBillsAlone { .. }), "{error}");
        assert!(error.to_string().contains("\n  hint: `oscost runs list` lists all"), "{error}");
    }
    begin(&mut store, &id(2), 2);
    begin_for_a_bill(&mut store, 3, 3);
    begin(&mut store, &id(4), 4);
    begin_for_a_bill(&mut store, 5, 5);
    for (name, number) in [("last", 4), ("last~1", 2), (&*id(5), 5)] {
        assert_eq!(store.find(name).unwrap(), id(number), "{name}");
        assert_eq!(store.find_record(name).unwrap().id, id(number), "{name}");
    }
    assert!(matches!(store.find("last~2").unwrap_err(), FindError::OfBillsAlone { .. }));
    assert!(matches!(store.find("last~9").unwrap_err(), FindError::Unknown { .. }));
    assert_eq!(store.list().unwrap().iter().filter(|run| run.is_of_bill()).count(), 3);
}

#[test]
fn where_a_run_is_wanted_a_bill_is_refused_with_the_next_step_and_the_other_way_round() {
    let (_folder, mut store) = new_store();
    let error = store.find_bill("last").unwrap_err().to_string();
    assert!(error.starts_with("there is no bill `last`: the store is empty\n"), "{error}");
    store.keep_bill(&bill_of(2, 2)).unwrap();
    for name in [id(2).as_str(), "@before"] {
        let error = store.find(name).unwrap_err();
        assert!(matches!(error, FindError::OtherKind { .. }), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(&format!("`{name}` is a bill, not a run\n  hint: ")), "{text}");
        assert!(text.contains("`oscost bill A B` compares two bills"), "{text}");
    }
    let error = store.find("last").unwrap_err().to_string();
    assert!(error.starts_with("there is no run `last`: the store has no run\n"), "{error}");
    begin(&mut store, &id(3), 3);
    let error = store.find_bill(&id(3)).unwrap_err().to_string();
    assert!(error.starts_with(&format!("`{}` is a run, not a bill\n  hint: ", id(3))), "{error}");
    let error = store.find_bill("@after").unwrap_err().to_string();
    assert!(error.starts_with("no bill has the label `after`"), "{error}");
    assert!(error.contains("the newest labels are `@before`"), "{error}");
}

#[test]
fn a_bill_is_deleted_and_runs_stay() {
    let (_folder, mut store) = new_store();
    begin(&mut store, &id(1), 1);
    store.keep_bill(&bill_of(2, 2)).unwrap();
    store.delete(&id(2)).unwrap();
    assert_eq!(store.list_bills().unwrap(), []);
    assert_eq!(store.list().unwrap().len(), 1);
    assert!(matches!(store.load_bill(&id(2)).unwrap_err().cause, Cause::NoBill));
    assert!(matches!(store.delete(&id(2)).unwrap_err().cause, Cause::NoRun));
}

#[test]
fn an_id_names_one_record() {
    let (_folder, mut store) = new_store();
    store.keep_bill(&bill()).unwrap();
    let error = store.import_bill(&with("/label", json!("again"))).unwrap_err();
    let text = error.to_string();
    let expected = format!("bill {} is already in the store\n", bill().id);
    assert!(text.starts_with(&expected), "{text}");
    // Neither a run nor a bill takes the id of the other kind.
    let mut run = serde_json::to_value(record()).unwrap();
    run["id"] = json!(bill().id);
    let error = store.import(run.to_string().as_bytes()).unwrap_err();
    assert!(matches!(error, ImportError::Exists { .. }), "{error}");
    store.import(&serde_json::to_vec(&record()).unwrap()).unwrap();
    let error = store.import_bill(&with("/id", json!(record().id))).unwrap_err();
    assert!(matches!(error, ImportError::BillExists { .. }), "{error}");
    assert_eq!((store.list().unwrap().len(), store.list_bills().unwrap().len()), (1, 1));
}

#[test]
fn an_imported_bill_is_what_the_file_has() {
    let (_folder, mut store) = new_store();
    let mut value = serde_json::to_value(bill()).unwrap();
    value["colour"] = json!({"deep": ["\u{1b}[31m"]});
    value.as_object_mut().unwrap().remove("label");
    assert_eq!(store.import_bill(value.to_string().as_bytes()).unwrap(), bill().id);
    let expected = Bill { label: None, ..bill() };
    assert_eq!(store.load_bill(&bill().id).unwrap(), expected, "without what is not known");
    assert!(store.list_bills().unwrap()[0].imported);
    assert!(matches!(store.keep_bill(&bill()).unwrap_err().cause, Cause::Exists));
}

#[test]
fn a_bill_that_was_kept_is_replaced_by_its_later_state() {
    let (_folder, mut store) = new_store();
    store.keep_bill(&bill()).unwrap();
    let later = Bill { ended: "2026-11-21T08:30:00Z".to_owned(), ..bill() };
    store.keep_bill(&later).unwrap();
    assert_eq!(store.load_bill(&bill().id).unwrap(), later);
    assert_eq!(store.list_bills().unwrap().len(), 1);
}

#[test]
fn a_bill_of_a_running_process_is_listed_with_it() {
    let (_folder, mut store) = new_store();
    store.import_bill(&with("/watched", watched(10.0))).unwrap();
    assert_eq!(store.list_bills().unwrap()[0].pid, Some(7));
    let read = store.load_bill(&bill().id).unwrap().watched.unwrap();
    assert_eq!((read.pid, read.seconds, read.on_cpu_ns), (7, 10.0, None));
}

#[test]
fn a_file_of_another_kind_or_version_is_named() {
    let whole = with("/label", json!("x"));
    assert_eq!(kind_of(&whole), Some(RecordKind::Bill));
    assert_eq!(kind_of(&with("/schema", json!("oscost.bill/9"))), Some(RecordKind::Bill));
    assert_eq!(kind_of(&serde_json::to_vec(&record()).unwrap()), Some(RecordKind::Run));
    for other in [&b"{}"[..], b"[1]", b"", br#"{"schema":"sunos.run/1"}"#] {
        assert_eq!(kind_of(other), None);
    }
    refused(&with("/schema", json!("oscost.bill/2")), "newer schema oscost.bill/2");
    refused(&with("/schema", json!("oscost.bill/0")), "not oscost.bill/1");
    refused(&with("/schema", json!("other.bill/1")), "not oscost.bill/1");
    let error = refused(&serde_json::to_vec(&record()).unwrap(), "the file is a run");
    assert!(matches!(error, ImportError::IsRun), "{error}");
    let error = validate(&whole).unwrap_err();
    assert!(matches!(error, ImportError::IsBill), "{error}");
    for end in (0..whole.len()).step_by(97) {
        refused(&whole[..end], "not a record");
    }
}

#[test]
fn hostile_bills_are_refused_with_their_reason() {
    for (pointer, part, words) in [
        ("/id", json!("../../etc"), "`id` is not a UUID"),
        ("/started", json!("yesterday"), "`started` is not a time in UTC"),
        ("/ended", json!(""), "`ended` is not a time in UTC"),
        ("/label", json!("x".repeat(1_025)), "`label` has 1025 bytes"),
        ("/label", json!("\u{1b}[31m"), "`label` has the control character U+001B"),
        ("/program/0", json!("\u{202e}dnif"), "`program[0]` has the control character U+202E"),
        ("/items/0/name", json!("x".repeat(4_097)), "`items[0].name` has 4097 bytes"),
        ("/items/0/times", json!(-1.0), "`items[0].times` is -1, below 0"),
        ("/items/1/part", json!(-0.5), "`items[1].part` is -0.5, below 0"),
        ("/items/1/rows", json!(vec!["x"; 1_001]), "`items[1].rows` has 1001 entries"),
        ("/items/0/amount/ci95", json!([2.0, 1.0]), "`items[0].amount.ci95[1]` is 1, below 2"),
        ("/trials/system_time/ns", json!(-1.0), "`trials.system_time.ns` is -1, below 0"),
        ("/trials/minor_faults", json!(-1.0), "`trials.minor_faults` is -1, below 0"),
        ("/trials/voluntary_switches", json!(-1.0), "`trials.voluntary_switches` is -1, below 0"),
        ("/watched", watched(-1.0), "`watched.seconds` is -1, below 0"),
        ("/watched", json!({"pid": -1}), "not a record"),
        ("/counted/counter", json!("\u{1b}[31m"), "`counted.counter` has the control character"),
        ("/counted/counter_reason", json!("\u{202e}"), "`counted.counter_reason` has the control"),
        ("/counted/lost_events", json!(-1), "not a record"),
        ("/items/0/in_kernel", json!({"calls": 1, "on_cpu_ns": -1}), "not a record"),
        ("/cautions", json!(vec!["x"; 1_001]), "`cautions` has 1001 entries"),
        ("/items/0/family", json!("\u{1b}[31m"), "`items[0].family` has the control character"),
        ("/treatments", json!(["\u{1b}[31m"]), "`treatments[0]` has the control character"),
        ("/treatments", json!(vec!["nice=5"; 1_001]), "`treatments` has 1001 entries"),
        ("/counted_without", json!("\u{202e}"), "`counted_without` has the control character"),
        ("/prices/measured", measured(-1.0), "`prices.measured.seconds` is -1, below 0"),
        ("/prices/uncooled", json!(vec!["x"; 20_001]), "`prices.uncooled` has 20001 entries"),
        ("/prices/inlined", json!(vec!["x"; 20_001]), "`prices.inlined` has 20001 entries"),
        ("/prices/pairs", pairs(-1.0), "`prices.pairs[0].seconds` is -1, below 0"),
        ("/what_if", json!([prediction(-1.0)]), "`what_if[0].unpriced_calls` is -1, below 0"),
        ("/what_if", json!(vec![prediction(0.0); 1_001]), "`what_if` has 1001 entries"),
        ("/other_prices", json!([other_prices(-1.0)]), "`other_prices[0].unpriced` is -1, below 0"),
        ("/counted/calls/forms/0/calls", json!(-1), "not a record"),
        ("/items", json!(1), "not a record"),
        ("/items/0/times", json!(null), "not a record"),
    ] {
        refused(&with(pointer, part), words);
    }
    let item = serde_json::to_value(bill()).unwrap()["items"][0].clone();
    refused(&with("/items", json!(vec![item; 20_001])), "`items` has 20001 entries");
    let times = json!({"form": "x", "time": {"calls": 1, "on_cpu_ns": 1, "off_cpu_ns": 0}});
    let times = with("/counted/calls/in_kernel", json!(vec![times; 20_001]));
    refused(&times, "`counted.calls.in_kernel` has 20001 entries");
    let text = String::from_utf8(with("/items/0/times", json!(0.123))).unwrap();
    for not_a_number in ["NaN", "Infinity", "1e999", "\"NaN\""] {
        refused(text.replace("0.123", not_a_number).as_bytes(), "not a record");
    }
    let error = refused(&vec![b' '; MAX_BILL_BYTES + 1], "the maximum is");
    assert!(matches!(error, ImportError::BillTooLarge { .. }), "{error}");
    validate_bill(&with("/watched", watched(0.0))).unwrap();
    validate_bill(&with("/prices/measured", measured(1.5))).unwrap();
    // What is added may be below zero.
    validate_bill(&with("/what_if", json!([prediction(1.0)]))).unwrap();
    validate_bill(&with("/other_prices", json!([other_prices(1.0)]))).unwrap();
    // A difference may be in either direction, and a price may be one.
    for pointer in ["/difference/ns", "/items/1/amount/ns", "/items/1/unit/ns", "/charged/ns"] {
        validate_bill(&with(pointer, json!(-1.0))).unwrap();
    }
}

#[test]
fn a_bill_of_every_command_that_is_accepted_can_be_read_back() {
    let script = "for i in 1 2\ndo\n\techo $i\ndone\n".repeat(100);
    let program = json!(["sh", "-c", script]);
    let read = validate_bill(&with("/program", program.clone())).unwrap();
    assert_eq!(json!(read.program), program);
    let words = |count: usize, bytes: usize| {
        let word = "x".repeat(bytes);
        with("/program", json!(vec![word; count]))
    };
    validate_bill(&words(MAX_COMMAND_WORDS, MAX_COMMAND_BYTES / MAX_COMMAND_WORDS)).unwrap();
    validate_bill(&words(1, MAX_COMMAND_BYTES)).unwrap();
    refused(&words(MAX_COMMAND_WORDS + 1, 1), "`program` has 1025 entries");
    refused(&words(2, MAX_COMMAND_BYTES / 2 + 1), "`program` has 65538 bytes");
    refused(&words(1, MAX_COMMAND_BYTES + 1), "`program[0]` has 65537 bytes");
}

#[test]
fn a_running_process_whose_command_line_is_no_text_has_a_bill_that_can_be_read_back() {
    // Its name is the first word of its command line.
    let mut child = Command::new("sh")
        .args([OsStr::new("-c"), OsStr::new("read -r line"), OsStr::from_bytes(b"\x1b[31m\xff\r")])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    // Its parent goes on before execve(2) has placed the arguments.
    let mut program = command_of(child.id());
    for _ in 0..500 {
        if program.len() == 4 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
        program = command_of(child.id());
    }
    drop(child.stdin.take());
    child.wait().unwrap();
    let read = validate_bill(&with("/program", json!(program))).unwrap();
    assert_eq!(read.program, program);
    assert!(program.last().unwrap().contains('\u{fffd}'), "{program:?}");
}

#[test]
fn a_bill_with_a_number_that_json_does_not_have_is_not_kept() {
    let (_folder, mut store) = new_store();
    let mut wrong = bill();
    wrong.trials.minor_faults = f64::NAN;
    let error = store.keep_bill(&wrong).unwrap_err();
    assert!(matches!(error.cause, Cause::Invalid(_)), "{error}");
    assert!(error.to_string().contains("`trials.minor_faults` is NaN"), "{error}");
    assert_eq!(store.list_bills().unwrap(), []);
}
