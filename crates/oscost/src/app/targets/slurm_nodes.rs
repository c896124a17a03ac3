//! A target that names several nodes of Slurm is a target for each of them, and they take turns.
//!
//! Each has a job of its own while it is its turn: no node waits in an allocation until others are
//! measured, and none is waited for while another one is held.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use oscost_model::target::{Host, Target};

use crate::app::error::{UsageError, is_interrupted, is_usage};
use crate::app::observer::Observer;
use crate::hosts::HostError;
use crate::hosts::slurm::SlurmOptions;

/// As many as one run compares with a base. A run of the price list takes a minute at each.
const MAX_NODES: u64 = 12;

/// One of the nodes that a target names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTarget {
    /// Its name.
    pub name: String,
    /// The target that names it alone, with the treatments and options of all.
    pub target: String,
}

/// What was done at a node.
pub struct NodeOutcome<T> {
    /// The node.
    pub node: NodeTarget,
    /// What came of it.
    pub outcome: T,
}

/// What was done at several nodes.
pub struct NodeOutcomes<T> {
    /// At those that could be had, in order.
    pub done: Vec<NodeOutcome<T>>,
    /// The names of the others whose turn it was; the reasons were reported.
    pub left_out: Vec<String>,
    /// Whether the user has interrupted it: then it was not the turn of all of them.
    pub is_interrupted: bool,
}

/// The targets of the nodes, if a target names several. One that cannot be read is refused where it
/// is resolved.
pub fn node_targets(text: &str) -> Result<Option<Vec<NodeTarget>>, UsageError> {
    let Ok(Target { treatments, host: Host::Slurm(written) }) = Target::parse(text) else {
        return Ok(None);
    };
    let Ok(options) = SlurmOptions::parse(&written) else { return Ok(None) };
    let Some(count @ 2..) = options.node_count() else { return Ok(None) };
    if count > MAX_NODES {
        let what = format!("cannot measure {count} nodes in turn at `{text}`");
        let hint = format!(
            "name at most {MAX_NODES}; `oscost fleet run` measures many nodes at the same time"
        );
        return Err(UsageError::with_hint(&what, &hint));
    }
    let Some(names) = options.node_names(MAX_NODES) else {
        let what = format!("cannot measure at `{text}`: a number has too many digits");
        return Err(UsageError::with_hint(&what, "`sinfo --Node` lists the names of the nodes"));
    };
    if let Some(name) = repeated(&names) {
        let what = format!("cannot measure node {name} twice at `{text}`");
        return Err(UsageError::with_hint(&what, "name each node once"));
    }
    let target = |name: String| {
        let host = Host::Slurm(options.at_node(&name));
        let target = Target { treatments: treatments.clone(), host }.to_string();
        NodeTarget { name, target }
    };
    Ok(Some(names.into_iter().map(target).collect()))
}

/// A name that stands there twice.
fn repeated(names: &[String]) -> Option<&String> {
    let mut seen = BTreeSet::new();
    names.iter().find(|name| !seen.insert(*name))
}

/// Does something at each node in turn, and goes on at the next one where a node cannot be had.
/// `ControlFlow::Break` is what there is of a node at which the user has interrupted it. Without Slurm
/// no node can be had, which is told once.
pub(crate) fn at_each_node<T>(
    act: &str,
    nodes: Vec<NodeTarget>,
    observer: &dyn Observer,
    mut visit: impl FnMut(&NodeTarget) -> anyhow::Result<ControlFlow<T, T>>,
) -> anyhow::Result<NodeOutcomes<T>> {
    let count = nodes.len();
    let mut outcomes =
        NodeOutcomes { done: Vec::new(), left_out: Vec::new(), is_interrupted: false };
    for (number, node) in (1_usize..).zip(nodes) {
        observer.status(&format!("node {number} of {count}: {}", node.name));
        match visit(&node) {
            Ok(ControlFlow::Continue(outcome)) => {
                outcomes.done.push(NodeOutcome { node, outcome });
            }
            Ok(ControlFlow::Break(outcome)) => {
                outcomes.done.push(NodeOutcome { node, outcome });
                outcomes.is_interrupted = true;
                break;
            }
            Err(error) if is_interrupted(&error) => {
                outcomes.is_interrupted = true;
                break;
            }
            // A wrong request is as wrong at the others.
            Err(error) if number == 1 && is_usage(&error) => return Err(error),
            // What this machine lacks, it lacks for the others, too.
            Err(error) if number == 1 && is_unavailable(&error) => {
                return Err(error.context(format!("cannot {act} any of {count} nodes")));
            }
            Err(error) => {
                observer.finished();
                observer.failed(&error.context(format!("cannot {act} node {}", node.name)));
                outcomes.left_out.push(node.name);
            }
        }
    }
    Ok(outcomes)
}

/// Whether this machine lacks the programs of Slurm.
fn is_unavailable(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref::<HostError>(), Some(HostError::Unavailable { .. }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::app::error::is_of_host;
    use crate::app::observer::test_observers::Notes;

    fn targets(text: &str) -> Vec<String> {
        let nodes = node_targets(text).unwrap().unwrap();
        nodes.into_iter().map(|it| it.target).collect()
    }

    #[test]
    fn a_target_of_several_nodes_is_one_of_each() {
        assert_eq!(targets("slurm:nodes=n[1-2]"), ["slurm:nodes=n1", "slurm:nodes=n2"]);
        assert_eq!(
            targets("nice=5+sud@slurm:partition=debug,nodes=r[1-2]n[08-09],exclusive"),
            ["r1n08", "r1n09", "r2n08", "r2n09"]
                .map(|it| format!("nice=5+sud@slurm:partition=debug,nodes={it},exclusive"))
        );
        for one in ["local", "nice=5", "ssh:n[1-2]", "slurm:", "slurm:nodes=n1", "slurm:nodes=n[7]"]
        {
            assert_eq!(node_targets(one).unwrap(), None, "{one}");
        }
        // They are refused with the right words where they are resolved.
        for wrong in
            ["", "slurm:nodes=n[1-", "slurm:nodes=n[2-1]", "slurm:x=1", "slurm:nodes=$[1-2]"]
        {
            assert_eq!(node_targets(wrong).unwrap(), None, "{wrong}");
        }
    }

    #[test]
    fn more_nodes_than_take_turns_are_a_fleet_and_none_is_named_twice() {
        assert_eq!(targets("slurm:nodes=n[1-12]").len(), 12);
        for (text, words) in [
            ("slurm:nodes=n[1-13]", "cannot measure 13 nodes in turn"),
            ("slurm:nodes=n[1-100000]", "cannot measure 100000 nodes in turn"),
            ("slurm:nodes=n[0-18446744073709551614]", "`oscost fleet run` measures many"),
            ("slurm:nodes=n[1-3,2]", "cannot measure node n2 twice"),
            ("slurm:nodes=n[000000000000000000001-2]", "a number has too many digits"),
        ] {
            let UsageError(error) = node_targets(text).unwrap_err();
            assert!(error.contains(words) && error.contains("\n  hint: "), "{error}");
        }
    }

    #[test]
    fn a_node_that_cannot_be_had_is_reported_and_the_next_one_follows() {
        let reports = Notes::default();
        let nodes = node_targets("slurm:nodes=n[1-3]").unwrap().unwrap();
        let visited = at_each_node("measure", nodes, &reports, |node| match node.name.as_str() {
            "n2" => Err(anyhow::anyhow!("it is drained")),
            _ => Ok(ControlFlow::Continue(node.target.clone())),
        });
        let NodeOutcomes { done, left_out, is_interrupted } = visited.unwrap();
        let done: Vec<String> = done.into_iter().map(|it| it.outcome).collect();
        assert_eq!(done, ["slurm:nodes=n1", "slurm:nodes=n3"]);
        assert_eq!((left_out, is_interrupted), (vec!["n2".to_owned()], false));
        assert_eq!(*reports.0.borrow(), ["cannot measure node n2: it is drained"]);
    }

    #[test]
    fn an_interrupt_ends_it_and_keeps_what_was_done() {
        let interrupted = |is_kept: bool| {
            let nodes = node_targets("slurm:nodes=n[1-3]").unwrap().unwrap();
            let visited = at_each_node("measure", nodes, &Notes::default(), |node| match is_kept {
                _ if node.name == "n1" => Ok(ControlFlow::Continue(1)),
                true => Ok(ControlFlow::Break(2)),
                false => Err(HostError::Interrupted.into()),
            });
            let NodeOutcomes { done, left_out, is_interrupted } = visited.unwrap();
            assert!(is_interrupted && left_out.is_empty());
            done.into_iter().map(|it| it.outcome).collect::<Vec<u32>>()
        };
        assert_eq!(interrupted(true), [1, 2]);
        assert_eq!(interrupted(false), [1]);
    }

    #[test]
    fn a_wrong_request_is_told_once() {
        let nodes = node_targets("slurm:nodes=n[1-3]").unwrap().unwrap();
        let mut visits = 0;
        let visited = at_each_node("measure", nodes, &Notes::default(), |_| {
            visits += 1;
            Err::<ControlFlow<(), ()>, _>(UsageError("no such case".to_owned()).into())
        });
        assert!(visited.is_err_and(|error| is_usage(&error)));
        assert_eq!(visits, 1);
    }

    #[test]
    fn a_machine_without_slurm_is_told_once() {
        let nodes = node_targets("slurm:nodes=n[1-3]").unwrap().unwrap();
        let (reports, mut visits) = (Notes::default(), 0);
        let visited = at_each_node("measure", nodes, &reports, |node| {
            visits += 1;
            let host = node.target.clone();
            let (why, hint) = ("no srun".to_owned(), "start it elsewhere".to_owned());
            Err::<ControlFlow<(), ()>, _>(HostError::Unavailable { host, why, hint }.into())
        });
        let error = visited.err().unwrap();
        assert!(is_of_host(&error) && error.to_string() == "cannot measure any of 3 nodes");
        assert_eq!((visits, reports.0.borrow().len()), (1, 0));
    }

    proptest! {
        #[test]
        fn each_target_is_of_one_node(list in "\\PC{0,20}|[n0-9\\[\\],-]{0,20}") {
            let text = format!("slurm:nodes={list}");
            for node in node_targets(&text).ok().flatten().unwrap_or_default() {
                prop_assert_eq!(node_targets(&node.target).unwrap(), None);
            }
        }
    }
}
