//! How far figures vary between runs, as the journal of a run knows it from earlier ones.

use serde::{Deserialize, Serialize};

/// How far the figure of a case varies between runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaseVariation {
    /// The target.
    pub target: String,
    /// The case.
    pub case: String,
    /// How many earlier runs show it.
    pub runs: u32,
    /// How many boots these are of; absent if that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<u32>,
    /// The standard deviation of the figure's logarithm between runs.
    pub deviation: f64,
    /// The degrees of freedom of its estimate.
    pub degrees_of_freedom: f64,
    /// The same in cycles of the core; absent below two runs that measured its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_cycles: Option<CycleVariation>,
    /// The same of the further metrics of a program, and of the instructions of an op.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metrics: Vec<MetricVariation>,
}

/// How far a metric that stands beside a figure varies between runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MetricVariation {
    /// The name of the metric.
    pub metric: String,
    /// How many earlier runs show it.
    pub runs: u32,
    /// The standard deviation of its logarithm between runs; exactly 0 of a count that was the same in
    /// all of them.
    pub deviation: f64,
    /// The degrees of freedom of its estimate.
    pub degrees_of_freedom: f64,
}

/// How far the figure of a case in cycles of the core varies between runs, and how its time depends on
/// the core's rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CycleVariation {
    /// The standard deviation of the logarithm of its cycles between runs.
    pub deviation: f64,
    /// The degrees of freedom of its estimate.
    pub degrees_of_freedom: f64,
    /// The standard deviation of the logarithm of the core's rate between runs.
    pub rate_deviation: f64,
    /// The sums of the regression of its time over the period of the core's clock: squares of the
    /// periods, products, squares of the times, all as logarithms.
    pub sums: [f64; 3],
    /// The degrees of freedom of these sums.
    pub sums_degrees_of_freedom: f64,
}
