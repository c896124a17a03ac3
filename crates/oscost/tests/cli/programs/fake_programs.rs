//! Runs of programs on a fake host.

use serde_json::Value;

use crate::common::{Ran, Sandbox, scenario_file};

/// A run on a fake host, with the results of its scenario.
pub(super) fn fake_program(sandbox: &Sandbox, verb: &[&str], command: &[&str]) -> Ran {
    let file = scenario_file("programs");
    let host = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let verb: Vec<String> = verb.iter().map(|word| word.replace("HERE", &host)).collect();
    let verb: Vec<&str> = verb.iter().map(String::as_str).collect();
    let dashes: &[&str] = if command.is_empty() { &[] } else { &["--"] };
    let all = [&verb, dashes, command].concat();
    Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap()))
}

/// The comparisons of a run, without those of controls.
pub(super) fn compared(record: &Value) -> Vec<&Value> {
    let all = record["comparisons"].as_array().unwrap().iter();
    all.filter(|it| it["control"] == false).collect()
}
