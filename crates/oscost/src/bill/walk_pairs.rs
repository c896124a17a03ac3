//! Cases that were timed alone both after a walk through memory and without one.

use oscost_model::cool::walk_of;
use oscost_model::record::{Record, Row, RowOutcome};

/// Both rows of a case in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct WalkPair<'a> {
    /// Under `cool=SIZE`.
    pub(super) cool: &'a Row,
    /// Under `cool=0`.
    pub(super) warm: &'a Row,
    /// That size.
    pub(super) walk_bytes: u64,
}

/// The pairs of these runs: those whose walk is nearest to this one come first, of these the first
/// run's. Two rows of different runs are no pair: the machine was not the same.
pub(super) fn walk_pairs<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    walk_bytes: u64,
) -> Vec<WalkPair<'a>> {
    let mut pairs = Vec::new();
    for record in records {
        let measured = |row: &&Row| row.outcome == RowOutcome::Measured;
        for cool in record.results.iter().filter(measured) {
            let walk = walk_of(&cool.target.treatments).filter(|&bytes| bytes > 0);
            let Some(walk_bytes) = walk else { continue };
            let warm = record.results.iter().filter(measured).find(|row| {
                row.case == cool.case
                    && row.target.host == cool.target.host
                    && walk_of(&row.target.treatments) == Some(0)
            });
            pairs.extend(warm.map(|warm| WalkPair { cool, warm, walk_bytes }));
        }
    }
    let distance =
        |pair: &WalkPair<'_>| (pair.walk_bytes as f64 / walk_bytes.max(1) as f64).log2().abs();
    pairs.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    pairs
}
