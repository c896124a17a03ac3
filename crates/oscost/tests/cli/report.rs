//! `oscost report`, and the files that `run`, `ab` and `compare` write next to their text: which, where
//! to, and what becomes of them when something is wrong.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox, scenario_file, tool};
use crate::golden::golden;

const ASKED: &[&str] = &["timer/clock-gettime", "syscall/getppid"];

/// A run that is kept, and its record as a file.
fn measured(sandbox: &Sandbox) -> String {
    let file = sandbox.file("run.json").to_str().unwrap().to_owned();
    sandbox.fake("measured", &[ASKED, &["--json", &file]].concat()).exits(0);
    file
}

/// The names in the folder of the test's files.
fn files(sandbox: &Sandbox) -> Vec<String> {
    let entries = fs::read_dir(sandbox.folder("files")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn path(sandbox: &Sandbox, name: &str) -> String {
    sandbox.file(name).to_str().unwrap().to_owned()
}

/// The record as a file, after something was done to it.
fn changed(sandbox: &Sandbox, file: &str, name: &str, change: impl FnOnce(&mut Value)) -> String {
    let mut record: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    change(&mut record);
    fs::write(sandbox.file(name), record.to_string()).unwrap();
    path(sandbox, name)
}

#[test]
fn without_a_file_report_shows_the_run_as_run_did() {
    let sandbox = Sandbox::new();
    let printed = sandbox.fake("measured", ASKED).exits(0).stdout;
    assert_eq!(sandbox.oscost(&["report", "last"]).exits(0).stdout, printed);
    let file = path(&sandbox, "run.json");
    sandbox.oscost(&["report", "last", "--json", &file]).exits(0).no_data();
    assert_eq!(sandbox.oscost(&["report", &file]).exits(0).stdout, printed);
    let mut command = sandbox.command(&["report", "-"]);
    let ran = Ran::of(command.stdin(fs::File::open(&file).unwrap())).exits(0);
    assert_eq!(ran.stdout, printed);
}

#[test]
fn every_format_is_the_same_from_the_store_a_file_and_the_run() {
    let sandbox = Sandbox::new();
    let own: Vec<String> =
        ["csv", "markdown", "parquet"].iter().map(|it| path(&sandbox, it)).collect();
    let [csv, markdown, parquet] = &own[..] else { unreachable!() };
    let options = ["--csv", csv, "--markdown", markdown, "--parquet", parquet, "--json", "-"];
    let record = sandbox.fake("measured", &[ASKED, &options].concat()).exits(0);
    let file = path(&sandbox, "run.json");
    fs::write(&file, &record.stdout).unwrap();
    for (option, own) in ["--csv", "--markdown", "--parquet"].iter().zip(&own) {
        let then = fs::read(own).unwrap();
        for run in ["last", &file] {
            let again = path(&sandbox, "again");
            sandbox.oscost(&["report", run, option, &again]).exits(0).no_data();
            assert!(fs::read(&again).unwrap() == then, "{option} of {run} is another one");
        }
    }
    let again = sandbox.oscost(&["report", "last", "--json", "-"]).exits(0);
    assert_eq!(again.stdout, record.stdout);
    let csv = fs::read_to_string(csv).unwrap();
    assert_eq!(sandbox.oscost(&["report", "last", "--csv", "-"]).exits(0).stdout, csv);
}

#[test]
fn a_run_as_markdown_has_tables_for_a_pull_request() {
    let sandbox = Sandbox::new();
    let file = sandbox.fake("all-outcomes", &[&["--json", "-"], ASKED].concat()).exits(3).stdout;
    let original = path(&sandbox, "run.json");
    fs::write(&original, file).unwrap();
    let file = changed(&sandbox, &original, "odd.json", |record| {
        record["id"] = json!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f4a5b");
        record["started"] = json!("2026-11-21T08:15:00Z");
        record["label"] = json!("@team | fixes #1 <img src=x> [a](http://b)");
        let rows = record["results"].as_array_mut().unwrap();
        let skipped = rows.iter_mut().find(|row| row["outcome"] == "skipped").unwrap();
        skipped["reason"] = json!("no `x|y`, see https://example.org and @root");
    });
    let page = sandbox.oscost(&["report", &file, "--markdown", "-"]).exits(0).stdout;
    golden("report.md", &page);
    // No user is mentioned, and nothing is a link, a tag or an issue.
    let page = page.replace("@&#8203;", "").replace("#&#8203;", "").replace("\\](", "");
    // The tags of details are oscost's own.
    let page = page.replace("<details><summary>", "").replace("</summary>", "");
    let page = page.replace("</details>", "");
    for sign in ["@", "#1", "](", "<", "://e", "://b"] {
        assert!(!page.contains(sign), "{sign}: {page}");
    }
}

#[test]
fn what_was_measured_before_ctrl_c_is_written() {
    let sandbox = Sandbox::new();
    let csv = path(&sandbox, "run.csv");
    sandbox.fake("interrupted", &["timer", "syscall", "--csv", &csv]).exits(130);
    let csv = fs::read_to_string(csv).unwrap();
    assert!(csv.lines().count() > 1 && csv.contains(",measured,"), "{csv}");
}

#[test]
fn a_comparison_is_written_as_comparisons_or_as_rows() {
    let sandbox = Sandbox::new();
    let file = scenario_file("treated");
    let target = format!("fake:{}", file.file_name().unwrap().to_str().unwrap());
    let new = format!("sud@{target}");
    let (csv, page) = (path(&sandbox, "ab.csv"), path(&sandbox, "ab.md"));
    let options = ["ab", "--seed", "1", "--quick", "--base", &target, "--new", &new];
    let written = ["--csv", &csv, "--markdown", &page];
    let all = [&options[..], &written, ASKED].concat();
    let ran = Ran::of(sandbox.command(&all).current_dir(file.parent().unwrap())).exits(0);
    assert!(ran.stdout.contains("slower"), "{}", ran.stdout);
    let page = fs::read_to_string(page).unwrap();
    let (shown, run) = page.split_once("\nRun ").unwrap();
    assert!(run.contains("UTC, oscost"), "{page}");
    golden("report-ab.md", shown);
    let csv = fs::read_to_string(csv).unwrap();
    assert!(csv.starts_with("case,") && csv.contains(",base_median,"), "{csv}");
    let again = sandbox.oscost(&["report", "last", "--csv", "-"]).exits(0).stdout;
    assert_eq!(again, csv, "what a run compared is its table");
    let rows = sandbox.oscost(&["report", "last", "--csv", "-", "--table", "rows"]).exits(0);
    assert!(rows.stdout.starts_with("run,"), "{}", rows.stdout);
}

#[test]
fn a_comparison_of_runs_is_written_in_every_format() {
    let sandbox = Sandbox::new();
    let file = measured(&sandbox);
    let with_id = |number: u32| {
        changed(&sandbox, &file, &format!("{number}.json"), |record| {
            record["id"] = json!(format!("0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f{number:04x}"));
            record["started"] = json!(format!("2026-11-21T08:0{number}:00Z"));
        })
    };
    let (base, new) = (with_id(1), with_id(2));
    let page = sandbox.oscost(&["compare", &base, &new, "--markdown", "-"]).exits(0).stdout;
    golden("report-compare.md", &page);
    let (csv, parquet) = (path(&sandbox, "it.csv"), path(&sandbox, "it.parquet"));
    let ran = sandbox.oscost(&["compare", &base, &new, "--csv", &csv, "--parquet", &parquet]);
    assert!(ran.exits(0).stdout.contains("inconclusive"));
    let csv = fs::read_to_string(csv).unwrap();
    let ids = "0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f0001,0190a0b1-c2d3-7e4f-8a9b-0c1d2e3f0002";
    assert!(csv.lines().skip(1).all(|line| line.contains(ids)), "{csv}");
    assert!(fs::read(parquet).unwrap().starts_with(b"PAR1"));
}

#[test]
fn an_unwritable_file_is_refused_before_anything_is_measured() {
    let sandbox = Sandbox::new();
    let missing = path(&sandbox, "no/such/run.csv");
    let folder = sandbox.folder("files").to_str().unwrap().to_owned();
    for (file, words) in [(&missing, "its folder does not exist"), (&folder, "it is a folder")] {
        for option in ["--csv", "--json", "--markdown", "--parquet"] {
            let ran = sandbox.fake("measured", &[ASKED, &[option, file]].concat());
            ran.exits(2).no_data().stderr_contains(&format!("cannot write {file}: {words}"));
        }
        let target = format!("fake:{}", scenario_file("treated").display());
        let ran = sandbox.oscost(&["ab", "--base", &target, "--new", &target, "--csv", file]);
        ran.exits(2).no_data().stderr_contains(words);
    }
    sandbox.oscost(&["runs", "show", "last"]).exits(2).stderr_contains("the store is empty");
    assert_eq!(files(&sandbox), Vec::<String>::new());
}

#[test]
fn an_unwritable_folder_is_refused_and_left_unchanged() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.file("theirs")).unwrap();
    fs::set_permissions(sandbox.file("theirs"), fs::Permissions::from_mode(0o555)).unwrap();
    let file = path(&sandbox, "theirs/run.csv");
    let target = format!("fake:{}", scenario_file("measured").display());
    let mut command =
        sandbox.ordinary(&["run", "--at", &target, "syscall/getppid", "--csv", &file]);
    let ran = Ran::of(&mut command).exits(2).no_data();
    ran.stderr_contains(&format!("cannot write {file}: Permission denied"));
    assert_eq!(fs::read_dir(sandbox.file("theirs")).unwrap().count(), 0);
}

#[test]
fn two_documents_in_one_file_and_unknown_tables_are_refused() {
    let sandbox = Sandbox::new();
    let file = measured(&sandbox);
    let there = files(&sandbox);
    let refused = |arguments: &[&str], words: &str| {
        let ran = sandbox.oscost(&[&["report", &file], arguments].concat());
        ran.exits(2).no_data().stderr_contains(words);
    };
    refused(&["--csv", "-", "--json", "-"], "standard output takes one document");
    refused(&["--csv", "x", "--parquet", "x"], "two documents are to be written to x");
    refused(&["--csv", "-", "--table", "figures"], "rows, comparisons");
    refused(&["--csv", "-", "--table", "items"], "it is one of a bill, and this is a run");
    refused(&["--csv"], "--csv");
    sandbox.oscost(&["report"]).exits(2).no_data().stderr_contains("RUN");
    sandbox
        .oscost(&["report", "last~9"])
        .exits(2)
        .no_data()
        .stderr_contains("there is no run `last~9`");
    assert_eq!(files(&sandbox), there);
}

#[test]
fn parquet_is_not_written_to_a_terminal() {
    let sandbox = Sandbox::new();
    let file = measured(&sandbox);
    let line = format!("'{}' report '{file}' --parquet -", tool().display());
    let mut script = std::process::Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env("SHELL", "/bin/sh").stdin(Stdio::null());
    if script.output().is_err() {
        eprintln!("no terminal to be had here: script(1) is not installed");
        return;
    }
    let ran = Ran::of(&mut script).exits(2);
    assert!(ran.stdout.contains("a terminal cannot show Parquet"), "{}", ran.stdout);
    assert!(!ran.stdout.contains("PAR1"), "{}", ran.stdout);
    let mut piped = sandbox.command(&["report", &file, "--parquet", "-"]);
    let piped = piped.output().unwrap();
    assert!(piped.stdout.starts_with(b"PAR1") && piped.stdout.ends_with(b"PAR1"));
}

#[test]
fn a_full_disk_keeps_the_table_and_leaves_no_partial_file() {
    let sandbox = Sandbox::new();
    let csv = path(&sandbox, "run.csv");
    // A device is written to as it is; that it is full shows then.
    let options = ["--json", "/dev/full", "--csv", &csv];
    let ran = sandbox.fake("measured", &[ASKED, &options].concat()).exits(4);
    let ran =
        ran.stderr_contains("cannot write /dev/full").stderr_contains("No space left on device");
    assert!(ran.stdout.contains("getppid"), "{}", ran.stdout);
    assert!(fs::read_to_string(&csv).unwrap().starts_with("run,"));
    sandbox.oscost(&["report", "last", "--csv", "/dev/full"]).exits(4).no_data();

    let full = sandbox.file("full");
    fs::create_dir(&full).unwrap();
    let Some(_mounted) = Full::at(&full) else { return };
    let target = full.join("run.csv");
    let ran = sandbox.oscost(&["report", "last", "--csv", target.to_str().unwrap()]).exits(4);
    ran.no_data().stderr_contains("cannot write").stderr_contains("No space left on device");
    assert_eq!(fs::read_dir(&full).unwrap().count(), 0, "half a file was left");
}

/// A file system with room for one page, which is taken away with the value.
struct Full<'a>(&'a Path);

impl<'a> Full<'a> {
    fn at(folder: &'a Path) -> Option<Self> {
        let mut mount = std::process::Command::new("mount");
        let mounted =
            mount.args(["-t", "tmpfs", "-o", "size=4k", "oscost-test"]).arg(folder).output();
        match mounted {
            Ok(ran) if ran.status.success() => Some(Self(folder)),
            _ => {
                eprintln!("no full disk to be had here: mounting one takes root");
                None
            }
        }
    }
}

impl Drop for Full<'_> {
    fn drop(&mut self) {
        let gone = std::process::Command::new("umount").arg(self.0).status();
        assert!(gone.is_ok_and(|status| status.success()) || std::thread::panicking());
    }
}

#[test]
fn an_invalid_record_is_refused_in_one_line_and_writes_no_file() {
    let sandbox = Sandbox::new();
    let good = measured(&sandbox);
    let text = fs::read_to_string(&good).unwrap();
    let (csv, page) = (path(&sandbox, "out.csv"), path(&sandbox, "out.md"));
    let bad = path(&sandbox, "bad.json");
    let mut huge = text.clone();
    huge.push_str(&" ".repeat(65 << 20));
    for (content, words) in [
        ("", "the file is not a record"),
        ("{}", "the file is not a record"),
        (&text[..text.len() / 2], "the file is not a record"),
        (&text.replace("oscost.run/1", "oscost.run/2"), "newer schema oscost.run/2"),
        (&text.replace("oscost.run/1", "other/1"), "its schema is other/1"),
        (&text.replacen("\"label\": null", "\"label\": \"\\u001b[2J\"", 1), "control character"),
        (&huge, "the maximum is 67108864"),
    ] {
        fs::write(&bad, content).unwrap();
        let ran = sandbox.oscost(&["report", &bad, "--csv", &csv, "--markdown", &page]);
        let ran = ran
            .exits(2)
            .no_data()
            .stderr_contains(&format!("cannot report {bad}"))
            .stderr_contains(words);
        assert_eq!(ran.stderr.lines().count(), 3, "{}", ran.stderr);
        assert_eq!(files(&sandbox), ["bad.json", "run.json"], "{words}");
    }
    let ran = sandbox.oscost(&["report", "./no/such.json", "--csv", &csv]).exits(2).no_data();
    ran.stderr_contains("cannot read ./no/such.json");
}

#[test]
fn a_packed_record_and_one_that_comes_with_oscost_are_read_by_name() {
    let sandbox = Sandbox::new();
    let records = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let packed = records.join("guest.json.gz");
    let packed = packed.to_str().unwrap();
    let shown = sandbox.oscost(&["report", packed]).exits(0).stdout;
    assert!(shown.contains("syscall") && shown.contains("Trust: "), "{shown}");
    assert_eq!(sandbox.oscost(&["report", "@guest"]).exits(0).stdout, shown);
    sandbox.oscost(&["compare", packed, "@guest-nice"]).exits(0);
    sandbox.oscost(&["table", packed, "@vm-6.1"]).exits(0);
    sandbox.oscost(&["runs", "import", packed]).exits(0);
    assert!(sandbox.oscost(&["report", "last"]).exits(0).stdout.contains("Trust: "));
    let cut = path(&sandbox, "cut.json.gz");
    let bytes = fs::read(packed).unwrap();
    fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let ran = sandbox.oscost(&["report", &cut]).exits(2).no_data();
    ran.stderr_contains("cannot unpack").stderr_contains("`gzip -t FILE`");
}

#[test]
fn an_existing_file_is_kept_until_the_new_one_is_complete() {
    let sandbox = Sandbox::new();
    let good = measured(&sandbox);
    let csv = path(&sandbox, "run.csv");
    fs::write(&csv, "mine").unwrap();
    let bad = changed(&sandbox, &good, "bad.json", |record| record["schema"] = json!("other/1"));
    sandbox.oscost(&["report", &bad, "--csv", &csv]).exits(2);
    assert_eq!(fs::read_to_string(&csv).unwrap(), "mine");
    sandbox.oscost(&["report", &good, "--csv", &csv]).exits(0);
    assert!(fs::read_to_string(&csv).unwrap().starts_with("run,"));
    assert_eq!(files(&sandbox), ["bad.json", "run.csv", "run.json"]);
}
