//! The record, `oscost.run/1`: the result of a run, for people and programs.
//!
//! A contract: docs/reference/RECORDS.md describes it, `oscost schema` prints its JSON Schema. All
//! keys are always present; unknown values are null, never 0. Readers ignore unknown keys: a new
//! key keeps `/1`, a changed meaning makes `/2`.

use serde::{Deserialize, Serialize};

use crate::crossing::Crossing;
use crate::curve::Curve;
use crate::definition::Timer;
use crate::fleet::FleetVisit;
use crate::one_way::HalfRoundTrip;
use crate::steps::WaitSteps;

macro_rules! record {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

mod comparison;
mod counters;
mod machine;
mod row;

pub use comparison::{AddedCost, Cause, Comparison, Decomposition, PRIMARY, Ratio};
pub use counters::{
    CoreConditions, CoreFigure, CountedMedian, CountedMedians, CountedRepetition, RowCounters,
};
pub use machine::{Clock, Conditions, Machine, ReferenceCases, Vm};
pub use row::{
    Calls, CoreRate, DisturbanceSummary, Estimate, FileSummary, Floor, Levels, Metric,
    MonitorSummary, Overhead, Quantiles, Repetition, Row, RowOutcome, TargetInfo,
};

/// The name and version of the schema.
pub const SCHEMA: &str = "oscost.run/1";

record! {
    /// Everything that one command measured, with the facts of its machines.
    pub struct Record {
        /// [`SCHEMA`].
        pub schema: String,
        /// A UUID, version 7: it sorts by time.
        pub id: String,
        /// RFC 3339, UTC.
        pub started: String,
        /// RFC 3339, UTC; null if the run was killed.
        pub ended: Option<String>,
        /// Whether everything that was asked for was measured, skipped or failed; false after
        /// Ctrl-C, a spent budget before the sixth repetition, or a kill.
        pub complete: bool,
        /// The user's label.
        pub label: Option<String>,
        /// The command line.
        pub command: Vec<String>,
        /// The programs that measured.
        pub tool: Tool,
        /// Their settings.
        pub settings: Settings,
        /// The machines that were measured.
        pub machines: Vec<Machine>,
        /// Disturbances during the run.
        pub conditions: Vec<Conditions>,
        /// One row for each case on each target.
        pub results: Vec<Row>,
        /// Comparisons of pairs of rows.
        pub comparisons: Vec<Comparison>,
        /// The timers of the timer survey, in its order; empty unless all their cases are rows.
        #[serde(default)]
        pub timers: Vec<Timer>,
        /// Curves: rows that differ in one number only.
        #[serde(default)]
        pub curves: Vec<Curve>,
        /// Comparisons of half round trips with one-way latencies, if the run has these.
        #[serde(default)]
        pub half_round_trips: Vec<HalfRoundTrip>,
        /// Pairs of curves that differ in one value, and where the cheaper one changes.
        #[serde(default)]
        pub crossings: Vec<Crossing>,
        /// The cost per idle descriptor of each step of a wait, by method.
        #[serde(default)]
        pub steps: Vec<WaitSteps>,
        /// Which visit of a fleet's node this is; null for a run of its own.
        #[serde(default)]
        pub fleet: Option<FleetVisit>,
    }

    /// The programs that measured.
    pub struct Tool {
        /// The version of the package.
        pub version: String,
        /// The commit it was built from, if known.
        pub commit: Option<String>,
        /// The compiler.
        pub rustc: Option<String>,
        /// The program that was timed.
        pub worker: WorkerProgram,
    }

    /// The program that was timed.
    pub struct WorkerProgram {
        /// Content hash of its file.
        pub hash: String,
        /// `static-pie` or `dynamic`: figures are compared at equal linkage.
        pub link: String,
        /// The C library and its version.
        pub libc: String,
        /// Content hash of its catalog.
        pub catalog: String,
    }

    /// The settings of a run.
    pub struct Settings {
        /// The seed of all randomness of the run.
        pub seed: u64,
        /// `quick`, `default` or `thorough`.
        pub profile: String,
        /// The target half-width, in per cent of the median; null if repetitions are fixed.
        pub precision_pct: Option<f64>,
        /// The nominal level of each interval. Under adaptive stopping it is 0.965, which
        /// compensates for repeated looks, so that the intervals cover 95 %.
        pub nominal: f64,
        /// The time budget in seconds; null for none.
        pub budget_s: Option<f64>,
        /// The measured study, as named by the user; null if there is none.
        #[serde(default)]
        pub study: Option<String>,
        /// The user's predictions before the run.
        #[serde(default)]
        pub predictions: Vec<Prediction>,
    }

    /// A user's prediction for a case: a cost, or that it costs less than another case.
    pub struct Prediction {
        /// The case.
        pub case: String,
        /// Its cost, as `120 ns`, `<25 cycles`, `>1 us` or `100..200 ticks`.
        pub estimate: Option<String>,
        /// The hardware's part of it, in the same form.
        pub hardware: Option<String>,
        /// The software's part of it.
        pub software: Option<String>,
        /// The case that it costs less than.
        pub below: Option<String>,
        /// When it was made: RFC 3339, UTC.
        pub made_at: String,
    }
}

/// A prediction with the number that the store gave it.
#[derive(Clone, Debug, PartialEq)]
pub struct NumberedPrediction {
    /// The number by which it is removed.
    pub number: i64,
    /// The prediction.
    pub prediction: Prediction,
}
