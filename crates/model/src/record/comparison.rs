//! Comparisons of two rows.

use serde::{Deserialize, Serialize};

use super::counters::Decomposition;
use crate::unit::Unit;

record! {
    /// A comparison of two rows.
    pub struct Comparison {
        /// The case.
        pub case: String,
        /// `primary`, or the name of a metric.
        pub metric: String,
        /// Index of the base row in `results`.
        pub base: u32,
        /// Index of the new row in `results`.
        pub new: u32,
        /// `twins`, `toggle`, `pairs`, `boots` or `stored`.
        pub design: String,
        /// Valid pairs.
        pub pairs: u32,
        /// Seconds from the first pair to the last.
        pub span_s: f64,
        /// New over base.
        pub ratio: Ratio,
        /// New minus base.
        pub added: AddedCost,
        /// The p value of the two-sided sign test.
        pub p: f64,
        /// The p value adjusted over all comparisons (Benjamini-Hochberg).
        pub q: f64,
        /// `slower`, `faster`, `equivalent` or `inconclusive`.
        pub verdict: String,
        /// The minimum detectable effect, in per cent.
        pub mde_pct: Option<f64>,
        /// Pairs of batches with equal values: the clock's step is too coarse for them.
        #[serde(default)]
        pub ties: u32,
        /// Wakeups of the new row's monitor per op; for monitors without such a count, the system
        /// calls per op that a treatment can observe; null if unknown.
        #[serde(default)]
        pub monitor_events_per_op: Option<f64>,
        /// Why the figure changed, by the processor's counters; null if nothing was counted, and for
        /// other metrics than `primary`.
        #[serde(default)]
        pub decomposition: Option<Decomposition>,
        /// Whether both sides are identical, as a control.
        pub control: bool,
        /// Flags.
        pub flags: Vec<String>,
    }

    /// A ratio and its interval.
    pub struct Ratio {
        /// New over base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
    }

    /// A difference and its interval.
    pub struct AddedCost {
        /// New minus base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
        /// Its unit.
        pub unit: Unit,
    }
}
