//! The tool under test: every test has its own folders, so that what is left behind can be looked
//! for.

pub(crate) mod day_series;

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

/// Nothing takes so long unless it hangs; real runs wait for each other, too.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The worker under test: the static program that `make` builds.
pub(crate) fn worker() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/oscost-worker");
    let named = std::env::var_os("OSCOST_WORKER").map_or(built, PathBuf::from);
    let found = named.canonicalize();
    found
        .unwrap_or_else(|_| panic!("{} is not there: `make test` builds it first", named.display()))
}

/// The tool under test.
pub(crate) fn tool() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_oscost"))
}

/// Folders of a test's own: `data` for the store, `tmp` for workers, `files` for the rest.
pub(crate) struct Sandbox(TempDir);

impl Sandbox {
    pub(crate) fn new() -> Self {
        let sandbox = Self(TempDir::with_prefix("oscost-test-").unwrap());
        for name in ["data", "tmp", "files"] {
            fs::create_dir(sandbox.folder(name)).unwrap();
        }
        sandbox
    }

    pub(crate) fn folder(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder("files").join(name)
    }

    /// The tool with nothing in its environment but what it must know.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(tool());
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.folder("files"))
            .env("XDG_DATA_HOME", self.folder("data"))
            .env("TMPDIR", self.folder("tmp"))
            .env("OSCOST_WORKER", worker())
            .stdin(Stdio::null());
        command
    }

    /// The tool as somebody who is not root, in a world-readable folder where that needs one.
    pub(crate) fn ordinary(&self, arguments: &[&str]) -> Command {
        /// Nobody, on most systems: what counts is that it is not root.
        const NOBODY: u32 = 65_534;
        let command = self.command(arguments);
        if !nix::unistd::geteuid().is_root() {
            return command;
        }
        // The programs and folders must be theirs to use.
        let files = self.folder("files");
        for (from, name) in [(tool(), "oscost"), (worker(), "oscost-worker")] {
            // SingleTargetComparison it and renamed: a program that runs cannot be written to. And by another process:
            // what is open for writing here is so, for a moment, in what other tests start, and a
            // program that somebody could write to cannot be run (ETXTBSY).
            let copied = Command::new("cp").arg(from).arg(files.join("new")).status().unwrap();
            assert!(copied.success());
            fs::set_permissions(files.join("new"), fs::Permissions::from_mode(0o755)).unwrap();
            fs::rename(files.join("new"), files.join(name)).unwrap();
        }
        let open = fs::Permissions::from_mode(0o711);
        fs::set_permissions(self.folder("."), open).unwrap();
        for name in ["data", "tmp", "files"] {
            chown(self.folder(name), Some(NOBODY), Some(NOBODY)).unwrap();
        }
        let environment: Vec<_> = command
            .get_envs()
            .filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())))
            .collect();
        let mut command = Command::new(files.join("oscost"));
        command.args(arguments).env_clear().envs(environment);
        command.env("OSCOST_WORKER", files.join("oscost-worker"));
        command.current_dir("/").uid(NOBODY).gid(NOBODY);
        command
    }

    /// Runs the tool to its end.
    pub(crate) fn oscost(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.command(arguments))
    }

    /// Runs the tool with another worker to its end.
    pub(crate) fn oscost_with(&self, worker: &Path, arguments: &[&str]) -> Ran {
        Ran::of(self.command(arguments).env("OSCOST_WORKER", worker))
    }

    /// Runs the tool at a fake place.
    pub(crate) fn fake(&self, scenario: &str, arguments: &[&str]) -> Ran {
        let target = format!("fake:{}", scenario_file(scenario).display());
        self.oscost(&[&["run", "--seed", "1", "--at", &target], arguments].concat())
    }

    /// Processes of this test: those that were given its folder, and the workers that stand in it.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let tmp = self.folder("tmp");
        let mark = format!("TMPDIR={}", tmp.display()).into_bytes();
        let is_ours = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let told = environ.split(|&byte| byte == 0).any(|variable| variable == mark);
            told || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&tmp))
        };
        let names = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.parse::<u32>().ok()
        });
        names.filter(is_ours).collect()
    }

    /// Waits until no process and no temporary file of this test is left.
    pub(crate) fn nothing_is_left(&self) {
        until("its processes are gone", || self.processes().is_empty());
        let left = || fs::read_dir(self.folder("tmp")).unwrap().count();
        until("its temporary files are gone", || left() == 0);
    }
}

/// How a command ended, and what it said.
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self::of_child(child)
    }

    /// Waits for the end of a command, and ends it when it takes too long. Its two pipes are read
    /// at once, since either may fill; one that was taken away is empty.
    pub(crate) fn of_child(mut child: Child) -> Self {
        let (stdout, stderr) = (reader(child.stdout.take()), reader(child.stderr.take()));
        let begun = Instant::now();
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if begun.elapsed() > PATIENCE => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(2)),
            }
        };
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let status = status.unwrap_or_else(|| panic!("it hangs:\n{stdout}\n{stderr}"));
        Self { code: status.code(), stdout, stderr }
    }

    /// It ended with this status, or the test shows what it said instead.
    pub(crate) fn exits(self, code: i32) -> Self {
        let said = || format!("stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert_eq!(self.code, Some(code), "{}", said());
        self
    }

    /// It said nothing where the data goes.
    pub(crate) fn no_data(self) -> Self {
        assert_eq!(self.stdout, "");
        self
    }

    /// The words are among what it said to the person.
    pub(crate) fn tells(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "`{words}` is not in:\n{}", self.stderr);
        self
    }

    /// What it printed is one JSON document and nothing else.
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        read.unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Reads all that comes through a pipe, beside whatever else happens.
fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_string(&mut text).unwrap();
        }
        text
    })
}

/// A file of what a fake place answers.
pub(crate) fn scenario_file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    folder.join(format!("{name}.json"))
}

/// Waits until something is so.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The rows of a record.
pub(crate) fn rows(record: &Value) -> &Vec<Value> {
    record["results"].as_array().unwrap()
}

/// The row of a case.
pub(crate) fn row<'a>(record: &'a Value, case: &str) -> &'a Value {
    let found = rows(record).iter().find(|row| row["case"] == case);
    found.unwrap_or_else(|| panic!("no row is {case}"))
}

/// Whether a row bears a mark.
pub(crate) fn has_flag(row: &Value, flag: &str) -> bool {
    row["flags"].as_array().unwrap().iter().any(|it| it == flag)
}
