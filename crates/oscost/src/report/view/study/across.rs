//! The same acts in all studies and here: a section for each act, a page with its curve, a table of
//! every figure, and the document.

mod content;
mod costs;
mod curve;
mod document;
mod lessons;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use oscost_model::unit::Unit;

pub use self::content::AcrossContent;
use self::costs::{costs, distinct, range, unit};
pub use self::document::json;
pub use self::table::figures;
use crate::report::figures::rough;
use crate::report::text::{day, plain};
use crate::report::view::document::{
    Block, Cell, Column, Fact, Paragraph, Section, Table, TableRow, View,
};
use crate::studies::figures::unit::UnitKind;
use crate::studies::history::across::{Across, ActFigures, AgeFigure, CostHere, CyclesBy};

/// The acts in the terminal: the figures that stand for each study, and those here.
pub fn view(content: &AcrossContent<'_>) -> View {
    let sections = content.across.acts.iter().map(|act| {
        let mut blocks = vec![Block::Text(plain(act.act.definition)), Block::Table(ages(act))];
        blocks.extend(Block::list(lessons::of_act(act)));
        Section::of(act.act.name, blocks)
    });
    View {
        title: TITLE.to_owned(),
        lead: lead(content),
        sections: sections.chain([end(content)]).collect(),
        ..View::default()
    }
}

/// The acts as a page for a browser: a curve for each act, and a table of every figure.
pub fn page(content: &AcrossContent<'_>) -> View {
    let acts = content.across.acts.iter().enumerate().map(|(number, act)| {
        let mut blocks = vec![Block::Text(plain(act.act.definition))];
        blocks.extend(curve::chart(number, act).map(Block::chart));
        blocks.extend(Block::list(lessons::of_act(act)));
        let id = format!("act-{}", act.act.key);
        Section { id, ..Section::of(act.act.name, blocks) }
    });
    let table = Table { interactive: true, ..figures(content.across).without_empty_columns() };
    let all = Section { id: "figures".to_owned(), ..Section::of(ALL, [Block::Table(table)]) };
    let sections = acts.chain([all, end(content)]).collect();
    View { title: TITLE.to_owned(), lead: lead(content), sections, ..View::default() }
}

/// The acts as a page of Markdown.
pub fn document(content: &AcrossContent<'_>) -> View {
    let mut view = view(content);
    let table = figures(content.across).without_empty_columns();
    let at = view.sections.len() - 1;
    view.sections.insert(at, Section::of(ALL, [Block::Table(table)]));
    view
}

/// The same with a curve for each act, for a medium that has pictures.
pub fn document_with_curves(content: &AcrossContent<'_>) -> View {
    let mut document = document(content);
    let acts = content.across.acts.iter().enumerate();
    for ((number, act), section) in acts.zip(&mut document.sections) {
        if let Some(chart) = curve::chart(number, act) {
            section.blocks.insert(1, Block::chart(chart));
        }
    }
    document
}

const TITLE: &str = "The same acts over the years";
const ALL: &str = "Every published figure, and its counterpart here";

/// What was compared, and what follows from it.
fn lead(content: &AcrossContent<'_>) -> Vec<Paragraph> {
    let here = match content.machine {
        Some(machine) => format!("here: {} ({})", plain(machine), plain(content.target)),
        None => format!("here: no run at {} has measured an act", plain(content.target)),
    };
    let dates: Vec<&str> = counterparts(content.across).map(|it| it.started.as_str()).collect();
    let dates = dates.iter().min().zip(dates.iter().max()).map(|(first, last)| {
        match (day(first), day(last)) {
            (first, last) if first == last => format!(", measured on {first}"),
            (first, last) => format!(", measured from {first} to {last}"),
        }
    });
    let mut lead = vec![format!("{here}{}", dates.unwrap_or_default())];
    lead.extend(lessons::summary(content.across));
    lead.into_iter().map(Into::into).collect()
}

/// The notes on the figures, and what is missing.
fn end(content: &AcrossContent<'_>) -> Section {
    let mut notes = lessons::notes();
    notes.extend(counted_cycles_note(content.across));
    if content.other_runs > 0 {
        let runs = if content.other_runs == 1 { "run" } else { "runs" };
        let text = format!("left out: {} {runs} of other machines", content.other_runs);
        notes.push(text);
    }
    let mut blocks: Vec<Block> = Block::list(notes).into_iter().collect();
    let missing = &content.across.missing;
    if !missing.is_empty() {
        let count = missing.len();
        let cases = if count == 1 { "case was" } else { "cases were" };
        blocks.push(Block::Text(format!("{count} {cases} never measured here.")));
        let at = match content.target {
            "local" => String::new(),
            target => format!(" --at {}", plain(target)),
        };
        let command = format!("oscost run{at} {}", missing.join(" "));
        blocks.push(Block::Facts(vec![Fact::command("command", command)]));
    }
    Section { blocks, ..Section::default() }
}

/// Which counterparts here have cycles that the processor counted; nothing if none has.
fn counted_cycles_note(across: &Across<'_>) -> Option<String> {
    let is_counted = |it: &&AgeFigure<'_>| {
        it.here.as_ref().is_some_and(|here| here.cycles_by == CyclesBy::Counter)
    };
    let figures = || across.acts.iter().flat_map(|act| &act.figures);
    let cases: BTreeSet<&str> =
        figures().filter(is_counted).filter_map(|it| it.row.case()).collect();
    let all: BTreeSet<&str> =
        figures().filter(|it| it.here.is_some()).filter_map(|it| it.row.case()).collect();
    (!cases.is_empty()).then(|| {
        format!(
            "cycles here of {} of {} cases were counted by the processor; those of the others are \
             times at the core's frequency, which was estimated before the run",
            cases.len(),
            all.len()
        )
    })
}

/// All counterparts here.
fn counterparts<'a>(across: &'a Across<'_>) -> impl Iterator<Item = &'a CostHere> {
    across.acts.iter().flat_map(|act| &act.figures).filter_map(|it| it.here.as_ref())
}

/// The figures of an act: those that stand for each study, by year, and those here.
fn ages(act: &ActFigures<'_>) -> Table {
    let unit = unit(act.act.kind);
    let mut rows: Vec<TableRow> = Vec::new();
    for it in act.figures.iter().filter(|it| it.is_reference) {
        let name = match it.system {
            Some(system) => format!("{}, {system}", it.study.id),
            None => it.study.id.clone(),
        };
        let mut cells = vec![Cell::text(it.year.to_string()), Cell::text(plain(&name))];
        cells.extend(costs(&it.then, unit));
        cells.push(Cell::text(span(act, it, unit)));
        rows.push(TableRow::of(cells));
    }
    for (case, studies) in distinct(act) {
        let Some(it) = studies.first().and_then(|it| it.here.as_ref()) else { continue };
        let year = it.started.get(..4).unwrap_or_default();
        let mut cells = vec![Cell::text(year), Cell::text(here_name(act, &studies))];
        cells.extend(costs(&it.cost, unit));
        cells.push(Cell::text(""));
        rows.push(TableRow { notes: vec![plain(case)], ..TableRow::of(cells) });
    }
    let first = if act.act.kind == UnitKind::Rate { "rate" } else { "time" };
    let cycles = if act.act.kind == UnitKind::Rate { "B/cycle" } else { "cycles" };
    let columns = vec![
        Column::text("year"),
        Column::text("study"),
        Column::number(first, first),
        Column::number(cycles, "cycles"),
        Column::number("calls", "calls"),
        Column::number("loads", "loads"),
        Column { optional: true, ..Column::text("all its systems") },
    ];
    Table { columns, rows, ..Table::default() }.without_empty_columns()
}

/// `here`, and which studies' act it is where there are several.
fn here_name(act: &ActFigures<'_>, of: &[&AgeFigure<'_>]) -> String {
    if distinct(act).len() == 1 {
        return "here".to_owned();
    }
    let first = of.first().map_or_else(String::new, |it| plain(&it.study.id));
    match of.len() {
        0 | 1 => format!("here, as {first}"),
        count => format!("here, as {first} +{}", count - 1),
    }
}

/// The lowest and the highest of the systems of a study's row.
fn span(act: &ActFigures<'_>, of: &AgeFigure<'_>, unit: Unit) -> String {
    let same = |it: &&AgeFigure<'_>| std::ptr::eq(it.row, of.row);
    let all: Vec<f64> = act.figures.iter().filter(same).flat_map(|it| it.then.value).collect();
    let lowest = all.iter().copied().fold(f64::INFINITY, f64::min);
    let highest = all.iter().copied().fold(0.0, f64::max);
    if all.len() <= 2 {
        return String::new();
    }
    range([rough(lowest, unit), rough(highest, unit)])
}
