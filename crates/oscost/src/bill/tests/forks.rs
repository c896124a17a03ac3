//! What a fork pays beyond that of a small process.

use super::*;

const LINE: &str = "process/fork-libraries";

fn fork() -> Row {
    row("process/fork-exit:touched_mib=0,peer_cpu=same", 80_000.0)
}

fn line(mappings: u64, ns: f64) -> Row {
    row(&format!("{LINE}:mappings={mappings}"), ns)
}

/// Forks of a process with so many mappings, if they were counted.
fn forks(mappings: Option<u64>, calls: u64) -> FormCount {
    FormCount {
        mappings: mappings.map(u64::next_power_of_two),
        ..form("clone process", None, calls, calls * mappings.unwrap_or(0))
    }
}

#[test]
fn a_fork_pays_the_mappings_of_its_process_beyond_those_of_a_worker() {
    let charged = |rows: Vec<Row>, counts: Vec<FormCount>| {
        let found = charges(rows, counts, Faults::default());
        amount(&found, "clone process").unwrap()
    };
    // A microsecond for each.
    let all = || vec![fork(), line(16, 82_000.0), line(96, 162_000.0)];
    for (mappings, ns) in [(12, 80_000.0), (25, 93_000.0), (8, 76_000.0), (142, 210_000.0)] {
        assert_eq!(charged(all(), vec![forks(Some(mappings), 500)]), 500.0 * ns, "{mappings}");
    }
    let of_two = vec![forks(Some(25), 3), forks(Some(70), 2)];
    assert_eq!(charged(all(), of_two), 3.0 * 93_000.0 + 2.0 * 138_000.0);
    // Older counters tell no mappings, and without the line they are not priced.
    assert_eq!(charged(all(), vec![forks(None, 500)]), 500.0 * 80_000.0);
    for lacking in [vec![fork()], vec![fork(), line(96, 162_000.0)]] {
        assert_eq!(charged(lacking, vec![forks(Some(25), 500)]), 500.0 * 80_000.0);
    }
}

#[test]
fn the_line_of_mappings_is_measured_where_a_program_needs_it() {
    let record = record(vec![fork()]);
    let prices = PriceList::new([&record], &catalog());
    let wanted = |mappings: Option<u64>| {
        let calls = calls(vec![forks(mappings, 500)]);
        let lacking = lacking_prices(&calls, Faults::default(), &prices, &prices, &catalog());
        lacking.into_iter().find(|price| price.selector == LINE)
    };
    let price = wanted(Some(25)).unwrap();
    assert_eq!(price.size_axis.as_deref(), Some("mappings"));
    assert_eq!(price.amount_ns, Some(500.0 * 13.0 * 1_000.0));
    let points = [16, 96].map(|at| Case::parse(&format!("{LINE}:mappings={at}")).unwrap());
    assert_eq!(price.usual_cases(points.to_vec(), &catalog()), points);
    assert_eq!([wanted(Some(12)), wanted(None)], [None, None]);
}
