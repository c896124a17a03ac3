//! What would help a program: other ways to do the same, at the prices of its bill.

use oscost_model::bill::{Alternative, Amount, Bill};

use crate::report::figures::{occurrences, per_cent};
use crate::report::text::plain;
use crate::report::view::bill_run_command::run_command;
use crate::report::view::document::{Block, Section};
use crate::report::view::what_if::with_interval;

/// What saves less than this is in the record alone, in per cent of the measured system time; so is
/// what is done instead of an item below that.
const MIN_SHARE_PCT: f64 = 1.0;

/// A sentence for each of the ways; `None` without any that matters.
pub(in crate::report::view) fn section(bill: &Bill) -> Option<Section> {
    let lines = bill.alternatives.iter().filter_map(|it| sentence(bill, it)).chain(missing(bill));
    Block::list(lines).map(|list| Section::of("What would help", [list]))
}

/// What it would save; `None` of what is not known, or does not matter.
fn sentence(bill: &Bill, way: &Alternative) -> Option<String> {
    let saving = way.saving.as_ref().filter(|_| is_large(bill, way))?;
    let (item, change) = (plain(&way.item), plain(&way.change));
    let what = format!("{} x {item} {change}", occurrences(way.times));
    let by = format!("{} for {}", plain(&way.instead), plain(&way.from));
    if !is_certain(saving) {
        return Some(format!("{what}: no certain saving, {} ({by})", with_interval(saving)));
    }
    let share_pct = way.share_pct.filter(|pct| *pct >= MIN_SHARE_PCT)?;
    let whole = if way.is_whole_item { ", all that the item is charged" } else { "" };
    Some(format!(
        "{what}: {} less{whole}, {} of the system time, {} ({by})",
        with_interval(saving),
        per_cent(share_pct),
        plain(&way.condition)
    ))
}

/// Whether the item that would change is a large one.
fn is_large(bill: &Bill, way: &Alternative) -> bool {
    let item = bill.items.iter().find(|item| item.name == way.item);
    item.and_then(|item| item.share_pct).is_some_and(|pct| pct >= MIN_SHARE_PCT)
}

/// Whether all of the interval is a saving.
fn is_certain(saving: &Amount) -> bool {
    saving.ci95.is_some_and(|[low, _]| low > 0.0)
}

/// The command that measures what is missing of large items.
fn missing(bill: &Bill) -> Option<String> {
    let mut cases: Vec<&str> = Vec::new();
    for way in bill.alternatives.iter().filter(|it| is_large(bill, it)) {
        for case in &way.unpriced {
            if !cases.contains(&case.as_str()) {
                cases.push(case);
            }
        }
    }
    let command = (!cases.is_empty()).then(|| run_command(bill, &cases))?;
    Some(format!("{command} measures what else may help"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::terminal;
    use crate::report::view::bill::made_up::find;
    use crate::report::view::bill::view;

    /// Another way to close files.
    fn way(saving: Option<Amount>) -> Alternative {
        Alternative {
            item: "close file".to_owned(),
            times: 60_000.0,
            change: "by close_range(2)".to_owned(),
            condition: "if all are closed at once".to_owned(),
            from: "directory/open".to_owned(),
            instead: "descriptor/close-range".to_owned(),
            share_pct: saving.as_ref().map(|it| it.ns / 1e6),
            missing: saving.is_none().then(|| "no price".to_owned()),
            unpriced: match saving {
                Some(_) => Vec::new(),
                None => vec!["descriptor/close-range".to_owned()],
            },
            saving,
            is_whole_item: false,
        }
    }

    fn lines(ways: Vec<Alternative>) -> String {
        let bill = Bill { alternatives: ways, ..find() };
        let text = terminal(&view(&bill));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_certain_saving_is_told_with_its_share_its_condition_and_both_cases() {
        let text = lines(vec![way(Some(Amount { ns: 4e6, ci95: Some([3e6, 5e6]) }))]);
        let begin = "What would help 60,000 x close file by close_range(2): 4.00 ms [3.";
        assert!(text.contains(begin), "{text}");
        let end = "less, 4.0 % of the system time, if all are closed at once \
                   (descriptor/close-range for directory/open)";
        assert!(text.contains(end), "{text}");
    }

    #[test]
    fn a_saving_whose_interval_has_nothing_in_it_is_not_certain() {
        for ci95 in [Some([-1e6, 9e6]), None] {
            let text = lines(vec![way(Some(Amount { ns: 4e6, ci95 }))]);
            assert!(text.contains("by close_range(2): no certain saving, 4.00 ms"), "{text}");
        }
    }

    #[test]
    fn what_is_missing_is_a_command_and_small_savings_are_in_the_record_alone() {
        let text = lines(vec![way(None)]);
        let command = "`oscost run descriptor/close-range` measures what else may help";
        assert!(text.contains(command), "{text}");
        let small = Some(Amount { ns: 4e5, ci95: Some([3e5, 5e5]) });
        let of_small_item = Alternative { item: "brk".to_owned(), ..way(None) };
        assert!(!lines(vec![way(small), of_small_item]).contains("What would help"));
    }
}
