//! The columns of the table `fleet-cases`: a line for each case on each node of a fleet.

use std::ops::Range;

use oscost_model::unit::Better;

use crate::fleet::{
    Adjustment, CaseFigure, Finding, FindingScope, Fleet, FleetAnalysis, FleetCase, FleetNode,
    NodeVisit, NotJudgedNode,
};
use crate::report::view::export::sheet::Kind::{Float, Integer, Text};
use crate::report::view::export::sheet::{Cells, Heading, Value, heading};

/// The version of these columns.
pub(super) const SCHEMA: &str = "oscost.fleet-cases/1";

/// When a case has no figure on a node.
const NOT_MEASURED: Option<&str> = Some("the node has no figure of the case");
/// When no visit of a node by which it is judged has a case.
const NO_RATIO: Option<&str> = Some("no visit that supports a claim has a figure of the case");
/// When one has, or none at all.
const JUDGED: Option<&str> =
    Some("the node has no figure of the case, or a visit that supports a claim has one");
/// When nothing stands out.
const NOT_FOUND: Option<&str> = Some("it does not stand out");

/// The cases of a fleet by node as a table. It copies no figure: a fleet may have a million.
pub struct FleetSheet<'a> {
    fleet: &'a Fleet,
    analysis: &'a FleetAnalysis,
    nodes: Vec<NodeLines<'a>>,
}

/// What the lines of a node share.
#[derive(Clone, Default)]
struct NodeLines<'a> {
    visits: Range<usize>,
    findings: Vec<&'a Finding>,
}

/// A line of the table.
struct Line<'a> {
    sheet: &'a FleetSheet<'a>,
    node_index: usize,
    case_index: usize,
    node: &'a FleetNode,
    case: &'a FleetCase,
}

/// A column: what it is called and means, and where it is read.
struct Column {
    heading: Heading,
    read: for<'a> fn(&Line<'a>) -> Value<'a>,
}

impl<'a> FleetSheet<'a> {
    /// The cases of the first node, then those of the next.
    pub fn of(fleet: &'a Fleet, analysis: &'a FleetAnalysis) -> Self {
        let mut nodes = vec![NodeLines::default(); fleet.nodes.len()];
        for (at, visit) in fleet.visits.iter().enumerate() {
            if let Some(NodeLines { visits, .. }) = nodes.get_mut(visit.node) {
                // The visits of a node are neighbours.
                *visits =
                    if visits.start == visits.end { at..at + 1 } else { visits.start..at + 1 };
            }
        }
        for finding in &analysis.findings {
            if let Some(NodeLines { findings, .. }) = nodes.get_mut(finding.node) {
                findings.push(finding);
            }
        }
        Self { fleet, analysis, nodes }
    }
}

impl Cells for FleetSheet<'_> {
    fn schema(&self) -> &'static str {
        SCHEMA
    }

    fn records(&self) -> &str {
        &self.fleet.name
    }

    fn headings(&self) -> Vec<Heading> {
        headings().collect()
    }

    fn line_count(&self) -> usize {
        self.fleet.nodes.len() * self.fleet.cases.len()
    }

    fn cell(&self, line: usize, column: usize) -> Value<'_> {
        let (node_index, case_index) =
            (line / self.fleet.cases.len(), line % self.fleet.cases.len());
        let line = Line {
            sheet: self,
            node_index,
            case_index,
            node: &self.fleet.nodes[node_index],
            case: &self.fleet.cases[case_index],
        };
        (COLUMNS[column].read)(&line)
    }
}

impl<'a> Line<'a> {
    fn lines_of_node(&self) -> &'a NodeLines<'a> {
        &self.sheet.nodes[self.node_index]
    }

    /// The figures of the case on the node, one a visit, in the order of the visits.
    fn medians(&self) -> Vec<f64> {
        let Range { start, end } = self.lines_of_node().visits.clone();
        let visits = self.sheet.fleet.visits.get(start..end).unwrap_or_default();
        let figure = |visit: &NodeVisit| -> Option<CaseFigure> {
            let at = visit.figures.binary_search_by_key(&(self.case_index as u32), |it| it.case);
            visit.figures.get(at.ok()?).copied()
        };
        visits.iter().filter_map(figure).map(|it| it.median).collect()
    }

    fn median(&self) -> Option<f64> {
        let sorted = oscost_stats::order::sorted(&self.medians());
        oscost_stats::order::median(&sorted)
    }

    fn ratio(&self) -> Option<f64> {
        let at = self.node_index * self.sheet.fleet.cases.len() + self.case_index;
        let ratio = self.sheet.analysis.ratios.get(at)?;
        ratio.is_finite().then_some(f64::from(*ratio))
    }

    /// The node, if nothing is concluded from its figures of the case.
    fn not_judged(&self) -> Option<&'a NotJudgedNode> {
        let all = &self.sheet.analysis.not_judged;
        let at = all.binary_search_by_key(&self.node_index, |it| it.node).ok()?;
        all.get(at).filter(|it| it.ratios.get(self.case_index).is_some_and(|it| it.is_finite()))
    }

    fn not_judged_ratio(&self) -> Option<f64> {
        self.not_judged()?.ratios.get(self.case_index).copied().map(f64::from)
    }

    /// The narrowest finding that the case on the node is a part of.
    fn finding(&self) -> Option<&'a Finding> {
        let is_part = |it: &&&'a Finding| match &it.scope {
            FindingScope::Case(case) => *case as usize == self.case_index,
            FindingScope::Family(family) => *family == self.case.family,
            FindingScope::Node => true,
        };
        let found = self.lines_of_node().findings.iter().filter(is_part);
        let narrower = |one: &Finding, other: &Finding| {
            one.scope.cmp(&other.scope).then(one.numa_node.cmp(&other.numa_node))
        };
        found.max_by(|one, other| narrower(one, other)).copied()
    }

    fn better(&self) -> &'static str {
        match self.case.better {
            Better::Lower => "lower",
            Better::Higher => "higher",
        }
    }
}

/// What of a node a finding is of.
fn scope(finding: &Finding) -> &'static str {
    match finding.scope {
        FindingScope::Node => "node",
        FindingScope::Family(_) => "family",
        FindingScope::Case(_) => "case",
    }
}

/// The headings of the columns, in order.
pub(super) fn headings() -> impl Iterator<Item = Heading> {
    COLUMNS.iter().map(|column| column.heading)
}

/// All of them, in the order in which they are written.
const COLUMNS: &[Column] = &[
    Column {
        heading: heading("node", Text, "the name of the node", None),
        read: |line| (&line.node.name).into(),
    },
    Column {
        heading: heading(
            "node_class",
            Text,
            "the class of the node: such nodes are expected to be equal",
            Some("it is not known"),
        ),
        read: |line| (!line.node.class.is_empty()).then_some(&*line.node.class).into(),
    },
    Column {
        heading: heading(
            "case",
            Text,
            "the case: `family/name:axis=value,...`, without implied values, and its treatments",
            None,
        ),
        read: |line| (&line.case.case).into(),
    },
    Column {
        heading: heading("family", Text, "its family", None),
        read: |line| (&line.case.family).into(),
    },
    Column {
        heading: heading("unit", Text, "the unit of the medians", None),
        read: |line| line.case.unit.text().into(),
    },
    Column {
        heading: heading("better", Text, "`lower` or `higher`", None),
        read: |line| line.better().into(),
    },
    Column {
        heading: heading("visits", Integer, "how many visits of the node measured the case", None),
        read: |line| (line.medians().len() as u64).into(),
    },
    Column {
        heading: heading(
            "median",
            Float,
            "the median of its medians over the visits",
            NOT_MEASURED,
        ),
        read: |line| line.median().into(),
    },
    Column {
        heading: heading(
            "ratio",
            Float,
            "its cost over the fleet's median of the case: above 1 is slower",
            NO_RATIO,
        ),
        read: |line| line.ratio().into(),
    },
    Column {
        heading: heading(
            "not_judged_ratio",
            Float,
            "the same by visits that support no claim, where no other visit of the node has the case",
            JUDGED,
        ),
        read: |line| line.not_judged_ratio().into(),
    },
    Column {
        heading: heading(
            "not_judged",
            Text,
            "why most of these visits support none, as what each of them is or has",
            JUDGED,
        ),
        read: |line| line.not_judged().map(|it| it.reason).into(),
    },
    Column {
        heading: heading(
            "finding",
            Text,
            "what of the node stands out that this is a part of: `case`, `family` or `node`",
            NOT_FOUND,
        ),
        read: |line| line.finding().map(scope).into(),
    },
    Column {
        heading: heading(
            "finding_numa_node",
            Integer,
            "the NUMA node of the node that stands out beside its others",
            Some("it does not stand out, or the node does beside other nodes"),
        ),
        read: |line| line.finding().and_then(|it| it.numa_node).into(),
    },
    Column {
        heading: heading(
            "finding_ratio",
            Float,
            "the ratio of that to the equals of the node, without what `finding_adjusted_for` names",
            NOT_FOUND,
        ),
        read: |line| line.finding().map(|it| it.ratio).into(),
    },
    Column {
        heading: heading(
            "finding_adjusted_for",
            Text,
            "what else the node differs by that the ratio is without: `node`, what it differs by as a \
             whole, or `family`, what the family of the case differs by",
            Some("it does not stand out, or the ratio is without nothing"),
        ),
        read: |line| line.finding().and_then(|it| it.adjustment).map(Adjustment::name).into(),
    },
    Column {
        heading: heading(
            "finding_ratio_to_fleet",
            Float,
            "the ratio of the costs of what stands out to the fleet's medians, with all that the node \
             differs by: the middle over its cases",
            NOT_FOUND,
        ),
        read: |line| line.finding().and_then(|it| it.ratio_to_fleet).into(),
    },
    Column {
        heading: heading(
            "finding_ratio_ci95_low",
            Float,
            "the lower end of its interval",
            NOT_FOUND,
        ),
        read: |line| line.finding().map(|it| it.ci95[0]).into(),
    },
    Column {
        heading: heading(
            "finding_ratio_ci95_high",
            Float,
            "the upper end of its interval",
            NOT_FOUND,
        ),
        read: |line| line.finding().map(|it| it.ci95[1]).into(),
    },
    Column {
        heading: heading(
            "finding_q",
            Float,
            "its p value adjusted over all that was judged",
            NOT_FOUND,
        ),
        read: |line| line.finding().map(|it| it.q).into(),
    },
];

#[cfg(test)]
mod tests;
