//! What was measured between nodes so far.

use std::collections::BTreeMap;

use oscost_model::record::{Record, Row, RowOutcome};

use crate::app::fleet::usable_figure::usable_figure;
use crate::fleet::{Link, LinkCase, NodePair};
use crate::hosts::HostError;

/// The figures of all pairs so far.
#[derive(Default)]
pub(super) struct Network {
    /// By the name of the case; links by their pair.
    cases: BTreeMap<String, (LinkCase, BTreeMap<NodePair, Link>)>,
    /// Why runs between pairs failed as a whole.
    failures: BTreeMap<NodePair, Vec<String>>,
}

impl Network {
    pub(super) fn add(&mut self, pair: NodePair, record: &Record) {
        let is_claimable = record.conditions.iter().all(|it| it.not_claimable_reason().is_none());
        for row in record.results.iter().filter(|row| row.is_requested()) {
            let (_, links) = self.cases.entry(row.case.clone()).or_insert_with(|| {
                let Row { case, unit, better, .. } = row;
                let case = LinkCase {
                    case: case.clone(),
                    unit: *unit,
                    better: *better,
                    links: Vec::new(),
                };
                (case, BTreeMap::new())
            });
            let link = links.entry(pair).or_insert_with(|| empty_link(pair));
            match usable_figure(row) {
                Some(figure) => {
                    link.not_claimable.extend((!is_claimable).then_some(link.values.len()));
                    link.values.push(figure);
                }
                None => add_reason(link, reason(row)),
            }
        }
    }

    /// Refuses a network without a row: there is nothing to show.
    pub(super) fn check(&self, has_ended_early: bool) -> anyhow::Result<()> {
        match self.failures.values().flatten().next() {
            _ if !self.cases.is_empty() => Ok(()),
            Some(why) if !has_ended_early => {
                anyhow::bail!("cannot measure between any two of these nodes: {why}")
            }
            _ => Err(HostError::Interrupted.into()),
        }
    }

    /// Keeps why a pair could not be measured at all.
    pub(super) fn add_failure(&mut self, pair: NodePair, why: String) {
        self.failures.entry(pair).or_default().push(why);
    }

    /// The cases with a link for each pair of these.
    pub(super) fn cases(self, pairs: &[NodePair]) -> Vec<LinkCase> {
        let mut pairs: Vec<NodePair> = pairs.to_vec();
        pairs.sort_unstable();
        let Self { cases, failures } = self;
        let with_links = |(case, mut links): (LinkCase, BTreeMap<NodePair, Link>)| {
            let link = |pair: &NodePair| {
                let mut link = links.remove(pair).unwrap_or_else(|| empty_link(*pair));
                let reasons = failures.get(pair).into_iter().flatten();
                reasons.for_each(|why| add_reason(&mut link, why));
                link
            };
            LinkCase { links: pairs.iter().map(link).collect(), ..case }
        };
        cases.into_values().map(with_links).collect()
    }
}

/// Why a row has no figure that can be used.
fn reason(row: &Row) -> &str {
    let own = row.reason.as_deref();
    own.unwrap_or(match row.outcome {
        RowOutcome::Measured => "it cannot be told from 0",
        _ => "it has no figure",
    })
}

fn empty_link(pair: NodePair) -> Link {
    Link { pair, values: Vec::new(), not_claimable: Vec::new(), reasons: Vec::new() }
}

fn add_reason(link: &mut Link, why: &str) {
    if !link.reasons.iter().any(|reason| reason == why) {
        link.reasons.push(why.to_owned());
    }
}
