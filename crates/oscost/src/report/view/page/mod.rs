//! A run, a comparison or a history on a page: every figure, charts, and the machine.

mod comparisons;
mod curves;
mod history;
mod machine;
mod price_list;
mod rows;
mod spread;
mod study;

use std::collections::BTreeMap;

use oscost_model::definition::Catalog;
use oscost_model::record::{Record, Row};

use crate::report::text::{minute, plain};
use crate::report::view::comparison::compare;
use crate::report::view::document::{Block, Section, View};
use crate::report::view::lists::catalog;
pub use crate::report::view::page::history::history;
use crate::report::view::page::rows::Rows;
pub use crate::report::view::page::study::StudyComparison;
use crate::report::view::run as run_view;
use crate::report::view::run::curves::groups as curves_of;
use crate::report::view::run::headline;
use crate::report::view::run::row::family;
use crate::report::view::run::{event_scaling, predictions, programs, timer_survey};
use crate::report::view::sections;

/// A run, its study, and the definitions of its benchmarks.
#[derive(Debug)]
pub struct PageContent<'a> {
    /// The run, with its raw batches where they are there.
    pub record: &'a Record,
    /// The run joined with its study, where it was measured for one.
    pub study: Option<StudyComparison<'a>>,
    /// The explanations of benchmarks.
    pub catalog: Option<&'a Catalog>,
}

/// The page of a run.
pub fn run(shown: &PageContent<'_>) -> View {
    let record = shown.record;
    let rows = Rows::of(record);
    let asked: Vec<&Row> = rows.all.iter().map(|(_, row)| *row).collect();
    let of_study = shown.study.as_ref().map(|of| study::section(of, record));
    let sections = [
        of_study,
        comparisons::of_run(record),
        price_list::section(&rows),
        sections::not_measured(&asked),
        Some(machine::section(record)),
        families(&rows, record),
        together(&rows, record),
        predictions::section(record),
        rows::section(&rows, record),
        run_view::notes(record, &asked),
    ];
    View {
        title: title(record),
        lead: headline::headline(record).into_iter().chain([when(record).into()]).collect(),
        sections: sections.into_iter().flatten().collect(),
        explanations: explained(shown.catalog, rows.all.iter().map(|(_, row)| *row)),
    }
}

/// The page of runs that were compared.
pub fn comparison(shown: &compare::ComparisonContent<'_>, catalog: Option<&Catalog>) -> View {
    let rows = shown.compared.results.iter();
    View {
        title: "A comparison by oscost".to_owned(),
        lead: compare::lead(shown),
        sections: vec![comparisons::of_runs(shown)],
        explanations: explained(catalog, rows),
    }
}

/// The user's label, or what was measured.
fn title(record: &Record) -> String {
    match (&record.label, &record.settings.study) {
        (Some(label), _) => plain(label),
        (None, Some(study)) => plain(&format!("{study}, repeated")),
        (None, None) if !record.comparisons.is_empty() => {
            "What a change costs on this machine".to_owned()
        }
        (None, None) => "What the operating system charges on this machine".to_owned(),
    }
}

/// When it was measured, and whether to its end.
fn when(record: &Record) -> String {
    let interrupted = if record.complete { "" } else { "; the run was interrupted" };
    let (started, version) = (minute(&record.started), &record.tool.version);
    format!("Measured on {started} UTC by oscost {version}{interrupted}.")
}

/// The explanations of the benchmarks of rows.
fn explained<'a>(
    known: Option<&Catalog>,
    rows: impl Iterator<Item = &'a Row>,
) -> BTreeMap<String, Vec<Section>> {
    let sections = |row: &Row| Some(catalog::explanation(known?.get(&row.benchmark)?));
    rows.filter_map(|row| Some((row.benchmark.clone(), sections(row)?))).collect()
}

/// For each family its curves, and the spread of its values.
fn families(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let mut names: Vec<&str> = Vec::new();
    for (_, row) in rows.measured() {
        if !names.contains(&family(row)) {
            names.push(family(row));
        }
    }
    let groups = curves_of(record);
    let mut blocks = Vec::new();
    for (nth, &name) in names.iter().enumerate() {
        let mut of_name = Vec::new();
        let of_family = |benchmark: &str| benchmark.split('/').next() == Some(name);
        for (at, block) in groups.iter().enumerate() {
            if !of_family(&block.curves[0].benchmark) {
                continue;
            }
            of_name.extend(curves::chart(at, block, record).map(Block::chart));
            of_name.extend(Block::list(block.sentences()));
        }
        let members: Vec<(usize, &Row)> =
            rows.measured().filter(|(_, row)| family(row) == name).collect();
        // Several names may have the same anchor.
        let anchor = rows::anchor(name);
        let before = names[..nth].iter().filter(|other| rows::anchor(other) == anchor).count();
        let id = match before {
            0 => format!("spread-{anchor}"),
            some => format!("spread-{anchor}.{some}"),
        };
        of_name.extend(spread::chart(id, &members, rows).map(Block::chart));
        if !of_name.is_empty() {
            blocks.push(Block::Heading(plain(name)));
            blocks.append(&mut of_name);
        }
    }
    let title = "Family by family".to_owned();
    (!blocks.is_empty()).then(|| Section {
        id: "families".to_owned(),
        title,
        blocks,
        ..Section::default()
    })
}

/// What follows from several rows: programs, steps of waits, groups of costs, halves of round trips.
fn together(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let measured: Vec<&Row> = rows.measured().map(|(_, row)| row).collect();
    let mut blocks = programs::blocks(&measured);
    blocks.extend(run_view::together(record, &measured));
    let sections = [timer_survey::section(record), event_scaling::section(record)];
    for section in sections.into_iter().flatten() {
        blocks.extend((!section.title.is_empty()).then_some(Block::Heading(section.title)));
        blocks.extend(section.blocks);
    }
    let (id, title) = ("together".to_owned(), "Combined results".to_owned());
    (!blocks.is_empty()).then(|| Section { id, title, blocks, ..Section::default() })
}
