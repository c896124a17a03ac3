//! A cluster of Slurm on this host: munged, a controller and the daemons of some nodes, with ports,
//! keys, sockets and folders of their own. They are children of the test, and end with it, and so does
//! what they have started.

use std::fs::{self, OpenOptions, Permissions};
use std::net::TcpListener;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// A cluster that is not up by then does not come up.
const START_PATIENCE: Duration = Duration::from_secs(60);
/// A daemon that was asked to end is killed after this.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// The daemons are not in the path of users.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// A daemon of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Daemon {
    /// munged, by which the others know each other.
    Munge,
    /// slurmctld
    Controller,
    /// The slurmd of a node.
    Node(String),
}

/// A daemon that was started.
struct Started {
    daemon: Daemon,
    process: Child,
}

/// A controller and its nodes.
pub(crate) struct Cluster {
    /// The folder of everything; it has `slurm.conf`, the logs, and `tmp/NODE` for temporary files.
    pub(crate) folder: PathBuf,
    /// The names of the nodes: `n1`, `n2`, ...
    pub(crate) nodes: Vec<String>,
    started: Vec<Started>,
    _folder: TempDir,
}

impl Cluster {
    /// A cluster of so many nodes; where none can be made, prints why and returns `None`.
    pub(crate) fn of(nodes: usize) -> Option<Cluster> {
        Self::configured(nodes, "")
    }

    /// The same with further lines of the configuration, of which `ALL` stands for all nodes.
    pub(crate) fn configured(nodes: usize, further: &str) -> Option<Cluster> {
        if let Some(lacking) = lacking() {
            eprintln!("cannot make a cluster here: {lacking}");
            return None;
        }
        let folder = TempDir::with_prefix("oscost-slurm-").unwrap();
        let mut cluster = Cluster {
            folder: folder.path().canonicalize().unwrap(),
            nodes: (1..=nodes).map(|number| format!("n{number}")).collect(),
            started: Vec::new(),
            _folder: folder,
        };
        cluster.configure(further);
        cluster.start();
        Some(cluster)
    }

    /// A program of Slurm, or one that starts such, on this cluster.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.configuration()).stdin(Stdio::null());
        command
    }

    /// The configuration, for `SLURM_CONF`.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.folder.join("slurm.conf")
    }

    /// What a program of Slurm prints.
    pub(crate) fn output(&self, program: &str, arguments: &[&str]) -> String {
        let ran = self.command(program).args(arguments).output().unwrap();
        String::from_utf8_lossy(&ran.stdout).into_owned()
    }

    /// The folder of temporary files of the tasks on a node.
    pub(crate) fn temporary_folder(&self, node: &str) -> PathBuf {
        self.folder.join("tmp").join(node)
    }

    /// The processes of tasks on a node: those that have its folder for temporary files.
    pub(crate) fn processes_on(&self, node: &str) -> Vec<u32> {
        let mark = format!("TMPDIR={}", self.temporary_folder(node).display()).into_bytes();
        let is_of_node = |pid: &u32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            // A worker's folder is below it.
            environ.split(|&byte| byte == 0).any(|variable| {
                let after = variable.strip_prefix(&mark[..]);
                after.is_some_and(|after| after.is_empty() || after.starts_with(b"/"))
            })
        };
        processes().filter(is_of_node).collect()
    }

    /// Kills a daemon, as the kernel does when it has no memory left. What it has started lives on.
    pub(crate) fn kill(&mut self, daemon: &Daemon) {
        let process = self.process(daemon);
        process.kill().unwrap();
        process.wait().unwrap();
    }

    /// Starts a daemon that was killed, as its service manager does.
    pub(crate) fn restart(&mut self, daemon: &Daemon) {
        let process = self.launch(daemon, &[]);
        *self.process(daemon) = process;
        if *daemon == Daemon::Controller {
            self.wait_until("its controller answers", || {
                self.output("scontrol", &["ping"]).contains(" is UP")
            });
        }
    }

    /// The process of a daemon.
    fn process(&mut self, daemon: &Daemon) -> &mut Child {
        let found = self.started.iter_mut().find(|it| it.daemon == *daemon);
        found.map(|it| &mut it.process).unwrap()
    }

    /// Whether the controller runs.
    fn has_controller(&mut self) -> bool {
        let mut started = self.started.iter_mut();
        let controller = started.find(|it| it.daemon == Daemon::Controller);
        controller.is_some_and(|it| matches!(it.process.try_wait(), Ok(None)))
    }

    /// The keys, folders and configuration.
    fn configure(&self, further: &str) {
        let own = self.folder.display();
        // munged and the tasks' prolog are reached by other users.
        fs::set_permissions(&self.folder, Permissions::from_mode(0o755)).unwrap();
        for name in ["munge", "state", "tmp"] {
            fs::create_dir(self.folder.join(name)).unwrap();
        }
        let key = [uuid_bytes(), uuid_bytes(), uuid_bytes(), uuid_bytes()].concat();
        let path = self.folder.join("munge/key");
        fs::write(&path, key).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        let prolog = self.folder.join("prolog");
        let script = format!("#!/bin/sh\necho \"export TMPDIR={own}/tmp/$SLURMD_NODENAME\"\n");
        fs::write(&prolog, script).unwrap();
        fs::set_permissions(&prolog, Permissions::from_mode(0o755)).unwrap();
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let host = host.trim().split('.').next().unwrap();
        let ports = free_ports(self.nodes.len() + 1);
        let mut text = format!(
            "ClusterName=oscost\nSlurmctldHost={host}(127.0.0.1)\nSlurmctldPort={}\n\
             AuthType=auth/munge\nAuthInfo=socket={own}/munge/socket\nSlurmUser=root\n\
             SlurmdUser=root\nProctrackType=proctrack/pgid\nTaskPlugin=task/none\n\
             TaskProlog={own}/prolog\nReturnToService=2\n\
             SlurmctldPidFile={own}/slurmctld.pid\nSlurmdPidFile={own}/slurmd.%n.pid\n\
             SlurmdSpoolDir={own}/spool.%n\nStateSaveLocation={own}/state\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nMailProg=/bin/true\n\
             SlurmdParameters=config_overrides\n",
            ports[0]
        );
        for (node, port) in self.nodes.iter().zip(&ports[1..]) {
            fs::create_dir(self.folder.join(format!("spool.{node}"))).unwrap();
            fs::create_dir(self.temporary_folder(node)).unwrap();
            text += &format!(
                "NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 \
                 State=UNKNOWN\n"
            );
        }
        let all = self.nodes.join(",");
        text += &format!("PartitionName=all Nodes={all} Default=YES MaxTime=INFINITE State=UP\n");
        text += &further.replace("ALL", &all);
        fs::write(self.configuration(), text).unwrap();
    }

    /// Starts the daemons, and waits until the nodes are idle.
    fn start(&mut self) {
        self.begin(Daemon::Munge, &[]);
        let socket = self.folder.join("munge/socket");
        self.wait_until("munged answers", || socket.exists());
        // It has nothing to read the state of.
        self.begin(Daemon::Controller, &["-c"]);
        for node in self.nodes.clone() {
            self.begin(Daemon::Node(node), &[]);
        }
        self.wait_until("its nodes are idle", || {
            let asked = ["--noheader", "--Node", "--format=%t", "--partition=all"];
            let states = self.output("sinfo", &asked);
            states.lines().filter(|state| *state == "idle").count() == self.nodes.len()
        });
    }

    fn begin(&mut self, daemon: Daemon, options: &[&str]) {
        let process = self.launch(&daemon, options);
        self.started.push(Started { daemon, process });
    }

    /// Starts the process of a daemon.
    fn launch(&self, daemon: &Daemon, options: &[&str]) -> Child {
        let (program, name) = match daemon {
            Daemon::Munge => ("munged", "munged".to_owned()),
            Daemon::Controller => ("slurmctld", "slurmctld".to_owned()),
            Daemon::Node(node) => ("slurmd", format!("slurmd.{node}")),
        };
        let mut command = self.command(program);
        match daemon {
            Daemon::Munge => {
                let munge = self.folder.join("munge");
                command.arg("--foreground").arg(format!("--key-file={}/key", munge.display()));
                for name in ["pid-file", "log-file", "seed-file", "socket"] {
                    command.arg(format!("--{name}={}/{name}", munge.display()));
                }
            }
            Daemon::Controller => {
                command.args(["-D", "-f"]).arg(self.configuration());
            }
            Daemon::Node(node) => {
                command.args(["-D", "-N", node, "-f"]).arg(self.configuration());
            }
        }
        let log = self.folder.join(format!("{name}.log"));
        let log = OpenOptions::new().create(true).append(true).open(log).unwrap();
        // In the folder of the cluster: what slurmd starts is known by it.
        command.args(options).current_dir(&self.folder).env("PATH", PATH);
        command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap()
    }

    /// Waits for a condition; a failure shows the logs.
    fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begun = Instant::now();
        while !is_so() {
            if begun.elapsed() > START_PATIENCE {
                panic!("timed out waiting until {what}:\n{}", logs_in(&self.folder));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Cluster {
    /// Ends jobs, then nodes, then the controller, then munged, then what is left of them.
    fn drop(&mut self) {
        // Without a controller nobody ends jobs, and each program waits for it.
        if self.has_controller() {
            let _ = self.command("scancel").args(["--user=root"]).output();
            let begun = Instant::now();
            while !self.output("squeue", &["--noheader"]).is_empty()
                && begun.elapsed() < END_PATIENCE
            {
                std::thread::sleep(Duration::from_millis(50));
            }
        }
        for Started { process, .. } in self.started.iter_mut().rev() {
            let pid = Pid::from_raw(process.id().cast_signed());
            if let Ok(None) = process.try_wait() {
                let _ = kill(pid, Signal::SIGTERM);
            }
        }
        let begun = Instant::now();
        for Started { process, .. } in &mut self.started {
            while matches!(process.try_wait(), Ok(None)) && begun.elapsed() < END_PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = process.kill();
            let _ = process.wait();
        }
        end_processes_of(&self.folder);
    }
}

/// The processes of the cluster that has a folder: its daemons, those of its jobs, and programs of
/// Slurm that are told to use it.
///
/// They have the folder in their arguments, in their environment or as their working folder.
/// slurmstepd(8), which outlives the slurmd that has started it, writes its title over both of the
/// first, and has the working folder of that slurmd.
pub(crate) fn processes_of(folder: &Path) -> Vec<u32> {
    let folder = folder.as_os_str().as_bytes();
    let has_folder = |bytes: &[u8]| bytes.windows(folder.len()).any(|part| part == folder);
    let is_of_cluster = |pid: u32| {
        let at = fs::read_link(format!("/proc/{pid}/cwd")).unwrap_or_default();
        let texts = ["cmdline", "environ"];
        let mut texts = texts.into_iter().map(|file| fs::read(format!("/proc/{pid}/{file}")));
        has_folder(at.as_os_str().as_bytes())
            || texts.any(|text| text.is_ok_and(|text| has_folder(&text)))
    };
    processes().filter(|&pid| pid != std::process::id() && is_of_cluster(pid)).collect()
}

/// All processes.
fn processes() -> impl Iterator<Item = u32> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let name = entry.ok()?.file_name();
        name.to_str()?.parse::<u32>().ok()
    })
}

/// Kills the processes of the cluster that has a folder. One that no signal ends is not waited for.
fn end_processes_of(folder: &Path) {
    let begun = Instant::now();
    while begun.elapsed() < END_PATIENCE {
        let left = processes_of(folder);
        if left.is_empty() {
            return;
        }
        for pid in left {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// What this machine lacks for a cluster.
fn lacking() -> Option<String> {
    if !nix::unistd::geteuid().is_root() {
        return Some("daemons of Slurm need root".to_owned());
    }
    let has = |program: &&str| PATH.split(':').any(|at| Path::new(at).join(program).exists());
    let missing = ["munged", "slurmctld", "slurmd", "srun"].into_iter().find(|it| !has(it))?;
    Some(format!("there is no {missing}: apt-get install slurm-wlm munge"))
}

/// Ports that nothing listens on.
fn free_ports(count: usize) -> Vec<u16> {
    // All at once, so that they differ.
    let bound: Vec<TcpListener> =
        (0..count).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    bound.iter().map(|it| it.local_addr().unwrap().port()).collect()
}

/// Bytes for a key.
fn uuid_bytes() -> Vec<u8> {
    fs::read_to_string("/proc/sys/kernel/random/uuid").unwrap().into_bytes()
}

/// The ends of the logs in a folder.
fn logs_in(folder: &Path) -> String {
    const LINES: usize = 10;
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let logs = paths.filter(|path| path.extension().is_some_and(|it| it == "log"));
    let ends = logs.map(|path| {
        let text = fs::read_to_string(&path).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        format!("{}:\n{}\n", path.display(), lines[lines.len().saturating_sub(LINES)..].join("\n"))
    });
    ends.collect()
}
