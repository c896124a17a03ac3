//! The bill, `oscost.bill/1`: what one program is charged, and how that agrees with its measured
//! system time.
//!
//! Times are nanoseconds of one run of the program. Unknown values are null, never 0.

use serde::{Deserialize, Serialize};

use crate::program_calls::{KernelTime, ProgramCalls};
use crate::record::{Estimate, Machine, Record, Tool};

/// The name and version of the schema.
pub const BILL_SCHEMA: &str = "oscost.bill/1";

/// The families of items, in the order of their colours.
pub const FAMILIES: [&str; 8] =
    ["files", "memory", "processes", "waiting", "network", "signals", "time", OTHER_FAMILY];
/// The family of what is in no other one.
pub const OTHER_FAMILY: &str = "other";

macro_rules! bill {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

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

    /// Time that a hypervisor took from the CPUs of a machine, as far as its kernel is told.
    pub struct StolenTime {
        /// Nanoseconds of all CPUs together, in hundredths of a second.
        pub ns: f64,
        /// In so many seconds: from the first run of the program to the last one, with the prices that
        /// were measured between them; or in the watch.
        pub seconds: f64,
    }

    /// What a program is charged in instructions of the kernel, beside those that it executes.
    pub struct InstructionBill {
        /// The runs whose instructions were counted; they are neither trials nor counted otherwise.
        pub runs: u32,
        /// The instructions of the kernel in a run, with all that the program starts: the median.
        pub kernel: f64,
        /// The least and the most of a run.
        pub kernel_range: [f64; 2],
        /// The instructions in user mode, the median; null if not counted.
        pub user: Option<f64>,
        /// Cycles per instruction of these runs, in both modes; null if not counted.
        pub cycles_per_instruction: Option<f64>,
        /// Cycles in a nanosecond of CPU time (task clock) of these runs; null if not counted. What a
        /// host takes, and a lower frequency, make it less.
        #[serde(default)]
        pub cycles_per_ns: Option<f64>,
        /// The same of the rows of the price list, the median; null if not counted.
        #[serde(default)]
        pub price_cycles_per_ns: Option<f64>,
        /// The sum of counts times instructions.
        pub charged: f64,
        /// The interval of `charged`; null if a part of it has none.
        pub charged_ci95: Option<[f64; 2]>,
        /// `kernel` without `charged`: a price that is missing or wrong, in either direction.
        pub difference: f64,
        /// The items, the most instructions first; then those without a price.
        pub items: Vec<InstructionItem>,
    }

    /// An item of a bill in instructions.
    pub struct InstructionItem {
        /// Its name, as in the items of the bill.
        pub name: String,
        /// How often.
        pub times: f64,
        /// The case that prices it, as a selector; null if none does.
        pub case: Option<String>,
        /// The instructions of one, the mean over sizes; null without a price.
        pub each: Option<f64>,
        /// The instructions of all; null without a price.
        pub amount: Option<f64>,
        /// Why it has no price; null if it has one.
        pub missing: Option<String>,
    }

    /// A running process that was watched for some time.
    pub struct Watched {
        /// The process.
        pub pid: u32,
        /// For how long, in seconds.
        pub seconds: f64,
        /// Its threads when the watch began.
        pub threads: u32,
        /// Whether its descendants were counted with it.
        pub children: bool,
        /// Whether it ended meanwhile: its times are then those of a moment before its end. They
        /// contain what the counter added to them.
        pub ended: bool,
        /// Nanoseconds of its threads on a CPU, as the scheduler counted them (schedstat); null if one
        /// of them has ended, whose part is lost, as their context switches then are, and null with
        /// descendants, whose threads are not read.
        pub on_cpu_ns: Option<u64>,
    }

    /// The runs of the program that were not counted.
    pub struct BilledTrials {
        /// From before the process was created until its exit was reported, in seconds.
        pub real: Estimate,
        /// CPU time in user mode, in seconds.
        pub user: Estimate,
        /// CPU time in the kernel, in seconds.
        pub system: Estimate,
        /// The system time that the bill is compared with.
        pub system_time: Amount,
        /// What `system_time` is: `median` of the trials, their `mean` where clock ticks divide the
        /// CPU time of a short run, `pooled` where those of control groups do, or `watched`, the one
        /// observation of a running process.
        pub system_figure: String,
        /// The source of the times: `rusage`, `proc` (/proc/PID/stat) of a watched process, or
        /// `cgroup`: the CPU time by rusage, divided in the ratio of the clock ticks of control groups
        /// in which further runs were.
        pub source: String,
        /// The clock ticks of these groups, about: their CPU time over the time between two; null of
        /// another source.
        #[serde(default)]
        pub clock_ticks: Option<f64>,
        /// Why `system_time` is too low; null if nothing is known.
        #[serde(default)]
        pub doubt: Option<String>,
        /// Minor faults of a run, the median.
        pub minor_faults: f64,
        /// Major faults of a run, the median.
        pub major_faults: f64,
        /// Voluntary context switches of a run, the median; null if not known.
        pub voluntary_switches: Option<f64>,
        /// Involuntary context switches of a run, the median; null if not known.
        pub involuntary_switches: Option<f64>,
    }

    /// What was counted.
    pub struct BilledCounts {
        /// The counts: of each form the median of the counted runs.
        pub calls: ProgramCalls,
        /// How many runs were counted.
        pub runs: u32,
        /// Forms whose count was not the same in all of them.
        pub varying_forms: u32,
        /// What counting added to the real time, in per cent; null if that is not known, as of a
        /// watched process, and of one that was counted without its treatments.
        pub added_pct: Option<f64>,
        /// The counter: `ptrace`, or `ebpf`.
        #[serde(default)]
        pub counter: String,
        /// Why it was not the other one; null if that was asked for, or is the default.
        #[serde(default)]
        pub counter_reason: Option<String>,
        /// Events of all counted runs that the counter had no room for.
        #[serde(default)]
        pub lost_events: u64,
    }

    /// Where the prices come from.
    pub struct PriceSources {
        /// The runs whose rows are in the items, the first choice first; then those of cool prices.
        pub runs: Vec<PriceRun>,
        /// Why they may not be those of this machine as it is now; empty if nothing is known.
        pub stale: Vec<String>,
        /// Cases without a row in these runs that would price an item, or with one of a single size,
        /// as selectors; without those that one of these runs could not measure here: the items say
        /// why.
        pub missing: Vec<String>,
        /// Cases that would give the largest items a measured cool price, and have no pair yet.
        #[serde(default)]
        pub uncooled: Vec<String>,
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

    /// A time with its interval, in nanoseconds.
    pub struct Amount {
        /// The time.
        pub ns: f64,
        /// Its interval; null if a part of it has none.
        pub ci95: Option<[f64; 2]>,
    }

    /// An item of a bill.
    pub struct BillItem {
        /// The form of a call, or what else was counted: `read pipe`, `minor page fault`.
        pub name: String,
        /// Its family, one of [`FAMILIES`]; empty in documents of before there were any.
        #[serde(default)]
        pub family: String,
        /// How often.
        pub times: f64,
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

    /// What treatments would add to a program: a prediction, and its check.
    pub struct WhatIf {
        /// The treatments, in order, without those of the bill.
        pub treatments: Vec<String>,
        /// When the prediction was made, before any check of it: RFC 3339, UTC.
        pub predicted_at: String,
        /// The comparisons that measured the added costs, the first choice first.
        pub runs: Vec<PriceRun>,
        /// The system time that would be added: the sum of counts times added costs.
        pub predicted_system_ns: Amount,
        /// The real time that would be added: the same sum, of calls that follow each other. Where
        /// tasks run side by side it is a bound.
        pub predicted_real_ns: Amount,
        /// The part of the sum that is an estimate: calls without an added cost of their own, at the
        /// median of those that have one.
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
        /// The time that is judged: `system`, or `real` where a monitor is another process.
        pub judged_by: String,
        /// The predicted increase over the measured one; null without a positive one.
        pub ratio: Option<f64>,
        /// How well the prediction agrees with the measured increase, in words; null without one.
        pub judged: Option<String>,
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
        /// What is added to all.
        pub amount: Option<Amount>,
        /// Whether `unit` is the median of other calls.
        pub is_estimate: bool,
        /// Why it has no added cost of its own; null if it has one.
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

impl PriceRun {
    /// The name of a run.
    pub fn of(record: &Record) -> Self {
        Self { id: record.id.clone(), started: record.started.clone() }
    }
}

impl Amount {
    /// A time whose interval is not known.
    pub fn exact(ns: f64) -> Self {
        Self { ns, ci95: None }
    }

    /// So many of it.
    #[must_use]
    pub fn times(&self, factor: f64) -> Self {
        let ends = |[low, high]: [f64; 2]| {
            let (one, other) = (low * factor, high * factor);
            [one.min(other), one.max(other)]
        };
        Self { ns: self.ns * factor, ci95: self.ci95.map(ends) }
    }

    /// Both together: their intervals are added end by end, since prices of one run share errors.
    #[must_use]
    pub fn plus(&self, other: &Amount) -> Self {
        let both = self.ci95.zip(other.ci95);
        let ci95 = both.map(|(one, other)| [one[0] + other[0], one[1] + other[1]]);
        Self { ns: self.ns + other.ns, ci95 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_scaled_and_added_with_their_intervals() {
        let one = Amount { ns: 10.0, ci95: Some([9.0, 12.0]) };
        assert_eq!(one.times(2.0), Amount { ns: 20.0, ci95: Some([18.0, 24.0]) });
        assert_eq!(one.times(-1.0), Amount { ns: -10.0, ci95: Some([-12.0, -9.0]) });
        let other = Amount { ns: 1.0, ci95: Some([1.0, 2.0]) };
        assert_eq!(one.plus(&other), Amount { ns: 11.0, ci95: Some([10.0, 14.0]) });
        assert_eq!(one.plus(&Amount::exact(1.0)), Amount { ns: 11.0, ci95: None });
    }
}
