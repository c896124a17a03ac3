//! One cluster for all tests that run at the same time. Each test has nodes of its own: what it
//! leaves there is its own.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Weak};

use crate::cluster::Cluster;
use crate::common::{Ran, Sandbox, until};

/// One for each test that has a task, two for a peer and where nodes take turns.
const NODES: usize = 20;

/// The cluster, and the tool's user.
pub(crate) struct User {
    pub(crate) cluster: Arc<Cluster>,
    pub(crate) sandbox: Sandbox,
}

impl User {
    /// A user of the cluster; where none can be made, prints why and returns `None`.
    pub(crate) fn new() -> Option<User> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let cluster = match shared.upgrade() {
            Some(cluster) => cluster,
            None => {
                let cluster = Arc::new(Cluster::of(NODES)?);
                *shared = Arc::downgrade(&cluster);
                cluster
            }
        };
        Some(User { cluster, sandbox: Sandbox::new() })
    }

    /// The tool.
    pub(crate) fn tool(&self, arguments: &[&str]) -> Command {
        let mut command = self.sandbox.command(arguments);
        command.env("SLURM_CONF", self.cluster.configuration());
        command
    }

    /// The tool, started.
    pub(crate) fn start(&self, arguments: &[&str]) -> Child {
        self.tool(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// Runs the tool to its end.
    pub(crate) fn oscost(&self, arguments: &[&str]) -> Ran {
        Ran::of(&mut self.tool(arguments))
    }

    /// Runs the tool until its figures are undisturbed: some tests do not take the lock, and run
    /// beside the others.
    pub(crate) fn measure(&self, arguments: &[&str]) -> Ran {
        const ATTEMPTS: u32 = 5;
        let mut ran = self.oscost(arguments);
        for _ in 1..ATTEMPTS {
            if !ran.stdout.contains("had enough undisturbed batches") {
                break;
            }
            ran = self.oscost(arguments);
        }
        ran.exits(0)
    }

    /// The processes of tasks on a node.
    pub(crate) fn processes(&self, node: &str) -> Vec<u32> {
        self.cluster.processes_on(node)
    }

    /// The supervisor on a node.
    pub(crate) fn supervisor(&self, node: &str) -> Option<u32> {
        self.processes(node).into_iter().find(|pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.ends_with(b"\0supervise\0")
        })
    }

    /// The jobs on a node.
    pub(crate) fn jobs(&self, node: &str) -> String {
        let node = format!("--nodelist={node}");
        self.cluster.output("squeue", &["--noheader", "--format=%i", &node])
    }

    /// Whether a job of the tool waits for a node that it names.
    pub(crate) fn is_pending(&self, node: &str) -> bool {
        let asked = ["--noheader", "--states=PENDING", "--format=%j %n"];
        let jobs = self.cluster.output("squeue", &asked);
        jobs.lines().any(|job| job.trim_end() == format!("oscost {node}"))
    }

    /// Waits until a node has no job, no process and no temporary file.
    pub(crate) fn nothing_is_left(&self, node: &str) {
        until("its job has ended", || self.jobs(node).is_empty());
        until("its processes are gone", || self.processes(node).is_empty());
        let folder = self.cluster.temporary_folder(node);
        until("its temporary files are gone", || fs::read_dir(&folder).unwrap().count() == 0);
        self.sandbox.nothing_is_left();
    }
}
