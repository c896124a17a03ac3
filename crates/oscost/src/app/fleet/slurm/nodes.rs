//! The nodes that are to be visited.

use std::collections::BTreeSet;

use super::programs::{refusal, run};
use crate::app::error::UsageError;
use crate::hosts::slurm::SlurmOptions;
use oscost_model::fleet::is_node_name;

/// The nodes that the options name, or all of their partition, in order and each once.
pub(in crate::app::fleet) fn find_nodes(options: &SlurmOptions) -> anyhow::Result<Vec<String>> {
    match options.nodes() {
        Some(list) => {
            let words = ["show", "hostnames", list].map(str::to_owned);
            names(&run("scontrol", &words, "")?.text(&format!("expand `{list}`"))?)
        }
        None => {
            let partition = options.value("partition");
            let mut words = ["-h", "-N", "-o", "%N"].map(str::to_owned).to_vec();
            words.extend(partition.map(|partition| format!("--partition={partition}")));
            let found = names(&run("sinfo", &words, "")?.text("list the nodes")?)?;
            match (found.is_empty(), partition) {
                (false, _) => Ok(found),
                (true, Some(partition)) => {
                    Err(refusal("list the nodes", &format!("partition `{partition}` has none")))
                }
                (true, None) => Err(refusal("list the nodes", "there are none")),
            }
        }
    }
}

fn names(text: &str) -> anyhow::Result<Vec<String>> {
    let mut seen = BTreeSet::new();
    let names: Vec<String> = text
        .lines()
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
        assert_eq!(names("n2\nn1\n\nn2\n").unwrap(), ["n2", "n1"]);
        assert!(names("n1\nn]\n").unwrap_err().to_string().contains("`n]` is not"));
    }
}
