//! Resource limits of this process.

use oscost_model::facts::{Bound, Limit, Limits};

use crate::facts::source::reader;
use crate::facts::source::roots::Roots;

/// The five limits that a benchmark can reach.
pub(in crate::facts) fn gather(roots: &Roots) -> Limits {
    let table = reader::lines(&roots.at("proc/self/limits")).unwrap_or_default();
    Limits {
        open_files: limit(&table, "Max open files"),
        locked_memory_bytes: limit(&table, "Max locked memory"),
        processes: limit(&table, "Max processes"),
        address_space_bytes: limit(&table, "Max address space"),
        stack_bytes: limit(&table, "Max stack size"),
    }
}

/// A row is a name of several words, then the soft and the hard limit.
fn limit(table: &str, name: &str) -> Limit {
    let row = table.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
    let mut values = row.split_whitespace();
    Limit { soft: values.next().and_then(bound), hard: values.next().and_then(bound) }
}

fn bound(text: &str) -> Option<Bound> {
    match text {
        "unlimited" => Some(Bound::UNLIMITED),
        number => number.parse().ok().map(Bound::Max),
    }
}
