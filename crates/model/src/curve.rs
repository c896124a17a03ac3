//! Curves: rows that differ in one numeric axis only.

use serde::{Deserialize, Serialize};

use crate::point::Point;
use crate::unit::{Better, Unit};

macro_rules! curve {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

curve! {
    /// The rows of one benchmark that differ in one numeric axis only.
    pub struct Curve {
        /// `family/name`.
        pub benchmark: String,
        /// The value of every other axis.
        pub point: Point,
        /// The numeric axis.
        pub axis: String,
        /// What the axis counts, in the singular: `byte`, `descriptor`; otherwise its name.
        #[serde(default)]
        pub item: String,
        /// The target, as typed.
        pub target: String,
        /// The machine of the peers; null if they ran on the same machine, or if there are none.
        #[serde(default)]
        pub peer: Option<String>,
        /// The unit of the figures.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// Its points, in ascending order.
        pub points: Vec<CurvePoint>,
        /// Its change points; null if there were too few points to look for them.
        pub breaks: Option<Vec<Break>>,
        /// Where a rate stops growing; null for costs, and if it keeps growing.
        pub saturation: Option<Saturation>,
        /// The fitted law of growth; null with fewer than eight points or less than two decades.
        pub scaling: Option<Scaling>,
        /// Whether a break depends on the capacity of the channel; null without curves that differ
        /// in it.
        pub capacity: Option<Capacity>,
        /// A summary in sentences.
        pub sentences: Vec<String>,
    }

    /// A point of a curve.
    pub struct CurvePoint {
        /// The value of the axis.
        pub value: u64,
        /// The row's case.
        pub case: String,
        /// The row's median; null if it was not measured.
        pub figure: Option<f64>,
        /// Its interval; null below six repetitions.
        pub ci95: Option<[f64; 2]>,
    }

    /// A value at which a curve changes its slope or jumps.
    pub struct Break {
        /// The most likely position, a value of the axis.
        pub position: u64,
        /// The last point before and the first point after the break, with 95 % confidence.
        pub interval: [u64; 2],
        /// Known constants inside the interval, the nearest first; empty if the break is
        /// unexplained.
        pub constants: Vec<String>,
        /// Eight values inside the interval that would locate it better; empty if the axis has none
        /// or the interval is narrow.
        pub refinement_values: Vec<u64>,
    }

    /// Where a rate stops growing.
    pub struct Saturation {
        /// From this value on the rate stays near the largest.
        pub from: u64,
        /// The largest figure.
        pub figure: f64,
    }

    /// The law by which the cost of an op grows with the value of the axis: `a + b * model`.
    pub struct Scaling {
        /// `1`, `log N`, `N`, `N log N`, `N^2` or `N^3`.
        pub model: String,
        /// Another model that fits about as well.
        pub alternative_model: Option<String>,
        /// The fixed cost of an op, in ns (also for rates).
        pub fixed_cost: BoundedValue,
        /// The marginal cost, in ns; null if the cost is constant.
        pub marginal_cost: Option<BoundedValue>,
        /// The value above which the growing part exceeds the fixed part; null if there is none.
        pub crossover: Option<BoundedValue>,
        /// The exponent over the last decade.
        pub exponent: Option<BoundedValue>,
        /// Whether the model fits all points at least as well as straight segments do.
        pub fits: bool,
    }

    /// A value and its interval.
    pub struct BoundedValue {
        /// The value.
        pub value: f64,
        /// Its interval.
        pub ci95: [f64; 2],
    }

    /// Whether a break moves with the channel's capacity.
    pub struct Capacity {
        /// `moves`, `stays` or `unclear`.
        pub verdict: String,
        /// The verdict as a sentence.
        pub sentence: String,
    }
}
