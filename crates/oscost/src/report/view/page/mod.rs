//! A run, a comparison or a history as one HTML file that asks nobody for anything.
//!
//! Text and tables are there as they are; charts are drawn, and tables sorted and filtered, by a
//! script that comes packed in the file. All text is escaped, and a content security policy keeps
//! what would come through from being run.

mod comparisons;
mod curves;
mod history;
mod machine;
mod price_list;
mod rows;
mod spread;
mod study;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use oscost_model::definition::Catalog;
use oscost_model::record::{Record, Row, RowOutcome};

use crate::report::text::plain;
use crate::report::view::compare;
use crate::report::view::curves::blocks;
use crate::report::view::document::{Page, Part, Section};
pub use crate::report::view::page::history::history;
use crate::report::view::page::rows::Rows;
pub use crate::report::view::page::study::OfStudy;
use crate::report::view::run::{behind, family, gathered, headline, said};
use crate::report::view::{
    catalog, cost_groups, event_scaling, one_way, programs, request_latency, timer_survey,
    wait_steps,
};

/// A run, and what is known beside it.
#[derive(Debug)]
pub struct Shown<'a> {
    /// The run, with its raw batches where they are there.
    pub record: &'a Record,
    /// The run laid beside its study, where it was measured for one.
    pub study: Option<OfStudy<'a>>,
    /// What is explained of benchmarks.
    pub catalog: Option<&'a Catalog>,
}

/// The page of a run.
pub fn run(shown: &Shown<'_>) -> anyhow::Result<String> {
    let record = shown.record;
    let rows = Rows::of(record);
    let of_study = shown.study.as_ref().map(|of| study::section(of, record));
    let sections = [
        of_study,
        comparisons::of_run(record),
        price_list::section(&rows),
        not_measured(&rows),
        Some(machine::section(record)),
        families(&rows, record),
        together(&rows, record),
        study::predicted(record),
        rows::section(&rows, record),
        remarks(&rows, record),
    ];
    let page = Page {
        title: title(record),
        lead: vec![headline(record).replace('\n', " "), when(record)],
        sections: sections.into_iter().flatten().collect(),
        explained: explained(shown.catalog, rows.all.iter().map(|(_, row)| *row)),
    };
    crate::report::render::html::html(&page)
}

/// The page of runs that were compared.
pub fn comparison(shown: &compare::Shown<'_>, catalog: Option<&Catalog>) -> anyhow::Result<String> {
    let sides = [compare::side("base", shown.base), compare::side("new", shown.new)];
    let differ = shown.compared.differences.iter().map(|it| format!("differ: {}", plain(it)));
    let flat = |text: String| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let rows = shown.compared.results.iter();
    let page = Page {
        title: "A comparison by oscost".to_owned(),
        lead: sides.into_iter().map(flat).chain(differ).collect(),
        sections: vec![comparisons::of_runs(shown)],
        explained: explained(catalog, rows),
    };
    crate::report::render::html::html(&page)
}

/// The user's own words, or what was done.
fn title(record: &Record) -> String {
    match (&record.label, &record.settings.study) {
        (Some(label), _) => plain(label),
        (None, Some(study)) => plain(&format!("{study}, again")),
        (None, None) if !record.comparisons.is_empty() => "What a change costs here".to_owned(),
        (None, None) => "What the operating system charges here".to_owned(),
    }
}

/// When, how long, and whether to its end.
fn when(record: &Record) -> String {
    let text = |at: &str| plain(at.get(..16).unwrap_or(at)).replace('T', " ");
    let cut = if record.complete { "" } else { "; the run was cut short" };
    format!("Measured on {} UTC by oscost {}{cut}.", text(&record.started), record.tool.version)
}

/// Lines that were folded for a terminal, each in one piece again: what goes on is set in deeper than
/// what begins.
fn unfolded(text: &str) -> Vec<String> {
    let depth = |line: &str| line.len() - line.trim_start().len();
    let first = text.lines().filter(|line| !line.trim().is_empty()).map(depth).min().unwrap_or(0);
    let mut lines: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        match lines.last_mut() {
            Some(last) if depth(line) > first => {
                last.push(' ');
                last.push_str(line.trim());
            }
            _ => lines.push(line.trim().to_owned()),
        }
    }
    lines
}

/// What `oscost explain` says of the benchmarks of rows.
fn explained<'a>(
    known: Option<&Catalog>,
    rows: impl Iterator<Item = &'a Row>,
) -> BTreeMap<String, String> {
    let text = |row: &Row| Some(catalog::explain(known?.get(&row.benchmark)?));
    rows.filter_map(|row| Some((row.benchmark.clone(), text(row)?))).collect()
}

/// What was asked for and has no figure, by reason.
fn not_measured(rows: &Rows<'_>) -> Option<Section> {
    let left = rows.all.iter().filter(|(_, row)| row.outcome != RowOutcome::Measured);
    let reasons = left.map(|(_, row)| {
        let reason = row.reason.as_deref().unwrap_or("no reason given");
        (format!("{}: {}", row.outcome.text(), plain(reason)), row.case.as_str())
    });
    let lines: Vec<String> = gathered(reasons)
        .into_iter()
        .map(|(reason, cases)| {
            let cases: Vec<String> = cases.iter().map(|case| plain(case)).collect();
            format!("{reason}: {}", cases.join(", "))
        })
        .collect();
    let title = "Not measured, and why".to_owned();
    (!lines.is_empty()).then(|| Section {
        id: "not-measured".to_owned(),
        title,
        parts: vec![Part::List(lines)],
    })
}

/// For each family its curves, and how its values are spread.
fn families(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in rows.measured() {
        if !names.contains(&family(row)) {
            names.push(family(row));
        }
    }
    let blocks = blocks(record);
    let mut parts = Vec::new();
    for (nth, &name) in names.iter().enumerate() {
        let mut of_name = Vec::new();
        let of_family = |benchmark: &str| benchmark.split('/').next() == Some(name);
        for (at, block) in blocks.iter().enumerate() {
            if !of_family(&block.curves[0].benchmark) {
                continue;
            }
            of_name.extend(curves::chart(at, block, record).map(Part::chart));
            let words = unfolded(&block.words());
            of_name.extend((!words.is_empty()).then_some(Part::List(words)));
        }
        let members: Vec<(usize, &Row)> =
            rows.measured().filter(|(_, row)| family(row) == name).collect();
        // Several names may make one word.
        let word = rows::word(name);
        let before = names[..nth].iter().filter(|other| rows::word(other) == word).count();
        let id = match before {
            0 => format!("spread-{word}"),
            some => format!("spread-{word}.{some}"),
        };
        of_name.extend(spread::chart(id, &members, rows).map(Part::chart));
        if !of_name.is_empty() {
            parts.push(Part::Title(plain(name)));
            parts.append(&mut of_name);
        }
    }
    let title = "Family by family".to_owned();
    (!parts.is_empty()).then(|| Section { id: "families".to_owned(), title, parts })
}

/// What rows say together: groups of costs, whole programs, steps of waits, halves of round trips.
fn together(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let measured: Vec<&Row> = rows.measured().map(|(_, row)| row).collect();
    let halves: Vec<String> = record.half_round_trips.iter().map(one_way::line).collect();
    let texts = [
        programs::text(&measured),
        wait_steps::text(&record.steps),
        request_latency::text(&measured),
        cost_groups::text(record, &measured),
        timer_survey::survey(record).unwrap_or_default(),
        event_scaling::text(record),
    ];
    let told = texts.iter().map(|text| text.trim_matches('\n')).filter(|text| !text.is_empty());
    let mut parts: Vec<Part> = told.map(|text| Part::Lines(text.to_owned())).collect();
    parts.extend((!halves.is_empty()).then_some(Part::List(halves)));
    let title = "What the rows say together".to_owned();
    (!parts.is_empty()).then(|| Section { id: "together".to_owned(), title, parts })
}

/// What there is to say of the figures: what flags mean, what was odd.
fn remarks(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let all: Vec<&Row> = rows.all.iter().map(|(_, row)| *row).collect();
    let lines: Vec<String> = said(record, &all).into_iter().chain(behind(record, &all)).collect();
    let title = "Remarks".to_owned();
    (!lines.is_empty()).then(|| Section {
        id: "remarks".to_owned(),
        title,
        parts: vec![Part::List(lines)],
    })
}
