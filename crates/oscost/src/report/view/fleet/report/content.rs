//! What is shown of a fleet, and what its nodes and cases are called.

use crate::fleet::{
    FindingScope, Fleet, FleetAnalysis, FleetChanges, FleetNode, MIN_EQUALS, NotJudgedNode,
};
use crate::report::text::{plain, plural, shorten};
use crate::report::view::document::{Block, Section};

/// In sentences, a longer name has its middle left out.
const MAX_NAME: usize = 40;

/// A fleet, and what an analysis says of it.
#[derive(Clone, Copy)]
pub struct FleetContent<'a> {
    /// The fleet.
    pub fleet: &'a Fleet,
    /// What is said of it.
    pub analysis: &'a FleetAnalysis,
    /// The records that could not be read.
    pub rejected: &'a [Rejected<'a>],
    /// What changed since another moment; `None` if it was not compared.
    pub changes: Option<&'a FleetChanges>,
    /// The source, as the user names it.
    pub source: &'a str,
}

/// A record that could not be read.
#[derive(Clone, Copy, Debug)]
pub struct Rejected<'a> {
    /// Its file.
    pub file: &'a str,
    /// The reason.
    pub why: &'a str,
}

impl<'a> FleetContent<'a> {
    /// The name of the fleet.
    pub(super) fn fleet_name(&self) -> String {
        plain(&self.fleet.name)
    }

    /// The whole name of a node.
    pub(super) fn node_name(&self, node: usize) -> String {
        self.node(node).map_or_else(String::new, |it| plain(&it.name))
    }

    /// The name of a node where there is little room.
    pub(super) fn short_name(&self, node: usize) -> String {
        shorten(&self.node_name(node), MAX_NAME).trim_end().to_owned()
    }

    pub(super) fn node(&self, node: usize) -> Option<&'a FleetNode> {
        self.fleet.nodes.get(node)
    }

    /// What is known of the figures of a node from which nothing is concluded; `None` if it has none.
    pub(super) fn not_judged(&self, node: usize) -> Option<&'a NotJudgedNode> {
        let all = &self.analysis.not_judged;
        all.binary_search_by_key(&node, |it| it.node).ok().and_then(|at| all.get(at))
    }

    /// How many other nodes of its class this one is compared with; 0 if it is compared with the whole
    /// fleet, because its class is not known or has too few nodes.
    pub(super) fn equals(&self, node: usize) -> usize {
        let Some(FleetNode { class, .. }) = self.node(node) else { return 0 };
        let alike = self.fleet.nodes.iter().filter(|it| it.class == *class).count();
        if class.is_empty() || alike < MIN_EQUALS { 0 } else { alike - 1 }
    }

    /// What of a node differs, after `in`; `None` for all of it.
    pub(super) fn scope_name(&self, scope: &FindingScope) -> Option<String> {
        match scope {
            FindingScope::Node => None,
            FindingScope::Family(family) => Some(plain(family)),
            FindingScope::Case(case) => {
                let case = self.fleet.cases.get(*case as usize);
                Some(case.map_or_else(String::new, |it| plain(&it.case)))
            }
        }
    }

    /// How many cases are of a family, in words.
    pub(super) fn cases_of(&self, family: &str) -> String {
        let count = self.fleet.cases.iter().filter(|it| it.family == family).count();
        plural(count as u64, "case")
    }
}

/// A class of nodes as it is read.
pub(super) fn class_name(class: &str) -> String {
    match class {
        "" => "not known".to_owned(),
        class => plain(class),
    }
}

/// A section with an anchor; `None` without anything in it.
pub(super) fn section(
    id: &str,
    title: &str,
    blocks: impl IntoIterator<Item = Option<Block>>,
) -> Option<Section> {
    let blocks: Vec<Block> = blocks.into_iter().flatten().collect();
    let id = id.to_owned();
    (!blocks.is_empty()).then(|| Section { id, ..Section::of(title, blocks) })
}

/// A number of per cent that does not promise more than it says: rounded up.
pub(super) fn per_cent_up(ratio: f64) -> String {
    let pct = 100.0 * (ratio - 1.0);
    // What is above by the last bits of a double is not above.
    let up = |value: f64| (value - 1e-9).ceil();
    if pct < 10.0 { format!("{} %", up(10.0 * pct) / 10.0) } else { format!("{} %", up(pct)) }
}

/// A text that a shell takes as one word as it is; `None` for any other.
pub(super) fn argument(text: &str) -> Option<&str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@".contains(c);
    let is_word = !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain);
    is_word.then_some(text)
}
