//! A network as a document for programs.

use oscost_model::unit::Better;
use serde::Serialize;

use crate::fleet::{AnalysedLinks, LinkFinding, LinkScope, MeasuredNetwork, NodePair};

/// The version of the document.
pub const SCHEMA: &str = "oscost.fleet-links/1";

/// Indices of nodes are those of `nodes`.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    nodes: &'a [String],
    pairs: usize,
    repeats: u32,
    seed: u64,
    complete: bool,
    cases: Vec<CaseDocument<'a>>,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    unit: &'static str,
    better: Better,
    sd_between_repeats: Option<f64>,
    judged: usize,
    /// The cost of each node over the middle one.
    nodes: &'a [Option<f64>],
    links: Vec<LinkDocument<'a>>,
    findings: Vec<FindingDocument>,
}

#[derive(Serialize)]
struct LinkDocument<'a> {
    pair: NodePair,
    values: &'a [f64],
    /// The indices of values that nothing is concluded from.
    not_claimable: &'a [usize],
    median: Option<f64>,
    /// Its cost over what its nodes let expect.
    ratio: Option<f64>,
    reasons: &'a [String],
}

/// A finding of a node, or of a pair.
#[derive(Serialize)]
struct FindingDocument {
    node: Option<usize>,
    pair: Option<NodePair>,
    ratio: f64,
    q: f64,
}

fn finding(it: &LinkFinding) -> FindingDocument {
    let (node, pair) = match it.scope {
        LinkScope::Node(node) => (Some(node), None),
        LinkScope::Pair(pair) => (None, Some(pair)),
    };
    FindingDocument { node, pair, ratio: it.ratio, q: it.q }
}

fn case(AnalysedLinks { case, analysis }: &AnalysedLinks) -> CaseDocument<'_> {
    let links = case.links.iter().zip(&analysis.links).map(|(link, ratio)| LinkDocument {
        pair: link.pair,
        values: &link.values,
        not_claimable: &link.not_claimable,
        median: link.median(),
        ratio: *ratio,
        reasons: &link.reasons,
    });
    CaseDocument {
        case: &case.case,
        unit: case.unit.text(),
        better: case.better,
        sd_between_repeats: analysis.between_repeats,
        judged: analysis.judged,
        nodes: &analysis.nodes,
        links: links.collect(),
        findings: analysis.findings.iter().map(finding).collect(),
    }
}

/// The network as JSON, indented, with a line end.
pub fn json(network: &MeasuredNetwork) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        nodes: &network.nodes,
        pairs: network.pairs,
        repeats: network.repeats,
        seed: network.seed,
        complete: !network.is_interrupted,
        cases: network.cases.iter().map(case).collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
