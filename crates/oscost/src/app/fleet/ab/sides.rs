//! The figures of a fleet's nodes on both sides of a comparison.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use oscost_model::record::{Comparison, Record, Row};
use oscost_model::unit::{Better, Unit};
use oscost_stats::interval::NORMAL_95;

use crate::advice::classes::node_class;
use crate::app::fleet::usable_figure::usable_figure;
use crate::fleet::{MeasuredSides, NodeSides, OtherRevision};

/// The figures of all nodes.
#[derive(Default)]
pub(super) struct Sides {
    /// The class of each node.
    classes: BTreeMap<String, Arc<str>>,
    /// The unit and the newest revision of each case.
    cases: BTreeMap<String, CaseUnit>,
    /// Without treatments, by node and case.
    base: BTreeMap<NodeCase, Vec<f64>>,
    /// By treatments; then by node and case.
    new: BTreeMap<String, BTreeMap<NodeCase, Treated>>,
}

/// A case on a node, in a revision of its benchmark.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NodeCase {
    node: String,
    case: String,
    rev: u32,
}

#[derive(Clone, Copy)]
struct CaseUnit {
    unit: Unit,
    better: Better,
    rev: u32,
}

/// A case on a node under treatments.
#[derive(Default)]
struct Treated {
    /// Medians of runs under them alone.
    medians: Vec<f64>,
    /// Ratios within runs that measured both sides.
    ratios: Vec<LogRatio>,
}

/// The logarithm of a ratio within a run.
#[derive(Clone, Copy)]
struct LogRatio {
    log: f64,
    error: Option<f64>,
}

/// How many nodes were measured on which sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NodeCounts {
    pub(super) both: usize,
    pub(super) base: usize,
    pub(super) new: usize,
}

impl Sides {
    /// Adds a run of a node.
    pub(super) fn add(&mut self, node: &str, record: &Record) {
        let class = record.machines.first().map(node_class).unwrap_or_default();
        self.classes.insert(node.to_owned(), Arc::from(class));
        if record.comparisons.is_empty() {
            for row in record.results.iter().filter(|row| row.is_requested()) {
                self.add_row(node, row);
            }
        }
        let primary = record.comparisons.iter().filter(|it| it.metric == "primary" && !it.control);
        for comparison in primary {
            let new = record.results.get(comparison.new as usize);
            if let Some(new) = new.filter(|row| row.is_requested()) {
                self.add_comparison(node, comparison, new);
            }
        }
    }

    fn add_row(&mut self, node: &str, row: &Row) {
        let Some(median) = usable_figure(row) else { return };
        let key = self.key(node, row);
        match row.target.treatments.is_empty() {
            true => self.base.entry(key).or_default().push(median),
            false => self.treated(row, key).medians.push(median),
        }
    }

    fn add_comparison(&mut self, node: &str, comparison: &Comparison, new: &Row) {
        let ratio = &comparison.ratio;
        let is_ratio = ratio.value > 0.0 && ratio.value.is_finite();
        if !is_ratio || new.target.treatments.is_empty() {
            return;
        }
        let error = ratio.ci95.filter(|[low, _]| *low > 0.0);
        let error = error.map(|[low, high]| (high / low).ln() / (2.0 * NORMAL_95));
        let key = self.key(node, new);
        self.treated(new, key).ratios.push(LogRatio { log: ratio.value.ln(), error });
    }

    fn key(&mut self, node: &str, row: &Row) -> NodeCase {
        let unit = CaseUnit { unit: row.unit, better: row.better, rev: row.rev };
        let known = self.cases.entry(row.case.clone()).or_insert(unit);
        if known.rev < row.rev {
            *known = unit;
        }
        NodeCase { node: node.to_owned(), case: row.case.clone(), rev: row.rev }
    }

    fn treated(&mut self, row: &Row, key: NodeCase) -> &mut Treated {
        let treatments = row.target.treatments.join("+");
        self.new.entry(treatments).or_default().entry(key).or_default()
    }

    /// All treatments that a node was measured under.
    pub(super) fn treatments(&self) -> Vec<String> {
        self.new.keys().cloned().collect()
    }

    /// What the visits of each node have of each case: ratios, or figures of one side.
    pub(super) fn of_nodes(&self, treatments: &str) -> Vec<NodeSides> {
        let none = BTreeMap::new();
        let new = self.new.get(treatments).unwrap_or(&none);
        let keys: BTreeSet<&NodeCase> = self.base.keys().chain(new.keys()).collect();
        let mut found = Vec::new();
        for key in keys {
            let newest = self.cases.get(&key.case).filter(|it| it.rev == key.rev);
            let Some(&CaseUnit { unit, better, .. }) = newest else { continue };
            let class = self.classes.get(&key.node).cloned().unwrap_or_else(|| Arc::from(""));
            let kinds = measured_sides(self.base.get(key), new.get(key)).into_iter();
            found.extend(kinds.map(|kind| NodeSides {
                node: key.node.clone(),
                class: Arc::clone(&class),
                case: key.case.clone(),
                unit,
                better,
                kind,
            }));
        }
        found
    }

    /// The figures of older revisions, which are of no side, by case and revision.
    pub(super) fn other_revisions(&self, treatments: &str) -> Vec<OtherRevision> {
        let base = self.base.iter().map(|(key, medians)| (key, medians.len()));
        let new = self.new.get(treatments).into_iter().flatten();
        let new = new.map(|(key, it)| (key, it.medians.len() + it.ratios.len()));
        let mut older: BTreeMap<(&str, u32), OtherRevision> = BTreeMap::new();
        for (NodeCase { case, rev, .. }, figures) in base.chain(new) {
            let newest = self.cases.get(case).map_or(*rev, |it| it.rev);
            if *rev < newest {
                let found = older.entry((case.as_str(), *rev)).or_insert_with(|| OtherRevision {
                    case: case.clone(),
                    rev: *rev,
                    newest,
                    figures: 0,
                });
                found.figures += figures;
            }
        }
        older.into_values().collect()
    }

    /// How many nodes are on which side, by all their cases.
    pub(super) fn node_counts(&self, treatments: &str) -> NodeCounts {
        let mut sides: BTreeMap<String, [bool; 2]> = BTreeMap::new();
        for NodeSides { node, kind, .. } in self.of_nodes(treatments) {
            let [has_base, has_new] = sides.entry(node).or_default();
            *has_base |= !matches!(kind, MeasuredSides::New { .. });
            *has_new |= !matches!(kind, MeasuredSides::Base { .. });
        }
        let count = |on: [bool; 2]| sides.values().filter(|it| **it == on).count();
        NodeCounts {
            both: count([true, true]),
            base: count([true, false]),
            new: count([false, true]),
        }
    }
}

/// What the visits of a node have of a case. Ratios within runs come first: base and new were
/// interleaved.
fn measured_sides(base: Option<&Vec<f64>>, new: Option<&Treated>) -> Vec<MeasuredSides> {
    let none = Treated::default();
    let Treated { medians, ratios } = new.unwrap_or(&none);
    let base = base.map_or(&[][..], |it| &it[..]);
    if !ratios.is_empty() {
        let both = |it: &LogRatio| MeasuredSides::Both { ratio: it.log.exp(), log_error: it.error };
        return ratios.iter().map(both).collect();
    }
    match (mean_log(base), mean_log(medians)) {
        // In different runs: how far they vary is seen between nodes.
        (Some(base), Some(new)) => {
            vec![MeasuredSides::Both { ratio: (new - base).exp(), log_error: None }]
        }
        _ => {
            let base = base.iter().map(|&median| MeasuredSides::Base { median });
            let new = medians.iter().map(|&median| MeasuredSides::New { median });
            base.chain(new).collect()
        }
    }
}

fn mean_log(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().map(|value| value.ln()).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use oscost_model::record::RowOutcome;

    use super::*;

    /// A run with one row under these treatments.
    fn record(treatments: &[&str], median: f64) -> Record {
        let record = include_str!("../../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(record).unwrap();
        record.results.truncate(1);
        record.comparisons.clear();
        let row = &mut record.results[0];
        (row.case, row.outcome) = ("syscall/a".to_owned(), RowOutcome::Measured);
        row.flags.clear();
        row.target.treatments = treatments.iter().map(|it| (*it).to_owned()).collect();
        row.estimate.as_mut().unwrap().median = median;
        record
    }

    /// A run that compared both sides of that row, with this ratio.
    fn compared(ratio: f64) -> Record {
        let mut both = record(&[], 100.0);
        both.results.extend(record(&["nice=5"], 100.0 * ratio).results);
        let comparison = |control: bool| {
            serde_json::json!({
                "case": "syscall/a",
                "metric": "primary",
                "base": 0,
                "new": 1,
                "design": "pairs",
                "pairs": 9,
                "span_s": 1.0,
                "ratio": {"value": ratio, "ci95": [ratio / 1.1, ratio * 1.1]},
                "added": {"value": 1.0, "ci95": null, "unit": "ns/op"},
                "p": 0.01,
                "q": 0.01,
                "verdict": "slower",
                "mde_pct": null,
                "control": control,
                "flags": [],
            })
        };
        let read = |control: bool| serde_json::from_value(comparison(control)).unwrap();
        both.comparisons = [false, true].into_iter().map(read).collect();
        both
    }

    fn measured(sides: &Sides) -> Vec<MeasuredSides> {
        sides.of_nodes("nice=5").into_iter().map(|it| it.kind).collect()
    }

    #[test]
    fn each_visit_of_a_node_of_one_side_is_a_figure_of_it() {
        let mut sides = Sides::default();
        sides.add("n1", &record(&[], 100.0));
        sides.add("n1", &record(&[], 400.0));
        sides.add("n2", &record(&["nice=5"], 300.0));
        let expected = [
            MeasuredSides::Base { median: 100.0 },
            MeasuredSides::Base { median: 400.0 },
            MeasuredSides::New { median: 300.0 },
        ];
        assert_eq!(measured(&sides), expected);
        assert_eq!(sides.node_counts("nice=5"), NodeCounts { both: 0, base: 1, new: 1 });
        assert_eq!(sides.treatments(), ["nice=5"]);
        assert!(!sides.of_nodes("nice=5")[0].class.is_empty());
    }

    #[test]
    fn a_node_that_was_measured_on_both_sides_has_a_ratio() {
        let mut sides = Sides::default();
        sides.add("n1", &record(&[], 100.0));
        sides.add("n1", &record(&[], 400.0));
        sides.add("n1", &record(&["nice=5"], 300.0));
        let [MeasuredSides::Both { ratio, log_error: None }] = measured(&sides)[..] else {
            panic!("{:?}", measured(&sides))
        };
        assert!((ratio - 1.5).abs() < 1e-9, "{ratio}");
        assert_eq!(sides.node_counts("nice=5"), NodeCounts { both: 1, base: 0, new: 0 });
    }

    #[test]
    fn visits_that_compared_both_sides_have_their_ratios_with_their_errors() {
        let mut sides = Sides::default();
        sides.add("n1", &compared(1.2));
        sides.add("n1", &compared(1.3));
        let found = measured(&sides);
        let [MeasuredSides::Both { ratio, log_error: Some(error) }, _] = found[..] else {
            panic!("{found:?}")
        };
        assert!((ratio - 1.2).abs() < 1e-9, "{ratio}");
        assert!((error - 1.1f64.ln() / NORMAL_95).abs() < 1e-9, "{error}");
    }

    #[test]
    fn figures_of_older_revisions_are_of_no_side_and_told() {
        let of_rev = |treatments: &[&str], median: f64, rev: u32| {
            let mut record = record(treatments, median);
            record.results[0].rev = rev;
            record
        };
        let mut sides = Sides::default();
        sides.add("n1", &of_rev(&[], 100.0, 1));
        sides.add("n1", &of_rev(&["nice=5"], 300.0, 2));
        sides.add("n2", &of_rev(&[], 50.0, 2));
        let expected = [MeasuredSides::New { median: 300.0 }, MeasuredSides::Base { median: 50.0 }];
        assert_eq!(measured(&sides), expected, "two revisions have no ratio");
        let case = "syscall/a".to_owned();
        let left_out = [OtherRevision { case, rev: 1, newest: 2, figures: 1 }];
        assert_eq!(sides.other_revisions("nice=5"), left_out);
    }

    #[test]
    fn figures_that_cannot_be_told_from_zero_are_of_no_side() {
        let mut sides = Sides::default();
        let mut below = record(&["nice=5"], 5.0);
        below.results[0].flags.push("BELOW_DETECTION".to_owned());
        sides.add("n1", &below);
        assert!(sides.treatments().is_empty());
    }

    #[test]
    fn reference_cases_are_of_no_side() {
        let mut sides = Sides::default();
        let mut reference = record(&["nice=5"], 5.0);
        reference.results[0].flags.push("REFERENCE".to_owned());
        sides.add("n1", &reference);
        assert!(sides.treatments().is_empty());
    }
}
