//! `oscost bill`: a command on a fake host, and on this machine.

use serde_json::Value;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox, scenario_file};
use crate::golden::golden;

/// Bills a command on the fake host.
fn bill(sandbox: &Sandbox, arguments: &[&str]) -> Ran {
    let target = format!("fake:{}", scenario_file("measured").display());
    let all = [&["bill", "--at", &target, "--trials", "6"], arguments, &["--", "cat", "x"]];
    sandbox.oscost(&all.concat())
}

/// A sandbox with a price list of that host.
fn with_prices() -> Sandbox {
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
    // The id of the run whose prices these are, and its time.
    let is_stable = |line: &&str| !line.starts_with("  prices of run ");
    golden("bill.txt", &ran.stdout.split_inclusive('\n').filter(is_stable).collect::<String>());
    for words in [
        "cat spent",
        "charged in all",
        "measured system time",
        "the difference",
        "  prices of run ",
        "no price: 7 x read file",
        "`oscost run file/read:via=read` measures what is missing",
    ] {
        assert!(ran.stdout.contains(words), "`{words}` is not in:\n{}", ran.stdout);
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
fn without_a_price_list_the_next_step_is_named() {
    let sandbox = Sandbox::new();
    bill(&sandbox, &[]).exits(3).no_data().stderr_contains("`oscost run` measures one");
    let ran = bill(&with_prices(), &["--prices", "no-such-run"]).exits(3).no_data();
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
        assert!(refused.contains("ptrace"), "{refused}");
        assert!(record["charged"].is_null() && record["difference"].is_null());
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
    bill(&["sh", "-c", "exit 7"]).exits(3).no_data().stderr_contains("exited with status 7");
}
