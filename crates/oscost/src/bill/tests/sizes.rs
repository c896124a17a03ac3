//! Calls of which a row of another size, or of another run, has the price.

use super::*;

const ONE: &str = "pipe/throughput:by=pipe,size=65536,peer_cpu=same";

/// A message through a pipe, of one size.
fn pipe(size: u64, ns: f64) -> Row {
    row(&format!("pipe/throughput:by=pipe,size={size},peer_cpu=same"), ns)
}

fn writes(bytes: u64, calls: u64) -> FormCount {
    form("write pipe", Some(bytes.next_power_of_two()), calls, calls * bytes)
}

/// What these calls are charged by 64 KiB alone, 4,000 ns each, the doubt, and why they have no price.
fn by_one_size(forms: Vec<FormCount>) -> (Option<f64>, Option<String>, Option<String>) {
    let found = charges(vec![pipe(65_536, 8_000.0)], forms, Faults::default());
    let item = &found.items[0];
    if item.amount.is_none() || item.doubt.is_some() {
        assert_eq!(found.missing, ["pipe/throughput:by=pipe"], "it is to be measured");
    }
    (amount(&found, "write pipe"), item.doubt.clone(), item.missing.clone())
}

#[test]
fn a_far_size_of_a_current_run_does_not_hide_the_sizes_of_an_outdated_one() {
    let current = record(vec![pipe(65_536, 8_000.0)]);
    let outdated = record(vec![pipe(64, 400.0), pipe(4_096, 1_000.0), pipe(65_536, 9_000.0)]);
    let others = PriceList::new([&outdated], &catalog());
    let prices = PriceList::new([&current], &catalog()).with_others(others);
    let charged = |bytes: u64| {
        let found = charge(&calls(vec![writes(bytes, 10)]), Faults::default(), &prices, 0.0);
        let item = found.items[0].clone();
        (amount(&found, "write pipe"), item.rows, item.doubt)
    };
    let row = "pipe/throughput:by=pipe,size=4096,peer_cpu=same".to_owned();
    assert_eq!(charged(4_096), (Some(5_000.0), vec![row.clone()], None));
    assert!(prices.has_in_others_alone(&row), "the bill says that this price is stale");
    // What is near to the size of now is of now.
    assert_eq!(charged(65_536), (Some(40_000.0), vec![ONE.to_owned()], None));
}

#[test]
fn sizes_of_several_current_runs_are_those_of_one_line() {
    let last = record(vec![pipe(65_536, 8_000.0)]);
    let before = record(vec![pipe(4_096, 1_000.0), pipe(65_536, 1.0)]);
    let prices = PriceList::new([&last, &before], &catalog());
    let found = charge(&calls(vec![writes(34_816, 2)]), Faults::default(), &prices, 0.0);
    // The middle of both sizes, half of which a call pays.
    assert_eq!(amount(&found, "write pipe"), Some(2.0 * 2_250.0));
}

#[test]
fn of_rows_that_are_equally_usual_those_near_the_size_have_the_price() {
    let small = |size: u64, ns: f64| {
        row(&format!("pipe/throughput:by=pipe,size={size},peer_cpu=other"), ns)
    };
    let narrow = row(&format!("{ONE},capacity=4096"), 90_000.0);
    let rows = vec![narrow, small(64, 600.0), small(4_096, 2_000.0)];
    let found = charges(rows.clone(), vec![writes(4_096, 10)], Faults::default());
    assert_eq!(amount(&found, "write pipe"), Some(10_000.0));
    assert!(found.items[0].doubt.is_none());
    let found = charges(rows, vec![writes(65_536, 10)], Faults::default());
    assert_eq!(amount(&found, "write pipe"), Some(450_000.0), "the first one that is near");
}

#[test]
fn a_single_size_prices_what_is_near_with_doubt_what_is_farther_and_nothing_beyond() {
    let of = |bytes: u64| by_one_size(vec![writes(bytes, 10)]);
    for near in [32_768, 65_536, 131_072] {
        assert_eq!(of(near), (Some(40_000.0), None, None), "{near}");
    }
    let doubt = |words: &str| (Some(40_000.0), Some(format!("{ONE} alone: {words}")), None);
    assert_eq!(of(20_000), doubt("3.3 times their size"));
    assert_eq!(of(200_000), doubt("the calls are 3.1 times as large"));
    let none = |words: &str| (None, None, Some(format!("only a price of {ONE}: {words}")));
    assert_eq!(of(4_096), none("16 times their size"));
    assert_eq!(of(300_000), none("the calls are 4.6 times as large"));
}

#[test]
fn a_few_calls_of_a_far_size_leave_the_others_their_price() {
    let of =
        |bytes: u64, calls: u64| by_one_size(vec![writes(65_536, 1_000), writes(bytes, calls)]);
    let doubt = Some(format!("{ONE} alone: 79 times their size"));
    assert_eq!(of(832, 9), (Some(1_009.0 * 4_000.0), doubt, None));
    let missing = Some(format!("only a price of {ONE}: 79 times their size"));
    assert_eq!(of(832, 11), (None, None, missing), "over one in a hundred");
    // One call that is sixteen times as large may take as much as sixteen.
    assert_eq!(of(1 << 20, 1).0, None);
    // One that moves nothing is so many times smaller than none.
    let nothing = form("write pipe", Some(0), 5, 0);
    let doubt = Some(format!("{ONE} alone: the calls move nothing"));
    assert_eq!(by_one_size(vec![nothing]), (Some(20_000.0), doubt, None));
}

#[test]
fn what_a_change_adds_is_that_of_a_call_of_any_size() {
    let record = record(vec![pipe(65_536, 100.0)]);
    let added = PriceList::of_added_costs([&record], &catalog());
    let found = charge(&calls(vec![writes(4_096, 10)]), Faults::default(), &added, 0.0);
    assert_eq!(amount(&found, "write pipe"), Some(500.0));
}

#[test]
fn the_sizes_of_calls_with_a_far_price_alone_are_lacking() {
    let catalog = catalog();
    let sizes_are_lacking = |rows: Vec<Row>| {
        let record = record(rows);
        let prices = PriceList::new([&record], &catalog);
        let counted = calls(vec![writes(4_096, 1_000)]);
        let found = lacking_prices(&counted, Faults::default(), &prices, &prices, &catalog);
        let of_pipe = found.iter().find(|it| it.selector == "pipe/throughput:by=pipe");
        of_pipe.is_some_and(|it| it.size_axis.as_deref() == Some("size"))
    };
    let far = pipe(65_536, 8_000.0);
    assert!(sizes_are_lacking(vec![far.clone()]));
    assert!(!sizes_are_lacking(vec![far, pipe(4_096, 1_000.0)]));
}

#[test]
fn both_ends_of_what_a_path_adds_are_of_one_run() {
    let depth = |depth: u32, ns: f64| row(&format!("directory/path-depth:depth={depth}"), ns);
    let current = record(vec![row("directory/open:by=openat", 400.0), depth(1, 200.0)]);
    let outdated = record(vec![depth(1, 300.0), depth(5, 400.0)]);
    let others = PriceList::new([&outdated], &catalog());
    let prices = PriceList::new([&current], &catalog()).with_others(others);
    let charged = |components: u32| {
        let open = FormCount { depth: Some(components), ..form("openat file", None, 10, 0) };
        let found = charge(&calls(vec![open]), Faults::default(), &prices, 0.0);
        amount(&found, "openat file")
    };
    assert_eq!((charged(1), charged(5)), (Some(2_000.0), Some(3_000.0)));
}
