//! What each flag means, for the notes below a table.

use crate::advice::words::{Kind, of_kind};

/// What a row's flag means.
pub fn of_row(flag: &str) -> &'static str {
    meaning(Kind::RowFlag, flag)
}

/// What a comparison's flag means.
pub fn of_comparison(flag: &str) -> &'static str {
    meaning(Kind::ComparisonFlag, flag)
}

/// What a flag of the whole run means.
pub fn of_run(flag: &str) -> &'static str {
    meaning(Kind::RunFlag, flag)
}

fn meaning(kind: Kind, flag: &str) -> &'static str {
    of_kind(kind, flag).map_or("unknown to this version", |word| word.means)
}
