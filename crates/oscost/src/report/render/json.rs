//! Records and schemas as JSON.

use oscost_model::bill::Bill;
use oscost_model::record::Record;
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::Serialize;

use crate::report::view::answer::trust;

/// A record as it is written: what follows from it is made anew by each reader.
#[derive(JsonSchema, Serialize)]
#[schemars(rename = "Record")]
struct WrittenRecord<'a> {
    #[serde(flatten)]
    record: &'a Record,
    /// How far the run can be believed: `good`, `fair` or `poor`; null if it has no figures.
    trust: Option<&'static str>,
    /// What that rests on, in words; empty for a good run, null if it has no figures.
    trust_reasons: Option<Vec<String>>,
}

/// A record, indented, with a line end.
pub fn record(record: &Record) -> Result<String, serde_json::Error> {
    let found = trust::of_record(record);
    let written = WrittenRecord {
        record,
        trust: found.as_ref().map(|it| it.grade.text()),
        trust_reasons: found.map(|it| it.reasons),
    };
    serde_json::to_string_pretty(&written).map(|text| text + "\n")
}

/// Another value, indented, with a line end.
pub fn value(value: &serde_json::Value) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(value).map(|text| text + "\n")
}

/// The JSON Schema of a record as it is written: every key is present, and null if unknown.
pub fn schema() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&record_schema()).map(|text| text + "\n")
}

/// The same as a value, to look keys up in it.
pub fn schema_value() -> serde_json::Value {
    record_schema().to_value()
}

/// The JSON Schema of a bill, of which every key is present, too.
pub fn bill_schema() -> Result<String, serde_json::Error> {
    let schema = SchemaSettings::draft2020_12().for_serialize().into_generator();
    serde_json::to_string_pretty(&schema.into_root_schema_for::<Bill>()).map(|text| text + "\n")
}

fn record_schema() -> schemars::Schema {
    SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator()
        .into_root_schema_for::<WrittenRecord<'static>>()
}
