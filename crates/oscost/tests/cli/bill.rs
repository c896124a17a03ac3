//! `oscost bill`: a command on a fake host, and on this machine.

use std::collections::BTreeMap;
use std::fs;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox, scenario_file};
use crate::golden::golden;

/// Bills a command on the fake host, by the prices that there are.
fn bill(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let target = format!("fake:{}", scenario_file("measured").display());
    let options = ["bill", "--at", &target, "--trials", "6", "--price-seconds", "0"];
    sandbox.oscost(&[&options[..], arguments, &["--", "cat", "x"]].concat())
}

/// A sandbox with a price list of that host.
pub(crate) fn with_prices() -> Sandbox {
    let sandbox = Sandbox::new();
    let cases = ["syscall/getuid", "directory/open", "fault/zero-fill"];
    sandbox.fake("measured", &[&["--quick"], &cases[..]].concat()).exits(0);
    sandbox
}

#[test]
fn a_bill_has_its_items_and_the_difference_and_says_what_has_no_price() {
    let sandbox = with_prices();
    let ran = bill(&sandbox, &[]).exits(0);
    assert_fits(&ran.stdout);
    assert!(ran.stdout.starts_with("cat spent 30.1 ms in the kernel; "), "{}", ran.stdout);
    let trust = "\nTrust: poor: the difference is more than half of";
    // The reasons have the id of the run whose prices these are, and its time.
    let (before, rest) = ran.stdout.split_once("\nOther reasons of its grade\n").unwrap();
    let (reasons, after) = rest.split_once("\n\n").unwrap();
    assert!(before.contains(trust), "{before}");
    assert!(reasons.contains("  counting added 99 % to its real time: "), "{reasons}");
    golden("bill.txt", &format!("{before}\n{after}"));
    for words in [
        "charged in all",
        "measured system time",
        "the difference",
        "no price: 7 x read file",
        "Next: `oscost run file/read:via=read` measures what is missing.",
        "More: `--verbose` shows which rows priced each item",
    ] {
        assert!(ran.stdout.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
}

#[test]
fn which_rows_priced_an_item_is_shown_on_demand() {
    let sandbox = with_prices();
    let parts = ["\nPrices\n  getppid: syscall/getppid:via=raw\n", "\n  prices of run "];
    let shown = bill(&sandbox, &["--verbose"]).exits(0).stdout;
    assert_fits(&shown);
    for part in parts {
        assert!(shown.contains(part), "{part:?} is not in:\n{shown}");
    }
    for command in [&["report", "last"][..], &["runs", "show", "last"]] {
        let whole = sandbox.oscost(&[command, &["--verbose"]].concat()).exits(0).stdout;
        assert_eq!(whole, shown, "{command:?}");
        let short = sandbox.oscost(command).exits(0).stdout;
        assert!(parts.iter().all(|part| !short.contains(part)), "{short}");
    }
}

#[test]
fn the_record_of_a_bill_adds_up() {
    let sandbox = with_prices();
    let record = bill(&sandbox, &["--json", "-"]).exits(0).json();
    assert_eq!(record["schema"], "oscost.bill/1");
    let ns = |of: &Value| of["ns"].as_f64().unwrap();
    let items = record["items"].as_array().unwrap();
    let amounts = items.iter().map(|it| &it["amount"]).filter(|amount| amount.is_object());
    let sum: f64 = amounts.map(ns).sum();
    let (charged, system) = (ns(&record["charged"]), ns(&record["trials"]["system_time"]));
    assert!((sum - charged).abs() < 1e-6 * charged, "{sum} {charged}");
    assert!((system - charged - ns(&record["difference"])).abs() < 1e-6 * system);
    let times = |name: &str| {
        let item = items.iter().find(|it| it["name"] == name).unwrap();
        item["times"].as_f64().unwrap()
    };
    assert_eq!((times("getppid"), times("openat file")), (1_000.0, 3.0));
    assert_eq!(record["counted"]["runs"], 3);
    assert_eq!(record["counted"]["varying_forms"], 0);
}

#[test]
fn where_counters_show_the_kernel_there_is_a_bill_in_instructions() {
    let sandbox = Sandbox::new();
    sandbox.fake("counters", &["--quick", "syscall/getppid:via=raw"]).exits(0);
    let target = format!("fake:{}", scenario_file("counters").display());
    let options = ["bill", "--at", &target, "--trials", "6", "--price-seconds", "0", "--json", "-"];
    let record = sandbox.oscost(&[&options[..], &["--", "gzip", "FILE"]].concat()).exits(0).json();
    let instructions = &record["instructions"];
    let number = |of: &Value| of.as_f64().unwrap_or_else(|| panic!("{record}"));
    assert_eq!((number(&instructions["runs"]), number(&instructions["kernel"])), (3.0, 2e7));
    let items = instructions["items"].as_array().unwrap();
    let getppid = items.iter().find(|item| item["name"] == "getppid").unwrap();
    let each = number(&getppid["each"]);
    assert!((each / 293.0 - 1.0).abs() < 0.01, "{each}");
    let sum: f64 = items.iter().filter_map(|item| item["amount"].as_f64()).sum();
    let charged = number(&instructions["charged"]);
    assert!((sum - charged).abs() < 1e-6 * charged, "{sum} {charged}");
    assert_eq!(number(&instructions["difference"]), 2e7 - charged);
    assert!(record["no_instructions"].is_null());
    let measured = bill(&with_prices(), &["--json", "-"]).exits(0).json();
    assert!(measured["instructions"].is_null() && measured["no_instructions"].is_string());
}

#[test]
fn a_bill_is_a_page_that_loads_nothing() {
    let sandbox = with_prices();
    let file = sandbox.file("bill.html");
    let ran = bill(&sandbox, &["--html", file.to_str().unwrap()]).exits(0);
    assert!(ran.stdout.contains("cat spent"), "the table is shown, too: {}", ran.stdout);
    let page = fs::read_to_string(&file).unwrap();
    for words in ["<title>The bill of cat</title>", "\"chart-reconciliation\"", "getppid<small>"] {
        assert!(page.contains(words), "`{words}` is not in the page");
    }
    let shown = bill(&sandbox, &["--html", "-"]).exits(0).stdout;
    assert!(shown.starts_with("<!doctype html>") && !shown.contains("charged in all  "));
    bill(&sandbox, &["--html", "-", "--json", "-"]).exits(2).no_data();
}

#[test]
fn clock_reads_that_cannot_be_counted_say_why() {
    let sandbox = with_prices();
    let record = bill(&sandbox, &["--json", "-"]).exits(0).json();
    assert!(record["no_clock_reads"].is_null(), "nobody asked for them");
    let record = bill(&sandbox, &["--clock-reads", "--json", "-"]).exits(0).json();
    assert_eq!(record["clock_reads"], serde_json::json!([]));
    let why = record["no_clock_reads"].as_str().unwrap();
    assert!(why.starts_with("a tracer does not see them"), "{why}");
    let shown = bill(&sandbox, &["--clock-reads"]).exits(0).stdout;
    assert!(shown.contains("clock reads: not counted: a tracer does not see them"), "{shown}");
}

#[test]
fn the_items_of_a_bill_have_families() {
    let record = bill(&with_prices(), &["--json", "-"]).exits(0).json();
    let items = record["items"].as_array().unwrap();
    let family = |name: &str| items.iter().find(|it| it["name"] == name).unwrap()["family"].clone();
    assert_eq!(family("getppid"), "processes");
    assert_eq!(family("openat file"), "files");
    assert_eq!(record["cautions"], serde_json::json!([]), "a made-up host traces nothing");
}

#[test]
fn without_a_price_list_the_next_step_is_named() {
    let sandbox = Sandbox::new();
    bill(&sandbox, &[]).exits(3).no_data().stderr_contains("`oscost run` measures one");
    let ran = bill(&with_prices(), &["--prices", "no-such-run"]).exits(2).no_data();
    ran.stderr_contains("cannot read prices of `no-such-run`");
}

#[test]
fn a_command_of_this_machine_is_counted() {
    let sandbox = with_prices();
    let script = "cat /dev/null; cat /dev/null; exit 0";
    let arguments =
        ["bill", "--trials", "6", "--prices", "last", "--json", "-", "--", "sh", "-c", script];
    let record = sandbox.oscost(&arguments).exits(0).json();
    sandbox.nothing_is_left();
    let refused = record["not_counted"].as_str().unwrap_or_default().to_owned();
    if !refused.is_empty() {
        assert!(refused.contains("ptrace is refused"), "{refused}");
        for key in ["counted", "charged", "difference"] {
            assert!(record[key].is_null(), "{key}");
        }
        return eprintln!("not tested: {refused}");
    }
    let calls = &record["counted"]["calls"];
    assert_eq!((&calls["execs"], &calls["forks"]), (&3.into(), &2.into()), "{calls}");
    assert!(record["difference"].is_object());
}

#[test]
fn a_command_that_is_not_there_or_fails_has_no_bill() {
    let sandbox = with_prices();
    let bill = |command: &[&str]| {
        sandbox.oscost(&[&["bill", "--trials", "6", "--prices", "last", "--"], command].concat())
    };
    bill(&["no-such-command"]).exits(127).no_data();
    bill(&["/etc/passwd"]).exits(126).no_data();
    let failed = bill(&["sh", "-c", "exit 7"]).exits(3).no_data();
    failed.stderr_contains("exited with status 7").stderr_contains("hint: `--ignore-failure`");
    let kept = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let is_bill = |it: &Value| it["kind"] == "bill";
    assert!(!kept["runs"].as_array().unwrap().iter().any(is_bill), "{kept}");
}

/// A sandbox with two bills that are kept, labelled `before` and `after`.
fn with_two_bills() -> Sandbox {
    let sandbox = with_prices();
    for label in ["before", "after"] {
        let ran = bill(&sandbox, &["--label", label]).exits(0);
        ran.stderr_contains("kept as ");
    }
    sandbox
}

#[test]
fn a_bill_is_kept_listed_shown_and_deleted() {
    let sandbox = with_prices();
    let printed = bill(&sandbox, &["--label", "one"]).exits(0);
    let id = printed.stderr.split("kept as ").nth(1).unwrap().split(':').next().unwrap().to_owned();
    for name in ["last", "@one", id.as_str()] {
        let shown = sandbox.oscost(&["runs", "show", name]).exits(0);
        assert_eq!(shown.stdout, printed.stdout, "{name}");
    }
    let listed = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let [of_bill, of_run] = &listed["runs"].as_array().unwrap()[..] else { panic!("{listed}") };
    assert_eq!((&of_bill["kind"], &of_run["kind"]), (&"bill".into(), &"run".into()));
    assert_eq!((&of_bill["id"], &of_bill["label"]), (&id.as_str().into(), &"one".into()));
    let exported = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
    assert_eq!(of_bill["system_ns"], exported["trials"]["system_time"]["ns"]);
    let list = sandbox.oscost(&["runs", "list"]).exits(0);
    assert_fits(&list.stdout);
    list.stderr_contains("1 run and 1 bill in ");
    sandbox.oscost(&["runs", "prune"]).exits(0);
    sandbox.oscost(&["runs", "delete", "@one"]).exits(0).stderr_contains(&format!("deleted {id}"));
    sandbox.oscost(&["runs", "show", &id]).exits(2).no_data().stderr_contains("there is no run");
    let unkept = bill(&sandbox, &["--no-store"]).exits(0);
    assert!(!unkept.stderr.contains("kept as "), "{}", unkept.stderr);
    let listed = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    let quiet = bill(&sandbox, &["--quiet"]).exits(0);
    assert!(!quiet.stderr.contains("kept as "), "{}", quiet.stderr);
}

#[test]
fn an_exported_and_imported_bill_is_the_same_bill() {
    let (here, there) = (with_two_bills(), Sandbox::new());
    let file = there.file("bill.json");
    let file = file.to_str().unwrap();
    here.oscost(&["runs", "export", "@after", file]).exits(0).no_data();
    let written = std::fs::read_to_string(file).unwrap();
    let printed = here.oscost(&["runs", "show", "@after"]).exits(0).stdout;
    assert_eq!(there.oscost(&["report", file]).exits(0).stdout, printed);
    there.oscost(&["runs", "import", file]).exits(0).no_data().stderr_contains("kept as ");
    assert_eq!(there.oscost(&["runs", "export", "last", "-"]).exits(0).stdout, written);
    assert_eq!(there.oscost(&["report", "last"]).exits(0).stdout, printed);
    there.oscost(&["runs", "import", file]).exits(2).stderr_contains("is already in the store");
    std::fs::write(file, written.replace("oscost.bill/1", "oscost.bill/2")).unwrap();
    let refused = there.oscost(&["report", file]).exits(2).no_data();
    refused.stderr_contains("newer schema oscost.bill/2");
}

#[test]
fn what_is_of_runs_alone_refuses_a_bill_with_the_next_step() {
    let sandbox = with_two_bills();
    let file = sandbox.file("bill.json");
    let file = file.to_str().unwrap();
    sandbox.oscost(&["runs", "export", "@after", file]).exits(0);
    for (arguments, words) in [
        (&["compare", "@before", "@after"][..], "`@before` is a bill, not a run"),
        (&["compare", file, "last"], "the file is a bill, and a run is needed here"),
        (&["predict", "check", "@before"], "`@before` is a bill, not a run"),
        (&["bill", "last", "@no-such"], "no bill has the label `no-such`"),
        (&["runs", "show", "last", "--samples"], "cannot use --samples here"),
        (&["report", "last", "--table", "rows"], "it is one of a run, and this is a bill"),
        (&["report", "last", "--export-hyperfine", "-"], "hyperfine's format has no bill"),
    ] {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    }
    let ran = bill(&sandbox, &["--prices", "@before"]).exits(2).no_data();
    ran.stderr_contains("`@before` is a bill, not a run");
    // The last run is still the one with the prices.
    bill(&sandbox, &["--prices", "last"]).exits(0);
    let run = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let of_run = run["runs"].as_array().unwrap().iter().find(|it| it["kind"] == "run").unwrap();
    let id = of_run["id"].as_str().unwrap();
    let refused = sandbox.oscost(&["bill", "@before", id]).exits(2).no_data();
    refused.stderr_contains("is a run, not a bill");
}

#[test]
fn a_bill_is_written_in_every_format() {
    let sandbox = with_prices();
    let files = ["json", "csv", "parquet", "md", "html"]
        .map(|ending| sandbox.file(&format!("bill.{ending}")).to_str().unwrap().to_owned());
    let options: Vec<&str> = files.iter().flat_map(|file| ["-o", file]).collect();
    bill(&sandbox, &options).exits(0);
    let [json, csv, parquet, markdown, html] = files.map(|file| std::fs::read(file).unwrap());
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    let record: Value = serde_json::from_slice(&json).unwrap();
    let csv = text(csv);
    let lines: Vec<&str> = csv.lines().collect();
    assert!(lines[0].starts_with("kind,bill,started,label,"), "{}", lines[0]);
    let count = |kind: &str| lines.iter().filter(|line| line.starts_with(kind)).count();
    assert_eq!(count("item,"), record["items"].as_array().unwrap().len());
    assert_eq!([count("charged,"), count("measured,"), count("difference,")], [1, 1, 1]);
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    let markdown = text(markdown);
    assert!(markdown.starts_with("**The bill of cat**"), "{markdown}");
    assert!(markdown.contains("charged in all"), "{markdown}");
    let html = text(html);
    assert!(html.contains("The bill of cat") && html.contains("charged in all"), "{html}");
}

#[test]
fn two_bills_of_one_command_are_compared_and_nothing_is_claimed() {
    let sandbox = with_two_bills();
    let text = sandbox.oscost(&["bill", "@before", "@after"]).exits(0).stdout;
    assert_fits(&text);
    assert!(text.starts_with("new spends "), "{text}");
    for words in ["\n\nbase: `cat x`", "charged in all", "measured system time", "the difference"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    let json = sandbox.oscost(&["bill", "last~1", "last", "--json", "-"]).exits(0).json();
    assert_eq!(json["schema"], "oscost.bill-comparison/1");
    assert_eq!(json["base"]["label"], "before");
    assert_eq!(json["new"]["label"], "after");
    // One command by one price list: only what is counted by trials may differ.
    let mut items = json["items"].as_array().unwrap().iter();
    let open = items.find(|it| it["name"] == "openat file").unwrap();
    assert_eq!(open["base_times"], 3.0);
    assert_eq!(open["new_times"], 3.0);
    assert_eq!(open["change"]["ns"].as_f64().map(f64::abs), Some(0.0));
    let ns = |of: &Value| of["ns"].as_f64().unwrap();
    let system = &json["system"];
    assert_eq!(ns(&system["change"]), ns(&system["new"]) - ns(&system["base"]));
    let refused = sandbox.oscost(&["bill", "last", "last"]).exits(2).no_data();
    refused.stderr_contains("it is named twice");
}

#[test]
fn bills_of_running_processes_are_compared_by_the_second_and_listed_by_their_ids() {
    let sandbox = with_two_bills();
    let file = |name: &str, seconds: f64| {
        let mut record = sandbox.oscost(&["runs", "export", name, "-"]).exits(0).json();
        record["watched"] = serde_json::json!({
            "pid": 7, "seconds": seconds, "threads": 1, "children": false, "ended": false,
            "on_cpu_ns": null,
        });
        let path = sandbox.file(&format!("{seconds}.json"));
        std::fs::write(&path, record.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (base, new) = (file("@before", 2.0), file("@after", 4.0));
    let text = sandbox.oscost(&["bill", &base, &new]).exits(0).stdout;
    assert_fits(&text);
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in ["in the kernel each second", "process 7 (1 thread), watched for 4.00 s"] {
        assert!(flat.contains(words), "`{words}` is not in:\n{text}");
    }
    let json = sandbox.oscost(&["bill", &base, &new, "--json", "-"]).exits(0).json();
    assert_eq!(json["new"]["watched"]["seconds"], 4.0);
    let mut items = json["items"].as_array().unwrap().iter();
    let open = items.find(|it| it["name"] == "openat file").unwrap();
    assert_eq!(open["base_times"], 1.5);
    assert_eq!(open["new_times"], 0.75);
    let refused = sandbox.oscost(&["bill", "@before", &new]).exits(2).no_data();
    refused.stderr_contains("one is of whole runs of a command");
    let there = Sandbox::new();
    there.oscost(&["runs", "import", &new]).exits(0);
    let listed = there.oscost(&["runs", "list", "--json"]).exits(0).json();
    assert_eq!(listed["runs"][0]["command"], serde_json::json!(["oscost", "bill", "--pid", "7"]));
}

#[test]
fn a_command_or_two_bills_and_not_both() {
    let sandbox = Sandbox::new();
    for (arguments, words) in [
        (&["bill"][..], "cannot make a bill: no command is given"),
        (&["bill", "a"], "cannot compare one bill with nothing"),
        (&["bill", "a", "b", "c"], "cannot compare 3 bills"),
        (&["bill", "a", "b", "--", "true"], "cannot compare bills and make one"),
        (&["bill", "a", "--", "true"], "cannot compare bills and make one"),
        (&["bill", "a", "b", "--trials", "6"], "cannot be used with"),
        (&["bill", "a", "b", "--label", "x"], "cannot be used with"),
        (&["bill", "a", "b", "--verbose"], "cannot be used with"),
        (&["bill", "a", "b", "--counter", "ptrace"], "cannot be used with"),
        (&["bill", "a", "b", "--pid", "1"], "cannot be used with"),
        (&["bill", "--pid", "abc"], "it must be the number of a process"),
        (&["bill", "--pid", "0"], "it must be the number of a process"),
    ] {
        sandbox.oscost(arguments).exits(2).no_data().stderr_contains(words);
    }
}

/// The calls of a script by form and size, as a counter counts them; `None` with a message where it
/// cannot be used.
pub(crate) fn counted_by(sandbox: &Sandbox, counter: &str, script: &str) -> Option<Value> {
    let options = ["bill", "--trials", "6", "--prices", "last", "--json", "-", "--counter"];
    let ran = sandbox.oscost(&[&options[..], &[counter, "--", "sh", "-c", script]].concat());
    sandbox.nothing_is_left();
    if ran.code == Some(3) {
        assert!(ran.stderr.contains("cannot count by eBPF"), "{}", ran.stderr);
        assert!(!ran.stderr.contains("cannot load the programs"), "{}", ran.stderr);
        eprintln!("not tested: {}", ran.stderr);
        return None;
    }
    let record = ran.exits(0).json();
    if let Some(refused) = record["not_counted"].as_str() {
        assert!(counter == "ptrace" && refused.contains("ptrace is refused"), "{refused}");
        eprintln!("not tested: {refused}");
        return None;
    }
    assert_eq!(record["counted"]["counter"], counter);
    assert_eq!(record["counted"]["lost_events"], 0);
    Some(record)
}

/// How often each form was counted. Not those that depend on when a child ends: under a tracer,
/// every SIGCHLD interrupts a call.
fn forms(record: &Value) -> BTreeMap<String, u64> {
    let mut forms = BTreeMap::new();
    for form in record["counted"]["calls"]["forms"].as_array().unwrap() {
        let name = form["form"].as_str().unwrap();
        let interrupted = ["wait4", "rt_sigreturn", "rt_sigsuspend"];
        if !interrupted.iter().any(|it| name.starts_with(it)) && !name.ends_with(" RESTART") {
            // A tracer does not tell whether a file was read from a disk, or is shared.
            let name = name.replacen(" disk", " file", 1).replacen("close shared ", "close ", 1);
            let key = format!("{name} {} {}", form["bytes"], form["mappings"]);
            *forms.entry(key).or_default() += form["calls"].as_u64().unwrap();
        }
    }
    forms
}

#[test]
fn both_counters_count_the_same_calls() {
    let sandbox = with_prices();
    let script = "for i in 1 2; do /bin/true; cat /dev/null; done; (exit 0); \
                  cat /etc/passwd | cat > /dev/null; exit 0";
    let Some(traced) = counted_by(&sandbox, "ptrace", script) else { return };
    let Some(in_kernel) = counted_by(&sandbox, "ebpf", script) else { return };
    assert_eq!(forms(&in_kernel), forms(&traced));
    let totals = |record: &Value| {
        let calls = &record["counted"]["calls"];
        ["forks", "threads", "execs", "exits"].map(|key| calls[key].as_u64().unwrap())
    };
    assert_eq!(totals(&in_kernel), totals(&traced));
    // The shell, twice true and cat, and the two ends of the pipe.
    assert_eq!(totals(&in_kernel)[2], 7);
    let time = |record: &Value, name: &str| {
        let items = record["items"].as_array().unwrap().clone();
        let is_of_call = |item: &Value| item["name"].as_str().unwrap().starts_with(name);
        items.into_iter().find(is_of_call).unwrap()["in_kernel"].clone()
    };
    assert!(time(&in_kernel, "execve").is_object() && time(&traced, "execve").is_null());
    assert!(time(&in_kernel, "exit_group").is_null(), "it never returns");
    for record in [&in_kernel, &traced] {
        assert!(record["watched"].is_null() && record["counted"]["added_pct"].is_number());
    }
}

#[test]
fn reads_that_waited_for_a_disk_are_a_form_of_their_own_without_a_price() {
    let sandbox = with_prices();
    let file = sandbox.file("data");
    let file = file.to_str().unwrap();
    let of_file = |program: &str, arguments: &[&str]| {
        let ran = Command::new(program).args(arguments).output();
        ran.ok().filter(|it| it.status.success()).map(|it| it.stdout)
    };
    let to = format!("of={file}");
    let from = format!("if={file}");
    let write = ["if=/dev/zero", &to, "bs=64k", "count=64", "conv=fsync", "status=none"];
    let read = [&from, "of=/dev/null", "bs=64k", "iflag=direct", "status=none"];
    let system = of_file("stat", &["-f", "-c", "%T", file.rsplit_once('/').unwrap().0]);
    let system = String::from_utf8(system.unwrap_or_default()).unwrap();
    let is_on_disk = ["ext2/ext3", "xfs", "btrfs"].contains(&system.trim());
    if !is_on_disk || of_file("dd", &write).is_none() || of_file("dd", &read).is_none() {
        eprintln!("not tested: no O_DIRECT of a file on a disk here ({})", system.trim());
        return;
    }
    let script = format!("exec dd {}", read.join(" "));
    let Some(record) = counted_by(&sandbox, "ebpf", &script) else { return };
    let item =
        |name: &str| record["items"].as_array().unwrap().iter().find(|item| item["name"] == name);
    let times = |name: &str| item(name).map_or(0.0, |item| item["times"].as_f64().unwrap());
    assert!(times("read disk") > 0.0, "{record}");
    // Those of 64 KiB, and the libraries' headers.
    assert!(times("read disk") + times("read file") >= 64.0, "{record}");
    let of_disk = item("read disk").unwrap();
    assert!(of_disk["amount"].is_null(), "{of_disk}");
    assert!(of_disk["missing"].as_str().unwrap().contains("waited for a disk"), "{of_disk}");
    assert_eq!(of_disk["family"], "files");
}

/// A program of a single task: 1,000 first touches of memory, ten signals, twenty waits.
const TOUCHES: &str = "exec python3 -c '
import mmap, os, signal, time
signal.signal(signal.SIGUSR1, lambda *_: None)
memory = mmap.mmap(-1, 4096 * 1000, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for page in range(1000):
    memory[4096 * page] = 1
for _ in range(10):
    os.kill(os.getpid(), signal.SIGUSR1)
for _ in range(20):
    time.sleep(0.001)
'";

#[test]
fn faults_switches_and_signals_of_a_known_program_are_counted() {
    let sandbox = with_prices();
    let mut python = Command::new("python3");
    python.args(["-c", "import mmap; mmap.MADV_NOHUGEPAGE"]);
    if !python.output().is_ok_and(|it| it.status.success()) {
        eprintln!("not tested: there is no python3 with madvise");
        return;
    }
    let Some(record) = counted_by(&sandbox, "ebpf", TOUCHES) else { return };
    let calls = &record["counted"]["calls"];
    let events = &calls["events"];
    let number = |at: &str| events.pointer(at).and_then(Value::as_u64).unwrap();
    assert_eq!(calls["signals"], 10, "{calls}");
    let (voluntary, forced) = (number("/voluntary_switches"), number("/forced_switches"));
    assert!(voluntary >= 20, "{events}");
    let to_others = number("/voluntary_to_process") + number("/voluntary_to_thread");
    assert!(to_others <= voluntary, "{events}");
    // Whoever has left a CPU continues somewhere, until it ends.
    assert_eq!(number("/same_cpu") + number("/other_cpu"), voluntary + forced, "{events}");
    let item = |name: &str| {
        let items = record["items"].as_array().unwrap().iter();
        let found = items.filter(|item| item["name"] == name).collect::<Vec<_>>();
        assert!(found.len() <= 1, "{name} is charged once");
        found.first().map_or(0.0, |item| item["times"].as_f64().unwrap())
    };
    let zero_fill = number("/faults/zero_fill");
    if zero_fill == 0 {
        eprintln!("not tested: this kernel does not tell the kinds of faults");
        assert!(number("/faults/unknown") >= 1_000, "{events}");
    } else {
        assert!(zero_fill >= 1_000, "{events}");
        assert!(number("/faults/file_minor") > 0, "the interpreter is a file: {events}");
        assert_eq!(item("zero-fill page fault"), zero_fill as f64);
    }
    // What was counted by kind is taken from the faults of the trials, and in no other item.
    let kinds = ["zero_fill", "huge_zero_fill", "file_minor", "copy_on_write", "page_reuse"];
    let kinds: u64 = kinds.iter().map(|kind| number(&format!("/faults/{kind}"))).sum();
    let of_trials = record["trials"]["minor_faults"].as_f64().unwrap();
    assert_eq!(item("minor page fault"), of_trials - kinds as f64, "{events}");
    // A histogram has each call that returned, and those that blocked.
    for timed in calls["in_kernel"].as_array().unwrap() {
        let sum = |histogram: &str| -> u64 {
            let buckets = timed[histogram].as_array().unwrap().iter();
            buckets.map(|bucket| bucket["calls"].as_u64().unwrap()).sum()
        };
        assert_eq!(Some(sum("on_cpu_histogram")), timed["time"]["calls"].as_u64(), "{timed}");
        assert!(sum("off_cpu_histogram") <= sum("on_cpu_histogram"), "{timed}");
        let has_waited = timed["time"]["off_cpu_ns"] != 0;
        assert_eq!(sum("off_cpu_histogram") > 0, has_waited, "{timed}");
    }
}

#[test]
fn a_running_process_has_a_bill_and_goes_on() {
    let sandbox = with_prices();
    let mut sleeper =
        Command::new("sh").args(["-c", "read -r line"]).stdin(Stdio::piped()).spawn().unwrap();
    let pid = sleeper.id().to_string();
    let bill = |pid: &str, more: &[&str]| {
        let options = ["bill", "--pid", pid, "--for", "100ms", "--prices", "last", "--json", "-"];
        sandbox.oscost(&[&options[..], more].concat())
    };
    for counter in ["ptrace", "ebpf"] {
        let ran = bill(&pid, &["--counter", counter, "--label", counter]);
        if ran.code == Some(3) {
            let is_refused = ["ptrace of process", "cannot count by eBPF"];
            assert!(is_refused.iter().any(|it| ran.stderr.contains(it)), "{}", ran.stderr);
            assert!(!ran.stderr.contains("cannot load the programs"), "{}", ran.stderr);
            eprintln!("not tested: {}", ran.stderr);
            continue;
        }
        let record = ran.exits(0).json();
        let watched = &record["watched"];
        assert_eq!((&watched["pid"], &watched["ended"]), (&sleeper.id().into(), &false.into()));
        assert_eq!((&watched["threads"], &watched["children"]), (&1.into(), &false.into()));
        assert_eq!(record["program"], serde_json::json!(["sh", "-c", "read -r line"]));
        assert_eq!(record["trials"]["source"], "proc");
        assert_eq!(record["counted"]["counter"], counter);
        assert!(record["counted"]["added_pct"].is_null());
        let kept = sandbox.oscost(&["runs", "export", &format!("@{counter}"), "-"]).exits(0);
        assert_eq!(kept.json(), record, "it is kept");
    }
    sandbox.nothing_is_left();
    drop(sleeper.stdin.take());
    // The end of its input is its failure, and no signal's.
    assert_eq!(sleeper.wait().unwrap().code(), Some(1));
    bill("4194304", &[]).exits(2).no_data().stderr_contains("there is none");
    let own = std::process::id().to_string();
    let refused = bill(&own, &["--counter", "ptrace"]).exits(2).no_data();
    refused.stderr_contains("oscost is one of its descendants");
    sandbox.oscost(&["bill", "--pid", &own, "--", "ls"]).exits(2).no_data();
    sandbox.oscost(&["bill", "--for", "1s", "--", "ls"]).exits(2).no_data();
    sandbox.oscost(&["bill", "--counter", "x", "--", "ls"]).exits(2).no_data();
}
