//! Clocks that are set back, and clocks that went on for hours while the machine was suspended: a run
//! on them ends and is kept, and the runs of the store are listed, compared and pruned as before.
//!
//! The clocks are faked by a library that the tool loads (`fake_clock.c`). The supervisor and its
//! workers are static programs, which load none: they read the clocks of the machine.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::attack::{Attack, Effort, Outcome, make, withstood};
use crate::common::{Ran, Sandbox, scenario_file};
use crate::oracles::check_end;

const SOURCE: &str = include_str!("fake_clock.c");

const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 24 * HOUR_S;

/// Longer than any of the measurements takes, and shorter than any clock is off.
const BOUND: Duration = Duration::from_secs(60);

/// How the clocks of the day are wrong.
#[derive(Clone, Copy)]
enum Fault {
    /// They are off by so many seconds more at each reading.
    Steps(i64),
    /// They are off by so many seconds from the first reading on.
    Set(i64),
    /// They are right for half a second, then off by so many seconds.
    Jumps(i64),
}

impl Fault {
    /// The variables that the library reads.
    fn variables(self) -> Vec<(&'static str, String)> {
        match self {
            Fault::Steps(by_s) => vec![("FAKE_CLOCK_STEP_S", by_s.to_string())],
            Fault::Set(by_s) => vec![("FAKE_CLOCK_JUMP_S", by_s.to_string())],
            Fault::Jumps(by_s) => vec![
                ("FAKE_CLOCK_JUMP_S", by_s.to_string()),
                ("FAKE_CLOCK_AFTER_MS", "500".to_owned()),
            ],
        }
    }

    /// By how many seconds they are off; after several readings, by more.
    fn seconds(self) -> f64 {
        let (Fault::Steps(by_s) | Fault::Set(by_s) | Fault::Jumps(by_s)) = self;
        by_s as f64
    }
}

/// A library that fakes the clocks of a program.
struct FakeClock(PathBuf);

impl FakeClock {
    /// Compiles it in the folder of a test, or says why it cannot.
    fn compile(sandbox: &Sandbox) -> Result<Self, Outcome> {
        let (source, library) = (sandbox.file("fake_clock.c"), sandbox.file("fake_clock.so"));
        fs::write(&source, SOURCE).unwrap();
        let mut compiler = Command::new("cc");
        compiler.args(["-shared", "-fPIC", "-O1", "-o"]).args([&library, &source]);
        match compiler.output() {
            Ok(ran) if ran.status.success() => Ok(Self(library)),
            Ok(ran) => panic!("cc: {}", String::from_utf8_lossy(&ran.stderr)),
            Err(error) => Err(Outcome::NotHere(format!("no C compiler: cc: {error}"))),
        }
    }

    /// The tool on these clocks.
    fn command(&self, sandbox: &Sandbox, fault: Fault, arguments: &[&str]) -> Command {
        let mut command = sandbox.command(arguments);
        command.env("LD_PRELOAD", &self.0).envs(fault.variables());
        command.current_dir(sandbox.folder("files"));
        command
    }

    /// Runs it to its end, which comes in the time that it measures by CLOCK_MONOTONIC.
    #[track_caller]
    fn run(&self, sandbox: &Sandbox, fault: Fault, arguments: &[&str]) -> Ran {
        let begun = Instant::now();
        let ran = Ran::of(&mut self.command(sandbox, fault, arguments));
        check_end(&ran);
        assert!(begun.elapsed() < BOUND, "{arguments:?}: {:?}", begun.elapsed());
        ran
    }
}

fn fake_target() -> String {
    format!("fake:{}", scenario_file("measured").display())
}

/// The seconds from the start to the end of the last run, by the clock that it has read.
fn recorded_s(sandbox: &Sandbox) -> f64 {
    let record = sandbox.oscost(&["runs", "export", "last", "-"]).exits(0).json();
    let time = |key: &str| humantime::parse_rfc3339(record[key].as_str().unwrap()).unwrap();
    match time("ended").duration_since(time("started")) {
        Ok(after) => after.as_secs_f64(),
        Err(before) => -before.duration().as_secs_f64(),
    }
}

/// The runs of the store, and how many of them have raw batches.
fn listed(sandbox: &Sandbox) -> (usize, usize) {
    let list = sandbox.oscost(&["runs", "list", "--json"]).exits(0).json();
    let runs = list["runs"].as_array().unwrap();
    (runs.len(), runs.iter().filter(|run| run["has_raw_batches"] == true).count())
}

/// A run on a clock that is wrong ends, is kept, and stands in nothing's way.
fn measured_under(sandbox: &Sandbox, fault: Fault, arguments: &[&str]) -> Outcome {
    let clock = match FakeClock::compile(sandbox) {
        Ok(clock) => clock,
        Err(not_here) => return not_here,
    };
    let ran = clock.run(sandbox, fault, arguments);
    assert!(matches!(ran.code, Some(0 | 3)), "{:?}\n{}", ran.code, ran.stderr);
    let ran = ran.stderr_contains("kept as ");
    let share = recorded_s(sandbox) / fault.seconds();
    assert!(share > 0.9, "the clock was right: {share}\n{}", ran.stderr);
    check_store_verbs(sandbox);
    withstood()
}

/// By the right clock, beside a run by the right clock, all verbs of the store work on the run that
/// is in it; none loses it, or its batches before they are asked to.
fn check_store_verbs(sandbox: &Sandbox) {
    let fake = fake_target();
    sandbox.fake("measured", &["syscall/getppid"]).exits(0);
    for arguments in [
        &["runs", "list"][..],
        &["history", "syscall/getppid"],
        &["history", "syscall/getppid", "--at", &fake],
        &["compare", "last~1", "last"],
        &["compare", "last", "last~1"],
        &["runs", "show", "last~1"],
        &["runs", "prune", "--keep-runs", "0", "--keep-days", "1"],
    ] {
        let ran = sandbox.oscost(arguments);
        check_end(&ran);
        // Two targets may have nothing in common that is compared.
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments:?}: {:?}\n{}", ran.code, ran.stderr);
    }
    assert_eq!(listed(sandbox), (2, 2), "runs, and those with raw batches");
    sandbox.oscost(&["runs", "prune", "--keep-runs", "0", "--keep-days", "0"]).exits(0);
    assert_eq!(listed(sandbox), (2, 0), "also one that is still to begin is pruned");
    for run in ["last", "last~1"] {
        assert!(sandbox.oscost(&["runs", "show", run]).exits(0).stdout.contains("getppid"));
    }
}

/// No clock that was set back, or that went on for hours, makes a new run an old one.
fn pruned_under(sandbox: &Sandbox, fault: Fault) -> Outcome {
    let clock = match FakeClock::compile(sandbox) {
        Ok(clock) => clock,
        Err(not_here) => return not_here,
    };
    let fake = fake_target();
    let run = ["run", "--seed", "1", "--at", &fake, "syscall/getppid"];
    sandbox.oscost(&run).exits(0);
    for arguments in [
        &["runs", "list"][..],
        &run,
        &["history", "syscall/getppid"],
        &["runs", "prune", "--keep-runs", "0", "--keep-days", "1"],
        &["compare", "last~1", "last"],
    ] {
        let ran = clock.run(sandbox, fault, arguments);
        assert!(matches!(ran.code, Some(0 | 3)), "{arguments:?}: {:?}\n{}", ran.code, ran.stderr);
    }
    assert_eq!(listed(sandbox), (2, 2), "runs, and those with raw batches");
    withstood()
}

/// The second visit of a node waits for its time by the clock of the queue, also where that was set
/// back since the plan was made.
fn fleet_under(sandbox: &Sandbox, fault: Fault) -> Outcome {
    let clock = match FakeClock::compile(sandbox) {
        Ok(clock) => clock,
        Err(not_here) => return not_here,
    };
    fs::copy(scenario_file("measured"), sandbox.file("host.json")).unwrap();
    fs::write(sandbox.file("hosts.txt"), "fake:host.json\n").unwrap();
    let plan = ["--ssh", "hosts.txt", "--quick", "--repeat", "2", "--apart", "2s"];
    let run = [&["fleet", "run", "lab", "syscall/getppid"][..], &plan].concat();
    clock.run(sandbox, fault, &run).exits(0);
    let folder = sandbox.file("lab");
    let folder = folder.to_str().unwrap();
    let status = sandbox.oscost(&["fleet", "status", folder, "--json"]).exits(0).json();
    assert_eq!(status["counts"]["measured"], 2, "{status}");
    let found = sandbox.oscost(&["fleet", "collect", folder, "--json"]).exits(0).json();
    assert_eq!(found["imported"], 2, "{found}");
    withstood()
}

#[test]
fn a_run_on_a_clock_that_is_set_or_goes_on_in_sleep_ends_and_is_kept() {
    const FAKE: &[&str] = &["run", "--seed", "1", "--at", "FAKE", "syscall/getppid"];
    const RUN: &[&str] = &["run", "--quick", "--no-lock", "syscall/getppid:via=raw"];
    const AB: &[&str] =
        &["ab", "--quick", "--no-lock", "--new", "env=OSCOST_A=b", "syscall/getppid:via=raw"];
    let measured = [
        ("an hour back at each reading", Fault::Steps(-HOUR_S), "a run", FAKE, Effort::Short),
        ("an hour on at each reading", Fault::Steps(HOUR_S), "a run", FAKE, Effort::Short),
        ("two days back within", Fault::Jumps(-2 * DAY_S), "a run", RUN, Effort::Long),
        ("five hours asleep within", Fault::Jumps(5 * HOUR_S), "a run", RUN, Effort::Long),
        ("two days back within", Fault::Jumps(-2 * DAY_S), "ab", AB, Effort::Long),
        ("five hours asleep within", Fault::Jumps(5 * HOUR_S), "ab", AB, Effort::Long),
    ]
    .map(|(name, fault, what, arguments, effort)| {
        Attack::in_sandbox(format!("a clock: {name}: {what}"), effort, move |sandbox| {
            let fake = fake_target();
            let place = |word: &&'static str| if *word == "FAKE" { fake.as_str() } else { *word };
            let arguments: Vec<&str> = arguments.iter().map(place).collect();
            measured_under(sandbox, fault, &arguments)
        })
    });
    let pruned =
        [("forty days back", Fault::Set(-40 * DAY_S)), ("five hours on", Fault::Set(5 * HOUR_S))]
            .map(|(name, fault)| {
                let name = format!("a clock: {name}: pruning a store");
                Attack::in_sandbox(name, Effort::Short, move |sandbox| pruned_under(sandbox, fault))
            });
    let fleets = [
        ("an hour back at each reading", Fault::Steps(-HOUR_S)),
        ("two days back within", Fault::Jumps(-2 * DAY_S)),
        ("five hours asleep within", Fault::Jumps(5 * HOUR_S)),
    ]
    .map(|(name, fault)| {
        let name = format!("a clock: {name}: a fleet by ssh");
        Attack::in_sandbox(name, Effort::Long, move |sandbox| fleet_under(sandbox, fault))
    });
    make("clocks", measured.into_iter().chain(pruned).chain(fleets));
}
