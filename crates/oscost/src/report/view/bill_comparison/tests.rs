//! Made-up comparisons whose sentences are known.

use oscost_model::bill::Watched;
use oscost_model::bill_comparison::BILL_COMPARISON_SCHEMA;

use super::*;

fn amount(ns: f64, low: f64, high: f64) -> Amount {
    Amount { ns, ci95: Some([low, high]) }
}

fn bill(number: u32) -> ComparedBill {
    ComparedBill {
        id: format!("0190a0b1-c2d3-7e4f-8a9b-{number:012}"),
        started: "2026-11-21T08:20:00Z".to_owned(),
        label: Some(format!("version {number}")),
        program: vec!["find".to_owned(), "/usr".to_owned()],
        treatments: Vec::new(),
        watched: None,
        trials: 20,
        system_figure: "mean".to_owned(),
        price_run: Some("0190a0b1-c2d3-7e4f-8a9b-000000000001".to_owned()),
        counter: Some("ptrace".to_owned()),
        lost_events: 0,
    }
}

/// Opens grow by 310 and by a fourth of their price, closes by their price alone, and one call has
/// no price.
fn compared() -> BillComparison {
    let open = ItemChange {
        name: "openat file".to_owned(),
        base_times: 1_000.0,
        new_times: 1_310.0,
        base_amount: Some(amount(2e6, 1.8e6, 2.2e6)),
        new_amount: Some(amount(3.275e6, 2.9e6, 3.6e6)),
        change: Some(amount(1.275e6, 0.9e6, 1.6e6)),
        by_count: Some(amount(0.62e6, 0.56e6, 0.68e6)),
        by_price: Some(amount(0.655e6, 0.2e6, 1.1e6)),
        price_ratio: Some(1.25),
    };
    let close = ItemChange {
        name: "close file".to_owned(),
        base_times: 1_000.0,
        new_times: 1_000.0,
        base_amount: Some(amount(1e6, 0.9e6, 1.1e6)),
        new_amount: Some(amount(1.12e6, 1e6, 1.24e6)),
        change: Some(amount(0.12e6, -0.05e6, 0.27e6)),
        by_count: Some(amount(0.0, 0.0, 0.0)),
        by_price: Some(amount(0.12e6, -0.05e6, 0.27e6)),
        price_ratio: Some(1.12),
    };
    let small = ItemChange {
        name: "getuid".to_owned(),
        base_times: 1.0,
        new_times: 2.0,
        base_amount: Some(amount(100.0, 90.0, 110.0)),
        new_amount: Some(amount(200.0, 180.0, 220.0)),
        change: Some(amount(100.0, 90.0, 110.0)),
        by_count: Some(amount(100.0, 90.0, 110.0)),
        by_price: Some(amount(0.0, 0.0, 0.0)),
        price_ratio: Some(1.0),
    };
    let unpriced = ItemChange {
        name: "no_such\u{1b}[31m_call".to_owned(),
        base_times: 3.0,
        new_times: 9.0,
        base_amount: None,
        new_amount: None,
        change: None,
        by_count: None,
        by_price: None,
        price_ratio: None,
    };
    let change = |base: f64, new: f64, half: f64| AmountChange {
        base: amount(base, 0.9 * base, 1.1 * base),
        new: amount(new, 0.9 * new, 1.1 * new),
        change: amount(new - base, new - base - half, new - base + half),
    };
    BillComparison {
        schema: BILL_COMPARISON_SCHEMA.to_owned(),
        base: bill(2),
        new: bill(3),
        differing: Vec::new(),
        system: change(10e6, 13.1e6, 1e6),
        charged: Some(change(3e6, 4.395e6, 0.5e6)),
        difference: Some(change(7e6, 8.705e6, 1.2e6)),
        not_compared: None,
        items: vec![open, close, small, unpriced],
    }
}

fn text(compared: &BillComparison) -> String {
    crate::report::terminal(&view(compared))
}

/// The text with all its line breaks and blanks as one blank each.
fn flat(compared: &BillComparison) -> String {
    text(compared).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_first_sentence_has_the_change_its_interval_and_its_largest_parts() {
    let found = flat(&compared());
    let expected = "new spends 3.10 ms more in the kernel than base (95 %: 2.10 .. 4.10 ms); by \
                    the prices: +655 us because one openat file costs 1.25 times as much, +620 us \
                    for 310 more x openat file, +120 us because one close file costs 1.12 times \
                    as much";
    assert!(found.contains(expected), "{found}");
    let mut less = compared();
    less.system.change = amount(-2e6, -3e6, -1e6);
    less.items.clear();
    assert!(flat(&less).contains("new spends 2.00 ms less in the kernel than base (95 %: -3.00"));
}

#[test]
fn a_change_that_may_be_nothing_is_said_to_and_is_no_verdict() {
    let mut unsure = compared();
    unsure.system.change = amount(3.1e6, -1e6, 7.2e6);
    let found = flat(&unsure);
    let expected = "than base, which may be nothing (95 %: -1.00 .. 7.20 ms)";
    assert!(found.contains(expected), "{found}");
    assert!(found.contains("these trials do not show that anything has changed"), "{found}");
    unsure.system.change.ci95 = None;
    let found = flat(&unsure);
    assert!(found.contains("and how sure that is is not known"), "{found}");
    for found in [flat(&compared()), found] {
        assert!(found.contains("which no interval here has: make each again, in turns"), "{found}");
    }
}

#[test]
fn rows_are_the_changes_then_the_totals_and_what_is_not_known_is_listed() {
    let table = table(&compared());
    let names: Vec<&str> = table.rows.iter().map(|row| row.cells[0].text.as_str()).collect();
    let totals = ["charged in all", "measured system time", "the difference"];
    assert_eq!(names[..3], ["openat file", "close file", "1 smaller change"]);
    assert_eq!(names[3..], totals);
    assert!(table.rows.iter().all(|row| row.cells.len() == table.columns.len()));
    let text = text(&compared());
    assert!(text.contains("no price: no_such[31m_call (3 -> 9)"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert!(!text.contains('\u{1b}'), "{text}");
}

#[test]
fn an_item_that_one_bill_alone_prices_is_the_first_line_and_the_lines_add_up() {
    let mut open = compared();
    let item = ItemChange {
        name: "getdents64 directory".to_owned(),
        base_amount: None,
        new_amount: Some(amount(25.8e6, 24e6, 27e6)),
        ..open.items[3].clone()
    };
    open.items.push(item);
    open.charged = open.charged.map(|mut charged| {
        charged.new.ns += 25.8e6;
        charged.change.ns += 25.8e6;
        charged
    });
    let table = table(&open);
    assert_eq!(table.rows[0].cells[0].text, "getdents64 directory (price in new alone)");
    let change_at = table.columns.iter().position(|it| it.title == "change").unwrap();
    assert_eq!(table.rows[0].cells[change_at].text, "+25.8 ms");
    let of_line = |item: &ItemChange| match &item.change {
        Some(change) => change.ns,
        None => of_item(item).map_or(0.0, |it| it.change.ns),
    };
    let sum: f64 = open.items.iter().map(of_line).sum();
    let charged = open.charged.as_ref().unwrap();
    assert!((sum - charged.change.ns).abs() < 1e3, "{sum}");
    let found = flat(&open);
    let part = "by the prices: +25.8 ms of getdents64 directory, which has a price in new alone, \
                +655 us because";
    assert!(found.contains(part), "{found}");
    assert!(!found.contains("no price: getdents64"), "{found}");
}

#[test]
fn other_commands_kernels_and_price_runs_are_named() {
    let mut other = compared();
    other.new.program = vec!["ls".to_owned()];
    other.new.treatments = vec!["nice=5".to_owned(), "seccomp=allow".to_owned()];
    other.new.price_run = None;
    other.new.system_figure = "median".to_owned();
    other.new.counter = Some("ebpf".to_owned());
    other.new.lost_events = 1;
    other.differing = vec!["the kernel was 6.1, and is 7.0".to_owned()];
    other.not_compared = Some("the base has no items: ptrace is refused".to_owned());
    let found = flat(&other);
    for words in [
        "the commands differ",
        "base ran without treatments, new under nice=5+seccomp=allow",
        "their prices are of two runs",
        "calls of base were counted by ptrace, those of new by ebpf",
        "missing: 1 event had no room in the counter, or met a busy one: the counts of new are too low",
        "the system time of base is the mean of its trials, that of new the median",
        "from base to new: the kernel was 6.1, and is 7.0",
        "the base has no items: ptrace is refused",
    ] {
        assert!(found.contains(words), "`{words}` is not in {found}");
    }
    let same = flat(&compared());
    assert!(same.contains("both have prices of one run"), "{same}");
    assert!(!same.contains("counted by") && !same.contains("no room"), "{same}");
    assert!(!same.contains("treatments"), "{same}");
}

#[test]
fn of_watched_processes_all_is_said_to_be_of_a_second() {
    let mut processes = compared();
    for (bill, seconds) in [(&mut processes.base, 10.0), (&mut processes.new, 4.0)] {
        let (pid, on_cpu_ns) = (7, None);
        let watched =
            Watched { pid, seconds, threads: 2, children: false, ended: false, on_cpu_ns };
        bill.watched = Some(watched);
    }
    let found = flat(&processes);
    for words in [
        "new spends 3.10 ms more in the kernel each second than base",
        "process 7 (2 threads), watched for 10.0 s",
        "times and counts are those of one second",
    ] {
        assert!(found.contains(words), "`{words}` is not in {found}");
    }
    assert!(!found.contains("20 trials"), "{found}");
    assert!(!flat(&compared()).contains("second"), "commands are compared by whole runs");
}

#[test]
fn the_json_is_the_comparison() {
    let text = json(&compared()).unwrap();
    let read: BillComparison = serde_json::from_str(&text).unwrap();
    assert_eq!(read, compared());
    assert!(text.ends_with("}\n"));
}
