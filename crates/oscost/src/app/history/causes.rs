//! Why figures changed, by the events that the two runs around a change counted: where the runs of
//! its levels do not explain it, which takes three on a side.

use std::collections::BTreeMap;

use oscost_model::record::Record;
use oscost_model::unit::Unit;

use crate::app::results::records::load;
use crate::estimate::comparison::{StoredCase, change_between};
use crate::estimate::history::{Change, CountedRuns, Series};
use crate::store::Store;

/// Of more pairs of runs than these, the newest are read: the journal of each is read as a whole.
const MAX_PAIRS: usize = 30;

/// A change by its indices.
struct ChangeIndex {
    series: usize,
    change: usize,
}

/// Adds to each change that is not explained why the figure changed from the last run before it to the
/// first after it, if both of these counted events.
pub(super) fn add_causes(store: &Store, all: &mut [Series]) {
    let mut pairs: BTreeMap<[String; 2], Vec<ChangeIndex>> = BTreeMap::new();
    // Events explain a changed time, not one that was taken in cycles.
    let in_time = |(_, it): &(usize, &Series)| it.unit != Unit::CyclesPerOp;
    for (series, it) in all.iter().enumerate().filter(in_time) {
        let unexplained = |(_, change): &(usize, &Change)| {
            change.decomposition.is_none() && both_counted(it, change)
        };
        for (change, it) in it.changes.iter().enumerate().filter(unexplained) {
            let pair = [it.before.clone(), it.after.clone()];
            pairs.entry(pair).or_default().push(ChangeIndex { series, change });
        }
    }
    // Ids begin with the time: the newest come first.
    for (number, (pair, indices)) in pairs.iter().rev().enumerate() {
        let runs = match number < MAX_PAIRS {
            true => read_both(store, pair),
            false => Err(format!("only the newest {MAX_PAIRS} pairs of runs are read")),
        };
        for &ChangeIndex { series, change } in indices {
            let Series { case, target, peer, changes, .. } = &mut all[series];
            let of = StoredCase { case, target, has_peer: *peer };
            let change = &mut changes[change];
            let found = match &runs {
                Ok([base, new]) => change_between(base, new, of, change.ratio),
                Err(why) => Some(Err(why.as_str())),
            };
            match found {
                Some(Ok(found)) => {
                    change.decomposition = Some(found);
                    change.counted_runs = Some(CountedRuns { before: 1, since: 1 });
                    change.not_decomposed = None;
                }
                Some(Err(why)) => change.not_decomposed = Some(why.to_owned()),
                None => {}
            }
        }
    }
}

/// Whether the last run before a change and the first after it have counts.
fn both_counted(series: &Series, change: &Change) -> bool {
    let around = change.point.checked_sub(1).and_then(|it| series.points.get(it..=change.point));
    around.is_some_and(|points| points.iter().all(|it| it.counts.is_some()))
}

/// The records of both runs; the error is a reason.
fn read_both(store: &Store, [before, after]: &[String; 2]) -> Result<[Record; 2], String> {
    let read = |id: &str| {
        load(store, id, false).map_err(|error| format!("run {id} cannot be read: {error:#}"))
    };
    Ok([read(before)?, read(after)?])
}
