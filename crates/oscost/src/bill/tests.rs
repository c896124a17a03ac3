//! The arithmetic of bills, on made-up rows and counts.

use oscost_model::bill::{Amount, TrialFigure};
use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::program::GroupTimes;
use oscost_model::program_calls::{FormCount, FormTime, KernelTime, ProgramCalls};
use oscost_model::record::{Estimate, Machine, Record, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_stats::interval::Nominal;

use super::*;

mod alternatives;
mod clock_reads;
mod cool;
mod descriptors;
mod exec;
mod faults_in_prices;
mod first_touches;
mod forks;
mod freed_pages;
mod functions;
mod instructions;
mod ranges;
mod sizes;
mod staleness;
mod switches;
mod ticks;
mod what_if;
mod writes;

fn stored() -> Record {
    serde_json::from_str(include_str!("../../tests/store/run-1.json")).unwrap()
}

/// A measured row of a case that takes so many nanoseconds, 10 % more or less.
fn row(case: &str, ns: f64) -> Row {
    let mut row = stored().results[0].clone();
    let parsed = Case::parse(case).unwrap();
    (row.case, row.benchmark, row.point) = (case.to_owned(), parsed.benchmark, parsed.point);
    row.rev = catalog().get(&row.benchmark).map_or(1, |definition| definition.rev);
    (row.unit, row.outcome) = (Unit::NsPerOp, RowOutcome::Measured);
    row.target.treatments.clear();
    let estimate = row.estimate.take().unwrap();
    let ci95 = Some([0.9 * ns, 1.1 * ns]);
    row.estimate = Some(Estimate { median: ns, ci95, between_run_ci95: None, ..estimate });
    row
}

fn record(rows: Vec<Row>) -> Record {
    Record { results: rows, ..stored() }
}

fn catalog() -> Catalog {
    oscost_worker::benchmarks::data()
}

fn form(form: &str, bytes: Option<u64>, calls: u64, moved: u64) -> FormCount {
    FormCount { form: form.to_owned(), bytes, calls, moved, ..FormCount::default() }
}

fn calls(forms: Vec<FormCount>) -> ProgramCalls {
    ProgramCalls { by: "ptrace".to_owned(), forms, ..ProgramCalls::default() }
}

fn charges(rows: Vec<Row>, forms: Vec<FormCount>, faults: Faults) -> Charges {
    let record = record(rows);
    let prices = PriceList::new([&record], &catalog());
    charge(&calls(forms), faults, &prices, 10_000.0)
}

fn amount(charges: &Charges, name: &str) -> Option<f64> {
    let item = charges.items.iter().find(|item| item.name == name).unwrap();
    item.amount.as_ref().map(|amount| amount.ns.round())
}

#[test]
fn each_call_of_an_op_pays_its_part() {
    let rows = vec![row("directory/open:by=openat", 400.0)];
    let forms = vec![form("openat file", None, 10, 0), form("close file", None, 5, 0)];
    let found = charges(rows, forms, Faults::default());
    assert_eq!(amount(&found, "openat file"), Some(2_000.0));
    assert_eq!(amount(&found, "close file"), Some(1_000.0));
    assert_eq!(found.charged.ns.round(), 3_000.0);
    let [low, high] = found.charged.ci95.unwrap();
    assert_eq!([low.round(), high.round()], [2_700.0, 3_300.0]);
    let first = &found.items[0];
    assert_eq!((first.name.as_str(), first.times), ("openat file", 10.0));
    assert_eq!(first.unit.as_ref().map(|unit| unit.ns.round()), Some(200.0));
    assert_eq!(first.share_pct.map(f64::round), Some(20.0));
    assert_eq!(first.rows, ["directory/open:by=openat"]);
}

#[test]
fn a_call_pays_for_the_components_of_its_path_beyond_those_of_its_case() {
    let rows = vec![
        row("directory/open:by=openat", 400.0),
        row("directory/missing:by=open,state=seen", 300.0),
        row("directory/path-depth:depth=1", 200.0),
        row("directory/path-depth:depth=5", 300.0),
    ];
    let at = |name: &str, depth: Option<u32>| FormCount { depth, ..form(name, None, 10, 0) };
    let opened = |depth: Option<u32>, rows: &[Row]| {
        let found = charges(rows.to_vec(), vec![at("openat file", depth)], Faults::default());
        amount(&found, "openat file")
    };
    // 200 ns for half of an open and close; 25 ns for each component but one.
    let of_depths =
        [(None, 2e3), (Some(0), 1_750.0), (Some(1), 2e3), (Some(3), 2.5e3), (Some(9), 4e3)];
    for (depth, ns) in of_depths {
        assert_eq!(opened(depth, &rows), Some(ns), "{depth:?}");
    }
    assert_eq!(opened(Some(9), &rows[..1]), Some(2e3), "without such rows it pays its case");
    // Its walk may have ended early.
    let found = charges(rows, vec![at("openat ENOENT", Some(9))], Faults::default());
    assert_eq!(amount(&found, "openat ENOENT"), Some(3e3));
}

#[test]
fn calls_that_move_bytes_are_priced_at_their_mean_size() {
    let rows = vec![
        row("file/read:via=read,size=4096", 1_000.0),
        row("file/read:via=read,size=65536", 7_000.0),
        row("file/read:via=pread,size=65536", 1.0),
    ];
    // 34,816 bytes lie in the middle of both sizes.
    let forms = vec![
        form("read file", Some(65_536), 2, 2 * 34_816),
        form("read file", Some(4_096), 3, 3 * 4_096),
    ];
    let found = charges(rows, forms, Faults::default());
    assert_eq!(amount(&found, "read file"), Some(2.0 * 4_000.0 + 3.0 * 1_000.0));
    assert_eq!(found.items.len(), 1);
    assert_eq!(found.items[0].times, 5.0);
}

#[test]
fn reading_a_directory_is_priced_by_its_entries_and_the_last_call_finds_none() {
    let of = |files: u64, ns: f64| row(&format!("directory/getdents:files={files}"), ns);
    // 100 entries have 3,200 bytes.
    let form = |kind: &str, calls: u64, moved: u64| {
        let form = format!("getdents64 {kind}");
        let end = FormCount { form, bytes: Some(0), calls, ..FormCount::default() };
        vec![end.clone(), FormCount { bytes: Some(4_096), moved, ..end }]
    };
    let all = charges(
        vec![of(10, 2_000.0), of(100, 11_000.0), of(1_000, 101_000.0)],
        form("directory", 2, 2 * 3_200),
        Faults::default(),
    );
    // An op about nothing takes 1 us: the last call half of that.
    assert_eq!(amount(&all, "getdents64 directory"), Some(2.0 * 10_500.0 + 2.0 * 500.0));
    assert!(all.items[0].doubt.is_none() && all.missing.is_empty());
    // With one size alone a pair of calls pays an op, however it is divided: the last one is doubtful.
    let one = |entries: u64| {
        let forms = form("directory", 2, 2 * 32 * entries);
        charges(vec![of(100, 11_000.0)], forms, Faults::default())
    };
    let near = one(40);
    assert_eq!(amount(&near, "getdents64 directory"), Some(2.0 * 11_000.0));
    let doubt = near.items[0].doubt.as_deref();
    assert_eq!(doubt, Some("directory/getdents:files=100 alone: 2.5 times their size"));
    assert_eq!(near.missing, ["directory/getdents"]);
    let exact = one(100);
    let doubt = exact.items[0].doubt.as_deref();
    assert_eq!(doubt, Some("directory/getdents:files=100 alone: the calls move nothing"));
    assert_eq!(amount(&exact, "getdents64 directory"), Some(2.0 * 11_000.0));
    let one = one(5);
    assert_eq!(amount(&one, "getdents64 directory"), None);
    let why = one.items[0].missing.as_deref();
    assert_eq!(why, Some("only a price of directory/getdents:files=100: 20 times their size"));
    assert_eq!(one.missing, ["directory/getdents"]);
}

#[test]
fn a_case_is_priced_by_its_usual_row_whatever_was_measured_last() {
    let last = record(vec![
        row("process/fork-exit:touched_mib=8,peer_cpu=other", 900.0),
        row("file/read:via=read,size=4096,cache=cold", 90_000.0),
    ]);
    let before = record(vec![
        row("process/fork-exit:touched_mib=0,peer_cpu=same", 300.0),
        row("file/read:via=read,size=4096,cache=warm", 500.0),
    ]);
    let prices = PriceList::new([&last, &before], &catalog());
    let forms = vec![form("clone process", None, 1, 0), form("read file", Some(4_096), 1, 4_096)];
    let found = charge(&calls(forms), Faults::default(), &prices, 0.0);
    assert_eq!(amount(&found, "clone process"), Some(300.0));
    assert_eq!(amount(&found, "read file"), Some(500.0));
}

#[test]
fn a_difference_of_prices_below_zero_stays_there_and_a_wait_is_free() {
    let rows = vec![row("socket/shutdown", 900.0), row("descriptor/socketpair", 1_000.0)];
    let forms = vec![form("shutdown unix", None, 3, 0), form("nanosleep", None, 3, 0)];
    let found = charges(rows, forms, Faults::default());
    assert_eq!(amount(&found, "shutdown unix"), Some(-300.0));
    let item = found.items.iter().find(|item| item.name == "shutdown unix").unwrap();
    assert_eq!(item.less, ["descriptor/socketpair"]);
    assert!(item.plus.is_empty());
    // Three times [810, 990] without [900, 1100]: no end of it is cut off.
    let ends = item.amount.as_ref().and_then(|amount| amount.ci95);
    assert_eq!(ends.map(|ends| ends.map(f64::round)), Some([-870.0, 270.0]));
    assert_eq!(found.charged.ns.round(), -300.0);
    assert_eq!(amount(&found, "nanosleep"), Some(0.0));
    assert!(found.missing.is_empty(), "{:?}", found.missing);
}

#[test]
fn what_an_op_has_beside_the_call_is_subtracted_where_it_has_a_price() {
    let fork_exec = row("process/fork-exec:link=static", 900_000.0);
    let fork_exit = row("process/fork-exit:touched_mib=0,peer_cpu=same", 300_000.0);
    let exit = row("process/exit:touched_mib=0", 100_000.0);
    let forms = || vec![form("execve", None, 1, 0), form("clone process", None, 1, 0)];
    let all = charges(vec![fork_exec.clone(), fork_exit, exit.clone()], forms(), Faults::default());
    assert_eq!(amount(&all, "execve"), Some(600_000.0));
    // The exit is an item of its own; the wait has no price, and is charged here.
    assert_eq!(amount(&all, "clone process"), Some(200_000.0));
    let without = charges(vec![fork_exec, exit], forms(), Faults::default());
    assert_eq!(amount(&without, "execve"), Some(900_000.0));
    assert_eq!(amount(&without, "clone process"), None);
    assert_eq!(without.missing, ["process/fork-exit"]);
}

#[test]
fn faults_are_items_and_what_has_no_price_comes_last_and_says_why() {
    let rows = vec![row("fault/zero-fill:access=write,pages=4k", 500.0)];
    let from_disk = form("read disk", Some(4_096), 5, 5 * 4_096);
    let forms = vec![form("no_such_call", None, 9, 0), form("getppid", None, 99, 0), from_disk];
    let found = charges(rows, forms, Faults { minor: 10.0, major: 0.0 });
    let names: Vec<&str> = found.items.iter().map(|item| item.name.as_str()).collect();
    assert_eq!(names, ["minor page fault", "getppid", "no_such_call", "read disk"]);
    assert_eq!(amount(&found, "minor page fault"), Some(5_000.0));
    let why = |name: &str| found.items.iter().find(|it| it.name == name).unwrap().missing.clone();
    assert_eq!(why("no_such_call").as_deref(), Some("no case prices it"));
    assert!(why("read disk").is_some_and(|why| why.starts_with("it waited for a disk")));
    assert_eq!(why("getppid").as_deref(), Some("no price of syscall/getppid in these runs"));
    assert_eq!(found.missing, ["syscall/getppid"]);
}

#[test]
fn rows_under_treatments_and_rows_that_were_not_measured_are_no_prices() {
    let mut treated = row("syscall/getuid:via=raw", 100.0);
    treated.target.treatments = vec!["nice=5".to_owned()];
    let mut skipped = row("syscall/getuid:via=raw", 100.0);
    skipped.outcome = RowOutcome::Skipped;
    let record = record(vec![treated, skipped]);
    assert!(PriceList::new([&record], &catalog()).is_empty());
}

#[test]
fn of_two_runs_the_first_one_has_the_price_and_the_other_one_what_it_lacks() {
    let one = record(vec![row("syscall/getuid:via=raw", 100.0)]);
    let other = record(vec![row("syscall/getuid:via=raw", 1.0), row("syscall/uname", 50.0)]);
    let prices = PriceList::new([&one, &other], &catalog());
    let forms = vec![form("getuid", None, 1, 0), form("uname", None, 1, 0)];
    let found = charge(&calls(forms), Faults::default(), &prices, 0.0);
    assert_eq!([amount(&found, "getuid"), amount(&found, "uname")], [Some(100.0), Some(50.0)]);
    assert_eq!(found.items[0].share_pct, None, "a share of nothing");
}

#[test]
fn another_list_prices_what_the_first_one_lacks_and_nothing_else() {
    let first = record(vec![row("syscall/getuid:via=raw", 100.0)]);
    let other = record(vec![row("syscall/getuid:via=raw", 1.0), row("syscall/uname", 50.0)]);
    let others = PriceList::new([&other], &catalog());
    let prices = PriceList::new([&first], &catalog()).with_others(others);
    let forms = vec![form("getuid", None, 1, 0), form("uname", None, 1, 0)];
    let found = charge(&calls(forms), Faults::default(), &prices, 0.0);
    assert_eq!([amount(&found, "getuid"), amount(&found, "uname")], [Some(100.0), Some(50.0)]);
    let in_others = |selector: &str| prices.has_in_others_alone(selector);
    assert!(in_others("syscall/uname"));
    assert!(!in_others("syscall/getuid") && !in_others("syscall/getppid"));
}

#[test]
fn a_price_that_is_lacking_is_measured_at_all_sizes_if_its_calls_have_sizes() {
    let catalog = catalog();
    let only = record(vec![row("directory/getdents:files=100", 11_000.0)]);
    let prices = PriceList::new([&only], &catalog);
    let getdents = |moved: u64| form("getdents64 directory", Some(1_024), 1_000, 1_000 * moved);
    let selectors = |forms: Vec<FormCount>| -> Vec<LackingPrice> {
        let mut found =
            lacking_prices(&calls(forms), Faults::default(), &prices, &prices, &catalog);
        found.sort_by(|one, other| one.selector.cmp(&other.selector));
        found
    };
    // Three times as many entries as the only row has: other sizes are lacking, and what is
    // subtracted from it.
    let found = selectors(vec![getdents(9_600), form("getppid", None, 1_000, 0)]);
    let names: Vec<&str> = found.iter().map(|it| it.selector.as_str()).collect();
    assert_eq!(names, ["directory/getdents", "syscall/getppid", "syscall/lseek"]);
    assert_eq!(found[0].size_axis.as_deref(), Some("files"));
    assert_eq!((found[1].times, &found[1].size_axis), (1_000.0, &None));
    let named = vec!["directory/getdents".to_owned()];
    let cases = crate::plan::select(&catalog, &named, Extent::Default).unwrap();
    let sizes = found[0].usual_cases(cases.clone(), &catalog);
    assert!(sizes.len() > 1, "{sizes:?}");
    let one = LackingPrice { size_axis: None, ..found[0].clone() }.usual_cases(cases, &catalog);
    let one: Vec<String> = one.iter().map(Case::to_string).collect();
    assert_eq!(one, ["directory/getdents:files=100"]);
    // As many as it has.
    let found = selectors(vec![getdents(3_200)]);
    assert!(found.iter().all(|it| it.selector != "directory/getdents"), "{found:?}");
}

#[test]
fn prices_of_a_twentieth_of_what_is_charged_are_large_whatever_runs_have_them() {
    let catalog = catalog();
    let rows = [("syscall/getuid:via=raw", 100.0), ("syscall/uname", 100.0)];
    let stored = record(rows.map(|(case, ns)| row(case, ns)).to_vec());
    let known = PriceList::new([&stored], &catalog);
    let large = |uname: u64, fresh: &PriceList<'_>| -> Vec<String> {
        let forms = vec![form("getuid", None, 950, 0), form("uname", None, uname, 0)];
        let found = large_prices(&calls(forms), Faults::default(), fresh, &known, &catalog);
        found.into_iter().map(|it| it.selector).collect()
    };
    let nothing = PriceList::new([], &catalog);
    assert_eq!(large(49, &nothing), ["syscall/getuid"]);
    assert_eq!(large(50, &nothing), ["syscall/getuid", "syscall/uname"]);
    // Those of the bill's own runs are not measured again.
    let fresh = record(vec![row("syscall/getuid:via=raw", 100.0)]);
    assert_eq!(large(50, &PriceList::new([&fresh], &catalog)), ["syscall/uname"]);
}

#[test]
fn a_price_that_is_lacking_weighs_at_least_what_its_calls_took_in_the_kernel() {
    let catalog = catalog();
    let only = record(vec![row("syscall/getuid:via=raw", 100.0)]);
    let prices = PriceList::new([&only], &catalog);
    // 100 us at a price, and 10 calls that are expected to take half a microsecond each.
    let forms = vec![form("getuid", None, 10_000, 0), form("uname", None, 10, 0)];
    let lacking = |on_cpu_ns: u64| {
        let time = KernelTime { calls: 10, on_cpu_ns, off_cpu_ns: 0 };
        let in_kernel = vec![FormTime { form: "uname".to_owned(), time, ..FormTime::default() }];
        let counted = ProgramCalls { in_kernel, ..calls(forms.clone()) };
        lacking_prices(&counted, Faults::default(), &prices, &prices, &catalog)
    };
    assert_eq!(lacking(5_000), []);
    let found = lacking(400_000);
    assert_eq!(found.iter().map(|it| it.selector.as_str()).collect::<Vec<_>>(), ["syscall/uname"]);
    assert_eq!(found[0].amount_ns, Some(400_000.0));
}

#[test]
fn the_price_of_a_rate_is_the_time_of_a_message() {
    let mut small = row("pipe/throughput:by=pipe,size=1024", 1.024e9);
    let mut large = row("pipe/throughput:by=pipe,size=65536", 32.768e9);
    (small.unit, large.unit) = (Unit::BytesPerSecond, Unit::BytesPerSecond);
    let forms = vec![form("write pipe", Some(1_024), 4, 4_096)];
    let found = charges(vec![small, large], forms, Faults::default());
    // A message takes 1 us at both ends together.
    assert_eq!(amount(&found, "write pipe"), Some(2_000.0));
}

#[test]
fn of_three_runs_each_form_has_its_median_count() {
    let run = |reads: u64, futexes: u64| {
        let mut forms = vec![form("read file", Some(4_096), reads, reads)];
        if futexes > 0 {
            forms.push(form("futex wait", None, futexes, 0));
        }
        calls(forms)
    };
    let found = combine(&[run(5, 0), run(5, 3), run(5, 9)]).unwrap();
    let counts: Vec<(&str, u64)> =
        found.calls.forms.iter().map(|it| (it.form.as_str(), it.calls)).collect();
    assert_eq!(counts, [("futex wait", 3), ("read file", 5)]);
    assert_eq!(found.varying_forms, 1);
    let rare = combine(&[run(5, 0), run(5, 0), run(5, 9)]).unwrap();
    assert_eq!(rare.calls.forms.len(), 1, "most runs have no such call");
    // A number of a process or a length that has a digit more in some runs.
    let sized = |bytes: u64| calls(vec![form("read proc", Some(bytes), 3, 3 * bytes)]);
    let found = combine(&[sized(16), sized(32), sized(64)]).unwrap();
    assert_eq!(found.calls.forms.iter().map(|it| it.calls).sum::<u64>(), 3, "in another class");
    let timed = |reads, real_ns| ProgramCalls { real_ns, ..run(reads, 0) };
    let found = combine(&[timed(5, 70), timed(6, 90), timed(7, 80)]).unwrap();
    assert_eq!(found.calls.real_ns, 80, "the time of no single run");
    assert_eq!(combine(&[]), None);
    assert_eq!(combine(&[run(1, 0)]).unwrap().varying_forms, 0);
}

#[test]
fn the_system_time_that_few_ticks_make_is_the_mean_of_trials() {
    let estimate = |median: f64, mean: f64| Estimate {
        median,
        mean,
        sd: Some(mean),
        repetitions: 100,
        ci95: Some([median, median]),
        ..stored().results[0].estimate.clone().unwrap()
    };
    let of = |system: &Estimate| system_time(system, Nominal::FIXED);
    let long = of(&estimate(0.5, 0.6));
    assert_eq!((long.amount.ns, long.figure), (0.5e9, TrialFigure::Median));
    // Twenty ticks of 4 ms in the kernel.
    assert_eq!(of(&estimate(0.07, 0.081)).figure, TrialFigure::Median);
    assert_eq!(of(&estimate(0.09, 0.079)).figure, TrialFigure::Mean);
    let short = of(&estimate(0.0, 0.002));
    assert_eq!((short.amount.ns.round(), short.figure), (2e6, TrialFigure::Mean));
    let [low, high] = short.amount.ci95.unwrap();
    // 1.984 standard errors of a hundred trials.
    assert!((low - 1_603_157.0).abs() < 100.0 && (high - 2_396_843.0).abs() < 100.0, "{short:?}");
    let few = Estimate { repetitions: 6, ..estimate(0.0, 0.002) };
    let half = of(&few).amount.ci95.map(|ends| ends[1] - 2e6);
    // 2.571 standard errors of six.
    assert!((half.unwrap() - 2.5706 * 2e6 / 6f64.sqrt()).abs() < 1e3, "{half:?}");
    let wider = system_time(&few, Nominal::ADAPTIVE).amount.ci95.map(|ends| ends[1] - 2e6);
    assert!(wider > half, "of trials that may end when it is narrow: {wider:?}");
    let one = Estimate { repetitions: 1, ..few };
    assert_eq!(of(&one).amount.ci95, None);
}

#[test]
fn the_ticks_of_groups_divide_the_exact_time_of_trials() {
    let cpu = Estimate {
        mean: 0.05,
        sd: Some(0.001),
        repetitions: 6,
        ..stored().results[0].estimate.clone().unwrap()
    };
    let of = |user_us: u64, system_us: u64, groups: usize| {
        let groups = vec![GroupTimes { user_us, system_us }; groups];
        divided_time(&cpu, &groups, &[], 4e6, Nominal::FIXED)
    };
    let found = of(100_000, 300_000, 10).unwrap();
    assert_eq!((found.system_share, found.ticks), (0.75, 1_000.0));
    assert!((found.system.ns - 37.5e6).abs() < 1.0, "{found:?}");
    assert!((found.system.ns + found.user.ns - 50e6).abs() < 1.0, "{found:?}");
    let half = |amount: &Amount| amount.ci95.map(|[low, high]| (high - low) / 2.0).unwrap();
    // That of the share alone: 1.96 times the root of 0.75 x 0.25 / 1,000, of 50 ms; and some more.
    let by_share = 1.96 * (0.75f64 * 0.25 / 1_000.0).sqrt() * 50e6;
    assert!((1.0..1.5).contains(&(half(&found.system) / by_share)), "{found:?}");
    let few = of(1_000, 3_000, 10).unwrap();
    assert!(half(&few.system) > 4.0 * half(&found.system), "ten ticks");
    assert_eq!(of(0, 0, 10), None);
    assert_eq!(of(0, 0, 0), None);
}

#[test]
fn prices_of_another_kernel_and_of_another_day_are_stale() {
    let now: Machine = stored().machines[0].clone();
    let hours = |hours: u64| Some(std::time::Duration::from_secs(3_600 * hours));
    assert_eq!(differences(&now, &now, hours(23)), Vec::<String>::new());
    assert_eq!(differences(&now, &now, hours(48)), ["they are 2.0 days old"]);
    let mut then = now.clone();
    then.os.release = Some("6.1.0".to_owned());
    then.mitigations.insert("meltdown".to_owned(), "Vulnerable".to_owned());
    then.mitigations.insert("retbleed".to_owned(), "Vulnerable".to_owned());
    assert_eq!(
        differences(&then, &now, None),
        ["the kernel was 6.1.0, and is unknown", "mitigations differ: meltdown, retbleed"]
    );
}

#[test]
fn the_time_in_the_kernel_stands_beside_a_price_and_changes_none() {
    let record = record(vec![row("directory/open:by=openat", 400.0)]);
    let prices = PriceList::new([&record], &catalog());
    let forms = vec![form("openat file", None, 10, 0), form("close file", None, 5, 0)];
    let without = calls(forms);
    let time = KernelTime { calls: 10, on_cpu_ns: 9_000, off_cpu_ns: 70 };
    let in_kernel = vec![FormTime { form: "openat file".to_owned(), time, ..FormTime::default() }];
    let with = ProgramCalls { in_kernel, ..without.clone() };
    let [without, with] =
        [without, with].map(|calls| charge(&calls, Faults::default(), &prices, 10_000.0));
    assert_eq!(with.charged, without.charged);
    let times = |charges: &Charges, name: &str| {
        let item = charges.items.iter().find(|item| item.name == name).unwrap();
        item.in_kernel
    };
    assert_eq!(times(&with, "openat file"), Some(time));
    assert_eq!((times(&with, "close file"), times(&without, "openat file")), (None, None));
}
