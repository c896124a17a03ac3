//! The columns of the table `comparisons`: a line for each pair of compared figures.

use crate::report::view::export::case_columns::{
    BENCHMARK, BETTER, CASE, FAMILY, METRIC, POINT, PRIMARY_METRIC, REQUESTED, REV, UNIT,
};
use crate::report::view::export::sheet::Column;
use crate::report::view::export::sheet::Kind::{Boolean, Float, Integer, Text};
use crate::report::view::export::sheet::spaced;

/// The version of these columns.
pub(super) const SCHEMA: &str = "oscost.comparisons/1";

/// When a fact could not be read.
const UNREAD: Option<&str> = Some("it could not be read");
/// When there is no interval.
const FEW_PAIRS: Option<&str> = Some("too few pairs, or repetitions");
/// When there is nothing in cycles.
const NO_CYCLES: Option<&str> =
    Some("the base does not follow the core's rate, or the sides were not measured side by side");

/// All of them, in the order in which they are written.
pub(super) const COLUMNS: &[Column] = &[
    CASE,
    BENCHMARK,
    FAMILY,
    REV,
    POINT,
    METRIC,
    PRIMARY_METRIC,
    Column {
        name: "base_target",
        kind: Text,
        means: "the target of the base",
        unknown: None,
        read: |line| line.base(|base| base.row.target.text.as_str()),
    },
    Column {
        name: "new_target",
        kind: Text,
        means: "the target of the new side",
        unknown: None,
        read: |line| line.new.row.target.text.as_str().into(),
    },
    Column {
        name: "base_runs",
        kind: Text,
        means: "the ids of the runs of the base, separated by spaces",
        unknown: None,
        read: |line| line.base(|base| base.ids()),
    },
    Column {
        name: "new_runs",
        kind: Text,
        means: "the ids of the runs of the new side; within one run, the same id",
        unknown: None,
        read: |line| line.new.ids().into(),
    },
    Column {
        name: "base_started",
        kind: Text,
        means: "when the first run of the base began: RFC 3339, UTC",
        unknown: None,
        read: |line| line.base(|base| base.run().map(|run| &run.started)),
    },
    Column {
        name: "new_started",
        kind: Text,
        means: "the same of the new side",
        unknown: None,
        read: |line| line.new.run().map(|run| &run.started).into(),
    },
    Column {
        name: "base_label",
        kind: Text,
        means: "the label of that run",
        unknown: Some("there is none"),
        read: |line| line.base(|base| base.run().and_then(|run| run.label.as_deref())),
    },
    Column {
        name: "new_label",
        kind: Text,
        means: "the same of the new side",
        unknown: Some("there is none"),
        read: |line| line.new.run().and_then(|run| run.label.as_deref()).into(),
    },
    Column {
        name: "cpu_model",
        kind: Text,
        means: "the processor; different ones are not compared",
        unknown: UNREAD,
        read: |line| line.new.cpu_model().into(),
    },
    Column {
        name: "base_kernel",
        kind: Text,
        means: "the release of the base's kernel",
        unknown: UNREAD,
        read: |line| line.base(|base| base.kernel()),
    },
    Column {
        name: "new_kernel",
        kind: Text,
        means: "the same of the new side",
        unknown: UNREAD,
        read: |line| line.new.kernel().into(),
    },
    Column {
        name: "base_run_class",
        kind: Text,
        means: "how quiet its machine was: `quiet`, `noisy` or `very-noisy`",
        unknown: Some("nothing was measured, or instructions are counted"),
        read: |line| line.base(|base| base.run_class()),
    },
    Column {
        name: "new_run_class",
        kind: Text,
        means: "the same of the new side",
        unknown: Some("nothing was measured, or instructions are counted"),
        read: |line| line.new.run_class().into(),
    },
    REQUESTED,
    Column {
        name: "control",
        kind: Boolean,
        means: "whether both sides are identical, as a control; leave these out of counts",
        unknown: None,
        read: |line| line.compared(|it| it.control),
    },
    Column {
        name: "design",
        kind: Text,
        means: "how they were interleaved: `twins`, `toggle`, `pairs`, `boots` or `stored`",
        unknown: None,
        read: |line| line.compared(|it| it.design.as_str()),
    },
    Column {
        name: "pairs",
        kind: Integer,
        means: "valid pairs",
        unknown: None,
        read: |line| line.compared(|it| it.pairs),
    },
    Column {
        name: "span_s",
        kind: Float,
        means: "from the first pair to the last, in seconds",
        unknown: None,
        read: |line| line.compared(|it| it.span_s),
    },
    UNIT,
    BETTER,
    Column {
        name: "base_median",
        kind: Float,
        means: "the figure of the base, in the line's unit; of several runs on a side, of the first",
        unknown: Some("it was not measured"),
        read: |line| line.base(|base| base.median()),
    },
    Column {
        name: "base_ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: Some("below six repetitions"),
        read: |line| line.base(|base| base.ci95_low()),
    },
    Column {
        name: "base_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: Some("below six repetitions"),
        read: |line| line.base(|base| base.ci95_high()),
    },
    Column {
        name: "new_median",
        kind: Float,
        means: "the figure of the new side",
        unknown: Some("it was not measured"),
        read: |line| line.new.median().into(),
    },
    Column {
        name: "new_ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: Some("below six repetitions"),
        read: |line| line.new.ci95_low().into(),
    },
    Column {
        name: "new_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: Some("below six repetitions"),
        read: |line| line.new.ci95_high().into(),
    },
    Column {
        name: "ratio",
        kind: Float,
        means: "**the ratio**, new over base: of the pairs, not of the two figures of this line",
        unknown: None,
        read: |line| line.compared(|it| it.ratio.value),
    },
    Column {
        name: "ratio_ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: FEW_PAIRS,
        read: |line| line.compared(|it| it.ratio.ci95.map(|[low, _]| low)),
    },
    Column {
        name: "ratio_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: FEW_PAIRS,
        read: |line| line.compared(|it| it.ratio.ci95.map(|[_, high]| high)),
    },
    Column {
        name: "added",
        kind: Float,
        means: "new minus base, in the line's unit",
        unknown: None,
        read: |line| line.compared(|it| it.added.value),
    },
    Column {
        name: "added_ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: FEW_PAIRS,
        read: |line| line.compared(|it| it.added.ci95.map(|[low, _]| low)),
    },
    Column {
        name: "added_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: FEW_PAIRS,
        read: |line| line.compared(|it| it.added.ci95.map(|[_, high]| high)),
    },
    Column {
        name: "added_cycles",
        kind: Float,
        means: "the same in cycles of the core",
        unknown: NO_CYCLES,
        read: |line| line.compared(|it| it.added_cycles.as_ref().map(|added| added.value)),
    },
    Column {
        name: "added_cycles_ci95_low",
        kind: Float,
        means: "where its 95 % interval begins",
        unknown: NO_CYCLES,
        read: |line| line.compared(|it| Some(it.added_cycles.as_ref()?.ci95?[0])),
    },
    Column {
        name: "added_cycles_ci95_high",
        kind: Float,
        means: "where it ends",
        unknown: NO_CYCLES,
        read: |line| line.compared(|it| Some(it.added_cycles.as_ref()?.ci95?[1])),
    },
    Column {
        name: "p",
        kind: Float,
        means: "the p value of a two-sided sign test (of commands a signed-rank test), or of Student's t \
                between runs that did not alternate; of exact counts 0 or 1",
        unknown: None,
        read: |line| line.compared(|it| it.p),
    },
    Column {
        name: "q",
        kind: Float,
        means: "the p value corrected over all compared rows (Benjamini and Hochberg)",
        unknown: None,
        read: |line| line.compared(|it| it.q),
    },
    Column {
        name: "verdict",
        kind: Text,
        means: "`slower`, `faster`, `equivalent` or `inconclusive`",
        unknown: None,
        read: |line| line.compared(|it| it.verdict.as_str()),
    },
    Column {
        name: "mde_pct",
        kind: Float,
        means: "the minimum detectable effect, in %",
        unknown: Some("below six pairs, or of inexact counts"),
        read: |line| line.compared(|it| it.mde_pct),
    },
    Column {
        name: "ties",
        kind: Integer,
        means: "pairs of batches with equal values",
        unknown: None,
        read: |line| line.compared(|it| it.ties),
    },
    Column {
        name: "monitor_events_per_op",
        kind: Float,
        means: "how often an op woke its monitor; without such a count, the number of its system calls that \
                a treatment can observe",
        unknown: Some("unknown"),
        read: |line| line.compared(|it| it.monitor_events_per_op),
    },
    Column {
        name: "cause",
        kind: Text,
        means: "what explains most of the change: `work`, `core`, `clock`, `waiting`, `none` or `unknown`",
        unknown: Some("no instructions were counted, or the line is of a further metric"),
        read: |line| line.compared(|it| it.decomposition.as_ref().map(|found| found.cause.text())),
    },
    Column {
        name: "cause_sentence",
        kind: Text,
        means: "the same in a sentence, with the terms",
        unknown: Some("no instructions were counted, or the line is of a further metric"),
        read: |line| {
            line.compared(|it| it.decomposition.as_ref().map(|found| found.sentence.as_str()))
        },
    },
    Column {
        name: "flags",
        kind: Text,
        means: "the flags of the comparison (docs/reference/RECORDS.md), separated by spaces; empty for none",
        unknown: None,
        read: |line| line.compared(|it| spaced(it.flags.iter().map(String::as_str))),
    },
];
