//! What changed for a fleet since another moment: by class and case, over the nodes of both.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oscost_model::unit::Better;
use oscost_stats::{moments, order};

use super::data::{CaseFigure, Fleet, FleetCase, NodeVisit};
use super::sides::{MeasuredSides, NodeSides, SideComparison, SideVerdict, compare_sides};

/// What changed for a fleet. Ratios are costs now over costs then: above 1 is slower, also of cases
/// where more is better.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FleetChanges {
    /// What it is compared with, as the user names it.
    pub base: String,
    /// How many nodes were measured at both moments.
    pub common_nodes: usize,
    /// How many were measured then alone.
    pub only_base: usize,
    /// How many are measured now alone.
    pub only_new: usize,
    /// How many nodes of both moments are of another class now: they are not compared.
    pub changed_class: usize,
    /// The cases whose benchmarks have another revision now: they are not compared.
    pub changed_revision: Vec<String>,
    /// The classes, by name.
    pub classes: Vec<ClassChanges>,
}

/// What changed for nodes of one class.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassChanges {
    /// The class as a text.
    pub class: Arc<str>,
    /// Its cases, by name.
    pub cases: Vec<CaseChange>,
}

/// How much the cost of a case changed.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseChange {
    /// Its name.
    pub case: String,
    /// How many nodes were compared, each with itself.
    pub nodes: usize,
    /// The middle ratio over nodes; `None` of too few nodes.
    pub ratio: Option<f64>,
    /// Its interval of 95 %; `None` of too few nodes.
    pub ci95: Option<[f64; 2]>,
    /// The p value adjusted over the cases of the class; `None` of too few nodes.
    pub q: Option<f64>,
    /// The verdict: `slower`, `faster`, `equivalent` or `inconclusive`.
    pub verdict: &'static str,
}

/// The figure of a case on a node, over its visits.
#[derive(Clone, Copy, Debug)]
struct NodeFigure {
    /// The mean of the logarithms.
    log: f64,
    /// Its standard error; `None` if it is not known.
    error: Option<f64>,
}

/// The figures of a fleet by the name of the node and that of the case.
type Figures<'a> = BTreeMap<&'a str, BTreeMap<&'a str, NodeFigure>>;

/// Compares each node with itself, and then the nodes of each class.
pub fn fleet_changes(base: &Fleet, new: &Fleet, base_name: &str) -> FleetChanges {
    let (then, now) = (figures(base), figures(new));
    let common = now.keys().filter(|name| then.contains_key(*name)).count();
    let mut sides: BTreeMap<Arc<str>, Vec<NodeSides>> = BTreeMap::new();
    let (old_cases, cases) = (cases_by_name(base), cases_by_name(new));
    let old_classes = classes_by_node(base);
    let mut changed_class = 0;
    let mut changed_revision = BTreeSet::new();
    for node in &new.nodes {
        let (Some(before), Some(after)) =
            (then.get(node.name.as_str()), now.get(node.name.as_str()))
        else {
            continue;
        };
        // Another machine has the name: it would be compared with the one before it, not with itself.
        if old_classes.get(node.name.as_str()).is_some_and(|old| is_another_class(old, &node.class))
        {
            changed_class += 1;
            continue;
        }
        for (name, figure) in after {
            let (Some(old), Some(case)) = (before.get(name), cases.get(name)) else { continue };
            let Some(old_case) = old_cases.get(name).filter(|it| it.unit == case.unit) else {
                continue;
            };
            if old_case.rev != case.rev {
                changed_revision.insert(case.case.clone());
                continue;
            }
            sides.entry(Arc::clone(&node.class)).or_default().push(NodeSides {
                node: node.name.clone(),
                class: Arc::clone(&node.class),
                case: case.case.clone(),
                unit: case.unit,
                better: case.better,
                kind: MeasuredSides::Both {
                    ratio: (figure.log - old.log).exp(),
                    log_error: joint_error(old.error, figure.error),
                },
            });
        }
    }
    FleetChanges {
        base: base_name.to_owned(),
        common_nodes: common,
        only_base: then.len() - common,
        only_new: now.len() - common,
        changed_class,
        changed_revision: changed_revision.into_iter().collect(),
        classes: sides.into_iter().map(|(class, sides)| of_class(class, &sides)).collect(),
    }
}

fn classes_by_node(fleet: &Fleet) -> BTreeMap<&str, &str> {
    fleet.nodes.iter().map(|node| (node.name.as_str(), &*node.class)).collect()
}

/// Whether both classes are known and differ.
fn is_another_class(old: &str, new: &str) -> bool {
    !old.is_empty() && !new.is_empty() && old != new
}

fn cases_by_name(fleet: &Fleet) -> BTreeMap<&str, &FleetCase> {
    fleet.cases.iter().map(|case| (case.case.as_str(), case)).collect()
}

fn of_class(class: Arc<str>, sides: &[NodeSides]) -> ClassChanges {
    ClassChanges { class, cases: compare_sides(sides).into_iter().map(case_change).collect() }
}

fn case_change(it: SideComparison) -> CaseChange {
    let is_cost = it.better == Better::Lower;
    let cost = |ratio: f64| if is_cost { ratio } else { 1.0 / ratio };
    let ci95 = it.ci95.map(|ends| if is_cost { ends } else { [cost(ends[1]), cost(ends[0])] });
    CaseChange {
        case: it.case,
        nodes: it.nodes,
        ratio: it.ratio.map(cost),
        ci95,
        q: it.ratio.map(|_| it.q),
        verdict: match it.verdict {
            SideVerdict::Larger if is_cost => "slower",
            SideVerdict::Smaller if !is_cost => "slower",
            SideVerdict::Larger | SideVerdict::Smaller => "faster",
            SideVerdict::Equivalent => "equivalent",
            SideVerdict::Inconclusive => "inconclusive",
        },
    }
}

/// The figures of all nodes, of visits that something is concluded from.
fn figures(fleet: &Fleet) -> Figures<'_> {
    let mut by_node: BTreeMap<&str, BTreeMap<u32, Vec<CaseFigure>>> = BTreeMap::new();
    for NodeVisit { node, figures, .. } in
        fleet.visits.iter().filter(|visit| visit.not_claimable.is_none())
    {
        let Some(node) = fleet.nodes.get(*node) else { continue };
        let of_node = by_node.entry(&node.name).or_default();
        for figure in figures {
            of_node.entry(figure.case).or_default().push(*figure);
        }
    }
    let of_cases = |cases: BTreeMap<u32, Vec<CaseFigure>>| {
        let named = cases.into_iter().filter_map(|(case, figures)| {
            let name = fleet.cases.get(case as usize)?.case.as_str();
            Some((name, node_figure(&figures)?))
        });
        named.collect::<BTreeMap<_, _>>()
    };
    by_node.into_iter().map(|(node, cases)| (node, of_cases(cases))).collect()
}

fn node_figure(figures: &[CaseFigure]) -> Option<NodeFigure> {
    let logs: Vec<f64> = figures.iter().map(|it| it.median.ln()).collect();
    let log = moments::mean(&logs)?;
    let between = moments::standard_deviation(&logs).map(|it| it / (logs.len() as f64).sqrt());
    let within = || {
        let errors = figures.iter().map(|it| f64::from(it.log_error));
        let known: Vec<f64> = errors.filter(|error| error.is_finite()).collect();
        order::median(&order::sorted(&known))
    };
    Some(NodeFigure { log, error: between.or_else(within) })
}

fn joint_error(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    Some(one?.hypot(other?))
}

#[cfg(test)]
mod tests {
    use oscost_model::unit::Unit;

    use super::*;
    use crate::fleet::FleetNode;

    /// These nodes with a case, whose visits have this figure.
    fn fleet(nodes: &[&str], median: f64) -> Fleet {
        let node = |name: &&str| FleetNode {
            name: (*name).to_owned(),
            class: "one".into(),
            facts: Vec::new(),
        };
        let visit = |node: usize| NodeVisit {
            node,
            run: String::new(),
            started_s: 0.0,
            not_claimable: None,
            numa_node: None,
            figures: vec![CaseFigure { case: 0, median, log_error: 0.01 }],
        };
        Fleet {
            name: "night".to_owned(),
            cases: vec![FleetCase {
                case: "fault/cow".to_owned(),
                family: "fault".to_owned(),
                unit: Unit::NsPerOp,
                better: Better::Lower,
                rev: 1,
            }],
            nodes: nodes.iter().map(node).collect(),
            visits: (0..nodes.len()).map(visit).collect(),
            ..Fleet::default()
        }
    }

    #[test]
    fn nodes_of_both_moments_are_compared_and_others_counted() {
        let base = fleet(&["a", "b", "c"], 100.0);
        let mut new = fleet(&["b", "c", "d", "e"], 110.0);
        let found = fleet_changes(&base, &new, "june");
        assert_eq!((found.common_nodes, found.only_base, found.only_new), (2, 1, 2));
        assert_eq!(found.classes.len(), 1);
        assert_eq!(found.classes[0].cases.len(), 1);
        assert!((found.classes[0].cases[0].ratio.unwrap() - 1.1).abs() < 1e-9);
        assert_eq!(found.classes[0].cases[0].nodes, 2);
        // Where more is better, a larger figure is a smaller cost.
        new.cases[0].better = Better::Higher;
        let faster = fleet_changes(&base, &new, "june");
        assert!((faster.classes[0].cases[0].ratio.unwrap() - 1.0 / 1.1).abs() < 1e-9);
        // Of another unit nothing is compared, and a visit that nothing is concluded from is none.
        new.cases[0].unit = Unit::Seconds;
        assert!(fleet_changes(&base, &new, "june").classes.is_empty());
        new.visits[0].not_claimable = Some("is very noisy");
        assert_eq!(fleet_changes(&base, &new, "june").common_nodes, 1);
    }

    #[test]
    fn a_case_whose_benchmark_has_another_revision_is_told_and_not_compared() {
        let base = fleet(&["a", "b", "c"], 100.0);
        let mut new = fleet(&["a", "b", "c"], 50.0);
        new.cases[0].rev = 2;
        let found = fleet_changes(&base, &new, "june");
        assert_eq!(
            (found.common_nodes, &found.changed_revision[..]),
            (3, &["fault/cow".to_owned()][..])
        );
        assert!(found.classes.is_empty(), "{found:?}");
    }

    #[test]
    fn a_node_whose_class_changed_is_counted_and_not_compared_with_another_machine() {
        let base = fleet(&["a", "b", "c", "d"], 100.0);
        let mut new = fleet(&["a", "b", "c", "d"], 110.0);
        new.nodes[3].class = "two".into();
        let found = fleet_changes(&base, &new, "june");
        assert_eq!((found.common_nodes, found.changed_class), (4, 1));
        let [only] = &found.classes[..] else { panic!("{found:?}") };
        assert_eq!((&*only.class, only.cases[0].nodes), ("one", 3));
        // An unknown class is not another one.
        new.nodes[3].class = "".into();
        assert_eq!(fleet_changes(&base, &new, "june").changed_class, 0);
    }

    #[test]
    fn the_error_of_a_node_is_of_its_visits_or_else_of_the_repetitions_in_one() {
        let figure = |median: f64, log_error: f32| CaseFigure { case: 0, median, log_error };
        let several = node_figure(&[figure(100.0, 0.5), figure(121.0, 0.5)]).unwrap();
        assert!((several.log.exp() - 110.0).abs() < 1e-9);
        assert!((several.error.unwrap() - 1.1f64.ln()).abs() < 1e-9);
        let one = node_figure(&[figure(100.0, 0.25)]).unwrap();
        assert_eq!(one.error, Some(0.25));
        assert_eq!(node_figure(&[figure(100.0, f32::NAN)]).unwrap().error, None);
        assert!(node_figure(&[]).is_none());
    }
}
