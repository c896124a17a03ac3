//! Two bills side by side, `oscost.bill-comparison/1`: what the new one spends more than the base,
//! item by item, and how much of that is count and how much price.
//!
//! Times are nanoseconds of one run of each program; where both are running processes that were
//! watched, times and counts are those of one second. Changes are new minus base. Unknown values
//! are null, never 0.

use serde::{Deserialize, Serialize};

use crate::bill::{Amount, Watched};

/// The name and version of the schema.
pub const BILL_COMPARISON_SCHEMA: &str = "oscost.bill-comparison/1";

macro_rules! comparison {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        pub struct $name { $($body)* }
    )*};
}

comparison! {
    /// Two bills side by side.
    pub struct BillComparison {
        /// [`BILL_COMPARISON_SCHEMA`].
        pub schema: String,
        /// The bill that is compared with.
        pub base: ComparedBill,
        /// The bill that is compared.
        pub new: ComparedBill,
        /// What else differs between them: kernel, processor, mitigations; empty if nothing does.
        pub differing: Vec<String>,
        /// The measured system times. The interval of the change is that of two independent
        /// samples: what differs between two runs of one machine is not in it.
        pub system: AmountChange,
        /// The sums of all amounts; null unless both were counted.
        pub charged: Option<AmountChange>,
        /// What is not explained; null unless both were counted.
        pub difference: Option<AmountChange>,
        /// Why items are not compared; null if they are.
        pub not_compared: Option<String>,
        /// The items of either, the largest change first; then those whose change is not known, the
        /// largest change of the count first.
        pub items: Vec<ItemChange>,
    }

    /// A bill that is compared.
    pub struct ComparedBill {
        /// Its id.
        pub id: String,
        /// RFC 3339, UTC.
        pub started: String,
        /// The user's label; null if there is none.
        pub label: Option<String>,
        /// The words of its command.
        pub program: Vec<String>,
        /// Its treatments, in order; empty without any.
        pub treatments: Vec<String>,
        /// The running process that was watched; null of a command. Both bills have one, or none.
        pub watched: Option<Watched>,
        /// How many trials it has.
        pub trials: u32,
        /// What its system time is: `median` of the trials, their `mean`, or `watched`.
        pub system_figure: String,
        /// The first run that its prices are from; null if it has none.
        pub price_run: Option<String>,
        /// What counted its calls: `ptrace` or `ebpf`; null if they were not counted.
        pub counter: Option<String>,
        /// Events for which the counter had no room: its counts are too low.
        pub lost_events: u64,
    }

    /// An amount of both bills.
    pub struct AmountChange {
        /// That of the base.
        pub base: Amount,
        /// That of the new one.
        pub new: Amount,
        /// New minus base.
        pub change: Amount,
    }

    /// An item of both bills.
    pub struct ItemChange {
        /// The form of a call, or what else was counted.
        pub name: String,
        /// How often in the base; 0 where it has no such item.
        pub base_times: f64,
        /// How often in the new one; 0 where it has no such item.
        pub new_times: f64,
        /// Its amount in the base; null without a price.
        pub base_amount: Option<Amount>,
        /// Its amount in the new one; null without a price.
        pub new_amount: Option<Amount>,
        /// New minus base: `by_count` and `by_price` together.
        pub change: Option<Amount>,
        /// The change of the count times the price in the base; where the base has no such item,
        /// times the price in the new one.
        pub by_count: Option<Amount>,
        /// The count in the new one times the change of the price.
        pub by_price: Option<Amount>,
        /// The price in the new one over that in the base; null unless both have one.
        pub price_ratio: Option<f64>,
    }
}

impl BillComparison {
    /// Whether times and counts are those of one second of two processes that were watched.
    pub fn is_per_second(&self) -> bool {
        self.base.watched.is_some() && self.new.watched.is_some()
    }
}

impl AmountChange {
    /// Whether the interval of the change has 0 in it; `None` without an interval.
    pub fn may_be_nothing(&self) -> Option<bool> {
        self.change.ci95.map(|[low, high]| low <= 0.0 && 0.0 <= high)
    }
}
