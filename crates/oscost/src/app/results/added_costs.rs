//! Runs of the store that measured what treatments add on a machine.

use oscost_model::record::{Machine, Record};

use super::prices::age;
use super::records::{estimates, load};
use super::user_data::existing_store;
use crate::bill::{Change, added_costs, differences};

/// Of more runs than these no added cost is taken.
const MAX_RUNS: usize = 5;
/// More stored runs than these are not looked at.
const MAX_LOOKED_AT: usize = 40;

/// The added costs of a change that were measured on a machine as it is now, within a day: those of
/// the newest run first.
pub(crate) fn stored_added_costs(
    change: Change<'_>,
    machine: &Machine,
) -> anyhow::Result<Vec<Record>> {
    let Some(store) = existing_store()? else { return Ok(Vec::new()) };
    let mut found = Vec::new();
    let listed = store.list()?.into_iter().filter(|it| !it.imported);
    for listing in listed.take(MAX_LOOKED_AT) {
        // One that is damaged has no figures; `oscost runs show` says why.
        let Ok(record) = estimates(&store, &listing.id) else { continue };
        if !has_both_sides(&record, change) || !is_of_now(&record, machine) {
            continue;
        }
        // Comparisons take longer to compute than figures.
        let Ok(compared) = load(&store, &listing.id, false) else { continue };
        let added = added_costs(&compared, change);
        if !added.results.is_empty() {
            found.push(added);
        }
        if found.len() == MAX_RUNS {
            break;
        }
    }
    Ok(found)
}

fn has_both_sides(record: &Record, change: Change<'_>) -> bool {
    let is_side = |treatments: &[String]| {
        let mut rows = record.results.iter();
        rows.any(|row| row.target.host == change.host && row.target.treatments == treatments)
    };
    is_side(change.base) && is_side(change.new)
}

/// Whether a run measured on this machine as it is now, and not too long ago. Its first machine is
/// that of its comparisons: two machines are not compared side by side.
fn is_of_now(record: &Record, machine: &Machine) -> bool {
    let age = age(&record.started);
    let measured = record.machines.first();
    age.is_some() && measured.is_some_and(|it| differences(it, machine, age).is_empty())
}
