//! What must hold after every attack.

use std::path::{Path, PathBuf};

use oscost::cli::GENERAL_HINT;
use rusqlite::{Connection, OpenFlags};

use crate::common::{Ran, Sandbox};

/// The statuses of a program that panicked, aborted, or was ended for a fault of its own.
const FAULTS: [i32; 5] = [101, 132, 134, 135, 139];

/// The store of a test.
pub(crate) fn store_of(sandbox: &Sandbox) -> PathBuf {
    sandbox.folder("data").join("oscost/store.db")
}

/// Checks how a command ended, whatever it was given.
#[track_caller]
pub(crate) fn check_end(ran: &Ran) {
    if let Some(fault) = fault(ran) {
        panic!("{fault}: {:?}\nstdout:\n{}\nstderr:\n{}", ran.code, ran.stdout, ran.stderr);
    }
}

/// What is wrong with the end of a command.
pub(crate) fn fault(ran: &Ran) -> Option<&'static str> {
    let is_control = |it: char| it.is_control() && it != '\n' && it != '\t';
    match ran.code {
        None => Some("it was ended by a signal"),
        Some(code) if FAULTS.contains(&code) => Some("it crashed"),
        _ if ran.stderr.contains("panicked at") => Some("it panicked"),
        _ if ran.stderr.contains(is_control) => Some("its messages control the terminal"),
        Some(0) if ran.stderr.lines().any(|line| line.starts_with("error:")) => {
            Some("it reported an error and success")
        }
        _ => None,
    }
}

/// The signs of a next step: a hint, an option or a command to use, or the values that are possible.
const SIGNS: [&str; 7] =
    ["hint:", "tip:", "Usage:", "--help", "`oscost ", "`--", "[possible values:"];

/// The causes after which the general hint is right: a machine that lacks memory, processes or files,
/// or whose disk fails, may fail at any call, and `oscost doctor --self` says what limits it.
const CAUSES_WITHOUT_STEP: [&str; 4] = [
    "Input/output error (os error 5)",
    "Resource temporarily unavailable (os error 11)",
    "Cannot allocate memory (os error 12)",
    "Too many open files (os error 24)",
];

/// What the message of an error lacks: a next step of its own. The general one, which the tool gives
/// where an error has none, is enough for the causes of a short list. Notes before the error are no
/// steps.
pub(crate) fn next_step_fault(stderr: &str) -> Option<&'static str> {
    let error = match stderr.find("\nerror:") {
        Some(at) if !stderr.starts_with("error:") => &stderr[at..],
        _ => stderr,
    };
    let own = error.replace(&format!("hint: {GENERAL_HINT}"), "");
    if SIGNS.iter().any(|sign| own.contains(sign)) {
        return None;
    }
    if own == error {
        return Some("an error without a next step");
    }
    let is_of_machine = CAUSES_WITHOUT_STEP.iter().any(|cause| own.contains(cause));
    (!is_of_machine).then_some("an error of which only the general next step is known")
}

/// Checks that the store of a test, where there is one, is whole.
#[track_caller]
pub(crate) fn check_store(sandbox: &Sandbox) {
    check_database(&store_of(sandbox));
}

/// Lets SQLite look for damage.
#[track_caller]
pub(crate) fn check_database(path: &Path) {
    if !path.is_file() {
        return;
    }
    let database = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
    let verdict: String =
        database.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok", "{}", path.display());
    assert!(!database.prepare("PRAGMA foreign_key_check").unwrap().exists([]).unwrap());
}

#[test]
fn a_crash_a_false_success_and_an_escape_sequence_are_faults() {
    let of = |code: Option<i32>, stderr: &str| {
        fault(&Ran { code, stdout: String::new(), stderr: stderr.to_owned() }).is_some()
    };
    assert!(of(None, "") && of(Some(134), "") && of(Some(2), "thread panicked at src/x.rs"));
    assert!(of(Some(0), "error: cannot") && of(Some(2), "error: \u{1b}[2J"));
    assert!(!of(Some(0), "note: it is kept\n") && !of(Some(2), "error: cannot\n\thint: do"));
}

#[test]
fn a_next_step_is_a_hint_an_option_or_a_command() {
    for with in ["hint: name another", "use `--at`", "`oscost runs list` lists all"] {
        assert_eq!(next_step_fault(with), None, "{with}");
    }
    for without in [
        "error: there is no run X",
        "error: it is no run; it is a bill",
        "kept as X: `oscost runs show X` shows it\nerror: the disk is gone",
    ] {
        assert_eq!(next_step_fault(without), Some("an error without a next step"), "{without}");
    }
}

#[test]
fn the_general_next_step_is_enough_for_errors_of_the_machine_alone() {
    let general = |error: &str| {
        next_step_fault(&format!("note: `--x`\nerror: {error}\n  hint: {GENERAL_HINT}"))
    };
    assert!(general("cannot read X\n  caused by: it is damaged").is_some());
    assert_eq!(general("cannot read X\n  hint: name another"), None);
    for cause in CAUSES_WITHOUT_STEP {
        assert_eq!(general(&format!("cannot read X\n  caused by: {cause}")), None);
    }
}
