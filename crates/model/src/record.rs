//! The record, `oscost.run/1`: what a run leaves behind for people and programs.
//!
//! A contract: docs/RECORDS.md describes it, `oscost schema` prints its JSON Schema. All keys are
//! always present; what is not known is null and never 0. Readers ignore keys they do not know: a
//! new key keeps `/1`, a changed meaning makes `/2`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::cell::{BatchPlan, Disturbance, Mode, Sample};
use crate::channel::ChannelSeen;
use crate::crossing::Crossing;
use crate::curve::Curve;
use crate::definition::Timer;
use crate::facts::{
    Cache, Cpu, Disk, Facts, Limits, Memory, NetworkCard, Os, Scheduling, Security,
};
use crate::halves::Halves;
use crate::point::Point;
use crate::protocol::CpuProbe;
use crate::steps::Steps;
use crate::unit::{Better, Unit};

/// The version of this page.
pub const SCHEMA: &str = "oscost.run/1";

macro_rules! record {
    ($($(#[$doc:meta])* pub struct $name:ident { $($body:tt)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct $name { $($body)* }
    )*};
}

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
        pub halves: Vec<Halves>,
        /// Pairs of curves that differ in one word alone, and which is cheaper from where on.
        #[serde(default)]
        pub crossings: Vec<Crossing>,
        /// What each idle descriptor costs in the steps of a wait, by method.
        #[serde(default)]
        pub steps: Vec<Steps>,
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
        pub cell: CellProgram,
    }

    /// The program that was timed.
    pub struct CellProgram {
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
    }

    /// A machine that was measured.
    pub struct Machine {
        /// `m0`, `m1`, ...
        pub id: String,
        /// Its processors.
        pub cpu: Cpu,
        /// Its caches.
        pub caches: Vec<Cache>,
        /// Its memory.
        pub memory: Memory,
        /// Its disks.
        pub disks: Vec<Disk>,
        /// Its network cards.
        pub network: Vec<NetworkCard>,
        /// Its kernel.
        pub os: Os,
        /// The limits of the measuring process.
        pub limits: Limits,
        /// How tasks are scheduled and isolated there.
        pub scheduling: Scheduling,
        /// What its kernel checks, hides or forbids.
        pub security: Security,
        /// The hypervisor, where one shows.
        pub virtualization: Option<String>,
        /// Mitigations of processor faults, as the kernel words them.
        pub mitigations: BTreeMap<String, String>,
        /// The clock that was used.
        pub clock: Option<Clock>,
        /// What makes figures noisy or incomparable there, in words.
        pub advice: Vec<String>,
    }

    /// The clock of a machine.
    pub struct Clock {
        /// `tsc`, `vdso`, `syscall` or `instructions`.
        pub source: String,
        /// Its rate against CLOCK_MONOTONIC_RAW over the whole run.
        pub ticks_per_ns: f64,
        /// The bound on the relative error of the rate, in parts per million.
        pub rate_error_ppm: Option<f64>,
        /// q: its step.
        pub q_ns: f64,
        /// c_in: what an empty timed interval shows.
        pub c_in_ns: f64,
        /// c_tot: what a pair of reads costs the program.
        pub c_tot_ns: f64,
        /// Why better clocks were passed over.
        pub passed_over: Vec<String>,
    }

    /// How quiet a machine was.
    pub struct Conditions {
        /// Which machine.
        pub machine: String,
        /// `clean`, `noisy` or `hostile`; null when nothing was measured.
        pub class: Option<String>,
        /// The anchors before and after.
        pub anchors: Anchors,
        /// Interruptions over 5 us in a second on the measuring CPU.
        pub lambda_per_s: Option<f64>,
        /// Time that the hypervisor took while cells were timing, in per cent.
        pub steal_pct: Option<f64>,
        /// Time that cells were ready but not running, in per cent of their timed part.
        pub lost_pct: Option<f64>,
        /// What was attached to the system or to the cells.
        pub tracers: Vec<String>,
        /// What the probe saw on each CPU.
        pub probe: Vec<CpuProbe>,
        /// Flags of the whole run.
        pub flags: Vec<String>,
    }

    /// The anchors' raw medians, in ns/op.
    pub struct Anchors {
        /// Before the first round and in the first third of the rounds.
        pub before: BTreeMap<String, f64>,
        /// After the last round and in the last third.
        pub after: BTreeMap<String, f64>,
    }

    /// A case at a place.
    pub struct Row {
        /// `family/name:axis=value,...`.
        pub case: String,
        /// `family/name`.
        pub benchmark: String,
        /// The definition's revision.
        pub rev: u32,
        /// The value of each axis.
        pub point: Point,
        /// Where it was measured.
        pub place: PlaceOf,
        /// What became of it.
        pub outcome: RowOutcome,
        /// Why it was not measured.
        pub reason: Option<String>,
        /// How it was timed.
        pub mode: Option<Mode>,
        /// What its figures are counted in.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// What is said of it.
        pub estimate: Option<Estimate>,
        /// Further metrics, by name.
        pub metrics: BTreeMap<String, Metric>,
        /// One entry for each cell.
        pub repetitions: Vec<Repetition>,
        /// The calls that an op was seen to make.
        pub calls: Option<Calls>,
        /// The sum of the primitives below which it cannot go.
        pub floor: Option<Floor>,
        /// The prediction written before measuring.
        pub guess: String,
        /// `user`, `vdso`, `light`, `heavy` or `blocking`; null where it was not classed.
        pub class: Option<String>,
        /// How many times as dear it is as the cases that costs are told in: the empty function and
        /// the kernel's bare door, by case.
        #[serde(default)]
        pub multiples: BTreeMap<String, f64>,
        /// The file that its ops worked on; null where there is none.
        #[serde(default)]
        pub file: Option<FileOf>,
        /// The channel that its ops went through; null where there is none.
        #[serde(default)]
        pub channel: Option<ChannelSeen>,
        /// What disturbed its cells.
        pub disturbed: Disturbed,
        /// Marks, each explained in docs/RECORDS.md.
        pub flags: Vec<String>,
    }

    /// Where a row was measured.
    pub struct PlaceOf {
        /// The place as it is typed.
        pub text: String,
        /// The reach.
        pub reach: String,
        /// The treatments, in order.
        pub treatments: Vec<String>,
        /// The machine's id.
        pub machine: String,
        /// The CPU that its cells were pinned to; null when they were not.
        pub cpu: Option<u32>,
        /// The peer's machine.
        pub peer: Option<String>,
    }

    /// What is said of a case: all figures in the row's unit.
    pub struct Estimate {
        /// Whether the figure is a count that repeats to the last digit.
        pub exact: bool,
        /// The median over repetition values.
        pub median: f64,
        /// Its interval; null below six repetitions.
        pub ci95: Option<[f64; 2]>,
        /// The median of what the clock showed, before anything was taken out.
        pub raw_median: f64,
        /// What lies between `raw_median` and the op alone.
        pub overhead: Overhead,
        /// The mean over repetition values.
        pub mean: f64,
        /// Standard deviation between repetitions; null below two.
        pub sd: Option<f64>,
        /// The median standard deviation inside a repetition.
        pub sd_within: Option<f64>,
        /// The smallest repetition value.
        pub min: f64,
        /// The tenth percentile of repetition values.
        pub p10: f64,
        /// Repetitions that count.
        pub repetitions: u32,
        /// Samples in them, rejected ones left out.
        pub samples: u64,
        /// Ops in a sample, the median.
        pub ops_per_sample: u64,
        /// Half of the interval, in per cent of the median; null without an interval.
        pub half_width_pct: Option<f64>,
        /// Whether the precision that was asked for was reached.
        pub converged: bool,
        /// Quantiles over single shots; null in other modes.
        pub quantiles: Option<Quantiles>,
    }

    /// Costs of the measurement itself, in the row's unit. In mode U and T they are taken out by the
    /// slope; in mode S and C the clock is subtracted; in mode B both are still inside the figure.
    pub struct Overhead {
        /// The clock's part; null where it cannot be told.
        pub clock: Option<f64>,
        /// The loop's part; null where it cannot be told.
        #[serde(rename = "loop")]
        pub loop_turn: Option<f64>,
    }

    /// Quantiles that the number of shots allows.
    pub struct Quantiles {
        /// What they are quantiles of.
        pub of: String,
        /// Shots.
        pub n: u64,
        /// Half of the shots lie below.
        pub p50: f64,
        /// Null below 36 shots.
        pub p90: Option<f64>,
        /// Null below 368 shots.
        pub p99: Option<f64>,
        /// Null below 3688 shots.
        pub p999: Option<f64>,
        /// The largest shot.
        pub max: f64,
    }

    /// A further metric of a row.
    pub struct Metric {
        /// What it is counted in.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// What is said of it.
        pub estimate: Estimate,
    }

    /// One cell of a row.
    pub struct Repetition {
        /// The round that it was measured in.
        pub round: u32,
        /// When, in seconds from the start of the run.
        pub at_s: f64,
        /// Which of the things compared.
        pub arm: u8,
        /// Its value; null when too few of its batches were clean, or when it was lost.
        pub value: Option<f64>,
        /// The same over all batches, rejected ones too.
        pub value_all: Option<f64>,
        /// Batches (mode U, T: groups) that count.
        pub batches: u32,
        /// Batches that were rejected, by what disturbed them.
        pub rejected: BTreeMap<String, u32>,
        /// Time ready but not running, in per cent of its timed part.
        pub lost_pct: Option<f64>,
        /// Why it has no value.
        pub reason: Option<String>,
        /// Its raw batches, with `--samples`.
        pub samples: Option<Vec<Sample>>,
    }

    /// The calls of an op.
    pub struct Calls {
        /// Per op, by name.
        pub per_op: BTreeMap<String, f64>,
        /// The peer's, per op of ours, by name.
        pub peer_per_op: BTreeMap<String, f64>,
        /// Ops that were counted.
        pub counted_ops: u64,
        /// The means.
        pub by: String,
        /// Whether they are what the definition says.
        pub expected: bool,
        /// What differs, in words.
        pub surprises: Vec<String>,
        /// Whether an op runs code of the vDSO (within its first 2,000 instructions), as single
        /// steps showed; null where nobody stepped.
        pub vdso: Option<bool>,
        /// Instructions that an op takes in user mode, its turn of the loop included; null where
        /// nobody stepped, or where they were too many to step through.
        pub instructions_per_op: Option<f64>,
        /// Tasks that an op makes; null where nobody looked.
        pub tasks_per_op: Option<f64>,
        /// Faults of an op, minor and major; null where nobody could look.
        pub faults_per_op: Option<f64>,
        /// Bytes that an op has copied by read, write and their kin; null where nobody looked.
        pub bytes_per_op: Option<f64>,
    }

    /// The sum of an op's primitives, measured in the same run.
    pub struct Floor {
        /// The sum, in the row's unit; null when a part was not measured.
        pub value: Option<f64>,
        /// Its parts, as `2 x syscall/getppid:via=raw`.
        pub of: Vec<String>,
    }

    /// The file that a row's ops worked on, as its cells saw it.
    pub struct FileOf {
        /// Its file system: a name, or its number.
        pub system: String,
        /// What is behind that: `disk`, `memory`, `network`, `overlay` or `unknown`.
        pub behind: String,
        /// Whether it was wanted cold.
        pub cold: bool,
        /// Pages that it has.
        pub pages: u64,
        /// How often the cells looked into the page cache, before passes over it.
        pub looks: u64,
        /// The fewest and the most of its pages that the cache held then.
        pub cached: [u64; 2],
    }

    /// What disturbed a row's cells.
    pub struct Disturbed {
        /// Repetitions without a value.
        pub lost_repetitions: u32,
        /// Batches that were rejected, in per cent.
        pub rejected_pct: Option<f64>,
        /// Batches that were rejected, by what disturbed them.
        pub rejected: BTreeMap<String, u32>,
        /// Time ready but not running, in per cent: the median over cells.
        pub lost_pct: Option<f64>,
        /// The median over all batches, rejected ones too.
        pub median_all: Option<f64>,
        /// How its batches were cut.
        pub plan: Option<BatchPlan>,
    }

    /// Two rows compared.
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
        /// Pairs that count.
        pub pairs: u32,
        /// From the first pair to the last.
        pub span_s: f64,
        /// New over base.
        pub ratio: Ratio,
        /// New less base.
        pub added: Added,
        /// Two-sided sign test.
        pub p: f64,
        /// Benjamini-Hochberg over the comparison.
        pub q: f64,
        /// `slower`, `faster`, `equivalent` or `inconclusive`.
        pub verdict: String,
        /// The smallest effect that could have been seen, in per cent.
        pub mde_pct: Option<f64>,
        /// Pairs of batches that did not differ at all: the clock's step is too coarse for them.
        #[serde(default)]
        pub ties: u32,
        /// How often one op of the new row woke the monitor that it is under, or where that counts
        /// nothing, how many calls it made that a treatment could see; null where nobody knows.
        #[serde(default)]
        pub seen_per_op: Option<f64>,
        /// Whether both sides are the same, as a control.
        pub control: bool,
        /// Marks.
        pub flags: Vec<String>,
    }

    /// A ratio and its interval.
    pub struct Ratio {
        /// New over base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
    }

    /// A difference and its interval.
    pub struct Added {
        /// New less base.
        pub value: f64,
        /// Its interval.
        pub ci95: Option<[f64; 2]>,
        /// What it is counted in.
        pub unit: Unit,
    }
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RowOutcome {
    /// It has an estimate.
    Measured,
    /// The place does not offer what it needs.
    Skipped,
    /// It went wrong.
    Failed,
    /// It took longer than it may.
    TimedOut,
    /// Too few of its batches were undisturbed.
    Unmeasurable,
}

impl RowOutcome {
    /// The outcome as the record spells it.
    pub fn text(self) -> &'static str {
        match self {
            RowOutcome::Measured => "measured",
            RowOutcome::Skipped => "skipped",
            RowOutcome::Failed => "failed",
            RowOutcome::TimedOut => "timed-out",
            RowOutcome::Unmeasurable => "unmeasurable",
        }
    }
}

impl Machine {
    /// A machine of these facts whose clock is not known yet.
    pub fn new(id: &str, facts: Facts, advice: Vec<String>) -> Self {
        Self {
            id: id.to_owned(),
            cpu: facts.cpu,
            caches: facts.caches,
            memory: facts.memory,
            disks: facts.disks,
            network: facts.network,
            os: facts.os,
            limits: facts.limits,
            scheduling: facts.scheduling,
            security: facts.security,
            virtualization: facts.virtualization,
            mitigations: facts.mitigations,
            clock: None,
            advice,
        }
    }
}

impl Disturbance {
    /// Time that the cell wanted and did not get, in per cent of its timed part: what the kernel
    /// counts as ready but not running, or wall time without CPU time if that is more (a hypervisor
    /// shows only there). Of an op that sleeps or switches by itself (`switches`) it is not known:
    /// a parent that is ready while its child runs has lost nothing.
    pub fn lost_pct(&self, switches: bool) -> Option<f64> {
        if switches {
            return None;
        }
        let delay = self.run_delay_ns.map(|ns| ns as f64);
        let idle = (self.cpu_ns > 0).then_some(self.wall_ns as f64 - self.cpu_ns as f64);
        let lost = match (delay, idle) {
            (Some(delay), Some(idle)) => delay.max(idle),
            (delay, idle) => delay.or(idle)?,
        };
        (self.wall_ns > 0).then(|| 100.0 * lost / self.wall_ns as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_op_that_switches_by_itself_does_not_tell_what_was_lost() {
        let ready = Disturbance {
            wall_ns: 1_000,
            cpu_ns: 400,
            run_delay_ns: Some(500),
            ..Disturbance::default()
        };
        assert_eq!(ready.lost_pct(true), None);
        assert_eq!(ready.lost_pct(false), Some(60.0));
    }
}
