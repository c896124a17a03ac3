//! Bases of a comparison that lie on another level than earlier runs of the same cases do: the ratio to
//! such a base is right, and is none to the figures that those runs show.

use std::collections::BTreeSet;

use oscost_model::record::{Record, Row};
use oscost_stats::order;

use crate::estimate::between_runs::SystemRuns;

/// Fewer earlier runs show no level.
const MIN_RUNS: usize = 3;
/// Most runs of a level are nearer to its middle than this, as logarithms ...
const MAX_DEVIATION: f64 = 0.02;
/// ... and a base on another one is farther from it, with its whole interval.
const MIN_DISTANCE: f64 = 0.04;

/// A base on another level.
struct OtherLevel<'a> {
    case: &'a str,
    /// The base over the middle of the earlier runs.
    ratio: f64,
    earlier_runs: usize,
}

/// That bases of a comparison lie on another level than earlier runs, in words; `None` without one.
pub(super) fn note_on_base_levels(record: &Record, earlier: &SystemRuns) -> Option<String> {
    let bases: BTreeSet<u32> = record.comparisons.iter().map(|it| it.base).collect();
    let rows = bases.into_iter().filter_map(|at| record.results.get(at as usize));
    let mut found = rows.filter_map(|row| other_level(row, earlier));
    let OtherLevel { case, ratio, earlier_runs } = found.next()?;
    let more = match found.count() {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let pct = 100.0 * (ratio - 1.0).abs();
    let side = if ratio > 1.0 { "above" } else { "below" };
    Some(format!(
        "the base of {case}{more} lies {pct:.0} % {side} the median of {earlier_runs} earlier runs: it is \
         on another level (`oscost explain TWO_LEVELS`), and ratios are to that of this run"
    ))
}

/// The other level of a row, if it lies on one. Programs differ from run to run by what they read and
/// wait for.
fn other_level<'a>(row: &'a Row, earlier: &SystemRuns) -> Option<OtherLevel<'a>> {
    let is_asked = row.is_requested() && row.primary_metric.is_none();
    let estimate = row.estimate.as_ref().filter(|it| is_asked && it.median > 0.0)?;
    let [low, high] = estimate.ci95.filter(|[low, _]| *low > 0.0)?;
    let logs: Vec<f64> = earlier.boots(row).concat().iter().map(|run| run.value).collect();
    let middle = order::median(&order::sorted(&logs))?;
    let near = logs.iter().filter(|it| (**it - middle).abs() < MAX_DEVIATION).count();
    let is_level = logs.len() >= MIN_RUNS && 2 * near > logs.len();
    let is_apart = low.ln() > middle + MIN_DISTANCE || high.ln() < middle - MIN_DISTANCE;
    (is_level && is_apart).then(|| OtherLevel {
        case: &row.case,
        ratio: estimate.median / middle.exp(),
        earlier_runs: logs.len(),
    })
}

#[cfg(test)]
mod tests {
    use oscost_stats::between_runs::RunMedian;

    use super::*;

    /// A comparison whose base takes 80 ns, from 79 to 81.
    fn comparison() -> Record {
        serde_json::from_str(include_str!("../../../tests/store/run-1.json")).unwrap()
    }

    fn note(medians: &[f64]) -> Option<String> {
        let record = comparison();
        let row = &record.results[0];
        let mut earlier = SystemRuns::default();
        for median in medians {
            let run = RunMedian { value: median.ln(), standard_error: 0.001, count: 6 };
            earlier.insert(&row.target.text, &row.case, Some("boot"), run);
        }
        note_on_base_levels(&record, &earlier)
    }

    #[test]
    fn a_base_beyond_the_level_of_most_earlier_runs_is_told() {
        let told = note(&[64.0, 64.1, 63.9, 80.0]).unwrap();
        assert!(told.starts_with("the base of syscall/getppid:via=raw lies 25 % above "), "{told}");
        assert!(told.contains("the median of 4 earlier runs"), "{told}");
        let told = note(&[100.0; 3]).unwrap();
        assert!(told.contains(" lies 20 % below "), "{told}");
    }

    #[test]
    fn a_base_among_earlier_runs_or_beside_few_or_scattered_ones_is_not() {
        for medians in [&[80.0, 80.5, 79.5][..], &[64.0, 64.0], &[50.0, 60.0, 70.0], &[]] {
            assert_eq!(note(medians), None, "{medians:?}");
        }
        let lone = Record { comparisons: Vec::new(), ..comparison() };
        assert_eq!(note_on_base_levels(&lone, &SystemRuns::default()), None);
    }
}
