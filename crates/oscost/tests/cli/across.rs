//! `oscost study across`: the acts of all studies, compared with the newest runs of a store.

use std::fs;

use serde_json::{Value, json};

use crate::common::day_series::{import, record};
use crate::common::{Sandbox, rows};
use crate::golden::golden;

/// Figures of a machine of 4 GHz: nanoseconds, or bytes per second.
const FIGURES: &[(&str, f64)] = &[
    ("timer/add", 0.25),
    ("procedure/call:args=0,chain=independent,code=plain", 1.0),
    ("memory/latency:size=134217728,pages=4k", 100.0),
    ("syscall/getpid:via=raw", 100.0),
    ("syscall/getppid:via=libc", 110.0),
    ("switch/signal:between=processes,peer_cpu=same", 8_000.0),
    ("switch/pipe:between=processes,peer_cpu=same", 4_000.0),
    ("switch/pipe:between=processes,peer_cpu=none", 1_000.0),
    ("workload/ph2000:act=null", 130_000.0),
    ("memory/bandwidth:act=copy,size=67108864", 1e10),
];

/// A record with these figures, of this day, with the other keys of a measured one.
fn of_day(record: &Value, day: u32, figures: &[(&str, f64)]) -> Value {
    let mut made = record.clone();
    made["id"] = json!(format!("0190a{day:03x}-c2d3-7e4f-8a9b-0c1d2e3f4a5b"));
    made["started"] = json!(format!("2026-05-{day:02}T08:15:00Z"));
    made["ended"] = json!(format!("2026-05-{day:02}T08:16:00Z"));
    let first = rows(record)[0].clone();
    let cpu = &first["target"]["cpu"];
    made["conditions"][0]["probe"][0]["cpu"] = cpu.clone();
    made["conditions"][0]["probe"][0]["core_cycles_per_ns"] = json!(4.0);
    let row = |(case, figure): &(&str, f64)| {
        let mut row = first.clone();
        let (benchmark, point) = case.split_once(':').unwrap_or((case, ""));
        let axes = point.split(',').filter_map(|axis| axis.split_once('='));
        let value = |text: &str| text.parse::<u64>().map_or_else(|_| json!(text), |it| json!(it));
        row["case"] = json!(case);
        row["benchmark"] = json!(benchmark);
        row["point"] = axes.map(|(axis, text)| (axis.to_owned(), value(text))).collect();
        if case.starts_with("memory/bandwidth") {
            row["unit"] = json!("B/s");
            row["better"] = json!("higher");
        }
        row["estimate"]["median"] = json!(figure);
        row["estimate"]["ci95"] = json!([figure * 0.99, figure * 1.01]);
        row
    };
    made["results"] = figures.iter().map(row).collect();
    made
}

/// A store with two runs of one machine, and a later one in which a figure is unreliable.
fn store() -> Sandbox {
    let sandbox = Sandbox::new();
    let record = record(&sandbox);
    let slow: Vec<(&str, f64)> =
        FIGURES.iter().map(|(case, figure)| (*case, figure * 7.0)).collect();
    import(&sandbox, &of_day(&record, 1, &slow));
    import(&sandbox, &of_day(&record, 2, FIGURES));
    let mut unreliable = of_day(&record, 3, &slow[..1]);
    unreliable["results"][0]["flags"] = json!(["UNRELIABLE"]);
    import(&sandbox, &unreliable);
    let mut other = of_day(&record, 1, &slow[1..3]);
    other["id"] = json!("0190afff-c2d3-7e4f-8a9b-0c1d2e3f4a5b");
    other["machines"][0]["cpu"]["logical_online"] = json!(64);
    import(&sandbox, &other);
    sandbox
}

#[test]
fn the_newest_figures_of_a_machine_stand_beside_those_of_the_studies() {
    let sandbox = store();
    let text = sandbox.oscost(&["study", "across"]).exits(0).stdout;
    for line in text.lines() {
        assert!(line.chars().count() <= 80 && line.is_ascii(), "{line}");
    }
    golden("study-across.txt", &text);
    let found = sandbox.oscost(&["study", "across", "--json", "-"]).exits(0).json();
    assert_eq!(found["schema"], "oscost.study-across/1");
    assert_eq!(found["other_runs"], 1);
    let acts = found["acts"].as_array().unwrap();
    let act = |key: &str| acts.iter().find(|it| it["act"] == key).unwrap();
    let of_study = |key: &str, study: &str| {
        let figures = act(key)["figures"].as_array().unwrap();
        figures
            .iter()
            .find(|it| it["study"] == study && it["is_reference"] == true)
            .unwrap()
            .clone()
    };
    // By hand, in cycles: 1,888.95 ns at 300 MHz, 44,505.5 ns at 300 MHz, 0.5 ms at 167 MHz.
    for (key, study, cycles, here) in [
        ("getpid", "sunos-1999", 566.685, 400.0),
        ("getpid", "xen-2003", 1_272.0, 440.0),
        ("pipe-round-trip", "sunos-1999", 13_351.65, 16_000.0),
        ("signal-round-trip", "sunos-1999", 25_693.47, 32_000.0),
        ("fork-exit", "lmbench-1996", 83_500.0, 520_000.0),
        // Half of a round trip less the same calls of one process.
        ("context-switch", "lmbench-1996", 1_002.0, 6_000.0),
    ] {
        let figure = of_study(key, study);
        let close = |value: &Value, to: f64| (value.as_f64().unwrap() / to - 1.0).abs() < 1e-9;
        assert!(close(&figure["then"]["cycles"][0], cycles), "{figure}");
        assert!(close(&figure["here"]["cycles"][0], here), "{figure}");
    }
    assert_eq!(of_study("addition", "sunos-1999")["here"]["value"][0], 0.25);
    let trends = ["signal-round-trip", "fork-exit", "context-switch", "memory-copy", "stat"];
    let trends = trends.map(|key| act(key)["trend"].as_str().unwrap());
    assert_eq!(trends, ["with-core", "more-cycles", "more-cycles", "fewer-cycles", "unknown"]);
}

#[test]
fn cycles_that_the_processor_counted_are_told_from_times_at_a_frequency() {
    let sandbox = Sandbox::new();
    let record = record(&sandbox);
    let mut made = of_day(&record, 2, FIGURES);
    let results = made["results"].as_array_mut().unwrap();
    let getpid = results.iter_mut().find(|row| row["case"] == "syscall/getpid:via=raw").unwrap();
    let mut cycles = getpid["estimate"].clone();
    (cycles["median"], cycles["ci95"]) = (json!(300.0), Value::Null);
    getpid["metrics"]["cycles"] =
        json!({ "unit": "cycle/op", "better": "lower", "estimate": cycles });
    getpid["counters"] = json!({
        "workers": 3, "read_by": "read", "kernel": true, "inherited": false, "insn_sd_pct": 0.0,
        "repeats": true, "counted_time_ratio": 1.0, "running_ns": 99.0, "waiting_ns": 1.0,
        "void": [], "repetitions": [],
    });
    import(&sandbox, &made);
    let found = sandbox.oscost(&["study", "across", "--json", "-"]).exits(0).json();
    let here = |key: &str| {
        let act = found["acts"].as_array().unwrap().iter().find(|it| it["act"] == key).unwrap();
        let figures = act["figures"].as_array().unwrap();
        let it = figures.iter().find(|it| !it["here"].is_null()).unwrap();
        (it["here"]["cycles"][0].as_f64().unwrap(), it["here_cycles_by"].clone())
    };
    assert_eq!(here("getpid"), (300.0, json!("counter")));
    assert_eq!(here("pipe-round-trip"), (16_000.0, json!("frequency")));
    let text = sandbox.oscost(&["study", "across"]).exits(0).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("cycles here of 1 of "), "{text}");
    assert!(text.contains("were counted by the processor"), "{text}");
}

#[test]
fn the_acts_are_written_in_each_format_and_with_a_study_of_the_user() {
    let sandbox = store();
    let path = |name: &str| sandbox.file(name).to_str().unwrap().to_owned();
    let mine =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../studies/xen-2003.toml"));
    let mine = mine.unwrap().replace("\"xen-2003\"", "\"mine\"");
    fs::write(path("mine.toml"), mine).unwrap();
    let files = ["a.html", "a.csv", "a.md", "a.json"].map(path);
    let mut arguments = vec!["study", "across"];
    let mine = path("mine.toml");
    arguments.push(&mine);
    files.iter().for_each(|file| arguments.extend(["-o", file]));
    sandbox.oscost(&arguments).exits(0);
    let [page, lines, markdown, _] = files.map(|file| fs::read_to_string(file).unwrap());
    assert!(page.contains("across-0") && page.contains("id=\"act-getpid\""));
    assert!(lines.starts_with("act,year,study,system,row,published,then_ns_or_bytes_per_s"));
    assert!(lines.contains("\r\ngetpid,2003,mine,UML,Table 3: null call,24.7 us,24700,59280,"));
    assert!(markdown.contains("| getpid "), "{markdown}");
    let refused = sandbox.oscost(&["study", "across", "-o", &path("a.parquet")]).exits(2);
    refused.no_data().stderr_contains("written as .html, .csv, .md or .json");
}

#[test]
fn without_a_store_the_studies_stand_alone_and_the_command_is_told() {
    let sandbox = Sandbox::new();
    let text = sandbox.oscost(&["study", "across"]).exits(0).stdout;
    assert!(text.contains("no run at local has measured an act"), "{text}");
    assert!(text.contains("oscost run timer/add syscall/getpid:via=raw"), "{text}");
    assert!(text.contains("567"), "{text}");
}
