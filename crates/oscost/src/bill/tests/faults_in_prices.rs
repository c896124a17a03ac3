//! Page faults that prices of forks and execs contain, by made-up rows.

use oscost_model::batch::{CHILD_MINOR_FAULTS, MINOR_FAULTS};
use oscost_model::bill::BillItem;
use oscost_model::program_calls::{FaultCounts, KernelEvents};
use oscost_model::record::Metric;

use super::*;

/// A row whose op takes so many faults, and so many in its children.
pub(super) fn with_faults(case: &str, ns: f64, own: f64, of_children: f64) -> Row {
    let mut row = row(case, ns);
    let estimate = row.estimate.clone().unwrap();
    for (name, median) in [(MINOR_FAULTS, own), (CHILD_MINOR_FAULTS, of_children)] {
        let (unit, estimate) = (Unit::TimesPerOp, Estimate { median, ..estimate.clone() });
        row.metrics.insert(name.to_owned(), Metric { unit, better: unit.better(), estimate });
    }
    row
}

fn rows() -> Vec<Row> {
    vec![
        with_faults("process/fork-exit:touched_mib=0,peer_cpu=same", 80_000.0, 3.0, 12.0),
        with_faults("process/fork-exec:link=loader", 200_000.0, 3.0, 32.0),
    ]
}

/// How many faults and pages of a shell are charged that has 1,000 faults in ten forks, of which half
/// are copies, and of which each executes a program.
fn charged(rows: Vec<Row>, argument_bytes: u64) -> Vec<(String, f64)> {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    let faults = FaultCounts { copy_on_write: 530, file_minor: 250, ..FaultCounts::default() };
    let mapped_file_pages = Some(2_500);
    let events = Some(KernelEvents { faults, mapped_file_pages, ..KernelEvents::default() });
    let forms = vec![
        form("clone process", None, 10, 0),
        form("execve dynamic", Some(4_096), 10, 10 * argument_bytes),
        form("exit_group", None, 11, 0),
    ];
    let calls = ProgramCalls { events, forks: 10, ..calls(forms) };
    let charges = charge(&calls, Faults { minor: 1_030.0, major: 0.0 }, &prices, 1e6);
    let is_of_memory = |item: &&BillItem| item.family == "memory";
    let mut found: Vec<(String, f64)> = charges
        .items
        .iter()
        .filter(is_of_memory)
        .map(|item| (item.name.clone(), item.times.round()))
        .collect();
    found.sort_by(|one, other| one.0.cmp(&other.0));
    found
}

fn named(found: &[(String, f64)]) -> Vec<(&str, f64)> {
    found.iter().map(|(name, times)| (name.as_str(), *times)).collect()
}

#[test]
fn faults_of_forks_and_execs_are_charged_with_them_alone() {
    // The forks make 30 copies themselves; their children have 120 faults, and 200 more as they
    // execute: 320 of 1,000.
    let found = charged(rows(), 0);
    let expected = [
        ("copy-on-write page fault", 340.0),
        ("file page fault", 170.0),
        ("freed private page", 340.0),
        ("minor page fault", 170.0),
        ("unmapped file page", 1_700.0),
    ];
    assert_eq!(named(&found), expected);
}

#[test]
fn each_page_of_arguments_is_a_fault_of_the_exec_where_they_are_priced() {
    let line = |bytes: u64, ns: f64| row(&format!("process/exec-environment:bytes={bytes}"), ns);
    let all = [rows(), vec![line(0, 100_000.0), line(65_536, 140_000.0)]].concat();
    let copies = |found: Vec<(String, f64)>| found[0].1;
    // 20 faults more are in prices.
    assert_eq!(copies(charged(all, 8_192)), 330.0);
    assert_eq!(copies(charged(rows(), 8_192)), 340.0);
}

#[test]
fn a_fork_without_a_price_and_a_row_without_the_metric_contain_none() {
    let copies = |rows: Vec<Row>| charged(rows, 0)[0].1;
    assert_eq!(copies(Vec::new()), 530.0);
    // The price of an exec without that of a fork contains the fork, and its faults.
    assert_eq!(copies(rows()[1..].to_vec()), 340.0);
    let mut older = rows();
    for row in &mut older {
        row.metrics.remove(CHILD_MINOR_FAULTS);
    }
    assert_eq!(copies(older), 500.0);
}
