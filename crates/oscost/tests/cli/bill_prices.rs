//! Prices that a bill lacks, measured for it on a fake host.

use std::fs;

use serde_json::{Value, json};

use crate::common::{Ran, Sandbox};

/// A fake host of this sandbox, with a kernel of this release and further keys of its scenario.
fn host(sandbox: &Sandbox, release: &str, more: &Value) -> String {
    // Each of the four prices is of more than one per cent of the amount.
    let mut scenario = json!({
        "costs_ns": { "syscall/getppid:via=raw": 10.0 },
        "between_sd": 0.001,
        "facts": { "os": { "release": release } },
    });
    for (key, value) in more.as_object().unwrap() {
        scenario[key] = value.clone();
    }
    let file = sandbox.file("host.json");
    fs::write(&file, scenario.to_string()).unwrap();
    format!("fake:{}", file.display())
}

/// The bill of a command there, as a record.
fn bill(sandbox: &Sandbox, host: &str, arguments: &[&str]) -> Ran {
    let options = ["bill", "--at", host, "--trials", "6", "--json", "-"];
    sandbox.oscost(&[&options[..], arguments, &["--", "cat", "x"]].concat())
}

/// The names of items without a price.
fn unpriced(bill: &Value) -> Vec<&str> {
    let items = bill["items"].as_array().unwrap().iter();
    items.filter(|item| item["amount"].is_null()).map(|it| it["name"].as_str().unwrap()).collect()
}

/// The ids of the runs that have the prices.
fn price_runs(bill: &Value) -> Vec<&str> {
    let runs = bill["prices"]["runs"].as_array().unwrap().iter();
    runs.map(|run| run["id"].as_str().unwrap()).collect()
}

/// How many prices were measured for a bill.
fn measured(bill: &Value) -> usize {
    bill["prices"]["measured"]["cases"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_bill_on_a_fresh_machine_measures_its_prices_and_the_next_one_none() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, "6.1.0", &json!({}));
    let ran = bill(&sandbox, &host, &[]).exits(0).stderr_contains("measuring ");
    let first = ran.stderr_contains("at most 30 s").json();
    assert_eq!(unpriced(&first), Vec::<&str>::new());
    assert_eq!(first["prices"]["missing"], json!([]));
    let prices = &first["prices"]["measured"];
    assert!(measured(&first) >= 4, "{prices}");
    assert_eq!((&prices["interrupted"], &prices["failure"]), (&json!(false), &Value::Null));
    assert_eq!(prices["limit_seconds"], 30.0);
    // The trials and the counted runs are as many as without.
    assert_eq!(first["trials"]["real"]["repetitions"], 6);
    assert_eq!(first["counted"]["runs"], 3);
    let again = bill(&sandbox, &host, &[]).exits(0);
    assert!(!again.stderr.contains("measuring "), "{}", again.stderr);
    let second = again.json();
    assert!(second["prices"]["measured"].is_null());
    assert_eq!(price_runs(&second), price_runs(&first));
    assert_eq!(second["charged"]["ns"], first["charged"]["ns"]);
    // They are ordinary runs.
    sandbox.oscost(&["runs", "show", price_runs(&first)[0]]).exits(0);
}

#[test]
fn the_large_prices_of_a_long_program_are_measured_beside_it_and_outdate_those_of_another_speed() {
    let sandbox = Sandbox::new();
    // Three prices of 10 us in all, and others, which cost 100 ns.
    let fault = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending";
    let read = "file/read:via=read,size=4096,cache=warm,file_mib=8";
    let large = json!({ fault: 100.0, read: 1_430.0, "directory/open:by=openat": 3_330.0 });
    let at = |factor: f64, cases: &[Value]| {
        let mut costs = json!({});
        for case in cases.iter().map(|case| case.as_str().unwrap()) {
            costs[case] = json!(factor * large[case].as_f64().unwrap_or(100.0));
        }
        costs["cat x"] = json!(1e9);
        costs["syscall/getppid:via=raw"] = json!(10.0);
        host(&sandbox, "6.1.0", &json!({ "costs_ns": costs }))
    };
    let cases: Vec<Value> = large.as_object().unwrap().keys().map(|case| json!(case)).collect();
    let first = bill(&sandbox, &at(1.0, &cases), &[]).exits(0).json();
    let cases = first["prices"]["measured"]["cases"].as_array().unwrap().clone();
    let second = bill(&sandbox, &at(1.0, &cases), &[]).exits(0).json();
    assert_ne!(price_runs(&second)[0], price_runs(&first)[0]);
    assert!((3..measured(&first)).contains(&measured(&second)), "{}", second["prices"]);
    // The machine is half as fast; the reference cases are not.
    let third = bill(&sandbox, &at(2.0, &cases), &[]).exits(0).json();
    assert!(!price_runs(&third).contains(&price_runs(&second)[0]), "{}", third["prices"]);
    assert_eq!(third["prices"]["stale"], json!([]), "{}", third["prices"]);
    // Without the 10 us of getppid(2), and with what calls take through a function.
    let charged = |bill: &Value| bill["charged"]["ns"].as_f64().unwrap() - 10_000.0;
    let ratio = charged(&third) / charged(&second);
    assert!((1.9..2.1).contains(&ratio), "{ratio}");
}

#[test]
fn a_bill_measures_what_a_function_and_a_walk_add_and_the_next_one_does_not() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, "6.1.0", &json!({}));
    let ran = bill(&sandbox, &host, &[]).exits(0);
    let ran = ran.stderr_contains("measuring what a function around each call adds to ");
    let first = ran.stderr_contains("measuring what a walk through memory adds to ").json();
    let unpaired = first["prices"]["unpaired"].as_array().unwrap();
    let pairs = first["prices"]["pairs"].as_array().unwrap();
    assert_eq!(pairs.len(), 2, "{pairs:?}");
    for (pairs, treatment) in pairs.iter().zip(["call", "cool"]) {
        assert!(pairs["treatment"].as_str().unwrap().starts_with(treatment), "{pairs}");
        assert_eq!((&pairs["interrupted"], &pairs["failure"]), (&json!(false), &Value::Null));
        assert_eq!(pairs["limit_seconds"], 15.0);
        // The control of a comparison may fail by chance: then it says so.
        let is_told = unpaired.iter().any(|it| it["treatment"] == treatment);
        assert!(is_told || !pairs["cases"].as_array().unwrap().is_empty(), "{}", first["prices"]);
    }
    assert_eq!(
        (&first["prices"]["inlined"], &first["prices"]["uncooled"]),
        (&json!([]), &json!([]))
    );
    let second = bill(&sandbox, &host, &[]).exits(0).json();
    assert_eq!(second["prices"]["pairs"], json!([]));
    assert_eq!(second["prices"]["unpaired"], first["prices"]["unpaired"]);
}

#[test]
fn without_time_no_pair_is_measured_and_the_bill_names_the_commands() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, "6.1.0", &json!({}));
    let cases = ["syscall/getppid:via=raw", "directory/open:by=openat"];
    sandbox.oscost(&[&["run", "--quick", "--at", &host][..], &cases].concat()).exits(0);
    for seconds in ["0", "10"] {
        let record = bill(&sandbox, &host, &["--price-seconds", seconds]).exits(0).json();
        let prices = &record["prices"];
        assert_eq!(prices["pairs"], json!([]), "{seconds} s");
        for list in ["inlined", "uncooled"] {
            let named = prices[list].as_array().unwrap();
            assert!(named.contains(&json!("syscall/getppid:via=raw")), "{list}: {prices}");
        }
    }
}

#[test]
fn trials_end_when_the_system_time_is_known_unless_clock_ticks_divide_it() {
    // Three tenths of the cost are system time, and what a treatment adds to a thousand ops: more
    // than twenty ticks of 4 ms, and fewer.
    for (added_ns, trials) in [(7e4, 23), (1e4, 90)] {
        let sandbox = Sandbox::new();
        let costs = json!({ "syscall/getppid:via=raw": 10.0, "cat x": 5e7 });
        let added = json!({ "costs_ns": costs, "added_ns": { "seccomp": added_ns } });
        let host = host(&sandbox, "6.1.0", &added);
        let treated = ["bill", "--at", &host, "--treat", "seccomp=allow", "--price-seconds", "0"];
        let command = ["--json", "-", "--", "cat", "x"];
        let record = sandbox.oscost(&[&treated[..], &command].concat()).exits(0).json();
        assert_eq!(record["trials"]["system"]["repetitions"], trials, "{added_ns}");
        assert_eq!(record["counted"]["runs"], 3);
    }
}

#[test]
fn the_text_of_a_bill_says_what_was_measured() {
    let sandbox = Sandbox::new();
    let target = host(&sandbox, "6.1.0", &json!({}));
    let arguments = ["bill", "--at", &target, "--trials", "6", "--verbose", "--", "cat", "x"];
    let ran = sandbox.oscost(&arguments).exits(0);
    assert!(ran.stdout.contains("  measuring "), "{}", ran.stdout);
    assert!(!ran.stdout.contains("no price:"), "{}", ran.stdout);
}

#[test]
fn prices_of_another_kernel_are_measured_again_and_without_time_they_are_told() {
    let sandbox = Sandbox::new();
    let old = host(&sandbox, "6.1.0", &json!({}));
    let before = bill(&sandbox, &old, &[]).exits(0).json();
    let new = host(&sandbox, "6.2.0", &json!({}));
    let told = bill(&sandbox, &new, &["--price-seconds", "0"]).exits(0).json();
    assert_eq!((measured(&told), price_runs(&told)), (0, price_runs(&before)[..1].to_vec()));
    assert_eq!(told["prices"]["stale"], json!(["the kernel was 6.1.0, and is 6.2.0"]));
    let after = bill(&sandbox, &new, &[]).exits(0).json();
    assert_eq!(measured(&after), measured(&before));
    assert_eq!((&after["prices"]["stale"], unpriced(&after)), (&json!([]), Vec::new()));
    assert!(price_runs(&after).iter().all(|run| !price_runs(&before).contains(run)));
}

#[test]
fn under_treatments_prices_are_measured_under_the_same_treatments() {
    let sandbox = Sandbox::new();
    let added = json!({ "added_ns": { "seccomp": 5_000.0, "ebpf": 1_000.0 } });
    let host = host(&sandbox, "6.1.0", &added);
    bill(&sandbox, &host, &[]).exits(0);
    // The prices of the first bill are without a filter, and one of the treatments is attached.
    let treated = ["--treat", "seccomp=allow+ebpf=empty"];
    let first = bill(&sandbox, &host, &treated).exits(0).json();
    assert!(measured(&first) > 0, "{}", first["prices"]);
    let mut items = first["items"].as_array().unwrap().iter();
    let getppid = items.find(|item| item["name"] == "getppid").unwrap();
    assert!(getppid["unit"]["ns"].as_f64().unwrap() > 5_900.0, "{getppid}");
    assert_eq!(first["trials"]["real"]["repetitions"], 6);
    assert_eq!(first["counted"]["runs"], 3);
    let second = bill(&sandbox, &host, &treated).exits(0).json();
    assert_eq!((measured(&second), price_runs(&second)), (0, price_runs(&first)));
}

#[test]
fn a_price_that_cannot_be_measured_is_named_with_its_reason_and_not_tried_twice() {
    let sandbox = Sandbox::new();
    let skipped = json!({ "skipped": { "directory/open:by=openat": "there is no directory" } });
    let host = host(&sandbox, "6.1.0", &skipped);
    let first = bill(&sandbox, &host, &[]).exits(0).json();
    let second = bill(&sandbox, &host, &[]).exits(0).json();
    assert!(measured(&first) > 0 && measured(&second) == 0, "{}", second["prices"]);
    let cases = first["prices"]["measured"]["cases"].as_array().unwrap();
    assert!(!cases.iter().any(|case| case == "directory/open:by=openat"), "{cases:?}");
    for record in [&first, &second] {
        assert_eq!(unpriced(record), ["close file", "openat file"]);
        let items = record["items"].as_array().unwrap();
        let item = items.iter().find(|item| item["name"] == "openat file").unwrap();
        let why = "directory/open:by=openat was skipped: there is no directory";
        assert_eq!(item["missing"], why);
        // No run would measure it.
        assert_eq!(record["prices"]["missing"], json!([]));
    }
}

#[test]
fn an_interrupted_measurement_of_prices_leaves_a_bill_of_what_there_is() {
    let sandbox = Sandbox::new();
    // A warm-up and four trials; then workers of prices.
    let host = host(&sandbox, "6.1.0", &json!({ "interrupted_after_workers": 8 }));
    let record = bill(&sandbox, &host, &[]).exits(130).json();
    let prices = &record["prices"]["measured"];
    assert!(prices["interrupted"] == true && prices["block_missing"] == true, "{prices}");
    assert_eq!(record["trials"]["real"]["repetitions"], 4);
    assert_eq!(record["counted"]["runs"], 2);
    assert!(unpriced(&record).contains(&"openat file"), "{}", record["items"]);
}

#[test]
fn an_interrupted_program_leaves_the_bill_of_its_runs_by_then() {
    let sandbox = Sandbox::new();
    bill(&sandbox, &host(&sandbox, "6.1.0", &json!({})), &[]).exits(0);
    let mut seen = Vec::new();
    // The bill has ten workers at most: the last ones may be those of the comparison.
    for workers in 1..=10 {
        let host = host(&sandbox, "6.1.0", &json!({ "interrupted_after_workers": workers }));
        let ran = bill(&sandbox, &host, &["--what-if", "seccomp=docker"]).exits(130);
        if ran.stdout.is_empty() {
            assert!(seen.is_empty(), "{workers} workers leave less than fewer did");
            continue;
        }
        let record = ran.json();
        let number = |of: &Value| of.as_u64().unwrap();
        let trials = number(&record["trials"]["real"]["repetitions"]);
        let runs = number(&record["counted"]["runs"]);
        let text = format!("its runs were interrupted (trials: {trials}, counted runs: {runs})");
        if trials < 6 || runs < 3 {
            assert!(record["cautions"].to_string().contains(&text), "{}", record["cautions"]);
        }
        assert!(record["charged"].is_object(), "{record}");
        assert_eq!(record["what_if"], json!([]), "nothing more is measured");
        seen.push((trials, runs));
    }
    // After the first block, and after the second.
    for runs in [(2, 1), (4, 2)] {
        assert!(seen.contains(&runs), "{seen:?}");
    }
}

#[test]
fn with_a_named_run_nothing_is_measured() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, "6.1.0", &json!({}));
    sandbox.oscost(&["run", "--quick", "--at", &host, "syscall/getuid"]).exits(0);
    let record = bill(&sandbox, &host, &["--prices", "last"]).exits(0).json();
    assert_eq!((measured(&record), price_runs(&record).len()), (0, 1));
    assert!(unpriced(&record).contains(&"openat file"), "{}", record["items"]);
}
