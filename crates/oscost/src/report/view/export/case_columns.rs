//! The columns of a case and of its figure, in the tables `rows` and `comparisons`.

use oscost_model::unit::Better;

use crate::report::view::export::sheet::Column;
use crate::report::view::export::sheet::Kind::{Boolean, Integer, Text};
use crate::report::view::run::row::is_requested;

pub(super) const CASE: Column = Column {
    name: "case",
    kind: Text,
    means: "the case: `family/name:axis=value,...`, without implied values",
    unknown: None,
    read: |line| line.new.row.case.as_str().into(),
};
pub(super) const BENCHMARK: Column = Column {
    name: "benchmark",
    kind: Text,
    means: "its benchmark: `family/name`",
    unknown: None,
    read: |line| line.new.row.benchmark.as_str().into(),
};
pub(super) const FAMILY: Column = Column {
    name: "family",
    kind: Text,
    means: "its family",
    unknown: None,
    read: |line| {
        let benchmark = line.new.row.benchmark.as_str();
        benchmark.split_once('/').map_or(benchmark, |(family, _)| family).into()
    },
};
pub(super) const REV: Column = Column {
    name: "rev",
    kind: Integer,
    means: "the revision of its definition; two revisions are different benchmarks",
    unknown: None,
    read: |line| line.new.row.rev.into(),
};
pub(super) const POINT: Column = Column {
    name: "point",
    kind: Text,
    means: "the value of every axis: `size=4096,peer_cpu=same`",
    unknown: None,
    read: |line| {
        let axes = line.new.row.point.iter().map(|(axis, value)| format!("{axis}={value}"));
        axes.collect::<Vec<_>>().join(",").into()
    },
};
pub(super) const REQUESTED: Column = Column {
    name: "requested",
    kind: Boolean,
    means: "whether it was requested; reference cases and parts of floors are always measured",
    unknown: None,
    read: |line| is_requested(line.new.row).into(),
};
pub(super) const METRIC: Column = Column {
    name: "metric",
    kind: Text,
    means: "`primary` for the case's figure, or the name of a further metric",
    unknown: None,
    read: |line| line.new.metric.into(),
};
pub(super) const PRIMARY_METRIC: Column = Column {
    name: "primary_metric",
    kind: Text,
    means: "of a workload, the metric that is its `primary` figure",
    unknown: Some("it is not a workload"),
    read: |line| line.new.row.primary_metric.as_deref().into(),
};
pub(super) const UNIT: Column = Column {
    name: "unit",
    kind: Text,
    means: "the unit of the line's figures whose column names none, such as `ns/op`, `B/s` or `s`",
    unknown: None,
    read: |line| line.new.unit.text().into(),
};
pub(super) const BETTER: Column = Column {
    name: "better",
    kind: Text,
    means: "`lower` or `higher`",
    unknown: None,
    read: |line| match line.new.better {
        Better::Lower => "lower".into(),
        Better::Higher => "higher".into(),
    },
};
