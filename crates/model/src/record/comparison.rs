//! Two rows compared.

use serde::{Deserialize, Serialize};

use crate::unit::Unit;

record! {
    /// Two rows compared.
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
        /// Pairs that count.
        pub pairs: u32,
        /// From the first pair to the last.
        pub span_s: f64,
        /// New over base.
        pub ratio: Ratio,
        /// New less base.
        pub added: AddedCost,
        /// Two-sided sign test.
        pub p: f64,
        /// Benjamini-Hochberg over the comparison.
        pub q: f64,
        /// `slower`, `faster`, `equivalent` or `inconclusive`.
        pub verdict: String,
        /// The smallest effect that could have been seen, in per cent.
        pub mde_pct: Option<f64>,
        /// Pairs of batches that did not differ at all: the clock's step is too coarse for them.
        #[serde(default)]
        pub ties: u32,
        /// How often one op of the new row woke the monitor that it is under, or where that counts
        /// nothing, how many calls it made that a treatment could see; null where nobody knows.
        #[serde(default)]
        pub monitor_events_per_op: Option<f64>,
        /// Whether both sides are the same, as a control.
        pub control: bool,
        /// Marks.
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
        /// New less base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
        /// What it is counted in.
        pub unit: Unit,
    }
}
