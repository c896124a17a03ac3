//! What rows that differ in one number alone say together.

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
    /// The rows of one benchmark that differ in one numeric axis alone.
    pub struct Curve {
        /// `family/name`.
        pub benchmark: String,
        /// What its rows share: the value of each other axis.
        pub point: Point,
        /// The axis in which they differ.
        pub axis: String,
        /// What that axis counts one of, in a word: `byte`, `descriptor`; else its name.
        #[serde(default)]
        pub item: String,
        /// Where they were measured, as it is typed.
        pub target: String,
        /// The machine of their other ends; null where these stood beside them, or there are none.
        #[serde(default)]
        pub peer: Option<String>,
        /// What their figures are counted in.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// Its points, the smallest value first.
        pub points: Vec<CurvePoint>,
        /// Where it bends; null where that could not be asked.
        pub breaks: Option<Vec<Break>>,
        /// Where a rate stops growing; null of costs, and where it does not.
        pub saturation: Option<Saturation>,
        /// How the cost grows; null with fewer than eight points, or less than two decades.
        pub scaling: Option<Scaling>,
        /// What curves that differ in their capacity alone say of it; null where there are none.
        pub capacity: Option<Capacity>,
        /// All of this in sentences.
        pub sentences: Vec<String>,
    }

    /// A point of a curve.
    pub struct CurvePoint {
        /// The value of the axis.
        pub value: u64,
        /// The row's case.
        pub case: String,
        /// The row's median; null where it was not measured.
        pub figure: Option<f64>,
        /// Its interval; null below six repetitions.
        pub ci95: Option<[f64; 2]>,
    }

    /// A place at which a curve changes its slope or jumps.
    pub struct Break {
        /// The likeliest place, a value of the axis.
        pub position: u64,
        /// The last point surely before it and the first surely behind it.
        pub interval: [u64; 2],
        /// Known constants inside the interval, the nearest first; none: it is unexplained.
        pub constants: Vec<String>,
        /// Eight values inside the interval that would place it better; none where the axis offers
        /// no more, or where it is narrow.
        pub refinement_values: Vec<u64>,
    }

    /// Where a rate stops growing.
    pub struct Saturation {
        /// From this value on it stays with the largest.
        pub from: u64,
        /// The largest figure.
        pub figure: f64,
    }

    /// How the cost of an op grows with the value of the axis: `a + b * model`.
    pub struct Scaling {
        /// `1`, `log N`, `N`, `N log N`, `N^2` or `N^3`.
        pub model: String,
        /// Another model that cannot be told from it.
        pub second: Option<String>,
        /// The fixed cost, in ns (of rates, too: the time of one op).
        pub a: BoundedValue,
        /// The marginal cost, in ns; null where nothing grows.
        pub b: Option<BoundedValue>,
        /// The value from which on the growing part is the larger one; null where there is none.
        pub crossover: Option<BoundedValue>,
        /// The exponent of the last decade.
        pub exponent: Option<BoundedValue>,
        /// Whether the model accounts for all points at least as well as straight pieces do.
        pub holds: bool,
    }

    /// A value and its interval.
    pub struct BoundedValue {
        /// The value.
        pub value: f64,
        /// Its interval.
        pub ci95: [f64; 2],
    }

    /// Whether a break moves with the capacity of the channel.
    pub struct Capacity {
        /// `moves`, `stays` or `unclear`.
        pub verdict: String,
        /// The same in a sentence.
        pub sentence: String,
    }
}
