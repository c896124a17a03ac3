//! A fleet's plan, `oscost.fleet/1`: which node is to be measured when, and how.
//!
//! `oscost fleet run` writes it once into the fleet's folder, where each task reads it on its node.
//! A plan does not change: what became of its tasks is told by the files beside it.

use serde::{Deserialize, Serialize};

/// The name and version of the schema.
pub const FLEET_SCHEMA: &str = "oscost.fleet/1";

/// The largest number of tasks of a plan.
pub const MAX_TASKS: usize = 1_000_000;

/// The longest name of a fleet or a node, in bytes.
pub const MAX_NAME_BYTES: usize = 253;

/// Which visit of which node a run is. It is part of the run's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FleetVisit {
    /// The name of the fleet.
    pub fleet: String,
    /// The id of the plan.
    pub plan: String,
    /// The name of the node.
    pub node: String,
    /// The number of the visit of this node, from 0.
    pub visit: u32,
    /// The number of the task, from 0.
    pub task: u32,
    /// Whether its job had the node alone, by Slurm; null where nobody says so.
    #[serde(default)]
    pub exclusive: Option<bool>,
}

/// Which node is measured when, and how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetPlan {
    /// [`FLEET_SCHEMA`].
    pub schema: String,
    /// A UUID, version 7.
    pub id: String,
    /// The name of the fleet: it groups the records of all its plans.
    pub fleet: String,
    /// RFC 3339, UTC.
    pub created: String,
    /// The version of the tool that wrote it.
    pub tool: String,
    /// The seed of the order.
    pub seed: u64,
    /// What each task measures.
    pub measurement: FleetMeasurement,
    /// How nodes are reached.
    pub launcher: FleetLauncher,
    /// The nodes.
    pub nodes: Vec<String>,
    /// How often each is visited.
    pub visits: u32,
    /// The time between the beginnings of two visits of one node, in seconds, at least.
    pub apart_s: f64,
    /// The maximum number of tasks at one time; null if there is none.
    pub at_once: Option<u32>,
    /// The tasks, in their order; the number of a task is its index.
    pub tasks: Vec<FleetTask>,
}

/// A task: one visit of one node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetTask {
    /// The index of its node in the plan.
    pub node: u32,
    /// The number of the visit of this node, from 0.
    pub visit: u32,
    /// The earliest beginning, in seconds after the plan was submitted.
    pub begin_s: f64,
}

/// What each task measures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetMeasurement {
    /// The selected cases; empty for the price list.
    pub selectors: Vec<String>,
    /// `quick`, `default` or `thorough`.
    pub effort: String,
    /// The time limit of a task's measurement in seconds; null for the usual one.
    pub budget_s: Option<f64>,
    /// The treatments of the new side, if each task compares the node with and without them; null
    /// if it measures alone.
    pub treatments: Option<String>,
    /// Which side of a comparison a node is measured on.
    pub sides: FleetSides,
    /// Whether the lock of the machine is asked for: nodes of one machine share it.
    pub respects_lock: bool,
}

/// Which sides of a comparison a task measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FleetSides {
    /// No comparison: without treatments.
    Alone,
    /// Both sides on each node, interleaved.
    Both,
    /// Each node one of them, by lot.
    Split,
}

/// How the nodes of a fleet are reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum FleetLauncher {
    /// A batch array of Slurm.
    Slurm {
        /// The options of the job, as `partition=debug`.
        options: Vec<String>,
        /// Whether a task has its node for itself; null in a plan of a tool that did not write it.
        #[serde(default)]
        exclusive: Option<bool>,
    },
    /// ssh from the machine where the tool runs; nodes are `[user@]HOST`.
    Ssh,
}

/// The longest name of a fleet, in bytes.
pub const MAX_FLEET_NAME_BYTES: usize = 64;

/// Whether a text may be the name of a fleet: letters, digits, `_`, `.` and `-`, with a letter or a
/// digit first.
pub fn is_fleet_name(text: &str) -> bool {
    text.len() <= MAX_FLEET_NAME_BYTES
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte))
}

/// Whether a text may be the name of a node: letters, digits, and what a host name, a user before
/// it and a port behind it may have besides.
pub fn is_node_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.@:".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_from_before_shared_nodes_were_told_is_read() {
        let launcher = |json: &str| serde_json::from_str::<FleetLauncher>(json).unwrap();
        let before = launcher(r#"{"kind": "slurm", "options": []}"#);
        assert_eq!(before, FleetLauncher::Slurm { options: Vec::new(), exclusive: None });
        let shared = launcher(r#"{"kind": "slurm", "options": [], "exclusive": false}"#);
        assert_eq!(shared, FleetLauncher::Slurm { options: Vec::new(), exclusive: Some(false) });
    }

    #[test]
    fn names_have_no_path_and_no_option_of_a_program() {
        for text in ["a", "7", "monday-2.b_c", &"x".repeat(64)] {
            assert!(is_fleet_name(text), "{text}");
        }
        for text in ["", "-a", ".a", "a/b", "a b", "\u{e9}", "a\n", &"x".repeat(65)] {
            assert!(!is_fleet_name(text), "{text}");
        }
        for text in ["n1", "root@db-1.example.org:22", &"x".repeat(253)] {
            assert!(is_node_name(text), "{text}");
        }
        for text in ["", "a b", "a/b", "a;b", "n\u{e9}", &"x".repeat(254)] {
            assert!(!is_node_name(text), "{text}");
        }
    }
}
