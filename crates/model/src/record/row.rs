//! A case at a place, with all that is known of its cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::channel::ChannelObservation;
use crate::point::Point;
use crate::study_method::StudyMethodFigure;
use crate::unit::{Better, Unit};
use crate::worker::{BatchPlan, Disturbance, Mode, Sample};

record! {
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
        pub target: TargetInfo,
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
        /// The metric that its figure is, of a program; null of what has ops.
        #[serde(default)]
        pub primary_metric: Option<String>,
        /// Further metrics, by name.
        pub metrics: BTreeMap<String, Metric>,
        /// One entry for each worker.
        pub repetitions: Vec<Repetition>,
        /// The calls that an op was seen to make.
        pub calls: Option<Calls>,
        /// The monitor of calls that it was under, and what that saw; null where there was none, or
        /// one that tells nothing.
        #[serde(default)]
        pub monitor: Option<MonitorSummary>,
        /// The sum of the primitives below which it cannot go.
        pub floor: Option<Floor>,
        /// The prediction written before measuring.
        pub expected: String,
        /// `user`, `vdso`, `light`, `heavy` or `blocking`; null where it was not classed.
        pub class: Option<String>,
        /// How many times as dear it is as the cases that costs are told in: the empty function and
        /// the kernel's bare door, by case.
        #[serde(default)]
        pub multiples: BTreeMap<String, f64>,
        /// The file that its ops worked on; null where there is none.
        #[serde(default)]
        pub file: Option<FileSummary>,
        /// The channel that its ops went through; null where there is none.
        #[serde(default)]
        pub channel: Option<ChannelObservation>,
        /// What disturbed its workers.
        pub disturbed: DisturbanceSummary,
        /// What it came to in the manner of the study that it was measured for; null where it was
        /// measured for none, or where that has no such manner.
        #[serde(default)]
        pub study_method: Option<StudyMethodFigure>,
        /// Marks, each explained in docs/reference/RECORDS.md.
        pub flags: Vec<String>,
    }

    /// Where a row was measured.
    pub struct TargetInfo {
        /// The place as it is typed.
        pub text: String,
        /// The reach.
        pub host: String,
        /// The treatments, in order.
        pub treatments: Vec<String>,
        /// The machine's id.
        pub machine: String,
        /// The CPU that its workers were pinned to; null when they were not.
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
        pub loop_cost: Option<f64>,
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

    /// One worker of a row.
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
        pub unexpected: Vec<String>,
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

    /// What a monitor of calls saw of a row's ops.
    pub struct MonitorSummary {
        /// The states that its profile of the measuring program was in: `training`, `frozen`,
        /// `normal`.
        pub profile_states: Vec<String>,
        /// The calls that it saw of the counted ops; the same as they made, or the row is void.
        pub observed_calls: u64,
        /// The anomalies that it saw while the row was measured, of all processes.
        pub anomalies: u64,
    }

    /// The sum of an op's primitives, measured in the same run.
    pub struct Floor {
        /// The sum, in the row's unit; null when a part was not measured.
        pub value: Option<f64>,
        /// Its parts, as `2 x syscall/getppid:via=raw`.
        pub of: Vec<String>,
    }

    /// The file that a row's ops worked on, as its workers saw it.
    pub struct FileSummary {
        /// Its file system: a name, or its number.
        pub filesystem: String,
        /// What is behind that: `disk`, `memory`, `network`, `overlay` or `unknown`.
        pub backing: String,
        /// Whether it was wanted cold.
        pub cold: bool,
        /// Pages that it has.
        pub pages: u64,
        /// How often the workers looked into the page cache, before passes over it.
        pub checks: u64,
        /// The fewest and the most of its pages that the cache held then.
        pub cached: [u64; 2],
    }

    /// What disturbed a row's workers.
    pub struct DisturbanceSummary {
        /// Repetitions without a value.
        pub lost_repetitions: u32,
        /// Batches that were rejected, in per cent.
        pub rejected_pct: Option<f64>,
        /// Batches that were rejected, by what disturbed them.
        pub rejected: BTreeMap<String, u32>,
        /// Time ready but not running, in per cent: the median over workers.
        pub lost_pct: Option<f64>,
        /// The median over all batches, rejected ones too.
        pub median_all: Option<f64>,
        /// How its batches were cut.
        pub plan: Option<BatchPlan>,
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

impl Row {
    /// Whether the user asked for the row; reference cases and parts of floors are measured anyway.
    pub fn is_requested(&self) -> bool {
        !self.flags.iter().any(|flag| flag == "REFERENCE" || flag == "PRIMITIVE")
    }
}

impl Disturbance {
    /// Time that the worker wanted and did not get, in per cent of its timed part: what the kernel
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
