//! Pairs of figures, ours and a peer's, and how they are printed.

use anyhow::{Context, bail};
use oscost_stats::interval::{Nominal, median_hs};
use oscost_stats::order;

/// Pairs of figures, one of ours and one of the peer's: an interval needs six.
pub(super) const ALTERNATIONS: usize = 15;
/// Fresh processes for each figure of a pair.
pub(super) const PROCESSES: usize = 3;

/// Pairs of figures, ours first. The two alternate, and so does which one begins, so that drift
/// affects both alike.
pub(super) fn alternate(
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
pub(super) fn figure(
    mut process: impl FnMut() -> anyhow::Result<Option<f64>>,
) -> anyhow::Result<f64> {
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

/// What our figure may be against a peer's: one of the two must hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar {
    /// The largest ratio.
    pub(super) ratio: f64,
    /// The largest difference, in nanoseconds: a small part of an op that enters the kernel.
    pub(super) difference_ns: f64,
}

/// Prints how ours compares with a peer; returns whether the bar holds.
pub(super) fn print_comparison(
    peer: &str,
    bar: Bar,
    pairs: anyhow::Result<Vec<(f64, f64)>>,
) -> bool {
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
    let difference_ns = median(pairs.iter().map(|(worker, peer)| worker - peer).collect());
    let holds = low <= bar.ratio || difference_ns <= bar.difference_ns;
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
pub(super) fn line(name: &str, columns: [&str; 5]) -> String {
    let [worker, peer, ratio, interval, bar] = columns;
    format!("{name:<22}{worker:>13}{peer:>13}{ratio:>7}{interval:>16} {bar:>8}")
}
