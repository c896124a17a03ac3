//! What is missing: nodes with fewer visits than others, visits that support no claim, parts
//! of machines that no visit measured, records that could not be read, and figures of older revisions.

use std::collections::BTreeMap;

use super::content::{FleetContent, section as section_of};
use crate::advice::machine_facts::NUMA_NODES;
use crate::fleet::{FleetNode, MIN_EQUALS, NotJudgedNuma, NumaReason};
use crate::report::text::{plain, plural};
use crate::report::view::document::{Block, Section};
use crate::report::view::fleet::revision_text::left_out;
use crate::report::view::machine_table::texts::joined;

/// Of more nodes or files the first are named.
const MAX_NAMES: usize = 5;

/// What is missing; `None` if nothing is.
pub(super) fn section(content: &FleetContent<'_>) -> Option<Section> {
    let lines = fewer_visits(content).into_iter().chain(not_claimable(content));
    let lines = lines.chain(unmeasured_numa_nodes(content)).chain(numa_not_judged(content));
    let lines = lines.chain(rejected(content)).chain(other_revisions(content));
    section_of("missing", "What is missing", [Block::list(lines)])
}

/// How many visits each node has that support claims.
fn visits(content: &FleetContent<'_>) -> Vec<usize> {
    let mut counts = vec![0; content.fleet.nodes.len()];
    for visit in content.fleet.visits.iter().filter(|it| it.not_claimable.is_none()) {
        if let Some(count) = counts.get_mut(visit.node) {
            *count += 1;
        }
    }
    counts
}

/// The nodes with fewer visits than the most visited one.
fn fewer_visits(content: &FleetContent<'_>) -> Vec<String> {
    let counts = visits(content);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut by_count: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (node, count) in counts.into_iter().enumerate().filter(|(_, count)| *count < most) {
        by_count.entry(count).or_default().push(node);
    }
    let line = |(count, nodes): (usize, Vec<usize>)| {
        let names = named(nodes.iter().map(|&node| content.short_name(node)), nodes.len());
        format!("{count} of {}: {names}", plural(most as u64, "visit"))
    };
    by_count.into_iter().map(line).collect()
}

/// The visits that support no claim, by the reason.
fn not_claimable(content: &FleetContent<'_>) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&FleetNode>> = BTreeMap::new();
    for visit in &content.fleet.visits {
        if let (Some(why), Some(node)) = (visit.not_claimable, content.node(visit.node)) {
            by_reason.entry(why).or_default().push(node);
        }
    }
    let line = |(why, mut nodes): (&str, Vec<&FleetNode>)| {
        let count = plural(nodes.len() as u64, "visit");
        let support = if nodes.len() == 1 { "supports" } else { "support" };
        nodes.dedup_by(|one, other| one.name == other.name);
        let names = named(nodes.iter().map(|node| plain(&node.name)), nodes.len());
        format!("{count} that {support} no claim ({why}): {names}")
    };
    by_reason.into_iter().map(line).collect()
}

/// The nodes with more NUMA nodes than visits, each of which measures on one of them.
fn unmeasured_numa_nodes(content: &FleetContent<'_>) -> Option<String> {
    let has_more = |(node, visits): (usize, usize)| {
        let facts = &content.node(node)?.facts;
        let value = facts.iter().find(|fact| fact.name == NUMA_NODES)?.value.as_deref()?;
        (value.parse::<usize>().ok()? > visits).then_some(node)
    };
    let nodes: Vec<usize> = visits(content).into_iter().enumerate().filter_map(has_more).collect();
    if nodes.is_empty() {
        return None;
    }
    let names = named(nodes.iter().map(|&node| content.short_name(node)), nodes.len());
    Some(format!(
        "a NUMA node that no visit measured, since there are more of them than visits: {names}"
    ))
}

/// The nodes of which several NUMA nodes were measured and not judged, by the reason.
fn numa_not_judged(content: &FleetContent<'_>) -> Vec<String> {
    let mut alike: BTreeMap<(NumaReason, usize), Vec<usize>> = BTreeMap::new();
    for NotJudgedNuma { node, numa_nodes, reason } in &content.analysis.numa_not_judged {
        alike.entry((*reason, *numa_nodes)).or_default().push(*node);
    }
    let line = |((reason, numa_nodes), nodes): ((NumaReason, usize), Vec<usize>)| {
        let names = named(nodes.iter().map(|&node| content.short_name(node)), nodes.len());
        let why = match reason {
            NumaReason::TooFewVisits => format!(
                "{} of a node, two for each of its {numa_nodes} NUMA nodes, would do",
                plural(2 * numa_nodes as u64, "visit")
            ),
            NumaReason::TooFewEquals => format!(
                "{MIN_EQUALS} nodes of a class with visits of the same {numa_nodes} NUMA nodes \
                 would do"
            ),
        };
        format!("whether a NUMA node is slow was not judged: {why}: {names}")
    };
    alike.into_iter().map(line).collect()
}

/// The figures of older revisions of their benchmarks.
fn other_revisions(content: &FleetContent<'_>) -> Vec<String> {
    content.fleet.other_revisions.iter().map(left_out).collect()
}

/// The records that could not be read, by the reason.
fn rejected(content: &FleetContent<'_>) -> Vec<String> {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for it in content.rejected {
        by_reason.entry(it.why).or_default().push(it.file);
    }
    let line = |(why, files): (&str, Vec<&str>)| {
        let names = named(files.iter().map(|file| plain(file)), files.len());
        format!("{} not used ({}): {names}", plural(files.len() as u64, "record"), plain(why))
    };
    let mut lines: Vec<String> = by_reason.into_iter().map(line).collect();
    let more = lines.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        lines.truncate(MAX_NAMES);
        lines.push(format!("records not used for {}", plural(more as u64, "more reason")));
    }
    lines
}

/// The first of some names, and how many more there are.
fn named(names: impl Iterator<Item = String>, all: usize) -> String {
    let mut told: Vec<String> = names.take(MAX_NAMES).collect();
    if all > told.len() {
        told.push(format!("{} more", all - told.len()));
    }
    joined(&told)
}
