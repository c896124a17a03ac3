//! `oscost compare`: compares stored runs.

use std::collections::BTreeSet;

use oscost_model::record::Record;

use super::error::UsageError;
use super::results::earlier_runs::earlier_runs;
use super::results::gate::{self, Gate, GateRule};
use super::results::records::RecordReader;
use crate::estimate::comparison;
use crate::estimate::comparison::{EarlierRuns, RunComparison};

/// More runs on a side are a mistake, such as a glob of the shell.
const MAX_RUNS: usize = 200;

/// Which runs to compare.
#[derive(Clone, Debug)]
pub struct Request {
    /// The runs to compare with, by name.
    pub base: Vec<String>,
    /// The runs to compare.
    pub new: Vec<String>,
    /// How much slower is too much, if that is to be judged.
    pub gate: Option<GateRule>,
}

/// Runs that were compared.
pub struct Outcome {
    /// The runs that were compared with.
    pub base: Vec<Record>,
    /// The runs that were compared.
    pub new: Vec<Record>,
    /// Row by row.
    pub compared: RunComparison,
    /// What the gate found, if there is one.
    pub gate: Option<Gate>,
}

/// Compares runs of the store, or of record files.
pub fn compare(request: &Request) -> anyhow::Result<Outcome> {
    let mut reader = RecordReader::new("compare");
    let base = records(&mut reader, &request.base)?;
    let new = records(&mut reader, &request.new)?;
    check_distinct(base.iter().chain(&new))?;
    let (earlier, unread) = match earlier_runs(&base, &new) {
        Ok(earlier) => (earlier, None),
        // Records of files can be compared without the store.
        Err(error) => (EarlierRuns::default(), Some(error)),
    };
    let mut compared = comparison::compare(&base, &new, &earlier);
    compared.notes.extend(unread.map(|why| format!("earlier runs are not known: {why:#}")));
    let gate = request.gate.map(|rule| gate::judge(&compared.results, &compared.comparisons, rule));
    Ok(Outcome { base, new, compared, gate })
}

/// The runs of a side.
fn records(reader: &mut RecordReader, names: &[String]) -> anyhow::Result<Vec<Record>> {
    if names.len() > MAX_RUNS {
        let count = names.len();
        let what = format!("cannot compare {count} runs on a side: the maximum is {MAX_RUNS}");
        return Err(UsageError::with_hint(&what, "name fewer, separated by commas").into());
    }
    names.iter().map(|name| Ok(reader.read(name.trim(), false)?.record)).collect()
}

/// Refuses a run that is named twice: it is not independent of itself.
fn check_distinct<'a>(records: impl Iterator<Item = &'a Record>) -> Result<(), UsageError> {
    let mut ids = BTreeSet::new();
    for record in records {
        if !ids.insert(&record.id) {
            let what = format!("cannot compare run {} with itself: it is named twice", record.id);
            return Err(UsageError::with_hint(&what, "name each run once"));
        }
    }
    Ok(())
}
