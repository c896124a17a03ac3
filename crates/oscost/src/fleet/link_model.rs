//! Which links and which nodes of a network are not like the others: the logarithm of the cost of a
//! link is a middle, a part of each of its nodes, and a rest of its own.
//!
//! The parts are fitted by medians (Tukey's median polish), so that a few slow links or nodes do not
//! move what the others are judged by. Nothing is judged without repeats: a link that was slow once
//! may have been disturbed.

use oscost_model::unit::{Better, Unit};
use oscost_stats::comparison::benjamini_hochberg;
use oscost_stats::order;
use oscost_stats::outlier::{Equals, two_sided_p};

use super::link_pairs::NodePair;

/// A finding may be false in so many of all findings.
const FALSE_DISCOVERY_RATE: f64 = 0.05;
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
    /// Why repeats have none, each reason once.
    pub reasons: Vec<String>,
}

impl Link {
    /// The median over repeats; `None` without any.
    pub fn median(&self) -> Option<f64> {
        order::median(&order::sorted(&self.values))
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
    /// The p value adjusted over all that was judged.
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

/// Analyses the links of a case between so many nodes.
pub fn analyse_links(case: &LinkCase, nodes: usize) -> LinkAnalysis {
    let log_link = |link: &Link| {
        let log = link.log_cost(case.better)?;
        Some(LogLink { pair: link.pair, log, repeats: link.values.len() })
    };
    let known: Vec<LogLink> = case.links.iter().filter_map(log_link).collect();
    let fit = Fit::of(&known, nodes);
    let between_repeats = between_repeats(case);
    let mut analysis = LinkAnalysis {
        nodes: fit.parts.iter().map(|part| part.map(f64::exp)).collect(),
        links: case
            .links
            .iter()
            .map(|link| Some((link.log_cost(case.better)? - fit.expected(link.pair)).exp()))
            .collect(),
        between_repeats,
        ..LinkAnalysis::default()
    };
    if let Some(deviation) = between_repeats {
        let judged: Vec<Judged> =
            [fit.judged_nodes(&known, deviation), fit.judged_links(&known, deviation)].concat();
        let q = benjamini_hochberg(&judged.iter().map(|it| it.p).collect::<Vec<_>>());
        let found = judged.iter().zip(q).filter(|(_, q)| *q <= FALSE_DISCOVERY_RATE);
        let finding = |(it, q): (&Judged, f64)| LinkFinding {
            scope: it.scope,
            ratio: it.difference.exp(),
            q,
        };
        analysis.findings = found.map(finding).collect();
        analysis.findings.sort_by(|one, other| one.q.total_cmp(&other.q));
        analysis.judged = judged.len();
    }
    analysis
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
        // The centre is that of all links: one of many does not move a median.
        let Some(equals) = Equals::of(&rests) else { return Vec::new() };
        let judge = |(link, rest): (&LogLink, &f64)| {
            let difference = rest - equals.centre;
            let by_repeats =
                two_sided_p(difference, between_repeats / (link.repeats as f64).sqrt());
            let p = equals.p(*rest).max(by_repeats);
            Judged { scope: LinkScope::Pair(link.pair), difference, p }
        };
        links.iter().zip(&rests).map(judge).collect()
    }
}

fn median(values: &[f64]) -> Option<f64> {
    order::median(&order::sorted(values))
}

/// The standard deviation of the logarithm between repeats, pooled over links.
fn between_repeats(case: &LinkCase) -> Option<f64> {
    let (mut squares, mut degrees_of_freedom) = (0.0, 0.0);
    for link in case.links.iter().filter(|link| link.values.len() >= 2) {
        let Some(mean) = link.log_cost(case.better) else { continue };
        let distances = link.values.iter().map(|value| log_cost(*value, case.better) - mean);
        squares += distances.map(|distance| distance * distance).sum::<f64>();
        degrees_of_freedom += (link.values.len() - 1) as f64;
    }
    (degrees_of_freedom > 0.0).then(|| (squares / degrees_of_freedom).sqrt())
}

#[cfg(test)]
mod tests {
    use oscost_model::seed::Seed;

    use super::*;
    use crate::fleet::link_pairs::{all_pairs, balanced_pairs};

    const NODES: usize = 10;

    /// A network whose nodes and links have these factors, measured `repeats` times; each figure
    /// varies by up to 2 % either side.
    fn network(better: Better, repeats: usize, factor: impl Fn(NodePair) -> f64) -> LinkCase {
        let mut seed = Seed::new(11);
        let mut pairs = balanced_pairs(NODES, all_pairs(NODES), 3);
        pairs.sort_unstable();
        let link = |pair: NodePair| {
            let mut value = || {
                let cost = factor(pair) * (1.0 + 0.04 * (seed.unit() - 0.5));
                if better == Better::Lower { 20_000.0 * cost } else { 1e9 / cost }
            };
            Link { pair, values: (0..repeats).map(|_| value()).collect(), reasons: Vec::new() }
        };
        let links = pairs.into_iter().map(link).collect();
        let unit = if better == Better::Lower { Unit::NsPerOp } else { Unit::BytesPerSecond };
        LinkCase { case: "socket/a".to_owned(), unit, better, links }
    }

    fn scopes(analysis: &LinkAnalysis) -> Vec<LinkScope> {
        analysis.findings.iter().map(|finding| finding.scope).collect()
    }

    #[test]
    fn a_slow_link_and_a_slow_node_are_told_apart_also_where_more_is_better() {
        let slow_pair = |pair: NodePair| if pair == [2, 5] { 1.5 } else { 1.0 };
        let slow_node = |pair: NodePair| if pair.contains(&7) { 1.3 } else { 1.0 };
        for better in [Better::Lower, Better::Higher] {
            let of_pair = analyse_links(&network(better, 3, slow_pair), NODES);
            assert_eq!(scopes(&of_pair), [LinkScope::Pair([2, 5])]);
            assert!((1.4..1.6).contains(&of_pair.findings[0].ratio), "{:?}", of_pair.findings);
            let of_node = analyse_links(&network(better, 3, slow_node), NODES);
            assert_eq!(scopes(&of_node), [LinkScope::Node(7)]);
            assert!((1.25..1.35).contains(&of_node.findings[0].ratio), "{:?}", of_node.findings);
            assert!((1.25..1.35).contains(&of_node.nodes[7].unwrap()));
            assert_eq!(of_node.judged, NODES + all_pairs(NODES));
        }
    }

    #[test]
    fn equal_links_have_no_finding_and_nothing_is_judged_without_repeats() {
        let equal = analyse_links(&network(Better::Lower, 3, |_| 1.0), NODES);
        assert!(equal.findings.is_empty(), "{:?}", equal.findings);
        assert!(equal.between_repeats.is_some_and(|sd| (0.005..0.02).contains(&sd)));
        let once = analyse_links(&network(Better::Lower, 1, |_| 1.0), NODES);
        assert_eq!((once.between_repeats, once.judged), (None, 0));
        assert!(once.links.iter().all(Option::is_some), "the ratios are there all the same");
    }

    #[test]
    fn a_link_without_figures_and_a_node_without_links_are_not_invented() {
        let mut case = network(Better::Lower, 2, |_| 1.0);
        case.links.retain(|link| !link.pair.contains(&0));
        case.links[0].values.clear();
        let analysis = analyse_links(&case, NODES);
        assert_eq!((analysis.nodes[0], analysis.links[0]), (None, None));
        assert_eq!(analysis.judged, NODES - 1 + case.links.len() - 1);
        assert_eq!(case.links[0].median(), None);
        let none = LinkCase { links: Vec::new(), ..case };
        assert_eq!(analyse_links(&none, 2).nodes, [None, None]);
    }
}
