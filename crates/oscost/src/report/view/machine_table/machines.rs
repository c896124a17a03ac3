//! The machines of a table: what they are, and which runs their figures are of.

use super::content::TableContent;
use crate::advice::machine_facts::{DescribedMachine, DescribedRun, MachineFact, are_different};
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
        let description = machines.first().map_or_else(String::new, |it| described(it, content));
        let mut words = vec![description];
        if machines.len() > 1 {
            let count = plural(machines.len() as u64, "machine");
            words.push(format!("{count}: {}", content.listed_names(column)));
        }
        words.push(runs_text(&runs.collect::<Vec<_>>()));
        words.retain(|it| !it.is_empty());
        Fact::new(content.column_name(column), words.join("; "))
    });
    let facts = Block::Facts(column_facts.collect());
    [facts].into_iter().chain(Block::list(unclaimable(content))).collect()
}

fn described(machine: &DescribedMachine, content: &TableContent<'_>) -> String {
    let is_told = |(at, fact): &(usize, &MachineFact)| {
        TOLD.contains(&fact.name) || tells_settings_apart(machine, *at, content)
    };
    let told = machine.facts.iter().enumerate().filter(is_told).map(|(_, fact)| fact);
    let texts: Vec<String> = told
        .filter_map(|fact| Some(format!("{} {}", fact.name, plain(fact.value.as_deref()?))))
        .collect();
    if texts.is_empty() { "its record does not describe it".to_owned() } else { texts.join(", ") }
}

/// Whether the same machine has another value of this fact in another column.
fn tells_settings_apart(machine: &DescribedMachine, at: usize, content: &TableContent<'_>) -> bool {
    let name = |it: &DescribedMachine| it.setting_of.clone().unwrap_or_else(|| it.name.clone());
    let same = content.machines.iter().filter(|it| name(it) == name(machine));
    let own = machine.facts.get(at);
    same.filter_map(|it| own.zip(it.facts.get(at))).any(|(own, other)| are_different(own, other))
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
