//! Measured runs and their pages.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde_json::Value;

use crate::chromium::Browser;
use crate::common::{Sandbox, rows};
use crate::page::Page;
use crate::page_checks::{opened, text};
use crate::shared::Shared;

/// Measures a run; its record and its page.
pub(crate) fn measured(sandbox: &Sandbox, arguments: &[&str]) -> (Value, PathBuf) {
    let [json, html] = ["run.json", "run.html"].map(|name| sandbox.file(name));
    let files = ["--json", text(&json), "--html", text(&html)];
    let ran = sandbox.oscost(&[&["run", "--quick"], arguments, &files].concat());
    // On a loaded machine a row may have too few undisturbed batches.
    assert!(matches!(ran.code, Some(0 | 3)), "{}", ran.stderr);
    (serde_json::from_slice(&fs::read(json).unwrap()).unwrap(), html)
}

/// The rows that the user requested.
pub(crate) fn requested(record: &Value) -> Vec<&Value> {
    let is_added = |flag: &Value| flag == "REFERENCE" || flag == "PRIMITIVE";
    let is_requested = |row: &&Value| !row["flags"].as_array().unwrap().iter().any(is_added);
    rows(record).iter().filter(is_requested).collect()
}

/// A run of a few rows, whose page has each control.
pub(crate) struct FewRows {
    pub(crate) record: Value,
    pub(crate) path: PathBuf,
    _sandbox: Sandbox,
}

/// It takes seconds, and no other run can be made on the machine at once.
static FEW_ROWS: Shared<FewRows> = Shared::new();

/// A page of a few rows, to try each control.
pub(crate) fn few_rows(browser: &Browser) -> (Arc<FewRows>, Page) {
    let rows = FEW_ROWS.get(|| {
        let sandbox = Sandbox::new();
        let selectors = ["timer/clock-gettime", "syscall/getppid", "pipe/round-trip"];
        let (record, path) = measured(&sandbox, &selectors);
        Some(FewRows { record, path, _sandbox: sandbox })
    });
    let rows = rows.unwrap();
    let page = opened(browser, &rows.path);
    (rows, page)
}
