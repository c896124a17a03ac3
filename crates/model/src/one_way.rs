//! Half of a round trip, held against both ways.

use serde::{Deserialize, Serialize};

/// What is said of two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Equivalence {
    /// They differ by less than the margin, as surely as their intervals say.
    Equivalent,
    /// They differ by more than the margin.
    Different,
    /// Neither can be said.
    Inconclusive,
}

/// A figure with its interval of 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// Its interval.
    pub ci95: [f64; 2],
}

/// One way beside half of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// What was measured one way, in ns.
    pub figure: Figure,
    /// It as a multiple of half of the round trip.
    pub ratio: Figure,
    /// What is said of the two.
    pub verdict: Equivalence,
}

/// Half of a round trip, held against both ways.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HalfRoundTrip {
    /// The case of the round trip.
    pub case: String,
    /// Half of it, in ns.
    pub half: Figure,
    /// To the other end.
    pub outbound: OneWay,
    /// And from it.
    pub inbound: OneWay,
    /// Whether so much time was lost that figures of single shots mean nothing.
    pub too_noisy: bool,
    /// Whether the half stands for one way: what holds for both ways.
    pub verdict: Equivalence,
}
