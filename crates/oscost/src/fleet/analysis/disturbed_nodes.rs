//! Nodes whose visits support no claim more often than those of their equals.

use oscost_stats::contingency::{Count, fisher_exact};

use crate::fleet::data::Fleet;
use crate::fleet::equals::{Equals, MIN_EQUALS};
use crate::fleet::unjudged::VisitCount;

/// A node whose visits are compared with those of its equals.
pub(super) struct ComparedVisits {
    pub(super) node: usize,
    /// The index of its equals.
    pub(super) group: usize,
    pub(super) own: VisitCount,
    pub(super) equals: VisitCount,
    /// The probability that by chance as many of those that support no claim are its own.
    pub(super) p: f64,
}

/// The visits of each node beside those of its equals; none where all visits support claims.
///
/// Given how many visits of all of them support none, Fisher's exact test has no other unknown: it holds
/// in fleets of any size, and of few visits it says little.
pub(super) fn compared_visits(fleet: &Fleet, groups: &[Equals]) -> Vec<ComparedVisits> {
    let counts = counts(fleet);
    let mut compared = Vec::new();
    for (group, of) in groups.iter().enumerate() {
        let all = of.members.iter().fold(VisitCount::default(), |sum, &node| VisitCount {
            not_claimable: sum.not_claimable + counts[node].not_claimable,
            visits: sum.visits + counts[node].visits,
        });
        if all.not_claimable == 0 || of.members.len() < MIN_EQUALS {
            continue;
        }
        compared.extend(of.judged().map(|node| {
            let own = counts[node];
            let equals = VisitCount {
                not_claimable: all.not_claimable - own.not_claimable,
                visits: all.visits - own.visits,
            };
            ComparedVisits { node, group, own, equals, p: fisher_exact(count(own), count(equals)) }
        }));
    }
    compared
}

fn count(of: VisitCount) -> Count {
    Count { having: of.not_claimable, of: of.visits }
}

/// The visits of each node.
fn counts(fleet: &Fleet) -> Vec<VisitCount> {
    let mut counts = vec![VisitCount::default(); fleet.nodes.len()];
    for visit in &fleet.visits {
        let count = &mut counts[visit.node];
        count.visits += 1;
        count.not_claimable += usize::from(visit.not_claimable.is_some());
    }
    counts
}
