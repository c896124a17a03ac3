//! A fleet on a cluster of Slurm, by the commands of its user.

use std::path::Path;
use std::process::Command;

use crate::cluster::Cluster;
use crate::common::Sandbox;

/// Tasks of a second or two. The nodes are one machine, which has one lock.
pub(crate) const QUICK: [&str; 5] =
    ["syscall/getppid", "--slurm", "partition=all", "--quick", "--no-lock"];

/// A cluster, its user, and the folder of a fleet on it.
pub(crate) struct FleetOfSlurm<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) sandbox: &'a Sandbox,
    pub(crate) folder: &'a Path,
}

impl FleetOfSlurm<'_> {
    /// `oscost fleet VERB FOLDER`, with these words behind it.
    pub(crate) fn command(&self, verb: &str, words: &[&str]) -> Command {
        let arguments = [&["fleet", verb, self.folder.to_str().unwrap()][..], words].concat();
        let mut command = self.sandbox.command(&arguments);
        command.env("SLURM_CONF", self.cluster.configuration());
        command
    }
}
