//! What oscost itself costs: `make bench`.
//!
//! Bars: a worker has under 2 MiB of anonymous memory (fork(2) copies its page tables) and is ready
//! 3 ms after the order; one benchmark is answered within 1.5 s with a half-width of at most 2 %;
//! `oscost list` takes at most 30 ms; the whole price list takes under a minute, with `--quick`
//! under 15 s; a history of 200 cases over 1,000 runs takes under a second; with 2,000 runs of 100
//! rows in the store a list of runs, a history and a comparison each take under a second, with
//! 10,000 under 5 s; a page of 2,000 rows is written in under a second, is smaller than 3 MB, and
//! Chromium on two cores draws its first content within 0.5 s; the monitor pH adds under 2.5 times
//! what an empty program adds to a call, and the same within 5 % while the other CPU makes calls
//! too; times of programs are within 1 % of hyperfine's, and a trial costs less than 1 ms. Each
//! figure is printed with its bar and the ratio of the two. On a loaded machine the times are
//! longer.
//!
//! `-- bill`, `-- bill-what-if`, `-- bill-counts` and `-- bill-limits` measure those of `oscost bill`
//! instead, and `-- bill-ph` prints what it says of pH (`bill.rs`).
//!
//! `-- fleet` measures those of simulated fleets instead, which take long, and gigabytes of disk: of
//! 10,000 nodes 200 records a second are collected into 20 KB each, and the report takes 60 s, 1 GiB
//! and 10 MB, finds 95 % of the faults, and 5 % of its findings are false.
//!
//! `-- slurm` measures those of nodes of Slurm instead, four on this host: a session takes 300 ms more
//! than a local one, its figures are those of local runs within 3 %, and a fleet takes 90 s from its
//! submission to its report.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that is run by hand"
)]

mod bill;
#[path = "../../tests/browser/chromium.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod chromium;
#[path = "../../tests/common/slurm.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod cluster;
mod fleet;
#[path = "../../tests/common/large_run.rs"]
mod large_run;
#[path = "../../tests/browser/page.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod page;
#[path = "../../tests/browser/shared.rs"]
mod shared;
mod slurm;
#[path = "../../tests/browser/wire.rs"]
mod wire;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oscost::app;
use oscost::hosts::{Interrupt, LocalSession, Session, WorkerBinary};
use oscost::report;
use oscost::store::{Figure, MachineState, Store, SummarisedRun, Summary};
use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::journal::{Entry, RunHeader};
use oscost_model::program::Program;
use oscost_model::protocol::{Event, Order};
use oscost_model::record::{Record, Settings, Tool, WorkerProgram};
use oscost_model::seed::Seed;
use oscost_model::unit::Unit;
use oscost_model::worker::{BatchPlan, Mode, Subject, Task, WorkerSpec};

use bill::BillBars;

fn main() {
    let program = WorkerBinary::find().unwrap();
    let tool = env!("CARGO_BIN_EXE_oscost");
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(at) = arguments.iter().position(|it| it == WRITE) {
        return println!("{}", write(&program, Path::new(&arguments[at + 1])));
    }
    // Those of bills take an hour: only by their names.
    let words: Vec<String> =
        arguments.iter().skip(1).filter(|word| *word != "--bench").cloned().collect();
    if let Some((name, words)) = words.split_first()
        && let Some(bars) = BillBars::named(name)
    {
        let held = bars.hold(tool, words).unwrap_or_else(|error| {
            println!("error: {error:#}");
            false
        });
        return end(held);
    }
    let mut held = true;
    let mut bar = |what: &str, found: f64, limit: f64, unit: &str| {
        held &= found <= limit;
        println!("{what:<44} {found:>9.2} {unit:<4} bar {limit:>7.2}  ratio {:.2}", found / limit);
    };

    // `-- programs`, `-- history`, `-- report`, `-- fleet` or `-- slurm` run only those bars.
    let alone = |name: &str| arguments.iter().any(|it| it == name);
    let some_alone = ["programs", "history", "report", "fleet", "slurm"].into_iter().any(alone);
    let wanted = |name: &str| !some_alone || alone(name);
    if wanted("history") {
        bar("oscost history, 200 cases over 1,000 runs", history(tool), 1.0, "s");
        for (runs, limit) in [(2_000, 1.0), (10_000, 5.0)] {
            for (verb, seconds) in large_store(tool, runs) {
                bar(&format!("{verb}, store of {runs} runs of 100 rows"), seconds, limit, "s");
            }
        }
        let what = "the first history over 200 imported runs";
        println!("{what:<44} {:>9.2} s", first_history(tool));
    }
    if wanted("report") {
        report(&mut bar);
    }
    if wanted("calls") {
        calls(&program, tool, &mut bar);
    }
    if wanted("programs") {
        match programs(&program) {
            Ok(found) => {
                for (what, apart) in [("real", found.real), ("user and system", found.cpu)] {
                    bar(&format!("{what} of a program, from hyperfine's"), apart.abs(), 1.0, "%");
                }
                bar("real of `true`, over hyperfine's", found.added_ms, 1.0, "ms");
            }
            Err(why) => println!("programs: not measured: {why}"),
        }
    }
    if alone("fleet") {
        fleet::bars(tool, &mut bar);
    }
    if alone("slurm") {
        slurm::bars(tool, &mut bar);
    }
    end(held);
}

/// Says whether all bars hold; the exit status is 1 if one does not.
fn end(held: bool) {
    println!("bars hold: {held}");
    if !held {
        std::process::exit(1);
    }
}

/// The bars of workers, of single benchmarks, and of the monitor.
fn calls(program: &WorkerBinary, tool: &str, bar: &mut dyn FnMut(&str, f64, f64, &str)) {
    let (ready_ms, anonymous_kib) = spawns(program);
    bar("from spawn to ready, median of 101", ready_ms, 3.0, "ms");
    bar("anonymous memory when ready, largest of 101", anonymous_kib, 2_048.0, "KiB");

    let list = median((0..21).map(|_| timed(Command::new(tool).arg("list")).0).collect());
    bar("oscost list, median of 21", list * 1e3, 30.0, "ms");

    let mut answers = Vec::new();
    let mut widths = Vec::new();
    for _ in 0..7 {
        let mut command = Command::new(tool);
        let (seconds, json) =
            timed(command.args(["run", "syscall/getppid:via=raw", "--no-store", "--json", "-"]));
        let record: serde_json::Value = serde_json::from_slice(&json).unwrap();
        answers.push(seconds);
        widths.push(record["results"][0]["estimate"]["half_width_pct"].as_f64().unwrap());
    }
    bar("oscost run syscall/getppid, median of 7", median(answers), 1.5, "s");
    bar("its half-width, median of 7", median(widths), 2.0, "%");
    for (what, arguments, limit) in
        [("the price list", &[][..], 60.0), ("the price list with --quick", &["--quick"][..], 15.0)]
    {
        let seconds = price_list(Command::new(tool).arg("run").args(arguments));
        bar(what, seconds, limit, "s");
    }
    match monitor(tool) {
        Ok((times, both)) => {
            bar("what pH adds to a call, over an empty BPF program", times, 2.5, "x");
            bar("both CPUs under pH over one, without pH the same", both, 1.05, "x");
        }
        Err(why) => println!("pH: not measured: {why}"),
    }
}

/// A store of so many runs with figures of all cases. One case in forty has changed in the last
/// twenty runs: few enough that the permutation test runs for each of them.
fn store_of_runs(folder: &Path, runs: u32, cases: &[String]) -> Store {
    let mut store = Store::open(&folder.join("oscost/store.db")).unwrap();
    let mut seed = Seed::new(1);
    let word = || "word".to_owned();
    let worker = WorkerProgram { hash: word(), link: word(), libc: word(), catalog: word() };
    let tool_of = Tool { version: word(), commit: None, rustc: None, worker };
    let settings = Settings {
        seed: 1,
        profile: word(),
        precision_pct: None,
        nominal: 0.95,
        budget_s: None,
        study: None,
        predictions: Vec::new(),
    };
    let mut summarised = Vec::new();
    for run in 0..runs {
        let id = format!("{run:08x}-c2d3-7e4f-8a9b-0c1d2e3f4a5b");
        let (month, day, hour) = (1 + run / 880, 1 + run / 40 % 22, run % 40 / 2);
        let at = format!("2026-{month:02}-{day:02}T{hour:02}:{:02}:00Z", run % 2 * 30);
        let (label, command) = (None, vec![word()]);
        let (tool, settings) = (tool_of.clone(), settings.clone());
        let id_of = id.clone();
        store
            .begin(&RunHeader { id: id_of, started_at: at.clone(), label, command, tool, settings })
            .unwrap();
        store.append(&id, &Entry::Ended { at, complete: true }).unwrap();
        let figure = |(number, case): (usize, &String)| {
            // The sum of twelve uniform values is nearly normal.
            let noise = (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
            let step = if number.is_multiple_of(40) && run >= runs - 20 { 1.06 } else { 1.0 };
            let median = 100.0 * (1.0 + 0.02 * noise) * step;
            Figure {
                case: case.clone(),
                target: "local".to_owned(),
                machine: Some(0),
                peer: None,
                cpu: Some(1),
                rev: 1,
                unit: Unit::NsPerOp,
                mode: Some(Mode::B),
                subject: None,
                file: None,
                monitor: None,
                flags: Vec::new(),
                median,
                interval: Some([median * 0.99, median * 1.01]),
                counts: None,
                metrics: Vec::new(),
            }
        };
        let figures = cases.iter().enumerate().map(figure).collect();
        let machine_states =
            vec![MachineState { machine: "cpus 2".to_owned(), ..MachineState::default() }];
        // With other rules the journals would be read.
        let rules = app::SUMMARY_RULES;
        let summary = Summary { rules, figures, machine_states, ..Summary::default() };
        summarised.push(SummarisedRun { id, started: String::new(), imported: false, summary });
        if summarised.len() == 500 || run + 1 == runs {
            store.summarise_all(&summarised).unwrap();
            summarised.clear();
        }
    }
    store
}

/// Seconds that a history of all cases takes, median of 5.
fn history(tool: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<String> =
        (0..200).map(|case| format!("syscall/some-call:size={case}")).collect();
    drop(store_of_runs(folder.path(), 1_000, &cases));
    let times = (0..5).map(|_| {
        let (seconds, output) =
            timed(Command::new(tool).arg("history").env("XDG_DATA_HOME", folder.path()));
        let text = String::from_utf8(output).unwrap();
        // Five changed; one false alarm in the others is within the promise.
        assert!(text.contains(" of 200 cases at local changed"), "{text}");
        assert!(text.matches(":size=").count() >= 5, "{text}");
        seconds
    });
    median(times.collect())
}

/// A record of a hundred rows, without raw batches.
fn record(number: u32) -> Record {
    let benchmarks = ["syscall/getppid", "pipe/round-trip"].map(|id| (id, Unit::NsPerOp));
    let mut record = large_run::run(&benchmarks, 100, 0);
    record.id = format!("{:08x}-c2d3-7e4f-8a9b-0c1d2e3f4a5b", u32::MAX - 1_000 + number);
    record.started = format!("2027-01-01T{:02}:{:02}:00Z", number / 60, number % 60);
    record
}

/// Seconds that subcommands take on a store of so many runs, median of 5.
fn large_store(tool: &str, runs: u32) -> Vec<(&'static str, f64)> {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<String> = record(0).results.into_iter().map(|row| row.case).collect();
    let mut store = store_of_runs(folder.path(), runs, &cases);
    for number in 0..2 {
        store.import(&serde_json::to_vec(&record(number)).unwrap()).unwrap();
    }
    drop(store);
    let measured = [
        ("oscost runs list", &["runs", "list"][..]),
        ("oscost history", &["history"]),
        ("oscost compare", &["compare", "last~1", "last"]),
    ];
    let seconds = |arguments: &[&str]| {
        let times = (0..5).map(|_| {
            let mut command = Command::new(tool);
            timed(command.args(arguments).env("XDG_DATA_HOME", folder.path())).0
        });
        median(times.collect())
    };
    measured.into_iter().map(|(verb, arguments)| (verb, seconds(arguments))).collect()
}

/// Seconds of the first history over 200 runs whose figures are not kept.
fn first_history(tool: &str) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("oscost/store.db")).unwrap();
    for number in 0..200 {
        store.import(&serde_json::to_vec(&record(number)).unwrap()).unwrap();
    }
    drop(store);
    timed(Command::new(tool).arg("history").env("XDG_DATA_HOME", folder.path())).0
}

/// Makes this program write a page to the path that follows and print the seconds that it took.
const WRITE: &str = "write-a-page";

/// The bars of a page of 2,000 rows.
fn report(bar: &mut dyn FnMut(&str, f64, f64, &str)) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.html");
    // A fresh process for each page: a second page would find caches that the first one filled.
    let times = (0..5).map(|_| {
        let own = std::env::current_exe().unwrap();
        let (_, output) = timed(Command::new(own).arg(WRITE).arg(&path));
        String::from_utf8(output).unwrap().trim().parse().unwrap()
    });
    bar("a page of 2,000 rows is written, median of 5", median(times.collect()), 1.0, "s");
    let size = std::fs::metadata(&path).unwrap().len() as f64 / 1e6;
    bar("its size", size, 3.0, "MB");
    let Some(browser) = chromium::Browser::start() else {
        return println!("how soon it is drawn: not measured: there is no browser");
    };
    let cores = std::thread::available_parallelism().unwrap();
    for (metric, name, limit_s) in [
        ("first-contentful-paint", "its first contentful paint", 0.5),
        ("oscost-ready", "its controls work", 2.0),
    ] {
        let times = (0..5).map(|_| browser.open(&path).metric(metric) / 1e3);
        let what = format!("{name}, on {cores} cores, median of 5");
        bar(&what, median(times.collect()), limit_s, "s");
    }
}

/// Writes a page of 2,000 rows in all families and returns the seconds that it took.
fn write(program: &WorkerBinary, path: &Path) -> f64 {
    let benchmarks = program.catalog.benchmarks.iter();
    let benchmarks: Vec<(&str, Unit)> = benchmarks.map(|it| (it.id.as_str(), it.unit)).collect();
    let record = large_run::run(&benchmarks, 2_000, 60);
    let shown =
        report::page::PageContent { record: &record, study: None, catalog: Some(&program.catalog) };
    let begun = Instant::now();
    std::fs::write(path, report::html(&report::page::run(&shown)).unwrap()).unwrap();
    begun.elapsed().as_secs_f64()
}

/// The specification of a worker that is not pinned.
fn spec(subject: Subject, seed: u64, task: Task, timeout_ms: u64) -> WorkerSpec {
    let clock = Calibration {
        kind: ClockKind::Vdso,
        ticks_per_ns: 1.0,
        quantum_ticks: 10.0,
        inside_ticks: 20.0,
        pair_ticks: 40.0,
    };
    WorkerSpec { seed, ..WorkerSpec::new(subject, task, clock, timeout_ms) }
}

/// Milliseconds from the order to `ready`, and KiB of anonymous memory there.
fn spawns(program: &WorkerBinary) -> (f64, f64) {
    let interrupt = Interrupt::listen().unwrap();
    let mut session = LocalSession::start(program, &interrupt).unwrap();
    let plan = BatchPlan {
        mode: Mode::B,
        iterations: 400,
        unroll_factors: vec![1],
        groups: 21,
        batch_ns: 50_000.0,
        coarse_clock: false,
    };
    let (mut times, mut anonymous_kib) = (Vec::new(), 0.0f64);
    for id in 1..=101 {
        let subject = Subject::Case(Case::parse("syscall/getppid:via=raw").unwrap());
        let spec = spec(subject, id, Task::Measure(plan.clone()), 10_000);
        let begun = Instant::now();
        session.send(&Order::Measure { id, spec: Box::new(spec) }).unwrap();
        let Event::Ready { pid, .. } = session.next(Duration::from_secs(10)).unwrap() else {
            panic!("the worker is not ready");
        };
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("RssAnon:")).unwrap();
        anonymous_kib = anonymous_kib.max(line.split_whitespace().nth(1).unwrap().parse().unwrap());
        session.send(&Order::Go { id, batches: 1, arm: 0 }).unwrap();
        session.send(&Order::Stop { id }).unwrap();
        session.next(Duration::from_secs(10)).unwrap();
    }
    (median(times), anonymous_kib)
}

/// Seconds that a run of the price list takes. A row that this machine cannot measure counts too.
fn price_list(command: &mut Command) -> f64 {
    let begun = Instant::now();
    let output =
        command.args(["--no-store", "--json", "-"]).stderr(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{command:?}: {}", output.status);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["complete"], true, "{command:?} was cut short");
    begun.elapsed().as_secs_f64()
}

/// What pH adds to getppid(2), divided by what an empty BPF program adds; and what a second process that
/// makes calls on the other CPU adds under pH, divided by what it adds without pH.
fn monitor(tool: &str) -> Result<(f64, f64), String> {
    const TARGETS: [&str; 4] =
        ["ebpf=empty", "ph", "antagonist=syscalls", "ph+antagonist=syscalls"];
    let mut command = Command::new(tool);
    command.args(["ab", "--no-store", "--json", "-", "syscall/getppid:via=raw"]);
    let (_, json) = timed(command.args(TARGETS.iter().flat_map(|target| ["--new", target])));
    let record: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let rows = record["results"].as_array().unwrap();
    let of = |target: &str| {
        let of_target = |it: &&serde_json::Value| {
            let row = &rows[it["new"].as_u64().unwrap() as usize];
            row["target"]["text"] == target && it["case"] == "syscall/getppid:via=raw"
        };
        let found = record["comparisons"].as_array().unwrap().iter().find(of_target);
        let row =
            rows.iter().find(|row| row["target"]["text"] == target && row["reason"].is_string());
        found.ok_or_else(|| row.map_or(String::new(), |row| row["reason"].to_string()))
    };
    let added = |target: &str| of(target).map(|it| it["added"]["value"].as_f64().unwrap());
    let ratio = |target: &str| of(target).map(|it| it["ratio"]["value"].as_f64().unwrap());
    let [empty, ph, busy, both] = TARGETS;
    Ok((added(ph)? / added(empty)?, ratio(both)? / (ratio(ph)? * ratio(busy)?)))
}

/// How oscost's figures of programs differ from hyperfine's.
struct ProgramDifference {
    /// The difference of real times, in per cent: the median over pairs.
    real: f64,
    /// The same for user plus system time: the kernel splits the two by its tick.
    cpu: f64,
    /// How much longer a trial of `true` takes, in milliseconds: the median over pairs.
    added_ms: f64,
}

/// Trials of a program that computes, and of `true`, by oscost and by hyperfine, alternating.
fn programs(program: &WorkerBinary) -> Result<ProgramDifference, String> {
    const PAIRS: u64 = 15;
    const COMPUTES: [&str; 3] =
        ["/bin/sh", "-c", "i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done"];
    let interrupt = Interrupt::listen().unwrap();
    let mut session = LocalSession::start(program, &interrupt).unwrap();
    let mut ours = |id: u64, command: &[&str]| -> [f64; 2] {
        let command = command.iter().map(|&word| word.to_owned()).collect();
        let subject = Subject::Program(Box::new(Program { command, ..Program::default() }));
        let spec = spec(subject, id, Task::Run { warm_up: false, counted: Vec::new() }, 60_000);
        session.send(&Order::Measure { id, spec: Box::new(spec) }).unwrap();
        match session.next(Duration::from_secs(60)).unwrap() {
            Event::ProgramExited { result: ran, .. } => {
                let cpu_ns = ran.usage.user_ns + ran.usage.system_ns;
                [ran.real_ns, cpu_ns].map(|ns| ns as f64 * 1e-9)
            }
            other => panic!("{other:?}"),
        }
    };
    let theirs = |command: &str| -> Result<[f64; 2], String> {
        let mut hyperfine = Command::new("hyperfine");
        hyperfine.args(["-N", "--runs", "1", "--style", "none", "--export-json", "/dev/stdout"]);
        let output = hyperfine.arg(command).stderr(Stdio::null()).output();
        let output = output.map_err(|error| format!("hyperfine: {error}"))?;
        let exported: serde_json::Value =
            serde_json::from_slice(&output.stdout).map_err(|error| error.to_string())?;
        let of = |key: &str| exported["results"][0][key].as_f64().unwrap_or(0.0);
        Ok([of("mean"), of("user") + of("system")])
    };
    let quoted = format!("/bin/sh -c '{}'", COMPUTES[2]);
    let (mut real, mut cpu, mut added) = (Vec::new(), Vec::new(), Vec::new());
    for pair in 0..PAIRS {
        let (mine, other) = match pair % 2 {
            0 => (ours(2 * pair + 1, &COMPUTES), theirs(&quoted)?),
            _ => {
                let other = theirs(&quoted)?;
                (ours(2 * pair + 1, &COMPUTES), other)
            }
        };
        real.push(100.0 * (mine[0] / other[0] - 1.0));
        cpu.push(100.0 * (mine[1] / other[1] - 1.0));
        let other = theirs("true")?[0];
        added.push(1e3 * (ours(2 * pair + 2, &["true"])[0] - other));
    }
    Ok(ProgramDifference { real: median(real), cpu: median(cpu), added_ms: median(added) })
}

/// The seconds that a command takes, and its output.
fn timed(command: &mut Command) -> (f64, Vec<u8>) {
    let begun = Instant::now();
    let output = command.stderr(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", output.status);
    (begun.elapsed().as_secs_f64(), output.stdout)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
