//! The latencies of a server's clients, on the terminal and in the record, on a fake target.

use std::collections::BTreeMap;
use std::fs;

use serde_json::{Value, json};

use crate::common::{Sandbox, row};

#[test]
fn requests_per_second_are_in_the_table_and_client_latencies_below_it() {
    let (mut costs, mut channels) = (BTreeMap::new(), BTreeMap::new());
    for (method, each_ns) in [("select", 20u64), ("poll", 25), ("epoll", 0), ("io-uring", 0)] {
        for idle in [10u64, 100, 1_000] {
            let case = format!("event/server:method={method},idle={idle},churn=0,peer_cpu=same");
            let ns = 10_000 + each_ns * idle;
            costs.insert(case.clone(), ns as f64);
            let requests = json!({
                "answered": 1_000, "p50_ns": 8 * ns, "p99_ns": 40 * ns, "max_ns": 90 * ns,
            });
            let seen = json!({ "verified_messages": 0, "unauthorised_connections": 0, "requests": requests });
            channels.insert(case, seen);
        }
    }
    let sandbox = Sandbox::new();
    let file = sandbox.file("scenario.json");
    let scenario = json!({ "costs_ns": costs, "channels": channels, "between_sd": 0.005 });
    fs::write(&file, scenario.to_string()).unwrap();
    let target = format!("fake:{}", file.display());
    let selectors = "event/server:idle=10|100|1000,churn=0,peer_cpu=same";
    let run = ["run", "--seed", "1", "--no-store", "--at", &target, selectors];
    let text = sandbox.oscost(&run).exits(0).stdout;
    assert!(text.lines().all(|line| line.chars().count() <= 80) && text.is_ascii(), "{text}");
    assert!(text.contains("kop/s"), "{text}");
    let found = text.split("Request latency, p50 / p99: ").nth(1).unwrap();
    let lines: Vec<&str> = found.lines().take(5).map(str::trim_end).collect();
    assert_eq!(
        lines,
        [
            "event/server:churn=0,peer_cpu=same",
            " idle            select              poll          epoll       io-uring",
            "   10     81.6 / 408 us     82.0 / 410 us  80.0 / 400 us  80.0 / 400 us",
            "  100     96.0 / 480 us      100 / 500 us  80.0 / 400 us  80.0 / 400 us",
            " 1000  240 us / 1.20 ms  280 us / 1.40 ms  80.0 / 400 us  80.0 / 400 us",
        ]
        .map(str::to_owned)
    );
    let json = sandbox.oscost(&[&run[..], &["--json", "-"]].concat()).exits(0).stdout;
    let record: Value = serde_json::from_str(&json).unwrap();
    let row = row(&record, "event/server:method=poll,idle=1000,churn=0,peer_cpu=same");
    let metric = |name: &str| row["metrics"][name]["estimate"]["median"].as_f64().unwrap();
    assert_eq!([metric("request-p50"), metric("request-p99")], [280_000.0, 1_400_000.0]);
    assert_eq!(row["channel"]["requests"]["p99_ns"], Value::Null);
    assert_eq!(row["unit"], "op/s");
}
