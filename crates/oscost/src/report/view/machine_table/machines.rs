//! The machines of a table: what they are, and which runs their figures are of.

use super::content::TableContent;
use crate::advice::machine_facts::{DescribedMachine, DescribedRun};
use crate::report::text::{day, plain, plural};
use crate::report::view::document::{Block, Fact};

/// The facts of these names describe a machine in a line.
const TOLD: [&str; 4] = ["processor", "kernel", "microcode", "transparent huge pages"];
/// Enough of a run's id to find it.
const ID_CHARS: usize = 13;

/// Each column with what it is, and the runs that nothing is concluded from.
pub(super) fn blocks(content: &TableContent<'_>) -> Vec<Block> {
    let column_facts = content.table.columns.iter().map(|column| {
        let machines: Vec<&DescribedMachine> =
            column.machines.iter().filter_map(|&at| content.machines.get(at)).collect();
        let runs = machines.iter().flat_map(|it| &it.runs);
        let description = machines.first().map_or_else(String::new, |it| described(it));
        let mut words = vec![description];
        if machines.len() > 1 {
            words.push(plural(machines.len() as u64, "machine"));
        }
        words.push(runs_text(&runs.collect::<Vec<_>>()));
        words.retain(|it| !it.is_empty());
        Fact::new(content.column_name(column), words.join("; "))
    });
    let facts = Block::Facts(column_facts.collect());
    [facts].into_iter().chain(Block::list(unclaimable(content))).collect()
}

fn described(machine: &DescribedMachine) -> String {
    let told = machine.facts.iter().filter(|fact| TOLD.contains(&fact.name));
    let texts: Vec<String> = told
        .filter_map(|fact| Some(format!("{} {}", fact.name, plain(fact.value.as_deref()?))))
        .collect();
    if texts.is_empty() { "its record does not describe it".to_owned() } else { texts.join(", ") }
}

fn runs_text(runs: &[&DescribedRun]) -> String {
    let days = runs.iter().map(|it| day(&it.started));
    match (days.clone().min(), days.max()) {
        (Some(first), Some(last)) if first == last => {
            format!("{} of {first}", plural(runs.len() as u64, "run"))
        }
        (Some(first), Some(last)) => {
            format!("{} from {first} to {last}", plural(runs.len() as u64, "run"))
        }
        _ => String::new(),
    }
}

/// The runs that nothing is concluded from.
fn unclaimable(content: &TableContent<'_>) -> Vec<String> {
    let line = |(at, run): (usize, &DescribedRun)| {
        let why = run.not_claimable?;
        let id: String = run.id.chars().take(ID_CHARS).collect();
        let (name, id) = (content.name(at), plain(&id));
        Some(format!("{name}: run {id} {why}: it is shown, and nothing is concluded from it"))
    };
    let machines = content.machines.iter().enumerate();
    let runs = machines.flat_map(|(at, it)| it.runs.iter().map(move |run| (at, run)));
    runs.filter_map(line).collect()
}
