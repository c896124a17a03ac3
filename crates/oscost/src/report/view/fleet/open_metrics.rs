//! The figures of a fleet in the text format of OpenMetrics 1.0, for a board that exists already.

use std::fmt::Write;

use oscost_model::unit::Unit;

use crate::fleet::{Adjustment, Finding, FindingScope, Fleet, FleetAnalysis};

/// A fleet's figures as OpenMetrics text.
pub fn open_metrics(fleet: &Fleet, analysis: &FleetAnalysis) -> String {
    let mut text = Text { written: String::new(), fleet: &fleet.name };
    whole_fleet(&mut text, fleet, analysis);
    nodes(&mut text, fleet, analysis);
    cases(&mut text, fleet, analysis);
    findings(&mut text, fleet, analysis);
    unjudged(&mut text, fleet, analysis);
    text.written.push_str("# EOF\n");
    text.written
}

/// A family of metrics, all gauges.
struct Family {
    name: &'static str,
    /// The unit, which its name ends with; empty without one.
    unit: &'static str,
    help: &'static str,
}

/// The text so far.
struct Text<'a> {
    written: String,
    fleet: &'a str,
}

impl Text<'_> {
    /// Begins a family: its samples follow.
    fn family(&mut self, Family { name, unit, help }: &Family) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.written, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(self.written, "# UNIT {name} {unit}");
        }
        let _ = writeln!(self.written, "# HELP {name} {}", escaped(help));
    }

    /// A sample with labels beside the name of the fleet.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.written, "{name}{{fleet=\"{}\"", escaped(self.fleet));
        for (label, of) in labels {
            let _ = write!(self.written, ",{label}=\"{}\"", escaped(of));
        }
        let _ = writeln!(self.written, "}} {value}");
    }

    /// A family whose samples have one label each; one without a value is left out.
    fn labelled<'a>(
        &mut self,
        family: &Family,
        label: &str,
        samples: impl IntoIterator<Item = (&'a str, Option<f64>)>,
    ) {
        self.family(family);
        for (of, value) in samples {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                self.sample(family.name, &[(label, of)], value);
            }
        }
    }

    /// A family with one sample.
    fn alone(&mut self, family: &Family, value: f64) {
        self.family(family);
        self.sample(family.name, &[], value);
    }
}

/// A text between quotes.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '\\' => escaped.push_str("\\\\"),
            '"' => escaped.push_str("\\\""),
            '\n' => escaped.push_str("\\n"),
            letter if letter.is_control() => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

fn whole_fleet(text: &mut Text<'_>, fleet: &Fleet, analysis: &FleetAnalysis) {
    let gauge = |name, help| Family { name, unit: "", help };
    let nodes = gauge("oscost_fleet_nodes", "Nodes that were measured.");
    text.alone(&nodes, fleet.nodes.len() as f64);
    let visits = gauge("oscost_fleet_visits", "Visits of nodes.");
    text.alone(&visits, fleet.visits.len() as f64);
    let not_claimable = fleet.visits.iter().filter(|visit| visit.not_claimable.is_some()).count();
    let noisy = gauge("oscost_fleet_not_claimable_visits", "Visits that support no claim.");
    text.alone(&noisy, not_claimable as f64);
    let judged = gauge("oscost_fleet_judged_differences", "Differences that were judged.");
    text.alone(&judged, analysis.judged as f64);
    let found = gauge("oscost_fleet_found_differences", "Differences that stand out.");
    text.alone(&found, analysis.findings.len() as f64);
    let newest = fleet.visits.iter().map(|visit| visit.started_s).reduce(f64::max);
    if let Some(newest) = newest {
        let family = Family {
            name: "oscost_fleet_newest_visit_timestamp_seconds",
            unit: "seconds",
            help: "When the newest visit began.",
        };
        text.alone(&family, newest);
    }
}

fn nodes(text: &mut Text<'_>, fleet: &Fleet, analysis: &FleetAnalysis) {
    let ratio = |name, help| Family { name, unit: "ratio", help };
    let all = || fleet.nodes.iter().map(|node| node.name.as_str()).zip(&analysis.nodes);
    let middle = ratio(
        "oscost_fleet_node_ratio",
        "Costs of the node over those of its fleet, the middle over its cases.",
    );
    text.labelled(&middle, "node", all().map(|(node, it)| (node, it.ratio)));
    let low =
        ratio("oscost_fleet_node_lower_ratio", "The lower end of the interval of 95 % of it.");
    text.labelled(&low, "node", all().map(|(node, it)| (node, it.ci95.map(|[low, _]| low))));
    let high =
        ratio("oscost_fleet_node_upper_ratio", "The upper end of the interval of 95 % of it.");
    text.labelled(&high, "node", all().map(|(node, it)| (node, it.ci95.map(|[_, high]| high))));
}

fn cases(text: &mut Text<'_>, fleet: &Fleet, analysis: &FleetAnalysis) {
    let all = || fleet.cases.iter().zip(&analysis.cases);
    let times = all().filter(|(case, _)| case.unit == Unit::NsPerOp);
    let family = Family {
        name: "oscost_fleet_case_median_ns",
        unit: "ns",
        help: "The time of an op, the median over nodes.",
    };
    text.labelled(&family, "case", times.map(|(case, it)| (case.case.as_str(), it.median)));
    let family = Family {
        name: "oscost_fleet_case_median",
        unit: "",
        help: "The figure of a case that is no time of an op, in its unit, the median over nodes.",
    };
    text.family(&family);
    for (case, spread) in all().filter(|(case, _)| case.unit != Unit::NsPerOp) {
        if let Some(median) = spread.median.filter(|median| median.is_finite()) {
            let labels = [("case", case.case.as_str()), ("unit", case.unit.text())];
            text.sample(family.name, &labels, median);
        }
    }
    let deviation = |name, help| Family { name, unit: "", help };
    let family = deviation(
        "oscost_fleet_case_between_nodes",
        "The standard deviation of the logarithm of a case between nodes.",
    );
    text.labelled(&family, "case", all().map(|(case, it)| (case.case.as_str(), it.between_nodes)));
    let family = deviation(
        "oscost_fleet_case_between_visits",
        "The standard deviation of the logarithm of a case between visits of one node.",
    );
    text.labelled(&family, "case", all().map(|(case, it)| (case.case.as_str(), it.between_visits)));
}

fn findings(text: &mut Text<'_>, fleet: &Fleet, analysis: &FleetAnalysis) {
    let family = Family {
        name: "oscost_fleet_finding_ratio",
        unit: "ratio",
        help: "Costs of a node over those of its equals, where it stands out: all of it, a family, \
               or a case; without what adjusted_for names, the node as a whole or the family of \
               the case, differs by.",
    };
    text.family(&family);
    for finding in &analysis.findings {
        let Some(labels) = finding_labels(fleet, finding) else { continue };
        let adjusted_for = ("adjusted_for", finding.adjustment.map_or("", Adjustment::name));
        let numa_node = finding.numa_node.map(|number| number.to_string());
        let mut labels = labels.to_vec();
        labels.push(adjusted_for);
        labels.extend(numa_node.as_deref().map(|number| ("numa_node", number)));
        text.sample(family.name, &labels, finding.ratio);
    }
    let family = Family {
        name: "oscost_fleet_finding_to_fleet_ratio",
        unit: "ratio",
        help: "Costs of a node over the medians of its fleet where it stands out, with all that it \
               differs by, the middle over cases.",
    };
    text.family(&family);
    for finding in &analysis.findings {
        let ratio = finding.ratio_to_fleet.filter(|ratio| ratio.is_finite());
        if let Some((labels, ratio)) = finding_labels(fleet, finding).zip(ratio) {
            text.sample(family.name, &labels, ratio);
        }
    }
}

/// What visits that support no claim show.
fn unjudged(text: &mut Text<'_>, fleet: &Fleet, analysis: &FleetAnalysis) {
    let name = |node: usize| fleet.nodes.get(node).map(|node| node.name.as_str());
    let family = Family {
        name: "oscost_fleet_disturbed_node_share_ratio",
        unit: "ratio",
        help: "The share of the visits of a node that support no claim, where it is larger than that \
               of its equals.",
    };
    let share = |node: usize, of: f64| Some((name(node)?, Some(of)));
    let disturbed = analysis
        .disturbed
        .iter()
        .filter_map(|it| share(it.node, it.own.not_claimable as f64 / it.own.visits as f64));
    text.labelled(&family, "node", disturbed);
    let family = Family {
        name: "oscost_fleet_not_judged_node_visits",
        unit: "",
        help: "How many visits of a node support no claim, where no visit of it supports one.",
    };
    let whole = || analysis.not_judged.iter().filter(|it| it.is_whole);
    let visits = whole().filter_map(|it| share(it.node, it.visits as f64));
    text.labelled(&family, "node", visits);
    let family = Family {
        name: "oscost_fleet_not_judged_farthest_ratio",
        unit: "ratio",
        help: "Costs of such a node over those of its equals in the case that is farthest from them; \
               nothing is concluded from it.",
    };
    text.family(&family);
    for it in whole() {
        let farthest = it.farthest.filter(|it| it.ratio.is_finite());
        let case = farthest.and_then(|it| fleet.cases.get(it.case as usize));
        if let (Some(node), Some(case), Some(farthest)) = (name(it.node), case, farthest) {
            let labels = [("node", node), ("case", case.case.as_str())];
            text.sample(family.name, &labels, farthest.ratio);
        }
    }
}

/// The labels that name a finding; `None` if the fleet has no such node.
fn finding_labels<'a>(fleet: &'a Fleet, finding: &'a Finding) -> Option<[(&'a str, &'a str); 3]> {
    let node = fleet.nodes.get(finding.node)?;
    let (scope, name) = match &finding.scope {
        FindingScope::Node => ("node", ""),
        FindingScope::Family(family) => ("family", family.as_str()),
        FindingScope::Case(case) => {
            let case = fleet.cases.get(*case as usize);
            ("case", case.map_or("", |case| case.case.as_str()))
        }
    };
    Some([("node", node.name.as_str()), ("scope", scope), ("name", name)])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::fleet::{
        CaseSpread, DisturbedNode, FarthestCase, FleetCase, FleetNode, NodeDeviation, NodeVisit,
        NotJudgedNode, VisitCount,
    };

    fn made_up() -> (Fleet, FleetAnalysis) {
        let case = |name: &str, unit: Unit| FleetCase {
            case: name.to_owned(),
            family: "x".to_owned(),
            unit,
            better: unit.better(),
            rev: 1,
        };
        let node = |name: &str| FleetNode {
            name: name.to_owned(),
            class: Arc::from("c"),
            facts: Vec::new(),
        };
        let visit = |node, not_claimable| NodeVisit {
            node,
            run: String::new(),
            started_s: 100.5,
            not_claimable,
            numa_node: None,
            figures: Vec::new(),
        };
        let fleet = Fleet {
            name: "mon\"day".to_owned(),
            cases: vec![case("pipe/a\\b", Unit::NsPerOp), case("pipe/rate", Unit::BytesPerSecond)],
            nodes: vec![node("n1"), node("n2")],
            visits: vec![visit(0, None), visit(1, Some("is very noisy"))],
            ..Fleet::default()
        };
        let spread = |median| CaseSpread {
            nodes: 2,
            median,
            between_nodes: None,
            between_visits: Some(0.03),
        };
        let deviation =
            |ratio, ci95| NodeDeviation { cases: 2, visits: 1, ratio, ci95, between_visits: None };
        let analysis = FleetAnalysis {
            cases: vec![spread(Some(80.25)), spread(Some(1e9))],
            nodes: vec![deviation(Some(1.03), Some([0.9, 1.2])), deviation(None, None)],
            findings: vec![Finding {
                node: 0,
                numa_node: None,
                scope: FindingScope::Family("pipe".to_owned()),
                ratio: 1.25,
                ci95: [1.1, 1.4],
                adjustment: Some(Adjustment::Node),
                not_claimable: None,
                ratio_to_fleet: Some(1.5),
                q: 0.01,
                facts: Vec::new(),
            }],
            judged: 7,
            ..FleetAnalysis::default()
        };
        (fleet, analysis)
    }

    #[test]
    fn samples_follow_their_family_and_what_is_not_known_is_left_out() {
        let (fleet, analysis) = made_up();
        let text = open_metrics(&fleet, &analysis);
        for line in [
            "oscost_fleet_nodes{fleet=\"mon\\\"day\"} 2",
            "oscost_fleet_not_claimable_visits{fleet=\"mon\\\"day\"} 1",
            "# UNIT oscost_fleet_newest_visit_timestamp_seconds seconds",
            "oscost_fleet_newest_visit_timestamp_seconds{fleet=\"mon\\\"day\"} 100.5",
            "# TYPE oscost_fleet_node_ratio gauge",
            "oscost_fleet_node_ratio{fleet=\"mon\\\"day\",node=\"n1\"} 1.03",
            "oscost_fleet_node_upper_ratio{fleet=\"mon\\\"day\",node=\"n1\"} 1.2",
            "oscost_fleet_case_median_ns{fleet=\"mon\\\"day\",case=\"pipe/a\\\\b\"} 80.25",
            "oscost_fleet_case_median{fleet=\"mon\\\"day\",case=\"pipe/rate\",unit=\"B/s\"} \
             1000000000",
            "oscost_fleet_case_between_visits{fleet=\"mon\\\"day\",case=\"pipe/rate\"} 0.03",
            "oscost_fleet_finding_ratio{fleet=\"mon\\\"day\",node=\"n1\",scope=\"family\",\
             name=\"pipe\",adjusted_for=\"node\"} 1.25",
            "oscost_fleet_finding_to_fleet_ratio{fleet=\"mon\\\"day\",node=\"n1\",\
             scope=\"family\",name=\"pipe\"} 1.5",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
        assert!(!text.contains("node=\"n2\""));
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn disturbed_nodes_and_those_that_are_not_judged_have_samples() {
        let (fleet, mut analysis) = made_up();
        analysis.disturbed = vec![DisturbedNode {
            node: 1,
            reason: "is very noisy",
            own: VisitCount { not_claimable: 3, visits: 4 },
            equals: VisitCount { not_claimable: 0, visits: 15 },
            q: 0.01,
            facts: Vec::new(),
        }];
        analysis.not_judged = vec![NotJudgedNode {
            node: 1,
            reason: "is very noisy",
            visits: 4,
            is_whole: true,
            ratios: vec![600.0, f32::NAN],
            farthest: Some(FarthestCase { case: 0, ratio: 600.0 }),
        }];
        let text = open_metrics(&fleet, &analysis);
        for line in [
            "oscost_fleet_disturbed_node_share_ratio{fleet=\"mon\\\"day\",node=\"n2\"} 0.75",
            "oscost_fleet_not_judged_node_visits{fleet=\"mon\\\"day\",node=\"n2\"} 4",
            "oscost_fleet_not_judged_farthest_ratio{fleet=\"mon\\\"day\",node=\"n2\",\
             case=\"pipe/a\\\\b\"} 600",
        ] {
            assert!(text.lines().any(|it| it == line), "{line} is not in\n{text}");
        }
    }

    #[test]
    fn each_family_is_declared_once_and_its_name_ends_with_its_unit() {
        let (fleet, analysis) = made_up();
        let text = open_metrics(&fleet, &analysis);
        let mut declared: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(declaration) = line.strip_prefix("# TYPE ") {
                let name = declaration.split(' ').next().unwrap();
                assert!(!declared.contains(&name), "{name} is declared twice");
                declared.push(name);
            } else if let Some(unit) = line.strip_prefix("# UNIT ") {
                let (name, unit) = unit.split_once(' ').unwrap();
                assert!(name.ends_with(&format!("_{unit}")), "{line}");
            } else if !line.starts_with('#') {
                let name = line.split('{').next().unwrap();
                assert_eq!(Some(&name), declared.last(), "{line}");
            }
        }
        assert!(declared.len() > 10);
        assert_eq!(escaped("a\nb\u{7}"), "a\\nb\u{fffd}");
    }
}
