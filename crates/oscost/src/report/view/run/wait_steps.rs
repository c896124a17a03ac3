//! The steps of a wait for one of many descriptors, as a table.

use oscost_model::curve::BoundedValue;
use oscost_model::steps::WaitSteps;

use crate::report::text::plain;
use crate::report::view::document::{self, Cell, Table, TableRow};

/// A column: its heading, what it shows, and what that means.
struct Column {
    title: &'static str,
    of: fn(&WaitSteps) -> Option<&BoundedValue>,
    means: &'static str,
}

const COLUMNS: [Column; 5] = [
    Column {
        title: "check",
        of: |steps| steps.check.as_ref(),
        means: "passing the set and checking all of it, without waiting (event/wait:ready=none, or \
                event/idle)",
    },
    Column {
        title: "caller's",
        of: |steps| steps.caller.as_ref(),
        means: "the part of a check that is the caller's own work around the call (event/caller)",
    },
    Column {
        title: "queues",
        of: |steps| steps.wait_queues.as_ref(),
        means: "joining the wait queue of each and leaving it again (event/wait, position=last less \
                position=first; or event/idle, block less check)",
    },
    Column {
        title: "wakeup",
        of: |steps| steps.wakeup.as_ref(),
        means: "from an event until the task that blocked on all of them runs (event/wakeup)",
    },
    Column {
        title: "beyond",
        of: |steps| steps.wakeup_beyond_check.as_ref(),
        means: "the part of a wakeup that is beyond a check",
    },
];

/// A table for each target at which the steps can be separated.
pub(in crate::report::view) fn tables(steps: &[WaitSteps]) -> impl Iterator<Item = Table> {
    let of_targets: Vec<&[WaitSteps]> =
        steps.chunk_by(|one, other| one.target == other.target).collect();
    let several = of_targets.len() > 1;
    of_targets.into_iter().map(move |steps| table(steps, several))
}

fn table(steps: &[WaitSteps], several: bool) -> Table {
    let target = &steps[0].target;
    let shown: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| steps.iter().any(|steps| (column.of)(steps).is_some()))
        .collect();
    let cell = |column: &Column, steps: &WaitSteps| (column.of)(steps).map_or("-".into(), slope);
    let between = steps[0].between;
    let has_one_range = steps.iter().all(|steps| steps.between == between);
    let range = |[first, last]: [u64; 2]| format!("between {first} and {last} of them");
    let all = if has_one_range { format!(", {}", range(between)) } else { String::new() };
    let at = if several { format!(" at {}", plain(target)) } else { String::new() };
    let names = document::Column::text(" method");
    let titles = shown.iter().map(|it| document::Column::number(it.title, it.title));
    let rows = steps.iter().map(|steps| {
        let name = Cell::text(format!(" {}", plain(&steps.method)));
        let cells = shown.iter().map(|column| Cell::text(cell(column, steps)));
        TableRow::of([name].into_iter().chain(cells).collect())
    });
    let mut notes: Vec<String> =
        shown.iter().map(|column| format!("{}: {}", column.title, column.means)).collect();
    if steps.iter().all(|steps| steps.check.is_none()) {
        notes.push("with event/idle in the run, a check is shown too".to_owned());
    }
    if steps.iter().any(|steps| shown.iter().any(|it| cell(it, steps).starts_with('<'))) {
        notes.push("<: cannot be distinguished from zero, and is less than this".to_owned());
    }
    if !has_one_range {
        let each = steps.iter();
        let each = each.map(|it| format!("{} {}", plain(&it.method), range(it.between)));
        notes.push(each.collect::<Vec<_>>().join(", "));
    }
    Table {
        caption: format!("Steps of a wait{at}: ns for each idle descriptor{all}"),
        columns: [names].into_iter().chain(titles).collect(),
        rows: rows.collect(),
        notes,
        ..Table::default()
    }
}

/// A slope with half of its interval; what may be zero as a bound.
fn slope(slope: &BoundedValue) -> String {
    let BoundedValue { value, ci95: [low, high] } = *slope;
    if low <= 0.0 && 0.0 <= high {
        let bound = high.max(-low);
        return format!("<{bound:.*}", decimals(bound, bound));
    }
    let half = (high - low) / 2.0;
    let decimals = decimals(value, half);
    format!("{value:.decimals$}+-{half:.decimals$}")
}

/// Decimals that give a value three digits, and its half-width at least one that counts.
fn decimals(value: f64, half: f64) -> usize {
    let digits = |number: f64, digits: i32| {
        let before = number.abs().log10().floor();
        // Zero has no digits to show.
        if before.is_finite() { (digits - 1 - before as i32).clamp(0, 6) as usize } else { 0 }
    };
    digits(value, 3).min(2).max(digits(half, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_may_be_zero_is_a_bound() {
        let shown = |value: f64, half: f64| {
            slope(&BoundedValue { value, ci95: [value - half, value + half] })
        };
        assert_eq!([shown(21.04, 0.3), shown(140.0, 2.0)], ["21.0+-0.3", "140+-2"]);
        assert_eq!([shown(0.123, 0.011), shown(0.12, 0.002)], ["0.12+-0.01", "0.120+-0.002"]);
        assert_eq!([shown(0.01, 0.05), shown(-0.04, 0.05)], ["<0.06", "<0.09"]);
        assert_eq!([shown(0.0, 0.0002), shown(0.0, 0.0)], ["<0.0002", "<0"]);
        assert_eq!(shown(-2.0, 0.5), "-2.00+-0.50", "nothing is clamped");
    }
}
