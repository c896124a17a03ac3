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
    worker: impl FnMut() -> anyhow::Result<f64>,
    peer: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<Vec<(f64, f64)>> {
    alternate_times(ALTERNATIONS, worker, peer)
}

/// The same, this number of pairs.
pub(super) fn alternate_times(
    pairs: usize,
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
    (0..pairs).map(&mut pair).collect()
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

/// How ours compares with a peer over all pairs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Comparison {
    worker_ns: f64,
    peer_ns: f64,
    ratio: f64,
    /// The interval of the ratio.
    pub(super) low: f64,
    pub(super) high: f64,
    difference_ns: f64,
}

impl Comparison {
    /// `None` below six pairs, which have no interval.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Option<Self> {
        let sorted = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
            order::sorted(&pairs.iter().map(of).collect::<Vec<_>>())
        };
        let ratios = sorted(|(worker, peer)| (worker / peer).ln());
        let interval = median_hs(&ratios, Nominal::FIXED)?;
        Some(Self {
            worker_ns: order::median(&sorted(|pair| pair.0))?,
            peer_ns: order::median(&sorted(|pair| pair.1))?,
            ratio: order::median(&ratios)?.exp(),
            low: interval.lo.exp(),
            high: interval.hi.exp(),
            difference_ns: order::median(&sorted(|(worker, peer)| worker - peer))?,
        })
    }

    /// Prints its line of the table.
    pub(super) fn print(&self, peer: &str, verdict: &str) {
        let figures = [
            format_ns(self.worker_ns),
            format_ns(self.peer_ns),
            format!("{:.3}", self.ratio),
            format!("{:.3} .. {:.3}", self.low, self.high),
            verdict.to_owned(),
        ];
        println!("{}", line(&format!("  {peer}"), figures.each_ref().map(String::as_str)));
    }
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
    let Some(comparison) = Comparison::of(&pairs) else { return false };
    let holds = comparison.low <= bar.ratio || comparison.difference_ns <= bar.difference_ns;
    comparison.print(peer, if holds { "holds" } else { "FAILS" });
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
