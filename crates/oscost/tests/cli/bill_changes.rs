//! `oscost bill` of workloads and under treatments, and what a change would add, on a fake host with
//! known added costs and on this machine.

use std::fs;

use serde_json::Value;

use crate::ab::assert_fits;
use crate::common::{Ran, Sandbox};

/// A filter adds 5 us to each op, and to a program what a thousand ops pay.
const FILTERED: &str = r#"{"added_ns": {"seccomp": 5000.0, "nice": 0.0}}"#;

/// A fake host, and a sandbox with its price list.
struct FakeHost {
    sandbox: Sandbox,
    target: String,
}

impl FakeHost {
    fn new(scenario: &str) -> Self {
        let sandbox = Sandbox::new();
        let file = sandbox.file("scenario.json");
        fs::write(&file, scenario).unwrap();
        let target = format!("fake:{}", file.display());
        let host = Self { sandbox, target };
        host.run(&[]);
        host
    }

    /// Measures a price list.
    fn run(&self, options: &[&str]) {
        let cases = ["syscall/getppid", "directory/open", "file/read:via=read", "fault/zero-fill"];
        let run = ["run", "--quick", "--seed", "1", "--at", &self.target];
        self.sandbox.oscost(&[&run[..], options, &cases[..]].concat()).exits(0);
    }

    /// Bills a command.
    fn bill(&self, options: &[&str]) -> Ran {
        let bill = ["bill", "--at", &self.target, "--trials", "6"];
        self.sandbox.oscost(&[&bill[..], options, &["--", "cat", "x"]].concat())
    }

    fn record(&self, options: &[&str]) -> Value {
        self.bill(&[options, &["--json", "-"]].concat()).exits(0).json()
    }
}

fn ns(amount: &Value) -> f64 {
    amount["ns"].as_f64().unwrap_or_else(|| panic!("{amount} is no amount"))
}

#[test]
fn a_prediction_is_made_of_counts_and_added_costs_and_checked() {
    let host = FakeHost::new(FILTERED);
    let record = host.record(&["--what-if", "seccomp=allow", "--check", "--label", "checked"]);
    // It is in the place of the bill that was kept before the check.
    let export = ["runs", "export", "@checked", "-"];
    assert_eq!(host.sandbox.oscost(&export).exits(0).json(), record);
    assert_eq!(record["missing_what_if"], serde_json::json!([]), "{record}");
    let found = &record["what_if"][0];
    assert_eq!(found["treatments"], serde_json::json!(["seccomp=allow"]));
    // 1,013 calls, of which the 13 that are no getppid pay the same by an estimate; a hundred faults make no
    // call.
    let truth = 5_000.0 * 1_013.0;
    let predicted = ns(&found["predicted_system_ns"]);
    assert!((predicted / truth - 1.0).abs() < 0.02, "{predicted} {truth}");
    assert_eq!(found["unpriced_calls"], 13.0);
    let getppid = found["items"].as_array().unwrap().iter().find(|it| it["name"] == "getppid");
    assert_eq!(getppid.unwrap()["times"], 1_000.0);
    let measured = &found["measured"];
    let increase = ns(&measured["system_ns"]);
    assert!((increase / 5e6 - 1.0).abs() < 0.01, "{measured}");
    assert_eq!(found["judged"], "within 25 % of the measured increase", "{found}");
    assert_eq!(found["judged_by"], "system");
    assert!(found["predicted_at"].as_str() <= measured["run"]["started"].as_str(), "{found}");
}

#[test]
fn an_interrupted_measurement_of_added_costs_leaves_a_bill_and_exit_status_130() {
    let host = FakeHost::new(FILTERED);
    host.record(&[]);
    // The prices are in the store: the bill has ten workers at most, the comparison many more.
    let scenario = FILTERED.replacen('{', r#"{"interrupted_after_workers": 14, "#, 1);
    fs::write(host.sandbox.file("scenario.json"), scenario).unwrap();
    let ran = host.bill(&["--what-if", "seccomp=allow", "--json", "-"]);
    let record = ran.exits(130).json();
    assert_eq!(record["trials"]["real"]["repetitions"], 6);
    assert_eq!(record["what_if"], serde_json::json!([]));
    assert_eq!(record["missing_what_if"][0]["change"], "seccomp=allow", "{record}");
}

#[test]
fn added_costs_of_the_last_day_are_not_measured_again() {
    let host = FakeHost::new(FILTERED);
    let run = |options: &[&str]| {
        let all = [&["--what-if", "seccomp=allow"][..], options].concat();
        let record = host.record(&all);
        record["what_if"][0]["runs"].clone()
    };
    let first = run(&[]);
    // One of calls in a loop, and one of calls after a walk.
    assert_eq!(first.as_array().unwrap().len(), 2);
    assert_eq!(run(&["--price-seconds", "0"]), first);
    assert_eq!(run(&[]), first);
}

#[test]
fn a_change_in_words_fits_into_eighty_columns() {
    let host = FakeHost::new(FILTERED);
    let ran = host.bill(&["--what-if", "seccomp=allow", "--what-if", "prices=last"]).exits(0);
    assert_fits(&ran.stdout);
    assert!(ran.stderr.contains("predicted under seccomp=allow"), "{}", ran.stderr);
    let text = ran.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "What a change would add",
        "under seccomp=allow it would spend 5.0",
        "seccomp=allow: 100 page faults make no call",
        "of it for 1,000 x getppid",
        "At the prices of another run",
    ] {
        assert!(text.contains(words), "`{words}` is not in:\n{}", ran.stdout);
    }
}

#[test]
fn what_would_change_is_a_table_of_its_own() {
    let host = FakeHost::new(FILTERED);
    let changes = ["--what-if", "seccomp=allow", "--what-if", "prices=last", "--label", "changed"];
    let own = [&changes[..], &["--table", "changes", "--csv", "-"]].concat();
    let csv = host.bill(&own).exits(0).stdout;
    assert!(csv.starts_with("kind,bill,started,"), "{csv}");
    let count = |kind: &str| csv.lines().filter(|line| line.starts_with(kind)).count();
    assert!(count("what-if,") > 1 && count("other-price,") > 1, "{csv}");
    assert_eq!([count("predicted-system,"), count("other-prices,")], [1, 1], "{csv}");
    let report =
        |table: &str| host.sandbox.oscost(&["report", "@changed", "--table", table, "--csv", "-"]);
    assert_eq!(report("changes").exits(0).stdout, csv);
    assert!(report("items").exits(0).stdout.contains("\nmeasured,"));
    let show = ["runs", "show", "@changed", "--table", "changes", "--csv", "-"];
    assert_eq!(host.sandbox.oscost(&show).exits(0).stdout, csv);
    report("rows").exits(2).no_data().stderr_contains("`--table items` or `--table changes`");
}

#[test]
fn a_change_without_an_answer_says_why() {
    let host = FakeHost::new(r#"{"refused_treatments": {"seccomp": "no filters here"}}"#);
    let record = host.record(&["--what-if", "seccomp=allow", "--check"]);
    assert_eq!(record["what_if"], serde_json::json!([]));
    let missing = &record["missing_what_if"][0];
    assert_eq!(missing["change"], "seccomp=allow");
    assert!(missing["reason"].as_str().unwrap().contains("no filters here"), "{missing}");
    let unmeasured = host.record(&["--what-if", "nice=5", "--price-seconds", "0"]);
    let reason = unmeasured["missing_what_if"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("--price-seconds"), "{reason}");
    let here = format!("at={}", host.target);
    let refused = host.bill(&["--what-if", &here]).exits(2).no_data();
    refused.stderr_contains("as of another machine");
    let treated = host.bill(&["--what-if", "at=nice=5@ssh:db1"]).exits(2).no_data();
    treated.stderr_contains("name the machine alone");
    host.bill(&["--what-if", "no-such-treatment"]).exits(2).no_data();
    host.bill(&["--check"]).exits(2).no_data();
}

#[test]
fn the_prices_of_another_machine_are_measured_there_and_kept() {
    let host = FakeHost::new("{}");
    let file = host.sandbox.file("other.json");
    let other = r#"{"costs_ns": {"syscall/getppid:via=raw": 1000.0},
                    "facts": {"os": {"release": "6.99.0"}}}"#;
    fs::write(&file, other).unwrap();
    let machine = format!("fake:{}", file.display());
    let change = format!("at={machine}");
    let record = host.record(&["--what-if", &change]);
    assert_eq!(record["missing_what_if"], serde_json::json!([]), "{record}");
    let there = &record["other_prices"][0];
    assert_eq!((&there["host"], &there["kernel"]), (&machine.into(), &"6.99.0".into()));
    assert_eq!(there["stale"], serde_json::json!([]));
    let items = there["items"].as_array().unwrap();
    let ratio = |name: &str| items.iter().find(|it| it["name"] == name).unwrap()["ratio"].as_f64();
    assert!((9.0..11.0).contains(&ratio("getppid").unwrap()), "{there}");
    assert!((0.9..1.1).contains(&ratio("openat file").unwrap()), "{there}");
    // The next bill has them.
    let again = host.bill(&["--what-if", &change]).exits(0);
    assert!(!again.stderr.contains("measuring "), "{}", again.stderr);
    assert!(again.stdout.contains("At the prices of fake:"), "{}", again.stdout);
    // Without prices, and without a machine, there is a reason.
    fs::write(&file, other.replace("6.99.0", "7.0.0")).unwrap();
    let stale = host.record(&["--what-if", &change, "--price-seconds", "0"]);
    let why = stale["other_prices"][0]["stale"][0].as_str().unwrap();
    assert!(why.contains("the kernel was 6.99.0"), "{why}");
    fs::remove_file(&file).unwrap();
    let nowhere = host.record(&["--what-if", &change]);
    assert_eq!(nowhere["missing_what_if"][0]["change"], change.as_str(), "{nowhere}");
}

#[test]
fn a_program_under_treatments_pays_prices_under_these_treatments() {
    let host = FakeHost::new(FILTERED);
    let treated = ["--treat", "seccomp=allow"];
    let unpriced = [&treated[..], &["--price-seconds", "0"]].concat();
    let without_prices = host.bill(&unpriced).exits(0);
    for words in ["no price: 1,000 x getppid", "`oscost run --treat 'seccomp=allow' "] {
        assert!(without_prices.stdout.contains(words), "{}", without_prices.stdout);
    }
    host.run(&treated);
    let record = host.record(&treated);
    assert_eq!(record["treatments"], serde_json::json!(["seccomp=allow"]));
    assert_eq!(record["counted_without"], Value::Null);
    let items = record["items"].as_array().unwrap();
    let getppid = items.iter().find(|it| it["name"] == "getppid").unwrap();
    assert!(ns(&getppid["unit"]) > 5_000.0, "{getppid}");
    // A thousand ops, 5 us each, on top of 30 % of 100 ms.
    let system = record["trials"]["system"]["median"].as_f64().unwrap();
    assert!((system - 0.035).abs() < 1e-6, "{system}");
    let monitored = host.record(&["--treat", "ptrace"]);
    let why = monitored["counted_without"].as_str().unwrap();
    assert!(why.contains("only one monitor"), "{why}");
}

#[test]
fn a_workload_is_billed_by_its_name() {
    let host = FakeHost::new(FILTERED);
    let bill = ["bill", "--at", &host.target, "--trials", "6", "--json", "-"];
    let named = host.sandbox.oscost(&[&bill[..], &["--workload", "find"]].concat());
    let record = named.exits(0).json();
    assert_eq!(record["program"][0], "find");
    let both = [&bill[..], &["--workload", "find", "--", "true"]].concat();
    host.sandbox.oscost(&both).exits(2).no_data();
    let unknown = [&bill[..], &["--workload", "fnid"]].concat();
    host.sandbox.oscost(&unknown).exits(2).no_data().stderr_contains("is not a workload");
}

#[test]
fn what_prepares_a_command_runs_before_each_of_its_runs_and_is_not_counted() {
    let host = FakeHost::new(FILTERED);
    let file = host.sandbox.file("runs");
    let prepare = format!("sh -c 'echo run >> {}'", file.display());
    let bill = ["bill", "--trials", "6", "--prices", "last", "--json", "-", "--prepare", &prepare];
    let record = host.sandbox.oscost(&[&bill[..], &["--", "true"]].concat()).exits(0).json();
    host.sandbox.nothing_is_left();
    // A warm-up, the trials, and the counted runs; a refused one is not repeated. Where a control group
    // can be made, two runs in it for each trial before the last block.
    let counted = if record["not_counted"].is_null() { 3 } else { 1 };
    let runs = fs::read_to_string(&file).unwrap().lines().count();
    assert!([0, 2 * 4].contains(&(runs - (1 + 6 + counted))), "{runs}");
    if counted == 1 {
        return eprintln!("not tested: {}", record["not_counted"]);
    }
    let calls = &record["counted"]["calls"];
    assert_eq!((&calls["execs"], &calls["forks"]), (&1.into(), &0.into()), "{calls}");
}
