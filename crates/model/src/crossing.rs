//! Comparison of two curves that differ in the value of one non-numeric axis, or in the command.

use serde::{Deserialize, Serialize};

use crate::curve::BoundedValue;
use crate::point::Point;

/// What two curves of commands differ in.
pub const BENCHMARK: &str = "benchmark";

macro_rules! crossing {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

crossing! {
    /// Two curves of one benchmark on one target that differ in the value of one axis, or two
    /// commands of the command line.
    pub struct Crossing {
        /// `family/name`; of two commands, that of the costlier one.
        pub benchmark: String,
        /// The value of every other axis.
        pub point: Point,
        /// The numeric axis of both curves.
        pub axis: String,
        /// What the axis counts, in the singular: `byte`, `descriptor`; otherwise its name.
        pub item: String,
        /// The target of both, as typed.
        pub target: String,
        /// The machine of the peers; null if they ran on the same machine, or if there are none.
        #[serde(default)]
        pub peer: Option<String>,
        /// The axis whose value differs; `benchmark` if the commands do, whose ids are then the two
        /// values.
        pub differing_axis: String,
        /// Its value on the curve with the higher cost at the largest number.
        pub costlier: String,
        /// Its value on the other curve.
        pub cheaper: String,
        /// The smallest and the largest number that both curves have.
        pub range: [u64; 2],
        /// The added cost per item on the costlier curve, in ns; null where it is not meaningful.
        pub added_cost: Option<AddedCostPerItem>,
        /// The largest number at which `costlier` is significantly cheaper; null if there is none.
        pub costlier_wins_until: Option<u64>,
        /// From this number up to the largest, `cheaper` is significantly cheaper; null if there is
        /// none.
        pub cheaper_wins_from: Option<u64>,
        /// Where the fitted laws intersect; null if they do not fit, do not intersect near the
        /// measured numbers, or contradict the two fields above.
        pub crossover: Option<BoundedValue>,
        /// A summary in one sentence.
        pub sentence: String,
    }

    /// The added cost of one more item.
    pub struct AddedCostPerItem {
        /// The difference, in ns.
        pub value: f64,
        /// Its interval.
        pub ci95: [f64; 2],
        /// `laws`: the difference of the marginal costs of the two laws; `ends`: the average between
        /// the smallest and the largest number.
        pub by: String,
    }
}

impl Crossing {
    /// Whether two commands are compared. No value of a parameter has a slash.
    pub fn is_of_commands(&self) -> bool {
        self.differing_axis == BENCHMARK && self.costlier.contains('/')
    }
}
