//! A run in short.

use oscost_model::record::Record;

use crate::report::view::comparison::ab;
use crate::report::view::document::View;
use crate::report::view::run;

/// A run in short, with the comparisons of one that compared targets.
pub fn brief(record: &Record) -> View {
    match record.comparisons.is_empty() {
        true => run::brief(record),
        false => ab::brief(record),
    }
}
