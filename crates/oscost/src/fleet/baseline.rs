//! What is ordinary for the nodes of a fleet, to check single nodes against.

use std::collections::BTreeMap;
use std::sync::Arc;

use oscost_model::unit::{Better, Unit};
use oscost_stats::bisquare::{self, SPREAD_EFFICIENCY};
use oscost_stats::order;
use oscost_stats::repeats::{contrasts, heavier_tails, tail_degrees};

use super::data::Fleet;
use super::equals::{MIN_EQUALS, classes, has_enough};
use super::prior::shrunk_variance;
use super::table::{CostTable, log_cost, median_of_numbers, variances_within_visits};

/// What is ordinary for the nodes of a fleet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Baseline {
    /// For nodes of the classes that have at least four.
    pub classes: Vec<GroupBaseline>,
    /// For all nodes together.
    pub fleet: GroupBaseline,
}

/// What is ordinary for some nodes that should be equal.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GroupBaseline {
    /// The class; `None` for the whole fleet.
    pub class: Option<Arc<str>>,
    /// How many nodes it is of.
    pub nodes: usize,
    /// The cases, by name, that enough nodes have, of which some were visited twice.
    pub cases: Vec<CaseBaseline>,
    /// The degrees of freedom of Student's distribution that has the tails of visits.
    pub tail_degrees: f64,
    /// The most common value of each fact.
    pub facts: Vec<UsualFact>,
}

/// What is ordinary for a case. Spreads are standard deviations of logarithms.
#[derive(Clone, Debug, PartialEq)]
pub struct CaseBaseline {
    /// Its name.
    pub case: String,
    /// The unit of its figures.
    pub unit: Unit,
    /// Which direction is better.
    pub better: Better,
    /// The revision of its benchmark.
    pub rev: u32,
    /// The median over nodes of the natural logarithm of the cost: of the figure, or of its inverse
    /// where more is better.
    pub centre: f64,
    /// Between nodes, without what visits explain; of few nodes that agree, never 0.
    pub between_nodes: f64,
    /// Between visits of one node.
    pub between_visits: f64,
    /// The degrees of freedom of the spread between visits.
    pub degrees_of_freedom: f64,
    /// The error of a figure within its visit, which is part of the spread between visits; 0 if it is
    /// not known.
    pub within_visit: f64,
    /// How many nodes have it.
    pub nodes: usize,
    /// How many visits have it.
    pub visits: usize,
}

/// The most common value of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsualFact {
    /// The name of the fact.
    pub name: &'static str,
    /// Its value.
    pub value: Arc<str>,
    /// How many nodes have it.
    pub nodes: usize,
}

/// Tails are taken for at least as heavy as those of so many degrees of freedom: a check is wrong at
/// most once in 30,000, where nobody has seen the tails, and few visits look normal by chance.
const MAX_TAIL_DEGREES: f64 = 30.0;

impl Baseline {
    /// The baseline of the visits of a fleet that something may be concluded from.
    pub fn of(fleet: &Fleet) -> Self {
        let table = CostTable::of(fleet);
        let figures = Figures { fleet, within: variances_within_visits(fleet, &table), table };
        let own = classes(fleet).into_iter().filter(has_enough);
        let all: Vec<usize> = (0..fleet.nodes.len()).collect();
        Self {
            classes: own.map(|class| figures.baseline(Some(class.class), &class.nodes)).collect(),
            fleet: figures.baseline(None, &all),
        }
    }

    /// What a node of this class is compared with: its class if the baseline has it, otherwise all
    /// nodes.
    pub fn equals_of(&self, class: &str) -> &GroupBaseline {
        let own = self.classes.iter().find(|group| group.class.as_deref() == Some(class));
        own.unwrap_or(&self.fleet)
    }
}

impl GroupBaseline {
    /// The ratio of the cost of a figure to that of the middle of its nodes; `None` if it does not have
    /// the case, or the figure is not above 0.
    pub fn ratio(&self, case: &str, median: f64) -> Option<f64> {
        let at = self.cases.binary_search_by(|it| it.case.as_str().cmp(case)).ok()?;
        let case = &self.cases[at];
        Some((log_cost(case.better, median)? - case.centre).exp())
    }
}

/// The figures that baselines are of.
struct Figures<'a> {
    fleet: &'a Fleet,
    table: CostTable,
    /// The variance of each case within a visit.
    within: Vec<f64>,
}

impl Figures<'_> {
    /// The baseline of some nodes.
    fn baseline(&self, class: Option<Arc<str>>, nodes: &[usize]) -> GroupBaseline {
        let mut distances = Vec::new();
        let mut cases = Vec::new();
        for case in 0..self.table.cases {
            let repeats = nodes.iter().map(|&node| self.table.repeats(node, case));
            let repeats: Vec<Vec<f64>> = repeats.filter(|visits| !visits.is_empty()).collect();
            let errors: Vec<f64> = repeats.iter().flat_map(|visits| contrasts(visits)).collect();
            let Some(found) = self.case_baseline(case, &repeats, &errors) else { continue };
            if found.between_visits > 0.0 {
                distances.extend(errors.iter().map(|error| error.abs() / found.between_visits));
            }
            cases.push(found);
        }
        cases.sort_by(|one, other| one.case.cmp(&other.case));
        // What disturbs a visit moves all its cases, so the outermost values are of few visits, and
        // their tails may be heavier than they look.
        let tails = tail_degrees(&order::sorted(&distances)).map_or(f64::INFINITY, heavier_tails);
        GroupBaseline {
            class,
            nodes: nodes.len(),
            cases,
            tail_degrees: tails.min(MAX_TAIL_DEGREES),
            facts: usual_facts(self.fleet, nodes),
        }
    }

    fn case_baseline(
        &self,
        case: usize,
        repeats: &[Vec<f64>],
        errors: &[f64],
    ) -> Option<CaseBaseline> {
        let means = repeats.iter().map(|visits| visits.iter().sum::<f64>() / visits.len() as f64);
        let means: Vec<f64> = means.collect();
        if means.len() < MIN_EQUALS {
            return None;
        }
        let between_visits = bisquare::spread(errors, 0.0)?;
        let centre = median_of_numbers(means.iter().copied())?;
        // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
        let small_sample_factor = means.len() as f64 / (means.len() as f64 - 0.8);
        let of_means = bisquare::spread(&means, centre)?.powi(2) * small_sample_factor;
        let shares = repeats.iter().map(|visits| 1.0 / visits.len() as f64).sum::<f64>();
        let of_visits = between_visits * between_visits * shares / means.len() as f64;
        let about = &self.fleet.cases[case];
        Some(CaseBaseline {
            case: about.case.clone(),
            unit: about.unit,
            better: about.better,
            rev: about.rev,
            centre,
            // A variance is not negative: the method of moments has none below zero.
            between_nodes: shrunk_variance((of_means - of_visits).max(0.0), means.len()).sqrt(),
            between_visits,
            degrees_of_freedom: SPREAD_EFFICIENCY * errors.len() as f64,
            within_visit: self.within[case].sqrt(),
            nodes: means.len(),
            visits: repeats.iter().map(Vec::len).sum(),
        })
    }
}

fn usual_facts(fleet: &Fleet, nodes: &[usize]) -> Vec<UsualFact> {
    let mut counts: BTreeMap<&'static str, BTreeMap<&Arc<str>, usize>> = BTreeMap::new();
    for fact in nodes.iter().flat_map(|&node| &fleet.nodes[node].facts) {
        if let Some(value) = &fact.value {
            *counts.entry(fact.name).or_default().entry(value).or_default() += 1;
        }
    }
    let usual = |(name, values): (&'static str, BTreeMap<&Arc<str>, usize>)| {
        let (value, nodes) = values.into_iter().max_by_key(|(_, nodes)| *nodes)?;
        Some(UsualFact { name, value: Arc::clone(value), nodes })
    };
    counts.into_iter().filter_map(usual).collect()
}
