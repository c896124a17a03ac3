//! Which runs price, on made-up records.

use std::time::{Duration, SystemTime};

use oscost_model::program_calls::FormCount;

use super::passed_over::{PassedOverRun, unpriced_items};
use super::*;
use crate::bill::{Faults, charge};
use crate::estimate::ENDED_BEFORE_FIRST_REPETITION;

mod pairs;

/// A run that was made on this machine just now, with a row that took so long.
fn run(id: &str, case: &str, ns: f64) -> Record {
    let text = include_str!("../../../../tests/store/run-1.json");
    let mut record: Record = serde_json::from_str(text).unwrap();
    record.id = id.to_owned();
    record.started = humantime::format_rfc3339(SystemTime::now()).to_string();
    record.results.truncate(1);
    let row = &mut record.results[0];
    let parsed = Case::parse(case).unwrap();
    (row.case, row.benchmark, row.point) = (case.to_owned(), parsed.benchmark, parsed.point);
    let definition = oscost_worker::benchmarks::data().get(&row.benchmark).cloned();
    row.rev = definition.map_or(1, |definition| definition.rev);
    row.outcome = RowOutcome::Measured;
    row.target.treatments.clear();
    let estimate = row.estimate.as_mut().unwrap();
    (estimate.median, estimate.between_run_ci95) = (ns, Some([0.99 * ns, 1.01 * ns]));
    record
}

/// The same with a row that was not measured.
fn run_without(id: &str, case: &str, outcome: RowOutcome, reason: &str) -> Record {
    let mut record = run(id, case, 1.0);
    let row = &mut record.results[0];
    (row.outcome, row.reason) = (outcome, Some(reason.to_owned()));
    record
}

fn added(records: impl IntoIterator<Item = Record>) -> PriceRuns {
    let target = run("target", "syscall/getuid:via=raw", 1.0).results[0].target.clone();
    let mut runs = PriceRuns::of(&target);
    for record in records {
        let machine = record.machines[0].clone();
        runs.add(record, &machine, &[]);
    }
    runs
}

fn ids(runs: &PriceRuns) -> Vec<&str> {
    runs.current.iter().map(|record| record.id.as_str()).collect()
}

#[test]
fn a_run_in_which_the_null_call_took_another_time_is_outdated_by_a_new_one() {
    let null_call = "syscall/getppid:via=raw";
    let same = added([run("1", null_call, 100.0), run("2", null_call, 101.0)]);
    assert_eq!((ids(&same), same.outdated.len()), (vec!["2", "1"], 0));
    let moved = added([run("1", null_call, 100.0), run("2", null_call, 150.0)]);
    assert_eq!(ids(&moved), ["2"]);
    let reasons = &moved.outdated[0].reasons;
    assert_eq!(reasons[..], ["syscall/getppid:via=raw took 100.0 ns then, and 150.0 ns now"]);
    // Not if it is of the same bill, between whose trials it measured.
    let mut of_one_bill = added([run("0", null_call, 100.0), run("1", null_call, 101.0)]);
    let late = run("2", null_call, 150.0);
    let machine = late.machines[0].clone();
    of_one_bill.add(late, &machine, &["1".to_owned()]);
    assert_eq!(ids(&of_one_bill), ["2", "1"]);
    assert_eq!(of_one_bill.outdated[0].record.id, "0");
    let mut drifted = run("3", null_call, 100.0);
    drifted.conditions[0].flags.push("REFERENCE_DRIFT".to_owned());
    let drifted = added([run("1", null_call, 100.0), drifted]);
    assert_eq!((ids(&drifted), drifted.outdated.len()), (vec!["1"], 1));
}

#[test]
fn the_runs_that_are_named_are_those_whose_rows_priced() {
    let catalog = oscost_worker::benchmarks::data();
    let runs = added([
        run("1", "syscall/getuid", 90.0),
        run("2", "syscall/getuid", 91.0),
        run("3", "syscall/uname", 150.0),
    ]);
    assert_eq!(ids(&runs), ["3", "2", "1"]);
    let form = "getuid".to_owned();
    let forms = vec![FormCount { form, calls: 5, ..FormCount::default() }];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let list = runs.price_list(&catalog);
    let charges = charge(&calls, Faults::default(), &list, 1e6);
    let sources = runs.sources(&charges, &list, None);
    let named: Vec<&str> = sources.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(named, ["2"], "the newest run prices nothing, and the first one is older");
}

/// The runs of a store, the newest first, of the machine of the first one.
fn stored(records: Vec<Record>) -> PriceRuns {
    let machine = records[0].machines[0].clone();
    let mut runs = PriceRuns::of(&records[0].results[0].target);
    for record in records {
        let run = NewRun::of(record, &runs.target);
        runs.take_older(run, Vec::new(), &machine);
    }
    runs
}

fn drifted(mut record: Record) -> Record {
    record.conditions[0].flags.push("REFERENCE_DRIFT".to_owned());
    record
}

#[test]
fn a_stored_run_that_drifted_prices_what_no_other_has_and_its_items_are_named() {
    let catalog = oscost_worker::benchmarks::data();
    let mut old_kernel = run("3", "syscall/getuid", 80.0);
    old_kernel.machines[0].os.release = Some("1.0".to_owned());
    let runs = stored(vec![
        run("1", "syscall/getuid", 90.0),
        drifted(run("2", "syscall/uname", 150.0)),
        old_kernel,
    ]);
    assert_eq!((ids(&runs), runs.outdated.len()), (vec!["1"], 1));
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let forms = vec![form("getuid"), form("uname")];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let list = runs.price_list(&catalog);
    let charges = charge(&calls, Faults::default(), &list, 1e6);
    let sources = runs.sources(&charges, &list, None);
    let [why] = &sources.stale[..] else { panic!("{:?}", sources.stale) };
    let began = "the reference cases moved while they were measured (1 of 2 items: uname; run of 2";
    assert!(why.starts_with(began), "{why}");
    let named: Vec<&str> = sources.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(named, ["1", "2"]);
    // What a run that did not drift has, too, is not stale.
    let runs =
        stored(vec![drifted(run("2", "syscall/uname", 150.0)), run("1", "syscall/uname", 90.0)]);
    let list = runs.price_list(&catalog);
    let charges = charge(&calls, Faults::default(), &list, 1e6);
    assert_eq!(runs.sources(&charges, &list, None).stale, Vec::<String>::new());
}

#[test]
fn a_reason_that_several_runs_have_is_told_once() {
    let catalog = oscost_worker::benchmarks::data();
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let told = |names: &[&str]| {
        let runs = stored(vec![
            run("1", "syscall/getuid", 90.0),
            drifted(run("2", "syscall/uname", 150.0)),
            drifted(run("3", "syscall/getppid:via=raw", 150.0)),
        ]);
        let forms = names.iter().map(|name| form(name)).collect();
        let calls = ProgramCalls { forms, ..ProgramCalls::default() };
        let list = runs.price_list(&catalog);
        let charges = charge(&calls, Faults::default(), &list, 1e6);
        runs.sources(&charges, &list, None).stale
    };
    let stale = told(&["getuid", "uname", "getppid"]);
    let [why] = &stale[..] else { panic!("{stale:?}") };
    assert!(why.contains("(2 of 3 items: uname, getppid; run of "), "{why}");
    assert!(why.ends_with(" and another run)"), "{why}");
    assert_eq!(told(&["uname", "getppid"]), ["the reference cases moved while they were measured"]);
}

#[test]
fn sizes_of_a_run_that_drifted_price_what_another_run_has_of_a_far_size_alone() {
    let catalog = oscost_worker::benchmarks::data();
    let at = |size: u64| format!("pipe/throughput:by=pipe,size={size},peer_cpu=same");
    let of_list = || run("1", &at(65_536), 8_000.0);
    let getuid = || run("2", "syscall/getuid", 90.0);
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let write = FormCount { bytes: Some(4_096), moved: 5 * 4_096, ..form("write pipe") };
    let forms = vec![write, form("getuid")];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let billed = |runs: &PriceRuns| {
        let list = runs.price_list(&catalog);
        let charges = charge(&calls, Faults::default(), &list, 1e6);
        let item = charges.items.iter().find(|item| item.name == "write pipe").unwrap();
        let amount_ns = item.amount.as_ref().map(|amount| amount.ns.round());
        (amount_ns, runs.sources(&charges, &list, None).stale)
    };
    let runs = stored(vec![of_list(), getuid(), drifted(run("3", &at(4_096), 1_000.0))]);
    let (amount_ns, stale) = billed(&runs);
    assert_eq!(amount_ns, Some(2_500.0));
    let [why] = &stale[..] else { panic!("{stale:?}") };
    assert!(why.contains("(1 of 2 items: write pipe; run of "), "{why}");
    // It is measured again, as no run has it that did not drift.
    assert!(!runs.has_measured(&Case::parse(&at(4_096)).unwrap()));
    let (amount_ns, stale) = billed(&stored(vec![of_list(), getuid()]));
    assert_eq!((amount_ns, stale.len()), (None, 0), "64 KiB are no price of 4 KiB");
}

#[test]
fn an_item_is_stale_whose_price_is_less_one_of_a_run_that_drifted() {
    let catalog = oscost_worker::benchmarks::data();
    let runs = stored(vec![
        run("1", "process/fork-exit:touched_mib=0,peer_cpu=same", 100_000.0),
        run("2", "syscall/getuid", 90.0),
        drifted(run("3", "process/exit:touched_mib=0", 30_000.0)),
    ]);
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let forms = vec![form("clone process"), form("getuid")];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let list = runs.price_list(&catalog);
    let charges = charge(&calls, Faults::default(), &list, 1e6);
    let sources = runs.sources(&charges, &list, None);
    let [why] = &sources.stale[..] else { panic!("{:?}", sources.stale) };
    assert!(why.contains("(1 of 2 items: clone process; run of "), "{why}");
    let named: Vec<&str> = sources.runs.iter().map(|run| run.id.as_str()).collect();
    assert_eq!(named, ["1", "2", "3"]);
}

/// Why a form has no price by these runs, one of which was passed over.
fn why_no_price(
    runs: &PriceRuns,
    calls: &ProgramCalls,
    form: &str,
    run: PassedOverRun<'_>,
) -> String {
    let list = runs.price_list(run.catalog);
    let mut charges = charge(calls, Faults::default(), &list, 1e6);
    let mut unpriced = unpriced_items(&charges.items, calls, run.catalog);
    runs.explain_by(run, &mut unpriced, &mut charges.items);
    let item = charges.items.iter().find(|item| item.name == form).unwrap();
    item.missing.clone().unwrap()
}

#[test]
fn an_item_without_a_price_says_which_run_was_passed_over_and_why() {
    let catalog = oscost_worker::benchmarks::data();
    let runs = stored(vec![run("1", "syscall/getuid", 90.0)]);
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let forms = vec![form("getuid"), form("uname")];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let machine = run("1", "syscall/getuid", 90.0).machines[0].clone();
    let explained = |record: &Record| {
        let run = PassedOverRun { record, machine: &machine, catalog: &catalog };
        why_no_price(&runs, &calls, "uname", run)
    };
    let none = "no price of syscall/uname in these runs";
    assert_eq!(explained(&run("2", "syscall/getuid", 90.0)), none, "that has none either");
    let mut of_old_kernel = run("2", "syscall/uname", 150.0);
    of_old_kernel.machines[0].os.release = Some("1.0".to_owned());
    let minute = of_old_kernel.started[..16].replace('T', " ");
    let why = explained(&of_old_kernel);
    let begin = format!("{none}; prices of {minute} are not used: the kernel was 1.0, and is ");
    assert!(why.starts_with(&begin), "{why}");
    let mut other_work = run("2", "syscall/uname", 150.0);
    other_work.results[0].rev += 1;
    let why = explained(&other_work);
    assert!(
        why.contains("are not used: the benchmark did other work (revision 2, now 1)"),
        "{why}"
    );
    let mut imported = run("2", "syscall/uname", 150.0);
    imported.results[0].target.host = "elsewhere".to_owned();
    assert_eq!(explained(&imported), none, "nor has that one, of another host");
}

#[test]
fn a_run_whose_prices_are_used_where_they_fit_is_not_said_to_be_passed_over() {
    let catalog = oscost_worker::benchmarks::data();
    let case = "pipe/throughput:by=pipe,size=65536,peer_cpu=same";
    let of_list = |id: &str| drifted(run(id, case, 8_000.0));
    let runs = stored(vec![run("2", "syscall/getuid", 90.0), of_list("1")]);
    let form = "write pipe".to_owned();
    let write = FormCount {
        form: form.clone(),
        calls: 5,
        bytes: Some(4_096),
        moved: 5 * 4_096,
        ..FormCount::default()
    };
    let calls = ProgramCalls { forms: vec![write], ..ProgramCalls::default() };
    let machine = run("2", case, 90.0).machines[0].clone();
    let explained = |record: &Record| {
        let run = PassedOverRun { record, machine: &machine, catalog: &catalog };
        why_no_price(&runs, &calls, &form, run)
    };
    let of_used = explained(&of_list("1"));
    assert!(!of_used.contains("are not used"), "{of_used}");
    let of_other = explained(&of_list("9"));
    assert!(of_other.contains("are not used: the reference cases moved"), "{of_other}");
}

#[test]
fn rows_of_another_revision_of_their_benchmark_are_no_prices() {
    let catalog = oscost_worker::benchmarks::data();
    let mut record = run("1", "syscall/uname", 150.0);
    assert!(added([record.clone()]).price_list(&catalog).has("syscall/uname"));
    record.results[0].rev += 1;
    assert!(!added([record]).price_list(&catalog).has("syscall/uname"));
}

#[test]
fn a_run_that_was_disturbed_is_named_with_its_share_of_what_is_charged() {
    let catalog = oscost_worker::benchmarks::data();
    let of_class = |mut record: Record, class: &str| {
        record.conditions.truncate(1);
        let conditions = &mut record.conditions[0];
        (conditions.class, conditions.lost_pct) = (Some(class.to_owned()), Some(12.0));
        conditions.flags.clear();
        record.results[0].flags.clear();
        record
    };
    let runs = added([
        of_class(run("1", "syscall/getuid", 300.0), "very-noisy"),
        of_class(run("2", "syscall/uname", 100.0), "quiet"),
    ]);
    let form = |name: &str| FormCount { form: name.to_owned(), calls: 5, ..FormCount::default() };
    let forms = vec![form("getuid"), form("uname")];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let list = runs.price_list(&catalog);
    let charges = charge(&calls, Faults::default(), &list, 1e6);
    let sources = runs.sources(&charges, &list, None);
    let [doubtful] = &sources.doubtful[..] else { panic!("{:?}", sources.doubtful) };
    assert_eq!((doubtful.id.as_str(), doubtful.grade.as_str()), ("1", "poor"));
    assert_eq!(doubtful.charged_pct.map(f64::round), Some(75.0));
    assert_eq!(doubtful.reasons, ["12 % of the time was lost: the machine was very noisy"]);
}

#[test]
fn a_stored_run_is_outdated_by_a_newer_one_as_by_one_that_has_just_been_measured() {
    let null_call = "syscall/getppid:via=raw";
    let moved = stored(vec![run("2", null_call, 150.0), run("1", null_call, 100.0)]);
    assert_eq!((ids(&moved), moved.outdated.len()), (vec!["2"], 1));
    let reasons = &moved.outdated[0].reasons;
    assert_eq!(reasons[..], ["syscall/getppid:via=raw took 100.0 ns then, and 150.0 ns now"]);
    let same = stored(vec![run("2", null_call, 101.0), run("1", null_call, 100.0)]);
    assert_eq!((ids(&same), same.outdated.len()), (vec!["2", "1"], 0));
}

#[test]
fn only_a_case_that_would_price_an_item_explains_why_it_has_no_price() {
    let catalog = oscost_worker::benchmarks::data();
    let form = "openat file".to_owned();
    let forms = vec![FormCount { form, calls: 1, ..FormCount::default() }];
    let calls = ProgramCalls { forms, ..ProgramCalls::default() };
    let why = |case: &str| {
        let runs = added([run_without("1", case, RowOutcome::Skipped, "it is not there")]);
        let list = runs.price_list(&catalog);
        let mut charges = charge(&calls, Faults::default(), &list, 0.0);
        runs.explain_missing(&mut charges, &calls, &catalog);
        (charges.items[0].missing.clone().unwrap(), charges.missing.len())
    };
    let unusual = "no price of directory/open in these runs".to_owned();
    assert_eq!(why("directory/open:by=openat2"), (unusual, 1));
    let usual = "directory/open:by=openat was skipped: it is not there".to_owned();
    assert_eq!(why("directory/open:by=openat"), (usual, 0));
}

#[test]
fn what_was_disturbed_is_tried_again_after_ten_minutes() {
    let name = "syscall/getuid:via=raw";
    let is_refused = |seconds_ago: u64| {
        let mut record = run_without("1", name, RowOutcome::Unmeasurable, "too much noise");
        let started = SystemTime::now() - Duration::from_secs(seconds_ago);
        record.started = humantime::format_rfc3339(started).to_string();
        added([record]).is_refused(&Case::parse(name).unwrap())
    };
    assert!(is_refused(0) && is_refused(500) && !is_refused(700));
}

#[test]
fn prices_of_a_clock_that_was_set_back_since_are_outdated() {
    let reasons = |ahead_s: u64| {
        let mut record = run("1", "syscall/getuid:via=raw", 100.0);
        let started = SystemTime::now() + Duration::from_secs(ahead_s);
        record.started = humantime::format_rfc3339(started).to_string();
        stale_reasons(&record, &record.machines[0], &[])
    };
    assert!(reasons(10).is_empty(), "a clock that is synchronised");
    let hours = reasons(5 * 3_600);
    assert!(hours.iter().any(|it| it.ends_with("age is unknown: a clock was set")), "{hours:?}");
}

#[test]
fn what_was_skipped_is_refused_and_what_was_not_reached_is_not() {
    let case = Case::parse("syscall/getuid:via=raw").unwrap();
    let is_refused = |outcome, reason: &str| {
        added([run_without("1", "syscall/getuid:via=raw", outcome, reason)]).is_refused(&case)
    };
    assert!(is_refused(RowOutcome::Skipped, "it needs root"));
    assert!(is_refused(RowOutcome::Failed, "it failed"));
    assert!(!is_refused(RowOutcome::Skipped, ENDED_BEFORE_FIRST_REPETITION));
    let because =
        format!("{ENDED_BEFORE_FIRST_REPETITION}: the pilots of other rows took the time");
    assert!(!is_refused(RowOutcome::Skipped, &because));
    // Another run has measured it.
    let skipped = run_without("1", "syscall/getuid:via=raw", RowOutcome::Skipped, "root");
    let both = added([skipped, run("2", "syscall/getuid:via=raw", 100.0)]);
    assert!(both.has_measured(&case) && !both.is_refused(&case));
}
