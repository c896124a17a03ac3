//! A fleet's report as a document for programs.

use oscost_model::unit::Better;
use serde::Serialize;

use super::content::{FleetContent, Rejected};
use crate::fleet::{
    Adjustment, CaseChange, CaseSpread, ClassChanges, ClassSpread, DisturbedNode, FactCandidate,
    FactGroup, Finding, FindingScope, FleetCase, FleetChanges, FleetNode, NodeDeviation,
    NotJudgedNode, NotJudgedNuma, OtherRevision, VarianceShares, VisitCount,
};

/// The version of the document.
pub const SCHEMA: &str = "oscost.fleet-report/1";

/// Nodes are named, not numbered: readers join documents of several days.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    fleet: &'a str,
    visits: usize,
    judged: usize,
    false_discovery_rate: f64,
    detectable_ratio: Option<f64>,
    nodes: Vec<NodeDocument<'a>>,
    cases: Vec<CaseDocument<'a>>,
    findings: Vec<FindingDocument<'a>>,
    disturbed: Vec<DisturbedDocument<'a>>,
    not_judged: Vec<NotJudgedDocument<'a>>,
    classes: Vec<ClassDocument<'a>>,
    variance: Option<VarianceDocument>,
    numa_not_judged: Vec<NotJudgedNumaDocument<'a>>,
    rejected: Vec<RejectedDocument<'a>>,
    other_revisions: Vec<OtherRevisionDocument<'a>>,
    changes: Option<ChangesDocument<'a>>,
}

#[derive(Serialize)]
struct NodeDocument<'a> {
    name: &'a str,
    class: &'a str,
    visits: usize,
    cases: usize,
    ratio: Option<f64>,
    ci95: Option<[f64; 2]>,
    between_visits: Option<f64>,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    family: &'a str,
    unit: &'static str,
    better: Better,
    nodes: usize,
    median: Option<f64>,
    between_nodes: Option<f64>,
    between_visits: Option<f64>,
}

#[derive(Serialize)]
struct FindingDocument<'a> {
    node: &'a str,
    numa_node: Option<u32>,
    scope: ScopeDocument<'a>,
    ratio: f64,
    ci95: [f64; 2],
    adjusted_for: Option<&'static str>,
    not_claimable: Option<&'static str>,
    ratio_to_fleet: Option<f64>,
    q: f64,
    facts: Vec<FactDocument<'a>>,
}

/// A node whose visits support no claim more often than those of its equals.
#[derive(Serialize)]
struct DisturbedDocument<'a> {
    node: &'a str,
    not_claimable: &'static str,
    own: VisitsDocument,
    equals: VisitsDocument,
    q: f64,
    facts: Vec<FactDocument<'a>>,
}

/// How many visits support no claim, of how many.
#[derive(Serialize)]
struct VisitsDocument {
    not_claimable: usize,
    visits: usize,
}

/// A node of which visits that support no claim alone have figures, of all cases or of some.
#[derive(Serialize)]
struct NotJudgedDocument<'a> {
    node: &'a str,
    not_claimable: &'static str,
    visits: usize,
    has_other_visits: bool,
    farthest_case: Option<&'a str>,
    farthest_ratio: Option<f64>,
}

/// What of the node; the name of all of it is null.
#[derive(Serialize)]
struct ScopeDocument<'a> {
    kind: &'static str,
    name: Option<&'a str>,
}

#[derive(Serialize)]
struct FactDocument<'a> {
    name: &'static str,
    value: &'a str,
    usual: &'a str,
    with: GroupDocument,
    without: GroupDocument,
    p: f64,
}

#[derive(Serialize)]
struct GroupDocument {
    found: usize,
    nodes: usize,
}

#[derive(Serialize)]
struct ClassDocument<'a> {
    class: &'a str,
    nodes: usize,
    ratio: Option<f64>,
    lowest_and_highest: Option<[f64; 2]>,
}

#[derive(Serialize)]
struct VarianceDocument {
    processes: f64,
    visits: f64,
    numa_nodes: Option<f64>,
    nodes: f64,
    classes: f64,
}

/// A node of which several NUMA nodes were measured and not judged.
#[derive(Serialize)]
struct NotJudgedNumaDocument<'a> {
    node: &'a str,
    numa_nodes: usize,
    reason: &'static str,
}

#[derive(Serialize)]
struct RejectedDocument<'a> {
    file: &'a str,
    why: &'a str,
}

/// Figures that are left out.
#[derive(Serialize)]
struct OtherRevisionDocument<'a> {
    case: &'a str,
    rev: u32,
    newest: u32,
    figures: usize,
}

#[derive(Serialize)]
struct ChangesDocument<'a> {
    base: &'a str,
    common_nodes: usize,
    only_base: usize,
    only_new: usize,
    changed_class: usize,
    changed_revision: &'a [String],
    classes: Vec<ClassChangesDocument<'a>>,
}

#[derive(Serialize)]
struct ClassChangesDocument<'a> {
    class: &'a str,
    cases: Vec<CaseChangeDocument<'a>>,
}

#[derive(Serialize)]
struct CaseChangeDocument<'a> {
    case: &'a str,
    nodes: usize,
    ratio: Option<f64>,
    ci95: Option<[f64; 2]>,
    q: Option<f64>,
    verdict: &'static str,
}

fn node<'a>((node, it): (&'a FleetNode, &'a NodeDeviation)) -> NodeDocument<'a> {
    let NodeDeviation { cases, visits, ratio, ci95, between_visits } = *it;
    let (name, class) = (node.name.as_str(), &*node.class);
    NodeDocument { name, class, visits, cases, ratio, ci95, between_visits }
}

fn case<'a>((case, it): (&'a FleetCase, &'a CaseSpread)) -> CaseDocument<'a> {
    let CaseSpread { nodes, median, between_nodes, between_visits } = *it;
    CaseDocument {
        case: &case.case,
        family: &case.family,
        unit: case.unit.text(),
        better: case.better,
        nodes,
        median,
        between_nodes,
        between_visits,
    }
}

fn finding<'a>(content: &FleetContent<'a>, it: &'a Finding) -> FindingDocument<'a> {
    let scope = match &it.scope {
        FindingScope::Node => ScopeDocument { kind: "node", name: None },
        FindingScope::Family(family) => {
            ScopeDocument { kind: "family", name: Some(family.as_str()) }
        }
        FindingScope::Case(at) => {
            let case = content.fleet.cases.get(*at as usize);
            ScopeDocument { kind: "case", name: case.map(|it| it.case.as_str()) }
        }
    };
    FindingDocument {
        node: content.node(it.node).map_or("", |node| node.name.as_str()),
        numa_node: it.numa_node,
        scope,
        ratio: it.ratio,
        ci95: it.ci95,
        adjusted_for: it.adjustment.map(Adjustment::name),
        not_claimable: it.not_claimable,
        ratio_to_fleet: it.ratio_to_fleet,
        q: it.q,
        facts: it.facts.iter().map(fact).collect(),
    }
}

fn disturbed<'a>(content: &FleetContent<'a>, it: &'a DisturbedNode) -> DisturbedDocument<'a> {
    let visits =
        |of: VisitCount| VisitsDocument { not_claimable: of.not_claimable, visits: of.visits };
    DisturbedDocument {
        node: content.node(it.node).map_or("", |node| node.name.as_str()),
        not_claimable: it.reason,
        own: visits(it.own),
        equals: visits(it.equals),
        q: it.q,
        facts: it.facts.iter().map(fact).collect(),
    }
}

fn not_judged<'a>(content: &FleetContent<'a>, it: &NotJudgedNode) -> NotJudgedDocument<'a> {
    let farthest = it.farthest;
    let case = farthest.and_then(|it| content.fleet.cases.get(it.case as usize));
    NotJudgedDocument {
        node: content.node(it.node).map_or("", |node| node.name.as_str()),
        not_claimable: it.reason,
        visits: it.visits,
        has_other_visits: !it.is_whole,
        farthest_case: case.map(|case| case.case.as_str()),
        farthest_ratio: farthest.map(|it| it.ratio),
    }
}

fn fact(it: &FactCandidate) -> FactDocument<'_> {
    FactDocument {
        name: it.name,
        value: &it.value,
        usual: &it.usual,
        with: group(it.with),
        without: group(it.without),
        p: it.p,
    }
}

fn group(FactGroup { found, nodes }: FactGroup) -> GroupDocument {
    GroupDocument { found, nodes }
}

fn class(it: &ClassSpread) -> ClassDocument<'_> {
    ClassDocument {
        class: &it.class,
        nodes: it.nodes.len(),
        ratio: it.ratio,
        lowest_and_highest: it.range,
    }
}

fn variance(it: &VarianceShares) -> VarianceDocument {
    let VarianceShares { processes, visits, numa_nodes, nodes, classes } = *it;
    VarianceDocument { processes, visits, numa_nodes, nodes, classes }
}

fn numa_not_judged<'a>(
    content: &FleetContent<'a>,
    it: &NotJudgedNuma,
) -> NotJudgedNumaDocument<'a> {
    NotJudgedNumaDocument {
        node: content.node(it.node).map_or("", |node| node.name.as_str()),
        numa_nodes: it.numa_nodes,
        reason: it.reason.name(),
    }
}

fn rejected<'a>(it: &Rejected<'a>) -> RejectedDocument<'a> {
    RejectedDocument { file: it.file, why: it.why }
}

fn other_revision(it: &OtherRevision) -> OtherRevisionDocument<'_> {
    let OtherRevision { case, rev, newest, figures } = it;
    OtherRevisionDocument { case, rev: *rev, newest: *newest, figures: *figures }
}

fn changes(it: &FleetChanges) -> ChangesDocument<'_> {
    ChangesDocument {
        base: &it.base,
        common_nodes: it.common_nodes,
        only_base: it.only_base,
        only_new: it.only_new,
        changed_class: it.changed_class,
        changed_revision: &it.changed_revision,
        classes: it.classes.iter().map(class_changes).collect(),
    }
}

fn class_changes(it: &ClassChanges) -> ClassChangesDocument<'_> {
    ClassChangesDocument { class: &it.class, cases: it.cases.iter().map(case_change).collect() }
}

fn case_change(it: &CaseChange) -> CaseChangeDocument<'_> {
    CaseChangeDocument {
        case: &it.case,
        nodes: it.nodes,
        ratio: it.ratio,
        ci95: it.ci95,
        q: it.q,
        verdict: it.verdict,
    }
}

/// The report as JSON, indented, with a line end.
pub fn json(content: &FleetContent<'_>) -> Result<String, serde_json::Error> {
    let FleetContent { fleet, analysis, .. } = *content;
    let document = Document {
        schema: SCHEMA,
        fleet: &fleet.name,
        visits: fleet.visits.len(),
        judged: analysis.judged,
        false_discovery_rate: analysis.false_discovery_rate,
        detectable_ratio: analysis.detectable_ratio,
        nodes: fleet.nodes.iter().zip(&analysis.nodes).map(node).collect(),
        cases: fleet.cases.iter().zip(&analysis.cases).map(case).collect(),
        findings: analysis.findings.iter().map(|it| finding(content, it)).collect(),
        disturbed: analysis.disturbed.iter().map(|it| disturbed(content, it)).collect(),
        not_judged: analysis.not_judged.iter().map(|it| not_judged(content, it)).collect(),
        classes: analysis.classes.iter().map(class).collect(),
        variance: analysis.variance.as_ref().map(variance),
        numa_not_judged: analysis
            .numa_not_judged
            .iter()
            .map(|it| numa_not_judged(content, it))
            .collect(),
        rejected: content.rejected.iter().map(rejected).collect(),
        other_revisions: fleet.other_revisions.iter().map(other_revision).collect(),
        changes: content.changes.map(changes),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
