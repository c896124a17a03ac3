//! What an analysis says of visits that support no claim. All indices are those of the fleet's lists.

use super::fact_candidate::FactCandidate;

/// How many visits support no claim.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VisitCount {
    /// Those that support none.
    pub not_claimable: usize,
    /// All of them.
    pub visits: usize,
}

/// A node whose visits support no claim more often than those of its equals.
#[derive(Clone, Debug, PartialEq)]
pub struct DisturbedNode {
    /// The node.
    pub node: usize,
    /// Why most of these visits support none, as what each of them is or has (`is very noisy`).
    pub reason: &'static str,
    /// Its visits.
    pub own: VisitCount,
    /// Those of its equals.
    pub equals: VisitCount,
    /// The p value (Fisher's exact test), adjusted over all that was judged.
    pub q: f64,
    /// The facts that set it apart, the best supported first; none if no fact does.
    pub facts: Vec<FactCandidate>,
}

/// A node of which all figures, or those of some cases, are of visits that support no claim.
#[derive(Clone, Debug, PartialEq)]
pub struct NotJudgedNode {
    /// The node.
    pub node: usize,
    /// Why most of these visits support none, as what each of them is or has.
    pub reason: &'static str,
    /// How many there are.
    pub visits: usize,
    /// Whether it has no other visit.
    pub is_whole: bool,
    /// The ratio of each case in these visits to the fleet's median; NaN where it was not measured, and
    /// where other visits of the node have it.
    pub ratios: Vec<f32>,
    /// Of these cases the one that is farthest from the equals of the node; `None` if none of them is
    /// known of enough equals.
    pub farthest: Option<FarthestCase>,
}

/// The case of a node that is farthest from its equals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FarthestCase {
    /// The case.
    pub case: u32,
    /// The ratio of its cost to the median of the equals.
    pub ratio: f64,
}
