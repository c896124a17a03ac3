//! Cases that were timed alone both after a walk through memory and without one.

use oscost_model::cool::{is_spread, walk_of};
use oscost_model::record::Record;

use super::row_pairs::{RowPair, row_pairs};

/// Both rows of a case in a run, under `cool=SIZE` and under `cool=0`.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkPair<'a> {
    pub(super) rows: RowPair<'a>,
    /// That size.
    pub(super) walk_bytes: u64,
}

/// The pairs of these runs: those whose walk is nearest to this one come first, of these the first
/// run's. A walk through many pages and one through each line do not stand for each other, unless there is
/// no other one.
pub(super) fn walk_pairs<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    walk_bytes: u64,
) -> Vec<WalkPair<'a>> {
    let is_cool = |treatments: &[String]| walk_of(treatments).is_some_and(|bytes| bytes > 0);
    let is_warm = |treatments: &[String]| walk_of(treatments) == Some(0);
    let rows = records.into_iter().flat_map(|record| row_pairs(record, is_warm, is_cool));
    let pair = |rows: RowPair<'a>| {
        let walk_bytes = walk_of(&rows.with.target.treatments)?;
        Some(WalkPair { rows, walk_bytes })
    };
    let mut pairs: Vec<WalkPair<'a>> = rows.filter_map(pair).collect();
    let is_alike = |pair: &WalkPair<'_>| is_spread(pair.walk_bytes) == is_spread(walk_bytes);
    if pairs.iter().any(is_alike) {
        pairs.retain(is_alike);
    }
    let distance =
        |pair: &WalkPair<'_>| (pair.walk_bytes as f64 / walk_bytes.max(1) as f64).log2().abs();
    pairs.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    pairs
}
