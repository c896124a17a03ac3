//! pH on this machine: what it counts, learns, reports and delays, and that it leaves nothing
//! behind. Where eBPF programs cannot be attached, the tests print why and are skipped.

#![expect(clippy::unwrap_used, reason = "a panic names the line of a failed test")]
#![expect(clippy::print_stdout, reason = "a skipped test prints why")]

mod measured_rows;
mod task_lifecycle;
mod termination;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use oscost::ph::processes::monitor_process::{Anomaly, MonitorEvent};
use oscost::ph::profiles::profile::{Pair, Profile, State};
use oscost::ph::profiles::store::{find_all, lock};
use oscost::ph::requirements::{Availability, BUILD, check_requirements};
use oscost_model::monitor_report::MonitorReport;
use tempfile::TempDir;

/// One monitor at a time: the tests also check that all programs are detached.
static MONITOR_LOCK: Mutex<()> = Mutex::new(());
/// Longer than any step of a test on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
const EXECVE: u16 = if cfg!(target_arch = "aarch64") { 221 } else { 59 };

/// A program of this machine.
struct Tool {
    /// The path in a directory of PATH.
    path: String,
    /// The file that it leads to.
    file: String,
}

/// Finds a program whose file is not the shell's, as with BusyBox: a program that is trained
/// without executing a shell must not be that shell.
fn tool(name: &str) -> Option<Tool> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|it| it.join(name)).find(|it| it.is_file());
    let file = found.as_ref().and_then(|it| it.canonicalize().ok());
    let shell = fs::canonicalize("/bin/sh").unwrap();
    match (found, file.filter(|file| *file != shell)) {
        (Some(found), Some(file)) => {
            let text = |path: PathBuf| path.into_os_string().into_string().unwrap();
            Some(Tool { path: text(found), file: text(file) })
        }
        _ => {
            println!("skipped: there is no `{name}` with a file of its own");
            None
        }
    }
}

/// Takes the lock of monitors; `None` if programs cannot be attached here.
fn lock_monitor() -> Option<MutexGuard<'static, ()>> {
    match check_requirements(BUILD, Path::new("/"))
        .into_iter()
        .find(|it| it.availability == Availability::No)
    {
        Some(missing) => {
            println!("skipped: {}: {}", missing.name, missing.detail);
            None
        }
        None => Some(MONITOR_LOCK.lock().unwrap_or_else(PoisonError::into_inner)),
    }
}

/// A shell that reads commands: the root of the monitored process tree.
struct Shell {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Shell {
    fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self { child, output }
    }

    /// Starts a command without waiting for its end.
    fn begin(&mut self, command: &str) {
        // One write, so that the number of reads does not depend on timing.
        let line = format!("{command}; echo done\n");
        self.child.stdin.as_mut().unwrap().write_all(line.as_bytes()).unwrap();
    }

    /// Waits for the end of the command.
    fn finish(&mut self) {
        let mut line = String::new();
        while line != "done\n" {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the shell has ended");
        }
    }

    fn run(&mut self, command: &str) {
        self.begin(command);
        self.finish();
    }

    /// Its child processes.
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

/// The results of a monitor that has ended.
struct MonitorEnd {
    anomalies: Vec<Anomaly>,
    report: MonitorReport,
}

/// A monitor process.
struct Monitor {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Monitor {
    fn start(data: &Path, root: &Shell, options: &[&str]) -> Self {
        Self::start_at(data, root.child.id(), options)
    }

    /// Starts one that monitors the tree of a process.
    fn start_at(data: &Path, root: u32, options: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_oscost"))
            .args(["ph", "monitor", &format!("--tree={root}")])
            .args(options)
            .env("XDG_DATA_HOME", data)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut monitor = Self { child, input, output };
        assert_eq!(monitor.next(), Some(MonitorEvent::Ready));
        monitor
    }

    fn next(&mut self) -> Option<MonitorEvent> {
        let mut line = String::new();
        let length = self.output.read_line(&mut line).unwrap();
        (length > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    /// Waits until an executable reaches a state.
    fn wait_for_state(&mut self, executable: &str, state: State) {
        loop {
            match self.next().expect("the monitor is running") {
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

    /// Ends it; returns its remaining anomalies and its report.
    fn end(mut self) -> MonitorEnd {
        drop(self.input.take());
        let mut anomalies = Vec::new();
        while let Some(event) = self.next() {
            match event {
                MonitorEvent::Anomaly(anomaly) => anomalies.push(anomaly),
                MonitorEvent::Ended(report) => {
                    assert_eq!(report.lost, 0, "no event was lost");
                    assert_eq!(report.anomalies as usize, anomalies.len());
                    assert!(self.child.wait().unwrap().success());
                    return MonitorEnd { anomalies, report };
                }
                _ => {}
            }
        }
        panic!("the monitor ended without its last event");
    }
}

impl Drop for Monitor {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// An empty data directory of a user.
fn data() -> TempDir {
    TempDir::with_prefix("oscost-test-").unwrap()
}

fn profiles(data: &TempDir) -> Vec<Profile> {
    find_all(&data.path().join("oscost/ph")).unwrap().profiles
}

/// The profile of a file.
fn profile_of(profiles: &[Profile], path: &str) -> Profile {
    let inode = fs::metadata(path).unwrap().ino();
    profiles.iter().find(|it| it.key.inode == inode).cloned().unwrap()
}

/// The child processes of all threads of a process.
fn children(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists =
        threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    let text = lists.collect::<Vec<_>>().join(" ");
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// Waits until a condition is true.
fn wait_for(description: &str, mut condition: impl FnMut() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < TIMEOUT, "it took too long: {description}");
        sleep(Duration::from_millis(2));
    }
}

/// Those processes that are stopped.
fn stopped(processes: &[u32]) -> Vec<u32> {
    let state = |pid: &u32| fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let is_stopped =
        |pid: &&u32| state(pid).rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'));
    processes.iter().filter(is_stopped).copied().collect()
}

/// The number of pH's programs in the kernel.
fn program_count() -> usize {
    let names = libbpf_rs::query::ProgInfoIter::default().map(|program| program.name);
    names.filter(|name| name.to_string_lossy().starts_with("ph_")).count()
}

/// Trains the profile of one executable until it is normal, with the published rules except for the
/// week of waiting. The profiles of the shell and of other programs are removed.
fn train(env: &Tool, data: &TempDir, shell: &mut Shell) {
    let mut monitor = Monitor::start(data.path(), shell, &["--normal-wait=0s"]);
    for _ in 0..100 {
        shell.run(&format!("{} >/dev/null", env.path));
    }
    monitor.wait_for_state(&env.file, State::Normal);
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

/// A monitor that begins with a trained profile.
fn trained(env: &Tool, data: &TempDir, shell: &mut Shell, options: &[&str]) -> Monitor {
    train(env, data, shell);
    Monitor::start(data.path(), shell, options)
}

/// A command with this number of reads and writes of one byte.
fn copy_command(dd: &Tool, count: u32) -> String {
    format!("{} if=/dev/zero of=/dev/null bs=1 count={count} status=none", dd.path)
}

#[test]
fn all_calls_are_counted_and_the_programs_are_detached() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(dd) = tool("dd") else { return };
    let calls = |count: u32| {
        let (data, mut shell) = (data(), Shell::start());
        let monitor = Monitor::start(data.path(), &shell, &[]);
        assert!(program_count() >= 3);
        shell.run(&copy_command(&dd, count));
        let MonitorEnd { anomalies, report } = monitor.end();
        assert!(anomalies.is_empty());
        shell.end();
        let profiles = profiles(&data);
        assert_eq!(profiles.iter().map(|profile| profile.calls).sum::<u64>(), report.calls);
        profile_of(&profiles, &dd.file).calls
    };
    // One read and one write per byte.
    assert_eq!(calls(3_000) - calls(1_000), 4_000);
    wait_for("the programs are detached", || program_count() == 0);
}

#[test]
fn a_profile_is_learned_saved_and_continued() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(dd) = tool("dd") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let run = |shell: &mut Shell| {
        let monitor = Monitor::start(data.path(), shell, &[]);
        shell.run(&copy_command(&dd, 1_000));
        monitor.end();
        profile_of(&profiles(&data), &dd.file)
    };
    let once = run(&mut shell);
    assert_eq!(once.executable, dd.file);
    assert_eq!(once.state, State::Training);
    assert!(once.calls > 2_000 && once.train_count == once.calls, "{}", once.calls);
    let (read, write) = if cfg!(target_arch = "aarch64") { (63, 64) } else { (0, 1) };
    for (current, previous, position, is_learned) in [
        (write, read, 1, true),
        (read, write, 1, true),
        (read, read, 8, true),
        (write, read, 7, true),
        (write, write, 1, false),
        (write, read, 2, false),
    ] {
        let pair = Pair { current, previous, position };
        assert_eq!(once.train.has(pair), is_learned, "{pair:?}");
    }
    assert_eq!(once.test.count(), 0);
    let twice = run(&mut shell);
    assert_eq!(twice.calls, 2 * once.calls);
    assert_eq!(twice.train, once.train, "the sequences were the same");
    assert!(twice.last_mod_count >= once.calls, "only calls of the first run were new");
}

#[test]
fn each_of_twenty_shells_is_an_anomaly_and_normal_runs_are_not() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &[]);
    for _ in 0..100 {
        shell.run(&format!("{} >/dev/null", env.path));
    }
    for _ in 0..20 {
        shell.run(&format!("{} /bin/sh -c :", env.path));
    }
    let MonitorEnd { anomalies, .. } = monitor.end();
    assert_eq!(anomalies.len(), 20, "{anomalies:?}");
    let profile = profile_of(&profiles(&data), &env.file);
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
        assert!(profile.train.has(pair), "{pair:?} was not learned");
    }
    assert_eq!((profile.state, profile.anomalies), (State::Normal, 20));
    assert!(profile.test.count() > 0);
    shell.end();
}

#[test]
fn a_normal_executable_with_too_many_anomalies_is_trained_again() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    // Its calls depend on the environment variables here; it must not freeze within five runs.
    let options = ["--anomaly-limit=2", "--mod-min=1000000"];
    let monitor = trained(&env, &data, &mut shell, &options);
    for _ in 0..5 {
        shell.run(&format!("{} /bin/sh -c :", env.path));
    }
    let MonitorEnd { anomalies, .. } = monitor.end();
    assert_eq!(anomalies.len(), 3, "the third exceeds the limit: {anomalies:?}");
    assert_eq!(profile_of(&profiles(&data), &env.file).state, State::Training);
    shell.end();
}

#[test]
fn a_task_with_too_many_anomalies_in_its_frame_is_not_learned() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &["--tolerise-limit=0"]);
    shell.run(&format!("{} /bin/sh -c :", env.path));
    // The rules are applied at the next tick, or at the end.
    assert_eq!(monitor.end().anomalies.len(), 1);
    let profile = profile_of(&profiles(&data), &env.file);
    assert_eq!(profile.state, State::Normal);
    assert_eq!(profile.train, profile.test);
    shell.end();
}

/// Delays a process for longer than a test takes; returns the running monitor.
fn delay_process(env: &Tool, data: &TempDir, shell: &mut Shell) -> Monitor {
    // The delay is 20 s with one anomaly in the frame, and doubles with each further one.
    let monitor = trained(env, data, shell, &["--delay-factor=1000"]);
    shell.begin(&format!("{} /bin/sh -c :", env.path));
    wait_for("the process is stopped", || !stopped(&shell.children()).is_empty());
    monitor
}

#[test]
fn a_delayed_process_continues_after_its_delay() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = trained(&env, &data, &mut shell, &["--delay-factor=1"]);
    for _ in 0..5 {
        shell.run(&format!("{} /bin/sh -c :", env.path));
    }
    assert_eq!(monitor.end().anomalies.len(), 5);
    shell.end();
}

#[test]
fn no_process_stays_stopped_when_the_monitor_ends() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let monitor = delay_process(&env, &data, &mut shell);
    assert_eq!(monitor.end().anomalies.len(), 1);
    shell.finish();
    assert!(stopped(&shell.children()).is_empty());
    shell.end();
    wait_for("the programs are detached", || program_count() == 0);
}

#[test]
fn no_process_stays_stopped_when_the_monitor_is_killed() {
    let Some(_lock) = lock_monitor() else { return };
    let Some(env) = tool("env") else { return };
    let (data, mut shell) = (data(), Shell::start());
    let mut monitor = delay_process(&env, &data, &mut shell);
    monitor.child.kill().unwrap();
    monitor.child.wait().unwrap();
    shell.finish();
    assert!(stopped(&shell.children()).is_empty());
    shell.end();
    wait_for("the programs are detached", || program_count() == 0);
}

#[test]
fn a_monitor_that_fails_reports_why_and_changes_no_file() {
    let _lock = MONITOR_LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    let data = data();
    let folder = data.path().join("oscost/ph");
    // The profiles are locked by another process; a missing requirement is reported before that.
    let lock_of_other = lock(&folder).unwrap();
    fs::write(folder.join("5-6.profile"), "not a profile\n").unwrap();
    let ran = Command::new(env!("CARGO_BIN_EXE_oscost"))
        .args(["ph", "monitor"])
        .env("XDG_DATA_HOME", data.path())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let event: MonitorEvent = serde_json::from_slice(&ran.stdout).unwrap();
    assert!(matches!(event, MonitorEvent::Missing { .. }), "{event:?}");
    // The kernel frees the programs of the test before this one a moment after they are detached.
    wait_for("the programs are detached", || program_count() == 0);
    drop(lock_of_other);
    let kept = fs::read(folder.join("5-6.profile")).unwrap();
    assert_eq!(kept, b"not a profile\n");
}
