//! A bill in instructions of the kernel.

use oscost_model::bill::{Bill, InstructionBill, InstructionItem};
use oscost_model::unit::Unit;

use crate::report::figures::{occurrences, per_cent, rough, with_thousands};
use crate::report::text::{plain, plural, without_error_number};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow};

/// Smaller items than this are in the record alone, in per cent of the program's instructions.
const MIN_SHARE_PCT: f64 = 1.0;
/// The items of a bill in time that are the teardown of memory.
const TEARDOWN: [&str; 2] = ["freed private page", "unmapped file page"];

/// The items, what was charged, and what the program executed; `None` if that was not counted.
pub(in crate::report::view) fn section(bill: &Bill) -> Option<Section> {
    let instructions = bill.instructions.as_ref()?;
    let sentences = sentences(instructions).into_iter().chain(split_difference(bill, instructions));
    let sentences = sentences.chain(without_cycles(bill, instructions)).chain(teardown(bill));
    let list = Block::list(sentences);
    let blocks = [Block::Table(table(instructions))].into_iter().chain(list);
    Some(Section::of("In instructions of the kernel", blocks))
}

/// Why there is no such bill; `None` if there is one.
pub(super) fn note(bill: &Bill) -> Option<String> {
    let why = bill.no_instructions.as_deref()?;
    Some(format!("no bill in instructions: {}", without_error_number(&plain(why))))
}

fn table(bill: &InstructionBill) -> Table {
    let is_large = |item: &&InstructionItem| {
        item.amount.is_some_and(|amount| 100.0 * amount.abs() >= MIN_SHARE_PCT * bill.kernel)
    };
    let item = |item: &InstructionItem| {
        let name = format!("  {}", plain(&item.name));
        row(bill, name, [Some(item.times), item.each, item.amount])
    };
    let mut rows: Vec<TableRow> = bill.items.iter().filter(is_large).map(item).collect();
    for (name, amount) in [
        ("charged in all", bill.charged),
        ("executed in the kernel", bill.kernel),
        ("the difference", bill.difference),
    ] {
        rows.push(row(bill, name.to_owned(), [None, None, Some(amount)]));
    }
    Table {
        id: "instructions".to_owned(),
        columns: vec![
            Column::text("item"),
            Column::number("count", "count"),
            Column::number("each", "each"),
            Column::number("instructions", "instructions"),
            Column::number("share", "share_pct"),
        ],
        rows,
        notes: vec!["items below 1 % are in the record alone".to_owned()],
        ..Table::default()
    }
}

fn row(bill: &InstructionBill, name: String, figures: [Option<f64>; 3]) -> TableRow {
    let number = |value: Option<f64>| {
        let text = value.map_or(String::new(), |value| with_thousands(value.round()));
        Cell::number(text, value)
    };
    let share_pct =
        figures[2].filter(|_| bill.kernel > 0.0).map(|amount| 100.0 * amount / bill.kernel);
    let share = Cell::number(share_pct.map_or(String::new(), per_cent), share_pct);
    let [times, each, amount] = figures.map(number);
    TableRow::of(vec![Cell::text(name), times, each, amount, share])
}

/// What the difference means, and how it was counted.
fn sentences(bill: &InstructionBill) -> Vec<String> {
    let [least, most] = bill.kernel_range.map(with_thousands);
    let counted = format!(
        "{} whose instructions were counted executed {least} to {most} in the kernel",
        plural(bill.runs.into(), "run")
    );
    let unpriced = bill.items.iter().filter(|item| item.amount.is_none());
    let times: f64 = unpriced.map(|item| item.times).sum();
    let unpriced = (times > 0.0).then(|| {
        let times = occurrences(times);
        format!("{times} calls and faults have no price in instructions, and are in the difference")
    });
    let cycles = bill.cycles_per_instruction.map(|cycles| {
        format!("these runs took {cycles:.2} cycles per instruction, in both modes together")
    });
    [Some(counted), unpriced, cycles].into_iter().flatten().collect()
}

/// How much of the difference in time is that in instructions, if each of these takes as long as all of
/// the program's do; `None` without a difference in time.
fn split_difference(bill: &Bill, instructions: &InstructionBill) -> Option<String> {
    let difference = bill.difference.as_ref().filter(|_| instructions.kernel > 0.0)?;
    let time = |ns: f64| rough(ns, Unit::NsPerOp);
    let share = instructions.difference / instructions.kernel;
    let of_instructions_ns = bill.trials.system_time.ns * share;
    let may_be_nothing = difference.ci95.is_some_and(|[low, high]| low <= 0.0 && 0.0 <= high);
    let doubt = if may_be_nothing { " (which may be none, by their interval)" } else { "" };
    Some(format!(
        "of {} of system time that are not explained{doubt}, {} are instructions without a price, \
         at the program's own rate, and {} are cycles per instruction: the state of the caches, \
         waits in the kernel, or the host",
        time(difference.ns),
        time(of_instructions_ns),
        time(difference.ns - of_instructions_ns)
    ))
}

/// Rates that differ by less are the same: neither has an interval.
const SAME_RATE: f64 = 0.02;

/// The part of the system time in which the program had no cycles, beside the loops of the price list;
/// `None` where either was not counted.
fn without_cycles(bill: &Bill, instructions: &InstructionBill) -> Option<String> {
    let own = instructions.cycles_per_ns?;
    let of_prices = instructions.price_cycles_per_ns.filter(|&cycles| cycles > 0.0)?;
    let missing_ns = bill.trials.system_time.ns * (1.0 - own / of_prices);
    let verdict = match own / of_prices < 1.0 - SAME_RATE {
        true => format!(
            "at that ratio {} of its system time had no cycles: the host took them, or the frequency \
             was lower",
            rough(missing_ns, Unit::NsPerOp)
        ),
        false => "no host took more from it than from them".to_owned(),
    };
    Some(format!(
        "these runs had {own:.2} cycles in a nanosecond of CPU time, and the price list's loops \
         {of_prices:.2}: {verdict}"
    ))
}

/// What the bill in time has and this one has not: the kernel ends the counters of a task before it takes
/// down its memory. `None` where no such page is charged.
fn teardown(bill: &Bill) -> Option<String> {
    let pages = bill.items.iter().filter(|item| TEARDOWN.contains(&item.name.as_str()));
    let amounts: Vec<f64> = pages.filter_map(|item| Some(item.amount.as_ref()?.ns)).collect();
    (!amounts.is_empty()).then(|| {
        format!(
            "the teardown of its memory at exit is in neither number of instructions; in time, {} are \
             charged for pages that are freed and unmapped there or before",
            rough(amounts.iter().sum(), Unit::NsPerOp)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::terminal;
    use crate::report::view::bill::made_up::find;
    use crate::report::view::bill::view;

    fn item(name: &str, times: f64, each: Option<f64>) -> InstructionItem {
        InstructionItem {
            name: name.to_owned(),
            times,
            case: Some("directory/open".to_owned()),
            each,
            amount: each.map(|each| times * each),
            missing: each.is_none().then(|| "no price".to_owned()),
        }
    }

    #[test]
    fn instructions_are_charged_beside_those_that_were_executed() {
        let instructions = InstructionBill {
            runs: 3,
            kernel: 1e6,
            kernel_range: [990_000.0, 1_010_000.0],
            user: Some(2e6),
            cycles_per_instruction: Some(1.5),
            cycles_per_ns: Some(2.4),
            price_cycles_per_ns: Some(3.0),
            charged: 910_000.0,
            charged_ci95: None,
            difference: 90_000.0,
            items: vec![
                item("close file", 900.0, Some(1_000.0)),
                item("brk", 15.0, Some(1_000.0)),
                item("tiny", 1.0, Some(9.0)),
                item("sysinfo", 2.0, None),
            ],
        };
        let bill = Bill { instructions: Some(instructions), ..find() };
        let text = terminal(&view(&bill));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for expected in [
            "In instructions of the kernel",
            "close file 900 1,000 900,000 90 %",
            "charged in all 910,000 91 %",
            "executed in the kernel 1,000,000 100 %",
            "the difference 90,000 9.0 %",
            "3 runs whose instructions were counted executed 990,000 to 1,010,000 in the kernel",
            "2 calls and faults have no price in instructions",
            "took 1.50 cycles per instruction",
            // 13 of 100 ms of time, and 9 % of the instructions.
            "of system time that are not explained, 9.00 ms are instructions without a price",
            "had 2.40 cycles in a nanosecond of CPU time, and the price list's loops 3.00: at that \
             ratio 20.0 ms of its system time had no cycles",
        ] {
            assert!(words.contains(expected), "`{expected}` is not in:\n{text}");
        }
        assert!(!words.contains("tiny") && !words.contains("no bill in instructions"), "{text}");
        let mut faster = bill.instructions.clone().unwrap();
        faster.cycles_per_ns = Some(3.1);
        let told = without_cycles(&bill, &faster).unwrap();
        assert!(told.ends_with("3.00: no host took more from it than from them"), "{told}");
        faster.price_cycles_per_ns = None;
        assert_eq!(without_cycles(&bill, &faster), None);
    }

    #[test]
    fn the_teardown_of_memory_is_told_as_in_time_alone() {
        let mut bill = find();
        assert_eq!(teardown(&bill), None);
        let amount = bill.items[0].amount.clone().unwrap();
        bill.items[0].name = TEARDOWN[0].to_owned();
        let told = teardown(&bill).unwrap();
        let charged = format!("in time, {} are charged", rough(amount.ns, Unit::NsPerOp));
        assert!(told.contains(&charged), "{told}");
    }

    #[test]
    fn without_counters_the_reason_is_a_note() {
        let why = Some("perf_event_paranoid is 3".to_owned());
        let text = terminal(&view(&Bill { no_instructions: why, ..find() }));
        assert!(text.contains("no bill in instructions: perf_event_paranoid is 3"), "{text}");
    }
}
