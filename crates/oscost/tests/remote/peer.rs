//! Two machines: the workers on one, the peers of their cases on the other.

use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;

use crate::hosts::{Hosts, Ran, address, has_flag, row};

const ROUND_TRIP: &str = "socket/round-trip:by=tcp,size=64,peer_cpu=other";
const THROUGHPUT: &str = "socket/throughput:by=tcp,size=65536,peer_cpu=other";

/// Arguments: TCP messages in six repetitions, as JSON.
fn messages<'a>(targets: &[&'a str]) -> Vec<&'a str> {
    [&["run", ROUND_TRIP, THROUGHPUT, "--quick", "--json", "-"], targets].concat()
}

/// Checks the record of a run between two machines.
fn is_between_machines(record: &Value) {
    for case in [ROUND_TRIP, THROUGHPUT] {
        let row = row(record, case);
        assert_eq!(row["outcome"], "measured", "{case}: {}", row["reason"]);
        assert_eq!(row["target"]["machine"], "m0");
        assert_eq!(row["target"]["peer"], "m1");
        assert!(row["channel"]["peer_cpu"].is_u64(), "{case}: {}", row["channel"]);
        assert_eq!(row["channel"]["unauthorised_connections"], 0, "{case}");
        assert_eq!(has_flag(row, "HALF_ASSUMED"), case == ROUND_TRIP, "{}", row["flags"]);
        let calls = &row["calls"];
        assert!(calls.is_null() || calls["expected"] == true, "{calls}");
    }
    let reference_case = row(record, "timer/nothing");
    assert_eq!(reference_case["target"]["peer"], Value::Null, "it has one end only");
    for (at, id) in ["m0", "m1"].into_iter().enumerate() {
        assert_eq!(record["machines"][at]["id"], id);
        assert_eq!(record["conditions"][at]["machine"], id);
        assert!(record["machines"][at]["os"]["release"].is_string());
        assert!(!record["conditions"][at]["probe"].as_array().unwrap().is_empty());
        assert!(record["conditions"][at]["class"].is_string());
    }
    assert_eq!(record["machines"][1]["clock"], Value::Null, "nothing is timed there");
}

/// Tells a thread that watches a run of the end of the run, also if the test has failed: a scope of
/// threads waits for all of them.
struct Watched<'a>(&'a AtomicBool);

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn with_a_remote_peer_only_the_data_socket_listens() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    let mut tool = hosts.tool(1, &messages(&["--peer", &at]));
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let over = AtomicBool::new(false);
    let (record, listeners) = std::thread::scope(|scope| {
        let watch = scope.spawn(|| {
            let mut most = (0, 0);
            while !over.load(Ordering::Relaxed) {
                most.0 = most.0.max(hosts.listeners(1).len());
                most.1 = most.1.max(hosts.listeners(2).len());
                std::thread::sleep(Duration::from_millis(1));
            }
            most
        });
        let watched = Watched(&over);
        let ran = Ran::of_child(tool);
        drop(watched);
        (ran.exits(0).json(), watch.join().unwrap())
    });
    is_between_machines(&record);
    assert_eq!(listeners, (0, 1), "listeners on the workers' machine, and on the peer's");
    assert_eq!((hosts.listeners(1), hosts.listeners(2)), (vec![], vec![]));
    hosts.nothing_is_left();
}

#[test]
fn the_tool_s_machine_can_be_the_peer() {
    let Some(hosts) = Hosts::some(2) else { return };
    let at = format!("ssh:{}", address(2));
    let record = hosts.oscost(&messages(&["--at", &at, "--peer", "local"])).exits(0).json();
    is_between_machines(&record);
    assert_eq!(row(&record, ROUND_TRIP)["target"]["text"], at.as_str());
    hosts.nothing_is_left();
}

#[test]
fn a_third_machine_can_control_a_run_between_two_others() {
    let Some(hosts) = Hosts::some(3) else { return };
    let (at, peer) = (format!("ssh:{}", address(2)), format!("ssh:{}", address(3)));
    let record = hosts.oscost(&messages(&["--at", &at, "--peer", &peer])).exits(0).json();
    is_between_machines(&record);
    let shown = hosts.oscost(&["runs", "show", "last", "-v"]).exits(0).stdout;
    assert!(shown.contains("HALF_ASSUMED") && shown.contains("peer: "), "{shown}");
    hosts.nothing_is_left();
}

#[test]
fn unauthorised_connections_are_counted_and_closed_and_the_run_continues() {
    let Some(hosts) = Hosts::some(3) else { return };
    let peer = format!("ssh:{}", address(2));
    let mut tool = hosts.tool(1, &messages(&["--peer", &peer]));
    let tool = tool.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let over = AtomicBool::new(false);
    let (ran, knocked) = std::thread::scope(|scope| {
        let intruder = scope.spawn(|| {
            let mut knocked = 0;
            while !over.load(Ordering::Relaxed) {
                for port in hosts.listeners(2) {
                    // Sixteen bytes that are not the token, from a machine that is not the peer.
                    let knock =
                        format!("exec 3<>/dev/tcp/{}/{port} && printf %16s >&3", address(2));
                    let mut intruder = hosts.at(3, "bash");
                    intruder.args(["-c", &knock]).stdout(Stdio::null()).stderr(Stdio::null());
                    knocked += u32::from(intruder.status().unwrap().success());
                }
                std::thread::sleep(Duration::from_millis(1));
            }
            knocked
        });
        let watched = Watched(&over);
        let ran = Ran::of_child(tool);
        drop(watched);
        (ran, intruder.join().unwrap())
    });
    let record = ran.exits(0).json();
    let counted: u64 = [ROUND_TRIP, THROUGHPUT]
        .iter()
        .map(|case| {
            let row = row(&record, case);
            assert_eq!(row["outcome"], "measured", "{case}: {}", row["reason"]);
            row["channel"]["unauthorised_connections"].as_u64().unwrap()
        })
        .sum();
    assert!(knocked > 0, "the intruder never found the port");
    assert!(counted > 0, "none of {knocked} was counted");
    hosts.nothing_is_left();
}

#[test]
fn cases_that_cannot_be_split_over_two_machines_are_skipped_with_a_reason() {
    let Some(hosts) = Hosts::some(2) else { return };
    let peer = format!("ssh:{}", address(2));
    let arguments = [
        "run",
        "switch/pipe:between=processes,peer_cpu=same",
        "socket/one-way:by=tcp,way=there,size=64,peer_cpu=other",
        "syscall/getppid:via=raw",
        "--quick",
        "--json",
        "-",
        "--peer",
        &peer,
    ];
    let record = hosts.oscost(&arguments).exits(0).json();
    let reason = |case: &str| {
        let row = row(&record, case);
        assert_eq!(row["outcome"], "skipped", "{case}");
        row["reason"].as_str().unwrap().to_owned()
    };
    assert!(reason(arguments[1]).contains("leave out --peer"), "{}", reason(arguments[1]));
    assert!(reason(arguments[2]).contains("clocks"), "{}", reason(arguments[2]));
    assert_eq!(row(&record, arguments[3])["outcome"], "measured", "it has one end only");
    hosts.nothing_is_left();
}

/// Adds a rule to a machine's input filter; where nft is missing or fails, prints why and returns
/// false.
fn add_filter(hosts: &Hosts, host: usize, rule: &str) -> bool {
    let rules =
        format!("table inet t {{ chain input {{ type filter hook input priority 0; {rule}; }}; }}");
    let Ok(output) = hosts.at(host, "nft").arg(rules).output() else { return false };
    let words = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        eprintln!("no filter here: apt-get install nftables, or: {words}");
    }
    output.status.success()
}

#[test]
fn lost_datagrams_are_counted_and_are_not_samples() {
    let Some(hosts) = Hosts::some(2) else { return };
    if !add_filter(&hosts, 2, "udp dport > 1 numgen random mod 100 < 10 drop") {
        return;
    }
    let peer = format!("ssh:{}", address(2));
    let case = "socket/round-trip:by=udp,size=64,peer_cpu=other";
    let arguments = ["run", case, "--quick", "--json", "-", "--peer", &peer];
    let record = hosts.oscost(&arguments).exits(0).json();
    let row = row(&record, case);
    assert_eq!(row["outcome"], "measured", "{}", row["reason"]);
    let count = |what: &str| row["channel"]["datagrams"][what].as_u64().unwrap();
    assert!(count("lost") > 0, "{}", row["channel"]);
    assert!(count("arrived") > count("lost"), "{}", row["channel"]);
    assert!(has_flag(row, "HALF_ASSUMED"), "{}", row["flags"]);
    hosts.nothing_is_left();
}

#[test]
fn a_firewalled_data_port_costs_one_timeout_and_has_a_hint() {
    let Some(hosts) = Hosts::some(2) else { return };
    if !add_filter(&hosts, 2, "tcp dport != 2222 tcp flags syn / syn,ack drop") {
        return;
    }
    let peer = format!("ssh:{}", address(2));
    let arguments = messages(&["syscall/getppid:via=raw", "--peer", &peer]);
    let record = hosts.oscost(&arguments).exits(3).json();
    let reason = |case: &str| row(&record, case)["reason"].as_str().unwrap().to_owned();
    assert_eq!(row(&record, ROUND_TRIP)["outcome"], "failed");
    assert!(reason(ROUND_TRIP).contains("a firewall may block it"), "{}", reason(ROUND_TRIP));
    assert!(reason(THROUGHPUT).starts_with("not attempted"), "{}", reason(THROUGHPUT));
    assert_eq!(row(&record, "syscall/getppid:via=raw")["outcome"], "measured");
    hosts.nothing_is_left();
}

#[test]
fn the_peer_s_cpu_can_be_chosen_on_one_machine_and_on_two() {
    let Some(hosts) = Hosts::some(2) else { return };
    let peer = format!("ssh:{}", address(2));
    let record = hosts.oscost(&messages(&["--peer", &peer, "--peer-cpu", "0"])).exits(0).json();
    is_between_machines(&record);
    assert_eq!(row(&record, ROUND_TRIP)["channel"]["peer_cpu"], 0, "the CPU of the other machine");
    let cpus = std::thread::available_parallelism().unwrap().get();
    if cpus > 1 {
        let record = hosts.oscost(&messages(&["--peer-cpu", "0"])).exits(0).json();
        let row = row(&record, ROUND_TRIP);
        assert_eq!((&row["channel"]["peer_cpu"], row["target"]["cpu"] == 0), (&0.into(), false));
    }
    for targets in [&["--peer", &peer, "--peer-cpu", "4095"][..], &["--peer-cpu", "4095"]] {
        hosts
            .oscost(&messages(targets))
            .exits(3)
            .stderr_contains(&["cannot run the peer on", "--peer-cpu"]);
    }
    let both = ["--cpu", "0", "--peer-cpu", "0"];
    hosts.oscost(&messages(&both)).exits(3).stderr_contains(&["cannot run the peer on CPU 0"]);
    hosts.nothing_is_left();
}

#[test]
fn a_host_that_cannot_serve_as_peer_is_refused() {
    let Some(hosts) = Hosts::some(1) else { return };
    for (targets, words) in [
        (&["--peer", "local"][..], "without --peer both ends are on this machine"),
        (&["--peer", "fake:x"], "cannot have the peer"),
        (&["--peer", "vm:6.12"], "cannot have the peer"),
        (&["--peer", "ssh:-x"], "is not a host"),
        (&["--peer", "nice=5@ssh:x"], "cannot treat"),
    ] {
        hosts.oscost(&messages(targets)).exits(2).stderr_contains(&[words]);
    }
}

/// A study of one target with a case on one machine and on two.
const BOTH: &str = r#"
id = "both"
title = "Near and far"
authors = ["A. N. Author"]
year = 2026
source = "a desk"
measured-on = "these machines"

[protocol]
original = "by hand"
replication = "again"
timed = "each"
iterations = 50
experiments = 3
statistic = "mean"
overhead = "included"

[[table]]
name = "Table A"
title = "Trips"
unit = "us"
row = [
    { name = "trip", case = "socket/round-trip:by=tcp,size=64,peer_cpu=other" },
    { name = "pipe", case = "pipe/round-trip:by=pipe,size=64,peer_cpu=same" },
    { name = "far trip", case = "socket/round-trip:by=tcp,size=64,peer_cpu=other", peer = true },
]
"#;

#[test]
fn one_study_run_has_rows_on_one_machine_and_on_two() {
    let Some(hosts) = Hosts::some(2) else { return };
    let path = hosts.file("both.toml");
    std::fs::write(&path, BOTH).unwrap();
    let peer = format!("ssh:{}", address(2));
    let study = ["run", "--study", path.to_str().unwrap(), "--quick", "--json", "-"];
    let record = hosts.oscost(&[&study[..], &["--peer", &peer]].concat()).exits(0).json();
    let rows = record["results"].as_array().unwrap();
    let arguments: Vec<&Value> = rows.iter().filter(|row| !row["study_method"].is_null()).collect();
    let output: Vec<(&str, &Value, &str)> = arguments
        .iter()
        .map(|row| {
            let family = row["case"].as_str().unwrap().split('/').next().unwrap();
            (family, &row["target"]["peer"], row["outcome"].as_str().unwrap())
        })
        .collect();
    let (local, remote) = (&Value::Null, &Value::from("m1"));
    let wanted = [
        ("pipe", local, "measured"),
        ("socket", local, "measured"),
        ("socket", remote, "measured"),
    ];
    assert_eq!(output, wanted, "{arguments:#?}");
    for row in &arguments {
        let study_method = &row["study_method"];
        assert!(study_method["value"].as_f64().is_some_and(|it| it > 0.0), "{study_method}");
        assert_eq!(study_method["experiments"], 3, "{study_method}");
        assert_eq!(has_flag(row, "HALF_ASSUMED"), row["target"]["peer"] == "m1");
    }
    hosts.nothing_is_left();
}
