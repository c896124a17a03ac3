//! The nodes that are to be visited.

use std::collections::BTreeSet;

use super::programs::{refusal, run};
use crate::app::error::UsageError;
use crate::hosts::slurm::SlurmOptions;
use oscost_model::fleet::{MAX_TASKS, is_node_name};

/// The nodes that the options name, or all of their partition, in order and each once. Without a
/// partition it is the cluster's default one, to which the jobs would go.
pub(in crate::app::fleet) fn find_nodes(options: &SlurmOptions) -> anyhow::Result<Vec<String>> {
    match options.nodes() {
        Some(list) => {
            let words = ["show", "hostnames", list].map(str::to_owned);
            names(run("scontrol", &words, "")?.text(&format!("expand `{list}`"))?.lines())
        }
        None => {
            let partition = options.value("partition");
            let mut words = ["-h", "-N", "-o", "%N %P"].map(str::to_owned).to_vec();
            words.extend(partition.map(|partition| format!("--partition={partition}")));
            let listed = run("sinfo", &words, "")?.text("list the nodes")?;
            let found = match partition {
                Some(_) => names(listed.lines().map(|line| name_and_partition(line).0))?,
                None => names(of_default_partition(&listed))?,
            };
            match (found.is_empty(), partition) {
                (false, _) => Ok(found),
                (true, Some(partition)) => {
                    Err(refusal("list the nodes", &format!("partition `{partition}` has none")))
                }
                (true, None) => Err(UsageError::with_hint(
                    "cannot tell which nodes to visit: this cluster has no default partition with \
                     nodes",
                    "name a partition: `--slurm partition=NAME`; `sinfo` lists them",
                )
                .into()),
            }
        }
    }
}

/// The nodes of a plan that is only shown: if they are named, Slurm need not answer.
pub(in crate::app::fleet) fn find_nodes_to_show(
    options: &SlurmOptions,
) -> anyhow::Result<Vec<String>> {
    match options.node_names(MAX_TASKS as u64) {
        Some(listed) => names(listed.iter().map(String::as_str)),
        None => find_nodes(options),
    }
}

/// The nodes that take no job now: down, drained, failing, or in maintenance. None if Slurm does not
/// say.
pub(in crate::app::fleet) fn unavailable_nodes() -> BTreeSet<String> {
    let words = ["-h", "-N", "-o", "%N %t"].map(str::to_owned);
    let listed = run("sinfo", &words, "").and_then(|ran| ran.text("list the states of nodes"));
    unavailable_in(&listed.unwrap_or_default())
}

fn unavailable_in(listed: &str) -> BTreeSet<String> {
    const STATES: [&str; 6] = ["down", "drain", "drng", "fail", "maint", "unk"];
    let lines = listed.lines().map(name_and_partition);
    let unavailable =
        lines.filter(|(_, state)| STATES.iter().any(|it| state.trim_start().starts_with(it)));
    unavailable.map(|(name, _)| name.to_owned()).collect()
}

/// The parts of a line of `sinfo -o '%N %P'`.
fn name_and_partition(line: &str) -> (&str, &str) {
    line.trim().split_once(' ').unwrap_or((line.trim(), ""))
}

/// The nodes of the default partition, whose name sinfo marks by a `*`.
fn of_default_partition(listed: &str) -> impl Iterator<Item = &str> {
    let lines = listed.lines().map(name_and_partition);
    lines.filter(|(_, partition)| partition.trim_end().ends_with('*')).map(|(name, _)| name)
}

fn names<'a>(lines: impl Iterator<Item = &'a str>) -> anyhow::Result<Vec<String>> {
    let mut seen = BTreeSet::new();
    let names: Vec<String> = lines
        .map(str::trim)
        .filter(|name| !name.is_empty() && seen.insert((*name).to_owned()))
        .map(str::to_owned)
        .collect();
    match names.iter().find(|name| !is_node_name(name)) {
        None => Ok(names),
        Some(name) => Err(UsageError::with_hint(
            &format!("`{}` is not a name of a node", name.escape_debug()),
            "`scontrol show hostnames LIST` shows what a list means",
        )
        .into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_once_and_what_is_no_name_is_an_error() {
        assert_eq!(names("n2\nn1\n\nn2\n".lines()).unwrap(), ["n2", "n1"]);
        assert!(names("n1\nn]\n".lines()).unwrap_err().to_string().contains("`n]` is not"));
    }

    #[test]
    fn a_node_that_takes_no_job_is_known_by_its_state() {
        let listed = "n1 idle\nn2 drain\nn3 down*\nn4 mix\nn5 drng\nn6 idle*\n";
        let found = unavailable_in(listed);
        assert_eq!(found.iter().collect::<Vec<_>>(), ["n2", "n3", "n5"]);
    }

    #[test]
    fn without_a_partition_the_nodes_are_those_of_the_default_one() {
        let listed = "n1 debug*\nn1 long\nn2 long\nn3 debug*  \n";
        assert_eq!(of_default_partition(listed).collect::<Vec<_>>(), ["n1", "n3"]);
        assert_eq!(of_default_partition("n1 long\n").count(), 0);
    }
}
