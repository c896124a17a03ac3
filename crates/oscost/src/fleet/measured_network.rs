//! A network of nodes as it was measured, pair by pair.

use super::link_model::{LinkAnalysis, LinkCase};

/// The network as it was measured.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredNetwork {
    /// The names of the nodes.
    pub nodes: Vec<String>,
    /// The seed of pairs and order.
    pub seed: u64,
    /// How many pairs were to be measured.
    pub pairs: usize,
    /// How often each was to be measured.
    pub repeats: u32,
    /// Whether the user ended it before all were measured.
    pub is_interrupted: bool,
    /// The cases.
    pub cases: Vec<AnalysedLinks>,
}

impl MeasuredNetwork {
    /// Whether anything was measured.
    pub fn has_figures(&self) -> bool {
        self.cases.iter().any(|it| it.case.links.iter().any(|link| !link.values.is_empty()))
    }
}

/// A case between the nodes, and what stands out of it.
#[derive(Clone, Debug, PartialEq)]
pub struct AnalysedLinks {
    /// The figures.
    pub case: LinkCase,
    /// What stands out.
    pub analysis: LinkAnalysis,
}
