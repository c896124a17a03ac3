//! The nodes of a network, and the targets that reach them.

use std::path::PathBuf;

use crate::app::error::UsageError;
use crate::app::fleet::hosts::{read_hosts, target_of};
use crate::app::fleet::slurm::nodes::find_nodes;
use crate::hosts::slurm::SlurmOptions;

/// How nodes are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkLauncher {
    /// By Slurm.
    Slurm {
        /// The options of its jobs, as those of a `slurm:` target.
        options: String,
        /// The nodes, as Slurm lists them; without it, those of the options, or of the partition.
        nodes: Option<String>,
        /// Whether no other job is on a node meanwhile.
        exclusive: bool,
    },
    /// By ssh; the file has a host in each line.
    Ssh(PathBuf),
}

/// A node and the target that reaches it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkNode {
    pub(super) name: String,
    pub(super) target: String,
}

/// The nodes of a launcher.
pub(super) fn nodes_of(launcher: &LinkLauncher) -> anyhow::Result<Vec<LinkNode>> {
    let nodes: Vec<LinkNode> = match launcher {
        LinkLauncher::Slurm { options, nodes, exclusive } => {
            let mut options = SlurmOptions::parse(options)?;
            if let Some(nodes) = nodes {
                options.set_nodes(nodes)?;
            }
            let names = find_nodes(&options)?;
            let mut options = options.of_any_node();
            options.extend(exclusive.then(|| "exclusive".to_owned()));
            names.into_iter().map(|name| slurm_node(name, &options)).collect()
        }
        LinkLauncher::Ssh(file) => read_hosts(file)?.into_iter().map(ssh_node).collect(),
    };
    match nodes.len() {
        0 | 1 => {
            let what = "cannot measure between fewer than two nodes";
            Err(UsageError::with_hint(what, "name two nodes or more").into())
        }
        _ => Ok(nodes),
    }
}

/// A node of Slurm: a job on it alone, with these options.
fn slurm_node(name: String, options: &[String]) -> LinkNode {
    let node = format!("nodes={name}");
    let words = options.iter().map(String::as_str).chain([node.as_str()]);
    let words: Vec<&str> = words.collect();
    LinkNode { target: format!("slurm:{}", words.join(",")), name }
}

fn ssh_node(name: String) -> LinkNode {
    LinkNode { target: target_of(&name), name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_of_slurm_is_a_job_on_it_alone() {
        let target = |options: &[&str]| {
            let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
            slurm_node("n1".to_owned(), &options).target
        };
        assert_eq!(target(&[]), "slurm:nodes=n1");
        let target = target(&["partition=a", "exclusive"]);
        assert_eq!(target, "slurm:partition=a,exclusive,nodes=n1");
    }

    #[test]
    fn hosts_are_read_from_a_file_and_one_is_too_few() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("hosts.txt");
        let launcher = LinkLauncher::Ssh(file.clone());
        std::fs::write(&file, "# rack\ndb1\njoe@db2\n").unwrap();
        let nodes = nodes_of(&launcher).unwrap();
        let targets: Vec<&str> = nodes.iter().map(|node| node.target.as_str()).collect();
        assert_eq!(targets, ["ssh:db1", "ssh:joe@db2"]);
        std::fs::write(&file, "db1\n").unwrap();
        let why = nodes_of(&launcher).unwrap_err().to_string();
        assert!(why.contains("fewer than two nodes"), "{why}");
    }
}
