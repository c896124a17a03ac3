//! First touches of much memory: at the cool end they get pages that no cache holds, after a walk.

use oscost_model::program_calls::{FaultCounts, KernelEvents};

use super::super::ranges::is_at_end;
use super::*;

const MIB: u64 = 1 << 20;
const FEW: &str = "fault/zero-fill:access=write,pages=4k,map=outside,order=ascending";

/// The selectors of both ends of the range.
const ENDS: [&str; 2] = [
    "fault/zero-fill:access=write,pages=4k,mapping_mib=usual,between=clock",
    "fault/zero-fill:access=write,pages=4k,mapping_mib=64,between=walk",
];

fn end() -> String {
    ENDS[1].to_owned()
}

/// The rows of both ends: alone a first touch of few pages takes 1,330 ns, and of many after a walk
/// 3,030.
fn rows_of_ends() -> Vec<Row> {
    vec![
        row(&format!("{FEW},mapping_mib=64,between=walk"), 3_030.0),
        row(&format!("{FEW},between=clock"), 1_330.0),
    ]
}

/// A first touch takes 1,250 ns, at the end of the range 1,700 more; a walk adds 100 ns to it.
fn rows() -> Vec<Row> {
    let alone = |walk: &str, ns: f64| {
        let mut row = row(FEW, ns);
        row.target.treatments = vec![format!("cool={walk}")];
        row.class = Some("light".to_owned());
        row
    };
    let others = [row(FEW, 1_250.0), alone("0", 1_300.0), alone("1M", 1_400.0)];
    [rows_of_ends(), others.into()].concat()
}

/// A program in so many processes, with first touches of a known kind and with faults of no known one.
fn program(processes: u64, zero_fill: u64) -> ProgramCalls {
    let faults = FaultCounts { zero_fill, ..FaultCounts::default() };
    let events = Some(KernelEvents { faults, ..KernelEvents::default() });
    ProgramCalls { events, forks: processes - 1, ..calls(Vec::new()) }
}

/// The warm and the cool amount of one of an item, and where the latter comes from.
fn of_one(
    rows: Vec<Row>,
    calls: &ProgramCalls,
    minor: f64,
    name: &str,
) -> (f64, f64, Option<String>) {
    let (records, catalog) = ([record(rows)], catalog());
    let prices = PriceList::new(&records, &catalog);
    let cool = CoolPrices::new(&records, &catalog, &prices, MIB);
    let mut found = charge(calls, Faults { minor, major: 0.0 }, &prices, 1e7);
    charge_cool(&mut found, calls, &prices, &cool);
    let item = found.items.iter().find(|item| item.name == name).unwrap();
    let ns = |amount: &Option<Amount>| (amount.as_ref().unwrap().ns / item.times).round();
    (ns(&item.amount), ns(&item.cool_amount), item.cool_source.clone())
}

#[test]
fn a_process_that_touches_more_than_8_mib_pays_for_pages_that_no_cache_holds() {
    let of = |processes, zero_fill| {
        let name = "zero-fill page fault";
        of_one(rows(), &program(processes, zero_fill), zero_fill as f64, name)
    };
    assert_eq!(of(1, 2_049), (1_250.0, 2_950.0, Some(end())), "the clock's part is at both ends");
    // Others pay what a walk adds.
    assert_eq!(of(1, 2_048), (1_250.0, 1_350.0, Some("cool=1M".to_owned())));
    assert_eq!(of(4, 8_192), (1_250.0, 1_350.0, Some("cool=1M".to_owned())));
    assert_eq!(of(4, 8_196), (1_250.0, 2_950.0, Some(end())));
}

#[test]
fn faults_of_no_known_kind_have_the_same_range_and_the_larger_addition_is_the_cool_end() {
    let of = |rows: Vec<Row>| of_one(rows, &program(1, 0), 3_000.0, "minor page fault");
    assert_eq!(of(rows()), (1_250.0, 2_950.0, Some(end())));
    let mut dearer_walk = rows();
    dearer_walk.truncate(3);
    let alone = |walk: &str, ns: f64| {
        let mut row = row(FEW, ns);
        row.target.treatments = vec![format!("cool={walk}")];
        row
    };
    dearer_walk.extend([alone("0", 1_300.0), alone("1M", 3_100.0)]);
    assert_eq!(of(dearer_walk), (1_250.0, 3_050.0, Some("cool=1M".to_owned())), "not both");
    for end in [0, 1] {
        let mut without = rows();
        without.remove(end);
        assert_eq!(of(without), (1_250.0, 1_350.0, Some("cool=1M".to_owned())), "both or none");
    }
}

#[test]
fn touches_that_are_timed_alone_are_no_price() {
    let (records, catalog) = ([record(rows_of_ends())], catalog());
    let prices = PriceList::new(&records, &catalog);
    let faults = Faults { minor: 3_000.0, major: 0.0 };
    let found = charge(&program(1, 3_000), faults, &prices, 1e7);
    assert!(found.items.iter().all(|item| item.amount.is_none()), "{:?}", found.items);
}

#[test]
fn a_walk_before_touches_of_much_memory_tells_nothing_of_other_calls() {
    for (of_much, case) in [
        (true, format!("{FEW},mapping_mib=64")),
        (true, format!("{FEW},mapping_mib=64,between=walk")),
        (false, FEW.to_owned()),
    ] {
        assert_eq!(is_at_end(&case), of_much, "{case}");
    }
}

#[test]
fn the_rows_of_the_ends_are_lacking_for_many_faults_alone_and_no_walk_is_asked_for_before_them() {
    let catalog = catalog();
    let lacking = |zero_fill: u64| {
        let records = [record(vec![row(FEW, 1_250.0)])];
        let prices = PriceList::new(&records, &catalog);
        let faults = Faults { minor: zero_fill as f64, major: 0.0 };
        let found = lacking_prices(&program(1, zero_fill), faults, &prices, &prices, &catalog);
        let found = found.into_iter();
        found.map(|it| (it.selector, it.amount_ns, it.is_of_range)).collect::<Vec<_>>()
    };
    assert!(lacking(2_000).is_empty());
    let expected = ENDS.map(|end| (end.to_owned(), Some(4_000.0 * 850.0), true));
    assert_eq!(lacking(4_000), expected);
    let records = [record([rows_of_ends(), vec![row(FEW, 1_250.0)]].concat())];
    let prices = PriceList::new(&records, &catalog);
    let calls = program(1, 4_000);
    let faults = Faults { minor: 4_000.0, major: 0.0 };
    let found = charge(&calls, faults, &prices, 1e7);
    let cases = cases_to_cool(&found.items, MIB, &prices, &catalog, |_| false);
    assert_eq!(cases, [FEW]);
}
