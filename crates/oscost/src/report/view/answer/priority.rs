//! Which rows of a table matter most, where there is room for a few: the acts that readers ask for
//! first, which the answer quotes; those that should not be used, surprises, and the ends of each
//! family.

use std::collections::BTreeMap;

use oscost_model::record::{Comparison, Row};

use crate::advice::words::{Kind, Severity};
use crate::report::view::answer::acts::is_act;
use crate::report::view::answer::run::is_cost;
use crate::report::view::run::flags::{severity, unusable};
use crate::report::view::run::row::{family, has};

/// Above all others: whoever reads an act in the answer looks for its row.
const ACT: u32 = 900;
const UNUSABLE: u32 = 800;
const SURPRISE: u32 = 700;
const DEAREST_OF_FAMILY: u32 = 600;
const CHEAPEST_OF_FAMILY: u32 = 500;
/// A difference, to which up to 100 is added by its size.
const DIFFERENT: u32 = 600;
const WIDE: u32 = 200;
const OTHER: u32 = 100;

/// Beyond this factor a larger effect matters no more.
const MAX_EFFECT: f64 = 1_000.0;

/// The priority of each row of a table.
pub(in crate::report::view) fn of_rows(rows: &[&Row]) -> Vec<u32> {
    let mut ends: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for row in rows.iter().filter(|row| is_cost(row)) {
        let median = row.estimate.as_ref().map_or(0.0, |it| it.median);
        let [low, high] = ends.entry(family(row)).or_insert([median; 2]);
        (*low, *high) = (low.min(median), high.max(median));
    }
    let of_row = |row: &&Row| {
        let median = row.estimate.as_ref().map(|it| it.median);
        let is_end = |at: usize| is_cost(row) && ends.get(family(row)).map(|it| it[at]) == median;
        let is_wide = row.flags.iter().any(|flag| severity(Kind::RowFlag, flag) == Severity::Wide);
        if is_act(row) {
            ACT
        } else if unusable(Kind::RowFlag, &row.flags).is_some() {
            UNUSABLE
        } else if has(row, "CLASS_UNEXPECTED") {
            SURPRISE
        } else if is_end(1) {
            DEAREST_OF_FAMILY
        } else if is_end(0) {
            CHEAPEST_OF_FAMILY
        } else if is_wide {
            WIDE
        } else {
            OTHER
        }
    };
    rows.iter().map(of_row).collect()
}

/// The priority of a comparison: differences before others, the largest first, and then what says
/// least, of which the nearest to a difference is first.
pub(in crate::report::view) fn of_comparison(it: &Comparison) -> u32 {
    let effect = it.ratio.value.ln().abs() / MAX_EFFECT.ln();
    // A ratio from outside may be any number; a negative one has no logarithm.
    let size = if effect.is_finite() { (100.0 * effect.min(1.0)) as u32 } else { 0 };
    match it.verdict.as_str() {
        _ if unusable(Kind::ComparisonFlag, &it.flags).is_some() => UNUSABLE,
        "slower" | "faster" => DIFFERENT + size,
        // A probability from outside may be any number, too.
        "inconclusive" => WIDE + (99.0 * (1.0 - it.p).clamp(0.0, 1.0)) as u32,
        _ => OTHER,
    }
}
