//! A session with the supervisor under test, as the tool runs one.
//!
//! Every test has its own temporary directory, and every process of its session has its working
//! directory below it: so leftovers can be found.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use oscost_model::case::Case;
use oscost_model::clock::{Calibration, ClockKind};
use oscost_model::definition::{Catalog, Definition};
use oscost_model::point::Point;
use oscost_model::protocol::{Event, Hello, Order};
use oscost_model::worker::{BatchPlan, Mode, Subject, Task, WorkerSpec};

/// No answer takes longer unless something hangs.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

/// The program under test.
pub(crate) fn worker() -> PathBuf {
    std::env::var_os("OSCOST_WORKER")
        .map_or_else(|| env!("CARGO_BIN_EXE_oscost-worker").into(), PathBuf::from)
}

/// A temporary directory, removed with this value.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let name =
            format!("worker-test-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The time that a supervisor may take to exit at the end of a test, before it is killed.
const FAREWELL: Duration = Duration::from_secs(2);

/// A supervisor, its output, and its temporary directory.
pub(crate) struct Session {
    pub(crate) hello: Hello,
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    folder: Folder,
}

impl Session {
    /// A session that has sent `hello`.
    pub(crate) fn start() -> Self {
        let folder = Folder::new();
        let path = folder.path().to_owned();
        Self::start_in(folder, &path)
    }

    /// A session with this temporary directory.
    pub(crate) fn start_with(temporary: &Path) -> Self {
        Self::start_in(Folder::new(), temporary)
    }

    /// A session whose supervisor has this environment variable, too.
    pub(crate) fn with_variable(name: &str, value: &str) -> Self {
        let folder = Folder::new();
        let path = folder.path().to_owned();
        let mut command = Command::new(worker());
        command.env(name, value);
        Self::started(command, folder, &path)
    }

    /// A session started by a shell that has run `limits`.
    pub(crate) fn limited(limits: &str) -> Self {
        let folder = Folder::new();
        let path = folder.path().to_owned();
        let mut command = Command::new("/bin/sh");
        let script = format!("{limits} && exec \"$0\" \"$@\"");
        command.args(["-c", &script]).arg(worker());
        Self::started(command, folder, &path)
    }

    /// A session of an unprivileged user.
    pub(crate) fn ordinary() -> Self {
        /// The user `nobody` on most systems; any user but root would do.
        const NOBODY: u32 = 65_534;
        let folder = Folder::new();
        let path = folder.path().to_owned();
        let program = path.join("oscost-worker");
        // Copied by another process: a file that this process has written may be busy in a fork.
        assert!(Command::new("cp").arg(worker()).arg(&program).status().unwrap().success());
        // That user must be able to use both.
        let mut command = Command::new(&program);
        if fs::metadata(&program).unwrap().uid() == 0 {
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            chown(&path, Some(NOBODY), Some(NOBODY)).unwrap();
            command.uid(NOBODY).gid(NOBODY).current_dir("/");
        }
        Self::started(command, folder, &path)
    }

    fn start_in(folder: Folder, temporary: &Path) -> Self {
        Self::started(Command::new(worker()), folder, temporary)
    }

    fn started(mut command: Command, folder: Folder, temporary: &Path) -> Self {
        let mut child = command
            .arg("supervise")
            .env("TMPDIR", temporary)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break; // The test is over.
                }
            }
        });
        let hello = Hello::default();
        let mut session = Self { hello, child, input, lines, folder };
        match session.event() {
            Event::Hello(hello) => session.hello = *hello,
            other => panic!("no hello, but {other:?}"),
        }
        session
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The private directory of the supervisor.
    pub(crate) fn scratch(&self) -> PathBuf {
        PathBuf::from(self.hello.scratch_directory.as_deref().expect("there is no scratch folder"))
    }

    pub(crate) fn send(&mut self, order: &Order) {
        self.send_bytes(&serde_json::to_vec(order).unwrap());
    }

    /// Sends a line verbatim.
    pub(crate) fn send_bytes(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("the input was closed");
        input.write_all(&[line, b"\n"].concat()).unwrap();
    }

    /// Sends bytes; the supervisor may have exited.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("the input was closed");
        let _ = input.write_all(bytes);
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    pub(crate) fn event(&mut self) -> Event {
        let line = self.lines.recv_timeout(TIMEOUT).expect("the supervisor says nothing");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Fails if the supervisor sends anything within this time.
    pub(crate) fn expect_silence(&mut self, time: Duration) {
        match self.lines.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(line) => panic!("it should be silent, and says {line}"),
            Err(RecvTimeoutError::Disconnected) => panic!("it should be silent, and has ended"),
        }
    }

    /// The next event, which must be `ready`; returns the worker's process number.
    pub(crate) fn ready(&mut self, id: u64) -> u32 {
        match self.event() {
            Event::Ready { id: of, pid, addr: None } if of == id => pid,
            other => panic!("job {id} should be ready: {other:?}"),
        }
    }

    pub(crate) fn measure(&mut self, id: u64, spec: WorkerSpec) {
        self.send(&Order::Measure { id, spec: Box::new(spec) });
    }

    pub(crate) fn go(&mut self, id: u64, batches: u32) {
        self.send(&Order::Go { id, batches, arm: 0 });
    }

    /// A complete measurement: the worker times `batches` groups and sends its samples.
    pub(crate) fn measured(&mut self, id: u64, spec: WorkerSpec, batches: u32) -> Event {
        self.measure(id, spec);
        self.ready(id);
        self.go(id, batches);
        self.send(&Order::Stop { id });
        self.event()
    }

    /// Fails unless the session still carries out orders.
    pub(crate) fn check_responsive(&mut self, id: u64) {
        self.send(&Order::Calibrate { id, cpu: None, clock: ClockKind::Syscall });
        match self.event() {
            Event::Calibrated { id: of, .. } if of == id => {}
            other => panic!("the session does not go on: {other:?}"),
        }
    }

    /// Waits for the end of the supervisor.
    pub(crate) fn ended(&mut self) -> ExitStatus {
        let mut status = None;
        until("the supervisor ends", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap()
    }

    /// The processes of this session other than the supervisor, by their working directory.
    pub(crate) fn workers(&self) -> Vec<u32> {
        processes_in(self.folder.path())
    }

    /// The entries of the temporary directory.
    pub(crate) fn leftovers(&self) -> Vec<PathBuf> {
        fs::read_dir(self.folder.path()).unwrap().map(|entry| entry.unwrap().path()).collect()
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // At the end of its input it cleans up after itself.
        drop(self.input.take());
        let begun = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) && begun.elapsed() < FAREWELL {
            std::thread::sleep(Duration::from_millis(1));
        }
        // Its workers die with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Processes whose working directory is below `folder`; a zombie has none.
pub(crate) fn processes_in(folder: &Path) -> Vec<u32> {
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    });
    pids.filter(|pid| {
        fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
    })
    .collect()
}

/// Waits until the session has no process but the supervisor.
pub(crate) fn wait_until_gone(session: &Session, owner: &str) {
    until(&format!("the processes of {owner} are gone"), || session.workers().is_empty());
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !condition() {
        assert!(begun.elapsed() < TIMEOUT, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal, by its name in kill(1).
pub(crate) fn signal(pid: u32, name: &str) {
    assert!(pid > 1, "{pid} is not a process of this test");
    let sent = Command::new("/bin/sh").args(["-c", &format!("kill -{name} {pid}")]).status();
    assert!(sent.unwrap().success(), "kill -{name} {pid}");
}

/// The CPU time of a process in kernel ticks; 0 if it does not exist.
pub(crate) fn cpu_ticks(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let behind_name = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
    let fields: Vec<&str> = behind_name.split(' ').collect();
    [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<u64>().ok()).sum()
}

/// A batch plan.
pub(crate) fn plan(mode: Mode, iterations: u64, copies: &[u32], groups: u32) -> BatchPlan {
    let copies = copies.to_vec();
    BatchPlan {
        mode,
        iterations,
        unroll_factors: copies,
        groups,
        batch_ns: 50_000.0,
        coarse_clock: false,
    }
}

/// A worker of `case` that is not pinned.
pub(crate) fn spec(case: &str, task: Task) -> WorkerSpec {
    let subject = Subject::Case(Case::parse(case).unwrap());
    WorkerSpec { seed: 42, ..WorkerSpec::new(subject, task, CLOCK, 30_000) }
}

/// A worker that times batches of a few iterations.
pub(crate) fn measuring(case: &str) -> WorkerSpec {
    spec(case, Task::Measure(plan(Mode::B, 100, &[1], 21)))
}

/// More groups than a worker can time within a test: each takes a millisecond.
pub(crate) const ENDLESS: u32 = 100_001;

/// A worker with room for that many groups.
pub(crate) fn endless() -> WorkerSpec {
    spec("syscall/getppid:via=raw", Task::Measure(plan(Mode::B, 10_000, &[1], ENDLESS)))
}

/// A clock that every machine has. Its calibration is arbitrary: a worker reports ticks.
pub(crate) const CLOCK: Calibration = Calibration {
    kind: ClockKind::Syscall,
    ticks_per_ns: 1.0,
    quantum_ticks: 1.0,
    inside_ticks: 100.0,
    pair_ticks: 200.0,
};

/// The reason of a failed job.
pub(crate) fn failure_reason(event: Event) -> String {
    match event {
        Event::Failed { reason, .. } => reason,
        other => panic!("it should have failed: {other:?}"),
    }
}

/// Every case of the catalog at its default points.
pub(crate) fn default_cases(catalog: &Catalog) -> Vec<String> {
    let cases = |definition: &Definition| -> Vec<String> {
        let points = definition.axes.iter().fold(vec![Point::none()], |points, axis| {
            let with = |point: &Point| {
                let values = axis.default_points.iter();
                let points = values.map(|value| point.clone().with(&axis.name, value.clone()));
                points.collect::<Vec<_>>()
            };
            points.iter().flat_map(with).collect()
        });
        let named =
            |point: &Point| Case::new(definition.id.clone(), definition.without_implied(point));
        points.iter().map(|point| named(point).to_string()).collect()
    };
    catalog.benchmarks.iter().flat_map(cases).collect()
}
