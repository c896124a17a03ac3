//! Untrusted records: a valid record with one thing changed. Each is imported, reported and
//! compared; it is refused with a reason, or is a record like any other.

use std::fs;
use std::path::Path;
use std::time::Instant;

use oscost_model::unit::Unit;
use serde_json::{Value, json};

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox};
use crate::large_run;
use crate::oracles::{check_end, next_step_fault};

/// What is changed in a record.
#[derive(Clone, Copy)]
enum Change {
    /// The part at a JSON pointer becomes this text, which need not be JSON.
    Part(&'static str, &'static str),
    /// The part at a pointer becomes a text of so many bytes.
    LongText(&'static str, usize),
    /// A list has its first entry so many times.
    Copies(&'static str, usize),
    /// A part is taken away.
    Without(&'static str),
    /// The whole text becomes another.
    Text(fn(&str) -> String),
}

impl Change {
    fn applied_to(self, record: &Value) -> String {
        const PLACE: &str = "the place of another text";
        let mut record = record.clone();
        let part = |record: &mut Value, pointer: &str, value: Value| {
            *record.pointer_mut(pointer).unwrap_or_else(|| panic!("no {pointer}")) = value;
        };
        match self {
            Change::Part(pointer, text) => {
                part(&mut record, pointer, PLACE.into());
                return record.to_string().replace(&format!("\"{PLACE}\""), text);
            }
            Change::LongText(pointer, bytes) => {
                part(&mut record, pointer, "x".repeat(bytes).into());
            }
            Change::Copies(pointer, count) => {
                let first = record.pointer(pointer).unwrap()[0].clone();
                part(&mut record, pointer, vec![first; count].into());
            }
            Change::Without(pointer) => {
                let (folder, name) = pointer.rsplit_once('/').unwrap();
                let folder = record.pointer_mut(folder).unwrap().as_object_mut().unwrap();
                assert!(folder.remove(name).is_some(), "no {pointer}");
            }
            Change::Text(change) => return change(&record.to_string()),
        }
        record.to_string()
    }
}

/// What becomes of it.
#[derive(Clone, Copy)]
enum Fate {
    Refused,
    /// It is refused, or read as it is: both are right.
    Either,
}

use Change::{Copies, LongText, Part, Text, Without};
use Fate::{Either, Refused};

/// A change, its name, and what becomes of it.
const CHANGES: &[(&str, Change, Fate)] = &[
    ("an empty file", Text(|_| String::new()), Refused),
    ("half of it", Text(|text| text.chars().take(text.len() / 2).collect()), Refused),
    ("one brace less", Text(|text| text[..text.len() - 1].to_owned()), Refused),
    ("twice", Text(|text| format!("{text}{text}")), Refused),
    ("a byte order mark", Text(|text| format!("\u{feff}{text}")), Refused),
    ("NUL bytes behind it", Text(|text| format!("{text}\0\0\0")), Refused),
    ("a list of it", Text(|text| format!("[{text}]")), Refused),
    ("a hundred thousand brackets", Text(|_| "[".repeat(100_000)), Refused),
    ("a hundred thousand objects", Text(|_| "{\"a\":".repeat(100_000)), Refused),
    (
        "a megabyte of blanks",
        Text(|text| text.replace(',', &format!(",{}", " ".repeat(99)))),
        Either,
    ),
    ("each key twice", Text(|text| text.replacen('{', "{\"id\":\"x\",", 1)), Refused),
    ("no schema", Without("/schema"), Refused),
    ("a newer schema", Part("/schema", "\"oscost.run/2\""), Refused),
    ("another schema", Part("/schema", "\"other/1\""), Refused),
    ("a schema that is a number", Part("/schema", "1"), Refused),
    ("no id", Without("/id"), Refused),
    ("an id that is a path", Part("/id", "\"../../etc/passwd\""), Refused),
    ("an id that is `last`", Part("/id", "\"last\""), Refused),
    ("an id of SQL", Part("/id", "\"'; DROP TABLE run; --\""), Refused),
    ("no start", Without("/started"), Refused),
    ("a start of another day", Part("/started", "\"yesterday\""), Refused),
    ("a start in the year 9999", Part("/started", "\"9999-12-31T23:59:59Z\""), Either),
    ("a start before 1970", Part("/started", "\"0001-01-01T00:00:00Z\""), Either),
    ("an end before its start", Part("/ended", "\"1971-01-01T00:00:00Z\""), Either),
    ("results that are an object", Part("/results", "{}"), Refused),
    ("no results", Part("/results", "[]"), Either),
    ("a row that is null", Part("/results/0", "null"), Refused),
    ("no machines", Part("/machines", "[]"), Either),
    ("no conditions", Part("/conditions", "[]"), Either),
    ("a thousand and one machines", Copies("/machines", 1_001), Refused),
    ("a thousand and one conditions", Copies("/conditions", 1_001), Refused),
    ("five hundred equal rows", Copies("/results", 500), Either),
    ("a machine that is not there", Part("/results/0/target/machine", "\"m9\""), Either),
    ("a median of 1e999", Part("/results/0/estimate/median", "1e999"), Refused),
    ("a median of NaN", Part("/results/0/estimate/median", "NaN"), Refused),
    ("a median of 1e308", Part("/results/0/estimate/median", "1e308"), Either),
    ("a median below zero", Part("/results/0/estimate/median", "-1"), Either),
    ("a median of minus zero", Part("/results/0/estimate/median", "-0.0"), Either),
    ("a median of 5e-324", Part("/results/0/estimate/median", "5e-324"), Either),
    ("a median that is a text", Part("/results/0/estimate/median", "\"1\""), Refused),
    ("an interval turned around", Part("/results/0/estimate/ci95", "[2, 1]"), Refused),
    ("an interval of one end", Part("/results/0/estimate/ci95", "[1]"), Refused),
    ("an interval of all numbers", Part("/results/0/estimate/ci95", "[-1e308, 1e308]"), Either),
    ("a measured row without estimate", Part("/results/0/estimate", "null"), Refused),
    ("repetitions that are missing", Part("/results/0/repetitions", "[]"), Refused),
    ("2^32 repetitions", Part("/results/0/estimate/repetitions", "4294967296"), Refused),
    ("an unknown outcome", Part("/results/0/outcome", "\"unheard of\""), Refused),
    ("an unknown unit", Part("/results/0/unit", "\"furlong/fortnight\""), Either),
    ("an unknown class", Part("/results/0/class", "\"unheard of\""), Either),
    ("a case that is empty", Part("/results/0/case", "\"\""), Either),
    ("a case that is none", Part("/results/0/case", "\"///:::,,,===\""), Either),
    ("a point of a list", Part("/results/0/point", "[1, 2]"), Refused),
    ("a label of two lines", Part("/label", "\"two\\nlines\""), Either),
    ("a label that controls the terminal", Part("/label", "\"\\u001b[2J\""), Refused),
    ("a label that turns the line around", Part("/label", "\"\\u202etxt.exe\""), Either),
    ("a label of half a character", Part("/label", "\"\\ud800\""), Refused),
    ("a label of a megabyte", LongText("/label", 1 << 20), Refused),
    ("a command of a megabyte", LongText("/command/0", 1 << 20), Refused),
    ("a version of 4097 bytes", LongText("/tool/version", 4_097), Refused),
    ("a flag of a NUL byte", Part("/results/0/flags", "[\"\\u0000\"]"), Refused),
];

fn attempt(sandbox: &Sandbox, record: &Value, change: Change, fate: Fate) -> Outcome {
    let file = sandbox.file("record.json");
    fs::write(&file, change.applied_to(record)).unwrap();
    let file = file.to_str().unwrap();
    let page = sandbox.file("page.html");
    let mut ends = Vec::new();
    for arguments in [
        &["report", file, "--html", page.to_str().unwrap()][..],
        &["report", file],
        &["compare", file, file],
        &["runs", "import", file],
    ] {
        let ran = sandbox.oscost(arguments);
        check_end(&ran);
        let code = ran.code.unwrap_or_default();
        assert!(matches!(code, 0 | 2 | 3), "{arguments:?}: {code}\n{}", ran.stderr);
        assert!(code == 0 || ran.stderr.contains("error: "), "{arguments:?}: {}", ran.stderr);
        let step = next_step_fault(&ran.stderr).filter(|_| code != 0);
        assert_eq!(step, None, "{arguments:?}: {}", ran.stderr);
        assert!(ran.stderr.len() < 10_000, "{arguments:?} writes {} bytes", ran.stderr.len());
        ends.push(code);
    }
    let imported = ends[3] == 0;
    assert!(!(imported && matches!(fate, Refused)), "it was imported: {ends:?}");
    assert!(imported || !page.exists(), "a page of what is refused");
    if imported {
        for arguments in [&["runs", "show", "last"][..], &["runs", "list"], &["history"]] {
            check_end(&sandbox.oscost(arguments));
        }
        Outcome::Withstood("read".to_owned())
    } else {
        Outcome::Withstood("refused".to_owned())
    }
}

/// A clock that was set back, or was years ahead: the order of runs is that of their starts, and
/// all verbs work on them.
fn clock_set_back(sandbox: &Sandbox) -> Outcome {
    let record = measured();
    for (id, started) in [
        ("01900000-0000-7000-8000-000000000001", "2099-01-01T00:00:00Z"),
        ("01900000-0000-7000-8000-000000000002", "1970-01-01T00:00:01Z"),
    ] {
        let mut record = record.clone();
        record["id"] = id.into();
        record["started"] = started.into();
        record["ended"] = "1999-01-01T00:00:00Z".into();
        let file = sandbox.file("record.json");
        fs::write(&file, record.to_string()).unwrap();
        sandbox.oscost(&["runs", "import", file.to_str().unwrap()]).exits(0);
    }
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    let list = sandbox.oscost(&["runs", "list"]).exits(0).stdout;
    for started in ["2099-01-01", "1970-01-01"] {
        assert!(list.contains(started), "{list}");
    }
    for arguments in [
        &["compare", "last~1", "last"][..],
        &["compare", "last", "last~2"],
        &["history"],
        &["runs", "prune", "--keep-days", "0", "--keep-runs", "1"],
        &["runs", "show", "last"],
    ] {
        let ran = sandbox.oscost(arguments);
        check_end(&ran);
        // Runs of two machines may have nothing in common that is compared.
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments:?}: {:?}\n{}", ran.code, ran.stderr);
    }
    withstood()
}

/// So many rows of one benchmark are read, shown and kept in the time that they take.
fn many_rows(sandbox: &Sandbox, rows: usize) -> Outcome {
    let record = large_run::run(&[("syscall/getppid", Unit::NsPerOp)], rows, 0);
    let file = sandbox.file("record.json");
    fs::write(&file, serde_json::to_string(&record).unwrap()).unwrap();
    read_in_time(sandbox, &file)
}

/// The times that reading a record takes; one that takes minutes is a hang.
fn read_in_time(sandbox: &Sandbox, file: &Path) -> Outcome {
    let mut taken = Vec::new();
    for arguments in
        [&["runs", "import", file.to_str().unwrap()][..], &["runs", "show", "last"], &["history"]]
    {
        let begun = Instant::now();
        sandbox.oscost(arguments).exits(0);
        taken.push(format!("{} {:.1} s", arguments[..1].join(" "), begun.elapsed().as_secs_f64()));
    }
    Outcome::Withstood(taken.join(", "))
}

/// The most rows that are read, none of which has more than it must.
fn most_rows(sandbox: &Sandbox) -> Outcome {
    const ROWS: usize = 100_000;
    let run = large_run::run(&[("syscall/getppid", Unit::NsPerOp)], 40, 0);
    let mut record = serde_json::to_value(run).unwrap();
    let rows = record["results"].as_array().unwrap();
    let mut row = rows.iter().find(|row| row["outcome"] == "skipped").unwrap().clone();
    // A row that was not measured: none of what was counted and planned for it.
    for key in ["calls", "class", "floor", "mode"] {
        row[key] = Value::Null;
    }
    row["disturbed"]["plan"] = Value::Null;
    for object in ["", "/target", "/disturbed"] {
        let object = row.pointer_mut(object).and_then(Value::as_object_mut).unwrap();
        object.retain(|_, value| !value.is_null());
    }
    let rows = (0..ROWS).map(|at| {
        let mut row = row.clone();
        row["case"] = format!("syscall/getppid:n={at}").into();
        row["point"] = json!({ "n": at });
        row
    });
    record["results"] = rows.collect();
    record["curves"] = json!([]);
    let file = sandbox.file("record.json");
    fs::write(&file, record.to_string()).unwrap();
    read_in_time(sandbox, &file)
}

/// A record of two rows and the reference cases.
fn measured() -> Value {
    let sandbox = Sandbox::new();
    sandbox.fake("measured", &["syscall/getppid", "--label", "an untrusted one"]).exits(0);
    sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json()
}

#[test]
fn a_changed_record_is_refused_or_read() {
    let record = measured();
    let changes = CHANGES.iter().map(|&(name, change, fate)| {
        let record = record.clone();
        Attack::in_sandbox(format!("a record: {name}"), Effort::Short, move |sandbox| {
            attempt(sandbox, &record, change, fate)
        })
    });
    let clock = Attack::in_sandbox("a clock that was set back", Effort::Short, clock_set_back);
    let rows = Attack::in_sandbox("a record of 15000 rows", Effort::Long, |sandbox| {
        many_rows(sandbox, 15_000)
    });
    let most = Attack::in_sandbox("a record of 100000 rows", Effort::Long, most_rows);
    make("records", changes.chain([clock, rows, most]));
}

#[test]
fn a_record_that_is_refused_has_a_reason() {
    let sandbox = Sandbox::new();
    let file = sandbox.file("record.json");
    fs::write(&file, "{}").unwrap();
    let ran = Ran::of(&mut sandbox.command(&["report", file.to_str().unwrap()])).exits(2);
    assert!(ran.stderr.contains("caused by: "), "{}", ran.stderr);
    assert_eq!(next_step_fault(&ran.stderr), None, "{}", ran.stderr);
}
