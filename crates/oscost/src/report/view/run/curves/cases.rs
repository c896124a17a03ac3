//! The rows of a run by their cases and peers.

use oscost_model::curve::{Curve, CurvePoint};
use oscost_model::record::Row;

/// A row's case, and the machine of its peer: a run may have the same case twice.
pub(in crate::report::view) type CaseOfPeer<'a> = (&'a str, Option<&'a str>);

/// The case of a row, and its peer.
pub(in crate::report::view) fn case_of(row: &Row) -> CaseOfPeer<'_> {
    (&row.case, row.target.peer.as_deref())
}

/// The row of a point.
pub(super) fn point_of<'a>(curve: &'a Curve, point: &'a CurvePoint) -> CaseOfPeer<'a> {
    (&point.case, curve.peer.as_deref())
}
