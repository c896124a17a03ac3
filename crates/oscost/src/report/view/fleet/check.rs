//! The check of a node: whether it is healthy, in one sentence; then the cases that were judged, and
//! the facts in which the node differs from its class.

use std::collections::BTreeSet;

use serde::Serialize;

use super::ratio_texts::{factor, from_to};
use crate::fleet::{CheckedCase, HealthVerdict, NodeCheck, NodeHealth, UnusualFact};
use crate::report::text::{plain, plain_paragraph, plural};
use crate::report::view::document::{
    Block, Cell, Column, Fact, Paragraph, Section, Table, TableRow, View,
};
use crate::report::view::sections::section_of_cases;

/// The version of the document.
pub const SCHEMA: &str = "oscost.fleet-check/1";

/// What was found, in one sentence without a full stop.
pub fn sentence(health: &NodeHealth) -> String {
    let node = plain(&health.node);
    match (&health.verdict, &health.check) {
        (HealthVerdict::NotJudged(why), _) => {
            format!("{node} was not judged: {}", plain_paragraph(why))
        }
        (_, None) => format!("{node} was not judged"),
        (HealthVerdict::Healthy, Some(check)) => healthy(&node, check),
        (HealthVerdict::Slow, Some(check)) => slow(&node, check),
    }
}

fn healthy(node: &str, check: &NodeCheck) -> String {
    let families: BTreeSet<&str> =
        check.judged.iter().filter_map(|it| it.case.split('/').next()).collect();
    let families = match families.len() {
        1 => "1 family".to_owned(),
        count => format!("{count} families"),
    };
    let cases = plural(check.judged.len() as u64, "case");
    let others = [faster(check), not_confirmed(check)].concat();
    format!(
        "{node} is healthy: none of {cases} of {families} is slower than on the nodes of its \
         class{others}"
    )
}

fn faster(check: &NodeCheck) -> String {
    match check.findings.iter().filter(|it| it.ratio < 1.0).count() {
        0 => String::new(),
        1 => "; 1 case is faster, in two measurements".to_owned(),
        count => format!("; {count} cases are faster, in two measurements"),
    }
}

/// The suspects that are no findings: seen once, or again but not surely enough.
fn not_confirmed(check: &NodeCheck) -> String {
    let is_finding = |case: &CheckedCase| check.findings.iter().any(|it| it.case == case.case);
    match check.suspects.iter().filter(|it| !is_finding(it)).count() {
        0 => String::new(),
        count => {
            let cases = plural(count as u64, "case");
            format!("; {cases} seemed to differ, which was not confirmed")
        }
    }
}

/// What a check could have found.
fn power(check: &NodeCheck) -> String {
    let cases = plural(check.judged.len() as u64, "case");
    let found = check.judged.iter().filter(|it| it.finds_doubled_cost).count();
    format!("; twice the cost would be found in {found} of {cases}")
}

fn slow(node: &str, check: &NodeCheck) -> String {
    let mut slower: Vec<&CheckedCase> = check.findings.iter().filter(|it| it.ratio > 1.0).collect();
    slower.sort_by(|one, other| one.q.total_cmp(&other.q));
    let [first, others @ ..] = &slower[..] else { return format!("{node} is slow") };
    let others = match others.len() {
        0 => String::new(),
        1 => "; so is 1 more case".to_owned(),
        count => format!("; so are {count} more cases"),
    };
    format!(
        "{node} is slow: {} costs {} times ({}) as much as on the nodes of its class, in two \
         measurements{others}",
        plain(&first.case),
        factor(first.ratio),
        from_to(first.ci95)
    )
}

/// The check as a screen or a page shows it.
pub fn view(health: &NodeHealth) -> View {
    let power = health.check.as_ref().map(power).unwrap_or_default();
    let fleet = plain(&health.fleet);
    let against = format!("against the nodes of its class in fleet {fleet}{power}");
    let lead = [sentence(health), against].map(Paragraph::from);
    let mut sections = Vec::new();
    if health.check.is_some() {
        sections.push(Section {
            id: "cases".to_owned(),
            title_is_for_navigation: true,
            ..Section::of("Cases", [Block::Table(table(health))])
        });
    }
    let facts: Vec<Fact> = health.unusual.iter().map(unusual).collect();
    if !facts.is_empty() {
        let title = "Facts in which it differs from most of its class";
        sections.push(Section::of(title, [Block::Facts(facts)]));
    }
    let unmeasured = health.unmeasured.iter().map(|it| (plain(&it.why), it.case.as_str()));
    sections.extend(section_of_cases("unmeasured", "Not measured", unmeasured));
    let not_judged = health.check.iter().flat_map(|check| &check.not_judged);
    let not_judged = not_judged.map(|it| (plain(it.why), it.case.as_str()));
    sections.extend(section_of_cases("not-judged", "Not judged", not_judged));
    let mut facts = vec![Fact::new("its class", plain(&health.class))];
    facts.extend(health.cpu.map(|cpu| Fact::new("measured on CPU", cpu.to_string())));
    sections.push(Section::of("", [Block::Facts(facts)]));
    let title = format!("Check of {} by oscost", plain(&health.node));
    View { title, lead: lead.into(), sections, ..View::default() }
}

fn unusual(it: &UnusualFact) -> Fact {
    let text = format!("`{}`; on most of its class `{}`", plain(&it.own), plain(&it.usual));
    Fact::new(it.name, text)
}

/// The judged cases, what differs most first.
pub fn table(health: &NodeHealth) -> Table {
    let mut judged: Vec<&CheckedCase> =
        health.check.iter().flat_map(|check| &check.judged).collect();
    judged.sort_by(|one, other| one.q.total_cmp(&other.q));
    let count = judged.len();
    let row = |(at, it): (usize, &&CheckedCase)| {
        let cells = vec![
            Cell::text(plain(&it.case)),
            Cell::number(format!("x {}", factor(it.ratio)), Some(it.ratio)),
            Cell::number(factor(it.ci95[0]), Some(it.ci95[0])),
            Cell::number(factor(it.ci95[1]), Some(it.ci95[1])),
            Cell::number(format!("{:.1e}", it.q), Some(it.q)),
            Cell::text(judgement(health.check.as_ref(), it)),
        ];
        TableRow { priority: (count - at) as u32, ..TableRow::of(cells) }
    };
    Table {
        id: "checked-cases".to_owned(),
        columns: vec![
            Column::text("case"),
            Column::number("cost", "ratio"),
            Column::number("95 % low", "ratio_ci95_low"),
            Column::number("95 % high", "ratio_ci95_high"),
            Column::number("q", "q"),
            Column::text("judgement"),
        ],
        rows: judged.iter().enumerate().map(row).collect(),
        notes: vec![
            "cost: over the median of the nodes of its class; a difference is called one if it is \
             found in two measurements"
                .to_owned(),
        ],
        interactive: true,
        ..Table::default()
    }
}

fn judgement(check: Option<&NodeCheck>, case: &CheckedCase) -> &'static str {
    let has = |list: &[CheckedCase]| list.iter().any(|it| it.case == case.case);
    match check {
        Some(check) if has(&check.findings) => {
            if case.ratio > 1.0 {
                "slower, twice"
            } else {
                "faster, twice"
            }
        }
        Some(check) if has(&check.suspects) => "differed, not confirmed",
        _ => "like the others",
    }
}

/// The check as a document for programs.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    node: &'a str,
    fleet: &'a str,
    class: &'a str,
    cpu: Option<u32>,
    verdict: &'static str,
    reason: Option<&'a str>,
    sentence: String,
    cases: Vec<CaseDocument<'a>>,
    not_judged: Vec<ReasonDocument<'a>>,
    unmeasured: Vec<ReasonDocument<'a>>,
    unusual_facts: Vec<FactDocument<'a>>,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    case: &'a str,
    ratio: f64,
    ci95: [f64; 2],
    p: f64,
    q: f64,
    finds_doubled_cost: bool,
    judgement: &'static str,
}

#[derive(Serialize)]
struct ReasonDocument<'a> {
    case: &'a str,
    why: &'a str,
}

#[derive(Serialize)]
struct FactDocument<'a> {
    name: &'static str,
    own: &'a str,
    usual: &'a str,
}

/// The check as JSON, indented, with a line end.
pub fn json(health: &NodeHealth) -> Result<String, serde_json::Error> {
    let check = health.check.as_ref();
    let cases = check.iter().flat_map(|check| &check.judged).map(|it| CaseDocument {
        case: &it.case,
        ratio: it.ratio,
        ci95: it.ci95,
        p: it.p,
        q: it.q,
        finds_doubled_cost: it.finds_doubled_cost,
        judgement: judgement(check, it),
    });
    let not_judged = check.iter().flat_map(|check| &check.not_judged);
    let document = Document {
        schema: SCHEMA,
        node: &health.node,
        fleet: &health.fleet,
        class: &health.class,
        cpu: health.cpu,
        verdict: health.verdict.text(),
        reason: match &health.verdict {
            HealthVerdict::NotJudged(why) => Some(why),
            HealthVerdict::Healthy | HealthVerdict::Slow => None,
        },
        sentence: sentence(health),
        cases: cases.collect(),
        not_judged: not_judged.map(|it| ReasonDocument { case: &it.case, why: it.why }).collect(),
        unmeasured: health
            .unmeasured
            .iter()
            .map(|it| ReasonDocument { case: &it.case, why: &it.why })
            .collect(),
        unusual_facts: health
            .unusual
            .iter()
            .map(|it| FactDocument { name: it.name, own: &it.own, usual: &it.usual })
            .collect(),
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}

#[cfg(test)]
mod tests;
