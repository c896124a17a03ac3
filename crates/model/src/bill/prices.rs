//! Where the prices of a bill come from, and what was measured for it.

use serde::{Deserialize, Serialize};

use crate::record::Record;

bill! {
    /// Where the prices come from.
    pub struct PriceSources {
        /// The runs whose rows are in the items, the first choice first; then those of cool prices.
        pub runs: Vec<PriceRun>,
        /// Why they may not be those of this machine as it is now; empty if nothing is known.
        pub stale: Vec<String>,
        /// Those of these runs whose prices are doubtful whatever the row, the largest share first.
        #[serde(default)]
        pub doubtful: Vec<DoubtfulRun>,
        /// Cases without a row in these runs that would price an item, or with one of a single size,
        /// as selectors; without those that one of these runs could not measure here: the items say
        /// why.
        pub missing: Vec<String>,
        /// Cases that would give the largest items a measured cool price, and have no pair yet.
        #[serde(default)]
        pub uncooled: Vec<String>,
        /// The same after the walk before calls that the program makes rarely, `cool=32M`.
        #[serde(default)]
        pub rare_uncooled: Vec<String>,
        /// Cases that would show what a function around each call adds to the largest items, and have
        /// no pair yet.
        #[serde(default)]
        pub inlined: Vec<String>,
        /// Cases of the largest items of which a run within a day has measured no such pair, with the
        /// reason; they are in neither of these lists.
        #[serde(default)]
        pub unpaired: Vec<UnpairedCase>,
        /// What was measured for this bill; null if nothing was.
        #[serde(default)]
        pub measured: Option<MeasuredPrices>,
        /// Pairs of rows that were measured for this bill, by each treatment.
        #[serde(default)]
        pub pairs: Vec<MeasuredPairs>,
    }

    /// A run of whose prices all are doubtful, since the machine or the run as a whole was disturbed.
    pub struct DoubtfulRun {
        /// Its id.
        pub id: String,
        /// When it was started: RFC 3339, UTC.
        pub started: String,
        /// The best grade that a bill by its prices has: `fair` or `poor`.
        pub grade: String,
        /// Why, in words.
        pub reasons: Vec<String>,
        /// The share of what is charged that is at its prices, in per cent; null of pairs, which add to
        /// prices, and if nothing is charged.
        pub charged_pct: Option<f64>,
    }

    /// A case without the pair of rows that would show what a treatment adds to its price.
    pub struct UnpairedCase {
        /// The case.
        pub case: String,
        /// The name of the treatment: `call` or `cool`.
        pub treatment: String,
        /// Whether the case was skipped, as it cannot be measured so; else it has failed, or the
        /// control of its comparison has.
        pub skipped: bool,
        /// What happened, in words.
        pub reason: String,
    }

    /// Pairs of rows that were measured for a bill, after the trials of its program.
    pub struct MeasuredPairs {
        /// The treatment of the second row of each: `call=function`, or `cool=1M`.
        pub treatment: String,
        /// The cases that have a pair since then, in the order of the catalog.
        pub cases: Vec<String>,
        /// How long that took, in seconds.
        pub seconds: f64,
        /// How long it was allowed to take, in seconds.
        pub limit_seconds: f64,
        /// Whether the user interrupted it.
        pub interrupted: bool,
        /// Why it failed, or why its rows are not used; null if they are.
        pub failure: Option<String>,
    }

    /// Prices that were measured for a bill, beside the trials of its program.
    pub struct MeasuredPrices {
        /// The cases, in the order of the runs that measured them.
        pub cases: Vec<String>,
        /// How long that took, in seconds.
        pub seconds: f64,
        /// How long it was allowed to take, in seconds.
        pub limit_seconds: f64,
        /// Whether the user interrupted it.
        pub interrupted: bool,
        /// Whether the last block of trials, and its counted run, are missing because of it.
        pub block_missing: bool,
        /// Why it failed; null if it did not.
        pub failure: Option<String>,
    }

    /// A run that measured prices.
    pub struct PriceRun {
        /// Its id.
        pub id: String,
        /// When it was started: RFC 3339, UTC.
        pub started: String,
    }
}

impl PriceRun {
    /// The name of a run.
    pub fn of(record: &Record) -> Self {
        Self { id: record.id.clone(), started: record.started.clone() }
    }
}
