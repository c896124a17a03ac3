//! The manner in which a published study times a row, and what comes of it here.
//!
//! oscost has a manner of its own (docs/explanation/METHOD.md). What was published was found in another one: a
//! mean with all interruptions in it, the smallest of a million shots, the total of a loop. A figure
//! is laid beside one that was found alike, so a row of a study is timed in both manners.

use serde::{Deserialize, Serialize};

/// What a study times, how often, and what it says of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyMethod {
    /// What stands between two reads of the clock.
    pub timed: TimingScope,
    /// Ops of an experiment.
    pub iterations: u64,
    /// How often all of them are done again.
    pub experiments: u32,
    /// What is said of them.
    pub statistic: Statistic,
    /// What becomes of what the clock itself costs.
    pub clock: ClockCost,
}

/// What stands between two reads of the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum TimingScope {
    /// One op.
    Each,
    /// All ops of an experiment, in a loop.
    Together,
}

/// What is said of the ops of all experiments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean.
    Mean,
    /// The mean and the standard deviation of the means of experiments.
    MeanAndDeviation,
    /// The smallest one; where they are timed together, the smallest mean.
    Minimum,
}

/// What becomes of what the clock itself costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ClockCost {
    /// It is in the figure.
    Included,
    /// What lies between two reads that follow each other is taken out.
    Subtracted,
}

/// What the manner of a study came to here, in the unit of the row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StudyMethodFigure {
    /// The study's.
    pub study_method: StudyMethod,
    /// Ops of an experiment here; fewer where the study's would have taken too long.
    pub iterations: u64,
    /// Experiments here.
    pub experiments: u32,
    /// The statistic; null where it could not be found, and `reason` says why.
    pub value: Option<f64>,
    /// The standard deviation between experiments; null of other statistics, and of one experiment.
    pub deviation: Option<f64>,
    /// Why there is no value.
    pub reason: Option<String>,
}
