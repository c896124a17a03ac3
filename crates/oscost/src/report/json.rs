//! Records and schemas as JSON.

use oscost_model::record::Record;

/// A record, indented, with a line end.
pub fn record(record: &Record) -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(record).map(|text| text + "\n")
}

/// The JSON Schema of a record.
pub fn schema() -> Result<String, serde_json::Error> {
    serde_json::to_string_pretty(&schemars::schema_for!(Record)).map(|text| text + "\n")
}
