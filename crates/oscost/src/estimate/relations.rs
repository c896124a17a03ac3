//! What is said of a row only beside others of its run: its floor, its class, its multiples.

use std::collections::BTreeMap;

use oscost_model::point::Value;
use oscost_model::record::{Floor, Row};
use oscost_model::unit::Unit;
use oscost_model::worker::Mode;

use super::class::{Classification, CostNs, Evidence, classify};
use super::metrics::VOLUNTARY_SWITCHES;
use super::row_state::RowState;
use oscost_stats::interval::Interval;

/// The benchmark whose reference case is the bare door of all classes.
const NULL_CALL: &str = "syscall/getppid";
/// The function that does nothing, called as system calls are; where the run has it not, a plain
/// call of one.
const EMPTY_FUNCTIONS: [&str; 2] = ["syscall/function", "procedure/call:args=0,chain=independent"];
/// A call that no kernel knows: in and out. Where the run has it not, the bare door of the classes.
const INVALID_CALL: &str = "syscall/invalid";

/// A page, where the machine does not say.
const DEFAULT_PAGE_BYTES: u64 = 4_096;

/// The floors of the rows, each the sum of primitives that the same run measured.
pub(super) fn set_floors(states: &[RowState], rows: &mut [Row]) {
    // What has an end on another machine is nothing that others here are made of.
    let on = |row: &Row, case: &str| (row.target.machine.clone(), case.to_owned());
    let medians: BTreeMap<(String, String), f64> = rows
        .iter()
        .filter(|row| row.target.peer.is_none())
        .filter_map(|row| Some((on(row, &row.case), row.estimate.as_ref()?.median)))
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
        let values = parts
            .iter()
            .map(|part| Some(f64::from(part.times) * medians.get(&on(row, &part.case))?));
        let value = values.sum::<Option<f64>>();
        let of = parts.iter().map(|part| format!("{} x {}", part.times, part.case)).collect();
        row.floor = Some(Floor { value, of });
        // An op that seems cheaper than what it contains is our own mistake.
        let above = row.estimate.as_ref().and_then(|estimate| estimate.ci95.map(|[_, hi]| hi));
        if above.zip(value).is_some_and(|(above, floor)| above < floor) {
            row.flags.push("BELOW_FLOOR".to_owned());
        }
    }
}

/// The classes of the rows, by what was counted on each and by the bare door of the same run.
pub(super) fn set_classes(states: &[RowState], rows: &mut [Row], page_bytes: Option<u64>) {
    let page_bytes = page_bytes.unwrap_or(DEFAULT_PAGE_BYTES) as f64;
    let door = states
        .iter()
        .zip(&*rows)
        .find(|(state, row)| state.planned.is_reference && row.benchmark == NULL_CALL)
        .and_then(|(_, row)| cost(row));
    for (state, row) in states.iter().zip(rows) {
        let Some(evidence) = evidence(state, row, page_bytes) else { continue };
        let Classification { class, borderline, unexpected } = classify(&evidence, cost(row), door);
        row.class = class.map(|class| class.text().to_owned());
        for (flag, earned) in [("CLASS_BORDERLINE", borderline), ("CLASS_UNEXPECTED", unexpected)] {
            if earned {
                row.flags.push(flag.to_owned());
            }
        }
    }
}

/// What is to be said of rows whose ops worked on a file: what is behind its file system, and that a
/// cold file may be warm in the machine below.
pub(super) fn set_file_flags(rows: &mut [Row], virtualization: Option<&str>) {
    let is_guest = virtualization.is_some_and(|kind| kind != "none");
    for row in rows {
        let Some(file) = &row.file else { continue };
        let is_disk = file.backing == "disk";
        for (flag, earned) in [
            ("HOST_WARM", file.cold && is_guest && is_disk),
            ("NETWORK_FILES", file.backing == "network"),
            ("OVERLAY_FILES", file.backing == "overlay"),
            ("UNKNOWN_FILES", file.backing == "unknown"),
        ] {
            if earned {
                row.flags.push(flag.to_owned());
            }
        }
    }
}

/// How many times as dear each row is as the empty function, and as the bare door.
pub(super) fn set_multiples(rows: &mut [Row]) {
    let base = |case: &&str| {
        let row = rows.iter().find(|row| row.case == *case && row.target.peer.is_none())?;
        let median = cost(row)?.median;
        (!is_below_detection(row) && median > 0.0).then(|| (row.case.clone(), median))
    };
    let door = rows.iter().find(|row| row.benchmark == NULL_CALL && is_null_call(row));
    let doors = [Some(INVALID_CALL), door.map(|row| row.case.as_str())];
    let bases: BTreeMap<String, f64> =
        [EMPTY_FUNCTIONS.iter().find_map(base), doors.iter().flatten().find_map(base)]
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

/// Whether a figure cannot be told from nothing: then it is no multiple of anything.
fn is_below_detection(row: &Row) -> bool {
    row.flags.iter().any(|flag| flag == "BELOW_DETECTION")
}

/// Whether a row of the door is the door itself: the bare instruction, nothing cold.
fn is_null_call(row: &Row) -> bool {
    row.point.get("via") == Some(&Value::from("raw")) && row.mode != Some(Mode::C)
}

/// The cost of a warm op in nanoseconds; `None` for a figure of another kind, and for a cold op:
/// the door is warm.
fn cost(row: &Row) -> Option<CostNs> {
    if !matches!(row.mode, Some(Mode::U | Mode::B | Mode::S)) || row.unit != Unit::NsPerOp {
        return None;
    }
    let estimate = row.estimate.as_ref()?;
    let interval = estimate.ci95.map(|[lo, hi]| Interval { lo, hi });
    Some(CostNs { median: estimate.median, interval })
}

/// What is known of a row's op; `None` where it was not measured, where its calls were not counted,
/// and where its figure is no cost of an op.
fn evidence(state: &RowState, row: &Row, page_bytes: f64) -> Option<Evidence> {
    let is_cost = matches!(row.mode, Some(Mode::U | Mode::B | Mode::S | Mode::C));
    if row.estimate.is_none() || !is_cost || row.unit != Unit::NsPerOp {
        return None;
    }
    let calls = row.calls.as_ref()?;
    let definition = &state.planned.definition;
    let entries = calls.per_op.values().fold(0.0, |sum, times| sum + times);
    if definition.switches && entries < 0.5 {
        // It switches and calls for none of it: what it costs is the scheduler's doing, and no op's.
        return None;
    }
    let point = &state.planned.case.point;
    let whole = definition.with_implied(point);
    // The op at this point calls a function that its worker has found in the vDSO.
    let by_name = (point.get("via") == Some(&Value::from("vdso"))).then_some(true);
    Some(Evidence {
        entries,
        may_enter: definition.calls.iter().any(|rule| whole.includes(&rule.when)),
        vdso: calls.vdso.or(by_name),
        // How long an instruction waits for memory is what that family asks, and no surprise.
        instructions: calls.instructions_per_op.filter(|_| definition.family() != "memory"),
        tasks: calls.tasks_per_op,
        faults: calls.faults_per_op,
        counted_ops: calls.counted_ops as f64,
        bytes: calls.bytes_per_op,
        voluntary_switches: row.metrics.get(VOLUNTARY_SWITCHES).map(|it| it.estimate.median),
        page_bytes,
    })
}
