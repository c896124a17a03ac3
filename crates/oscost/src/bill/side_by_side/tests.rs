//! Two made-up bills whose changes are known.

use super::*;

/// 1,000 opens of 2 us and 1,000 closes of 1 us, 200 faults of 0.5 us; 10 ms of system time.
fn bill() -> Bill {
    serde_json::from_str(include_str!("../../../tests/store/bill-1.json")).unwrap()
}

fn compare(base: &Bill, new: &Bill) -> BillComparison {
    side_by_side(base, new).unwrap()
}

/// The bill as that of a process that was watched so long.
fn watched(bill: Bill, seconds: f64) -> Bill {
    let watched =
        Watched { pid: 7, seconds, threads: 1, children: false, ended: false, on_cpu_ns: None };
    Bill { watched: Some(watched), ..bill }
}

fn item<'a>(found: &'a BillComparison, name: &str) -> &'a ItemChange {
    found.items.iter().find(|item| item.name == name).unwrap()
}

/// The item of a bill with another count and another price, 10 % more or less.
fn set(bill: &mut Bill, name: &str, times: f64, unit_ns: f64) {
    let item = bill.items.iter_mut().find(|item| item.name == name).unwrap();
    let unit = Amount { ns: unit_ns, ci95: Some([0.9 * unit_ns, 1.1 * unit_ns]) };
    item.times = times;
    item.amount = Some(unit.times(times));
    item.unit = Some(unit);
}

fn rounded(amount: Option<&Amount>) -> Option<f64> {
    amount.map(|amount| amount.ns.round())
}

fn ends(amount: &Amount) -> [f64; 2] {
    amount.ci95.unwrap().map(f64::round)
}

#[test]
fn a_change_is_count_at_the_old_price_and_price_of_what_is_there_now() {
    let (base, mut new) = (bill(), bill());
    set(&mut new, "openat file", 1_310.0, 2_500.0);
    let found = compare(&base, &new);
    let open = item(&found, "openat file");
    assert_eq!((open.base_times, open.new_times), (1_000.0, 1_310.0));
    assert_eq!(rounded(open.by_count.as_ref()), Some(310.0 * 2_000.0));
    assert_eq!(rounded(open.by_price.as_ref()), Some(1_310.0 * 500.0));
    assert_eq!(rounded(open.change.as_ref()), Some(1_310.0 * 2_500.0 - 1_000.0 * 2_000.0));
    assert_eq!(open.price_ratio.map(|ratio| (100.0 * ratio).round()), Some(125.0));
    assert_eq!(found.items[0].name, "openat file", "the largest change is first");
    // Prices of 2,000 with 200 and of 2,500 with 250: root of squares.
    let per_call = 200f64.hypot(250.0);
    let expected = [500.0 - per_call, 500.0 + per_call].map(|end| (1_310.0 * end).round());
    assert_eq!(ends(open.by_price.as_ref().unwrap()), expected);
}

#[test]
fn the_parts_of_all_changes_add_up_to_the_change_of_the_sum() {
    let (base, mut new) = (bill(), bill());
    set(&mut new, "openat file", 1_310.0, 2_500.0);
    set(&mut new, "close file", 900.0, 1_100.0);
    let found = compare(&base, &new);
    let priced = |bill: &Bill| -> f64 {
        bill.items.iter().filter_map(|item| item.amount.as_ref()).map(|amount| amount.ns).sum()
    };
    let parts = found.items.iter().filter_map(|it| it.by_count.as_ref().zip(it.by_price.as_ref()));
    let sum: f64 = parts.map(|(count, price)| count.ns + price.ns).sum();
    assert!((sum - (priced(&new) - priced(&base))).abs() < 1e-3, "{sum}");
}

#[test]
fn at_one_price_only_the_count_has_changed_and_one_error_is_in_the_change() {
    let (base, mut new) = (bill(), bill());
    // A third of a count: the price of one is only nearly the same after a division.
    set(&mut new, "close file", 1_000.0 / 3.0, 1_000.0);
    let found = compare(&base, &new);
    let close = item(&found, "close file");
    assert_eq!(close.by_price, Some(nothing()));
    assert_eq!(close.change, close.by_count);
    assert_eq!(ends(close.change.as_ref().unwrap()), [-733_333.0, -600_000.0]);
    let same = item(&found, "openat file");
    assert_eq!(rounded(same.change.as_ref()), Some(0.0));
    assert_eq!(ends(same.change.as_ref().unwrap()), [0.0, 0.0], "it is exactly the same");
}

#[test]
fn an_item_that_one_bill_has_is_count_alone() {
    let (mut base, mut new) = (bill(), bill());
    base.items.retain(|item| item.name != "close file");
    new.items.retain(|item| item.name != "openat file");
    let found = compare(&base, &new);
    let (close, open) = (item(&found, "close file"), item(&found, "openat file"));
    assert_eq!((close.base_times, rounded(close.base_amount.as_ref())), (0.0, Some(0.0)));
    assert_eq!((open.new_times, rounded(open.new_amount.as_ref())), (0.0, Some(0.0)));
    assert_eq!(rounded(close.by_count.as_ref()), Some(1e6));
    assert_eq!(rounded(open.by_count.as_ref()), Some(-2e6));
    assert_eq!([&close.price_ratio, &open.price_ratio], [&None, &None]);
    assert_eq!(found.items[0].name, "openat file", "a fall is a change");
}

#[test]
fn what_has_no_price_on_a_side_has_no_change_and_comes_last() {
    let (base, mut new) = (bill(), bill());
    let unpriced = new.items.iter_mut().find(|item| item.name == "close file").unwrap();
    (unpriced.unit, unpriced.amount) = (None, None);
    let found = compare(&base, &new);
    let close = item(&found, "close file");
    assert_eq!((&close.change, &close.by_count, &close.by_price), (&None, &None, &None));
    assert_eq!(rounded(close.base_amount.as_ref()), Some(1e6));
    assert_eq!(close.new_amount, None, "it is not known, and not 0");
    let names: Vec<&str> = found.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["minor page fault", "openat file", "close file", "getppid"]);
}

#[test]
fn means_of_trials_are_compared_by_welch_and_medians_by_their_intervals() {
    let (base, mut new) = (bill(), bill());
    new.trials.system.mean = 0.0112;
    new.trials.system_time.ns = 1.12e7;
    let found = compare(&base, &new);
    assert_eq!(found.system.change.ns.round(), 1.2e6);
    // Twenty trials of 0.8 ms on each side: 2.024 standard errors of 0.253 ms.
    let [low, high] = found.system.change.ci95.unwrap();
    assert!((low - 0.688e6).abs() < 2e3 && (high - 1.712e6).abs() < 2e3, "{low} {high}");
    assert_eq!(found.system.may_be_nothing(), Some(false));
    new.trials.system_figure = "median".to_owned();
    let found = compare(&base, &new);
    // 1.55 ms below the new one, since its interval stayed where it was, and 0.35 above the base.
    let [low, _] = found.system.change.ci95.unwrap();
    assert_eq!(low.round(), (1.2e6 - 1.55e6f64.hypot(0.35e6)).round());
    assert_eq!(found.system.may_be_nothing(), Some(true));
    new.trials.system_time.ci95 = None;
    assert_eq!(compare(&base, &new).system.may_be_nothing(), None, "it is not known");
}

#[test]
fn a_bill_without_counts_has_a_reason_and_no_items() {
    let (mut base, new) = (bill(), bill());
    (base.counted, base.charged, base.difference) = (None, None, None);
    base.not_counted = Some("ptrace is refused".to_owned());
    let found = compare(&base, &new);
    assert!(found.items.is_empty() && found.charged.is_none() && found.difference.is_none());
    assert_eq!(found.not_compared.as_deref(), Some("the base has no items: ptrace is refused"));
    assert_eq!(found.system.change.ns, 0.0);
}

#[test]
fn the_counters_and_what_they_lost_are_those_of_the_bills() {
    let (base, mut new) = (bill(), bill());
    let counted = new.counted.as_mut().unwrap();
    counted.calls.by = "ebpf".to_owned();
    counted.lost_events = 3;
    let found = compare(&base, &new);
    assert_eq!([found.base.lost_events, found.new.lost_events], [0, 3]);
    let counters = [found.base.counter.as_deref(), found.new.counter.as_deref()];
    assert_eq!(counters, [Some("ptrace"), Some("ebpf")]);
}

#[test]
fn another_kernel_is_named() {
    let (base, mut new) = (bill(), bill());
    assert!(compare(&base, &new).differing.is_empty());
    new.machine.os.release = Some("7.0.1".to_owned());
    let differing = compare(&base, &new).differing;
    assert!(differing.len() == 1 && differing[0].contains("7.0.1"), "{differing:?}");
}

#[test]
fn bills_of_watched_processes_are_compared_by_the_second() {
    let base = watched(bill(), 10.0);
    let mut new = watched(bill(), 4.0);
    let found = compare(&base, &new);
    assert!(found.is_per_second());
    let open = item(&found, "openat file");
    assert_eq!((open.base_times, open.new_times), (100.0, 250.0));
    assert_eq!(rounded(open.by_count.as_ref()), Some(150.0 * 2_000.0));
    assert_eq!(open.by_price, Some(nothing()), "the price of one is the same");
    assert_eq!(found.system.base.ns.round(), 1e6);
    assert_eq!(found.system.new.ns.round(), 2.5e6);
    let charged = found.charged.unwrap();
    assert_eq!((charged.base.ns.round(), charged.new.ns.round()), (310_000.0, 775_000.0));
    // As long and as much as before is no change.
    new = watched(bill(), 10.0);
    assert_eq!(compare(&base, &new).system.change.ns, 0.0);
}

#[test]
fn a_command_and_a_running_process_have_nothing_in_common_nor_has_a_watch_of_no_time() {
    let process = watched(bill(), 10.0);
    for (base, new) in [(&bill(), &process), (&process, &bill())] {
        let why = side_by_side(base, new).unwrap_err();
        assert!(why.starts_with("one is of whole runs of a command"), "{why}");
    }
    let why = side_by_side(&process, &watched(bill(), 0.0)).unwrap_err();
    assert_eq!(why, "process 7 was watched for no time");
}

#[test]
fn a_function_around_each_call_in_one_bill_alone_is_told() {
    let (base, mut new) = (bill(), bill());
    assert!(compare(&base, &new).differing.is_empty());
    let open = new.items.iter_mut().find(|item| item.name == "openat file").unwrap();
    open.function_added = Some(Amount { ns: 1e5, ci95: None });
    let words = "1 item has the price of calls through a function in one bill alone";
    assert_eq!(compare(&base, &new).differing, [words]);
}
