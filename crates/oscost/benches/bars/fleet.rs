//! Simulated fleets, by the commands that a user types: how fast records are collected, how much of
//! the store they take, what a report and a check take, and how many of the planted faults are found.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// Nodes, and the standard deviation between visits in per cent.
const FLEETS: [(u32, u32); 7] =
    [(100, 3), (100, 10), (100, 18), (1_000, 3), (1_000, 10), (1_000, 18), (10_000, 10)];

/// The spread of the fleets by which growth is judged, and that are read for a check.
const COMPARED_SPREAD: u32 = 10;

const VISITS: u32 = 3;

/// How many records are on the disk at once: each takes a quarter of a megabyte there.
const RECORDS_AT_ONCE: u32 = 3_000;

/// Faults from this ratio on must be found.
const MIN_RATIO: f64 = 1.1;

/// What the commands took on one fleet.
struct Costs {
    collect_s: f64,
    report_s: f64,
}

/// The bars of all fleets.
pub(crate) fn bars(tool: &str, bar: &mut dyn FnMut(&str, f64, f64, &str)) {
    let mut costs: BTreeMap<u32, Costs> = BTreeMap::new();
    for (nodes, spread) in FLEETS {
        let found = one_fleet(tool, nodes, spread, bar);
        if spread == COMPARED_SPREAD {
            costs.insert(nodes, found);
        }
    }
    let (Some((few, of_few)), Some((many, of_many))) =
        (costs.first_key_value(), costs.last_key_value())
    else {
        return;
    };
    let sizes = f64::from(*many) / f64::from(*few);
    let exponent = |few: f64, many: f64| (many / few).ln() / sizes.ln();
    let what = format!("growth of collecting, {few} to {many} nodes");
    bar(&what, exponent(of_few.collect_s, of_many.collect_s), 1.1, "");
    let what = format!("growth of the report, {few} to {many} nodes");
    bar(&what, exponent(of_few.report_s, of_many.report_s), 1.1, "");
}

fn one_fleet(
    tool: &str,
    nodes: u32,
    spread: u32,
    bar: &mut dyn FnMut(&str, f64, f64, &str),
) -> Costs {
    let data = tempfile::tempdir().unwrap();
    let folder = data.path().join("fleet");
    let records = nodes * VISITS;
    let name = |what: &str| format!("{nodes} nodes, {spread} %: {what}");
    let mut collect_s = 0.0;
    for first in (0..records).step_by(RECORDS_AT_ONCE as usize) {
        simulate(tool, &folder, nodes, spread, first);
        let mut collect = Command::new(tool);
        collect.args(["fleet", "collect"]).arg(&folder).env("XDG_DATA_HOME", data.path());
        collect_s += super::timed(&mut collect).0;
        fs::remove_dir_all(folder.join("records")).unwrap();
    }
    let per_record = 1e3 * collect_s / f64::from(records);
    bar(&name("collecting a record"), per_record, 5.0, "ms");
    let store = data.path().join("oscost/store.db");
    let bytes = fs::metadata(store).unwrap().len() as f64 / f64::from(records);
    bar(&name("a record in the store"), bytes / 1e3, 20.0, "KB");

    let (page, json) = (data.path().join("page.html"), data.path().join("report.json"));
    let mut report = Command::new(tool);
    report.args(["fleet", "report", "simulated", "-o"]).arg(&page).arg("--json").arg(&json);
    let Watched { seconds, peak_mib } = watched(report.env("XDG_DATA_HOME", data.path()));
    bar(&name("the report"), seconds, 60.0, "s");
    bar(&name("its memory"), peak_mib, 1_024.0, "MiB");
    bar(&name("its page"), fs::metadata(page).unwrap().len() as f64 / 1e6, 10.0, "MB");
    if spread == COMPARED_SPREAD {
        // A check may take 20 s, of which it measures for 14 s.
        bar(&name("reading its data set for a check"), check_s(tool, data.path()), 6.0, "s");
    }
    let missed = judge(&read_json(&folder.join("TRUTH.json")), &read_json(&json));
    bar(&name("planted faults that were not found"), missed.not_found_pct, 5.0, "%");
    bar(&name("findings that are false"), missed.false_pct, 5.0, "%");
    bar(&name("planted facts that are not named first"), missed.fact_not_first_pct, 10.0, "%");
    Costs { collect_s, report_s: seconds }
}

fn simulate(tool: &str, folder: &Path, nodes: u32, spread: u32, first: u32) {
    let last = (first + RECORDS_AT_ONCE).min(nodes * VISITS) - 1;
    let mut command = Command::new(tool);
    command.args(["fleet", "simulate"]).arg(folder).args(["--cases", "100", "--slow", "1"]);
    command.args(["--nodes", &nodes.to_string(), "--visits", &VISITS.to_string()]);
    command.args(["--spread", &spread.to_string(), "--tasks", &format!("{first}-{last}")]);
    super::timed(&mut command);
}

/// How long a check takes to read the fleet by its data set, in seconds. It measures nothing, since no
/// machine is of the class of simulated nodes.
fn check_s(tool: &str, home: &Path) -> f64 {
    let figures = home.join("figures");
    let mut report = Command::new(tool);
    report.args(["fleet", "report", "simulated", "--data-set"]).arg(&figures);
    super::timed(report.env("XDG_DATA_HOME", home));
    let mut check = Command::new(tool);
    check.args(["fleet", "check", "--quiet", "--against"]).arg(&figures);
    check.env("XDG_DATA_HOME", home).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let ended = check.status().unwrap();
    let seconds = begun.elapsed().as_secs_f64();
    assert_eq!(ended.code(), Some(3), "{check:?}: {ended}");
    seconds
}

/// What a command took.
struct Watched {
    seconds: f64,
    peak_mib: f64,
}

/// Runs a command and watches the largest size of its memory, which the kernel keeps until it ends.
fn watched(command: &mut Command) -> Watched {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut peak_kib = 0.0f64;
    let ended = loop {
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        peak_kib = peak_kib.max(kib.unwrap_or(0.0));
        match child.try_wait().unwrap() {
            Some(ended) => break ended,
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    assert!(ended.success(), "{command:?}: {ended}");
    Watched { seconds: begun.elapsed().as_secs_f64(), peak_mib: peak_kib / 1_024.0 }
}

fn read_json(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// How a report differs from what was planted, in per cent.
struct Missed {
    not_found_pct: f64,
    false_pct: f64,
    fact_not_first_pct: f64,
}

fn judge(truth: &Value, report: &Value) -> Missed {
    let planted = truth["planted"].as_array().unwrap();
    let findings = report["findings"].as_array().unwrap();
    // A finding of the whole node, or of a case of the family, tells the fault too.
    let tells = |finding: &Value, fault: &Value| {
        let (family, name) = (fault["family"].as_str().unwrap(), &finding["scope"]["name"]);
        let is_of_family = match finding["scope"]["kind"].as_str().unwrap() {
            "family" => name == family,
            "case" => name.as_str().unwrap().starts_with(&format!("{family}/")),
            _ => true,
        };
        finding["node"] == fault["node"] && is_of_family
    };
    let large: Vec<&Value> =
        planted.iter().filter(|fault| fault["ratio"].as_f64().unwrap() >= MIN_RATIO).collect();
    let of_fault = |fault: &Value| findings.iter().find(|finding| tells(finding, fault));
    let found: Vec<(&Value, &Value)> =
        large.iter().filter_map(|fault| Some((*fault, of_fault(fault)?))).collect();
    let is_false = |finding: &&Value| !planted.iter().any(|fault| tells(finding, fault));
    let is_unnamed =
        |(fault, finding): &&(&Value, &Value)| finding["facts"][0]["name"] != fault["fact"];
    let pct = |part: usize, of: usize| 100.0 * part as f64 / of.max(1) as f64;
    Missed {
        not_found_pct: pct(large.len() - found.len(), large.len()),
        false_pct: pct(findings.iter().filter(is_false).count(), findings.len()),
        fact_not_first_pct: pct(found.iter().filter(is_unnamed).count(), found.len()),
    }
}
