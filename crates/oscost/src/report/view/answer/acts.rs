//! The acts that a reader of a price list asks for first, in a sentence each.

use oscost_model::record::Row;

use crate::advice::words::Kind;
use crate::report::figures::{per_cent, times};
use crate::report::view::answer::quote::{are_apart, bound, quote};
use crate::report::view::known_acts::{
    Act, DYNAMIC_PROGRAM, FIRST_WRITE, IN_SENTENCES, NULL_CALL, PIPE_ON_ONE_CPU, PIPE_ON_TWO_CPUS,
    STATIC_PROGRAM, WRITE_AFTER_FORK,
};
use crate::report::view::run::flags::unusable;

/// The row of an act and its figure.
fn find<'a>(act: &Act, rows: &[&'a Row]) -> Option<(&'a Row, String)> {
    let row = rows.iter().copied().find(|row| act.is_of(row))?;
    Some((row, quote(row)?))
}

/// Whether a row is of one of the acts.
pub(super) fn is_act(row: &Row) -> bool {
    IN_SENTENCES.iter().any(|act| act.is_of(row))
}

/// A sentence for each act that is among these rows; `results` are all rows of the run.
pub(super) fn sentences(rows: &[&Row], results: &[Row]) -> Vec<String> {
    let each = [null_call(rows, results), switch(rows), program(rows), fault(rows)];
    each.into_iter().flatten().collect()
}

fn null_call(rows: &[&Row], results: &[Row]) -> Option<String> {
    let (row, figure) = find(&NULL_CALL, rows)?;
    let of_functions = row.multiples.iter().find(|(base, _)| base.starts_with("procedure/call:"));
    let is_usable = |row: &Row| unusable(Kind::RowFlag, &row.flags).is_none();
    // A ratio to a figure that should not be used says nothing, and neither does one of such a figure.
    let is_told = |base: &str| {
        is_usable(row) && results.iter().filter(|other| other.case == base).all(is_usable)
    };
    let calls = of_functions.filter(|(base, multiple)| multiple.is_finite() && is_told(base));
    let calls =
        calls.map(|(_, multiple)| format!(", as much as {} function calls", times(*multiple)));
    Some(format!("A system call (getppid) costs {figure}{}.", calls.unwrap_or_default()))
}

fn switch(rows: &[&Row]) -> Option<String> {
    let one_cpu = find(&PIPE_ON_ONE_CPU, rows).map(|(_, figure)| format!("{figure} on one CPU"));
    let two = if one_cpu.is_some() { "two" } else { "two CPUs" };
    let two_cpus = find(&PIPE_ON_TWO_CPUS, rows).map(|(_, figure)| format!("{figure} on {two}"));
    let costs: Vec<String> = one_cpu.into_iter().chain(two_cpus).collect();
    (!costs.is_empty()).then(|| {
        format!(
            "A byte through a pipe to a waiting process, and one back, cost {}.",
            costs.join(", ")
        )
    })
}

fn program(rows: &[&Row]) -> Option<String> {
    let (dynamic, fixed) = (find(&DYNAMIC_PROGRAM, rows), find(&STATIC_PROGRAM, rows));
    Some(match (dynamic, fixed) {
        (Some((row, figure)), Some((other, without))) => match share_of_linker(row, other) {
            Some(share) => format!(
                "fork, exec and wait cost {figure}, of which the dynamic linker and the C library \
                     are {share}."
            ),
            None => format!(
                "fork, exec and wait cost {figure}, of a program without a dynamic linker \
                     {without}."
            ),
        },
        (Some((_, figure)), None) => format!("fork, exec and wait cost {figure}."),
        (None, Some((_, figure))) => {
            format!("fork, exec and wait of a statically linked program cost {figure}.")
        }
        (None, None) => return None,
    })
}

/// The share of a dynamic program's start that a static one does not have; `None` where the intervals
/// of both do not show that it is one.
fn share_of_linker(dynamic: &Row, fixed: &Row) -> Option<String> {
    let median = |row: &Row| {
        let is_usable = bound(row).is_none() && unusable(Kind::RowFlag, &row.flags).is_none();
        row.estimate.as_ref().filter(|_| is_usable).map(|it| it.median)
    };
    let (whole, without) = (median(dynamic)?, median(fixed)?);
    let share = (whole - without) / whole;
    (are_apart(dynamic, fixed) && share > 0.0 && share < 1.0).then(|| per_cent(100.0 * share))
}

fn fault(rows: &[&Row]) -> Option<String> {
    let first = find(&FIRST_WRITE, rows).map(|(_, figure)| figure);
    let copy = find(&WRITE_AFTER_FORK, rows).map(|(_, figure)| figure);
    Some(match (first, copy) {
        (Some(first), Some(copy)) => format!(
            "The first write to a page, a fault, costs {first}; one that copies a page after a fork \
             {copy}."
        ),
        (Some(first), None) => format!("The first write to a page, a fault, costs {first}."),
        (None, Some(copy)) => {
            format!("A write that copies a page after a fork costs {copy}.")
        }
        (None, None) => return None,
    })
}
