//! The first event of a session: the supervisor, how it was built, and where it runs.

use serde::{Deserialize, Serialize};

use crate::clock::ClockVerdict;
use crate::facts::Facts;

/// The supervisor and its machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`PROTOCOL`](super::PROTOCOL) of the supervisor.
    pub protocol: u32,
    /// Content hash of its catalog.
    pub catalog_hash: String,
    /// Content hash of its program.
    pub worker_hash: String,
    /// How it was built.
    pub build: WorkerBuild,
    /// The clocks and whether they can be used here, best first.
    pub clocks: Vec<ClockVerdict>,
    /// Its machine.
    pub facts: Facts,
    /// The private folder that it created for its workers and removes; `None` if that failed.
    pub scratch_directory: Option<String>,
    /// The addresses of its ssh session; `None` if it was not started by ssh.
    #[serde(default)]
    pub ssh_endpoints: Option<SshEndpoints>,
    /// Its node; `None` if it was not started by Slurm.
    #[serde(default)]
    pub slurm_node: Option<SlurmNode>,
}

/// The two addresses of an ssh connection, as seen by the server (`SSH_CONNECTION`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SshEndpoints {
    /// The client's address.
    pub from: String,
    /// The server's address.
    pub to: String,
}

impl SshEndpoints {
    /// Parses the variable set by sshd(8): client address and port, server address and port.
    pub fn parse(text: &str) -> Option<SshEndpoints> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let [from, _, to, _] = words[..] else { return None };
        Some(SshEndpoints { from: from.to_owned(), to: to.to_owned() })
    }
}

/// A node of Slurm, as its daemon describes it to a task by environment variables.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmNode {
    /// Its name (`SLURMD_NODENAME`): several nodes may be one machine, with one host name.
    pub name: String,
    /// The address from which the task was launched, as the node sees it
    /// (`SLURM_LAUNCH_NODE_IPADDR`).
    pub launched_from: String,
}

/// How a worker was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerBuild {
    /// `static-pie` or `dynamic`.
    pub link: String,
    /// The C library and its version.
    pub libc: String,
    /// The version of the package.
    pub version: String,
}

#[cfg(test)]
mod tests;
