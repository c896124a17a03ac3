//! Records from elsewhere: a valid one is imported, and each invalid one is refused with its
//! reason.

use std::fs;

use oscost::store::{Cause, ImportError, MAX_IMPORT_BYTES, StoredRun, validate};
use serde_json::{Value, json};

use super::examples::{id, worker};
use super::new_store;
use super::record::golden;
use super::record::record;

/// The record with one part changed.
fn with(pointer: &str, part: Value) -> Vec<u8> {
    let mut value = serde_json::to_value(record()).unwrap();
    *value.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = part;
    value.to_string().into_bytes()
}

#[track_caller]
fn refused(bytes: &[u8], words: &str) -> ImportError {
    let error = validate(bytes).expect_err(words);
    assert!(error.to_string().contains(words), "`{error}` lacks `{words}`");
    error
}

#[test]
fn an_imported_record_is_listed_loaded_and_deleted_like_any_run() {
    let (_folder, mut store) = new_store();
    let bytes = fs::read(golden("run-1.json")).unwrap();
    assert_eq!(store.import(&bytes).unwrap(), id(1));
    let listed = &store.list().unwrap()[0];
    assert_eq!((listed.rows_requested, listed.workers), (Some(2), 2));
    assert!(listed.imported && listed.complete);
    assert_eq!(store.find("last").unwrap(), id(1));
    assert_eq!(store.load(&id(1)).unwrap(), StoredRun::Imported(Box::new(record())));
    // It has no journal that could grow.
    let error = store.append(&id(1), &worker(0, 1)).unwrap_err();
    assert!(matches!(error.cause, Cause::NoRun), "{error}");
    store.delete(&id(1)).unwrap();
    assert_eq!(store.list().unwrap(), []);
}

#[test]
fn a_record_that_is_already_stored_is_refused() {
    let (_folder, mut store) = new_store();
    store.import(&with("/label", json!("first"))).unwrap();
    let error = store.import(&with("/label", json!("second"))).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with(&format!("run {} is already in the store\n", id(1))), "{text}");
    assert_eq!(store.list().unwrap()[0].label.as_deref(), Some("first"));
}

#[test]
fn unknown_keys_are_ignored() {
    let mut value = serde_json::to_value(record()).unwrap();
    value["colour"] = json!({"deep": ["\u{1b}[31m"]});
    value["results"][0]["estimate"]["mood"] = json!(1);
    assert_eq!(validate(value.to_string().as_bytes()).unwrap(), record());
}

#[test]
fn a_truncated_or_extended_record_is_refused() {
    let whole = with("/label", json!("x"));
    for end in (0..whole.len()).step_by(97) {
        refused(&whole[..end], "not a record");
    }
    refused(&[&whole[..], b"{}"].concat(), "trailing characters");
    refused(b"\xff\xfe{}", "not a record");
    for deep in ["[", "{\"x\":", "{\"schema\":\"oscost.run/1\",\"results\":["] {
        refused(deep.repeat(10_000).as_bytes(), "not a record");
    }
}

#[test]
fn a_record_of_another_schema_is_refused_and_a_newer_one_reported_as_newer() {
    refused(&with("/schema", json!("oscost.run/2")), "newer schema oscost.run/2");
    refused(br#"{"schema":"oscost.run/12","all":"is different"}"#, "newer schema");
    for other in ["oscost.run/0", "oscost.run/x", "sunos.run/2", "oscost.run", ""] {
        let error = refused(&with("/schema", json!(other)), "not oscost.run/1");
        assert!(matches!(error, ImportError::OtherSchema { .. }), "{error}");
    }
    refused(br#"{"no":"schema"}"#, "missing field `schema`");
}

#[test]
fn a_record_that_is_too_large_is_refused_unread() {
    let error = refused(&vec![b' '; MAX_IMPORT_BYTES + 1], "the maximum is 67108864");
    assert!(matches!(error, ImportError::TooLarge { .. }));
    let mut padded = with("/label", json!("x"));
    padded.resize(MAX_IMPORT_BYTES, b' ');
    validate(&padded).unwrap();
}

/// A row without the keys that may be left out.
const SMALLEST_ROW: &str = r#"{"case":"a/b","benchmark":"a/b","rev":1,"point":{},
"target":{"text":"","host":"","treatments":[],"machine":"m0"},"outcome":"skipped","unit":"ns/op",
"better":"lower","metrics":{},"repetitions":[],"expected":"",
"disturbed":{"lost_repetitions":0,"rejected":{}},"flags":[]}"#;

#[test]
fn the_largest_record_has_room_for_one_row_more_than_is_read() {
    const ROWS: usize = 100_001;
    let empty = String::from_utf8(with("/results", json!([]))).unwrap();
    let rows = format!("{SMALLEST_ROW},").repeat(ROWS);
    let results = format!("\"results\":[{}]", rows.trim_end_matches(','));
    let record = empty.replacen("\"results\":[]", &results, 1);
    assert!(record.len() > ROWS * SMALLEST_ROW.len() && record.len() <= MAX_IMPORT_BYTES);
    refused(record.as_bytes(), "has 100001 rows, the maximum is 100000");
}

#[test]
fn a_number_that_is_not_finite_is_refused() {
    let text = String::from_utf8(with("/comparisons/0/p", json!(0.123))).unwrap();
    for not_a_number in ["NaN", "Infinity", "-Infinity", "1e999", "\"NaN\"", "null", "0x1p3"] {
        refused(text.replace("0.123", not_a_number).as_bytes(), "not a record");
    }
}

#[test]
fn texts_that_are_too_long_or_control_a_terminal_are_refused_everywhere() {
    for (pointer, at) in [
        ("/label", "label"),
        ("/command/1", "command[1]"),
        ("/tool/version", "tool.version"),
        ("/machines/0/mitigations/meltdown", "machines[0].mitigations{}"),
        ("/machines/0/advice/0", "machines[0].advice[0]"),
        ("/results/1/reason", "results[1].reason"),
        ("/results/0/point/via", "results[0].point{}"),
        ("/comparisons/0/verdict", "comparisons[0].verdict"),
    ] {
        let words = format!("the record's `{at}` has the control character U+001B");
        refused(&with(pointer, json!("red: \u{1b}[31m")), &words);
        let words = format!("the record's `{at}` has 4097 bytes");
        refused(&with(pointer, json!("x".repeat(4_097))), &words);
    }
    refused(&with("/results/0/calls/per_op", json!({"\u{9b}2J": 1.0})), "U+009B");
    refused(&with("/label", json!("x".repeat(1_025))), "the maximum is 1024");
    validate(&with("/label", json!("x".repeat(1_024)))).unwrap();
    validate(&with("/results/1/reason", json!("two\nlines"))).unwrap();
}

#[test]
fn an_error_quotes_little_of_a_record_and_no_control_characters() {
    let nasty = "\u{1b}[2J\n\t\u{202e}".repeat(1_000);
    for bytes in [with("/schema", json!(nasty)), with("/results/0/outcome", json!(nasty))] {
        let text = validate(&bytes).unwrap_err().to_string();
        assert!(text.chars().count() < 300 && !text.contains(char::is_control), "{text}");
    }
}

#[test]
fn invalid_ids_times_and_indices_are_refused() {
    refused(&with("/id", json!("last")), "`id` is not a UUID");
    refused(&with("/started", json!("yesterday")), "`started` is not a time");
    refused(&with("/ended", json!("2026-11-21")), "`ended` is not a time");
    refused(&with("/comparisons/0/base", json!(2)), "`comparisons[0].base` is 2");
    refused(&with("/comparisons/0/new", json!(u32::MAX)), "`comparisons[0].new` is 4294967295");
    refused(&with("/comparisons/0/new", json!(-1)), "not a record");
    refused(&with("/results/0/estimate", json!(null)), "`results[0].estimate` is missing");
    refused(&with("/results/0/repetitions", json!([])), "is 2, and there are 0 repetitions");
}

#[test]
fn lists_that_are_compared_with_all_rows_are_bounded() {
    let of = |name: &str, count: usize| {
        let one = serde_json::to_value(record()).unwrap()[name][0].clone();
        with(&format!("/{name}"), Value::Array(vec![one; count]))
    };
    for name in ["machines", "conditions"] {
        assert!(validate(&of(name, 1_000)).is_ok());
        refused(&of(name, 1_001), &format!("`{name}` has 1001 entries, the maximum is 1000"));
    }
    let axes = (0..65).map(|at| (format!("a{at}"), json!(1))).collect();
    refused(&with("/results/0/point", Value::Object(axes)), "a point has more than 64 axes");
}

#[test]
fn a_record_of_too_many_rows_is_refused() {
    // As short as a row can be, or the record would first be too long.
    let short = json!({"case": "", "benchmark": "", "rev": 1, "point": {}, "outcome": "failed",
        "target": {"text": "", "host": "", "treatments": [], "machine": ""}, "unit": "s",
        "better": "lower", "metrics": {}, "repetitions": [], "expected": "",
        "disturbed": {"lost_repetitions": 0, "rejected": {}}, "flags": []});
    let rows = |count| with("/results", Value::Array(vec![short.clone(); count]));
    assert_eq!(validate(&rows(100_000)).unwrap().results.len(), 100_000);
    refused(&rows(100_001), "`results` has 100001 rows, the maximum is 100000");
}
