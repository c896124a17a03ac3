//! Whether a node is like the others of its class, as a check found it.

use super::NodeCheck;

/// What a check of a node found.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeHealth {
    /// The node as it is named: by the user, or by its target.
    pub node: String,
    /// The fleet that it is judged against.
    pub fleet: String,
    /// Its class.
    pub class: String,
    /// The CPU on which it was measured; `None` if nothing was, or on several.
    pub cpu: Option<u32>,
    /// Whether it is like its equals.
    pub verdict: HealthVerdict,
    /// What was judged; `None` if nothing was measured.
    pub check: Option<NodeCheck>,
    /// The cases that could not be measured.
    pub unmeasured: Vec<UnmeasuredCase>,
    /// The facts in which it differs from most of its class.
    pub unusual: Vec<UnusualFact>,
}

/// Whether a node is like its equals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HealthVerdict {
    /// No case of it is slower.
    Healthy,
    /// A case is slower, in two measurements.
    Slow,
    /// It was not judged, for this reason.
    NotJudged(String),
}

impl HealthVerdict {
    /// The verdict as documents spell it.
    pub fn text(&self) -> &'static str {
        match self {
            HealthVerdict::Healthy => "healthy",
            HealthVerdict::Slow => "slow",
            HealthVerdict::NotJudged(_) => "not-judged",
        }
    }
}

/// A case without a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnmeasuredCase {
    /// The case.
    pub case: String,
    /// Why it has none.
    pub why: String,
}

/// A fact of a node that most of its class do not share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnusualFact {
    /// The name of the fact.
    pub name: &'static str,
    /// Its value on the node.
    pub own: String,
    /// Its value on most of the class.
    pub usual: String,
}
