//! Pages that are freed, on made-up rows and counts.

use oscost_model::program_calls::{FaultCounts, KernelEvents};

use super::faults_in_prices::with_faults;
use super::*;

/// What a program is charged that touched 1,000 pages of its own, copied 100 and created a process, if
/// so many processes have ended by themselves. It freed ten pages before.
fn found(rows: Vec<Row>, exits: u64) -> Charges {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    let faults = FaultCounts {
        zero_fill: 1_000,
        copy_on_write: 100,
        page_reuse: 70,
        huge_zero_fill: 7,
        file_minor: 50,
        ..FaultCounts::default()
    };
    let events = KernelEvents { faults, mapped_file_pages: Some(640), ..KernelEvents::default() };
    let events = Some(events);
    let forms = vec![form("exit_group", None, exits, 0), form("madvise", Some(65_536), 1, 40_960)];
    let calls = ProgramCalls { events, forks: 1, ..calls(forms) };
    charge(&calls, Faults { minor: 1_227.0, major: 0.0 }, &prices, 1e6)
}

fn rows() -> Vec<Row> {
    vec![
        row("process/exit-resident:touched_mib=1", 50_000.0),
        row("process/exit-resident:touched_mib=64", 50_000.0 + 63.0 * 256.0 * 60.0),
        row("process/exit-resident:touched_mib=1,backing=file", 45_000.0),
        row("process/exit-resident:touched_mib=64,backing=file", 45_000.0 + 63.0 * 256.0 * 25.0),
    ]
}

#[test]
fn each_private_page_pays_what_an_exit_takes_more_with_it() {
    let charges = found(rows(), 2);
    let item = charges.items.iter().find(|item| item.name == "freed private page").unwrap();
    assert_eq!((item.times, item.family.as_str(), item.rows.len()), (1_090.0, "memory", 2));
    assert_eq!(item.unit.as_ref().map(|unit| unit.ns.round()), Some(60.0));
    assert_eq!(amount(&charges, "freed private page"), Some(1_090.0 * 60.0));
}

#[test]
fn each_page_of_a_file_pays_what_an_exit_takes_more_with_it() {
    let charges = found(rows(), 2);
    let item = charges.items.iter().find(|item| item.name == "unmapped file page").unwrap();
    assert_eq!((item.times, item.family.as_str(), item.rows.len()), (640.0, "memory", 2));
    assert_eq!(amount(&charges, "unmapped file page"), Some(640.0 * 25.0));
    // Its rows are no price of private pages, nor the other way round.
    let charges = found(rows()[..2].to_vec(), 2);
    let item = charges.items.iter().find(|item| item.name == "unmapped file page").unwrap();
    assert_eq!(
        (&item.amount, item.case.as_deref()),
        (&None, Some("process/exit-resident:backing=file"))
    );
    let charges = found(rows()[2..].to_vec(), 2);
    assert_eq!(amount(&charges, "unmapped file page"), Some(640.0 * 25.0));
    assert_eq!(amount(&charges, "freed private page"), None);
}

#[test]
fn pages_are_not_known_to_be_freed_at_an_exit_where_madvise_was_given_more() {
    let of_advised = |bytes: u64| {
        let record = record(rows());
        let prices = PriceList::new([&record], &catalog());
        let faults = FaultCounts { zero_fill: 1_000, ..FaultCounts::default() };
        let events = Some(KernelEvents { faults, ..KernelEvents::default() });
        let forms = vec![form("exit_group", None, 1, 0), form("madvise", Some(4_096), 1, bytes)];
        let calls = ProgramCalls { events, ..calls(forms) };
        let charges = charge(&calls, Faults { minor: 1_000.0, major: 0.0 }, &prices, 1e6);
        let item = charges.items.into_iter().find(|item| item.name == "freed private page");
        item.map(|item| (item.times, item.amount.is_some(), item.missing))
    };
    assert_eq!(of_advised(40_960), Some((990.0, true, None)));
    assert_eq!(of_advised(4_096_000), None, "all of them");
    let (times, has_amount, missing) = of_advised(1 << 30).unwrap();
    let why = missing.unwrap();
    assert!(times == 1_000.0 && !has_amount, "{times}");
    assert!(why.starts_with("madvise(2) was given 262144 pages, which are more: "), "{why}");
}

#[test]
fn pages_that_prices_of_forks_contain_too_much_are_taken_off() {
    let case = "process/fork-exit:touched_mib=0,peer_cpu=same";
    let record = record([rows(), vec![with_faults(case, 100_000.0, 3.0, 0.0)]].concat());
    let prices = PriceList::new([&record], &catalog());
    let faults = FaultCounts { copy_on_write: 10, ..FaultCounts::default() };
    let events = Some(KernelEvents { faults, ..KernelEvents::default() });
    let forms = vec![form("clone process", None, 10, 0), form("exit_group", None, 11, 0)];
    let calls = ProgramCalls { events, forks: 10, ..calls(forms) };
    let charges = charge(&calls, Faults { minor: 100.0, major: 0.0 }, &prices, 1e6);
    let item = charges.items.iter().find(|item| item.name == "freed private page").unwrap();
    assert_eq!((item.times, item.below_zero.is_some()), (-20.0, true));
    assert_eq!(item.unit.as_ref().map(|unit| unit.ns.round()), Some(60.0));
    assert_eq!(amount(&charges, "freed private page"), Some(-20.0 * 60.0));
}

#[test]
fn pages_of_a_process_that_goes_on_are_not_freed_and_one_row_is_no_line() {
    let charges = found(rows(), 1);
    for name in ["freed private page", "unmapped file page"] {
        assert!(!charges.items.iter().any(|item| item.name == name));
    }
    let charges = found(rows()[..1].to_vec(), 2);
    assert_eq!(amount(&charges, "freed private page"), None);
}

#[test]
fn the_copies_of_a_fork_are_charged_as_faults_where_it_has_no_price() {
    let copies = |rows: Vec<Row>| {
        let record = record(rows);
        let prices = PriceList::new([&record], &catalog());
        let faults = FaultCounts { copy_on_write: 100, ..FaultCounts::default() };
        let events = Some(KernelEvents { faults, ..KernelEvents::default() });
        let forms = vec![form("clone process", None, 10, 0), form("exit_group", None, 11, 0)];
        let calls = ProgramCalls { events, forks: 10, ..calls(forms) };
        let faults = Faults { minor: 100.0, major: 0.0 };
        let charges = charge(&calls, faults, &prices, 1e6);
        ["copy-on-write page fault", "freed private page"]
            .map(|name| charges.items.iter().find(|item| item.name == name).unwrap().times)
    };
    let case = "process/fork-exit:touched_mib=0,peer_cpu=same";
    let fork = with_faults(case, 100_000.0, 3.0, 0.0);
    assert_eq!(copies(vec![fork]), [70.0; 2]);
    assert_eq!(copies(Vec::new()), [100.0; 2]);
}

#[test]
fn both_sizes_are_measured_if_they_lack() {
    let prices = PriceList::new([], &catalog());
    let faults = FaultCounts { zero_fill: 900, ..FaultCounts::default() };
    let events = KernelEvents { faults, mapped_file_pages: Some(700), ..KernelEvents::default() };
    let calls =
        ProgramCalls { events: Some(events), ..calls(vec![form("exit_group", None, 1, 0)]) };
    let faults = Faults { minor: 900.0, major: 0.0 };
    let lacking = lacking_prices(&calls, faults, &prices, &prices, &catalog());
    let both = ["anonymous", "file"].map(|it| format!("process/exit-resident:backing={it}"));
    for case in &both {
        let found = lacking.iter().find(|it| it.selector == *case).unwrap();
        assert_eq!(found.size_axis.as_deref(), Some("touched_mib"));
    }
    // A store that has the rows of one kind still lacks those of the other.
    for (measured, other) in [(0..2, &both[1]), (2..4, &both[0])] {
        let record = record(rows()[measured].to_vec());
        let prices = PriceList::new([&record], &catalog());
        let lacking = lacking_prices(&calls, faults, &prices, &prices, &catalog());
        let selectors = lacking.into_iter().map(|it| it.selector);
        let found: Vec<String> = selectors.filter(|it| both.contains(it)).collect();
        assert_eq!(found, std::slice::from_ref(other));
    }
}
