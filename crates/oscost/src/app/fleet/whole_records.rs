//! The records of a small fleet, whole.

use oscost_model::record::Record;

use super::record_folder::RecordFolder;
use super::source::{FleetSource, RejectedRecord, for_each_record, runs_of};
use crate::app::error::UsageError;
use crate::app::results::user_data::open_store_to_read;

/// The records of a fleet.
#[derive(Debug, Default)]
pub(crate) struct FleetRecords {
    /// Those of the fleet, one a visit.
    pub(crate) records: Vec<Record>,
    /// Those that were rejected.
    pub(crate) rejected: Vec<RejectedRecord>,
}

/// Reads the records of a fleet that has at most so many: each may have tens of megabytes.
pub(crate) fn whole_records(source: &FleetSource, max: usize) -> anyhow::Result<FleetRecords> {
    let count = count(source)?;
    if count > max {
        let what =
            format!("cannot put {count} visits of a fleet side by side: the maximum is {max}");
        let hint = "`oscost fleet report` shows a fleet of any size";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let mut records = Vec::new();
    let rejected = for_each_record(source, &mut |record| records.push(record.clone()))?;
    Ok(FleetRecords { records, rejected })
}

/// How many records there are, valid or not.
fn count(source: &FleetSource) -> anyhow::Result<usize> {
    match source {
        FleetSource::Stored(name) => Ok(runs_of(&open_store_to_read()?, name)?.len()),
        FleetSource::Folder(path) => Ok(RecordFolder::open(path)?.recorded_tasks()?.len()),
        // Reading them says that a data set has none.
        FleetSource::DataSet(_) => Ok(0),
    }
}
