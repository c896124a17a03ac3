//! The method by which a published study times a row, and the figure that it gives here.
//!
//! Published figures were obtained by other methods than oscost's (docs/explanation/METHOD.md): a
//! mean including interruptions, the minimum of a million shots, the total of a loop. To compare
//! like with like, a row of a study is timed by both methods.

use serde::{Deserialize, Serialize};

/// What a study times, how often, and which statistic it reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyMethod {
    /// What is timed between two reads of the clock.
    pub timed: TimingScope,
    /// Ops per experiment.
    pub iterations: u64,
    /// The number of experiments.
    pub experiments: u32,
    /// The reported statistic.
    pub statistic: Statistic,
    /// How the cost of reading the clock is treated.
    pub clock: ClockCost,
}

/// What is timed between two reads of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimingScope {
    /// One op.
    Each,
    /// All ops of an experiment, in a loop.
    Together,
}

/// The statistic over the ops of all experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// The mean and the standard deviation of the means of experiments.
    MeanAndDeviation,
    /// The minimum; if ops are timed together, the smallest mean.
    Minimum,
}

/// How the cost of reading the clock is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockCost {
    /// It is included in the figure.
    Included,
    /// The difference of two consecutive reads is subtracted.
    Subtracted,
}

/// The figure by the method of a study, in the unit of the row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyMethodFigure {
    /// The study's method.
    pub method: StudyMethod,
    /// Ops per experiment here; fewer if the study's number would have taken too long.
    pub iterations: u64,
    /// The number of experiments here.
    pub experiments: u32,
    /// Ops made in all, where the study made `method.iterations` times `method.experiments`.
    #[serde(default)]
    pub ops: u64,
    /// The statistic over all ops of all rounds; null if it could not be measured, see `reason`.
    pub value: Option<f64>,
    /// The standard deviation between experiments; null for other statistics, and for one
    /// experiment.
    pub deviation: Option<f64>,
    /// The rounds over which the ops were spread, each with the statistic over its own ops; empty
    /// without a value.
    #[serde(default)]
    pub rounds: Vec<StudyMethodRound>,
    /// How far `value` lies from the median of the rounds' values, in per cent of that median: how
    /// much the statistic still moves with the number of ops. Null with less than two rounds, and
    /// with a median of 0.
    #[serde(default)]
    pub distance_from_rounds_pct: Option<f64>,
    /// Why there is no value, or why no more ops were made.
    pub reason: Option<String>,
}

/// The part of a study method that was done in one round, in new workers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyMethodRound {
    /// Its number, from 0. The rounds of all rows of a run are the same.
    pub round: u32,
    /// The ops made in it.
    pub ops: u64,
    /// The statistic over these ops.
    pub value: f64,
    /// The standard deviation between the experiments of the round; null for other statistics, and
    /// for one experiment.
    pub deviation: Option<f64>,
}
