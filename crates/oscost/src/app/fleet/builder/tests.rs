//! Fleets of a few records.

use oscost_model::record::Record;

use super::*;
use crate::fleet::OtherRevision;

/// The record of one of two visits of `n1`, `n2`, ... with two cases, whose figures are these times
/// some.
pub(in crate::app::fleet) fn record(node: &str, visit: u32, factor: f64) -> Record {
    let text = include_str!("../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(text).unwrap();
    let number: u32 = node.trim_start_matches('n').parse().unwrap();
    record.id = format!("0190a0b1-c2d3-7e4f-8a9b-{number:06}{visit:06}");
    record.started = format!("2026-11-{:02}T08:15:00Z", 21 + visit);
    record.comparisons.clear();
    record.fleet = Some(FleetVisit {
        fleet: "monday".to_owned(),
        plan: "0190a0b1-c2d3-7e4f-8a9b-000000000000".to_owned(),
        node: node.to_owned(),
        visit,
        task: 2 * (number - 1) + visit,
        exclusive: None,
    });
    let plain = record.results[0].clone();
    let row = |case: &str, cost: f64| {
        let mut row = plain.clone();
        (row.case, row.benchmark) = (case.to_owned(), case.to_owned());
        row.target.treatments.clear();
        row.metrics.clear();
        let estimate = row.estimate.as_mut().unwrap();
        estimate.median = cost * factor;
        estimate.ci95 = Some([0.99, 1.01].map(|end| end * cost * factor));
        row
    };
    record.results = vec![row("syscall/getppid", 80.0), row("pipe/round-trip", 5_000.0)];
    record
}

fn built(records: impl IntoIterator<Item = Record>) -> Fleet {
    let mut builder = FleetBuilder::default();
    for record in records {
        builder.add(record.into()).unwrap();
    }
    builder.finish("monday")
}

#[test]
fn the_order_of_the_records_does_not_matter() {
    let mut records: Vec<Record> = [("n2", 0, 1.0), ("n1", 0, 1.1), ("n1", 1, 1.2), ("n2", 1, 0.9)]
        .map(|(node, visit, factor)| record(node, visit, factor))
        .into();
    let fleet = built(records.clone());
    records.reverse();
    assert_eq!(built(records), fleet);
    let cases: Vec<&str> = fleet.cases.iter().map(|it| it.case.as_str()).collect();
    assert_eq!(cases, ["pipe/round-trip", "syscall/getppid"]);
    assert_eq!(fleet.cases[0].family, "pipe");
    let visits: Vec<(usize, f64)> =
        fleet.visits.iter().map(|it| (it.node, it.figures[1].median)).collect();
    assert_eq!(visits, [(0, 80.0 * 1.1), (0, 80.0 * 1.2), (1, 80.0), (1, 80.0 * 0.9)]);
    let error = f64::from(fleet.visits[0].figures[0].log_error);
    assert!((error - (1.01f64 / 0.99).ln() / 2.0 / 1.96).abs() < 1e-6, "{error}");
}

#[test]
fn facts_are_those_of_the_newest_visit_and_texts_are_shared() {
    let with_pages = |node: &str, visit, pages: &str| {
        let mut record = record(node, visit, 1.0);
        record.machines[0].memory.transparent_huge_pages = Some(pages.to_owned());
        record
    };
    let mut alone = with_pages("n2", 0, "never");
    alone.fleet.as_mut().unwrap().exclusive = Some(true);
    let used = built([alone]);
    let fact = used.nodes[0].facts.last().unwrap();
    assert_eq!((fact.name, fact.value.as_deref()), (USE_OF_NODE, Some("exclusive")));
    let fleet = built([
        with_pages("n1", 1, "never"),
        with_pages("n1", 0, "always"),
        with_pages("n2", 0, "never"),
    ]);
    let pages = |node: usize| {
        let facts = &fleet.nodes[node].facts;
        let fact = facts.iter().find(|it| it.name == "transparent huge pages").unwrap();
        fact.value.clone().unwrap()
    };
    assert_eq!(&*pages(0), "never");
    assert!(Arc::ptr_eq(&pages(0), &pages(1)));
    assert!(Arc::ptr_eq(&fleet.nodes[0].class, &fleet.nodes[1].class));
}

#[test]
fn the_clock_source_is_a_fact_of_a_node_and_no_part_of_its_class() {
    let with_source = |node: &str, source: &str| {
        let mut record = record(node, 0, 1.0);
        record.machines[0].scheduling.clocksource = Some(source.to_owned());
        record
    };
    let fleet = built([with_source("n1", "tsc"), with_source("n2", "hpet")]);
    assert!(!fleet.nodes[0].class.is_empty());
    assert_eq!(fleet.nodes[0].class, fleet.nodes[1].class);
    let source = |node: usize| {
        let facts = &fleet.nodes[node].facts;
        facts.iter().find(|it| it.name == "clock source").unwrap().value.clone().unwrap()
    };
    assert_eq!([&*source(0), &*source(1)], ["tsc", "hpet"]);
}

#[test]
fn the_time_that_a_hypervisor_or_other_tasks_took_is_a_fact_in_steps() {
    let shares = |stolen: Option<f64>, lost: Option<f64>| {
        let mut record = record("n1", 0, 1.0);
        (record.conditions[0].steal_pct, record.conditions[0].lost_pct) = (stolen, lost);
        let facts = built([record]).nodes.remove(0).facts;
        [STOLEN_TIME, LOST_TIME].map(|name| {
            let fact = facts.iter().find(|it| it.name == name).unwrap();
            fact.value.as_deref().unwrap_or_default().to_owned()
        })
    };
    for (pct, step) in [
        (None, ""),
        (Some(0.0), "under 0.1 %"),
        (Some(0.1), "0.1 to 1 %"),
        (Some(4.9), "1 to 5 %"),
        (Some(20.0), "5 % and more"),
    ] {
        assert_eq!(shares(pct, None), [step, ""]);
        assert_eq!(shares(None, pct), ["", step]);
    }
}

#[test]
fn figures_without_a_logarithm_are_left_out_and_treatments_make_another_case() {
    let mut odd = record("n1", 0, 1.0);
    let plain = odd.results[0].clone();
    let mut add = |change: &dyn Fn(&mut oscost_model::record::Row)| {
        let mut row = plain.clone();
        change(&mut row);
        odd.results.push(row);
    };
    add(&|row| row.target.treatments = vec!["nice=5".to_owned()]);
    add(&|row| row.target.cpu = Some(3));
    add(&|row| row.target.cpu = Some(3));
    add(&|row| row.target.machine = "m7".to_owned());
    add(&|row| row.flags = vec!["BELOW_DETECTION".to_owned()]);
    add(&|row| row.outcome = RowOutcome::Failed);
    add(&|row| row.estimate.as_mut().unwrap().median = 0.0);
    let fleet = built([odd]);
    let cases: Vec<&str> = fleet.cases.iter().map(|it| it.case.as_str()).collect();
    let expected = [
        "pipe/round-trip",
        "syscall/getppid",
        "syscall/getppid on CPU 3",
        "syscall/getppid on CPU 3, 2",
        "syscall/getppid under nice=5",
    ];
    assert_eq!(cases, expected);
    assert_eq!(fleet.visits[0].figures.len(), 5);
    assert!(log_error([-1.0, 2.0]).is_nan() && log_error([1.0, f64::INFINITY]).is_nan());
}

#[test]
fn figures_of_older_revisions_are_left_out_in_any_order() {
    let of_rev = |node: &str, visit: u32, rev: u32| {
        let mut record = record(node, visit, f64::from(rev));
        record.results[0].rev = rev;
        record
    };
    let mut records = vec![
        of_rev("n1", 0, 1),
        of_rev("n1", 1, 2),
        of_rev("n2", 0, 1),
        of_rev("n3", 1, 2),
        of_rev("n3", 0, 2),
    ];
    let fleet = built(records.clone());
    records.reverse();
    assert_eq!(built(records), fleet);
    let cases: Vec<(&str, u32)> = fleet.cases.iter().map(|it| (it.case.as_str(), it.rev)).collect();
    let unchanged = fleet.cases[0].rev;
    assert_eq!(cases, [("pipe/round-trip", unchanged), ("syscall/getppid", 2)]);
    let counts: Vec<usize> = fleet.visits.iter().map(|it| it.figures.len()).collect();
    assert_eq!(counts, [1, 2, 1, 2, 2], "the other case stays");
    let found = fleet.visits.iter().flat_map(|it| &it.figures).filter(|it| it.case == 1);
    assert!(found.clone().count() == 3 && found.clone().all(|it| it.median == 160.0));
    let case = "syscall/getppid".to_owned();
    assert_eq!(fleet.other_revisions, [OtherRevision { case, rev: 1, newest: 2, figures: 2 }]);
}

#[test]
fn many_rows_of_one_case_are_as_many_cases_and_take_no_time_for_each_other() {
    const ROWS: usize = 20_000;
    let mut odd = record("n1", 0, 1.0);
    let mut row = odd.results[0].clone();
    row.target.cpu = Some(3);
    odd.results = vec![row; ROWS];
    let fleet = built([odd]);
    assert_eq!((fleet.cases.len(), fleet.visits[0].figures.len()), (ROWS, ROWS));
    let last = format!("syscall/getppid on CPU 3, {}", ROWS - 1);
    assert!(fleet.cases.iter().any(|it| it.case == last));
}

#[test]
fn a_run_that_is_there_twice_counts_once_and_one_of_no_fleet_not_at_all() {
    let mut builder = FleetBuilder::default();
    builder.add(record("n1", 0, 1.0).into()).unwrap();
    let error = builder.add(record("n1", 0, 2.0).into()).unwrap_err();
    assert!(error.ends_with(" is there twice"), "{error}");
    let mut own = record("n2", 0, 1.0);
    own.fleet = None;
    let error = builder.add(own.into()).unwrap_err();
    assert_eq!(error, "it is no visit of a fleet's node");
    assert_eq!(builder.finish("monday").visits.len(), 1);
}

#[test]
fn a_visit_has_the_numa_node_of_its_cpus_if_the_machine_has_several() {
    let of = |numa_cpus: &[&[u32]], cpus: [u32; 2]| {
        let mut record = record("n1", 0, 1.0);
        let nodes = numa_cpus.iter().map(|cpus| cpus.to_vec()).collect();
        record.machines[0].memory.numa_cpus = Some(nodes);
        for (row, cpu) in record.results.iter_mut().zip(cpus) {
            row.target.cpu = Some(cpu);
        }
        built([record]).visits[0].numa_node
    };
    let two: &[&[u32]] = &[&[0, 1], &[2, 3]];
    assert_eq!([of(two, [1, 1]), of(two, [3, 2])], [Some(0), Some(1)]);
    // Rows of both, a CPU that is in none, and a node of memory alone beside the only one with CPUs.
    assert_eq!([of(two, [1, 2]), of(two, [9, 9])], [None; 2]);
    assert_eq!(of(&[&[0, 1], &[]], [1, 1]), None);
}
