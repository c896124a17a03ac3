//! What stands out, a sentence each, with the facts that are the same and those that are not.

use std::collections::BTreeMap;

use super::content::TableContent;
use super::exact_counts;
use super::texts::{factor, joined};
use super::treatments;
use crate::advice::machine_facts::{Contrast, FactDifference, MachineFact, contrast};
use crate::estimate::machine_table::{Finding, TableCell, TableUnit};
use crate::report::text::{plain, plural};
use crate::report::view::document::Answer;

/// Of more facts the first are told.
const MAX_FACTS: usize = 3;
/// Of more differences the first are told.
const MAX_FURTHER: usize = 8;
/// More letters of a fact are beside the machine alone.
const MAX_VALUE_CHARS: usize = 40;

/// What stands out most, or that nothing does; and what to do.
pub(super) fn answer(content: &TableContent<'_>) -> Answer {
    let table = content.table;
    let treatments = treatments::of_one_machine(content).len();
    let counted = exact_counts::sentences(content);
    let are_counts = table.unit == TableUnit::Instructions;
    let next = match (table.findings.is_empty(), content.machines.len()) {
        _ if !content.has_figures() && are_counts => {
            "Next: `oscost run --counters` counts instructions; `oscost machine` says whether this \
             machine can."
        }
        _ if !content.has_figures() => "Next: `oscost runs show RUN` has the rows of a run.",
        (false, _) if are_counts => {
            "Next: `oscost explain CASE` names the system calls that a case makes; a fact that differs \
             is a candidate for the reason, and no proof."
        }
        (false, _) => {
            "Next: `oscost doctor` on that machine names what disturbs it; a fact that differs is a \
             candidate for the reason, and no proof."
        }
        (true, 1) if treatments > 1 => {
            "Next: `oscost ab --new TREATMENT` measures what a treatment adds."
        }
        (true, 1) => "Next: `oscost compare BASE NEW` says what changed between two runs.",
        (true, _) if !counted.is_empty() => {
            "Next: `oscost explain CASE` names the system calls that a case makes."
        }
        (true, _) if table.judged == 0 && are_counts => {
            "Next: counts of several boots of each machine can be judged."
        }
        (true, _) if table.judged == 0 => {
            "Next: two runs or more of each machine, of the same cases, can be judged."
        }
        (true, _) => "Next: more runs of each machine show smaller differences.",
    };
    // That nothing stands out is said of figures with intervals.
    let head = (counted.is_empty() || !table.findings.is_empty()).then(|| headline(content));
    let findings = head.into_iter().chain(counted).map(|text| format!("{text}.")).collect();
    Answer { findings, next: vec![next.to_owned()], ..Answer::default() }
}

fn headline(content: &TableContent<'_>) -> String {
    let table = content.table;
    let machines = plural(content.machines.len() as u64, "machine");
    if !content.has_figures() {
        return without_figures(content);
    }
    match table.findings.first() {
        Some(finding) => sentence(content, finding),
        None if content.machines.len() == 1 => match treatments::of_one_machine(content).len() {
            0 | 1 => "All these runs are of one machine, and nothing stands beside it".to_owned(),
            // No treatment is one of them.
            count => format!("These runs are of one machine, with {count} sets of treatments"),
        },
        None if table.judged == 0 && table.unit == TableUnit::Instructions => {
            format!(
                "Nothing is judged: no case has counts of several boots on two of these {machines}, \
                 and how far instructions differ between boots is not known"
            )
        }
        None if table.judged == 0 => {
            format!(
                "Nothing can be judged: no case has figures with an interval between runs on two \
                 of these {machines}"
            )
        }
        None => format!(
            "No difference stands out among {machines}: {} judged, each of a family of cases",
            plural(table.judged as u64, "difference")
        ),
    }
}

/// That no case has a figure, and the most frequent reason.
fn without_figures(content: &TableContent<'_>) -> String {
    let what = match content.table.unit {
        TableUnit::Own => "a figure",
        TableUnit::Cycles => "a figure in cycles",
        TableUnit::Calls => "a figure in calls of an empty function",
        TableUnit::Instructions => "a count of instructions",
    };
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for cell in content.table.lines.iter().flat_map(|it| &it.cells) {
        if let TableCell::Missing(why) = cell {
            *reasons.entry(why).or_default() += 1;
        }
    }
    let most = reasons.into_iter().max_by_key(|(_, count)| *count);
    let why = most.map(|(why, _)| format!(": {}", plain(why))).unwrap_or_default();
    format!("No case of these runs has {what}{why}")
}

/// What else stands out.
pub(super) fn further(content: &TableContent<'_>) -> Vec<String> {
    let findings = content.table.findings.get(1..).unwrap_or_default();
    let told = findings.iter().take(MAX_FURTHER).map(|it| sentence(content, it));
    let more = findings.len().saturating_sub(MAX_FURTHER);
    let more = (more > 0).then(|| format!("and {more} more: the table has their ratios"));
    told.chain(more).collect()
}

fn sentence(content: &TableContent<'_>, it: &Finding) -> String {
    let Finding { machines, others, are_equals, family, cases, slowness, ci95, .. } = it;
    let first = machines.first().copied().unwrap_or_default();
    let (name, is, execute) = match machines.len() {
        0 | 1 => (content.name(first), "is", "executes"),
        count => {
            let name = format!("{} and {} like it", content.name(first), count - 1);
            (name, "are", "execute")
        }
    };
    // Of a faster machine the same ratio, turned around.
    let (kind, turned) = if *slowness < 1.0 { ("fast", true) } else { ("slow", false) };
    let of = |value: f64| factor(if turned { 1.0 / value } else { value });
    let ends = ci95.map(|[low, high]| if turned { [high, low] } else { [low, high] });
    let ends = ends.map(|[low, high]| format!(" ({} to {})", of(low), of(high)));
    let than = match &others[..] {
        _ if !are_equals => content.base_name(),
        [only] => format!("its equal {}", content.name(*only)),
        others => format!("its {} equals", others.len()),
    };
    let (family, cases) = (plain(family), plural(*cases as u64, "case"));
    let facts = facts_apart(content, first, others);
    if content.table.unit == TableUnit::Instructions {
        let ends = ci95.map(|[low, high]| format!(" ({} to {})", factor(low), factor(high)));
        let (times, ends) = (factor(*slowness), ends.unwrap_or_default());
        return format!(
            "{name} {execute} {times} times as many instructions{ends} in {family} ({cases}) as \
             {than}; {facts}"
        );
    }
    let (times, ends) = (of(*slowness), ends.unwrap_or_default());
    format!("{name} {is} {times} times as {kind}{ends} in {family} ({cases}) as {than}; {facts}")
}

/// The facts that a machine shares with others, and those that it has alone.
fn facts_apart(content: &TableContent<'_>, own: usize, others: &[usize]) -> String {
    let facts = |at: usize| content.machines.get(at).map_or(&[][..], |it| &it.facts[..]);
    let others: Vec<&[MachineFact]> = others.iter().map(|&at| facts(at)).collect();
    let Contrast { same, different } = contrast(facts(own), &others);
    let verb = |facts: &[&MachineFact], plural: &'static str, singular: &'static str| {
        if facts.len() > 1 || facts.iter().any(|fact| fact.is_plural) { plural } else { singular }
    };
    let same = &same[..same.len().min(MAX_FACTS)];
    let names: Vec<String> = same.iter().map(|fact| fact.name.to_owned()).collect();
    let told = different.iter().take(MAX_FACTS);
    let apart: Vec<&MachineFact> = told.clone().map(|it| it.fact).collect();
    let mut texts: Vec<String> = told.map(difference).collect();
    if different.len() > MAX_FACTS {
        texts.push(plural((different.len() - MAX_FACTS) as u64, "more recorded fact"));
    }
    let several = texts.len() > 1;
    let (names, texts) = (joined(&names), joined(&texts));
    let are = verb(same, "are", "is");
    let are_not = if several { "are" } else { verb(&apart, "are", "is") };
    match (same.is_empty(), different.is_empty()) {
        (false, false) => format!("{names} {are} the same, {texts} {are_not} not"),
        (false, true) => format!("{names} {are} the same, and no other recorded fact differs"),
        (true, false) => {
            let differ = if several { "differ" } else { verb(&apart, "differ", "differs") };
            format!("{texts} {differ}")
        }
        (true, true) => "no recorded fact tells them apart".to_owned(),
    }
}

/// A fact with its value here and on the others.
fn difference(it: &FactDifference<'_>) -> String {
    format!("{} (`{}`, there `{}`)", it.fact.name, value(&it.own), value(&it.other))
}

fn value(text: &str) -> String {
    let text = plain(text);
    match text.chars().count() > MAX_VALUE_CHARS {
        true => text.chars().take(MAX_VALUE_CHARS).chain("...".chars()).collect(),
        false => text,
    }
}
