//! Virtual machines on this host: network namespaces on a bridge, each with its own sshd, home and
//! temporary folder. `Drop` removes all of it, also when a test panics.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::ended::Ended;

/// A step that takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);
/// The port on which the sshds listen.
pub(crate) const PORT: u16 = 2222;
/// OpenSSH's server must be started by its absolute path.
const SSHD: &str = "/usr/sbin/sshd";
/// The folder for its privilege separation.
const EMPTY: &str = "/run/sshd";

/// How a host of a test differs from a plain one.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kind {
    /// Further lines of its sshd's configuration; `FOLDER` stands for the host's own folder.
    pub(crate) sshd: &'static str,
    /// Shell commands run in the sshd's mount namespace before it starts; `$1` is the folder.
    pub(crate) before: &'static str,
    /// Prepended to `PATH`; `FOLDER` as above.
    pub(crate) path: &'static str,
}

/// Machines `1` to `n`.
pub(crate) struct Hosts {
    name: String,
    count: usize,
    sshds: Vec<Child>,
    folder: TempDir,
}

impl Hosts {
    /// `count` plain machines; where they cannot be made, prints why and returns `None`.
    pub(crate) fn some(count: usize) -> Option<Hosts> {
        Self::like(&vec![Kind::default(); count])
    }

    /// A machine of each kind.
    pub(crate) fn like(kinds: &[Kind]) -> Option<Hosts> {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("oscost{}n{number}", std::process::id());
        if let Some(lacking) = lacking(&name) {
            eprintln!("cannot make hosts here: {lacking}");
            return None;
        }
        let folder = TempDir::with_prefix("oscost-hosts-").unwrap();
        let mut hosts = Hosts { name, count: kinds.len(), sshds: Vec::new(), folder };
        hosts.join();
        hosts.keys();
        for (at, kind) in kinds.iter().enumerate() {
            hosts.open(at + 1, kind);
        }
        Some(hosts)
    }

    /// A bridge in its own namespace, with a veth pair to each machine.
    fn join(&self) {
        let hub = format!("{}hub", self.name);
        ip(&["netns", "add", &hub]);
        ip(&["-n", &hub, "link", "add", "br0", "type", "bridge"]);
        ip(&["-n", &hub, "link", "set", "br0", "up"]);
        for host in 1..=self.count {
            let (ns, plug) = (self.namespace(host), format!("v{host}"));
            ip(&["netns", "add", &ns]);
            let there = ["type", "veth", "peer", "name", "eth0", "netns", &ns];
            ip(&[&["-n", &hub, "link", "add", &plug][..], &there].concat());
            ip(&["-n", &hub, "link", "set", &plug, "master", "br0", "up"]);
            // `nodad` skips duplicate address detection, so the address is usable at once.
            ip(&["-n", &ns, "addr", "add", &format!("{}/24", address(host)), "dev", "eth0"]);
            ip(&["-n", &ns, "link", "set", "eth0", "up"]);
            ip(&["-n", &ns, "link", "set", "lo", "up"]);
        }
    }

    /// A key for the user, a host key for each machine, and the user's known_hosts.
    fn keys(&self) {
        let make = |path: &Path| {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f"])
                .arg(path)
                .status();
            assert!(made.unwrap().success());
        };
        make(&self.file("user"));
        let mut known_hosts = String::new();
        for host in 1..=self.count {
            for name in ["home", "tmp", "store"] {
                fs::create_dir_all(self.host_folder(host).join(name)).unwrap();
            }
            make(&self.host_folder(host).join("key"));
            let key = fs::read_to_string(self.host_folder(host).join("key.pub")).unwrap();
            known_hosts += &format!("[{}]:{PORT} {key}", address(host));
        }
        fs::write(self.file("known"), known_hosts).unwrap();
        let configuration = format!(
            "Host *\n Port {PORT}\n User root\n IdentityFile {}\n IdentitiesOnly yes\n \
             UserKnownHostsFile {}\n GlobalKnownHostsFile none\n StrictHostKeyChecking ask\n \
             ConnectTimeout 20\n",
            self.file("user").display(),
            self.file("known").display(),
        );
        fs::write(self.file("ssh.conf"), configuration).unwrap();
        let wrapper =
            format!("#!/bin/sh\nexec ssh -F '{}' \"$@\"\n", self.file("ssh.conf").display());
        fs::write(self.file("ssh"), wrapper).unwrap();
        fs::set_permissions(self.file("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Starts a machine's sshd, and waits until it listens.
    fn open(&mut self, host: usize, kind: &Kind) {
        let folder = self.host_folder(host);
        let own = folder.display().to_string();
        let path = format!("{}/usr/sbin:/usr/bin:/sbin:/bin", kind.path);
        let configuration = format!(
            "Port {PORT}\nListenAddress {}\nHostKey {own}/key\nAuthorizedKeysFile {}\nPidFile \
             none\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n\
             SetEnv HOME={own}/home XDG_CACHE_HOME={own}/home/.cache TMPDIR={own}/tmp PATH={path}\n\
             {}\n",
            address(host),
            self.file("user.pub").display(),
            kind.sshd,
        );
        let configuration = configuration.replace("FOLDER", &own);
        fs::write(folder.join("sshd.conf"), configuration).unwrap();
        fs::create_dir_all(EMPTY).unwrap();
        let script = format!("{}\nexec {SSHD} -D -e -f \"$1/sshd.conf\"", kind.before);
        let log = File::create(folder.join("log")).unwrap();
        let sshd = self
            .at(host, "sh")
            .args(["-ec", &script, "sshd"])
            .arg(&folder)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn();
        self.sshds.push(sshd.unwrap());
        until("an sshd listens", || {
            let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
            let ended = self.sshds.last_mut().is_none_or(|it| it.try_wait().unwrap().is_some());
            assert!(!ended, "the sshd of host {host} has ended: {log}");
            log.contains("Server listening")
        });
    }

    fn namespace(&self, host: usize) -> String {
        format!("{}h{host}", self.name)
    }

    /// A file in the user's folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A machine's folder: `home`, `tmp`, and files that a test adds.
    pub(crate) fn host_folder(&self, host: usize) -> PathBuf {
        self.folder.path().join(format!("host{host}"))
    }

    /// A command on a machine's network, with a folder of its own for the lock's file: these
    /// machines are one, on which one run measures at a time. Where there is no such folder, the file
    /// would be in /tmp, and they would wait for each other: it is made, and stays.
    pub(crate) fn at(&self, host: usize, program: &str) -> Command {
        const SCRIPT: &str = "mkdir -p /run/lock; mount -t tmpfs -o mode=1777 none /run/lock; \
                              exec \"$0\" \"$@\"";
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespace(host), "sh", "-ec", SCRIPT, program]);
        command
    }

    /// The tool on a machine, with its own ssh.
    pub(crate) fn tool(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = self.at(host, env!("CARGO_BIN_EXE_oscost"));
        let folder = self.host_folder(host);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .env("HOME", folder.join("home"))
            .env("XDG_DATA_HOME", folder.join("store"))
            .env("TMPDIR", folder.join("tmp"))
            .env("OSCOST_WORKER", worker())
            .env("OSCOST_SSH", self.file("ssh"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the tool on machine 1 to its end. Other tests run side by side, so that a run may have
    /// too few undisturbed batches: then it is repeated.
    pub(crate) fn oscost(&self, arguments: &[&str]) -> Ran {
        const ATTEMPTS: u32 = 5;
        let run = || Ran::of(self.tool(1, arguments).stdout(Stdio::piped()).stderr(Stdio::piped()));
        let mut ran = run();
        for _ in 1..ATTEMPTS {
            if !ran.stdout.contains("had enough undisturbed batches") {
                break;
            }
            ran = run();
        }
        ran
    }

    /// The process that holds a machine's mount and network namespaces.
    pub(crate) fn sshd(&self, host: usize) -> u32 {
        self.sshds[host - 1].id()
    }

    /// Processes of a machine's sessions and of the tool there: those with its folder in their
    /// environment.
    pub(crate) fn processes(&self, host: usize) -> Vec<u32> {
        let mark = format!("TMPDIR={}/tmp", self.host_folder(host).display()).into_bytes();
        let is_ours = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            // A worker's folder is below it.
            environ.split(|&byte| byte == 0).any(|variable| variable.starts_with(&mark))
        };
        let names = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let name = entry.ok()?.file_name();
            name.to_str()?.parse::<u32>().ok()
        });
        names.filter(is_ours).collect()
    }

    /// The supervisor on a machine.
    pub(crate) fn supervisor(&self, host: usize) -> Option<u32> {
        self.processes(host).into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.ends_with(b"\0supervise\0")
        })
    }

    /// Listening ports of a machine, except its sshd's.
    pub(crate) fn listeners(&self, host: usize) -> Vec<u16> {
        const LISTENS: &str = "0A";
        let tables = ["tcp", "tcp6"].map(|table| {
            fs::read_to_string(format!("/proc/{}/net/{table}", self.sshd(host))).unwrap_or_default()
        });
        let lines = tables.iter().flat_map(|table| table.lines().skip(1));
        let ports = lines.filter_map(|line| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let port = words[1].rsplit_once(':')?.1;
            (words[3] == LISTENS).then(|| u16::from_str_radix(port, 16).unwrap())
        });
        ports.filter(|&port| port != PORT).collect()
    }

    /// Waits until no machine has a process or a temporary file left, and no home holds anything
    /// but the worker.
    pub(crate) fn nothing_is_left(&self) {
        for host in 1..=self.count {
            until("its processes are gone", || self.processes(host).is_empty());
            let tmp = self.host_folder(host).join("tmp");
            let begun = Instant::now();
            while fs::read_dir(&tmp).unwrap().count() > 0 {
                let left = files_below(&tmp);
                assert!(begun.elapsed() < PATIENCE, "{} is not empty: {left:?}", tmp.display());
                std::thread::sleep(Duration::from_millis(5));
            }
            for path in files_below(&self.host_folder(host).join("home")) {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert!(name.starts_with("worker-"), "{} was left", path.display());
            }
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in 1..=self.count {
            let listed = Command::new("ip").args(["netns", "pids", &self.namespace(host)]).output();
            for pid in String::from_utf8_lossy(&listed.unwrap().stdout).split_whitespace() {
                // Only processes started in the namespaces of this value.
                let _ = Command::new("kill").args(["-9", pid]).stderr(Stdio::null()).status();
            }
        }
        for sshd in &mut self.sshds {
            let _ = sshd.kill();
            let _ = sshd.wait();
        }
        let names = (1..=self.count).map(|host| self.namespace(host));
        for name in names.chain([format!("{}hub", self.name)]) {
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

/// What this machine lacks for making such hosts of this name.
fn lacking(name: &str) -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("network namespaces with an sshd need root".to_owned());
    }
    let is_there = |path: &str| Path::new(path).exists();
    if !is_there(SSHD) {
        return Some(format!("there is no {SSHD}: apt-get install openssh-server"));
    }
    for (program, package) in [("ssh-keygen", "openssh-client"), ("ip", "iproute2")] {
        if Command::new(program)
            .arg("-V")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            return Some(format!("there is no {program}: apt-get install {package}"));
        }
    }
    // A trial: a container may forbid namespaces.
    let name = format!("{name}try");
    let made = Command::new("ip").args(["netns", "add", &name]).output().unwrap();
    let _ = Command::new("ip").args(["netns", "del", &name]).output();
    let why = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    (!made.status.success()).then(|| format!("network namespaces are forbidden: {why}"))
}

/// The address of a machine.
pub(crate) fn address(host: usize) -> String {
    format!("10.77.9.{host}")
}

fn ip(arguments: &[&str]) {
    let ran = Command::new("ip").args(arguments).output().unwrap();
    let words = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "ip {}: {words}", arguments.join(" "));
}

/// The worker under test: the static program that `make` builds.
pub(crate) fn worker() -> PathBuf {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/oscost-worker");
    std::env::var_os("OSCOST_WORKER").map_or(built, PathBuf::from).canonicalize().unwrap()
}

/// Every file below a folder.
pub(crate) fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let nested = entries.map(|path| if path.is_dir() { files_below(&path) } else { vec![path] });
    nested.flatten().collect()
}

/// Waits until a condition holds.
pub(crate) fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "timed out waiting until {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The exit status and output of a command.
pub(crate) struct Ran {
    code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// Runs a command to its end.
    pub(crate) fn of(command: &mut Command) -> Self {
        Self::of_child(command.spawn().unwrap())
    }

    /// Waits for a command to exit, and kills it if it takes too long.
    pub(crate) fn of_child(child: Child) -> Self {
        let ended = Ended::of(child, PATIENCE).unwrap_or_else(|hang| panic!("{hang}"));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Self { code: ended.status.code(), stdout: text(&ended.stdout), stderr: text(&ended.stderr) }
    }

    /// Asserts the exit status; a failure shows the output.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        let output = || format!("stdout:\n{}\nstderr:\n{}", self.stdout, self.stderr);
        assert_eq!(self.code, Some(code), "{}", output());
        self
    }

    /// Asserts that standard error contains these words.
    pub(crate) fn stderr_contains(self, words: &[&str]) -> Self {
        for words in words {
            assert!(self.stderr.contains(words), "`{words}` is not in:\n{}", self.stderr);
        }
        self
    }

    /// Standard output, which is exactly one JSON document.
    pub(crate) fn json(&self) -> Value {
        let read = serde_json::from_str(&self.stdout);
        read.unwrap_or_else(|error| panic!("{error}:\n{}\n{}", self.stdout, self.stderr))
    }
}

/// The row of a case.
pub(crate) fn row<'a>(record: &'a Value, case: &str) -> &'a Value {
    let rows = record["results"].as_array().unwrap();
    let found = rows.iter().find(|row| row["case"] == case);
    found.unwrap_or_else(|| panic!("no row of {case}"))
}

/// Whether a row has a flag.
pub(crate) fn has_flag(row: &Value, flag: &str) -> bool {
    row["flags"].as_array().unwrap().iter().any(|it| it == flag)
}
