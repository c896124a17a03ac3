//! The families of a fleet's cases.

use std::collections::BTreeMap;

use crate::fleet::data::Fleet;

/// The families, by name.
pub(super) struct Families {
    /// Their names.
    pub(super) names: Vec<String>,
    /// The cases of each.
    pub(super) cases: Vec<Vec<usize>>,
}

impl Families {
    pub(super) fn of(fleet: &Fleet) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (at, case) in fleet.cases.iter().enumerate() {
            by_name.entry(&case.family).or_default().push(at);
        }
        let names = by_name.keys().map(|name| (*name).to_owned()).collect();
        Self { names, cases: by_name.into_values().collect() }
    }
}
