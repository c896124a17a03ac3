//! What oscost itself costs: `make bench`.
//!
//! Bars: the cell's program under 2 MiB, 3 MiB resident and 3 ms to `ready`; an answer about one
//! benchmark within 1.5 s at a half-width of 2 % or better; `oscost list` within 30 ms; the whole
//! bill in under a minute, and in under 15 s with `--quick`. Each is shown with its bar and the ratio of
//! the two; a loaded machine makes the times longer.

#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a program that is run by hand")]

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use oscost::reach::{CellProgram, Interrupt, LocalSession, Session};
use oscost_model::case::Case;
use oscost_model::cell::{BatchPlan, CellSpec, Mode, Subject, Task};
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::protocol::{Event, Order};

fn main() {
    let program = CellProgram::find().unwrap();
    let tool = env!("CARGO_BIN_EXE_oscost");
    let mut held = true;
    let mut bar = |what: &str, found: f64, limit: f64, unit: &str| {
        held &= found <= limit;
        println!("{what:<44} {found:>9.2} {unit:<4} bar {limit:>7.2}  ratio {:.2}", found / limit);
    };

    let size = std::fs::metadata(&program.path).unwrap().len() as f64 / 1024.0;
    bar("the cell's program", size, 2_048.0, "KiB");
    let (ready_ms, resident_kib) = spawns(&program);
    bar("from spawn to ready, median of 101", ready_ms, 3.0, "ms");
    bar("resident when ready, largest of 101", resident_kib, 3_072.0, "KiB");

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
        [("the whole bill", &[][..], 60.0), ("the bill with --quick", &["--quick"][..], 15.0)]
    {
        let seconds = bill(Command::new(tool).arg("run").args(arguments));
        bar(what, seconds, limit, "s");
    }
    println!("bars hold: {held}");
    if !held {
        std::process::exit(1);
    }
}

/// Milliseconds from the order to `ready`, and KiB resident there.
fn spawns(program: &CellProgram) -> (f64, f64) {
    let interrupt = Interrupt::listen().unwrap();
    let mut session = LocalSession::start(program, &interrupt).unwrap();
    let clock = Calibration {
        kind: ClockKind::Vdso,
        ticks_per_ns: 1.0,
        quantum_ticks: 10.0,
        inside_ticks: 20.0,
        pair_ticks: 40.0,
    };
    let plan = BatchPlan {
        mode: Mode::B,
        turns: 400,
        copies: vec![1],
        groups: 21,
        batch_ns: 50_000.0,
        coarse_clock: false,
    };
    let (mut times, mut resident) = (Vec::new(), 0.0f64);
    for id in 1..=101 {
        let spec = CellSpec {
            subject: Subject::Case(Case::parse("syscall/getppid:via=raw").unwrap()),
            seed: id,
            cpu: None,
            clock,
            arms: 1,
            treatments: Vec::new(),
            toggled: false,
            forked: false,
            workers: 1,
            far: None,
            peer_cpu: None,
            task: Task::Measure(plan.clone()),
            timeout_ms: 10_000,
        };
        let begun = Instant::now();
        session.send(&Order::Measure { id, spec: Box::new(spec) }).unwrap();
        let Event::Ready { pid, .. } = session.next(Duration::from_secs(10)).unwrap() else {
            panic!("the cell is not ready");
        };
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        resident = resident.max(line.split_whitespace().nth(1).unwrap().parse().unwrap());
        session.send(&Order::Go { id, batches: 1, arm: 0 }).unwrap();
        session.send(&Order::Stop { id }).unwrap();
        session.next(Duration::from_secs(10)).unwrap();
    }
    (median(times), resident)
}

/// Seconds that a bill takes. A row that this machine cannot measure is a row of the bill.
fn bill(command: &mut Command) -> f64 {
    let begun = Instant::now();
    let output =
        command.args(["--no-store", "--json", "-"]).stderr(Stdio::null()).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{command:?}: {}", output.status);
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(record["complete"], true, "{command:?} was cut short");
    begun.elapsed().as_secs_f64()
}

/// Seconds that a command takes, and what it says.
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
