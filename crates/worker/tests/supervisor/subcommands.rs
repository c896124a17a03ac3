//! The program's other sub-commands.

use std::process::{Command, Output, Stdio};

use oscost_model::definition::Catalog;
use oscost_worker::benchmarks;

use crate::common::worker;

fn run(arguments: &[&str]) -> Output {
    Command::new(worker()).args(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn catalog_prints_the_definitions() {
    let output = run(&["catalog"]);
    assert!(output.status.success());
    let printed: Catalog = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed, benchmarks::data());
}

#[test]
fn version_prints_the_version() {
    let words = String::from_utf8(run(&["--version"]).stdout).unwrap();
    assert_eq!(words, format!("oscost-worker {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn wrong_usage_refers_to_the_tool() {
    for arguments in [&[][..], &["--help"], &["run"]] {
        let output = run(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(output.stdout.is_empty(), "{arguments:?}");
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("run `oscost` instead"), "{words}");
    }
}

#[test]
fn a_job_without_a_supervisor_exits_silently() {
    for verb in ["job", "traced-job"] {
        let output = run(&[verb]);
        assert!(!output.status.success(), "{output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
}

#[test]
fn a_full_disk_behind_the_catalog_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = Command::new(worker()).arg("catalog").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("catalog"), "{output:?}");
}
