//! Comparisons of two rows.

use serde::{Deserialize, Serialize};

use crate::unit::Unit;

/// What a comparison calls a row's own figure among its metrics.
pub const PRIMARY: &str = "primary";

record! {
    /// A comparison of two rows.
    pub struct Comparison {
        /// The case.
        pub case: String,
        /// `primary`, or the name of a metric.
        pub metric: String,
        /// Index of the base row in `results`.
        pub base: u32,
        /// Index of the new row in `results`.
        pub new: u32,
        /// `twins`, `toggle`, `pairs`, `boots` or `stored`.
        pub design: String,
        /// Valid pairs.
        pub pairs: u32,
        /// Seconds from the first pair to the last.
        pub span_s: f64,
        /// New over base.
        pub ratio: Ratio,
        /// New minus base.
        pub added: AddedCost,
        /// The same in cycles of the core, of rows measured side by side whose base follows the core's
        /// rate; null for others.
        #[serde(default)]
        pub added_cycles: Option<AddedCost>,
        /// The p value, two-sided: of a sign test over pairs (of a signed-rank test over those of
        /// commands), of Student's t between runs that did not alternate.
        pub p: f64,
        /// The p value adjusted over all comparisons (Benjamini-Hochberg).
        pub q: f64,
        /// `slower`, `faster`, `equivalent` or `inconclusive`.
        pub verdict: String,
        /// The minimum detectable effect, in per cent.
        pub mde_pct: Option<f64>,
        /// Pairs of batches with equal values: the clock's step is too coarse for them.
        #[serde(default)]
        pub ties: u32,
        /// Wakeups of the new row's monitor per op; for monitors without such a count, the system
        /// calls per op that a treatment can observe; null if unknown.
        #[serde(default)]
        pub monitor_events_per_op: Option<f64>,
        /// Why the figure changed, by the processor's counters; null if nothing was counted, and for
        /// other metrics than `primary`.
        #[serde(default)]
        pub decomposition: Option<Decomposition>,
        /// Whether both sides are identical, as a control.
        pub control: bool,
        /// Flags.
        pub flags: Vec<String>,
    }

    /// Why a figure changed: `running = instructions x cycles per instruction x clock period`, and
    /// the waiting apart. The terms are those of counted ops; one that is unknown is null.
    pub struct Decomposition {
        /// Instructions.
        pub insn: Option<Ratio>,
        /// Instructions in user mode that were added.
        pub insn_user_added: Option<AddedCost>,
        /// Instructions in kernel mode that were added.
        pub insn_kernel_added: Option<AddedCost>,
        /// Cycles per instruction.
        pub cpi: Option<Ratio>,
        /// The period of the core's clock.
        pub period: Option<Ratio>,
        /// Time on a CPU.
        pub running: Option<Ratio>,
        /// Waiting that was added.
        pub waiting_added: Option<AddedCost>,
        /// The time of the counted ops, for comparison with that of the timed ones.
        pub counted: Option<Ratio>,
        /// What counting adds to the new side over what it adds to the base.
        pub counting: Option<Ratio>,
        /// What explains most of the change.
        pub cause: Cause,
        /// The same in a sentence.
        pub sentence: String,
    }

    /// A ratio and its interval.
    pub struct Ratio {
        /// New over base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
    }

    /// A difference and its interval.
    pub struct AddedCost {
        /// New minus base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
        /// Its unit.
        pub unit: Unit,
    }
}

/// What explains most of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// Instructions: the op does other work.
    Work,
    /// Cycles per instruction: the core was shared, or its caches were colder.
    Core,
    /// The period of the core's clock.
    Clock,
    /// Time off the CPU.
    Waiting,
    /// Nothing changed that would need a cause.
    None,
    /// The counted ops do not explain it.
    Unknown,
}

impl Cause {
    /// The cause as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            Cause::Work => "work",
            Cause::Core => "core",
            Cause::Clock => "clock",
            Cause::Waiting => "waiting",
            Cause::None => "none",
            Cause::Unknown => "unknown",
        }
    }
}
