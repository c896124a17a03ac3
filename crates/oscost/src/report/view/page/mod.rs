//! A run, a comparison, a history or a bill on a page: every figure, charts, and the machine.

mod bill;
mod comparisons;
mod curves;
mod history;
mod machine;
mod names;
mod price_list;
mod rows;
mod spread;
mod study;
mod work_bar;

use std::collections::BTreeMap;

use oscost_model::definition::Catalog;
use oscost_model::record::{Record, Row};

use crate::report::text::{minute, plain};
use crate::report::view::answer;
use crate::report::view::comparison::{ab, compare};
use crate::report::view::document::{Answer, Block, Section, View};
use crate::report::view::lists::catalog;
pub use crate::report::view::page::bill::bill;
use crate::report::view::page::curves::RowsOfPoints;
pub use crate::report::view::page::history::history;
use crate::report::view::page::price_list::PriceList;
use crate::report::view::page::rows::Rows;
pub use crate::report::view::page::study::StudyComparison;
use crate::report::view::run as run_view;
use crate::report::view::run::curves::groups as curves_of;
use crate::report::view::run::headline;
use crate::report::view::run::{event_scaling, predictions, programs, timer_survey};
use crate::report::view::sections;

/// A run, its study, and the definitions of its benchmarks.
#[derive(Debug)]
pub struct PageContent<'a> {
    /// The run, with its raw batches if the record has them.
    pub record: &'a Record,
    /// The run joined with its study, if it was measured for one.
    pub study: Option<StudyComparison<'a>>,
    /// The explanations of benchmarks.
    pub catalog: Option<&'a Catalog>,
}

/// The page of a run.
pub fn run(shown: &PageContent<'_>) -> View {
    let record = shown.record;
    let rows = Rows::of(record);
    let requested: Vec<&Row> = rows.requested.iter().map(|it| it.row).collect();
    let of_study = shown.study.as_ref().map(|of| study::section(of, record));
    let PriceList { costs, others } = PriceList::of(&rows, record, shown.catalog);
    let sections = [
        of_study,
        comparisons::of_run(record),
        costs,
        others,
        sections::not_measured(&requested),
        Some(machine::section(record)),
        families(&rows, record),
        together(&rows, record),
        predictions::section(record),
        rows::section(&rows, record),
        run_view::notes(record, &requested),
    ];
    View {
        title: title(record),
        lead: headline::headline(record).into_iter().chain([date_line(record).into()]).collect(),
        answer: answer(shown),
        sections: sections.into_iter().flatten().collect(),
        explanations: explained(shown.catalog, rows.requested.iter().map(|it| it.row)),
        ..View::default()
    }
}

/// What the run found: of its study, of what it compared, or of its figures.
fn answer(shown: &PageContent<'_>) -> Option<Answer> {
    let record = shown.record;
    match &shown.study {
        Some(StudyComparison::One(it)) => Some(answer::study::answer(it.study, &it.claims, record)),
        Some(StudyComparison::Two(it)) => Some(answer::study::answer(it.study, &it.claims, record)),
        None if record.comparisons.is_empty() => answer::run::answer(record),
        None => ab::answer(record),
    }
}

/// The page of runs that were compared.
pub fn comparison(shown: &compare::ComparisonContent<'_>, catalog: Option<&Catalog>) -> View {
    let rows = shown.compared.results.iter();
    View {
        title: title_of_comparison(shown),
        lead: compare::lead(shown),
        answer: compare::answer(shown),
        sections: vec![comparisons::of_runs(shown)],
        explanations: explained(catalog, rows),
        ..View::default()
    }
}

/// Which runs are compared: `vm-6.12 against vm-6.1`.
fn title_of_comparison(shown: &compare::ComparisonContent<'_>) -> String {
    let name = |word: &str, run: &Record| match &run.label {
        Some(label) => plain(label),
        None => format!("{word} {}", plain(run.id.get(..13).unwrap_or(&run.id))),
    };
    let side = |word: &str, runs: &[Record]| match runs {
        [] => "nothing".to_owned(),
        [run] => name(word, run),
        [first, others @ ..] => format!("{} and {} more", name(word, first), others.len()),
    };
    format!("{} against {}", side("Run", shown.new), side("run", shown.base))
}

/// What was measured, after the user's label.
fn title(record: &Record) -> String {
    let what = match &record.settings.study {
        Some(study) => plain(&format!("{study}, repeated")),
        None if !record.comparisons.is_empty() => "What a change costs on this machine".to_owned(),
        None => "What the operating system charges on this machine".to_owned(),
    };
    match &record.label {
        Some(label) => format!("{}: {what}", plain(label)),
        None => what,
    }
}

/// When it was measured, and whether it was cut short, by its budget or by a signal.
fn date_line(record: &Record) -> String {
    let cut_short = if record.complete { "" } else { "; the run was cut short" };
    let (started, version) = (minute(&record.started), &record.tool.version);
    format!("Measured on {started} UTC by oscost {version}{cut_short}.")
}

/// The explanations of the benchmarks of rows.
fn explained<'a>(
    known: Option<&Catalog>,
    rows: impl Iterator<Item = &'a Row>,
) -> BTreeMap<String, Vec<Section>> {
    let sections = |row: &Row| Some(catalog::explanation(known?.get(&row.benchmark)?));
    rows.filter_map(|row| Some((row.benchmark.clone(), sections(row)?))).collect()
}

/// The curves of each family, and the spread of its repetitions.
fn families(rows: &Rows<'_>, record: &Record) -> Option<Section> {
    let groups = curves_of(record);
    let mut groups_of: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (number, group) in groups.iter().enumerate() {
        let name = group.curves[0].benchmark.split('/').next().unwrap_or_default();
        groups_of.entry(name).or_default().push(number);
    }
    let points = RowsOfPoints::of(record);
    // Several names may have the same anchor.
    let mut anchors: BTreeMap<String, usize> = BTreeMap::new();
    let mut blocks = Vec::new();
    for (name, members) in rows.by_family() {
        let mut family_blocks = Vec::new();
        for &number in groups_of.get(name).into_iter().flatten() {
            let group = &groups[number];
            family_blocks.extend(curves::chart(number, group, &points).map(Block::chart));
            family_blocks.extend(Block::list(group.sentences()));
        }
        let anchor = rows::anchor(name);
        let before = anchors.entry(anchor.clone()).or_default();
        let id = match *before {
            0 => format!("spread-{anchor}"),
            some => format!("spread-{anchor}.{some}"),
        };
        *before += 1;
        family_blocks.extend(spread::chart(id, &members, rows).map(Block::chart));
        if !family_blocks.is_empty() {
            blocks.push(Block::Heading(plain(name)));
            blocks.append(&mut family_blocks);
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
    let measured: Vec<&Row> = rows.measured_rows().map(|it| it.row).collect();
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
