//! A headless Chromium with its own profile. Dropping the last value that uses it removes its
//! processes and its folder, also when a test panics.

use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpgid};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::page::Page;
use crate::shared::Shared;
use crate::wire::Wire;

/// A step that takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The usual names of the program.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The protocol's descriptors are fixed: the browser reads from 3 and writes to 4.
const TAKE_PIPES: &str = r#"exec "$@" 3<&0 4>&1 </dev/null >&2"#;

/// Options that disable background services, dialogs, shared memory (scarce in containers) and
/// throttling of hidden windows, and that resolve no host name: what a page requests is reported
/// and never fetched.
const FLAGS: &[&str] = &[
    "--headless",
    "--remote-debugging-pipe",
    "--disable-gpu",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--no-service-autorun",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--disable-breakpad",
    "--disable-crash-reporter",
    "--disable-dev-shm-usage",
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
    // Otherwise each window has two more pages for its address bar.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
    "--metrics-recording-only",
    "--mute-audio",
    "--password-store=basic",
    "--use-mock-keychain",
    "--force-color-profile=srgb",
    "--lang=en-US",
    "--host-resolver-rules=MAP * ~NOTFOUND",
];

/// A running Chromium.
pub(crate) struct Chromium {
    pub(crate) wire: Arc<Wire>,
    child: Child,
    reader: Option<JoinHandle<()>>,
    folder: TempDir,
}

impl Chromium {
    /// `None`, with a line that says why, where it is not installed or its sandbox cannot be made.
    fn start() -> Option<Self> {
        let Some(program) = find() else {
            eprintln!("skipped: no browser: apt-get install chromium fonts-dejavu-core");
            return None;
        };
        let folder = TempDir::with_prefix("oscost-browser-").unwrap();
        let log = folder.path().join("log");
        for name in ["home", "profile", "tmp"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let mut profile = OsString::from("--user-data-dir=");
        profile.push(folder.path().join("profile"));
        let mut command = Command::new("sh");
        command.args(["-c", TAKE_PIPES, "sh"]).arg(program).args(FLAGS).arg(profile);
        if nix::unistd::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        // Its orphaned processes become our children and are reaped here: in a container process 1
        // may not reap them.
        set_child_subreaper(true).unwrap();
        let mut child = command
            .arg("about:blank")
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", folder.path().join("home"))
            .env("TMPDIR", folder.path().join("tmp"))
            // Otherwise a session bus would be started for it, which outlives it.
            .env("DBUS_SESSION_BUS_ADDRESS", "disabled:")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).unwrap())
            .process_group(0)
            .spawn()
            .unwrap();
        let wire = Arc::new(Wire::new(child.stdin.take().unwrap()));
        let from = child.stdout.take().unwrap();
        let reader = std::thread::spawn({
            let wire = Arc::clone(&wire);
            move || wire.read(from)
        });
        let chromium = Self { wire, child, reader: Some(reader), folder };
        if let Err(why) = chromium.wire.call(PATIENCE, "", "Browser.getVersion", json!({})) {
            let output = fs::read_to_string(&log).unwrap_or_default();
            if output.contains("No usable sandbox") {
                eprintln!("skipped, for Chromium's sandbox takes user namespaces, or root");
                return None;
            }
            panic!("Chromium does not start: {why}\n{output}");
        }
        // The permissions of a page in a window with focus.
        let rights = ["clipboardReadWrite", "clipboardSanitizedWrite"];
        let rights = json!({ "permissions": rights });
        let granted = chromium.wire.call(PATIENCE, "", "Browser.grantPermissions", rights);
        granted.unwrap_or_else(|why| panic!("{why}"));
        Some(chromium)
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        let group = Pid::from_raw(self.child.id().cast_signed());
        // Its crash handlers leave the process group.
        let mut helpers = processes_of(self.folder.path());
        helpers.retain(|&pid| getpgid(Some(pid)) != Ok(group));
        let _ = killpg(group, Signal::SIGKILL);
        for &helper in &helpers {
            let _ = kill(helper, Signal::SIGKILL);
        }
        let _ = self.child.wait();
        let begun = Instant::now();
        // The other processes of the group become our children when their parents have been reaped.
        let any = Pid::from_raw(-group.as_raw());
        let is_left = |who| waitpid(who, Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive);
        while killpg(group, None).is_ok() || !helpers.is_empty() {
            is_left(any);
            helpers.retain(|&helper| is_left(helper));
            if begun.elapsed() > PATIENCE {
                eprintln!("processes of Chromium's are left, in the group {group}");
                return;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// Starting one takes seconds of CPU time, and each page has its own window.
static CHROMIUM: Shared<Chromium> = Shared::new();

/// The browser of a test.
pub(crate) struct Browser {
    chromium: Arc<Chromium>,
    /// The time limit of a step.
    pub(crate) patience: Duration,
}

impl Browser {
    /// The browser of all tests at work. `None`, with a line that says why, where none is installed.
    pub(crate) fn start() -> Option<Self> {
        Some(Self { chromium: CHROMIUM.get(Chromium::start)?, patience: PATIENCE })
    }

    /// A browser of this test alone: with its own clipboard and processes.
    pub(crate) fn start_own() -> Option<Self> {
        Some(Self { chromium: Arc::new(Chromium::start()?), patience: PATIENCE })
    }

    fn call(&self, method: &str, params: Value) -> Value {
        self.chromium
            .wire
            .call(self.patience, "", method, params)
            .unwrap_or_else(|it| panic!("{it}"))
    }

    /// Opens a file in a window of 1280 by 800, and waits until it is loaded.
    pub(crate) fn open(&self, path: &Path) -> Page {
        let page = self.blank();
        page.load(&address(path));
        page
    }

    /// Opens a file and returns after how many milliseconds from the start of the navigation a
    /// condition first held; it is checked before each frame.
    pub(crate) fn open_until(&self, path: &Path, condition: &str) -> (Page, f64) {
        let page = self.blank();
        page.watch(condition);
        page.load(&address(path));
        let met = page.watched(condition);
        (page, met)
    }

    /// An empty window. Each page has its own, since only the page in front is painted.
    fn blank(&self) -> Page {
        let params = json!({ "url": "about:blank", "newWindow": true });
        let made = self.call("Target.createTarget", params);
        let target = made["targetId"].as_str().unwrap().to_owned();
        let params = json!({ "targetId": target, "flatten": true });
        let attached = self.call("Target.attachToTarget", params);
        let session = attached["sessionId"].as_str().unwrap().to_owned();
        Page::new(Arc::clone(&self.chromium), target, session, self.patience)
    }

    /// Its profile folder.
    pub(crate) fn folder(&self) -> &Path {
        self.chromium.folder.path()
    }
}

/// The program, by the variable CHROMIUM or by its usual names.
fn find() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = |name: &Path| {
        let targets = std::env::split_paths(&path).map(|folder| folder.join(name));
        targets.into_iter().find(|program| program.is_file())
    };
    match std::env::var_os("CHROMIUM").filter(|named| !named.is_empty()) {
        Some(named) => on_path(Path::new(&named)),
        None => NAMES.iter().find_map(|name| on_path(Path::new(name))),
    }
}

/// The URL of a file: special characters of the path are percent-encoded.
fn address(path: &Path) -> String {
    let path = path.canonicalize().unwrap();
    let letters = path.as_os_str().as_bytes().iter().map(|&byte| match byte {
        b'/' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        byte if byte.is_ascii_alphanumeric() => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    });
    format!("file://{}", letters.collect::<String>())
}

/// Processes with a browser's folder in their arguments.
pub(crate) fn processes_of(folder: &Path) -> Vec<Pid> {
    let mark = format!("TMPDIR={}/tmp", folder.display()).into_bytes();
    let is_ours = |pid: &i32| {
        let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environ.split(|&byte| byte == 0).any(|variable| variable == mark)
    };
    let entries = fs::read_dir("/proc").unwrap();
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    pids.filter(is_ours).map(Pid::from_raw).collect()
}
