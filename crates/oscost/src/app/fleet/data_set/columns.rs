//! The columns of a data set.

/// What a column has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Float,
    Integer,
    /// Milliseconds since 1970, UTC.
    Time,
}

/// A column.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Whether a line may lack it.
    pub(super) is_optional: bool,
}

const fn column(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_optional: false }
}

const fn optional(name: &'static str, kind: Kind) -> Column {
    Column { name, kind, is_optional: true }
}

pub(super) const FLEET: &str = "fleet";
pub(super) const NODE: &str = "node";
/// The class as a text. `class` is its hash in the path, which DuckDB makes a column of.
pub(super) const CLASS_TEXT: &str = "class_text";
pub(super) const RUN: &str = "run";
pub(super) const STARTED: &str = "started";
/// The number of the visit of its node, by time, from 0.
pub(super) const VISIT: &str = "visit";
pub(super) const NOT_CLAIMABLE: &str = "not_claimable";
/// The NUMA node that the visit measured, of a node with several.
pub(super) const NUMA_NODE: &str = "numa_node";
pub(super) const CASE: &str = "case";
pub(super) const FAMILY: &str = "family";
pub(super) const UNIT: &str = "unit";
pub(super) const BETTER: &str = "better";
/// The revision of the benchmark: figures of two revisions are of other work.
pub(super) const REV: &str = "rev";
pub(super) const MEDIAN: &str = "median";
pub(super) const LOG_ERROR: &str = "log_error";
/// The facts of the node as a JSON object, in the first line of each visit: they are long.
pub(super) const FACTS: &str = "facts";

/// All columns, in order.
pub(super) const COLUMNS: [Column; 16] = [
    column(FLEET, Kind::Text),
    column(NODE, Kind::Text),
    column(CLASS_TEXT, Kind::Text),
    column(RUN, Kind::Text),
    column(STARTED, Kind::Time),
    column(VISIT, Kind::Integer),
    optional(NOT_CLAIMABLE, Kind::Text),
    optional(NUMA_NODE, Kind::Integer),
    column(CASE, Kind::Text),
    column(FAMILY, Kind::Text),
    column(UNIT, Kind::Text),
    column(BETTER, Kind::Text),
    column(REV, Kind::Integer),
    column(MEDIAN, Kind::Float),
    optional(LOG_ERROR, Kind::Float),
    optional(FACTS, Kind::Text),
];
