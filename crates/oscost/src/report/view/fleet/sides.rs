//! What a treatment costs on a fleet: one sentence, then each case with its ratio over nodes.

use std::collections::BTreeMap;

use oscost_model::unit::Better;
use serde::Serialize;

use super::ratio_texts::{factor, from_to};
use super::revision_text::left_out;
use crate::fleet::{ComparedSides, ExcludedRun, SideComparison, SideVerdict};
use crate::report::text::{plain, plural};
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// The version of the document.
pub const SCHEMA: &str = "oscost.fleet-ab/1";

/// The cases of each verdict are told in this order.
const VERDICTS: [&str; 4] = ["slower", "faster", "equivalent", "inconclusive"];

/// The comparison as a screen or a page shows it.
pub fn view(compared: &ComparedSides) -> View {
    let lead = [sentence(compared), conditions(compared)].map(Paragraph::from);
    let cases = Section {
        id: "cases".to_owned(),
        title_is_for_navigation: true,
        ..Section::of("Cases", [Block::Table(table(compared))])
    };
    let excluded = Block::list(compared.excluded.iter().map(excluded));
    let excluded = excluded.map(|list| Section::of("Runs from which nothing is concluded", [list]));
    let unread = compared.unread.as_ref().map(|it| {
        let records = plural(it.count as u64, "record");
        let (first, why) = (plain(&it.first), plain(&it.why));
        let text = format!("{records} could not be read; the first is {first}: {why}");
        Section::of("Records that could not be read", [Block::Text(text)])
    });
    let older = Block::list(compared.other_revisions.iter().map(left_out));
    let older = older.map(|list| Section::of("Figures of older revisions", [list]));
    let sections = [cases].into_iter().chain(excluded).chain(older).chain(unread).collect();
    let title = "A treatment on a fleet, by oscost".to_owned();
    View { title, lead: lead.into(), sections, ..View::default() }
}

fn excluded(it: &ExcludedRun) -> String {
    format!("run {} of {} {}", plain(&it.run), plain(&it.node), it.why)
}

/// What was found, in one sentence.
fn sentence(compared: &ComparedSides) -> String {
    let treatments = plain(&compared.treatments);
    let with = |wanted: &str| {
        let of_verdict = compared.comparisons.iter().filter(|it| verdict(it) == wanted);
        let mut cases: Vec<&SideComparison> = of_verdict.collect();
        cases.sort_by(|one, other| distance(other).total_cmp(&distance(one)));
        cases
    };
    let told = |cases: &[&SideComparison], verdict: &str| {
        let first = cases.first()?;
        let interval = first.ci95.map(|ends| format!(" ({})", from_to(ends))).unwrap_or_default();
        let count = match cases.len() {
            1 => "1 case is".to_owned(),
            count => format!("{count} cases are"),
        };
        let (case, ratio) = (plain(&first.case), factor(first.ratio?));
        Some(format!("{count} {verdict}, most of all {case}: {ratio} times{interval}"))
    };
    let found = [told(&with("slower"), "slower"), told(&with("faster"), "faster")];
    let found: Vec<String> = found.into_iter().flatten().collect();
    let judged = compared.comparisons.iter().filter(|it| is_compared(it)).count();
    let cases = plural(judged as u64, "case");
    let others = match compared.comparisons.len() - judged {
        0 => String::new(),
        count => format!("; {} could not be compared", plural(count as u64, "case")),
    };
    match (&found[..], judged) {
        (_, 0) => format!("{treatments}: no case was measured on both sides by enough nodes"),
        ([], _) => format!("{treatments}: no difference was found in {cases}{others}"),
        (found, _) => format!("{treatments}: of {cases}, {}{others}", found.join("; ")),
    }
}

/// What the comparison rests on.
fn conditions(compared: &ComparedSides) -> String {
    let ComparedSides { nodes_of_both, nodes_of_base, nodes_of_new, .. } = compared;
    let counts = [
        (*nodes_of_both, "with and without"),
        (*nodes_of_base, "without"),
        (*nodes_of_new, "with"),
    ];
    let counts = counts.into_iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> =
        counts.map(|(count, side)| format!("{} {side}", plural(count as u64, "node"))).collect();
    let by_verdict: BTreeMap<&str, usize> = compared
        .comparisons
        .iter()
        .filter(|it| is_compared(it))
        .fold(BTreeMap::new(), |mut counts, it| {
            *counts.entry(verdict(it)).or_default() += 1;
            counts
        });
    let verdicts = VERDICTS.iter().filter_map(|verdict| {
        let count = by_verdict.get(verdict)?;
        Some(format!("{count} {verdict}"))
    });
    let verdicts: Vec<String> = verdicts.collect();
    format!(
        "fleet {}: {}; {}",
        plain(&compared.fleet),
        counts.join(", "),
        if verdicts.is_empty() { "nothing compared".to_owned() } else { verdicts.join(", ") }
    )
}

/// Whether enough nodes measured both sides.
fn is_compared(it: &SideComparison) -> bool {
    it.ratio.is_some()
}

/// How far a ratio is from 1, as a logarithm.
fn distance(it: &SideComparison) -> f64 {
    it.ratio.map_or(0.0, |ratio| ratio.ln().abs())
}

/// The verdict in the words of other comparisons.
fn verdict(it: &SideComparison) -> &'static str {
    match (it.verdict, it.better) {
        (SideVerdict::Larger, Better::Lower) | (SideVerdict::Smaller, Better::Higher) => "slower",
        (SideVerdict::Smaller, Better::Lower) | (SideVerdict::Larger, Better::Higher) => "faster",
        (SideVerdict::Equivalent, _) => "equivalent",
        (SideVerdict::Inconclusive, _) => "inconclusive",
    }
}

/// The cases, what differs most first.
pub fn table(compared: &ComparedSides) -> Table {
    let mut cases: Vec<&SideComparison> = compared.comparisons.iter().collect();
    cases.sort_by(|one, other| one.q.total_cmp(&other.q));
    let count = cases.len();
    let row = |(at, it): (usize, &&SideComparison)| {
        let end = |at: usize| {
            let end = it.ci95.map(|ends| ends[at]);
            Cell::number(end.map_or_else(|| "-".to_owned(), factor), end)
        };
        let cells = vec![
            Cell::text(plain(&it.case)),
            Cell::number(it.ratio.map_or_else(|| "-".to_owned(), factor), it.ratio),
            end(0),
            end(1),
            Cell::number(it.nodes.to_string(), Some(it.nodes as f64)),
            Cell::number(format!("{:.1e}", it.q), Some(it.q)),
            Cell::text(verdict(it)),
        ];
        TableRow { priority: (count - at) as u32, ..TableRow::of(cells) }
    };
    Table {
        id: "sides".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::number("ratio", "ratio"),
            Column::number("95 % low", "ratio_ci95_low"),
            Column::number("95 % high", "ratio_ci95_high"),
            Column::number("nodes", "nodes"),
            Column::number("q", "q"),
            Column::choice("verdict"),
        ],
        rows: cases.iter().enumerate().map(row).collect(),
        notes: vec![
            "ratio: the figure with the treatments over that without; the node is the unit, so the \
             interval is over nodes, and is corrected for the number of cases"
                .to_owned(),
        ],
        interactive: true,
        ..Table::default()
    }
}

/// The comparison as a document for programs.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    fleet: &'a str,
    treatments: &'a str,
    nodes_of_both: usize,
    nodes_of_base: usize,
    nodes_of_new: usize,
    cases: Vec<CaseDocument<'a>>,
    excluded: Vec<ExcludedDocument<'a>>,
    other_revisions: Vec<OtherRevisionDocument<'a>>,
    unread_records: usize,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    unit: &'static str,
    better: Better,
    ratio: Option<f64>,
    ci95: Option<[f64; 2]>,
    p: f64,
    q: f64,
    nodes: usize,
    verdict: &'static str,
}

#[derive(Serialize)]
struct ExcludedDocument<'a> {
    run: &'a str,
    node: &'a str,
    why: &'static str,
}

/// Figures that are left out.
#[derive(Serialize)]
struct OtherRevisionDocument<'a> {
    case: &'a str,
    rev: u32,
    newest: u32,
    figures: usize,
}

/// The comparison as JSON, indented, with a line end.
pub fn json(compared: &ComparedSides) -> Result<String, serde_json::Error> {
    let cases = compared.comparisons.iter().map(|it| CaseDocument {
        case: &it.case,
        unit: it.unit.text(),
        better: it.better,
        ratio: it.ratio,
        ci95: it.ci95,
        p: it.p,
        q: it.q,
        nodes: it.nodes,
        verdict: verdict(it),
    });
    let excluded = compared.excluded.iter().map(|it| ExcludedDocument {
        run: &it.run,
        node: &it.node,
        why: it.why,
    });
    let older = compared.other_revisions.iter().map(|it| OtherRevisionDocument {
        case: &it.case,
        rev: it.rev,
        newest: it.newest,
        figures: it.figures,
    });
    let document = Document {
        schema: SCHEMA,
        fleet: &compared.fleet,
        treatments: &compared.treatments,
        nodes_of_both: compared.nodes_of_both,
        nodes_of_base: compared.nodes_of_base,
        nodes_of_new: compared.nodes_of_new,
        cases: cases.collect(),
        excluded: excluded.collect(),
        other_revisions: older.collect(),
        unread_records: compared.unread.as_ref().map_or(0, |it| it.count),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests;
