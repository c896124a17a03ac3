//! Which pairs of rows are used, lacking, or tried in vain, on made-up records.

use oscost_model::bill::BillItem;

use super::*;

const CASE: &str = "syscall/getppid:via=raw";
const MIB: u64 = 1 << 20;

/// A run that has compared the case under both of these treatments.
fn compared(treatments: [&str; 2]) -> Record {
    let mut record = run("pairs", CASE, 100.0);
    let mut with = record.results[0].clone();
    with.estimate.as_mut().unwrap().median = 150.0;
    record.results.push(with);
    for (row, treatment) in record.results.iter_mut().zip(treatments) {
        row.target.treatments = vec![treatment.to_owned()];
    }
    record
}

fn make_void(record: &mut Record) {
    assert!(!record.comparisons.is_empty());
    record.comparisons.iter_mut().for_each(|it| it.flags.push("VOID".to_owned()));
}

/// The items of a program that calls getppid(2) ten times.
fn items(runs: &PriceRuns, catalog: &Catalog) -> Vec<BillItem> {
    let forms = vec![FormCount { form: "getppid".to_owned(), calls: 10, ..FormCount::default() }];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    charge(&calls, Faults::default(), &runs.price_list(catalog), 1e6).items
}

/// How many cases lack a pair of a kind.
fn lacking(runs: &PriceRuns, kind: PairKind, catalog: &Catalog) -> usize {
    runs.lacking_pairs(kind, &items(runs, catalog), MIB, catalog).len()
}

#[test]
fn a_pair_that_is_measured_is_not_lacking_any_more() {
    let catalog = oscost_worker::benchmarks::data();
    let mut runs = added([run("1", CASE, 100.0)]);
    let both = [PairKind::Function, PairKind::Walk];
    assert_eq!(both.map(|kind| lacking(&runs, kind, &catalog)), [1, 1]);
    let sources = runs.pair_sources(&items(&runs, &catalog), MIB, &catalog);
    assert_eq!((sources.inlined, sources.uncooled), (vec![CASE.to_owned()], vec![CASE.to_owned()]));
    let record = compared(["call=inline", "call=function"]);
    let machine = record.machines[0].clone();
    assert_eq!(runs.add_pairs(&record, &machine, &[]), Vec::<String>::new());
    assert_eq!(both.map(|kind| lacking(&runs, kind, &catalog)), [0, 1]);
    runs.add_pairs(&compared(["cool=0", "cool=256K"]), &machine, &[]);
    assert_eq!(lacking(&runs, PairKind::Walk, &catalog), 1, "that walk is another one");
    runs.add_pairs(&compared(["cool=0", "cool=1M"]), &machine, &[]);
    assert_eq!(both.map(|kind| lacking(&runs, kind, &catalog)), [0, 0]);
    let sources = runs.pair_sources(&items(&runs, &catalog), MIB, &catalog);
    assert!(sources.inlined.is_empty() && sources.uncooled.is_empty());
    assert!(sources.unpaired.is_empty(), "{:?}", sources.unpaired);
    // Under treatments no pair is measured.
    runs.target.treatments = vec!["nice=1".to_owned()];
    runs.pairs.clear();
    assert_eq!(both.map(|kind| lacking(&runs, kind, &catalog)), [0, 0]);
}

#[test]
fn rows_of_a_void_comparison_are_no_pair_and_are_not_measured_again_at_once() {
    let catalog = oscost_worker::benchmarks::data();
    let mut runs = added([run("1", CASE, 100.0)]);
    let mut record = compared(["call=inline", "call=function"]);
    assert!(pairs_of(&record, &[], false).is_some());
    make_void(&mut record);
    assert!(pairs_of(&record, &[], true).is_none());
    let machine = record.machines[0].clone();
    assert_eq!(runs.add_pairs(&record, &machine, &[]), Vec::<String>::new());
    assert!(runs.pairs.is_empty());
    assert_eq!(lacking(&runs, PairKind::Function, &catalog), 0);
    assert_eq!(lacking(&runs, PairKind::Walk, &catalog), 1);
    let sources = runs.pair_sources(&items(&runs, &catalog), MIB, &catalog);
    assert!(sources.inlined.is_empty(), "the bill says why it has none");
    let [told] = &sources.unpaired[..] else { panic!("{:?}", sources.unpaired) };
    assert_eq!((told.case.as_str(), told.treatment.as_str(), told.skipped), (CASE, "call", false));
    assert!(told.reason.contains("the control of the comparison"), "{}", told.reason);
    // Who compares it again has a pair.
    runs.add_pairs(&compared(["call=inline", "call=function"]), &machine, &[]);
    let sources = runs.pair_sources(&items(&runs, &catalog), MIB, &catalog);
    assert_eq!((sources.inlined.len(), sources.unpaired.len()), (0, 0));
}

#[test]
fn pairs_of_a_run_whose_reference_cases_moved_are_not_used() {
    let mut runs = added([run("1", CASE, 100.0)]);
    let mut record = compared(["call=inline", "call=function"]);
    record.conditions[0].flags.push("REFERENCE_DRIFT".to_owned());
    let machine = record.machines[0].clone();
    let why = runs.add_pairs(&record, &machine, &[]);
    assert_eq!(why, ["the reference cases moved while they were measured"]);
    assert!(runs.pairs.is_empty() && runs.refused_pairs.is_empty());
}

#[test]
fn pairs_of_functions_that_took_another_time_are_left_out_unless_they_are_of_the_same_bill() {
    let of = |id: &str, factor: f64| {
        let mut record = compared(["call=inline", "call=function"]);
        record.id = id.to_owned();
        let of_case = record.results.clone();
        for case in ["syscall/getuid:via=raw", "syscall/uname"] {
            let of_other = of_case.iter().map(|row| Row { case: case.to_owned(), ..row.clone() });
            record.results.extend(of_other);
        }
        for row in &mut record.results {
            row.estimate.as_mut().unwrap().median *= factor;
        }
        record
    };
    let ids = |factor: f64, same_bill: &[String]| -> Vec<String> {
        let mut runs = added([run("1", CASE, 100.0)]);
        let machine = runs.current[0].machines[0].clone();
        runs.add_pairs(&of("then", 1.0), &machine, &[]);
        runs.add_pairs(&of("now", factor), &machine, same_bill);
        runs.pairs.iter().map(|record| record.id.clone()).collect()
    };
    assert_eq!(ids(1.05, &[]), ["now", "then"]);
    assert_eq!(ids(1.2, &[]), ["now"]);
    assert_eq!(ids(1.2, &["then".to_owned()]), ["now", "then"]);
}

#[test]
fn what_was_skipped_or_failed_as_a_pair_is_not_tried_again() {
    let case = "process/exit:touched_mib=0";
    let of = |treatment: &str, outcome, reason: &str| {
        let mut record = run_without("1", case, outcome, reason);
        record.results[0].target.treatments = vec![treatment.to_owned()];
        let host = record.results[0].target.host.clone();
        let fresh = Some(Duration::ZERO);
        assert!(refused_pairs(&record, "elsewhere", fresh, false).is_empty());
        let found = refused_pairs(&record, &host, fresh, false);
        let told = found.into_iter().map(|it| {
            assert_eq!(it.case, Case::parse(case).unwrap());
            (it.kind, it.is_skipped, it.reason)
        });
        told.collect::<Vec<_>>()
    };
    let told = |kind, skipped, reason: &str| vec![(kind, skipped, reason.to_owned())];
    assert_eq!(
        of("cool=1M", RowOutcome::Skipped, "it has its own figure"),
        told(PairKind::Walk, true, "was skipped: it has its own figure")
    );
    assert_eq!(
        of("call=inline", RowOutcome::Skipped, "this case has none"),
        told(PairKind::Function, true, "was skipped: this case has none")
    );
    assert_eq!(
        of("cool=1M", RowOutcome::Failed, "it ended"),
        told(PairKind::Walk, false, "failed: it ended")
    );
    assert!(of("cool=1M", RowOutcome::Skipped, ENDED_BEFORE_FIRST_REPETITION).is_empty());
    assert!(of("nice=1", RowOutcome::Skipped, "it needs root").is_empty());
}
