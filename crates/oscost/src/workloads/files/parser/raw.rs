//! The keys of a workload file, as serde types.

use std::collections::BTreeMap;

use oscost_model::point::Value;
use oscost_model::unit::Unit;
use serde::Deserialize;
use toml::Spanned;

/// A command: its argument vector.
pub(super) type RawCommand = Spanned<Vec<String>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawSpec {
    pub(super) id: Option<Spanned<String>>,
    pub(super) asks: Option<Spanned<String>>,
    pub(super) op: Option<Spanned<String>>,
    pub(super) expected: Option<Spanned<String>>,
    pub(super) source: Option<Spanned<String>>,
    pub(super) explanation: Option<Spanned<String>>,
    pub(super) rev: Option<Spanned<u32>>,
    pub(super) command: RawCommand,
    #[serde(default)]
    pub(super) variables: BTreeMap<String, Spanned<String>>,
    pub(super) folder: Option<Spanned<RawFolder>>,
    #[serde(default)]
    pub(super) before: Vec<RawCommand>,
    #[serde(default)]
    pub(super) after: Vec<RawCommand>,
    pub(super) companion: Option<RawCompanion>,
    pub(super) output: Option<RawOutput>,
    pub(super) statuses: Option<Spanned<Vec<i32>>>,
    pub(super) cpus: Option<RawCpus>,
    pub(super) limits: Option<RawLimits>,
    pub(super) trials: Option<Spanned<u32>>,
    pub(super) min_trials: Option<Spanned<u32>>,
    pub(super) quick_trials: Option<Spanned<u32>>,
    #[serde(rename = "figure", default)]
    pub(super) figures: Vec<RawFigure>,
    pub(super) primary: Option<Spanned<String>>,
    #[serde(rename = "axis", default)]
    pub(super) axes: Vec<RawAxis>,
    #[serde(rename = "need", default)]
    pub(super) needs: Vec<Spanned<RawNeed>>,
    pub(super) prepare: Option<RawPrepare>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawFolder {
    Fresh,
    Here,
    Cache,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawCpus {
    One,
    All,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawOutput {
    Read,
    None,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawCompanion {
    pub(super) command: RawCommand,
    pub(super) variable: Option<Spanned<String>>,
    pub(super) prefix: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawLimits {
    pub(super) seconds: Option<Spanned<u32>>,
    pub(super) output_mib: Option<Spanned<u32>>,
    pub(super) memory_mib: Option<Spanned<u32>>,
    pub(super) file_mib: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawFigure {
    pub(super) name: Spanned<String>,
    pub(super) unit: Spanned<Unit>,
    pub(super) pattern: Option<Spanned<String>>,
    pub(super) per: Option<Spanned<RawPer>>,
    #[serde(default)]
    pub(super) when: BTreeMap<String, Value>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum RawPer {
    Line,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawAxis {
    pub(super) name: Spanned<String>,
    pub(super) sets: Spanned<String>,
    pub(super) points: Spanned<Vec<Value>>,
    pub(super) default: Option<Spanned<Vec<Value>>>,
    #[serde(default)]
    pub(super) words: BTreeMap<String, RawCommand>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawNeed {
    pub(super) program: Option<String>,
    pub(super) file: Option<String>,
    pub(super) glob: Option<String>,
    pub(super) package: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct RawPrepare {
    pub(super) commands: Spanned<Vec<RawCommand>>,
    pub(super) marker: Spanned<String>,
}
