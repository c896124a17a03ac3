//! Properties of a row that depend on other rows of its run: its floor, class and multiples.

use std::collections::BTreeMap;

use oscost_model::point::Value;
use oscost_model::record::{Floor, Row};
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;

use crate::estimate::rows::class::{Classification, CostNs, Evidence, classify};
use crate::estimate::rows::metrics::VOLUNTARY_SWITCHES;
use crate::estimate::rows::row_state::RowState;
use oscost_stats::interval::Interval;

/// The benchmark whose reference case is the null call.
const NULL_CALL: &str = "syscall/getppid";
/// The empty function, called like a system call; if the run does not contain it, a plain call of
/// an empty function.
const EMPTY_FUNCTIONS: [&str; 2] = ["syscall/function", "procedure/call:args=0,chain=independent"];
/// A call with an invalid number: entry and exit only. If the run does not contain it, the null
/// call is used.
const INVALID_CALL: &str = "syscall/invalid";

/// The page size, if the machine does not report it.
const DEFAULT_PAGE_BYTES: u64 = 4_096;

/// The floors of the rows, each the sum of primitives that the same run measured.
pub(in crate::estimate) fn set_floors(states: &[RowState], rows: &mut [Row]) {
    // A row with a remote peer is not part of others.
    let key = |row: &Row, case: &str| (row.target.machine.clone(), case.to_owned());
    let costs: BTreeMap<(String, String), PartCost> = rows
        .iter()
        .filter(|row| row.target.peer.is_none())
        .filter_map(|row| Some((key(row, &row.case), PartCost::of(row)?)))
        .collect();
    for (state, row) in states.iter().zip(rows) {
        let parts: Vec<_> = state
            .planned
            .definition
            .floor
            .iter()
            .filter(|part| state.planned.case.point.includes(&part.when))
            .collect();
        if parts.is_empty() {
            continue;
        }
        let sum = |cost: &dyn Fn(&PartCost) -> Option<f64>| {
            let cost = |case: &str| cost(costs.get(&key(row, case))?);
            parts
                .iter()
                .map(|part| Some(f64::from(part.times) * cost(&part.case)?))
                .sum::<Option<f64>>()
        };
        let value = sum(&|part| Some(part.median));
        let least = sum(&|part| part.least);
        let of = parts.iter().map(|part| format!("{} x {}", part.times, part.case)).collect();
        row.floor = Some(Floor { value, of });
        // An op cannot be cheaper than the least that its parts can cost: the measurement is wrong.
        let upper_end = row.estimate.as_ref().and_then(|estimate| estimate.ci95.map(|[_, hi]| hi));
        if upper_end.zip(least).is_some_and(|(upper_end, least)| upper_end < least) {
            row.flags.push("BELOW_FLOOR".to_owned());
        }
    }
}

/// The cost of a case that is part of others.
struct PartCost {
    median: f64,
    /// The lower end of its interval; `None` if it has none, or was too disturbed to rest anything on.
    least: Option<f64>,
}

impl PartCost {
    fn of(row: &Row) -> Option<Self> {
        let estimate = row.estimate.as_ref()?;
        let is_reliable = !row.flags.iter().any(|flag| flag == "UNRELIABLE");
        let least = estimate.ci95.map(|[low, _]| low).filter(|_| is_reliable);
        Some(Self { median: estimate.median, least })
    }
}

/// The classes of the rows, by their counts and by the null call of the same run.
pub(in crate::estimate) fn set_classes(
    states: &[RowState],
    rows: &mut [Row],
    page_bytes: Option<u64>,
) {
    let page_bytes = page_bytes.unwrap_or(DEFAULT_PAGE_BYTES) as f64;
    let null_call = states
        .iter()
        .zip(&*rows)
        .find(|(state, row)| state.planned.is_reference && row.benchmark == NULL_CALL)
        .and_then(|(_, row)| cost(row));
    for (state, row) in states.iter().zip(rows) {
        let Some(evidence) = evidence(state, row, page_bytes) else { continue };
        let Classification { class, borderline, unexpected } =
            classify(&evidence, cost(row), null_call);
        row.class = class.map(|class| class.text().to_owned());
        for (flag, applies) in [("CLASS_BORDERLINE", borderline), ("CLASS_UNEXPECTED", unexpected)]
        {
            if applies {
                row.flags.push(flag.to_owned());
            }
        }
    }
}

/// The flags of rows whose ops work on a file: the backing of its file system, and that a file
/// which is cold in a guest may be cached by the host.
pub(in crate::estimate) fn set_file_flags(rows: &mut [Row], virtualization: Option<&str>) {
    let is_guest = virtualization.is_some_and(|kind| kind != "none");
    for row in rows {
        let Some(file) = &row.file else { continue };
        let is_disk = file.backing == "disk";
        for (flag, applies) in [
            ("HOST_WARM", file.cold && is_guest && is_disk),
            ("NETWORK_FILES", file.backing == "network"),
            ("OVERLAY_FILES", file.backing == "overlay"),
            ("UNKNOWN_FILES", file.backing == "unknown"),
        ] {
            if applies {
                row.flags.push(flag.to_owned());
            }
        }
    }
}

/// The cost of each row as a multiple of the empty function and of the null call.
pub(in crate::estimate) fn set_multiples(rows: &mut [Row]) {
    let base = |case: &&str| {
        let row = rows.iter().find(|row| row.case == *case && row.target.peer.is_none())?;
        let median = cost(row)?.median;
        (!is_below_detection(row) && median > 0.0).then(|| (row.case.clone(), median))
    };
    let null_call = rows.iter().find(|row| row.benchmark == NULL_CALL && is_raw_call(row));
    let null_calls = [Some(INVALID_CALL), null_call.map(|row| row.case.as_str())];
    let bases: BTreeMap<String, f64> =
        [EMPTY_FUNCTIONS.iter().find_map(base), null_calls.iter().flatten().find_map(base)]
            .into_iter()
            .flatten()
            .collect();
    for row in rows.iter_mut().filter(|row| !is_below_detection(row)) {
        if let Some(CostNs { median, .. }) = cost(row) {
            row.multiples =
                bases.iter().map(|(case, base)| (case.clone(), median / base)).collect();
        }
    }
}

/// Whether a figure cannot be distinguished from 0, so that it has no multiples.
fn is_below_detection(row: &Row) -> bool {
    row.flags.iter().any(|flag| flag == "BELOW_DETECTION")
}

/// Whether a row makes the call by the bare instruction, and warm.
fn is_raw_call(row: &Row) -> bool {
    row.point.get("via") == Some(&Value::from("raw")) && row.mode != Some(Mode::C)
}

/// The cost of a warm op in nanoseconds; `None` for another kind of figure and for a cold op, since
/// the null call is warm.
fn cost(row: &Row) -> Option<CostNs> {
    if !matches!(row.mode, Some(Mode::U | Mode::B | Mode::S)) || row.unit != Unit::NsPerOp {
        return None;
    }
    let estimate = row.estimate.as_ref()?;
    let interval = estimate.ci95.map(|[lo, hi]| Interval { lo, hi });
    Some(CostNs { median: estimate.median, interval })
}

/// The counts of a row's op; `None` if it was not measured, if its calls were not counted, and if
/// its figure is not the cost of an op.
fn evidence(state: &RowState, row: &Row, page_bytes: f64) -> Option<Evidence> {
    let is_cost = matches!(row.mode, Some(Mode::U | Mode::B | Mode::S | Mode::C));
    if row.estimate.is_none() || !is_cost || row.unit != Unit::NsPerOp {
        return None;
    }
    let calls = row.calls.as_ref()?;
    let definition = &state.planned.definition;
    let entries = calls.per_op.values().fold(0.0, |sum, times| sum + times);
    if definition.switches && entries < 0.5 {
        // It switches without a call: its cost is that of the scheduler.
        return None;
    }
    let point = &state.planned.case.point;
    let whole = definition.with_implied(point);
    // At this point, the op calls a function of the vDSO.
    let by_point = (point.get("via") == Some(&Value::from("vdso"))).then_some(true);
    Some(Evidence {
        entries,
        may_enter: definition.calls.iter().any(|rule| whole.includes(&rule.when)),
        vdso: calls.vdso.or(by_point),
        // The family `memory` measures how long an instruction waits, so a long one is expected.
        instructions: calls.instructions_per_op.filter(|_| definition.family() != "memory"),
        tasks: calls.tasks_per_op,
        faults: calls.faults_per_op,
        counted_ops: calls.counted_ops as f64,
        bytes: calls.bytes_per_op,
        voluntary_switches: row.metrics.get(VOLUNTARY_SWITCHES).map(|it| it.estimate.median),
        page_bytes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::made_up_rows;

    /// Whether a row of 50 ns is flagged next to its part with this interval and these flags.
    fn is_below_floor(part_ci95: [f64; 2], part_flags: &[&str]) -> bool {
        let catalog = oscost_worker::benchmarks::data();
        let (whole, part) = ("syscall/stat:via=raw", "syscall/invalid");
        let states =
            [whole, part].map(|case| RowState::new(made_up_rows::planned_row(&catalog, case)));
        let mut rows = [made_up_rows::row(whole, 50.0), made_up_rows::row(part, 100.0)];
        rows[1].estimate.as_mut().unwrap().ci95 = Some(part_ci95);
        rows[1].flags = part_flags.iter().map(|&flag| flag.to_owned()).collect();
        set_floors(&states, &mut rows);
        assert_eq!(rows[0].floor.as_ref().unwrap().value, Some(100.0));
        rows[0].flags.iter().any(|flag| flag == "BELOW_FLOOR")
    }

    #[test]
    fn a_row_is_below_its_floor_only_if_its_parts_certainly_cost_more() {
        assert!(is_below_floor([90.0, 110.0], &[]));
        assert!(!is_below_floor([45.0, 300.0], &[]), "a part that was disturbed");
        assert!(!is_below_floor([90.0, 110.0], &["UNRELIABLE"]));
    }
}
