//! A change on a fleet: nodes with it against nodes without, or both on each node.
//!
//! The node is the unit: its visits, and its processes, are no further evidence of what the change does
//! on another node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oscost_model::unit::{Better, Unit};
use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::interval::Nominal;
use oscost_stats::moments;
use oscost_stats::student::{Estimate, Weighted};
use oscost_stats::trimmed::trimmed_mean;

/// The accepted share of false discoveries, on average.
const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;
/// The smallest ratio worth reporting.
const MIN_RATIO: f64 = 1.01;
/// Sides within this factor of each other are equivalent.
const EQUIVALENCE_FACTOR: f64 = 1.03;
/// Logarithms of equal ratios differ by less: a smaller standard error is none.
const ROUNDING: f64 = 1e-12;
/// Fewer nodes with the very same ratio say nothing of how far nodes vary.
const MIN_EQUAL_NODES: usize = 3;

/// What one visit of a node says of a case.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeSides {
    /// The name of the node.
    pub node: String,
    /// Its class; empty if it is not known.
    pub class: Arc<str>,
    /// The case.
    pub case: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// Which sides it measured, and what.
    pub kind: MeasuredSides,
}

/// Which sides a node measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MeasuredSides {
    /// Both, interleaved.
    Both {
        /// New over base.
        ratio: f64,
        /// The standard error of its natural logarithm, if it is known.
        log_error: Option<f64>,
    },
    /// The base alone.
    Base {
        /// The median, in the case's unit.
        median: f64,
    },
    /// The new side alone.
    New {
        /// The median, in the case's unit.
        median: f64,
    },
}

/// A case on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct SideComparison {
    /// The case.
    pub case: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// New over base; `None` if a side has too few nodes.
    pub ratio: Option<f64>,
    /// Its interval of 95 %, corrected for the number of cases, so that it agrees with the verdict.
    pub ci95: Option<[f64; 2]>,
    /// The probability of such a ratio if nothing differs; 1 if it could not be compared.
    pub p: f64,
    /// The p value adjusted over all cases (Benjamini and Hochberg).
    pub q: f64,
    /// What follows.
    pub verdict: SideVerdict,
    /// How many nodes the ratio is of.
    pub nodes: usize,
}

/// The verdict on a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SideVerdict {
    /// The new figure is larger, by more than 1 %.
    Larger,
    /// The new figure is smaller, by more than 1 %.
    Smaller,
    /// The figures differ by less than 3 %.
    Equivalent,
    /// Neither can be shown.
    Inconclusive,
}

/// Compares the sides of each case, in the order of their names.
///
/// Where at least two nodes measured both sides, it is the trimmed mean over nodes of the logarithm of
/// their ratios. Otherwise it is the difference of the trimmed means of nodes with and without the
/// change, within each class that has at least two of both, weighted by the number of nodes. Trimmed
/// means (of the middle 60 %) keep a few odd nodes from deciding, without all pairs of nodes.
pub fn compare_sides(nodes: &[NodeSides]) -> Vec<SideComparison> {
    let mut by_case: BTreeMap<&str, Vec<&NodeSides>> = BTreeMap::new();
    for it in nodes {
        by_case.entry(&it.case).or_default().push(it);
    }
    let compared: Vec<ComparedCase> = by_case.into_values().filter_map(ComparedCase::of).collect();
    let p: Vec<f64> = compared.iter().filter_map(|it| Some(it.change?.log.two_sided_p())).collect();
    let mut q = benjamini_hochberg(&p).into_iter();
    let discoveries = q.clone().filter(|&q| q <= MAX_FALSE_DISCOVERY_RATE).count();
    let nominal = Nominal::FIXED.corrected(discoveries, p.len());
    compared.iter().map(|it| it.judged(nominal, &mut q)).collect()
}

/// A case, before correction for the number of cases.
struct ComparedCase<'a> {
    about: &'a NodeSides,
    change: Option<Change>,
}

/// What a change does to a case.
#[derive(Clone, Copy)]
struct Change {
    /// The logarithm of new over base.
    log: Estimate,
    nodes: usize,
}

impl<'a> ComparedCase<'a> {
    fn of(sides: Vec<&'a NodeSides>) -> Option<Self> {
        let about = *sides.first()?;
        let both = node_means(&sides, |kind| match kind {
            MeasuredSides::Both { ratio, .. } => Some(ratio),
            MeasuredSides::Base { .. } | MeasuredSides::New { .. } => None,
        });
        let ratios: Vec<f64> = both.into_values().flat_map(BTreeMap::into_values).collect();
        // Nodes that agree by chance are still known no better than their figures are.
        let paired = known_mean(&ratios, error_of_figures(&sides, ratios.len()));
        let paired = paired.map(|log| Change { log, nodes: ratios.len() });
        Some(Self { about, change: paired.or_else(|| split_change(&sides)) })
    }

    fn judged(&self, nominal: Nominal, q: &mut impl Iterator<Item = f64>) -> SideComparison {
        let NodeSides { case, unit, better, .. } = self.about;
        let adjusted = self.change.and_then(|change| Some((change, q.next()?)));
        let mut comparison = SideComparison {
            case: case.clone(),
            unit: *unit,
            better: *better,
            ratio: None,
            ci95: None,
            p: 1.0,
            q: 1.0,
            verdict: SideVerdict::Inconclusive,
            nodes: 0,
        };
        if let Some((change, q)) = adjusted {
            let interval = change.log.interval(nominal);
            comparison.ratio = Some(change.log.value.exp());
            comparison.ci95 = Some([interval.lo.exp(), interval.hi.exp()]);
            comparison.p = change.log.two_sided_p();
            comparison.q = q;
            comparison.verdict = verdict(&change.log, nominal, q);
            comparison.nodes = change.nodes;
        }
        comparison
    }
}

/// The verdict by the interval that is shown, so that the two agree.
fn verdict(log: &Estimate, nominal: Nominal, q: f64) -> SideVerdict {
    let interval = log.interval(nominal);
    let found = q <= MAX_FALSE_DISCOVERY_RATE;
    let bound = EQUIVALENCE_FACTOR.ln();
    if found && interval.lo > MIN_RATIO.ln() {
        SideVerdict::Larger
    } else if found && interval.hi < -MIN_RATIO.ln() {
        SideVerdict::Smaller
    } else if -bound < interval.lo && interval.hi < bound {
        SideVerdict::Equivalent
    } else {
        SideVerdict::Inconclusive
    }
}

/// The trimmed mean over nodes, with a standard error of at least this. `None` of too few nodes to
/// know its error.
fn known_mean(logs: &[f64], min_error: f64) -> Option<Estimate> {
    let mean = trimmed_mean(logs)?;
    let standard_error = mean.standard_error.max(min_error);
    let are_equal = || logs.iter().all(|log| (log - logs[0]).abs() <= ROUNDING);
    let is_known = standard_error > ROUNDING || (logs.len() >= MIN_EQUAL_NODES && are_equal());
    is_known.then_some(Estimate { standard_error, ..mean })
}

/// The standard error of the mean over so many nodes that the errors of their own ratios leave; what
/// is not known of them adds nothing.
fn error_of_figures(sides: &[&NodeSides], nodes: usize) -> f64 {
    let mut by_node: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for it in sides {
        if let MeasuredSides::Both { log_error, .. } = it.kind {
            by_node.entry(&it.node).or_default().push(log_error.unwrap_or(0.0).powi(2));
        }
    }
    let of_node = |errors: &Vec<f64>| errors.iter().sum::<f64>() / (errors.len() as f64).powi(2);
    by_node.values().map(of_node).sum::<f64>().sqrt() / nodes.max(1) as f64
}

/// By class and node: the mean over visits of the logarithms of what they measured.
fn node_means<'a>(
    sides: &[&'a NodeSides],
    measured: impl Fn(MeasuredSides) -> Option<f64>,
) -> BTreeMap<&'a str, BTreeMap<&'a str, f64>> {
    let mut logs: BTreeMap<&str, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for it in sides {
        let log = measured(it.kind).map(f64::ln).filter(|log| log.is_finite());
        if let Some(log) = log {
            logs.entry(&it.class).or_default().entry(&it.node).or_default().push(log);
        }
    }
    let mean = |(node, logs): (&'a str, Vec<f64>)| Some((node, moments::mean(&logs)?));
    logs.into_iter()
        .map(|(class, nodes)| (class, nodes.into_iter().filter_map(mean).collect()))
        .collect()
}

/// The change between nodes of one side and nodes of the other, within each class. `None` if no class
/// has two of both that vary, or more that do not.
fn split_change(sides: &[&NodeSides]) -> Option<Change> {
    let base = node_means(sides, |kind| match kind {
        MeasuredSides::Base { median } => Some(median),
        MeasuredSides::Both { .. } | MeasuredSides::New { .. } => None,
    });
    let new = node_means(sides, |kind| match kind {
        MeasuredSides::New { median } => Some(median),
        MeasuredSides::Both { .. } | MeasuredSides::Base { .. } => None,
    });
    let mut parts = Vec::new();
    let mut nodes = 0;
    let classes: BTreeSet<&str> = base.keys().copied().collect();
    for class in classes {
        let (Some(base), Some(new)) = (base.get(class), new.get(class)) else { continue };
        let logs = |of: &BTreeMap<&str, f64>| of.values().copied().collect::<Vec<f64>>();
        let (base_logs, new_logs) = (logs(base), logs(new));
        let means = known_mean(&base_logs, 0.0).zip(known_mean(&new_logs, 0.0));
        let Some((of_base, of_new)) = means else { continue };
        let (base, new) = (base_logs.len() as f64, new_logs.len() as f64);
        // The variance of a difference is in proportion to 1/base + 1/new, if nodes are alike.
        let weight = base * new / (base + new);
        parts.push(Weighted { estimate: of_new.minus(of_base), weight });
        nodes += base_logs.len() + new_logs.len();
    }
    let total: f64 = parts.iter().map(|it| it.weight).sum();
    parts.iter_mut().for_each(|it| it.weight /= total);
    (!parts.is_empty()).then(|| Change { log: Estimate::sum(&parts), nodes })
}

#[cfg(test)]
mod tests;
