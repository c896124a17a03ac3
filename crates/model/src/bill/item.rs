//! The items of a bill, and what is beside them: clock reads, and other ways to do the same.

use serde::{Deserialize, Serialize};

use super::amount::Amount;
use crate::program_calls::KernelTime;

/// The families of items, in the order of their colours.
pub const FAMILIES: [&str; 8] =
    ["files", "memory", "processes", "waiting", "network", "signals", "time", OTHER_FAMILY];
/// The family of what is in no other one.
pub const OTHER_FAMILY: &str = "other";

bill! {
    /// An item of a bill.
    pub struct BillItem {
        /// The form of a call, or what else was counted: `read pipe`, `minor page fault`.
        pub name: String,
        /// Its family, one of [`FAMILIES`]; empty in documents of before there were any.
        #[serde(default)]
        pub family: String,
        /// How often. Below zero if prices of other items contain more of it than there was: these are
        /// charged as much too high.
        pub times: f64,
        /// Why `times` is below zero; null if it is not.
        #[serde(default)]
        pub below_zero: Option<String>,
        /// The case that prices it, as a selector; null if none does.
        pub case: Option<String>,
        /// The share of the case's op that one of it pays: 0.5 of an op that opens and closes, 512 of
        /// one that touches 4 KiB of a huge page.
        pub part: f64,
        /// The rows that priced it, the first one, the last one of several sizes; empty without a
        /// price.
        pub rows: Vec<String>,
        /// The rows whose prices are subtracted from that of `rows`, as the op has their work beside
        /// what the item is; empty without any.
        #[serde(default)]
        pub less: Vec<String>,
        /// The rows whose prices are added to it, as those of `less` contain them twice; empty without
        /// any.
        #[serde(default)]
        pub plus: Vec<String>,
        /// The flags of all of these rows, each once, in their order.
        #[serde(default)]
        pub flags: Vec<String>,
        /// The price of one, the mean over sizes. A difference of prices may be below zero.
        pub unit: Option<Amount>,
        /// The price of all.
        pub amount: Option<Amount>,
        /// `amount` in per cent of the measured system time.
        pub share_pct: Option<f64>,
        /// Why it has no price; null if it has one.
        pub missing: Option<String>,
        /// What is doubtful about its price; null if nothing is.
        #[serde(default)]
        pub doubt: Option<String>,
        /// The price of one with cool caches; null if it is not known.
        #[serde(default)]
        pub cool_price: Option<Amount>,
        /// The cool price of all.
        #[serde(default)]
        pub cool_amount: Option<Amount>,
        /// Where the cool price comes from: the treatment under which its rows were measured
        /// (`cool=1M`), with the selector of the case at the cool end of a range behind ` and `, that
        /// selector alone, or how it was estimated; null without one, and of an item that pays nothing.
        #[serde(default)]
        pub cool_source: Option<String>,
        /// How many of `times` are calls before which their CPU had been busy for at least 0.5 ms since the
        /// last one of their name and kind of descriptor, or first there; 0 where the counter does not tell.
        #[serde(default)]
        pub rare_times: f64,
        /// Where the cool price of these comes from, which is a part of `cool_amount`; null if they have
        /// that of all others.
        #[serde(default)]
        pub rare_cool_source: Option<String>,
        /// What a function around each call adds, as programs call the kernel: a part of `unit`,
        /// `amount`, `cool_price` and `cool_amount`. Null if it is not known: they are then those of
        /// an inlined loop, or of an op without one.
        #[serde(default)]
        pub function_added: Option<Amount>,
        /// Where that comes from: the treatment under which its rows were measured (`call=function`),
        /// or how it was estimated; null without it.
        #[serde(default)]
        pub function_source: Option<String>,
        /// The time that its calls took in the kernel, as the counter measured it: no part of any
        /// other figure here. Null where the counter does not measure it.
        #[serde(default)]
        pub in_kernel: Option<KernelTime>,
    }

    /// The calls of a function of the C library that reads a clock.
    pub struct ClockReadItem {
        /// The function.
        pub function: String,
        /// How often it was called, without the calls that are `nested`; null where the library leaves
        /// it to the vDSO.
        pub times: Option<u64>,
        /// Further calls of it, by gettimeofday(2) and time(2) of the library, which pay for them.
        #[serde(default)]
        pub nested: u64,
        /// System calls of its name in the same run, which are items of the bill: the function makes
        /// one where the vDSO cannot read the clock.
        pub system_calls: u64,
        /// The case that prices it, as a selector.
        pub case: String,
        /// The price of one.
        pub unit: Option<Amount>,
        /// The price of all that were no system call: user time.
        pub amount: Option<Amount>,
        /// Why there is no amount; null if there is one.
        pub missing: Option<String>,
    }

    /// Another way to do what an item does, and what it would save at the prices of the bill.
    pub struct Alternative {
        /// The name of the item.
        pub item: String,
        /// How many of it would change: those whose sizes have prices.
        pub times: f64,
        /// What would change, in words.
        pub change: String,
        /// When that is the same work, in words.
        pub condition: String,
        /// The case of what is done now, as a selector.
        pub from: String,
        /// The case of what would be done instead, as a selector.
        pub instead: String,
        /// What it would save, also below zero, at most the amount of the item; null without prices.
        pub saving: Option<Amount>,
        /// Whether the cases differ by more than the item is charged: `saving` is then its amount.
        pub is_whole_item: bool,
        /// `saving` in per cent of the measured system time.
        pub share_pct: Option<f64>,
        /// Why there is no saving; null if there is one.
        pub missing: Option<String>,
        /// Those of both cases that have no price, as selectors.
        pub unpriced: Vec<String>,
    }
}
