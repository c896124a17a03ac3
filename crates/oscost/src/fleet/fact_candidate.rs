//! A fact that sets a node apart.

use std::sync::Arc;

/// A fact that may be the reason why nodes are slow: a candidate and no cause.
#[derive(Clone, Debug, PartialEq)]
pub struct FactCandidate {
    /// The name of the fact.
    pub name: &'static str,
    /// Its value on this node.
    pub value: Arc<str>,
    /// The value of most of the others.
    pub usual: Arc<str>,
    /// The nodes with the value of this node.
    pub with: FactGroup,
    /// The nodes with another value.
    pub without: FactGroup,
    /// The p value of such a separation by chance (Fisher's exact test).
    pub p: f64,
}

/// Nodes that share a value of a fact, or have another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FactGroup {
    /// How many of them were found to differ in this way.
    pub found: usize,
    /// How many there are.
    pub nodes: usize,
}
