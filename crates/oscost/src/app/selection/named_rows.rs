//! Which rows were asked for by name: a run in which one of them fails has failed.

use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::record::Row;

use crate::plan;

/// The rows that a request names, and does not only include in a family, a glob or the price list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NamedRows {
    /// All that were requested: a study names each of its cases.
    All,
    /// Those of these cases.
    OfCases(Vec<Case>),
}

impl NamedRows {
    /// None: the cases were chosen by oscost.
    pub(crate) const NONE: Self = NamedRows::OfCases(Vec::new());

    /// Whether a row was asked for by name.
    pub(crate) fn contains(&self, row: &Row) -> bool {
        row.is_requested()
            && match self {
                NamedRows::All => true,
                NamedRows::OfCases(cases) => cases
                    .iter()
                    .any(|case| case.benchmark == row.benchmark && case.point == row.point),
            }
    }

    /// The same between two machines, where the CPU of the peer is always another one.
    pub(crate) fn with_remote_peer(self, catalog: &Catalog) -> Self {
        match self {
            NamedRows::All => NamedRows::All,
            NamedRows::OfCases(cases) => {
                NamedRows::OfCases(plan::with_remote_peer(catalog, cases).cases)
            }
        }
    }
}
