//! A cluster of Slurm on this host: munged, a controller and the daemons of some nodes, with ports,
//! keys, sockets and folders of their own. They are children of the test, and end with it.

use std::fs::{self, File, Permissions};
use std::net::TcpListener;
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

/// A controller and its nodes.
pub(crate) struct Cluster {
    /// The folder of everything; it has `slurm.conf`, the logs, and `tmp/NODE` for temporary files.
    pub(crate) folder: PathBuf,
    /// The names of the nodes: `n1`, `n2`, ...
    pub(crate) nodes: Vec<String>,
    daemons: Vec<Child>,
    _folder: TempDir,
}

impl Cluster {
    /// A cluster of so many nodes; where none can be made, prints why and returns `None`.
    pub(crate) fn of(nodes: usize) -> Option<Cluster> {
        if let Some(lacking) = lacking() {
            eprintln!("cannot make a cluster here: {lacking}");
            return None;
        }
        let folder = TempDir::with_prefix("oscost-slurm-").unwrap();
        let mut cluster = Cluster {
            folder: folder.path().canonicalize().unwrap(),
            nodes: (1..=nodes).map(|number| format!("n{number}")).collect(),
            daemons: Vec::new(),
            _folder: folder,
        };
        cluster.configure();
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

    /// The keys, folders and configuration.
    fn configure(&self) {
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
        text += &format!(
            "PartitionName=all Nodes={} Default=YES MaxTime=INFINITE State=UP\n",
            self.nodes.join(",")
        );
        fs::write(self.configuration(), text).unwrap();
    }

    /// Starts the daemons, and waits until the nodes are idle.
    fn start(&mut self) {
        let munge = self.folder.join("munge");
        let option = |name: &str| format!("--{name}={}", munge.join(name).display());
        let key = format!("--key-file={}", munge.join("key").display());
        let own = [option("pid-file"), option("log-file"), option("seed-file"), option("socket")];
        self.daemon("munged", &[&["--foreground".to_owned(), key][..], &own].concat());
        self.wait_until("munged answers", || munge.join("socket").exists());
        let configuration = self.configuration().display().to_string();
        let plain = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
        self.daemon("slurmctld", &plain(&["-D", "-c", "-f", &configuration]));
        for node in self.nodes.clone() {
            self.daemon("slurmd", &plain(&["-D", "-N", &node, "-f", &configuration]));
        }
        self.wait_until("its nodes are idle", || {
            let states = self.output("sinfo", &["--noheader", "--Node", "--format=%t"]);
            states.lines().filter(|state| *state == "idle").count() == self.nodes.len()
        });
    }

    fn daemon(&mut self, program: &str, arguments: &[String]) {
        let log = self.folder.join(format!("{program}.{}.log", self.daemons.len()));
        let log = File::create(log).unwrap();
        let mut command = self.command(program);
        command.args(arguments).env("PATH", PATH).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap());
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
    /// Ends jobs, then nodes, then the controller, then munged.
    fn drop(&mut self) {
        let _ = self.command("scancel").args(["--user=root"]).output();
        let begun = Instant::now();
        while !self.output("squeue", &["--noheader"]).is_empty() && begun.elapsed() < END_PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
        }
        for daemon in self.daemons.iter_mut().rev() {
            let pid = Pid::from_raw(daemon.id().cast_signed());
            if let Ok(None) = daemon.try_wait() {
                let _ = kill(pid, Signal::SIGTERM);
            }
        }
        let begun = Instant::now();
        for daemon in &mut self.daemons {
            while matches!(daemon.try_wait(), Ok(None)) && begun.elapsed() < END_PATIENCE {
                std::thread::sleep(Duration::from_millis(10));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
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
