//! Cases that were timed alone both after a walk through memory and without one.

use oscost_model::bill::Amount;
use oscost_model::cool::{WalkKind, walk_of};
use oscost_model::record::Record;

use super::price_list::{RowAddition, time_of};
use super::row_pairs::{RowPair, row_pairs};

/// A call that does next to nothing: what a walk adds to it is added to the entry of the kernel and the return.
pub const ENTRY_CASE: &str = "syscall/getppid:via=raw";

/// Both rows of a case in a run, under `cool=SIZE` and under `cool=0`.
#[derive(Clone, Debug)]
pub(super) struct WalkPair<'a> {
    pub(super) rows: RowPair<'a>,
    /// That size.
    pub(super) walk_bytes: u64,
    /// What the walk through a last-level cache adds to the entry of the kernel, which is taken off: a program
    /// makes other calls between two rare ones of a kind, so that the entry stays warmer. `None` of other walks.
    pub(super) entry_amount: Option<Amount>,
}

impl<'a> WalkPair<'a> {
    /// What the walk adds to the case.
    pub(super) fn addition(&self) -> RowAddition<'a> {
        let added = added_by(self.rows).map(|added| match &self.entry_amount {
            Some(entry_amount) => added.plus(&entry_amount.times(-1.0)),
            None => added,
        });
        RowAddition { row: self.rows.with, added }
    }

    /// Whether nothing is left of what the walk adds.
    pub(super) fn is_of_entry_alone(&self) -> bool {
        self.entry_amount.is_some() && self.rows.with.case == ENTRY_CASE
    }
}

/// What the second row has more than the first one.
fn added_by(RowPair { base, with }: RowPair<'_>) -> Option<Amount> {
    Some(time_of(with)?.plus(&time_of(base)?.times(-1.0)))
}

/// The pairs of these runs: those whose walk is nearest to this one come first, of these the first
/// run's. A walk through many pages and one through each line do not stand for each other, unless there is
/// no other one; the walk through a last-level cache stands for none, and none for it.
pub(super) fn walk_pairs<'a>(
    records: impl IntoIterator<Item = &'a Record>,
    walk_bytes: u64,
) -> Vec<WalkPair<'a>> {
    let wanted = WalkKind::of(walk_bytes);
    let kind = |pair: &WalkPair<'_>| WalkKind::of(pair.walk_bytes);
    let is_last_level = |kind| kind == WalkKind::LastLevel;
    let mut pairs: Vec<WalkPair<'a>> = records.into_iter().flat_map(pairs_of).collect();
    pairs.retain(|pair| is_last_level(kind(pair)) == is_last_level(wanted));
    let is_alike = |pair: &WalkPair<'_>| kind(pair) == wanted;
    if pairs.iter().any(is_alike) {
        pairs.retain(is_alike);
    }
    let distance =
        |pair: &WalkPair<'_>| (pair.walk_bytes as f64 / walk_bytes.max(1) as f64).log2().abs();
    pairs.sort_by(|one, other| distance(one).total_cmp(&distance(other)));
    pairs
}

/// Those of one run.
fn pairs_of<'a>(record: &'a Record) -> Vec<WalkPair<'a>> {
    let is_cool = |treatments: &[String]| walk_of(treatments).is_some_and(|bytes| bytes > 0);
    let is_warm = |treatments: &[String]| walk_of(treatments) == Some(0);
    let rows = row_pairs(record, is_warm, is_cool);
    let last_level = |rows: &RowPair<'_>| {
        walk_of(&rows.with.target.treatments).map(WalkKind::of) == Some(WalkKind::LastLevel)
    };
    let entry = rows.iter().filter(|rows| last_level(rows)).find(|it| it.with.case == ENTRY_CASE);
    let added_to_entry = entry.copied().and_then(added_by);
    let pair = |&rows: &RowPair<'a>| {
        let walk_bytes = walk_of(&rows.with.target.treatments)?;
        let entry_amount = match last_level(&rows) {
            // The walk comes before the op: only the first of its calls finds the entry cool.
            true => Some(added_to_entry.as_ref()?.times(entries_per_op(rows)?.min(1.0))),
            false => None,
        };
        Some(WalkPair { rows, walk_bytes, entry_amount })
    };
    rows.iter().filter_map(pair).collect()
}

/// The system calls of an op.
fn entries_per_op(rows: RowPair<'_>) -> Option<f64> {
    let calls = rows.with.calls.as_ref().or(rows.base.calls.as_ref())?;
    Some(calls.per_op.values().sum())
}
