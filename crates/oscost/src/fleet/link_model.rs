//! Which links and which nodes of a network are not like the others: the logarithm of the cost of a
//! link is a middle, a part of each of its nodes, and a rest of its own.
//!
//! The parts are fitted by medians (Tukey's median polish), so that a few slow links or nodes do not
//! move what the others are judged by. Nothing is judged without repeats: a link that was slow once
//! may have been disturbed.

use oscost_model::unit::{Better, Unit};
use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::order;
use oscost_stats::outlier::{Equals, MIN_EQUALS, two_sided_p};
use oscost_stats::student::Estimate;

use super::link_pairs::NodePair;

/// A finding may be false in so many of all findings.
const FALSE_DISCOVERY_RATE: f64 = 0.05;
/// Smaller differences are not reported, however sure they are: nothing depends on them.
const MIN_RATIO: f64 = 1.02;
/// The ratio of standard deviation to median distance from the centre of normal values.
const NORMAL_SD_PER_MEDIAN: f64 = 1.482_602_218_505_602;
/// What the median distance keeps of the degrees of freedom of normal values (Rousseeuw and Croux
/// 1993).
const DEVIATION_EFFICIENCY: f64 = 0.37;
/// The parts change by less than any figure shows after so many rounds.
const POLISH_ROUNDS: usize = 20;

/// What was measured of one case between nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkCase {
    /// The case.
    pub case: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The links, in the order of their pairs.
    pub links: Vec<Link>,
}

/// A case between two nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// The nodes.
    pub pair: NodePair,
    /// The figure of each repeat that has one, in the order of time.
    pub values: Vec<f64>,
    /// The indices of those that nothing is concluded from: of very noisy runs.
    pub not_claimable: Vec<usize>,
    /// Why repeats have none, each reason once.
    pub reasons: Vec<String>,
}

impl Link {
    /// The median over repeats; `None` without any.
    pub fn median(&self) -> Option<f64> {
        order::median(&order::sorted(&self.values))
    }

    /// The same with those figures alone that something may be concluded from.
    fn claimable(&self) -> Self {
        let all = self.values.iter().enumerate();
        let claimable = all.filter(|(at, _)| !self.not_claimable.contains(at));
        Self {
            pair: self.pair,
            values: claimable.map(|(_, value)| *value).collect(),
            not_claimable: Vec::new(),
            reasons: Vec::new(),
        }
    }

    /// The mean logarithm of its cost; `None` without a figure above 0.
    fn log_cost(&self, better: Better) -> Option<f64> {
        let logs: Vec<f64> = self.values.iter().map(|value| log_cost(*value, better)).collect();
        let usable = !logs.is_empty() && logs.iter().all(|log| log.is_finite());
        usable.then(|| logs.iter().sum::<f64>() / logs.len() as f64)
    }
}

/// The logarithm of a cost: of a rate, that of its inverse.
fn log_cost(value: f64, better: Better) -> f64 {
    match better {
        Better::Lower => value.ln(),
        Better::Higher => -value.ln(),
    }
}

/// What stands out among the links of a case.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LinkAnalysis {
    /// The ratio of the cost of each node to that of the middle one; `None` without a link.
    pub nodes: Vec<Option<f64>>,
    /// The ratio of the cost of each link to what its nodes let expect; `None` without a figure.
    pub links: Vec<Option<f64>>,
    /// The standard deviation of the logarithm between repeats of a link; `None` without repeats.
    pub between_repeats: Option<f64>,
    /// What differs, the surest first.
    pub findings: Vec<LinkFinding>,
    /// How many nodes and links were judged.
    pub judged: usize,
}

/// A node or a link that is not like the others.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkFinding {
    /// Which.
    pub scope: LinkScope,
    /// The ratio of its cost to that of the others.
    pub ratio: f64,
    /// The p value adjusted over all that was judged, of all cases.
    pub q: f64,
}

/// What of a network differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkScope {
    /// All links of a node.
    Node(usize),
    /// One link.
    Pair(NodePair),
}

/// A link in the model.
struct LogLink {
    pair: NodePair,
    log: f64,
    repeats: usize,
}

/// Analyses the links of each case between so many nodes.
pub fn analyse_links(cases: &[LinkCase], nodes: usize) -> Vec<LinkAnalysis> {
    let (mut analyses, judged): (Vec<LinkAnalysis>, Vec<Vec<Judged>>) =
        cases.iter().map(|case| analyse_case(case, nodes)).unzip();
    let p: Vec<f64> = judged.iter().flatten().map(|it| it.p).collect();
    let mut q = benjamini_hochberg(&p).into_iter();
    for (analysis, judged) in analyses.iter_mut().zip(&judged) {
        analysis.judged = judged.len();
        let is_finding = |(it, q): &(&Judged, f64)| {
            *q <= FALSE_DISCOVERY_RATE && it.difference.abs() >= MIN_RATIO.ln()
        };
        let finding = |(it, q): (&Judged, f64)| LinkFinding {
            scope: it.scope,
            ratio: it.difference.exp(),
            q,
        };
        let found = judged.iter().zip(q.by_ref()).filter(is_finding);
        analysis.findings = found.map(finding).collect();
        analysis.findings.sort_by(|one, other| one.q.total_cmp(&other.q));
    }
    analyses
}

/// Describes the links of a case, and judges them by themselves: by those figures alone that something
/// may be concluded from.
fn analyse_case(case: &LinkCase, nodes: usize) -> (LinkAnalysis, Vec<Judged>) {
    let log_link = |link: &Link| {
        let log = link.log_cost(case.better)?;
        Some(LogLink { pair: link.pair, log, repeats: link.values.len() })
    };
    let known: Vec<LogLink> = case.links.iter().filter_map(log_link).collect();
    let fit = Fit::of(&known, nodes);
    let claimable: Vec<Link> = case.links.iter().map(Link::claimable).collect();
    let between_repeats = between_repeats(&claimable, case.better);
    let analysis = LinkAnalysis {
        nodes: fit.parts.iter().map(|part| part.map(f64::exp)).collect(),
        links: case
            .links
            .iter()
            .map(|link| Some((link.log_cost(case.better)? - fit.expected(link.pair)).exp()))
            .collect(),
        between_repeats,
        ..LinkAnalysis::default()
    };
    let judged = between_repeats.map(|deviation| {
        let known: Vec<LogLink> = claimable.iter().filter_map(log_link).collect();
        let fit = Fit::of(&known, nodes);
        [fit.judged_nodes(&known, deviation), fit.judged_links(&known, deviation)].concat()
    });
    (analysis, judged.unwrap_or_default())
}

/// A node or a link that was judged.
#[derive(Clone, Copy)]
struct Judged {
    scope: LinkScope,
    /// The logarithm of the ratio to the others.
    difference: f64,
    p: f64,
}

/// The middle, and the part of each node.
struct Fit {
    middle: f64,
    parts: Vec<Option<f64>>,
}

impl Fit {
    fn of(links: &[LogLink], nodes: usize) -> Self {
        let logs: Vec<f64> = links.iter().map(|link| link.log).collect();
        let middle = median(&logs).unwrap_or(0.0);
        let has_link = |node: usize| links.iter().any(|link| link.pair.contains(&node));
        let parts = (0..nodes).map(|node| has_link(node).then_some(0.0)).collect();
        let mut fit = Self { middle, parts };
        for _ in 0..POLISH_ROUNDS {
            fit.polish(links);
        }
        fit
    }

    /// One round: each node takes the middle of what its links have left, and the middle what the
    /// nodes have in common.
    fn polish(&mut self, links: &[LogLink]) {
        for node in 0..self.parts.len() {
            let own = links.iter().filter(|link| link.pair.contains(&node));
            let rests: Vec<f64> = own.map(|link| link.log - self.expected(link.pair)).collect();
            if let (Some(part), Some(rest)) = (&mut self.parts[node], median(&rests)) {
                *part += rest;
            }
        }
        let parts: Vec<f64> = self.parts.iter().copied().flatten().collect();
        let Some(common) = median(&parts) else { return };
        self.parts.iter_mut().flatten().for_each(|part| *part -= common);
        self.middle += 2.0 * common;
    }

    /// The logarithm of the cost that the nodes of a link let expect.
    fn expected(&self, [a, b]: NodePair) -> f64 {
        let part = |node: usize| self.parts.get(node).copied().flatten().unwrap_or(0.0);
        self.middle + part(a) + part(b)
    }

    /// Each node beside the others: it differs by more than they do among themselves, and by more
    /// than repeats do.
    fn judged_nodes(&self, links: &[LogLink], between_repeats: f64) -> Vec<Judged> {
        let judge = |node: usize| {
            let part = self.parts[node]?;
            let others = self.parts.iter().enumerate().filter(|(at, _)| *at != node);
            let others: Vec<f64> = others.filter_map(|(_, part)| *part).collect();
            let equals = Equals::of(&others)?;
            let own = links.iter().filter(|link| link.pair.contains(&node));
            let figures: usize = own.map(|link| link.repeats).sum();
            let difference = part - equals.centre;
            let by_repeats = two_sided_p(difference, between_repeats / (figures as f64).sqrt());
            let p = equals.p(part).max(by_repeats);
            Some(Judged { scope: LinkScope::Node(node), difference, p })
        };
        (0..self.parts.len()).filter_map(judge).collect()
    }

    /// Each link beside the others, without what its nodes have in all their links.
    fn judged_links(&self, links: &[LogLink], between_repeats: f64) -> Vec<Judged> {
        let rest = |link: &LogLink| link.log - self.expected(link.pair);
        let rests: Vec<f64> = links.iter().map(rest).collect();
        let nodes = self.parts.iter().flatten().count();
        let Some(spread) = RestSpread::of(&rests, nodes) else { return Vec::new() };
        let judge = |(link, rest): (&LogLink, &f64)| {
            let among_equals = spread.estimate(*rest);
            let difference = among_equals.value;
            let by_repeats =
                two_sided_p(difference, between_repeats / (link.repeats as f64).sqrt());
            let p = among_equals.two_sided_p().max(by_repeats);
            Judged { scope: LinkScope::Pair(link.pair), difference, p }
        };
        links.iter().zip(&rests).map(judge).collect()
    }
}

/// How far links are from what their nodes let expect.
struct RestSpread {
    centre: f64,
    deviation: f64,
    degrees_of_freedom: f64,
}

impl RestSpread {
    /// The spread of the links of so many nodes; `None` of too few links.
    ///
    /// The part of a node is a median of its links, so that one of them has no rest at all: as many rests
    /// as there are nodes say nothing of the spread, and are left out.
    fn of(rests: &[f64], nodes: usize) -> Option<Self> {
        let free = rests.len().checked_sub(nodes).filter(|free| *free >= MIN_EQUALS)?;
        // The centre is that of all links: one of many does not move a median.
        let centre = median(rests)?;
        let sizes: Vec<f64> = rests.iter().map(|rest| (rest - centre).abs()).collect();
        let typical = order::median(&order::sorted(&sizes)[nodes..])?;
        let free = free as f64;
        // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
        let deviation = NORMAL_SD_PER_MEDIAN * typical * free / (free - 0.8);
        Some(Self { centre, deviation, degrees_of_freedom: DEVIATION_EFFICIENCY * free })
    }

    /// How far a link is from the others, with the standard deviation of an ordinary one.
    fn estimate(&self, rest: f64) -> Estimate {
        Estimate {
            value: rest - self.centre,
            standard_error: self.deviation,
            degrees_of_freedom: self.degrees_of_freedom,
        }
    }
}

fn median(values: &[f64]) -> Option<f64> {
    order::median(&order::sorted(values))
}

/// The standard deviation of the logarithm between repeats, pooled over links.
fn between_repeats(links: &[Link], better: Better) -> Option<f64> {
    let (mut squares, mut degrees_of_freedom) = (0.0, 0.0);
    for link in links.iter().filter(|link| link.values.len() >= 2) {
        let Some(mean) = link.log_cost(better) else { continue };
        let distances = link.values.iter().map(|value| log_cost(*value, better) - mean);
        squares += distances.map(|distance| distance * distance).sum::<f64>();
        degrees_of_freedom += (link.values.len() - 1) as f64;
    }
    (degrees_of_freedom > 0.0).then(|| (squares / degrees_of_freedom).sqrt())
}

#[cfg(test)]
mod tests;
