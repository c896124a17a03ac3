//! The whole tool on this machine: `make test-live` (docs/explanation/METHOD.md, section
//! 10).
//!
//! They take minutes. L11 needs an otherwise idle machine; L9 loads it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use oscost::estimate::Assembler;
use oscost::hosts::{Interrupt, LocalSession, Session, WorkerBinary};
use oscost::plan::{self, ComparedTarget, ComparisonRows};
use oscost::run::{ComparisonPlan, EventCounting, PairCount, Profile, Request, TrialBudget};
use oscost_model::definition::Extent;
use oscost_model::journal::{Design, Entry, RunHeader};
use oscost_model::record::{
    Comparison, Machine, Record, RowOutcome, Settings, TargetInfo, Tool, WorkerProgram,
};
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};
use oscost_stats::order;

/// One at a time, independent of the number of test threads: they measure.
static MACHINE: Mutex<()> = Mutex::new(());

fn run(arguments: &[&str]) -> Record {
    oscost("run", arguments)
}

fn ab(arguments: &[&str]) -> Record {
    oscost("ab", arguments)
}

fn oscost(verb: &str, arguments: &[&str]) -> Record {
    let output = Command::new(env!("CARGO_BIN_EXE_oscost"))
        .arg(verb)
        .args(arguments)
        .args(["--no-store", "--json", "-"])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn median(record: &Record, case: &str) -> Option<f64> {
    let row = record.results.iter().find(|row| row.case == case).unwrap();
    row.estimate.as_ref().map(|estimate| estimate.median)
}

/// Two busy loops for each CPU, ended when dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start() -> Self {
        let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get());
        let hog = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        Self((0..2 * cpus).map(|_| hog()).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

#[test]
fn l9_a_loaded_machine_moves_the_median_by_at_most_two_per_cent() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    const CASE: &str = "syscall/getppid:via=raw";
    let mode_b =
        [CASE, "syscall/getppid:via=libc", "syscall/open-close", "timer/clock-gettime:via=raw"];
    let (mut quiet, mut loaded, mut rows, mut unmeasurable) = (vec![], vec![], 0, 0);
    for round in 0..10 {
        quiet.extend(median(&run(&[CASE]), CASE));
        let hogs = Hogs::start();
        let record = run(&mode_b);
        drop(hogs);
        loaded.extend(median(&record, CASE));
        for row in record.results.iter().filter(|row| !row.flags.contains(&"REFERENCE".to_owned()))
        {
            rows += 1;
            unmeasurable += u32::from(row.outcome != RowOutcome::Measured);
        }
        let conditions = &record.conditions[0];
        println!("round {round}: {:?}, {:?} % lost", conditions.class, conditions.lost_pct);
        assert!(matches!(conditions.class.as_deref(), Some("noisy" | "very-noisy")));
    }
    let middle = |values: &[f64]| order::median(&order::sorted(values)).unwrap();
    let moved = 100.0 * (middle(&loaded) / middle(&quiet) - 1.0);
    println!("quiet {quiet:.1?}\nloaded {loaded:.1?}\nmoved by {moved:.2} %");
    println!("{unmeasurable} of {rows} rows unmeasurable");
    assert!(moved.abs() <= 2.0, "moved by {moved:.2} %");
    assert!(f64::from(unmeasurable) <= 0.1 * f64::from(rows), "{unmeasurable} of {rows}");
}

/// How far the core frequency moved between runs, in per cent: an iteration of the empty loop takes
/// one core cycle, whatever the kernel does.
fn rate_moved_pct(records: &[Record]) -> f64 {
    let iteration_ns = |record: &Record| {
        let row = record.results.iter().find(|row| row.case == "timer/nothing")?;
        row.estimate.as_ref().map(|estimate| estimate.raw_median)
    };
    let iterations = order::sorted(&records.iter().filter_map(iteration_ns).collect::<Vec<_>>());
    100.0 * (iterations[iterations.len() - 1] / iterations[0] - 1.0)
}

/// The requirement is for an otherwise idle host. If the core frequency moves between runs by as
/// much as the intervals are wide, the test shows nothing about the intervals and prints that.
#[test]
fn l11_ten_runs_agree_as_often_as_their_intervals_say() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    let records: Vec<Record> = (0..10).map(|_| run(&[])).collect();
    let (mut intervals, mut hold, mut wide_misses) = (0, 0, 0);
    for row in &records[0].results {
        let found: Vec<(f64, [f64; 2])> = records
            .iter()
            .filter_map(|record| record.results.iter().find(|other| other.case == row.case))
            .filter_map(|row| row.estimate.as_ref())
            .filter_map(|estimate| Some((estimate.median, estimate.ci95?)))
            .collect();
        let medians = order::sorted(&found.iter().map(|(median, _)| *median).collect::<Vec<_>>());
        let Some(grand) = order::median(&medians) else { continue };
        let missed = found.iter().filter(|(_, [low, high])| grand < *low || grand > *high).count();
        let by_more = |&&(_, [low, high]): &&(f64, [f64; 2])| {
            grand < low - (high - low) || grand > high + (high - low)
        };
        wide_misses += found.iter().filter(by_more).count();
        intervals += found.len();
        hold += found.len() - missed;
        println!("{:<44} {grand:>10.3}  {missed} of {} miss it", row.case, found.len());
    }
    println!(
        "{hold} of {intervals} intervals cover the grand median, {wide_misses} miss it by more than their width"
    );
    let moved = rate_moved_pct(&records);
    if moved > 1.0 {
        println!("NOT SHOWN: the core frequency moved by {moved:.1} % between the ten runs");
        return;
    }
    assert!(hold as f64 >= 0.9 * intervals as f64);
    assert!(wide_misses as f64 <= 0.02 * intervals as f64);
}

/// The comparisons of requested rows.
fn rows(record: &Record) -> Vec<Comparison> {
    let requested = |it: &&Comparison| {
        let flags = &record.results[it.base as usize].flags;
        !it.control && !flags.iter().any(|flag| flag == "REFERENCE" || flag == "PRIMITIVE")
    };
    record.comparisons.iter().filter(requested).cloned().collect()
}

fn is_alarm(it: &Comparison) -> bool {
    it.verdict == "slower" || it.verdict == "faster"
}

/// Some fifty rows whose ops take little time.
const SHORT: &[&str] = &["syscall", "timer/clock-gettime", "memory/copy", "file/read", "pipe"];

#[test]
fn l5_identical_sides_are_significant_as_often_as_chance_predicts() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut all = Vec::new();
    while all.len() < 200 {
        all.extend(rows(&ab(&[&["--base", "local", "--new", "local"], SHORT].concat())));
    }
    all.truncate(200);
    let significant = all.iter().filter(|it| it.p <= 0.05).count();
    let beyond =
        |it: &&Comparison| it.ratio.ci95.is_some_and(|[low, high]| low > 1.01 || high < 1.0 / 1.01);
    let beyond: Vec<_> = all.iter().filter(beyond).map(|it| (&it.case, it.ratio.ci95)).collect();
    let equivalent = all.iter().filter(|it| it.verdict == "equivalent").count();
    println!("of 200: {significant} significant, {equivalent} equivalent, beyond 1 %: {beyond:?}");
    assert!(significant <= 16, "{significant}");
    assert!(beyond.len() <= 2, "{beyond:?}");
}

#[test]
fn l6_ten_price_lists_of_identical_sides_raise_an_alarm_in_at_most_one() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut with_alarm = 0;
    for price_list in 0..10 {
        let rows = rows(&ab(&["--base", "local", "--new", "local"]));
        let alarms: Vec<_> = rows.iter().filter(|it| is_alarm(it)).collect();
        println!(
            "price list {price_list}: {} rows, {} alarms: {alarms:?}",
            rows.len(),
            alarms.len()
        );
        with_alarm += usize::from(!alarms.is_empty());
    }
    assert!(with_alarm <= 1, "{with_alarm}");
}

/// Rows as fork twins, of which the second runs a chain of multiplications inside the timed window
/// that takes `pct` per cent of its batch. Only a worker built for live tests can be slowed this
/// way.
fn slowed(selectors: &[&str], pct: &str) -> Record {
    let program = WorkerBinary::find().unwrap();
    let interrupt = Interrupt::listen().unwrap();
    let mut session = LocalSession::start(&program, &interrupt).unwrap();
    let selectors: Vec<String> = selectors.iter().map(|&it| it.to_owned()).collect();
    let requested = plan::select(&program.catalog, &selectors, Extent::Default).unwrap();
    let target = |text: &str| TargetInfo {
        text: text.to_owned(),
        host: "local".to_owned(),
        treatments: vec![],
        machine: "m0".to_owned(),
        cpu: None,
        peer: None,
    };
    let slower =
        AppliedTreatment::Env { name: "OSCOST_SLOWDOWN_PCT".to_owned(), value: pct.to_owned() };
    let treated = TreatmentSet { applied: vec![slower], attached: vec![] };
    let base = ComparedTarget { target: target("local"), treatments: TreatmentSet::default() };
    let new = ComparedTarget { target: target("slowed"), treatments: treated };
    let ComparisonRows { rows, treatments: treated, mut sets } =
        plan::comparison_rows(&program.catalog, &requested, &base, &[new]);
    // An environment variable would move the stack, which costs or saves per cents by itself; this
    // is an argument of the arm only.
    sets.iter_mut().for_each(|set| set.design = Design::Twins);
    let time_budget = Duration::from_secs(75);
    let pairs = PairCount { min: 16, max: 40, spread: true, time_budget, limit: None };
    let hello = session.hello().clone();
    let request = Request {
        header: RunHeader {
            id: "live".to_owned(),
            started_at: String::new(),
            label: None,
            command: vec![],
            tool: Tool {
                version: String::new(),
                commit: None,
                rustc: None,
                worker: WorkerProgram {
                    hash: String::new(),
                    link: String::new(),
                    libc: String::new(),
                    catalog: String::new(),
                },
            },
            settings: Settings {
                seed: 7,
                profile: "default".to_owned(),
                precision_pct: None,
                nominal: 0.95,
                budget_s: None,
                study: None,
                predictions: Vec::new(),
            },
        },
        machine: Machine::new("m0", hello.facts.clone(), vec![]),
        tracers: vec![],
        rows,
        timers: vec![],
        profile: Profile::Quick,
        budget: None,
        treatments: treated,
        comparison: Some(ComparisonPlan { sets, pairs, measure_lone_bases: false }),
        refine: false,
        trials: TrialBudget::default(),
        skipped: Vec::new(),
        event_counting: EventCounting::default(),
        requested_cpu: None,
        peer_cpu: None,
    };
    let mut assembler = Assembler::default();
    oscost::run::run(&mut session, request, &mut |entry: &Entry| assembler.apply(entry)).unwrap();
    assembler.record(false).unwrap()
}

/// Needs a worker built with the feature `live`, named by `OSCOST_WORKER`; `make test-live` does
/// this.
#[test]
fn l7_an_injected_slowdown_of_five_per_cent_is_found() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    let mut all = Vec::new();
    while all.len() < 100 {
        all.extend(rows(&slowed(&["syscall"], "5")));
    }
    all.truncate(100);
    let found = all.iter().filter(|it| it.verdict == "slower").count();
    let wrong = all.iter().filter(|it| it.ratio.value < 1.0).count();
    let holds =
        |it: &&Comparison| it.ratio.ci95.is_some_and(|[low, high]| (low..=high).contains(&1.05));
    let held = all.iter().filter(holds).count();
    for it in all.iter().filter(|it| it.verdict != "slower" || !holds(it)) {
        println!("{}: {:.4} {:.4?} {}", it.case, it.ratio.value, it.ratio.ci95, it.verdict);
    }
    println!("{found} of 100 found, {wrong} signs wrong, {held} intervals hold 5 %");
    assert!(found >= 95 && wrong == 0, "{found} found, {wrong} wrong");
    assert!(held >= 90, "{held}");
}

#[test]
fn l8_a_filter_that_allows_all_calls_is_found_in_twenty_of_twenty_runs() {
    let _machine = MACHINE.lock().unwrap_or_else(|broken| broken.into_inner());
    const CASE: &str = "syscall/getppid:via=raw";
    let arguments = ["--base", "local", "--new", "seccomp=allow", CASE];
    let found: Vec<Comparison> = (0..20)
        .map(|_| rows(&ab(&arguments)).into_iter().find(|it| it.case == CASE).unwrap())
        .collect();
    let slower = found.iter().filter(|it| it.verdict == "slower").count();
    let ratios = order::sorted(&found.iter().map(|it| it.ratio.value).collect::<Vec<_>>());
    let grand = order::median(&ratios).unwrap();
    let holds =
        |it: &&Comparison| it.ratio.ci95.is_some_and(|[low, high]| (low..=high).contains(&grand));
    let held = found.iter().filter(holds).count();
    println!("{slower} of 20 slower, ratios {ratios:.3?}, {held} intervals hold {grand:.4}");
    assert_eq!(slower, 20);
    assert!(held >= 17, "{held}");
}
