//! The tool under test: each test has its own directories, so that leftovers can be found.

pub(crate) mod day_series;
pub(crate) mod ended;
pub(crate) mod treated;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use ended::Ended;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use tempfile::TempDir;

/// Longer than any command takes that does not hang; real runs also wait for each other.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

/// The worker under test: the static program that `make` builds.
pub(crate) fn worker() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/oscost-worker");
    let named = std::env::var_os("OSCOST_WORKER").map_or(built, PathBuf::from);
    let found = named.canonicalize();
    found.unwrap_or_else(|_| {
        panic!("{} does not exist: `make test` builds it first", named.display())
    })
}

/// The tool under test.
pub(crate) fn tool() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_oscost"))
}

/// The directories of a test: `data` for the store, `tmp` for workers, `files` for the rest.
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

    /// The tool with only the necessary environment variables.
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

    /// The tool with these arguments as `$0` and `$@` of a shell's script, which sets a limit or a
    /// signal and then executes it.
    pub(crate) fn command_in_shell(&self, script: &str, arguments: &[&str]) -> Command {
        let tool = self.command(arguments);
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", script]).arg(tool.get_program()).args(tool.get_args()).env_clear();
        let variables = tool.get_envs().filter_map(|(name, value)| Some((name, value?)));
        shell.envs(variables).stdin(Stdio::null());
        shell
    }

    /// The tool as a user other than root, in a world-readable directory if necessary.
    pub(crate) fn ordinary(&self, arguments: &[&str]) -> Command {
        /// `nobody` on most systems; any user other than root will do.
        const NOBODY: u32 = 65_534;
        let command = self.command(arguments);
        if !nix::unistd::geteuid().is_root() {
            return command;
        }
        // That user must be able to use the programs and directories.
        let files = self.folder("files");
        for (from, name) in [(tool(), "oscost"), (worker(), "oscost-worker")] {
            // Copied under another name and renamed, since a running program cannot be written to.
            // By another process, since a file open for writing here is inherited for a moment by
            // the processes that other tests start, and such a program cannot be executed
            // (ETXTBSY).
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

    /// Runs the tool on a fake target.
    pub(crate) fn fake(&self, scenario: &str, arguments: &[&str]) -> Ran {
        let target = format!("fake:{}", scenario_file(scenario).display());
        self.oscost(&[&["run", "--seed", "1", "--at", &target], arguments].concat())
    }

    /// The processes of this test: those with its directory in their arguments, and the workers
    /// whose working directory it is.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let tmp = self.folder("tmp");
        let mark = format!("TMPDIR={}", tmp.display()).into_bytes();
        let is_ours = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let has_mark = environ.split(|&byte| byte == 0).any(|variable| variable == mark);
            has_mark
                || fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(&tmp))
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

impl Drop for Sandbox {
    fn drop(&mut self) {
        // A run of a test that has failed would keep the machine from those of all others.
        if std::thread::panicking() {
            for pid in self.processes().into_iter().filter(|&pid| pid > 1) {
                let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
            }
        }
    }
}

/// The exit status and output of a command.
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

    /// Waits for the end of a command, and kills it if it takes too long.
    pub(crate) fn of_child(child: Child) -> Self {
        let Ended { status, stdout, stderr } =
            Ended::of(child, PATIENCE).unwrap_or_else(|hang| panic!("{hang}"));
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self { code: status.code(), stdout: text(stdout), stderr: text(stderr) }
    }

    /// Asserts its exit status.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        let output = || format!("stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert_eq!(self.code, Some(code), "{}", output());
        self
    }

    /// Asserts that standard output is empty.
    pub(crate) fn no_data(self) -> Self {
        assert_eq!(self.stdout, "");
        self
    }

    /// Asserts that standard error contains these words.
    pub(crate) fn stderr_contains(self, words: &str) -> Self {
        assert!(self.stderr.contains(words), "`{words}` is not in:\n{}", self.stderr);
        self
    }

    /// Its standard output as one JSON document.
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        read.unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// Waits for the end of a command whose output is not wanted, and kills it if it takes too long.
pub(crate) fn end_of(child: &mut Child) -> ExitStatus {
    let begun = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if begun.elapsed() > PATIENCE {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The scenario file of a fake target.
pub(crate) fn scenario_file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scenarios");
    folder.join(format!("{name}.json"))
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "timed out waiting until {what}");
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
    found.unwrap_or_else(|| panic!("no row of {case}"))
}

/// Whether a row has a flag.
pub(crate) fn has_flag(row: &Value, flag: &str) -> bool {
    row["flags"].as_array().unwrap().iter().any(|it| it == flag)
}
