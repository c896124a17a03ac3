//! Nodes whose visits support no claim, a sentence each: those that have more of them than their equals,
//! and those of which nothing else is known.

use std::collections::BTreeSet;

use super::content::FleetContent;
use super::fact_text::apart;
use crate::fleet::{DisturbedNode, NodeVisit, NotJudgedNode};
use crate::report::text::{plain, plural};
use crate::report::view::machine_table::texts::{factor, joined};

/// More nodes than these are counted.
const MAX_NAMES: usize = 3;
/// Visits that began within so many seconds may have been disturbed by one job.
const DAY_S: f64 = 86_400.0;

/// The nodes whose visits support no claim more often than those of their equals, the surest first.
pub(super) fn disturbed(content: &FleetContent<'_>) -> Vec<String> {
    let all = &content.analysis.disturbed;
    let told = all.iter().take(MAX_NAMES).map(|it| sentence(content, it));
    let more = match all.len().saturating_sub(MAX_NAMES) {
        0 => None,
        1 => Some("1 more node is disturbed more often than its equals.".to_owned()),
        more => Some(format!("{more} more nodes are disturbed more often than their equals.")),
    };
    told.chain(more).collect()
}

fn sentence(content: &FleetContent<'_>, it: &DisturbedNode) -> String {
    let DisturbedNode { node, own, equals, facts, .. } = it;
    let than = match content.equals(*node) {
        0 => "the rest of the fleet".to_owned(),
        count => format!("its {count} equals"),
    };
    let figures = content.not_judged(*node).filter(|it| it.is_whole);
    let figures = figures.map_or_else(String::new, |it| {
        let farthest = farthest(content, it).map(|text| format!("; there it is {text}"));
        let not_judged =
            if has_finding(content, it) { "" } else { "; it was not judged otherwise" };
        format!("{}{not_judged}", farthest.unwrap_or_default())
    });
    let fact = match facts.first() {
        Some(fact) => apart(fact, "disturbed"),
        None => "no recorded fact sets it apart".to_owned(),
    };
    format!(
        "{} is disturbed more often than {than}: {} of its {} {}, {} of {} of theirs{figures}{}; \
         {fact}.",
        content.short_name(*node),
        own.not_claimable,
        plural(own.visits as u64, "visit"),
        reasons(content, *node),
        equals.not_claimable,
        equals.visits,
        one_cause(content, *node)
    )
}

/// That the visits of a node that support no claim may have one cause, if all of them are of one day: the
/// test takes them for independent of each other.
fn one_cause(content: &FleetContent<'_>, node: usize) -> &'static str {
    let is_part = |it: &&NodeVisit| it.node == node && it.not_claimable.is_some();
    let began = || content.fleet.visits.iter().filter(is_part).map(|it| it.started_s);
    let first = began().fold(f64::INFINITY, f64::min);
    let last = began().fold(f64::NEG_INFINITY, f64::max);
    match last - first < DAY_S {
        true => "; these visits of it are of one day, and one cause may have disturbed them all",
        false => "",
    }
}

/// The other nodes without a visit that supports a claim; `None` without one.
pub(super) fn not_judged(content: &FleetContent<'_>) -> Option<String> {
    let disturbed: BTreeSet<usize> = content.analysis.disturbed.iter().map(|it| it.node).collect();
    let is_other = |it: &&NotJudgedNode| {
        it.is_whole && !disturbed.contains(&it.node) && !has_finding(content, it)
    };
    let all: Vec<&NotJudgedNode> = content.analysis.not_judged.iter().filter(is_other).collect();
    if let [only] = all[..] {
        return Some(format!(
            "{} was not judged: {}{}.",
            content.short_name(only.node),
            visits(content, only),
            farthest(content, only).map(|text| format!(" ({text})")).unwrap_or_default()
        ));
    }
    let told = all.iter().take(MAX_NAMES).map(|it| {
        let farthest = farthest(content, it).map(|text| format!(", {text}"));
        let name = content.short_name(it.node);
        format!("{name} ({}{})", visits(content, it), farthest.unwrap_or_default())
    });
    let mut told: Vec<String> = told.collect();
    if all.len() > MAX_NAMES {
        told.push(format!("{} more", all.len() - MAX_NAMES));
    }
    let nodes = plural(all.len() as u64, "node");
    (!all.is_empty()).then(|| format!("{nodes} were not judged: {}.", joined(&told)))
}

/// Whether what differs on a node is found in spite of its visits.
fn has_finding(content: &FleetContent<'_>, it: &NotJudgedNode) -> bool {
    content.analysis.findings.iter().any(|finding| finding.node == it.node)
}

/// Why none of the visits of a node supports a claim.
fn visits(content: &FleetContent<'_>, it: &NotJudgedNode) -> String {
    match it.visits {
        1 => format!("its only visit {}", it.reason),
        count => format!("its {count} visits {}", reasons(content, it.node)),
    }
}

/// Why visits of a node support no claim, as what they are or have.
fn reasons(content: &FleetContent<'_>, node: usize) -> String {
    let of_node = content.fleet.visits.iter().filter(|visit| visit.node == node);
    let reasons: BTreeSet<&str> = of_node.filter_map(|visit| visit.not_claimable).collect();
    reasons.into_iter().map(of_several).collect::<Vec<_>>().join(" or ")
}

/// What visits are or have, by what one of them is or has.
pub(super) fn of_several(reason: &str) -> String {
    match reason.split_once(' ') {
        Some(("is", rest)) => format!("are {rest}"),
        Some(("has", rest)) => format!("have {rest}"),
        _ => plain(reason),
    }
}

/// The case of a node that is farthest from its equals, with its ratio; `None` if none is known.
fn farthest(content: &FleetContent<'_>, it: &NotJudgedNode) -> Option<String> {
    let farthest = it.farthest?;
    let case = plain(&content.fleet.cases.get(farthest.case as usize)?.case);
    let times = match farthest.ratio {
        ratio if ratio < 1.0 => format!("{} times as fast", factor(1.0 / ratio)),
        ratio => format!("{} times as slow", factor(ratio)),
    };
    Some(format!("{times} as its equals in {case}"))
}
