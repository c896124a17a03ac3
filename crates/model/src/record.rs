//! The record, `oscost.run/1`: what a run leaves behind for people and programs.
//!
//! A contract: docs/reference/RECORDS.md describes it, `oscost schema` prints its JSON Schema. All keys are
//! always present; what is not known is null and never 0. Readers ignore keys they do not know: a
//! new key keeps `/1`, a changed meaning makes `/2`.

use serde::{Deserialize, Serialize};

use crate::crossing::Crossing;
use crate::curve::Curve;
use crate::definition::Timer;
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
mod machine;
mod row;

pub use comparison::{AddedCost, Comparison, Ratio};
pub use machine::{Clock, Conditions, Machine, ReferenceCases, Vm};
pub use row::{
    Calls, DisturbanceSummary, Estimate, FileSummary, Floor, Metric, MonitorSummary, Overhead,
    Quantiles, Repetition, Row, RowOutcome, TargetInfo,
};

/// The version of this page.
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
        /// RFC 3339, UTC; null when the run was killed.
        pub ended: Option<String>,
        /// Whether everything that was asked for was measured, skipped or failed; false after
        /// Ctrl-C, a spent budget before the sixth repetition, or a kill.
        pub complete: bool,
        /// The user's own words.
        pub label: Option<String>,
        /// The command line.
        pub command: Vec<String>,
        /// The programs that measured.
        pub tool: Tool,
        /// What was asked of them.
        pub settings: Settings,
        /// The machines that were measured.
        pub machines: Vec<Machine>,
        /// How quiet they were.
        pub conditions: Vec<Conditions>,
        /// One row for each case at each place.
        pub results: Vec<Row>,
        /// Pairs of rows that were compared.
        pub comparisons: Vec<Comparison>,
        /// The timers of the survey, in its order; none unless all of their cases are among the
        /// rows.
        #[serde(default)]
        pub timers: Vec<Timer>,
        /// Rows that differ in one number alone, and what they say together.
        #[serde(default)]
        pub curves: Vec<Curve>,
        /// Halves of round trips, held against both ways where the run has these.
        #[serde(default)]
        pub half_round_trips: Vec<HalfRoundTrip>,
        /// Pairs of curves that differ in one word alone, and which is cheaper from where on.
        #[serde(default)]
        pub crossings: Vec<Crossing>,
        /// What each idle descriptor costs in the steps of a wait, by method.
        #[serde(default)]
        pub steps: Vec<WaitSteps>,
    }

    /// The programs that measured.
    pub struct Tool {
        /// The version of the package.
        pub version: String,
        /// The commit it was built from, where that is known.
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

    /// What was asked for.
    pub struct Settings {
        /// Where all randomness of the run comes from.
        pub seed: u64,
        /// `quick`, `default` or `thorough`.
        pub profile: String,
        /// The half-width aimed at, in per cent of the median; null when repetitions are fixed.
        pub precision_pct: Option<f64>,
        /// The level at which each interval is computed. Under adaptive stopping it is 0.965, which
        /// pays for the looks, so that the intervals cover 95 %.
        pub nominal: f64,
        /// Seconds that the run may take; null for no bound.
        pub budget_s: Option<f64>,
        /// The study whose cases they are, as it was named; null where there is none.
        #[serde(default)]
        pub study: Option<String>,
        /// What the user predicted of its cases before it began.
        #[serde(default)]
        pub predictions: Vec<Prediction>,
    }

    /// What the user predicted of a case: a cost, or that it is less than another one.
    pub struct Prediction {
        /// The case.
        pub case: String,
        /// Its cost, as `120 ns`, `<25 cycles`, `>1 us` or `100..200 ticks`.
        pub estimate: Option<String>,
        /// What the hardware takes of it, in the same words.
        pub hardware: Option<String>,
        /// What the software takes of it.
        pub software: Option<String>,
        /// The case that it costs less than.
        pub below: Option<String>,
        /// When it was said: RFC 3339, UTC.
        pub made_at: String,
    }
}
