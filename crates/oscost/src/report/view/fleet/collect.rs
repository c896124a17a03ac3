//! What was collected of a fleet: first how much, then which visits are missing and why.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::report::text::{plain, plural};
use crate::report::view::document::{
    Answer, Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// The most lines of a table, and names in a sentence: a thousand nodes may be missing for the same
/// reason.
const MAX_LINES: usize = 40;
const MAX_NAMES: usize = 5;

/// What was collected.
#[derive(Clone, Debug, Serialize)]
pub struct Collection {
    /// The name of the fleet.
    pub fleet: String,
    /// How many nodes the plan has.
    pub nodes: usize,
    /// How many visits the plan has.
    pub visits: usize,
    /// How many records were stored now.
    pub imported: usize,
    /// How many were stored before.
    pub known: usize,
    /// The records that were rejected.
    pub rejected: Vec<RejectedFile>,
    /// The visits without a record.
    pub missing: Vec<MissingVisit>,
}

/// A record that was rejected.
#[derive(Clone, Debug, Serialize)]
pub struct RejectedFile {
    /// Its file in the fleet's folder.
    pub file: String,
    /// Why.
    pub why: String,
}

/// A visit without a record.
#[derive(Clone, Debug, Serialize)]
pub struct MissingVisit {
    /// The number of its task.
    pub task: u32,
    /// The node.
    pub node: String,
    /// The number of the visit of this node.
    pub visit: u32,
    /// `failed`, `rejected`, `no-record`, or what Slurm says of it, as `waiting`, `timed out`.
    pub state: &'static str,
    /// Why it failed or waits; null if that is not known.
    pub why: Option<String>,
}

impl MissingVisit {
    /// Why it is missing, in a cell.
    fn reason(&self) -> String {
        match (&self.why, self.state) {
            (Some(why), state) => format!("{state}: {}", plain(why)),
            (None, "rejected") => "its record was rejected".to_owned(),
            (None, "no-record") => "no record yet".to_owned(),
            (None, state) => state.to_owned(),
        }
    }
}

/// What was collected, with a table of what is missing.
pub fn view(collection: &Collection) -> View {
    let missing = missing_table(collection);
    let rejected = rejected_table(collection);
    let blocks: Vec<Block> = missing.into_iter().chain(rejected).map(Block::Table).collect();
    let sections = if blocks.is_empty() { Vec::new() } else { vec![Section::of("", blocks)] };
    View {
        lead: vec![Paragraph::from(sentence(collection))],
        answer: Some(Answer { next: next_steps(collection), ..Answer::default() }),
        sections,
        ..View::default()
    }
}

/// The answer: how much is there, and what is not.
fn sentence(collection: &Collection) -> String {
    let Collection { fleet, nodes, visits, imported, known, rejected, missing } = collection;
    let mut parts = vec![format!(
        "{} of {visits} visits of {} collected for fleet {}, {imported} of them now",
        imported + known,
        plural(*nodes as u64, "node"),
        plain(fleet)
    )];
    let failed: BTreeSet<&str> = missing
        .iter()
        .filter(|visit| visit.state == "failed")
        .map(|visit| visit.node.as_str())
        .collect();
    if !failed.is_empty() {
        parts.push(format!("{} failed: {}", plural(failed.len() as u64, "node"), names(&failed)));
    }
    if !rejected.is_empty() {
        let verb = if rejected.len() == 1 { "was" } else { "were" };
        parts.push(format!("{} {verb} rejected", plural(rejected.len() as u64, "record")));
    }
    let waiting = missing.iter().filter(|visit| visit.state == "no-record").count();
    if waiting > 0 {
        let verb = if waiting == 1 { "has" } else { "have" };
        parts.push(format!("{} {verb} no record yet", plural(waiting as u64, "visit")));
    }
    parts.extend(states_in_slurm(missing));
    format!("{}.", parts.join("; "))
}

/// How many visits are in which state, as Slurm has it.
fn states_in_slurm(missing: &[MissingVisit]) -> Option<String> {
    let of_the_folder = ["failed", "rejected", "no-record"];
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for visit in missing.iter().filter(|visit| !of_the_folder.contains(&visit.state)) {
        *counts.entry(visit.state).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    let counts: Vec<String> =
        counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
    (total > 0).then(|| format!("{}: {}", plural(total as u64, "visit"), counts.join(", ")))
}

/// The first names of a set.
fn names(of: &BTreeSet<&str>) -> String {
    let first: Vec<String> = of.iter().take(MAX_NAMES).map(|name| plain(name)).collect();
    match of.len().saturating_sub(MAX_NAMES) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// The nodes with missing visits, those of one reason in one line.
fn missing_table(collection: &Collection) -> Option<Table> {
    let mut lines: BTreeMap<(&str, String), Vec<u32>> = BTreeMap::new();
    for visit in &collection.missing {
        lines.entry((visit.node.as_str(), visit.reason())).or_default().push(visit.visit);
    }
    let row = |((node, reason), visits): (&(&str, String), &Vec<u32>)| {
        let visits: Vec<String> = visits.iter().map(u32::to_string).collect();
        TableRow::of(vec![
            Cell::text(plain(node)),
            Cell::text(visits.join(", ")),
            Cell::text(reason.clone()),
        ])
    };
    let rows: Vec<TableRow> = lines.iter().take(MAX_LINES).map(row).collect();
    let more = lines.len().saturating_sub(MAX_LINES);
    (!rows.is_empty()).then(|| Table {
        columns: vec![Column::text("node"), Column::text("visits"), Column::prose("why missing")],
        rows,
        notes: (more > 0).then(|| format!("{more} more lines")).into_iter().collect(),
        ..Table::default()
    })
}

fn rejected_table(collection: &Collection) -> Option<Table> {
    let row = |file: &RejectedFile| {
        TableRow::of(vec![Cell::text(plain(&file.file)), Cell::text(plain(&file.why))])
    };
    let rows: Vec<TableRow> = collection.rejected.iter().take(MAX_LINES).map(row).collect();
    let more = collection.rejected.len().saturating_sub(MAX_LINES);
    (!rows.is_empty()).then(|| Table {
        columns: vec![Column::text("rejected record"), Column::prose("why")],
        rows,
        notes: (more > 0).then(|| format!("{more} more lines")).into_iter().collect(),
        ..Table::default()
    })
}

fn next_steps(collection: &Collection) -> Vec<String> {
    let mut next = Vec::new();
    if !collection.missing.is_empty() {
        next.push("`oscost fleet status FOLDER` shows what the missing visits do.".to_owned());
    }
    if collection.missing.iter().any(|visit| visit.state == "rejected") {
        next.push("`oscost fleet run FOLDER --retry` measures rejected visits again.".to_owned());
    }
    if collection.imported + collection.known > 0 {
        let fleet = plain(&collection.fleet);
        next.push(format!("`oscost fleet report {fleet}` shows which nodes differ."));
    }
    next
}

/// The collection as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    #[serde(flatten)]
    collection: &'a Collection,
}

/// What was collected as JSON, indented, with a line end.
pub fn json(collection: &Collection) -> Result<String, serde_json::Error> {
    let document = Document { schema: "oscost.fleet-collect/1", collection };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn missing(task: u32, node: &str, state: &'static str, why: Option<&str>) -> MissingVisit {
        let (node, why) = (node.to_owned(), why.map(str::to_owned));
        MissingVisit { task, node, visit: task % 3, state, why }
    }

    fn collection(missing: Vec<MissingVisit>) -> Collection {
        Collection {
            fleet: "monday".to_owned(),
            nodes: 14,
            visits: 40,
            imported: 20,
            known: 8,
            rejected: Vec::new(),
            missing,
        }
    }

    #[test]
    fn the_answer_comes_first_and_names_the_nodes_that_failed() {
        let mut of_all = collection(vec![
            missing(3, "n2", "failed", Some("no room")),
            missing(4, "n2", "failed", Some("no room")),
            missing(6, "n3", "failed", None),
            missing(9, "n4", "no-record", None),
            missing(12, "n5", "rejected", None),
            missing(13, "n6", "timed out", None),
            missing(15, "n6", "waiting", Some("Priority")),
            missing(18, "n7", "waiting", Some("Priority")),
        ]);
        of_all.rejected =
            vec![RejectedFile { file: "records/12.json".to_owned(), why: "bad".to_owned() }];
        let view = view(&of_all);
        assert_eq!(
            view.lead[0].text,
            "28 of 40 visits of 14 nodes collected for fleet monday, 20 of them now; 2 nodes failed: \
             n2, n3; 1 record was rejected; 1 visit has no record yet; 3 visits: \
             1 timed out, 2 waiting."
        );
        let [Block::Table(missing), Block::Table(rejected)] = &view.sections[0].blocks[..] else {
            panic!("two tables")
        };
        let cells = |table: &Table, row: usize| -> Vec<String> {
            table.rows[row].cells.iter().map(|cell| cell.text.clone()).collect()
        };
        assert_eq!(cells(missing, 0), ["n2", "0, 1", "failed: no room"]);
        assert_eq!(cells(missing, 1), ["n3", "0", "failed"]);
        assert_eq!(cells(missing, 3), ["n5", "0", "its record was rejected"]);
        assert_eq!(cells(missing, 4), ["n6", "1", "timed out"]);
        assert_eq!(cells(missing, 6), ["n7", "0", "waiting: Priority"]);
        assert_eq!(cells(rejected, 0), ["records/12.json", "bad"]);
        let next = view.answer.unwrap().next;
        assert_eq!(next.len(), 3);
        assert!(next[1].contains("--retry` measures rejected visits again"), "{next:?}");
        let json: serde_json::Value = serde_json::from_str(&json(&of_all).unwrap()).unwrap();
        assert_eq!(json["schema"], "oscost.fleet-collect/1");
        assert_eq!(json["missing"][0]["why"], "no room");
        assert_eq!(json["known"], 8);
    }

    #[test]
    fn a_whole_fleet_has_no_table_and_a_thousand_missing_nodes_a_short_one() {
        let whole = view(&collection(Vec::new()));
        assert!(whole.sections.is_empty());
        let many = (0..1_000).map(|task| missing(task, &format!("n{task}"), "failed", None));
        let view = view(&collection(many.collect()));
        let [Block::Table(table)] = &view.sections[0].blocks[..] else { panic!("one table") };
        assert_eq!((table.rows.len(), table.notes.len()), (MAX_LINES, 1));
        assert!(view.lead[0].text.contains("1000 nodes failed: n0, n1, n10, n100, n101 and 995"));
    }
}
