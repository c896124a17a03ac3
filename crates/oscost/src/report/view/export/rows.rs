//! The columns of the table `rows`: a line for each figure of each case at each target.

use std::collections::BTreeMap;

use oscost_model::record::PRIMARY;

use crate::report::view::export::case_columns::{
    BENCHMARK, BETTER, CASE, FAMILY, METRIC, POINT, PRIMARY_METRIC, REQUESTED, REV, UNIT,
};
use crate::report::view::export::sheet::Kind::{Boolean, Float, Integer, Text};
use crate::report::view::export::sheet::{Column, Value, spaced};
use crate::report::view::export::shot_columns::{
    SHOT_MAX, SHOT_P50, SHOT_P90, SHOT_P99, SHOT_P999, SHOTS,
};

/// The version of these columns.
pub(super) const SCHEMA: &str = "oscost.rows/1";

/// When a figure is unknown.
const NO_FIGURE: Option<&str> = Some("it was not measured");
/// When an interval is unknown.
const NO_INTERVAL: Option<&str> = Some("below six repetitions");
/// Why a figure has no interval between runs.
const NO_BETWEEN_RUN_INTERVAL: Option<&str> = Some(
    "below six repetitions or detection; of inexact counts, programs without three earlier runs, \
     metrics of benchmarks but `core-cycles` and counted instructions",
);

/// All of them, in the order in which they are written.
pub(super) const COLUMNS: &[Column] = &[
    Column {
        name: "run",
        kind: Text,
        means: "the run's id",
        unknown: None,
        read: |line| line.new.ids().into(),
    },
    Column {
        name: "started",
        kind: Text,
        means: "when it began: RFC 3339, UTC",
        unknown: None,
        read: |line| line.new.run().map(|run| &run.started).into(),
    },
    Column {
        name: "label",
        kind: Text,
        means: "the label (`--label`)",
        unknown: Some("there is none"),
        read: |line| line.new.run().and_then(|run| run.label.as_deref()).into(),
    },
    Column {
        name: "complete",
        kind: Boolean,
        means: "whether every requested row was completed",
        unknown: None,
        read: |line| line.new.run().map(|run| run.complete).into(),
    },
    Column {
        name: "cpu_model",
        kind: Text,
        means: "the processor that was measured",
        unknown: Some("it could not be read"),
        read: |line| line.new.cpu_model().into(),
    },
    Column {
        name: "kernel",
        kind: Text,
        means: "the release of its kernel (`uname -r`)",
        unknown: Some("it could not be read"),
        read: |line| line.new.kernel().into(),
    },
    Column {
        name: "run_class",
        kind: Text,
        means: "how quiet the machine was: `quiet`, `noisy` or `very-noisy`",
        unknown: Some("nothing was measured, or instructions are counted"),
        read: |line| line.new.run_class().into(),
    },
    Column {
        name: "run_flags",
        kind: Text,
        means: "the flags of the run, separated by spaces",
        unknown: Some("the machine was not probed"),
        read: |line| {
            let flags = line.new.conditions().map(|it| &it.flags);
            flags.map(|flags| spaced(flags.iter().map(String::as_str))).into()
        },
    },
    CASE,
    BENCHMARK,
    FAMILY,
    REV,
    POINT,
    Column {
        name: "target",
        kind: Text,
        means: "the target as typed: `local`, `seccomp=docker+nice=5@ssh:db1`",
        unknown: None,
        read: |line| line.new.row.target.text.as_str().into(),
    },
    Column {
        name: "host",
        kind: Text,
        means: "its host: `local`, `ssh:`, `vm:`, `slurm:`",
        unknown: None,
        read: |line| line.new.row.target.host.as_str().into(),
    },
    Column {
        name: "treatments",
        kind: Text,
        means: "its treatments in order, separated by `+`; empty for none",
        unknown: None,
        read: |line| line.new.row.target.treatments.join("+").into(),
    },
    Column {
        name: "cpu",
        kind: Integer,
        means: "the CPU that the workers were pinned to",
        unknown: Some("they were not pinned"),
        read: |line| line.new.row.target.cpu.into(),
    },
    Column {
        name: "peer",
        kind: Text,
        means: "the machine of the other end, `m1`",
        unknown: Some("both ends are on one machine, or there is one end"),
        read: |line| line.new.row.target.peer.as_deref().into(),
    },
    Column {
        name: "outcome",
        kind: Text,
        means: "`measured`, `skipped`, `failed`, `timed-out` or `unmeasurable`",
        unknown: None,
        read: |line| line.new.row.outcome.text().into(),
    },
    Column {
        name: "reason",
        kind: Text,
        means: "why it was not measured",
        unknown: Some("it was measured"),
        read: |line| line.new.row.reason.as_deref().into(),
    },
    REQUESTED,
    Column {
        name: "mode",
        kind: Text,
        means: "how it was timed: `U`, `B`, `S`, `C`, `T`, `F` (docs/reference/GLOSSARY.md)",
        unknown: Some("there was no pilot"),
        read: |line| line.new.row.mode.map(|mode| mode.text()).into(),
    },
    METRIC,
    PRIMARY_METRIC,
    UNIT,
    BETTER,
    Column {
        name: "median",
        kind: Float,
        means: "**the figure**: the median over repetition values; of a counted event, over the workers \
                that counted; of another further metric of a benchmark, the sum over all workers divided \
                by the sum of their ops",
        unknown: NO_FIGURE,
        read: |line| line.new.median().into(),
    },
    Column {
        name: "ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: NO_INTERVAL,
        read: |line| line.new.ci95_low().into(),
    },
    Column {
        name: "ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: NO_INTERVAL,
        read: |line| line.new.ci95_high().into(),
    },
    Column {
        name: "between_run_ci95_low",
        kind: Float,
        means: "where the 95 % interval of the case's long-run figure on this machine and kernel begins",
        unknown: NO_BETWEEN_RUN_INTERVAL,
        read: |line| line.estimate(|it| it.between_run_ci95.map(|[low, _]| low)),
    },
    Column {
        name: "between_run_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: NO_BETWEEN_RUN_INTERVAL,
        read: |line| line.estimate(|it| it.between_run_ci95.map(|[_, high]| high)),
    },
    Column {
        name: "half_width_pct",
        kind: Float,
        means: "half of the interval, in % of the median",
        unknown: Some("no interval, or median 0"),
        read: |line| line.estimate(|it| it.half_width_pct),
    },
    Column {
        name: "raw_median",
        kind: Float,
        means: "the median of the clock's readings, before overheads are subtracted",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.raw_median),
    },
    Column {
        name: "overhead_clock",
        kind: Float,
        means: "the clock's share of an op in the shortest batch",
        unknown: Some("no op was timed"),
        read: |line| line.estimate(|it| it.overhead.clock),
    },
    Column {
        name: "overhead_loop",
        kind: Float,
        means: "the loop's share of an op",
        unknown: Some("other modes than U and T"),
        read: |line| line.estimate(|it| it.overhead.loop_cost),
    },
    Column {
        name: "mean",
        kind: Float,
        means: "the mean over repetition values",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.mean),
    },
    Column {
        name: "sd",
        kind: Float,
        means: "the standard deviation between repetitions",
        unknown: Some("one repetition"),
        read: |line| line.estimate(|it| it.sd),
    },
    Column {
        name: "sd_within",
        kind: Float,
        means: "the median standard deviation within a repetition",
        unknown: Some("no worker has two undisturbed groups"),
        read: |line| line.estimate(|it| it.sd_within),
    },
    Column {
        name: "min",
        kind: Float,
        means: "the smallest repetition value",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.min),
    },
    Column {
        name: "p10",
        kind: Float,
        means: "the tenth percentile of repetition values",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.p10),
    },
    Column {
        name: "repetitions",
        kind: Integer,
        means: "workers with a value",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.repetitions),
    },
    Column {
        name: "samples",
        kind: Integer,
        means: "their batches, without rejected ones",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.samples),
    },
    Column {
        name: "ops_per_sample",
        kind: Integer,
        means: "ops in a batch, the median",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.ops_per_sample),
    },
    Column {
        name: "converged",
        kind: Boolean,
        means: "whether the requested precision was reached",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.converged),
    },
    Column {
        name: "exact",
        kind: Boolean,
        means: "whether the figure is a count that repeats to the last digit",
        unknown: NO_FIGURE,
        read: |line| line.estimate(|it| it.exact),
    },
    SHOTS,
    SHOT_P50,
    SHOT_P90,
    SHOT_P99,
    SHOT_P999,
    SHOT_MAX,
    Column {
        name: "class",
        kind: Text,
        means: "`user`, `vdso`, `light`, `heavy` or `blocking`",
        unknown: Some("unclassified"),
        read: |line| line.new.row.class.as_deref().into(),
    },
    Column {
        name: "floor",
        kind: Float,
        means: "the sum of the costs of the op's primitives: it cannot cost less",
        unknown: Some("the definition has none, or the line is of a further metric"),
        read: |line| match line.new.metric {
            PRIMARY => line.new.row.floor.as_ref().and_then(|floor| floor.value).into(),
            _ => Value::Unknown,
        },
    },
    Column {
        name: "calls_per_op",
        kind: Float,
        means: "system calls of an op, as counted",
        unknown: Some("not counted"),
        read: |line| line.new.row.calls.as_ref().map(|it| total(&it.per_op)).into(),
    },
    Column {
        name: "peer_calls_per_op",
        kind: Float,
        means: "system calls of its peer per op",
        unknown: Some("not counted"),
        read: |line| line.new.row.calls.as_ref().map(|it| total(&it.peer_per_op)).into(),
    },
    Column {
        name: "calls_expected",
        kind: Boolean,
        means: "whether its calls match the definition",
        unknown: Some("not counted"),
        read: |line| line.new.row.calls.as_ref().map(|it| it.expected).into(),
    },
    Column {
        name: "lost_pct",
        kind: Float,
        means: "time that workers were runnable but not running, in %: the median over workers",
        unknown: Some("unknown, or the op itself waits"),
        read: |line| line.new.row.disturbed.lost_pct.into(),
    },
    Column {
        name: "rejected_pct",
        kind: Float,
        means: "batches that were rejected, in %",
        unknown: Some("there were no batches"),
        read: |line| line.new.row.disturbed.rejected_pct.into(),
    },
    Column {
        name: "flags",
        kind: Text,
        means: "the flags of the row (docs/reference/RECORDS.md), separated by spaces; empty for none",
        unknown: None,
        read: |line| spaced(line.new.row.flags.iter().map(String::as_str)).into(),
    },
    Column {
        name: "expected",
        kind: Text,
        means: "the expectation written before measuring; empty for none",
        unknown: None,
        read: |line| line.new.row.expected.as_str().into(),
    },
    Column {
        name: "tool_version",
        kind: Text,
        means: "the version of oscost",
        unknown: None,
        read: |line| line.new.run().map(|run| &run.tool.version).into(),
    },
];

/// The number of all calls of an op. (`sum` of an empty iterator would be -0.0.)
fn total(per_op: &BTreeMap<String, f64>) -> f64 {
    per_op.values().fold(0.0, |sum, times| sum + times)
}
