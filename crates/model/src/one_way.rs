//! Comparison of half a round trip with one-way latencies.

use serde::{Deserialize, Serialize};

/// Verdict on two figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Equivalence {
    /// They differ by less than the margin, with 95 % confidence.
    Equivalent,
    /// They differ by more than the margin.
    Different,
    /// Neither is established.
    Inconclusive,
}

/// A figure with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figure {
    /// The median.
    pub median: f64,
    /// Its interval.
    pub ci95: [f64; 2],
}

/// One direction compared with half of the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWay {
    /// The one-way latency, in ns.
    pub figure: Figure,
    /// Its ratio to half of the round trip.
    pub ratio: Figure,
    /// The verdict.
    pub verdict: Equivalence,
}

/// Half of a round trip compared with both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HalfRoundTrip {
    /// The case of the round trip.
    pub case: String,
    /// Half of it, in ns.
    pub half: Figure,
    /// To the other end.
    pub outbound: OneWay,
    /// From the other end.
    pub inbound: OneWay,
    /// Whether so much time was lost that figures of single shots are not reliable.
    pub unreliable: bool,
    /// Whether half of the round trip is equivalent to both directions.
    pub verdict: Equivalence,
}
