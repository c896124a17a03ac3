//! How much a figure moves from run to run: ours, and the best peer's.
//!
//! A run is a command as a user types it: `oscost run CASE`; `stress-ng --fork 1 --timeout 1`; a loop in C
//! around the act, with its mean. A spread is the range of the middle half of 20 runs, over their
//! median. oscost and the peers alternate, so that all see the same machine.
//!
//! Bar: over all acts, the median of ours over the best peer's is at most 0.5. A peer whose runs
//! agree to the last digit rounds its figure, and is left out.

use std::process::Command;

use anyhow::{Context, ensure};
use oscost_stats::order;

use super::peer_programs::PeerPrograms;
use super::tools::{Argument, Tool};

const RUNS: usize = 20;
const MAX_RATIO: f64 = 0.5;
/// How long a batch of the loop in C takes, and how many make a run: half a second in all, as one
/// would choose for a good mean.
const BATCH_NS: f64 = 2e6;
const BATCHES: u64 = 250;

/// An op that is often quoted.
struct Headline {
    case: &'static str,
    c_loop: (&'static str, Argument),
    /// The most ops that fit into the memory or the file of a batch in C.
    max_iterations: u64,
    tools: &'static [Tool],
}

const HEADLINES: &[Headline] = &[
    Headline {
        case: "process/fork-exit:touched_mib=0,peer_cpu=same",
        c_loop: ("fork-exit", Argument::Memory),
        max_iterations: u64::MAX,
        tools: &[Tool::StressNg("fork")],
    },
    Headline {
        case: "process/fork-exec:link=static",
        c_loop: ("fork-exec", Argument::Program),
        max_iterations: u64::MAX,
        tools: &[],
    },
    Headline {
        case: "thread/create-join:via=libc,peer_cpu=same",
        c_loop: ("create-join", Argument::Nothing),
        max_iterations: u64::MAX,
        tools: &[Tool::StressNg("pthread")],
    },
    Headline {
        case: "switch/pipe:peer_cpu=same,between=processes",
        c_loop: ("pipe", Argument::SameCpu),
        max_iterations: u64::MAX,
        tools: &[Tool::PerfPipe, Tool::StressNg("switch")],
    },
    Headline {
        case: "switch/pipe:peer_cpu=other,between=processes",
        c_loop: ("pipe", Argument::OtherCpu),
        max_iterations: u64::MAX,
        tools: &[],
    },
    Headline {
        case: "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending",
        c_loop: ("zero-fill", Argument::Nothing),
        max_iterations: 1_000,
        tools: &[],
    },
    Headline {
        case: "memory/copy:size=4096,by=library",
        c_loop: ("copy", Argument::Bytes(4_096)),
        max_iterations: u64::MAX,
        tools: &[],
    },
    Headline {
        case: "memory/copy:size=1048576,by=library",
        c_loop: ("copy", Argument::Bytes(1 << 20)),
        max_iterations: u64::MAX,
        tools: &[Tool::PerfMemcpy("1MB"), Tool::StressNg("memcpy"), Tool::Sysbench],
    },
    Headline {
        case: "file/read:via=read,size=65536,cache=warm,file_mib=8",
        c_loop: ("read", Argument::Folder),
        max_iterations: 100,
        tools: &[Tool::Fio],
    },
];

/// Compares the spreads; returns whether the bar holds.
pub(super) fn compare(peers: &PeerPrograms) -> anyhow::Result<bool> {
    println!("{:<42} {:>9}  {:<16}{:>9}{:>6}", "case", "ours", "best peer", "its", "ratio");
    let mut ratios = Vec::new();
    for headline in HEADLINES {
        let case: String = headline.case.chars().take(42).collect();
        match compare_with_best_peer(headline, peers) {
            Ok((worker, peer, best)) => {
                println!(
                    "{case:<42} {:>7.2} %  {peer:<16}{:>7.2} %{:>6.2}",
                    100.0 * worker,
                    100.0 * best,
                    worker / best
                );
                ratios.push(worker / best);
            }
            Err(error) => println!("{case}\n  failed: {error:#}"),
        }
    }
    let median = order::median(&order::sorted(&ratios)).context("no act has a spread")?;
    let holds = median <= MAX_RATIO && ratios.len() == HEADLINES.len();
    println!(
        "median ratio of {} spreads {median:.2}, bar {MAX_RATIO}: {}",
        ratios.len(),
        if holds { "holds" } else { "FAILS" }
    );
    Ok(holds)
}

/// Our spread, and the name and the spread of the peer that spreads least.
fn compare_with_best_peer(
    headline: &Headline,
    peers: &PeerPrograms,
) -> anyhow::Result<(f64, &'static str, f64)> {
    let tools: Vec<&Tool> = headline
        .tools
        .iter()
        .filter(|tool| peers.missing_reason(tool.program()).is_none())
        .collect();
    let first = worker(headline.case)?;
    let iterations = ((BATCH_NS / first) as u64).clamp(1, headline.max_iterations);
    let mut mine = Vec::new();
    let mut theirs = vec![Vec::new(); tools.len() + 1];
    for _ in 0..RUNS {
        mine.push(worker(headline.case)?);
        theirs[0].push(peers.c_loop_mean(headline.c_loop, iterations, BATCHES)?);
        for (tool, figures) in tools.iter().zip(&mut theirs[1..]) {
            figures.push(peers.tool(tool)?);
        }
    }
    let names = std::iter::once("a loop in C").chain(tools.iter().map(|tool| tool.name()));
    let spreads = theirs.iter().filter_map(|figures| spread(figures));
    let best = names.zip(spreads).filter(|(_, spread)| *spread > 0.0);
    let (peer, best_spread) =
        best.min_by(|a, b| a.1.total_cmp(&b.1)).context("every peer rounds")?;
    Ok((spread(&mine).context("no spread of ours")?, peer, best_spread))
}

/// The range of the middle half over the median.
fn spread(figures: &[f64]) -> Option<f64> {
    let sorted = order::sorted(figures);
    let quarter = sorted.len() / 4;
    let low = sorted.get(quarter)?;
    let high = sorted.get(sorted.len() - 1 - quarter)?;
    Some((high - low) / order::median(&sorted)?)
}

/// The figure that `oscost run` reports for a case, in nanoseconds.
fn worker(case: &str) -> anyhow::Result<f64> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_oscost"));
    let output = command.args(["run", case, "--no-store", "--json", "-"]).output()?;
    let error = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "oscost run {case}: {}: {}", output.status, error.trim());
    let record: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let row = &record["results"][0];
    let median = row["estimate"]["median"].as_f64();
    median.with_context(|| format!("{case}: {} {}", row["outcome"], row["reason"]))
}
