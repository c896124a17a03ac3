//! The steps of a wait for one of many descriptors, as a table.

use std::fmt::Write as _;

use oscost_model::curve::BoundedValue;
use oscost_model::steps::WaitSteps;

use crate::report::text::{fold, plain};

/// A column: its heading, what it shows, and what that is.
struct Column {
    head: &'static str,
    of: fn(&WaitSteps) -> Option<&BoundedValue>,
    means: &'static str,
}

const COLUMNS: [Column; 5] = [
    Column {
        head: "check",
        of: |split| split.check.as_ref(),
        means: "passing the set and checking all of it, without waiting (event/wait:ready=none, or \
                event/idle)",
    },
    Column {
        head: "caller's",
        of: |split| split.caller.as_ref(),
        means: "what of a check is the caller's own work around the call (event/caller)",
    },
    Column {
        head: "on lists",
        of: |split| split.wait_queues.as_ref(),
        means: "getting on the list of each and off again to wait (event/wait, position=last less \
                position=first; or event/idle, block less check)",
    },
    Column {
        head: "woken",
        of: |split| split.wakeup.as_ref(),
        means: "from an event until who had blocked on all of them runs (event/wakeup)",
    },
    Column {
        head: "beyond",
        of: |split| split.wakeup_beyond_check.as_ref(),
        means: "what of being woken is beyond a check",
    },
];

/// A table for each place; empty where steps cannot be told apart.
pub(super) fn text(tables: &[WaitSteps]) -> String {
    let of_targets: Vec<&[WaitSteps]> =
        tables.chunk_by(|one, other| one.target == other.target).collect();
    let several = of_targets.len() > 1;
    of_targets.into_iter().map(|splits| one(splits, several)).collect()
}

fn one(splits: &[WaitSteps], several: bool) -> String {
    let target = &splits[0].target;
    let there: Vec<&Column> = COLUMNS
        .iter()
        .filter(|column| splits.iter().any(|split| (column.of)(split).is_some()))
        .collect();
    let cell = |column: &Column, split: &WaitSteps| (column.of)(split).map_or("-".into(), slope);
    let widths: Vec<usize> = there
        .iter()
        .map(|column| {
            let cells = splits.iter().map(|split| cell(column, split).chars().count());
            cells.chain([column.head.len()]).max().unwrap_or(0)
        })
        .collect();
    let names = splits.iter().map(|split| plain(&split.method).chars().count()).max().unwrap_or(0);
    let between = splits[0].between;
    let alike = splits.iter().all(|split| split.between == between);
    let range = |[first, last]: [u64; 2]| format!("between {first} and {last} of them");
    let all = if alike { format!(", {}", range(between)) } else { String::new() };
    let at = if several { format!(" at {}", plain(target)) } else { String::new() };
    let title = format!("the steps of a wait{at}: ns for each idle descriptor{all}");
    // Writing to a String cannot fail.
    let mut out = format!("\n{}\n", fold(&title, 80, "  "));
    let mut line = |name: &str, cells: Vec<String>| {
        let mut line = format!(" {name:<names$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(line, "  {cell:>width$}");
        }
        let _ = writeln!(out, "{}", line.trim_end());
    };
    line("", there.iter().map(|column| column.head.to_owned()).collect());
    for split in splits {
        line(&plain(&split.method), there.iter().map(|column| cell(column, split)).collect());
    }
    let mut notes: Vec<String> =
        there.iter().map(|column| format!("{}: {}", column.head, column.means)).collect();
    if splits.iter().all(|split| split.check.is_none()) {
        notes.push("with event/idle in the run, a check stands here too".to_owned());
    }
    if splits.iter().any(|split| there.iter().any(|it| cell(it, split).starts_with('<'))) {
        notes.push("<: cannot be told from nothing, and is less than this".to_owned());
    }
    if !alike {
        let each = splits.iter();
        let each = each.map(|it| format!("{} {}", plain(&it.method), range(it.between)));
        notes.push(each.collect::<Vec<_>>().join(", "));
    }
    for note in notes {
        let _ = writeln!(out, "  {}", fold(&note, 76, "    "));
    }
    out
}

/// A slope with half of its interval; what may as well be nothing as a bound.
fn slope(known: &BoundedValue) -> String {
    let BoundedValue { value, ci95: [low, high] } = *known;
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
    let digits = |number: f64, wanted: i32| {
        let before = number.abs().log10().floor();
        // What is nothing at all has no digits to show.
        if before.is_finite() { (wanted - 1 - before as i32).clamp(0, 6) as usize } else { 0 }
    };
    digits(value, 3).min(2).max(digits(half, 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_may_be_nothing_is_a_bound() {
        let told = |value: f64, half: f64| {
            slope(&BoundedValue { value, ci95: [value - half, value + half] })
        };
        assert_eq!([told(21.04, 0.3), told(140.0, 2.0)], ["21.0+-0.3", "140+-2"]);
        assert_eq!([told(0.123, 0.011), told(0.12, 0.002)], ["0.12+-0.01", "0.120+-0.002"]);
        assert_eq!([told(0.01, 0.05), told(-0.04, 0.05)], ["<0.06", "<0.09"]);
        assert_eq!([told(0.0, 0.0002), told(0.0, 0.0)], ["<0.0002", "<0"]);
        assert_eq!(told(-2.0, 0.5), "-2.00+-0.50", "nothing is clamped");
    }
}
