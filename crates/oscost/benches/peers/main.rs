//! oscost's figures compared with peers that time the same op: `make bench`.
//!
//! The peers are a loop in C (`loops.c`), compiled here, linked as the worker is, timed in batches of
//! the same length and read by the same estimator; and perf bench and fio, where they are installed
//! and measure the same op. Each pair alternates on one CPU, in the order ABBA.
//!
//! Bar: the interval of the ratio, ours over the peer's, holds a value at or below 1.03, or at or
//! below 1 where bytes a second are compared (shown in nanoseconds a byte). With
//! words, only the ops whose cases contain one of them; with the word `spread`, how much figures
//! move from run to run (`run_spread.rs`); with the word `studies`, whether figures by the studies'
//! methods agree with programs that do what the studies say (`study_comparison.rs`); with the word
//! `counters`, whether counted events agree with perf stat (`event_counts.rs`); with the word
//! `memory`, what fork(2) copies of the worker and of plain programs (`fork_memory.rs`).

#![expect(clippy::print_stdout, reason = "a program that is run by hand")]

mod acts;
mod event_counts;
mod fork_memory;
mod peer_programs;
mod run_spread;
mod study_comparison;
mod study_figures;
mod study_programs;
mod study_rows;
mod tools;
mod worker_session;

use std::process::ExitCode;

use anyhow::{Context, bail};
use oscost::hosts::{Interrupt, LocalSession, WorkerBinary};
use oscost::run::{MachineLock, OtherPrograms, name_holder};
use oscost_model::definition::Catalog;
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

use acts::{ACTS, Act, MAX_RATIO, resolve_case};
use peer_programs::PeerPrograms;
use study_figures::Cpus;
use worker_session::WorkerSession;

/// Pairs of figures, one of ours and one of the peer's: an interval needs six.
const ALTERNATIONS: usize = 15;
/// Fresh processes for each figure of a pair.
const PROCESSES: usize = 3;

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let holds = match only.split_first() {
        Some((word, [])) if word == "spread" => compare_spreads(),
        Some((word, studies)) if word == "studies" => compare_studies(studies),
        Some((word, [])) if word == "counters" => compare_counts(),
        Some((word, [])) if word == "memory" => compare_memory(),
        _ => compare(&only),
    };
    match holds {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Compares how much figures vary from run to run; returns whether the bar holds.
fn compare_spreads() -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let mut worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    let peers = PeerPrograms::compiled(&mut worker)?;
    // Runs of `oscost` follow, each with its own session.
    drop(worker);
    run_spread::compare(&peers)
}

/// Compares the rows of studies whose `STUDY/ROW` contains one of these words; returns whether the bar holds.
fn compare_studies(words: &[String]) -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    let (cpu, other_cpu) = (worker.cpu, worker.other_cpu);
    // Runs of `oscost` follow, each with its own session.
    drop(worker);
    study_comparison::compare(words, Cpus { cpu, other_cpu })
}

/// Locks the machine against other measurements, where that is possible.
fn lock_machine() -> anyhow::Result<MachineLock> {
    name_holder();
    match MachineLock::acquire(OtherPrograms::Ignore) {
        Ok(lock) => Ok(lock),
        Err(held) => bail!("{} measures on this machine", held.holder),
    }
}

/// Compares counted events with perf stat; returns whether the bar holds.
fn compare_counts() -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = lock_machine()?;
    let mut worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    let peers = PeerPrograms::compiled(&mut worker)?;
    event_counts::compare(&program.catalog, &mut worker, &peers)
}

/// Compares the memory that forks copy; returns whether the bars hold.
fn compare_memory() -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = lock_machine()?;
    let mut worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    fork_memory::compare(&program.catalog, &mut worker)
}

/// Compares every act with every peer, or those whose names contain one of these words; returns
/// whether all bars hold.
fn compare(only: &[String]) -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = lock_machine()?;
    let mut worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    let peers = PeerPrograms::compiled(&mut worker)?;
    println!(
        "CPU {}, clock {}; the worker and the loops in C are linked {}\n\
         a figure is the median of {PROCESSES} fresh processes, a ratio that of {ALTERNATIONS} \
         pairs, in ABBA\n",
        worker.cpu,
        worker.clock.kind.text(),
        worker.linked()
    );
    let bar = format!("bar {MAX_RATIO}");
    println!("{}", line("case, and peer", ["ours", "peer's", "ratio", "95 % interval", &bar]));
    let chosen =
        |act: &&Act| only.is_empty() || only.iter().any(|word| act.case.contains(word.as_str()));
    let mut holds = true;
    for act in ACTS.iter().filter(chosen) {
        println!("{}", act.case);
        match compare_act(act, &program.catalog, &mut worker, &peers) {
            Ok(act_held) => holds &= act_held,
            Err(error) => {
                println!("  {error:#}");
                holds = false;
            }
        }
    }
    println!("\nperf bench and fio are linked dynamically; perf prints a mean.");
    println!("bars hold: {holds}");
    Ok(holds)
}

/// Compares an act with each of its peers; returns whether its bars hold.
fn compare_act(
    act: &Act,
    catalog: &Catalog,
    worker: &mut WorkerSession<'_>,
    peers: &PeerPrograms,
) -> anyhow::Result<bool> {
    let (case, definition) = resolve_case(act, catalog)?;
    let plan = worker.plan(&case)?;
    let switches = definition.switches;
    let mut holds = true;
    let pairs = alternate(
        || figure(|| worker.value(&case, &plan, switches)),
        || figure(|| peers.c_loop_value(act, &plan, switches)),
    );
    holds &= print_comparison("a loop in C", act.max_ratio, pairs);
    for tool in act.tools {
        if let Some(reason) = peers.missing_reason(tool.program()) {
            println!("  {}: skipped: {reason}", tool.name());
            continue;
        }
        let pairs = alternate(
            || figure(|| worker.value(&case, &plan, switches)),
            || figure(|| peers.tool(tool).map(Some)),
        );
        holds &= print_comparison(tool.name(), act.max_ratio, pairs);
    }
    Ok(holds)
}

/// Pairs of figures, ours first. The two alternate, and so does which one begins, so that drift
/// affects both alike.
fn alternate(
    mut worker: impl FnMut() -> anyhow::Result<f64>,
    mut peer: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    let mut pair = |index: usize| -> anyhow::Result<(f64, f64)> {
        if index.is_multiple_of(2) {
            let first = worker()?;
            return Ok((first, peer()?));
        }
        let first = peer()?;
        Ok((worker()?, first))
    };
    (0..ALTERNATIONS).map(&mut pair).collect()
}

/// The median over fresh processes, one figure each.
fn figure(mut process: impl FnMut() -> anyhow::Result<Option<f64>>) -> anyhow::Result<f64> {
    /// A process whose batches were disturbed has no figure and is replaced; with this many
    /// replacements the machine is too noisy.
    const MAX_TRIES: usize = 20 * PROCESSES;
    let mut figures = Vec::new();
    for _ in 0..MAX_TRIES {
        figures.extend(process()?);
        if figures.len() == PROCESSES {
            return order::median(&order::sorted(&figures)).context("there is no figure");
        }
    }
    bail!("only {} of {MAX_TRIES} processes were undisturbed", figures.len());
}

/// Prints how ours compares with a peer; returns whether the bar holds.
fn print_comparison(peer: &str, max_ratio: f64, pairs: anyhow::Result<Vec<(f64, f64)>>) -> bool {
    let pairs = match pairs {
        Ok(pairs) => pairs,
        Err(error) => {
            println!("  {peer}: failed: {error:#}");
            return false;
        }
    };
    let median = |values: Vec<f64>| order::median(&order::sorted(&values)).unwrap_or(f64::NAN);
    let ratios = pairs.iter().map(|(worker, peer)| (worker / peer).ln()).collect::<Vec<_>>();
    let sorted = order::sorted(&ratios);
    let Some(interval) = median_hs(&sorted, Nominal::FIXED) else { return false };
    let (low, high) = (interval.lo.exp(), interval.hi.exp());
    let holds = low <= max_ratio;
    let figures = [
        format_ns(median(pairs.iter().map(|pair| pair.0).collect())),
        format_ns(median(pairs.iter().map(|pair| pair.1).collect())),
        format!("{:.3}", median(ratios).exp()),
        format!("{low:.3} .. {high:.3}"),
        if holds { "holds" } else { "FAILS" }.to_owned(),
    ];
    println!("{}", line(&format!("  {peer}"), figures.each_ref().map(String::as_str)));
    holds
}

/// A figure as text; the cost of a byte is small and gets more digits.
fn format_ns(value: f64) -> String {
    if value < 1.0 { format!("{value:.4} ns") } else { format!("{value:.2} ns") }
}

/// A line of the table, in 80 columns.
fn line(name: &str, columns: [&str; 5]) -> String {
    let [worker, peer, ratio, interval, bar] = columns;
    format!("{name:<22}{worker:>13}{peer:>13}{ratio:>7}{interval:>16} {bar:>8}")
}
