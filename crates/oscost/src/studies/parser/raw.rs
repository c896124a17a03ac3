//! The keys of a study file, as serde types.

use oscost_model::study_method::{ClockCost, TimingScope};
use serde::Deserialize;
use toml::Spanned;

use crate::studies::figures::unit::TableUnit;
use crate::studies::machine::condition::ConditionKind;
use crate::studies::machine::machine_fact::FactKind;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Study {
    pub(super) id: Spanned<String>,
    pub(super) title: Spanned<String>,
    pub(super) authors: Vec<Spanned<String>>,
    pub(super) year: u16,
    pub(super) source: Spanned<String>,
    pub(super) measured_on: Spanned<String>,
    pub(super) core_ghz: Option<Spanned<f64>>,
    #[serde(rename = "system", default)]
    pub(super) systems: Vec<System>,
    pub(super) reference_system: Option<Spanned<String>>,
    pub(super) duration: Option<ProfileSeconds>,
    pub(super) budget: Option<ProfileSeconds>,
    pub(super) protocol: Protocol,
    #[serde(rename = "column", default)]
    pub(super) columns: Vec<Column>,
    #[serde(rename = "machine", default)]
    pub(super) machine: Vec<MachineFact>,
    #[serde(rename = "condition", default)]
    pub(super) conditions: Vec<Condition>,
    #[serde(rename = "table")]
    pub(super) tables: Vec<Table>,
    #[serde(rename = "claim", default)]
    pub(super) claims: Vec<Claim>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct System {
    pub(super) name: Spanned<String>,
    pub(super) description: Spanned<String>,
    pub(super) year: Option<u16>,
    pub(super) core_ghz: Option<Spanned<f64>>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct ProfileSeconds {
    pub(super) seconds: u32,
    pub(super) quick_seconds: u32,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Protocol {
    pub(super) runs: Option<Spanned<usize>>,
    pub(super) timed: Option<Spanned<TimingScope>>,
    pub(super) iterations: Option<Spanned<u64>>,
    pub(super) experiments: Option<Spanned<u32>>,
    pub(super) statistic: Spanned<RawStatistic>,
    pub(super) overhead: Option<ClockCost>,
    pub(super) original: Spanned<String>,
    pub(super) replication: Spanned<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawStatistic {
    Mean,
    MeanAndDeviation,
    Minimum,
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Column {
    pub(super) name: Spanned<String>,
    pub(super) target: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct MachineFact {
    pub(super) name: Spanned<String>,
    pub(super) published: Spanned<String>,
    pub(super) fact: Option<FactKind>,
    pub(super) no_fact: Option<Spanned<String>>,
    pub(super) note: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Condition {
    pub(super) text: Spanned<String>,
    pub(super) kind: ConditionKind,
    pub(super) how: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Table {
    pub(super) name: Spanned<String>,
    pub(super) title: Spanned<String>,
    pub(super) unit: TableUnit,
    pub(super) systems: Option<Spanned<Vec<String>>>,
    pub(super) systems_unit: Option<TableUnit>,
    #[serde(rename = "column", default)]
    pub(super) figures: Vec<Figure>,
    #[serde(rename = "row", default)]
    pub(super) rows: Vec<Row>,
    #[serde(default)]
    pub(super) series: Vec<Series>,
    #[serde(rename = "note", default)]
    pub(super) notes: Vec<Note>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Figure {
    pub(super) name: Spanned<String>,
    pub(super) unit: TableUnit,
    pub(super) figure: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Row {
    pub(super) name: Spanned<String>,
    pub(super) case: Option<Spanned<String>>,
    pub(super) unmeasurable: Option<Spanned<String>>,
    pub(super) metric: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) peer: bool,
    pub(super) placement: Option<Spanned<RawPlacement>>,
    pub(super) unit: Option<TableUnit>,
    pub(super) runs: Option<Spanned<usize>>,
    pub(super) timed: Option<Spanned<TimingScope>>,
    pub(super) iterations: Option<Spanned<u64>>,
    pub(super) experiments: Option<Spanned<u32>>,
    pub(super) statistic: Option<Spanned<RawStatistic>>,
    pub(super) overhead: Option<ClockCost>,
    pub(super) published: Option<Spanned<Vec<String>>>,
    pub(super) by_system: Option<Spanned<Vec<String>>>,
    pub(super) same_as: Option<Spanned<String>>,
    pub(super) predicted: Option<RawPrediction>,
    #[serde(rename = "note", default)]
    pub(super) notes: Vec<Note>,
}

/// What a study says of where the two sides of a row ran.
#[derive(Clone, Copy, Deserialize)]
pub(super) enum RawPlacement {
    #[serde(rename = "not given")]
    NotGiven,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawPrediction {
    pub(super) hardware: Option<Spanned<String>>,
    pub(super) software: Option<Spanned<String>>,
    pub(super) total: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Series {
    pub(super) name: Spanned<String>,
    pub(super) axis: Spanned<String>,
    pub(super) values: Spanned<Vec<u64>>,
    pub(super) runs: Option<Spanned<usize>>,
    pub(super) case: Spanned<String>,
    #[serde(default)]
    pub(super) peer: bool,
    pub(super) placement: Option<Spanned<RawPlacement>>,
    pub(super) timed: Option<Spanned<TimingScope>>,
    pub(super) iterations: Option<Spanned<u64>>,
    pub(super) experiments: Option<Spanned<u32>>,
    pub(super) statistic: Option<Spanned<RawStatistic>>,
    pub(super) overhead: Option<ClockCost>,
    pub(super) published: Option<Spanned<Vec<String>>>,
    pub(super) same_as: Option<SeriesAct>,
    pub(super) statement: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SeriesAct {
    pub(super) act: Spanned<String>,
    pub(super) at: Spanned<u64>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Note {
    pub(super) when: Option<RawNoteCondition>,
    #[serde(default)]
    pub(super) differs: bool,
    pub(super) text: Spanned<String>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawNoteCondition {
    NoCalls,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Claim {
    pub(super) text: Spanned<String>,
    pub(super) location: Spanned<String>,
    pub(super) published: Option<Spanned<String>>,
    pub(super) note: Option<Spanned<String>>,
    pub(super) kind: Spanned<RawKind>,
    pub(super) cases: Option<Vec<Spanned<String>>>,
    pub(super) series: Option<Vec<Spanned<String>>>,
    pub(super) orders: Option<Vec<Vec<Spanned<String>>>>,
    pub(super) classes: Option<Vec<Vec<Spanned<String>>>>,
    pub(super) min_ratio: Option<f64>,
    pub(super) within_pct: Option<f64>,
    pub(super) from: Option<u64>,
    pub(super) per: Option<u64>,
    pub(super) unit: Option<TableUnit>,
    pub(super) min: Option<f64>,
    pub(super) max: Option<f64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawKind {
    EqualAdded,
    Added,
    Ratio,
    LargestRatio,
    Order,
    Times,
    Classes,
    Equal,
    Flat,
    Grows,
    Slope,
    Saturates,
    Calls,
}
