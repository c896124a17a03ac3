//! What oscost says of an act, against others who time the same act: `make bench`.
//!
//! The peers are a loop in C (`loops.c`), compiled here, linked as the worker is, timed in batches of
//! the same length and read by the same estimator; and perf bench and fio, where they are installed
//! and have the same act. Each pair takes turns on one CPU, in the order ABBA.
//!
//! Bar: the interval of the ratio, ours over the peer's, holds a value at or below 1.03, or at or
//! below 1 where bytes a second are compared (shown in nanoseconds a byte). With a word
//! behind it, only the acts whose cases hold that word; with the word `spread`, how much figures
//! move from run to run (`spread.rs`).

#![expect(clippy::print_stdout, reason = "a program that is run by hand")]

mod acts;
mod others;
mod ours;
mod spread;

use std::process::ExitCode;

use anyhow::{Context, bail, ensure};
use oscost::hosts::{Interrupt, LocalSession, WorkerBinary};
use oscost::plan;
use oscost::run::{LockError, MachineLock};
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Definition, Extent};
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

use acts::{ACTS, Act, MOST};
use others::Others;
use ours::Ours;

/// Pairs of figures, one of ours and one of the peer's: an interval needs six.
const ALTERNATIONS: usize = 15;
/// Fresh processes behind each figure of a pair.
const PROCESSES: usize = 3;

fn main() -> ExitCode {
    let only: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let held = if only == ["spread"] { spreads() } else { compare(&only) };
    match held {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Compares how much figures move from run to run; whether the bar holds.
fn spreads() -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let mut ours = Ours::start(LocalSession::start(&program, &interrupt)?)?;
    let others = Others::compiled(&mut ours)?;
    // Runs of `oscost` follow, each with a session of its own.
    drop(ours);
    spread::compare(&others)
}

/// Compares every act with every peer, or those whose names hold one of these words; whether all
/// bars hold.
fn compare(only: &[String]) -> anyhow::Result<bool> {
    let program = WorkerBinary::find()?;
    let interrupt = Interrupt::listen()?;
    let _machine = match MachineLock::acquire() {
        Ok(lock) => Some(lock),
        Err(LockError::HeldBy(holder, _)) => {
            bail!("process {} measures on this machine", holder.pid)
        }
        Err(LockError::Unavailable(_)) => None,
    };
    let mut ours = Ours::start(LocalSession::start(&program, &interrupt)?)?;
    let others = Others::compiled(&mut ours)?;
    println!(
        "CPU {}, clock {}; the worker and the loops in C are linked {}\n\
         a figure is the median of {PROCESSES} fresh processes, a ratio that of {ALTERNATIONS} \
         pairs, in ABBA\n",
        ours.cpu,
        ours.clock.kind.text(),
        ours.linked()
    );
    let bar = format!("bar {MOST}");
    println!("{}", line("case, and peer", ["ours", "peer's", "ratio", "95 % interval", &bar]));
    let chosen =
        |act: &&Act| only.is_empty() || only.iter().any(|word| act.case.contains(word.as_str()));
    let mut held = true;
    for act in ACTS.iter().filter(chosen) {
        println!("{}", act.case);
        match against_all(act, &program.catalog, &mut ours, &others) {
            Ok(act_held) => held &= act_held,
            Err(error) => {
                println!("  {error:#}");
                held = false;
            }
        }
    }
    println!("\nperf bench and fio are linked dynamically; what perf says is a mean.");
    println!("bars hold: {held}");
    Ok(held)
}

/// Compares an act with each of its peers; whether its bars hold.
fn against_all(
    act: &Act,
    catalog: &Catalog,
    ours: &mut Ours<'_>,
    others: &Others,
) -> anyhow::Result<bool> {
    let (case, definition) = found(act, catalog)?;
    let plan = ours.plan(&case)?;
    let switches = definition.switches;
    let mut held = true;
    let pairs = alternate(
        || figure(|| ours.value(&case, &plan, switches)),
        || figure(|| others.loop_in_c(act, &plan, switches)),
    );
    held &= told("a loop in C", act.most, pairs);
    for tool in act.tools {
        if let Some(how) = others.lacks(tool.program()) {
            println!("  {}: skipped: {how}", tool.name());
            continue;
        }
        let pairs = alternate(
            || figure(|| ours.value(&case, &plan, switches)),
            || figure(|| others.tool(tool).map(Some)),
        );
        held &= told(tool.name(), act.most, pairs);
    }
    Ok(held)
}

/// The case of an act. An error when there is no such case, or when it does something else.
fn found<'a>(act: &Act, catalog: &'a Catalog) -> anyhow::Result<(Case, &'a Definition)> {
    let cases =
        plan::select(catalog, &[act.case.to_owned()], Extent::Default).context("missing")?;
    let [case] = &cases[..] else { bail!("missing: this names {} cases", cases.len()) };
    let definition = catalog.get(&case.benchmark).context("missing")?;
    for word in act.says {
        ensure!(
            definition.op.contains(word),
            "not the same act: the peer's has to do with `{word}`, and the op does not say so"
        );
    }
    Ok((case.clone(), definition))
}

/// Pairs of figures, ours first: they take turns, and so does who begins, so that whatever drifts
/// falls to both alike.
fn alternate(
    mut ours: impl FnMut() -> anyhow::Result<f64>,
    mut peer: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    let mut pair = |turn: usize| -> anyhow::Result<(f64, f64)> {
        if turn.is_multiple_of(2) {
            let first = ours()?;
            return Ok((first, peer()?));
        }
        let first = peer()?;
        Ok((ours()?, first))
    };
    (0..ALTERNATIONS).map(&mut pair).collect()
}

/// The median over some fresh processes, each of which has one figure.
fn figure(mut process: impl FnMut() -> anyhow::Result<Option<f64>>) -> anyhow::Result<f64> {
    /// A process whose batches were disturbed has no figure, and another one is asked; where so
    /// many have none, the machine is no place for this.
    const MOST_TRIES: usize = 20 * PROCESSES;
    let mut figures = Vec::new();
    for _ in 0..MOST_TRIES {
        figures.extend(process()?);
        if figures.len() == PROCESSES {
            return order::median(&order::sorted(&figures)).context("there is no figure");
        }
    }
    bail!("of {MOST_TRIES} processes only {} were left in peace", figures.len());
}

/// Shows how ours compare with a peer; whether the bar holds.
fn told(peer: &str, most: f64, pairs: anyhow::Result<Vec<(f64, f64)>>) -> bool {
    let pairs = match pairs {
        Ok(pairs) => pairs,
        Err(error) => {
            println!("  {peer}: failed: {error:#}");
            return false;
        }
    };
    let middle = |values: Vec<f64>| order::median(&order::sorted(&values)).unwrap_or(f64::NAN);
    let ratios = pairs.iter().map(|(ours, peer)| (ours / peer).ln()).collect::<Vec<_>>();
    let sorted = order::sorted(&ratios);
    let Some(interval) = median_hs(&sorted, Nominal::FIXED) else { return false };
    let (low, high) = (interval.lo.exp(), interval.hi.exp());
    let holds = low <= most;
    let figures = [
        in_ns(middle(pairs.iter().map(|pair| pair.0).collect())),
        in_ns(middle(pairs.iter().map(|pair| pair.1).collect())),
        format!("{:.3}", middle(ratios).exp()),
        format!("{low:.3} .. {high:.3}"),
        if holds { "holds" } else { "FAILS" }.to_owned(),
    ];
    println!("{}", line(&format!("  {peer}"), figures.each_ref().map(String::as_str)));
    holds
}

/// A figure; that of a byte is small.
fn in_ns(value: f64) -> String {
    if value < 1.0 { format!("{value:.4} ns") } else { format!("{value:.2} ns") }
}

/// A line of the table, in 80 columns.
fn line(name: &str, workers: [&str; 5]) -> String {
    let [ours, peer, ratio, interval, bar] = workers;
    format!("{name:<22}{ours:>13}{peer:>13}{ratio:>7}{interval:>16} {bar:>8}")
}
