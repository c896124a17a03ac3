//! The records of a fleet's visits, with what a table of machines reads of them.

use oscost_model::record::{Record, RowCounters};

use super::record_folder::RecordFolder;
use super::source::{FleetSource, RejectedRecord, for_each_record, runs_of};
use crate::app::error::UsageError;
use crate::app::results::user_data::open_store_to_read;
use crate::estimate::machine_table::{CountedModes, TableUnit};

/// The records of a fleet.
#[derive(Debug, Default)]
pub(crate) struct FleetRecords {
    /// Those of the fleet, one a visit.
    pub(crate) records: Vec<Record>,
    /// Those that were rejected.
    pub(crate) rejected: Vec<RejectedRecord>,
}

/// How much of a fleet stands side by side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FleetBounds {
    /// So many visits: each node is judged beside all others.
    pub(crate) visits: usize,
    /// So many rows of all visits: they are in memory at once.
    pub(crate) rows: usize,
}

/// Reads the records of a fleet. Each may have tens of megabytes, of which its rows without their
/// repetitions are kept; in cycles these have the rate of the core. In instructions the counts of
/// workers are kept too.
pub(crate) fn table_records(
    source: &FleetSource,
    bounds: FleetBounds,
    unit: TableUnit,
) -> anyhow::Result<FleetRecords> {
    let visits = count(source)?;
    if visits > bounds.visits {
        return Err(too_large(visits, bounds.visits, "visits").into());
    }
    let (mut records, mut rows) = (Vec::new(), 0);
    let rejected = for_each_record(source, &mut |record| {
        rows += record.results.len();
        if rows <= bounds.rows {
            records.push(reduced(record.clone(), unit));
        }
    })?;
    if rows > bounds.rows {
        return Err(too_large(rows, bounds.rows, "rows").into());
    }
    Ok(FleetRecords { records, rejected })
}

fn too_large(count: usize, max: usize, what: &str) -> UsageError {
    let what = format!("cannot put {count} {what} of a fleet side by side: the maximum is {max}");
    UsageError::with_hint(&what, "`oscost fleet report` shows a fleet of any size")
}

/// A record without what no figure of a table is made of.
fn reduced(mut record: Record, unit: TableUnit) -> Record {
    record.comparisons = Vec::new();
    record.timers = Vec::new();
    record.curves = Vec::new();
    record.half_round_trips = Vec::new();
    record.crossings = Vec::new();
    record.steps = Vec::new();
    for row in &mut record.results {
        match unit {
            TableUnit::Instructions => row.counters.iter_mut().for_each(keep_instructions),
            TableUnit::Own | TableUnit::Cycles | TableUnit::Calls => row.counters = None,
        }
        row.calls = None;
        if unit != TableUnit::Cycles {
            row.repetitions = Vec::new();
        }
        row.repetitions.iter_mut().for_each(|it| it.samples = None);
    }
    record
}

/// Leaves of the counts of workers those of instructions.
fn keep_instructions(counters: &mut RowCounters) {
    let names = [CountedModes::Both, CountedModes::User].map(CountedModes::metric);
    for counted in &mut counters.repetitions {
        counted.figures.retain(|name, _| names.contains(&name.as_str()));
    }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oscost_model::counters::{CPI, INSN};
    use oscost_model::record::CountedRepetition;

    use super::*;
    use crate::app::fleet::record_folder::tests::{folder_of, put};

    #[test]
    fn a_fleet_within_both_bounds_is_read_and_a_larger_one_is_refused_with_the_bound() {
        let folder = folder_of(&["n1", "n2"]);
        put(&folder, "n1", 0, 1.0);
        put(&folder, "n1", 1, 1.0);
        put(&folder, "n2", 0, 1.0);
        let source = FleetSource::Folder(folder.path().to_owned());
        let read = |visits: usize, rows: usize, unit: TableUnit| {
            table_records(&source, FleetBounds { visits, rows }, unit)
        };
        // Each visit has two rows.
        let found = read(3, 6, TableUnit::Own).unwrap();
        assert_eq!((found.records.len(), found.rejected.len()), (3, 0));
        for (visits, rows, words) in [
            (2, 6, "cannot put 3 visits of a fleet side by side: the maximum is 2"),
            (3, 5, "cannot put 6 rows of a fleet side by side: the maximum is 5"),
        ] {
            let error = read(visits, rows, TableUnit::Own).unwrap_err();
            assert!(error.is::<UsageError>() && error.to_string().starts_with(words), "{error}");
        }
    }

    #[test]
    fn repetitions_are_kept_for_cycles_alone_and_figures_always() {
        let folder = folder_of(&["n1"]);
        put(&folder, "n1", 0, 1.0);
        let source = FleetSource::Folder(folder.path().to_owned());
        let row = |unit: TableUnit| {
            let bounds = FleetBounds { visits: 1, rows: 2 };
            table_records(&source, bounds, unit).unwrap().records.remove(0).results.remove(0)
        };
        let (own, in_cycles) = (row(TableUnit::Own), row(TableUnit::Cycles));
        assert!(own.repetitions.is_empty() && !in_cycles.repetitions.is_empty());
        assert!(in_cycles.repetitions.iter().all(|it| it.samples.is_none()));
        assert!(own.estimate.is_some() && own.estimate == in_cycles.estimate);
    }

    #[test]
    fn the_counts_of_workers_are_kept_for_instructions_alone() {
        let folder = folder_of(&["n1"]);
        put(&folder, "n1", 0, 1.0);
        let source = FleetSource::Folder(folder.path().to_owned());
        let bounds = FleetBounds { visits: 1, rows: 2 };
        let mut record = table_records(&source, bounds, TableUnit::Own).unwrap().records.remove(0);
        let counted = CountedRepetition {
            round: 0,
            at_s: 0.0,
            figures: BTreeMap::from([(INSN.to_owned(), 500.0), (CPI.to_owned(), 0.5)]),
            time_ns: None,
            running_ns: None,
        };
        record.results[0].counters = Some(RowCounters {
            workers: 1,
            read_by: None,
            kernel: true,
            inherited: true,
            insn_sd_pct: None,
            repeats: None,
            counted_time_ratio: None,
            running_ns: None,
            waiting_ns: None,
            short_by: None,
            amortized: false,
            over_ticks: false,
            void: Vec::new(),
            repetitions: vec![counted],
        });
        let counters = |unit: TableUnit| reduced(record.clone(), unit).results.remove(0).counters;
        for unit in [TableUnit::Own, TableUnit::Cycles, TableUnit::Calls] {
            assert!(counters(unit).is_none(), "{unit:?}");
        }
        let kept = counters(TableUnit::Instructions).unwrap();
        assert!(kept.inherited, "whose counts they are is told");
        assert_eq!(kept.repetitions[0].figures, BTreeMap::from([(INSN.to_owned(), 500.0)]));
    }
}
