//! What stands out, a sentence each, with the fact that sets it apart.

use std::collections::btree_map::{BTreeMap, Entry};
use std::sync::Arc;

use super::content::{FleetContent, per_cent_up};
use super::fact_text::apart;
use super::unjudged::{disturbed, not_judged, of_several};
use crate::fleet::{Adjustment, Finding, FindingScope, USE_OF_NODE, use_of_node};
use crate::report::text::{plain, plural};
use crate::report::view::machine_table::texts::{factor, joined};

/// More findings of one kind than these are counted.
const MAX_NAMES: usize = 3;
/// Of more kinds of findings the first are told.
const MAX_TOLD: usize = 4;

/// Findings that differ by their node alone, the surest first.
struct Kind<'a> {
    first: &'a Finding,
    others: Vec<&'a Finding>,
}

/// What findings of one kind share: what of their nodes differs, on which NUMA node, in which direction,
/// why their visits support no other claim, and the fact that sets them apart.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct KindKey<'a> {
    scope: &'a FindingScope,
    numa_node: Option<u32>,
    is_fast: bool,
    not_claimable: Option<&'static str>,
    fact: Option<(&'static str, &'a Arc<str>)>,
}

impl<'a> Kind<'a> {
    /// The findings of each kind, in the order of their first ones.
    fn all(findings: &'a [Finding]) -> Vec<Self> {
        let mut kinds: Vec<Self> = Vec::new();
        let mut known: BTreeMap<KindKey<'a>, usize> = BTreeMap::new();
        for finding in findings {
            let key = KindKey {
                scope: &finding.scope,
                numa_node: finding.numa_node,
                is_fast: finding.ratio < 1.0,
                not_claimable: finding.not_claimable,
                fact: finding.facts.first().map(|it| (it.name, &it.value)),
            };
            match known.entry(key) {
                Entry::Occupied(at) => {
                    kinds[*at.get()].others.push(finding);
                }
                Entry::Vacant(free) => {
                    free.insert(kinds.len());
                    kinds.push(Self { first: finding, others: Vec::new() });
                }
            }
        }
        kinds
    }
}

/// What stands out most, or that nothing does.
pub(super) fn headlines(content: &FleetContent<'_>) -> Vec<String> {
    let findings = &content.analysis.findings;
    let disturbed = disturbed(content).into_iter();
    if findings.is_empty() {
        return disturbed.chain([nothing(content)]).chain(not_judged(content)).collect();
    }
    let kinds = Kind::all(findings);
    let told = kinds.iter().take(MAX_TOLD).map(|kind| of_kind(content, kind));
    let more: usize = kinds.iter().skip(MAX_TOLD).map(|kind| 1 + kind.others.len()).sum();
    let more = (more > 0).then(|| match more {
        1 => "1 more finding is in the table.".to_owned(),
        more => format!("{more} more findings are in the table."),
    });
    told.chain(more).chain(disturbed).chain(not_judged(content)).collect()
}

/// Which fleet, and how much of it.
pub(super) fn conditions(content: &FleetContent<'_>) -> String {
    let fleet = content.fleet;
    let judged = content.analysis.judged;
    format!(
        "Fleet {}: {}, {} and {}; {} judged, of the findings at most {:.0} % are expected to be \
         false{}{}",
        content.fleet_name(),
        plural(fleet.nodes.len() as u64, "node"),
        plural(fleet.visits.len() as u64, "visit"),
        plural(fleet.cases.len() as u64, "case"),
        plural(judged as u64, "difference"),
        100.0 * content.analysis.false_discovery_rate,
        use_of_nodes(content),
        missed(content)
    )
}

/// What may be slow without being found, where something was found; where nothing was, the head says it.
fn missed(content: &FleetContent<'_>) -> String {
    match content.analysis.findings.is_empty() {
        true => String::new(),
        false => format!(
            "; slow nodes may have been missed: {}, and one that is slow in a family or a case alone \
             may need a larger difference there",
            sensitivity(content)
        ),
    }
}

/// How slow a node must be to be found.
fn sensitivity(content: &FleetContent<'_>) -> String {
    match content.analysis.detectable_ratio {
        Some(ratio) => format!(
            "a node slower by {} or more over all its cases would probably have been found",
            per_cent_up(ratio)
        ),
        None => "how slow a node must be to be found is not known".to_owned(),
    }
}

/// How many nodes the visits had alone, as far as it is known.
fn use_of_nodes(content: &FleetContent<'_>) -> String {
    let facts = content.fleet.nodes.iter().flat_map(|node| &node.facts);
    let uses = facts.filter(|fact| fact.name == USE_OF_NODE);
    let values: Vec<&str> = uses.filter_map(|fact| fact.value.as_deref()).collect();
    let counts = [true, false].into_iter().filter_map(|is_exclusive| {
        let value = use_of_node(is_exclusive);
        match values.iter().filter(|it| **it == value).count() {
            0 => None,
            count => Some(format!("{count} {value}")),
        }
    });
    let counts: Vec<String> = counts.collect();
    match counts.is_empty() {
        true => String::new(),
        false => format!("; use of the nodes at their newest visits: {}", joined(&counts)),
    }
}

fn nothing(content: &FleetContent<'_>) -> String {
    let analysis = content.analysis;
    if analysis.judged == 0 || analysis.judged_nodes == 0 {
        let no_spread = analysis.cases.iter().all(|it| it.between_visits.is_none());
        let of_node = match analysis.not_judged.is_empty() {
            true => "of one node",
            false => "of one node from which something may be concluded",
        };
        let nothing = match analysis.disturbed.is_empty() {
            true => "Nothing can be judged",
            false => "No cost can be judged",
        };
        return match no_spread {
            true => format!(
                "{nothing}: no case was measured in two visits {of_node}, so how far visits differ \
                 is not known."
            ),
            false => format!("{nothing}: no case was measured on enough nodes."),
        };
    }
    let sensitivity = sensitivity(content);
    let nodes = content.fleet.nodes.len();
    let judged = analysis.judged_nodes;
    // A node that is disturbed more often than its equals stands out, too.
    let by = if analysis.disturbed.is_empty() { "" } else { " by its costs" };
    if judged == nodes {
        return format!("No node of {nodes} stands out{by}: {sensitivity}.");
    }
    let (of, were) = if judged == 1 { ("node", "was") } else { ("nodes", "were") };
    // Nodes without a visit that supports a claim have sentences of their own.
    let told = analysis.not_judged.iter().filter(|it| it.is_whole).count();
    let others = match nodes.saturating_sub(judged + told) {
        0 => String::new(),
        1 => "; 1 node was not judged".to_owned(),
        others => format!("; {others} nodes were not judged"),
    };
    format!("None of the {judged} {of} that {were} judged stands out{by}: {sensitivity}{others}.")
}

fn of_kind(content: &FleetContent<'_>, kind: &Kind<'_>) -> String {
    let first = sentence(content, kind.first);
    let others = &kind.others;
    if others.is_empty() {
        return first;
    }
    let told = others.iter().take(MAX_NAMES).map(|it| content.short_name(it.node));
    let mut names: Vec<String> = told.collect();
    if others.len() > MAX_NAMES {
        names.push(format!("{} more", others.len() - MAX_NAMES));
    }
    let (kind, turned) = direction(kind.first);
    let ratios = others.iter().map(|it| if turned { 1.0 / it.ratio } else { it.ratio });
    let low = ratios.clone().fold(f64::INFINITY, f64::min);
    let high = ratios.fold(f64::NEG_INFINITY, f64::max);
    let range = match (factor(low), factor(high)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    format!("{first} The same holds for {}: {range} times as {kind}.", joined(&names))
}

/// Which way a finding differs, and whether its ratio is turned around to say so.
fn direction(finding: &Finding) -> (&'static str, bool) {
    if finding.ratio < 1.0 { ("fast", true) } else { ("slow", false) }
}

fn sentence(content: &FleetContent<'_>, it: &Finding) -> String {
    let (kind, turned) = direction(it);
    let of = |value: f64| factor(if turned { 1.0 / value } else { value });
    let [low, high] = if turned { [it.ci95[1], it.ci95[0]] } else { it.ci95 };
    let place = match &it.scope {
        FindingScope::Node => " over all its cases".to_owned(),
        FindingScope::Family(family) => {
            format!(" in {} ({})", plain(family), content.cases_of(family))
        }
        scope => format!(" in {}", content.scope_name(scope).unwrap_or_default()),
    };
    let than = match content.equals(it.node) {
        _ if it.numa_node.is_some() => {
            "the rest of the node, beyond what its equals differ by".to_owned()
        }
        0 => "the rest of the fleet".to_owned(),
        equals => format!("its {equals} equals"),
    };
    let fact = match it.facts.first() {
        Some(fact) => apart(fact, kind),
        None => "no recorded fact sets it apart".to_owned(),
    };
    format!(
        "{} is {} times as {kind}{place} as {than} [{} .. {}]{}{}; {fact}.",
        with_numa_node(content.short_name(it.node), it),
        of(it.ratio),
        of(low),
        of(high),
        apart_from(it),
        in_spite_of(it)
    )
}

/// That a finding is of visits that support no other claim.
fn in_spite_of(it: &Finding) -> String {
    it.not_claimable.map_or_else(String::new, |reason| {
        format!(
            ", in visits that {}: the interval has what such disturbances ordinarily do",
            of_several(reason)
        )
    })
}

/// The name of a node with that of its NUMA node, if a finding is of that alone.
pub(super) fn with_numa_node(name: String, it: &Finding) -> String {
    match it.numa_node {
        Some(number) => format!("{name}, NUMA node {number}"),
        None => name,
    }
}

/// What the ratio of a finding is without, and the one with it.
fn apart_from(it: &Finding) -> String {
    let without = match it.adjustment {
        None => return String::new(),
        Some(Adjustment::Node) => ", apart from what it differs by as a whole",
        Some(Adjustment::Family) => ", apart from what its other cases of the family differ by",
    };
    let whole = it.ratio_to_fleet.map(|ratio| {
        format!("; with that its costs there are {} times the fleet's median", factor(ratio))
    });
    format!("{without}{}", whole.unwrap_or_default())
}
