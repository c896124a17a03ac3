//! The bill, `oscost.bill/1`: what one program is charged, and how that agrees with its measured
//! system time.
//!
//! Times are nanoseconds of one run of the program. Unknown values are null, never 0.

use serde::{Deserialize, Serialize};

use crate::record::{Machine, Tool};

macro_rules! bill {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

mod amount;
mod instructions;
mod item;
mod prices;
mod trials;
mod what_if;

pub use amount::Amount;
pub use instructions::{InstructionBill, InstructionItem};
pub use item::{Alternative, BillItem, ClockReadItem, FAMILIES, OTHER_FAMILY};
pub use prices::{
    DoubtfulRun, MeasuredPairs, MeasuredPrices, PriceRun, PriceSources, UnpairedCase,
};
pub use trials::{BilledCounts, BilledTrials, StolenTime, TrialFigure, Watched};
pub use what_if::{
    MeasuredIncrease, MissingWhatIf, OtherPriceItem, OtherPrices, WhatIf, WhatIfItem,
};

/// The name and version of the schema.
pub const BILL_SCHEMA: &str = "oscost.bill/1";

bill! {
    /// What a program is charged.
    pub struct Bill {
        /// [`BILL_SCHEMA`].
        pub schema: String,
        /// A UUID, version 7.
        pub id: String,
        /// RFC 3339, UTC.
        pub started: String,
        /// RFC 3339, UTC.
        pub ended: String,
        /// The words of the command.
        pub program: Vec<String>,
        /// The user's label; null if there is none.
        #[serde(default)]
        pub label: Option<String>,
        /// The machine where it ran, as `ssh:db1`; null of that of oscost itself.
        #[serde(default)]
        pub host: Option<String>,
        /// Why the program may behave otherwise while it is counted, what counting added to its
        /// measured times, and that its runs were interrupted; empty if nothing is known.
        #[serde(default)]
        pub cautions: Vec<String>,
        /// The programs that measured.
        pub tool: Tool,
        /// The machine.
        pub machine: Machine,
        /// The runs that were not counted.
        pub trials: BilledTrials,
        /// What was counted; null if that was refused.
        pub counted: Option<BilledCounts>,
        /// Why nothing was counted; null if it was.
        pub not_counted: Option<String>,
        /// Where the prices come from.
        pub prices: PriceSources,
        /// The items, the largest amount first; then those without a price, the most frequent first.
        pub items: Vec<BillItem>,
        /// The sum of all amounts; null if nothing was counted.
        pub charged: Option<Amount>,
        /// The measured system time without `charged`: what is not explained, in either direction.
        pub difference: Option<Amount>,
        /// The same sum with cool caches, the other end of a range that should hold the measured
        /// system time; an item without a cool amount is in it at its amount. Null if no item has one.
        #[serde(default)]
        pub charged_cool: Option<Amount>,
        /// The measured system time without `charged_cool`.
        #[serde(default)]
        pub difference_cool: Option<Amount>,
        /// The walk between two calls, in bytes, after which the caches are most like those that the
        /// program leaves; null if nothing was counted.
        #[serde(default)]
        pub walk_bytes: Option<u64>,
        /// What a walk adds to an op that does nothing, and to each cool price: it is the
        /// measurement's own. Null if it was not measured.
        #[serde(default)]
        pub walk_added_to_nothing: Option<Amount>,
        /// The running process that was watched, whose one observation is then the only trial; null of
        /// a command.
        #[serde(default)]
        pub watched: Option<Watched>,
        /// The treatments of the program in its trials and counted runs, in order; empty without any.
        #[serde(default)]
        pub treatments: Vec<String>,
        /// Why its calls were counted without these treatments; null if they were counted under them.
        #[serde(default)]
        pub counted_without: Option<String>,
        /// What further treatments would add.
        #[serde(default)]
        pub what_if: Vec<WhatIf>,
        /// Further treatments of which nothing can be said.
        #[serde(default)]
        pub missing_what_if: Vec<MissingWhatIf>,
        /// The same counts at the price lists of other runs.
        #[serde(default)]
        pub other_prices: Vec<OtherPrices>,
        /// What other ways to do the same would save of items, the largest saving first; then those
        /// without prices. Each is meant alone: two of one item do not add up.
        #[serde(default)]
        pub alternatives: Vec<Alternative>,
        /// The bill in instructions of the kernel; null where they were not counted.
        #[serde(default)]
        pub instructions: Option<InstructionBill>,
        /// Why there is none; null if there is one, and in documents of before there were any.
        #[serde(default)]
        pub no_instructions: Option<String>,
        /// Clock reads through the C library, a line for each of its functions: user time, and no part
        /// of any sum. Empty if they were not counted.
        #[serde(default)]
        pub clock_reads: Vec<ClockReadItem>,
        /// Why they were not counted although that was asked for; null otherwise.
        #[serde(default)]
        pub no_clock_reads: Option<String>,
        /// What a hypervisor took from the machine meanwhile, whatever ran there; null if that is not
        /// known, as of another machine.
        #[serde(default)]
        pub stolen: Option<StolenTime>,
    }
}
