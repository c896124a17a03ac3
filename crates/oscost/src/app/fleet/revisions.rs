//! The cases of a fleet in several revisions of their benchmarks, of which the newest counts.

use std::collections::HashMap;

use crate::fleet::{FleetCase, OtherRevision};

/// The order of cases.
pub(super) fn key(case: &FleetCase) -> (&str, &'static str) {
    (&case.case, case.unit.text())
}

/// The newest revision of each case.
pub(super) fn newest_revisions(cases: &[FleetCase]) -> HashMap<(&str, &'static str), u32> {
    let mut newest = HashMap::new();
    for case in cases {
        let rev = newest.entry(key(case)).or_insert(case.rev);
        *rev = case.rev.max(*rev);
    }
    newest
}

/// The cases of older revisions, with the numbers of figures that were left out.
pub(super) fn other_revisions(
    cases: &[FleetCase],
    newest: &HashMap<(&str, &'static str), u32>,
    left_out: &[usize],
) -> Vec<OtherRevision> {
    let older = cases.iter().zip(left_out).filter_map(|(case, &figures)| {
        let newest = *newest.get(&key(case))?;
        let is_older = case.rev < newest && figures > 0;
        is_older.then(|| OtherRevision { case: case.case.clone(), rev: case.rev, newest, figures })
    });
    let mut older: Vec<OtherRevision> = older.collect();
    older.sort_by(|one, other| (&one.case, one.rev).cmp(&(&other.case, other.rev)));
    older
}
