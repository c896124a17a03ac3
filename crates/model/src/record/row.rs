//! Rows: the results of a case on a target.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::RowCounters;
use crate::channel::ChannelObservation;
use crate::parameter::{ParameterValues, SampledParameter};
use crate::point::Point;
use crate::program::ExecutableFile;
use crate::study_method::StudyMethodFigure;
use crate::unit::{Better, Unit};
use crate::worker::{BatchPlan, Disturbance, Mode, Sample};

record! {
    /// The result of a case on a target.
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
        /// Its outcome.
        pub outcome: RowOutcome,
        /// Why it was not measured.
        pub reason: Option<String>,
        /// How it was timed.
        pub mode: Option<Mode>,
        /// The unit of its figures.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// Its estimate; null if it was not measured.
        pub estimate: Option<Estimate>,
        /// The metric used as its figure, for programs; null for benchmarks.
        #[serde(default)]
        pub primary_metric: Option<String>,
        /// The words of the command, if it was given on the command line; null for others.
        #[serde(default)]
        pub command: Option<Vec<String>>,
        /// The file of the program; null for benchmarks, on another machine, and where it was not found
        /// or could not be read.
        #[serde(default)]
        pub program: Option<ExecutableFile>,
        /// The parameters of the command that have a random value in each round, the same for all
        /// commands that are compared; in the warm-ups, the middle of the range.
        #[serde(default)]
        pub sampled_parameters: Vec<SampledParameter>,
        /// Further metrics, by name.
        pub metrics: BTreeMap<String, Metric>,
        /// How events were counted; null if none were.
        #[serde(default)]
        pub counters: Option<RowCounters>,
        /// One entry for each worker.
        pub repetitions: Vec<Repetition>,
        /// The system calls counted per op.
        pub calls: Option<Calls>,
        /// The report of the system-call monitor; null if there was none, or one without a report.
        #[serde(default)]
        pub monitor: Option<MonitorSummary>,
        /// How its figure depends on the core's rate; null if its workers did not measure that, or if
        /// the figure is no time per op.
        #[serde(default)]
        pub core_rate: Option<CoreRate>,
        /// The sum of the primitives that it contains.
        pub floor: Option<Floor>,
        /// The prediction written before measuring.
        pub expected: String,
        /// `user`, `vdso`, `light`, `heavy` or `blocking`; null if it was not classified.
        pub class: Option<String>,
        /// Its cost as a multiple of the cost of the empty function and of the null system call, by
        /// their cases.
        #[serde(default)]
        pub multiples: BTreeMap<String, f64>,
        /// The file that its ops used; null if there is none.
        #[serde(default)]
        pub file: Option<FileSummary>,
        /// The channel that its ops used; null if there is none.
        #[serde(default)]
        pub channel: Option<ChannelObservation>,
        /// Disturbances of its workers.
        pub disturbed: DisturbanceSummary,
        /// Its figure by the method of the measured study; null without a study, or if the study
        /// has no method for it.
        #[serde(default)]
        pub study_method: Option<StudyMethodFigure>,
        /// Flags, explained in docs/reference/RECORDS.md.
        pub flags: Vec<String>,
    }

    /// The target of a row.
    pub struct TargetInfo {
        /// The target as typed.
        pub text: String,
        /// The host.
        pub host: String,
        /// The treatments, in order.
        pub treatments: Vec<String>,
        /// The machine's id.
        pub machine: String,
        /// The CPU that its workers were pinned to; null if they were not pinned.
        pub cpu: Option<u32>,
        /// The peer's machine.
        pub peer: Option<String>,
    }

    /// The estimate of a case: all figures in the row's unit.
    pub struct Estimate {
        /// Whether the figure is a count that is equal in all repetitions.
        pub exact: bool,
        /// The median over repetition values.
        pub median: f64,
        /// Its interval within the run: what the repetitions leave open; null below six of them.
        pub ci95: Option<[f64; 2]>,
        /// Where the long-run figure of the case lies on this machine and kernel; null below six
        /// repetitions, below detection, and of counts that are not exact, programs without three earlier
        /// runs, and metrics of benchmarks except `core-cycles` and the instructions that the processor
        /// counted, of which it is for this boot.
        #[serde(default)]
        pub between_run_ci95: Option<[f64; 2]>,
        /// The two levels of repetition values, if they lie around two; null otherwise.
        #[serde(default)]
        pub levels: Option<Levels>,
        /// The median of the raw clock readings, before any overhead was subtracted.
        pub raw_median: f64,
        /// The measurement overhead included in `raw_median`.
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
        /// Valid repetitions.
        pub repetitions: u32,
        /// Their samples, without rejected ones.
        pub samples: u64,
        /// Ops in a sample, the median.
        pub ops_per_sample: u64,
        /// Half of the interval, in per cent of the median; null without an interval.
        pub half_width_pct: Option<f64>,
        /// Whether the requested precision was reached.
        pub converged: bool,
        /// Quantiles over single shots; null in other modes.
        pub quantiles: Option<Quantiles>,
    }

    /// How a figure depends on the rate of the core.
    pub struct CoreRate {
        /// The core's rate beside the repetitions, in cycles per nanosecond: the median.
        pub cycles_per_ns: f64,
        /// The slope of the figure's logarithm over that of the period of the core's clock, over the
        /// workers of the run and over earlier runs: near 1 it takes so many cycles, near 0 so much
        /// time; 0.5 as long as the rate never changed.
        pub slope: f64,
        /// Its interval.
        pub slope_ci95: [f64; 2],
        /// Whether the figure follows the core's rate: it is then also in the metrics, in cycles.
        pub follows: bool,
    }

    /// Two levels of repetition values: a short run may lie on one of them alone.
    pub struct Levels {
        /// The median of the values of the lower level.
        pub low: f64,
        /// How many they are.
        pub low_count: u32,
        /// The median of the values of the higher level.
        pub high: f64,
        /// How many they are.
        pub high_count: u32,
    }

    /// Overhead of the measurement, in the row's unit. Modes U and T exclude it by the slope; modes
    /// S and C subtract the clock's part; in mode B the figure includes both.
    pub struct Overhead {
        /// The clock's part; null if unknown.
        pub clock: Option<f64>,
        /// The loop's part; null if unknown.
        #[serde(rename = "loop")]
        pub loop_cost: Option<f64>,
    }

    /// The quantiles that the number of shots supports.
    pub struct Quantiles {
        /// What they are quantiles of: `op`.
        pub of: String,
        /// Shots.
        pub n: u64,
        /// Half of the shots lie below.
        pub p50: f64,
        /// Nine of ten shots lie below. Null below 36 shots.
        pub p90: Option<f64>,
        /// 99 of 100 shots lie below. Null below 368 shots.
        pub p99: Option<f64>,
        /// 999 of 1000 shots lie below. Null below 3688 shots.
        pub p999: Option<f64>,
        /// The largest shot.
        pub max: f64,
    }

    /// A further metric of a row.
    pub struct Metric {
        /// Its unit.
        pub unit: Unit,
        /// Which direction is better.
        pub better: Better,
        /// Its estimate; null if it was not measured.
        pub estimate: Estimate,
    }

    /// One worker of a row.
    pub struct Repetition {
        /// Its round.
        pub round: u32,
        /// Seconds since the start of the run.
        pub at_s: f64,
        /// The arm.
        pub arm: u8,
        /// Its value; null if too few of its batches were clean, or if it was lost.
        pub value: Option<f64>,
        /// The same over all batches, including rejected ones.
        pub value_all: Option<f64>,
        /// Valid batches (in modes U and T: groups).
        pub batches: u32,
        /// Batches that were rejected, by what disturbed them; other causes are left out.
        pub rejected: BTreeMap<String, u32>,
        /// Runnable time without a CPU, in per cent of its timed part.
        pub lost_pct: Option<f64>,
        /// The core's rate after its last batch, in cycles per nanosecond; null if it was not
        /// measured.
        #[serde(default)]
        pub core_cycles_per_ns: Option<f64>,
        /// Why it has no value.
        pub reason: Option<String>,
        /// Its raw batches, with `--samples`.
        pub samples: Option<Vec<Sample>>,
        /// The values of sampled parameters of a command; null without them, or if it was lost.
        #[serde(default)]
        pub parameters: Option<ParameterValues>,
    }

    /// The calls of an op.
    pub struct Calls {
        /// Per op, by name.
        pub per_op: BTreeMap<String, f64>,
        /// The peer's, per op of ours, by name.
        pub peer_per_op: BTreeMap<String, f64>,
        /// Ops that were counted.
        pub counted_ops: u64,
        /// How they were counted.
        pub by: String,
        /// Whether they match the definition.
        pub expected: bool,
        /// Descriptions of the differences.
        pub unexpected: Vec<String>,
        /// Whether an op runs vDSO code within its first 2,000 instructions, found by
        /// single-stepping; null if it was not single-stepped.
        pub vdso: Option<bool>,
        /// User-mode instructions per op including its loop iteration; null if it was not
        /// single-stepped, or if there were too many.
        pub instructions_per_op: Option<f64>,
        /// Tasks created per op; null if not counted.
        pub tasks_per_op: Option<f64>,
        /// Minor and major page faults per op; null if unknown.
        pub faults_per_op: Option<f64>,
        /// Bytes transferred per op by read, write and similar calls; null if not counted.
        pub bytes_per_op: Option<f64>,
    }

    /// What a system-call monitor observed of a row's ops.
    pub struct MonitorSummary {
        /// The states of its profile of the worker program: `training`, `frozen`, `normal`.
        pub profile_states: Vec<String>,
        /// Observed calls of the counted ops; if they differ from the calls made, the row is void.
        pub observed_calls: u64,
        /// Anomalies of all processes while the row was measured.
        pub anomalies: u64,
    }

    /// The sum of an op's primitives, measured in the same run.
    pub struct Floor {
        /// The sum, in the row's unit; null if a part was not measured.
        pub value: Option<f64>,
        /// Its parts, as `2 x syscall/getppid:via=raw`.
        pub of: Vec<String>,
    }

    /// The file that a row's ops used, as observed by its workers.
    pub struct FileSummary {
        /// Its file system: a name, or its number.
        pub filesystem: String,
        /// Its backing: `disk`, `memory`, `network`, `overlay` or `unknown`.
        pub backing: String,
        /// Whether it was to be uncached.
        pub cold: bool,
        /// Its number of pages.
        pub pages: u64,
        /// How often the workers checked the page cache before passes over it.
        pub checks: u64,
        /// The minimum and maximum number of cached pages.
        pub cached: [u64; 2],
    }

    /// Disturbances of a row's workers.
    pub struct DisturbanceSummary {
        /// Repetitions without a value.
        pub lost_repetitions: u32,
        /// Batches that were rejected, in per cent.
        pub rejected_pct: Option<f64>,
        /// Batches that were rejected, by what disturbed them; other causes are left out.
        pub rejected: BTreeMap<String, u32>,
        /// Runnable time without a CPU, in per cent: the median over workers.
        pub lost_pct: Option<f64>,
        /// The median over all batches, including rejected ones.
        pub median_all: Option<f64>,
        /// Its batch plan.
        pub plan: Option<BatchPlan>,
    }
}

/// The outcome of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RowOutcome {
    /// It has an estimate.
    Measured,
    /// The target does not meet its requirements.
    Skipped,
    /// It failed.
    Failed,
    /// It exceeded its time limit.
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

    /// Whether it could not be measured although nothing that it needs is missing.
    pub fn is_failure(self) -> bool {
        match self {
            RowOutcome::Measured | RowOutcome::Skipped => false,
            RowOutcome::Failed | RowOutcome::TimedOut | RowOutcome::Unmeasurable => true,
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
    /// Runnable time without a CPU, in per cent of the timed part: the kernel's run delay, or wall
    /// time minus CPU time if that is more (which includes stolen time). Unknown for an op that
    /// sleeps or switches by itself (`switches`): a parent that waits while its child runs loses
    /// nothing.
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
mod tests;
