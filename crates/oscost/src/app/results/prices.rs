//! The runs whose rows are prices.

use std::time::{Duration, SystemTime};

use oscost_model::record::{Machine, Record, Row, RowOutcome};
use oscost_model::target::Host;

use super::records::{RecordReader, estimates};
use super::user_data::existing_store;
use crate::bill::differences;

/// Of more runs than these no price is taken: a run measures a hundred cases.
const MAX_RUNS: usize = 10;
/// More stored runs than these are not looked at.
const MAX_LOOKED_AT: usize = 40;

/// Runs with prices.
pub(crate) struct PriceRuns {
    /// Their records, the first choice first; never empty.
    pub(crate) records: Vec<Record>,
    /// Why the prices of the first may not be those of the machine as it is now.
    pub(crate) stale: Vec<String>,
}

/// The runs that price on a machine: the one that is named, or the newest of the store on that
/// machine and, for what it lacks, those before it that are as recent.
pub(crate) fn price_runs(
    name: Option<&str>,
    host: &Host,
    machine: &Machine,
) -> anyhow::Result<PriceRuns> {
    let records = match name {
        Some(name) => {
            let record = RecordReader::new("read prices of").read(name, false)?.record;
            if !record.results.iter().any(is_price) {
                anyhow::bail!(
                    "cannot bill by run `{}`: none of its rows is a price without a treatment\n  \
                     hint: `oscost runs list` names others",
                    name.escape_debug()
                );
            }
            vec![record]
        }
        None => stored_runs(host, machine)?,
    };
    let Some(first) = records.first() else {
        anyhow::bail!(
            "cannot bill: there is no price list of this machine\n  hint: `oscost run` measures \
             one, in about a minute; `--prices RUN` takes another one's"
        );
    };
    let stale = stale_reasons(first, machine);
    Ok(PriceRuns { records, stale })
}

/// The newest runs of a machine in the store, each with its rows on that host alone.
fn stored_runs(host: &Host, machine: &Machine) -> anyhow::Result<Vec<Record>> {
    let Some(store) = existing_store()? else { return Ok(Vec::new()) };
    let host = host.to_string();
    let mut found: Vec<Record> = Vec::new();
    let listed = store.list()?.into_iter().filter(|it| !it.imported);
    for listing in listed.take(MAX_LOOKED_AT) {
        // One that is damaged has no prices; `oscost runs show` says why.
        let Ok(mut record) = estimates(&store, &listing.id) else { continue };
        record.results.retain(|row| is_price(row) && row.target.host == host);
        let is_of_here =
            machine_of(&record).is_some_and(|it| it.cpu.model_name == machine.cpu.model_name);
        let is_usable = found.is_empty() || stale_reasons(&record, machine).is_empty();
        if is_of_here && is_usable && !record.results.is_empty() {
            found.push(record);
        }
        if found.len() == MAX_RUNS {
            break;
        }
    }
    Ok(found)
}

/// Whether a row was measured without a treatment.
fn is_price(row: &Row) -> bool {
    row.outcome == RowOutcome::Measured
        && row.target.treatments.is_empty()
        && !row.benchmark.starts_with("workload/")
}

fn stale_reasons(record: &Record, machine: &Machine) -> Vec<String> {
    match machine_of(record) {
        Some(priced) => differences(priced, machine, age(&record.started)),
        None => vec!["their machine is unknown".to_owned()],
    }
}

/// The machine of the first price of a run, which may have measured on others, too.
fn machine_of(record: &Record) -> Option<&Machine> {
    let price = record.results.iter().find(|row| is_price(row));
    let id = price.map(|row| row.target.machine.as_str());
    let of_price = record.machines.iter().find(|machine| Some(machine.id.as_str()) == id);
    of_price.or(record.machines.first())
}

/// The time since a run was started.
fn age(started: &str) -> Option<Duration> {
    let started = humantime::parse_rfc3339(started).ok()?;
    SystemTime::now().duration_since(started).ok()
}
