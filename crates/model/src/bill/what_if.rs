//! What a change would add: further treatments, and other price lists.

use serde::{Deserialize, Serialize};

use super::amount::Amount;
use super::prices::PriceRun;

bill! {
    /// What treatments would add to a program: a prediction, and its check.
    pub struct WhatIf {
        /// The treatments, in order, without those of the bill.
        pub treatments: Vec<String>,
        /// When the prediction was made, before any check of it: RFC 3339, UTC.
        pub predicted_at: String,
        /// The comparisons that measured the added costs, the first choice first.
        pub runs: Vec<PriceRun>,
        /// The system time that would be added: the sum of counts times added costs. With cool added
        /// costs it is the middle of `warm_ns` and `cool_ns`, and its interval holds those of both.
        pub predicted_system_ns: Amount,
        /// The real time that would be added: the same sum, of calls that follow each other. Where
        /// tasks run side by side it is a bound.
        pub predicted_real_ns: Amount,
        /// The sum by costs that are added to calls in a loop; null in documents of before it was told.
        #[serde(default)]
        pub warm_ns: Option<Amount>,
        /// The sum by costs that are added to calls each of which comes after a walk through
        /// `walk_bytes`; an item without one is in it at its warm amount. Null if none was measured.
        #[serde(default)]
        pub cool_ns: Option<Amount>,
        /// The walk between two calls, in bytes: as much memory as the program may touch in the CPU time
        /// between two of its calls. Null if nothing was measured after one.
        #[serde(default)]
        pub walk_bytes: Option<u64>,
        /// The part of the sum that is an estimate: calls without an added cost of their own, at the
        /// mean of those that have one.
        pub estimated_ns: Amount,
        /// Calls without an added cost of their own.
        pub unpriced_calls: f64,
        /// The parts of the sum, the largest first; then what has no amount.
        pub items: Vec<WhatIfItem>,
        /// What is doubtful about the prediction; null if nothing is.
        pub doubt: Option<String>,
        /// The measured increase; null if it was not asked for or could not be measured.
        pub measured: Option<MeasuredIncrease>,
        /// Why there is no measured increase although it was asked for; null otherwise.
        pub not_measured: Option<String>,
        /// The time that is judged: `system`; `cpu` where the added system time is not known well enough
        /// to judge, and the added CPU time is; `real` where a monitor is another process.
        pub judged_by: String,
        /// The predicted increase over the measured one; null without a positive one.
        pub ratio: Option<f64>,
        /// How well the prediction agrees with the measured increase, in words; null without one.
        pub judged: Option<String>,
        /// For how long, in seconds, a check would have to run that tells the increase well enough to judge the
        /// prediction; null where this one did, or nothing was added.
        #[serde(default)]
        pub check_to_judge_s: Option<f64>,
    }

    /// A part of a prediction.
    pub struct WhatIfItem {
        /// The form of a call, or what else was counted, as in the items of the bill.
        pub name: String,
        /// How often.
        pub times: f64,
        /// The case whose added cost it pays; null if that is not known.
        pub case: Option<String>,
        /// What is added to one.
        pub unit: Option<Amount>,
        /// What was measured of its case alone, where `unit` is drawn to the mean of all calls, or of those
        /// that begin or end a process; null otherwise.
        #[serde(default)]
        pub own_unit: Option<Amount>,
        /// What is added to all.
        pub amount: Option<Amount>,
        /// What is added to all where each comes after a walk; null if that is not known.
        #[serde(default)]
        pub cool_amount: Option<Amount>,
        /// Whether `unit` is that of other calls.
        pub is_estimate: bool,
        /// Why it has no added cost of its own, or pays nothing: a page fault makes no call. Null if it has
        /// one.
        pub missing: Option<String>,
    }

    /// What treatments added to a program, in trials that took turns with trials without them.
    pub struct MeasuredIncrease {
        /// The comparison that measured it.
        pub run: PriceRun,
        /// Pairs of trials.
        pub pairs: u32,
        /// The added system time.
        pub system_ns: Amount,
        /// What `system_ns` is: the `median` over pairs, or the difference of the `mean` of trials.
        pub system_figure: String,
        /// The added CPU time in both modes: what clock ticks divide is exact in sum. The median over
        /// pairs where it was compared, otherwise the difference of means; null if it is not known.
        #[serde(default)]
        pub cpu_ns: Option<Amount>,
        /// The added real time, the median over pairs; null if it was not compared.
        pub real_ns: Option<Amount>,
    }

    /// Treatments of which nothing can be said.
    pub struct MissingWhatIf {
        /// The treatments, `prices=RUN` or `at=HOST`.
        pub change: String,
        /// Why.
        pub reason: String,
    }

    /// What the same counts cost at the price list of another run, or of another machine.
    pub struct OtherPrices {
        /// The run; of several the first choice.
        pub run: PriceRun,
        /// The machine that was asked for its prices; null of a run that was named.
        #[serde(default)]
        pub host: Option<String>,
        /// The processor that it measured; null if it is unknown.
        pub cpu: Option<String>,
        /// The kernel; null if it is unknown.
        pub kernel: Option<String>,
        /// Why the prices may not be those of that machine as it is now; empty if nothing is known,
        /// and of a run that was named.
        #[serde(default)]
        pub stale: Vec<String>,
        /// The amounts here of the items that both price lists price.
        pub here: Amount,
        /// Their amounts there.
        pub there: Amount,
        /// `there` over `here`; null if nothing is charged here.
        pub ratio: Option<f64>,
        /// Calls and faults that one of the price lists does not price.
        pub unpriced: f64,
        /// The items, those first that are the largest there.
        pub items: Vec<OtherPriceItem>,
    }

    /// An item at two price lists.
    pub struct OtherPriceItem {
        /// Its name, as in the items of the bill.
        pub name: String,
        /// How often.
        pub times: f64,
        /// Its amount here; null without a price.
        pub here: Option<Amount>,
        /// Its amount there; null without a price.
        pub there: Option<Amount>,
        /// `there` over `here`; null without both.
        pub ratio: Option<f64>,
    }
}

impl WhatIfItem {
    /// What is added to all: the middle of calls in a loop and after a walk; `None` where it is not known.
    pub fn predicted_ns(&self) -> Option<f64> {
        let warm = self.amount.as_ref()?.ns;
        Some(self.cool_amount.as_ref().map_or(warm, |cool| (warm + cool.ns) / 2.0))
    }
}
