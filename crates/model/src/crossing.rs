//! What two curves that differ in one word alone say of each other.

use serde::{Deserialize, Serialize};

use crate::curve::BoundedValue;
use crate::point::Point;

macro_rules! crossing {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

crossing! {
    /// Two curves of one benchmark at one place that differ in one word alone.
    pub struct Crossing {
        /// `family/name`.
        pub benchmark: String,
        /// What both share: the value of each other axis.
        pub point: Point,
        /// The axis of their numbers.
        pub axis: String,
        /// What that axis counts one of, in a word: `byte`, `descriptor`; else its name.
        pub item: String,
        /// Where both were measured, as it is typed.
        pub target: String,
        /// The machine of their other ends; null where these stood beside them, or there are none.
        #[serde(default)]
        pub peer: Option<String>,
        /// The axis in which they differ.
        pub between: String,
        /// Its word at the curve that is dearer at the largest number, by its figure there.
        pub costlier: String,
        /// Its word at the other.
        pub cheaper: String,
        /// The smallest and the largest number that both have.
        pub numbers: [u64; 2],
        /// How much more each further one costs `dear` than `cheap`, in ns; null where that has no
        /// meaning.
        pub added_cost: Option<AddedCostPerItem>,
        /// The largest number at which `dear` is surely the cheaper one; null where there is none.
        pub costlier_wins_until: Option<u64>,
        /// From this number on `cheap` surely is, up to the largest; null where that is not sure.
        pub cheaper_wins_from: Option<u64>,
        /// Where the laws of both meet; null where they do not hold, do not meet near the numbers,
        /// or do not agree with `until` and `from`.
        pub crossover: Option<BoundedValue>,
        /// All of this in a sentence.
        pub sentence: String,
    }

    /// How much more a further one costs.
    pub struct AddedCostPerItem {
        /// In ns.
        pub value: f64,
        /// Its interval.
        pub ci95: [f64; 2],
        /// `laws`: the difference of the marginal costs of two laws; `ends`: the average between
        /// the smallest and the largest number.
        pub by: String,
    }
}
