//! Nodes of Slurm on this host, by the commands that a user types: what a session on a node costs over
//! one here, how far its figures are from those of local runs, and how long a fleet takes from its
//! submission to its report.
//!
//! The nodes are this machine, which one run measures at a time: sessions and runs alternate, and the
//! tasks of the fleet wait for each other. All of it takes some four minutes.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::order;
use serde_json::Value;
use tempfile::TempDir;

use super::cluster::Cluster;
use super::{median, timed};

const NODES: usize = 4;
const LOCAL: &str = "local";

/// Sessions of each kind, and runs of each kind.
const SESSIONS: usize = 11;
const RUNS: usize = 21;

/// What those runs measure: from some ten nanoseconds to some hundred microseconds. Files are not
/// among them, since nodes have folders of their own. They are few and quick: many short pairs show
/// smaller differences than a few long ones, since runs differ by more than the repetitions of one.
const COMPARED: [&str; 3] = [
    "timer/clock-gettime:clock=monotonic,via=libc",
    "syscall/getppid:via=raw",
    "process/fork-exit:touched_mib=0,peer_cpu=same",
];

/// What the tasks of the fleet measure.
const FLEET: [&str; 5] = ["syscall", "process", "--quick", "--slurm", "partition=all"];

/// A fleet that takes longer hangs.
const FLEET_PATIENCE: Duration = Duration::from_secs(900);
/// How often a user looks whether it is done.
const LOOK: Duration = Duration::from_millis(500);

/// The bars of nodes of Slurm.
pub(crate) fn bars(tool: &str, bar: &mut dyn FnMut(&str, f64, f64, &str)) {
    let Some(cluster) = Cluster::of(NODES) else {
        return println!("nodes of Slurm: not measured: no cluster can be made here");
    };
    let lab = Lab { cluster, tool, home: tempfile::tempdir().unwrap() };
    let what = format!("a session of slurm:, over a local one, median of {SESSIONS}");
    bar(&what, lab.session_ms(), 300.0, "ms");
    for (case, ratio) in lab.ratios() {
        let Ratio { median, interval: Interval { lo, hi }, pairs } = ratio;
        println!("{case}: {median:.4} [{lo:.4} .. {hi:.4}] times local at slurm:, {pairs} pairs");
        bar(&format!("slurm: from local, {case}"), ratio.largest_difference_pct(), 3.0, "%");
    }
    let what = format!("fleet run --quick syscall process, {NODES} nodes");
    bar(&what, lab.fleet_s(), 90.0, "s");
}

/// A figure on a node over that of local runs.
struct Ratio {
    /// The median over pairs of runs.
    median: f64,
    /// Where it lies at the level of a test of equivalence.
    interval: Interval,
    pairs: usize,
}

impl Ratio {
    /// What the two figures surely do not differ by more than: the farther end of the interval. Few or
    /// noisy pairs do not show that they are equal.
    fn largest_difference_pct(&self) -> f64 {
        let Interval { lo, hi } = self.interval;
        100.0 * (1.0 - lo).abs().max((hi - 1.0).abs())
    }
}

/// The tool on a cluster, with a home of its own.
struct Lab<'a> {
    cluster: Cluster,
    tool: &'a str,
    home: TempDir,
}

impl Lab<'_> {
    fn command(&self, words: &[&str]) -> Command {
        let mut command = self.cluster.command(self.tool);
        let home = self.home.path();
        command.args(words).env("HOME", home).env("XDG_DATA_HOME", home.join("data"));
        command.env_remove("XDG_CACHE_HOME");
        command
    }

    /// A node as a target: another one in each turn, so that none has a job that is just ending.
    fn node(&self, turn: usize) -> String {
        format!("slurm:nodes={}", self.cluster.nodes[turn % NODES])
    }

    /// What a session on a node takes longer than a local one, in milliseconds: the median over pairs
    /// of a command that opens one.
    fn session_ms(&self) -> f64 {
        let seconds = |at: &str| timed(&mut self.command(&["machine", "--json", "--at", at])).0;
        // It copies the worker.
        seconds(&self.node(0));
        let pair = |turn: usize| {
            let node = self.node(turn);
            let [local, node] = in_turns(turn, || seconds(LOCAL), || seconds(&node));
            1e3 * (node - local)
        };
        median((0..SESSIONS).map(pair).collect())
    }

    /// Figures on a node over local ones, by case, in pairs of runs on the same CPU that alternate.
    fn ratios(&self) -> BTreeMap<String, Ratio> {
        let cpu = (std::thread::available_parallelism().unwrap().get() - 1).to_string();
        let figures_at = |at: &str| {
            let options =
                ["run", "--quick", "--no-store", "--json", "-", "--cpu", &cpu, "--at", at];
            figures(&mut self.command(&[&options[..], &COMPARED[..]].concat()))
        };
        let mut ratios = BTreeMap::<String, Vec<f64>>::new();
        for turn in 0..RUNS {
            let node = self.node(turn);
            let [local, node] = in_turns(turn, || figures_at(LOCAL), || figures_at(&node));
            for (case, figure) in node {
                if let Some(local) = local.get(&case) {
                    ratios.entry(case).or_default().push(figure / local);
                }
            }
        }
        let ratio = |(case, ratios): (String, Vec<f64>)| {
            // In fewer pairs a row was too often disturbed to tell.
            assert!(2 * ratios.len() > RUNS, "{case}: measured in {} pairs", ratios.len());
            let interval = median_hs(&order::sorted(&ratios), Nominal::EQUIVALENCE).unwrap();
            let pairs = ratios.len();
            (case, Ratio { median: median(ratios), interval, pairs })
        };
        ratios.into_iter().map(ratio).collect()
    }

    /// The seconds from the submission of a fleet to its report.
    fn fleet_s(&self) -> f64 {
        let folder = self.home.path().join("fleet");
        let fleet = |verb: &str, words: &[&str]| {
            let arguments = [&["fleet", verb, folder.to_str().unwrap()][..], words].concat();
            timed(&mut self.command(&arguments)).1
        };
        let begun = Instant::now();
        fleet("run", &FLEET);
        loop {
            let status: Value = serde_json::from_slice(&fleet("status", &["--json"])).unwrap();
            if status["counts"]["measured"] == NODES {
                break;
            }
            assert!(begun.elapsed() < FLEET_PATIENCE, "{status}");
            std::thread::sleep(LOOK);
        }
        fleet("collect", &[]);
        let page = self.home.path().join("fleet.html");
        let report = ["fleet", "report", "fleet", "-o", page.to_str().unwrap()];
        timed(&mut self.command(&report));
        begun.elapsed().as_secs_f64()
    }
}

/// What both are; in every other turn the second one is first.
fn in_turns<T>(turn: usize, first: impl FnOnce() -> T, second: impl FnOnce() -> T) -> [T; 2] {
    match turn.is_multiple_of(2) {
        true => {
            let first = first();
            [first, second()]
        }
        false => {
            let second = second();
            [first(), second]
        }
    }
}

/// The figures of the cases that a run has measured. A row that was disturbed too often has none.
fn figures(command: &mut Command) -> BTreeMap<String, f64> {
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{command:?}: {}", output.status);
    let record: Value = serde_json::from_slice(&output.stdout).unwrap();
    let rows = record["results"].as_array().unwrap().iter();
    // Reference cases that were not asked for are rows too.
    let compared = rows.filter(|row| COMPARED.iter().any(|case| row["case"] == *case));
    let figure = |row: &Value| {
        let figure = row["estimate"]["median"].as_f64()?;
        Some((row["case"].as_str()?.to_owned(), figure))
    };
    compared.filter(|row| row["outcome"] == "measured").filter_map(figure).collect()
}
