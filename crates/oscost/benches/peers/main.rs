//! oscost's figures compared with peers that time the same op: `make bench`.
//!
//! The peers are loops in C (`loops.c`, `calls.c`), compiled here, linked as the worker is, timed
//! in batches of the same length and read by the same estimator; and perf bench and fio, where they
//! are installed and measure the same op. Each pair alternates on one CPU, in the order ABBA.
//!
//! Bar: the interval of the ratio, ours over the peer's, holds a value at or below 1.03, or at or
//! below 1 where bytes a second are compared (shown in nanoseconds a byte). For the calls of
//! `calls.c` a median difference of at most 1 ns is enough.
//!
//! With words, only the ops whose cases contain one of them; with the word `spread`, how much
//! figures move from run to run (`run_spread.rs`); with the word `studies`, whether figures by the
//! studies' methods agree with programs that do what the studies say (`study_comparison.rs`); with
//! the word `counters`, whether counted events agree with perf stat (`event_counts.rs`); with the
//! word `memory`, what fork(2) copies of the worker and of plain programs (`fork_memory.rs`); with
//! the word `programs`, how figures compare with those of peers' own programs (`programs.rs`).

#![expect(clippy::print_stdout, reason = "a program that is run by hand")]

mod acts;
mod call_acts;
mod event_counts;
mod fork_memory;
mod pairs;
mod peer_programs;
mod programs;
mod run_spread;
mod study_comparison;
mod study_figures;
mod study_programs;
mod study_rows;
mod tools;
mod worker_session;

use std::process::ExitCode;

use anyhow::bail;
use oscost::hosts::{Interrupt, LocalSession, WorkerBinary};
use oscost::run::{MachineLock, OtherPrograms, name_holder};
use oscost_model::definition::Catalog;

use acts::{ACTS, Act, MAX_RATIO, resolve_case};
use call_acts::CALL_ACTS;
use pairs::{ALTERNATIONS, PROCESSES, alternate, figure, line, print_comparison};
use peer_programs::PeerPrograms;
use study_figures::Cpus;
use worker_session::WorkerSession;

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let holds = match only.split_first() {
        Some((word, [])) if word == "spread" => compare_spreads(),
        Some((word, studies)) if word == "studies" => compare_studies(studies),
        Some((word, [])) if word == "counters" => compare_counts(),
        Some((word, [])) if word == "memory" => compare_memory(),
        Some((word, rows)) if word == "programs" => compare_programs(rows),
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

/// Why comparisons cannot be made: an act or a row whose case is missing, or means another op.
pub(crate) fn unresolved(catalog: &Catalog) -> Vec<String> {
    let acts = ACTS.iter().chain(CALL_ACTS.into_iter().flatten());
    let of_acts = acts.filter_map(|act| {
        let why = resolve_case(act, catalog).err()?;
        Some(format!("{}: {why:#}", act.case))
    });
    of_acts.chain(programs::unresolved(catalog)).collect()
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

/// Compares with peers' own programs the rows that contain one of these words, or all; returns
/// whether the bar holds.
fn compare_programs(words: &[String]) -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = lock_machine()?;
    let mut worker = WorkerSession::start(LocalSession::start(&program, &interrupt)?)?;
    let peers = PeerPrograms::compiled(&mut worker)?;
    Ok(programs::compare(words, &program.catalog, &mut worker, &peers))
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
    let unresolved = unresolved(&program.catalog);
    for why in &unresolved {
        println!("cannot be compared: {why}");
    }
    let mut holds = unresolved.is_empty();
    for act in ACTS.iter().chain(CALL_ACTS.into_iter().flatten()).filter(chosen) {
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
    holds &= print_comparison("a loop in C", act.bar, pairs);
    for tool in act.tools {
        if let Some(reason) = peers.missing_reason(tool.program()) {
            println!("  {}: skipped: {reason}", tool.name());
            continue;
        }
        let pairs = alternate(
            || figure(|| worker.value(&case, &plan, switches)),
            || figure(|| peers.tool(tool).map(Some)),
        );
        holds &= print_comparison(tool.name(), act.bar, pairs);
    }
    Ok(holds)
}
