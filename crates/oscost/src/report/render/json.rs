//! Records and schemas as JSON.

use oscost_model::record::Record;
use schemars::generate::SchemaSettings;

/// A record, indented, with a line end.
pub fn record(record: &Record) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| text + "\n")
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

fn record_schema() -> schemars::Schema {
    SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<Record>()
}
