//! The costs of equal nodes, taken apart: `log cost = case + node + family of cases + one case +
//! visit`.
//!
//! All cases of a visit are disturbed together, and those of a family more than others, so they are
//! not independent evidence of the node. Each visit is therefore taken apart by itself, into one number
//! for the node, one for each family and one for each case, and only visits count as repetitions: of
//! each of these numbers, how far visits of one node differ is its error, whatever part of it cases
//! have in common (docs/explanation/FLEET.md).

use oscost_stats::bisquare;
use oscost_stats::two_way::{MedianPolish, median_polish};

use super::reach::part_variances;
use super::spread::Effects;
use crate::fleet::findings::Adjustment;
use crate::fleet::table::{CostTable, median_of_numbers};

/// Fewer cases of a family, or families of a node, have no middle that one of them could not move: then
/// each is judged by itself.
const MIN_PARTS: usize = 3;

/// The effects of some nodes.
pub(super) struct NodeEffects {
    /// Of whole nodes.
    pub(super) node: Effects,
    /// Of families, by their index.
    pub(super) families: Vec<Effects>,
    /// Of cases, by their index.
    pub(super) cases: Vec<Effects>,
}

/// Takes the costs of these nodes apart, by the cases of each family. `None` without cases.
pub(super) fn take_apart(
    table: &CostTable,
    families: &[Vec<usize>],
    members: &[usize],
) -> Option<NodeEffects> {
    let means: Vec<f64> = members.iter().flat_map(|&node| table.means(node)).collect();
    let polish = median_polish(&means, table.cases)?;
    let context = Context::new(table, families, &means, &polish);
    let mut effects = NodeEffects {
        node: Effects::default(),
        families: families.iter().map(|_| Effects::default()).collect(),
        cases: (0..table.cases).map(|_| Effects::default()).collect(),
    };
    for (member, &node) in members.iter().enumerate() {
        context.add(&mut effects, member, node);
    }
    Some(effects)
}

/// What all nodes have in common.
struct Context<'a> {
    table: &'a CostTable,
    families: &'a [Vec<usize>],
    /// The cost of each case.
    centres: &'a [f64],
    /// The weights and the families of each node, over its visits.
    weights: Vec<CaseWeights>,
    /// The spread of each case between nodes.
    case_variances: Vec<f64>,
    /// The spread of each family between nodes.
    family_spreads: Vec<f64>,
}

/// The weights of the cases of one node in their families.
struct CaseWeights {
    /// Of each case; 0 of one that it does not have, too.
    cases: Vec<f64>,
    /// Its families.
    families: Vec<FamilyMean>,
}

/// A family on one node.
#[derive(Clone, Copy)]
struct FamilyMean {
    /// How many of its cases the node has.
    cases: usize,
    /// Its mean over cases and visits; NaN without a case.
    value: f64,
    /// The variance of that mean, if cases are independent.
    variance: f64,
    /// The sum of the weights of its cases.
    weight: f64,
}

impl<'a> Context<'a> {
    fn new(
        table: &'a CostTable,
        families: &'a [Vec<usize>],
        means: &[f64],
        polish: &'a MedianPolish,
    ) -> Self {
        let rows = || means.chunks_exact(table.cases).zip(&polish.rows);
        let case = |case: usize| {
            rows().map(|(it, row)| it[case] - polish.columns[case] - row).collect::<Vec<f64>>()
        };
        let case_variances = part_variances(&(0..table.cases).map(case).collect::<Vec<_>>());
        let weights: Vec<CaseWeights> = rows()
            .map(|(it, _)| {
                let from_centre = it.iter().zip(&polish.columns).map(|(it, centre)| it - centre);
                CaseWeights::of(&from_centre.collect::<Vec<f64>>(), families, &case_variances)
            })
            .collect();
        let middles: Vec<f64> = weights.iter().map(CaseWeights::middle).collect();
        let family = |family: usize| {
            let nodes = weights.iter().zip(&middles);
            nodes.map(|(it, middle)| it.families[family].value - middle).collect::<Vec<f64>>()
        };
        let family_variances = part_variances(&(0..families.len()).map(family).collect::<Vec<_>>());
        let family_spreads = family_variances.into_iter().map(f64::sqrt).collect();
        let centres = &polish.columns;
        Self { table, families, centres, weights, case_variances, family_spreads }
    }

    /// Adds the effects of a node.
    fn add(&self, effects: &mut NodeEffects, member: usize, node: usize) {
        let weights = &self.weights[member];
        let visits: Vec<VisitMeans> = self.table.rows[node]
            .clone()
            .map(|row| VisitMeans::of(self.table.row(row), self.centres, weights, self.families))
            .collect();
        let whole = NodeWeights::of(&weights.families, &self.family_spreads);
        let node_values: Vec<f64> = visits
            .iter()
            .map(|visit| whole.as_ref().map_or(0.0, |whole| whole.mean(&visit.families)))
            .collect();
        if whole.is_some() {
            effects.node.push(member, node_values.iter().copied(), 1.0, None);
        }
        let of_node = whole.is_some().then_some(Adjustment::Node);
        for (family, cases) in self.families.iter().enumerate() {
            let own = weights.families[family];
            let above = whole.as_ref().map(|whole| whole.part(family));
            let has_middle = own.cases >= MIN_PARTS;
            if has_middle {
                let values = visits.iter().zip(&node_values);
                let values = values.map(|(visit, node)| visit.families[family] - node);
                let factor = remainder(own.variance, above);
                effects.families[family].push(member, values, factor, of_node);
            }
            for &case in cases {
                let share = weights.cases[case] / own.weight;
                let part = match has_middle {
                    true => Some(Part { share, variance: own.variance }),
                    false => above.map(|above| Part { share: above.share * share, ..above }),
                };
                let values = visits.iter().zip(&node_values).map(|(visit, &node)| {
                    let middle = if has_middle { visit.families[family] } else { node };
                    visit.cases[case] - middle
                });
                let factor = remainder(self.case_variances[case], part);
                let adjustment = if has_middle { Some(Adjustment::Family) } else { of_node };
                effects.cases[case].push(member, values, factor, adjustment);
            }
        }
    }
}

/// What is taken away from a value.
#[derive(Clone, Copy)]
struct Part {
    /// The share of the value in it.
    share: f64,
    /// Its variance.
    variance: f64,
}

/// The variance of what is left of a value with this variance if a mean is taken away that contains a
/// share of it: less than that of the value if the share is large, and more if it is 0. 0 if nothing is
/// left.
fn remainder(variance: f64, part: Option<Part>) -> f64 {
    /// Rounding leaves less than this of a value that is its own mean.
    const ROUNDING: f64 = 1e-9;
    let Some(Part { share, variance: of_mean }) = part else { return variance };
    let left = (1.0 - 2.0 * share) * variance + of_mean;
    if left > ROUNDING * variance { left } else { 0.0 }
}

impl CaseWeights {
    fn of(from_centre: &[f64], families: &[Vec<usize>], variances: &[f64]) -> Self {
        let mut weights = vec![0.0; from_centre.len()];
        let family = |cases: &Vec<usize>| {
            let present = cases.iter().copied().filter(|&case| !from_centre[case].is_nan());
            let present: Vec<usize> = present.collect();
            let values: Vec<f64> = present.iter().map(|&case| from_centre[case]).collect();
            let spreads: Vec<f64> = present.iter().map(|&case| variances[case].sqrt()).collect();
            let own = bisquare::weights(&values, &spreads).unwrap_or_default();
            let weight: f64 = own.iter().sum();
            let squares: f64 =
                own.iter().zip(&spreads).map(|(weight, sd)| (weight * sd).powi(2)).sum();
            for (&case, &weight) in present.iter().zip(&own) {
                weights[case] = weight;
            }
            FamilyMean {
                cases: present.len(),
                value: bisquare::weighted_mean(&values, &own).unwrap_or(f64::NAN),
                variance: squares / (weight * weight),
                weight,
            }
        };
        let families = families.iter().map(family).collect();
        Self { cases: weights, families }
    }

    /// The median over its families; NaN without.
    fn middle(&self) -> f64 {
        median_of_numbers(self.families.iter().map(|it| it.value)).unwrap_or(f64::NAN)
    }
}

/// The weights of the families in a node's own effect.
struct NodeWeights {
    weights: Vec<f64>,
    total: f64,
    variance: f64,
}

impl NodeWeights {
    /// `None` if it has too few families.
    fn of(families: &[FamilyMean], spreads: &[f64]) -> Option<Self> {
        let present: Vec<usize> =
            (0..families.len()).filter(|&family| families[family].cases > 0).collect();
        if present.len() < MIN_PARTS {
            return None;
        }
        let values: Vec<f64> = present.iter().map(|&family| families[family].value).collect();
        let spreads: Vec<f64> = present.iter().map(|&family| spreads[family]).collect();
        let own = bisquare::weights(&values, &spreads)?;
        let mut weights = vec![0.0; families.len()];
        let mut squares = 0.0;
        for (&family, &weight) in present.iter().zip(&own) {
            weights[family] = weight;
            squares += weight * weight * families[family].variance;
        }
        let total: f64 = own.iter().sum();
        Some(Self { weights, total, variance: squares / (total * total) })
    }

    /// The mean in one visit; NaN if it has none of the families.
    fn mean(&self, families: &[f64]) -> f64 {
        weighted_mean_of_numbers(families, &self.weights)
    }

    fn part(&self, family: usize) -> Part {
        Part { share: self.weights[family] / self.total, variance: self.variance }
    }
}

/// A visit.
struct VisitMeans {
    /// The mean of each family; NaN without.
    families: Vec<f64>,
    /// Each case, from its centre; NaN without.
    cases: Vec<f64>,
}

impl VisitMeans {
    fn of(row: &[f64], centres: &[f64], weights: &CaseWeights, families: &[Vec<usize>]) -> Self {
        let cases: Vec<f64> = row.iter().zip(centres).map(|(cost, centre)| cost - centre).collect();
        let family = |of: &Vec<usize>| {
            let [values, weights] = [&cases, &weights.cases]
                .map(|all| of.iter().map(|&case| all[case]).collect::<Vec<_>>());
            weighted_mean_of_numbers(&values, &weights)
        };
        let families = families.iter().map(family).collect();
        Self { families, cases }
    }
}

/// The mean of those that are numbers; NaN if they have no weight.
fn weighted_mean_of_numbers(values: &[f64], weights: &[f64]) -> f64 {
    let (mut sum, mut total) = (0.0, 0.0);
    for (value, weight) in values.iter().zip(weights).filter(|(value, _)| !value.is_nan()) {
        sum += weight * value;
        total += weight;
    }
    if total > 0.0 { sum / total } else { f64::NAN }
}
