//! pH on the machine at hand: what it counts, learns, reports and delays, and that it leaves
//! nothing behind. Where no eBPF program may be attached the tests say so and are skipped.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on shows where it stood")]
#![expect(clippy::print_stdout, reason = "a test that is skipped says so")]

mod ends;
mod lives;
mod rows;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use oscost::ph::monitor_process::{Anomaly, MonitorEvent};
use oscost::ph::profile::{Pair, Profile, State};
use oscost::ph::requirements::{Availability, BUILD, check_requirements};
use oscost::ph::store::{find_all, lock};
use oscost_model::monitor_report::MonitorReport;
use tempfile::TempDir;

/// One monitor at a time: the tests also look for what is left of it.
static ALONE: Mutex<()> = Mutex::new(());
/// No step of a test takes so long, whatever else the machine does.
const PATIENCE: Duration = Duration::from_secs(60);
const EXECVE: u16 = if cfg!(target_arch = "aarch64") { 221 } else { 59 };

/// A program of this machine's.
struct Tool {
    /// The path by which it is called,
    called: String,
    /// and the file that it is.
    file: String,
}

/// Looks for a program that is a file of its own, and not another name of the shell's: what is
/// trained to print its variables, and then opens a shell, must not be that shell.
fn tool(name: &str) -> Option<Tool> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let called = std::env::split_paths(&path).map(|it| it.join(name)).find(|it| it.is_file());
    let file = called.as_ref().and_then(|it| it.canonicalize().ok());
    let shell = fs::canonicalize("/bin/sh").unwrap();
    match (called, file.filter(|file| *file != shell)) {
        (Some(called), Some(file)) => {
            let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
            Some(Tool { called: text(called), file: text(file) })
        }
        _ => {
            println!("skipped: there is no `{name}` that is a program of its own");
            None
        }
    }
}

/// The right to attach something; none where that cannot be done.
fn alone() -> Option<MutexGuard<'static, ()>> {
    match check_requirements(BUILD, Path::new("/"))
        .into_iter()
        .find(|need| need.availability == Availability::No)
    {
        Some(need) => {
            println!("skipped: {}: {}", need.name, need.detail);
            None
        }
        None => Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// A shell that waits for commands: the root of the tree that is monitored.
struct Shell {
    child: Child,
    says: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Self { child, says }
    }

    /// Has it do something, and does not wait.
    fn begin(&mut self, command: &str) {
        // In one piece: how often it reads must not depend on chance.
        let line = format!("{command}; echo done\n");
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// Waits until it has done that.
    fn finish(&mut self) {
        let mut line = String::new();
        while line != "done\n" {
            line.clear();
            assert!(self.says.read_line(&mut line).unwrap() > 0, "the shell has ended");
        }
    }

    fn run(&mut self, command: &str) {
        self.begin(command);
        self.finish();
    }

    /// Its children.
    fn children(&self) -> Vec<u32> {
        children(self.child.id())
    }

    fn end(mut self) {
        drop(self.child.stdin.take());
        self.child.wait().unwrap();
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A process that holds the monitor.
struct Monitor {
    child: Child,
    input: Option<ChildStdin>,
    says: BufReader<ChildStdout>,
}

impl Monitor {
    fn start(data: &Path, root: &Shell, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oscost"))
            .args(["ph", "monitor", &format!("--tree={}", root.child.id())])
            .args(more)
            .env("XDG_DATA_HOME", data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let says = BufReader::new(child.stdout.take().unwrap());
        let mut monitor = Self { child, input, says };
        assert_eq!(monitor.next(), Some(MonitorEvent::Ready));
        monitor
    }

    fn next(&mut self) -> Option<MonitorEvent> {
        let mut line = String::new();
        let length = self.says.read_line(&mut line).unwrap();
        (length > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Waits until an executable has come to a state.
    fn until(&mut self, executable: &str, state: State) {
        loop {
            match self.next().expect("the monitor goes on") {
                MonitorEvent::StateChanged(it)
                    if it.executable == executable && it.state == state.text() =>
                {
                    return;
                }
                MonitorEvent::Anomaly(it) => assert_ne!(it.executable, executable, "{it:?}"),
                _ => {}
            }
        }
    }

    /// Ends it, and says what it has said since: anomalies, and its last word.
    fn end(mut self) -> (Vec<Anomaly>, u64) {
        drop(self.input.take());
        let mut anomalies = Vec::new();
        while let Some(said) = self.next() {
            match said {
                MonitorEvent::Anomaly(anomaly) => anomalies.push(anomaly),
                MonitorEvent::Ended(MonitorReport { calls, anomalies: counted, lost, .. }) => {
                    assert_eq!(lost, 0, "nothing was lost");
                    assert_eq!(counted as usize, anomalies.len());
                    assert!(self.child.wait().unwrap().success());
                    return (anomalies, calls);
                }
                _ => {}
            }
        }
        panic!("the monitor ended without a last word");
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn data() -> TempDir {
    TempDir::with_prefix("oscost-test-").unwrap()
}

fn profiles(data: &TempDir) -> Vec<Profile> {
    find_all(&data.path().join("oscost/ph")).unwrap().profiles
}

fn of(profiles: &[Profile], path: &str) -> Profile {
    let inode = fs::metadata(path).unwrap().ino();
    profiles.iter().find(|it| it.key.inode == inode).cloned().unwrap()
}

/// The children of a process of one thread.
fn children(pid: u32) -> Vec<u32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Waits for something that comes about.
fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(2));
    }
}

fn stopped(processes: &[u32]) -> Vec<u32> {
    let state = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_stopped =
        |pid: &&u32| state(pid).rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
    processes.iter().filter(is_stopped).copied().collect()
}

/// The programs of pH that are in the kernel.
fn attached() -> usize {
    let names = libbpf_rs::query::ProgInfoIter::default().map(|program| program.name);
    names.filter(|name| name.to_string_lossy().starts_with("ph_")).count()
}

/// Has a monitor learn one executable, and that is normal: trained as published, but without the
/// week. The shell and what it opens are new.
fn train(env: &Tool, data: &TempDir, shell: &mut Shell) {
    let mut monitor = Monitor::start(data.path(), shell, &["--normal-wait=0s"]);
    for _ in 0..100 {
        shell.run(&format!("{} >/dev/null", env.called));
    }
    monitor.until(&env.file, State::Normal);
    monitor.end();
    let folder = data.path().join("oscost/ph");
    let inode = fs::metadata(&env.file).unwrap().ino();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if name.ends_with(".profile") && !name.ends_with(&format!("-{inode}.profile")) {
            fs::remove_file(path).unwrap();
        }
    }
}

/// A monitor that goes on with that.
fn trained(env: &Tool, data: &TempDir, shell: &mut Shell, more: &[&str]) -> Monitor {
    train(env, data, shell);
    Monitor::start(data.path(), shell, more)
}

/// A command that reads and writes so often, a byte each.
fn copy(dd: &Tool, count: u32) -> String {
    format!("{} if=/dev/zero of=/dev/null bs=1 count={count} status=none", dd.called)
}

#[test]
fn as_many_calls_are_seen_as_are_made_and_nothing_stays() {
    let Some(_alone) = alone() else { return };
    let Some(dd) = tool("dd") else { return };
    let calls = |count: u32| {
        let (data, mut shell) = (data(), Shell::start());
        let monitor = Monitor::start(data.path(), &shell, &[]);
        assert!(attached() >= 3);
        shell.run(&copy(&dd, count));
        let (anomalies, calls) = monitor.end();
        assert!(anomalies.is_empty());
        shell.end();
        let profiles = profiles(&data);
        assert_eq!(profiles.iter().map(|profile| profile.calls).sum::<u64>(), calls);
        of(&profiles, &dd.file).calls
    };
    // A read and a write each.
    assert_eq!(calls(3_000) - calls(1_000), 4_000);
    wait_for("no program is attached", || attached() == 0);
}

#[test]
fn what_an_executable_does_is_learnt_kept_and_learnt_on() {
    let Some(_alone) = alone() else { return };
    let Some(dd) = tool("dd") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let run = |shell: &mut Shell| {
        let monitor = Monitor::start(data.path(), shell, &[]);
        shell.run(&copy(&dd, 1_000));
        monitor.end();
        of(&profiles(&data), &dd.file)
    };
    let once = run(&mut shell);
    assert_eq!(once.executable, dd.file);
    assert_eq!(once.state, State::Training);
    assert!(once.calls > 2_000 && once.train_count == once.calls, "{}", once.calls);
    let (read, write) = if cfg!(target_arch = "aarch64") { (63, 64) } else { (0, 1) };
    for (current, previous, position, is_there) in [
        (write, read, 1, true),
        (read, write, 1, true),
        (read, read, 8, true),
        (write, read, 7, true),
        (write, write, 1, false),
        (write, read, 2, false),
    ] {
        let pair = Pair { current, previous, position };
        assert_eq!(once.train.has(pair), is_there, "{pair:?}");
    }
    assert_eq!(once.test.count(), 0);
    let twice = run(&mut shell);
    assert_eq!(twice.calls, 2 * once.calls);
    assert_eq!(twice.train, once.train, "it did the same");
    assert!(twice.last_mod_count >= once.calls, "its last call was new the first time, at most");
}

#[test]
fn a_program_that_opens_a_shell_is_reported_twenty_times_of_twenty_and_no_other() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &[]);
    for _ in 0..100 {
        shell.run(&format!("{} >/dev/null", env.called));
    }
    for _ in 0..20 {
        shell.run(&format!("{} /bin/sh -c :", env.called));
    }
    let (anomalies, _) = monitor.end();
    assert_eq!(anomalies.len(), 20, "{anomalies:?}");
    let profile = of(&profiles(&data), &env.file);
    for (number, anomaly) in (1..).zip(&anomalies) {
        assert_eq!(anomaly.executable, env.file);
        assert_eq!(anomaly.comm, "env");
        assert_eq!(anomaly.current, EXECVE, "{anomaly:?}");
        assert_eq!((anomaly.position, anomaly.locality), (1, 1), "{anomaly:?}");
        assert_eq!(anomaly.anomalies, number);
        let pair = Pair {
            current: anomaly.current,
            previous: anomaly.previous,
            position: anomaly.position,
        };
        assert!(!profile.test.has(pair), "{pair:?} is normal");
        assert!(profile.train.has(pair), "{pair:?} was not learnt");
    }
    assert_eq!((profile.state, profile.anomalies), (State::Normal, 20));
    assert!(profile.test.count() > 0);
    shell.end();
}

#[test]
fn a_normal_executable_with_too_many_anomalies_is_trained_again() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    // What it calls hangs on the variables here: it is not to be frozen again within five runs.
    let rules = ["--anomaly-limit=2", "--mod-min=1000000"];
    let monitor = trained(&env, &data, &mut shell, &rules);
    for _ in 0..5 {
        shell.run(&format!("{} /bin/sh -c :", env.called));
    }
    let (anomalies, _) = monitor.end();
    assert_eq!(anomalies.len(), 3, "the third is one too many: {anomalies:?}");
    assert_eq!(of(&profiles(&data), &env.file).state, State::Training);
    shell.end();
}

#[test]
fn whoever_has_too_many_anomalies_at_once_teaches_nothing() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &["--tolerise-limit=0"]);
    shell.run(&format!("{} /bin/sh -c :", env.called));
    // It is judged a tick later, if not at the end.
    assert_eq!(monitor.end().0.len(), 1);
    let profile = of(&profiles(&data), &env.file);
    assert_eq!(profile.state, State::Normal);
    assert_eq!(profile.train, profile.test);
    shell.end();
}

/// A process that is delayed for longer than a test takes, by a monitor that goes on.
fn delayed(env: &Tool, data: &TempDir, shell: &mut Shell) -> Monitor {
    // Twice a thousand hundredths of a second at one anomaly in the frame; then it doubles.
    let monitor = trained(env, data, shell, &["--delay-factor=1000"]);
    shell.begin(&format!("{} /bin/sh -c :", env.called));
    wait_for("it is stopped", || !stopped(&shell.children()).is_empty());
    monitor
}

#[test]
fn a_delayed_process_goes_on_after_its_time() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &["--delay-factor=1"]);
    for _ in 0..5 {
        shell.run(&format!("{} /bin/sh -c :", env.called));
    }
    assert_eq!(monitor.end().0.len(), 5);
    shell.end();
}

#[test]
fn no_process_stays_stopped_when_the_monitor_ends() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = delayed(&env, &data, &mut shell);
    assert_eq!(monitor.end().0.len(), 1);
    shell.finish();
    assert!(stopped(&shell.children()).is_empty());
    shell.end();
    wait_for("no program is attached", || attached() == 0);
}

#[test]
fn no_process_stays_stopped_when_the_monitor_is_killed() {
    let Some(_alone) = alone() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let mut monitor = delayed(&env, &data, &mut shell);
    monitor.child.kill().unwrap();
    monitor.child.wait().unwrap();
    shell.finish();
    assert!(stopped(&shell.children()).is_empty());
    shell.end();
    wait_for("no program is attached", || attached() == 0);
}

#[test]
fn what_a_monitor_cannot_do_it_says_in_one_line_and_touches_no_file() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let data = data();
    let folder = data.path().join("oscost/ph");
    // Somebody else holds the profiles; who may not monitor is told that first.
    let claimed = lock(&folder).unwrap();
    fs::write(folder.join("5-6.profile"), "not a profile\n").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_oscost"))
        .args(["ph", "monitor"])
        .env("XDG_DATA_HOME", data.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let said: MonitorEvent = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(matches!(said, MonitorEvent::Missing { .. }), "{said:?}");
    assert_eq!(attached(), 0);
    drop(claimed);
    let kept = fs::read(folder.join("5-6.profile")).unwrap();
    assert_eq!(kept, b"not a profile\n");
}
