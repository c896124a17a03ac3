//! The page of a study: its tables then and now, its pictures, its claims, and what differs.

use oscost_model::record::Record;

use super::study_run::{JoinedRun, StudyComparison, StudyRun, command};
use super::{claims, picture};
use crate::report::text::plain;
use crate::report::view::document::{Block, Paragraph, Section, View};
use crate::report::view::run::Plots;
use crate::report::view::study::ab;
use crate::report::view::study::claims::{CONDITIONS, list_of_conditions};
use crate::report::view::study::curves::curves;
use crate::report::view::study::heading::heading_lines;
use crate::report::view::study::list::{describe, machine, run_date};
use crate::report::view::study::machine as machines;
use crate::report::view::study::notes::{expectations, notes, statements};
use crate::report::view::study::published::page;
use crate::report::view::study::rows::table_of_rows;
use crate::report::view::study::run::methods;
use crate::report::view::study::systems;
use crate::studies::comparison::single_target::{SingleTargetComparison, SingleTargetTable};
use crate::studies::comparison::two_targets::TwoTargetComparison;
use crate::studies::machine::condition;

/// The page of a study.
pub(super) struct StudyPage;

impl StudyPage {
    pub(super) fn view(StudyRun { study, run }: &StudyRun<'_>) -> View {
        let Some(JoinedRun { record, joined }) = run else {
            let mut as_published = page(study, &study.id, &[]);
            let text = format!("Not measured here: {}.", command(study));
            as_published.lead.insert(0, Paragraph::from(text));
            as_published.sections.retain(|section| section.title != "Claims of the study");
            as_published.sections.push(claims::unjudged_claims(study));
            return as_published;
        };
        let mut lead: Vec<String> = heading_lines(study, None);
        lead.push(measured_on(joined, record));
        let mut sections = match joined {
            StudyComparison::OneTarget(comparison) => of_one_target(comparison),
            StudyComparison::TwoTargets(comparison) => of_two_targets(comparison),
        };
        let conditions = match joined {
            StudyComparison::OneTarget(comparison) => list_of_conditions(&comparison.conditions),
            StudyComparison::TwoTargets(_) => {
                list_of_conditions(&condition::judge_all(&study.conditions, record))
            }
        };
        sections.push(claims::in_full(study, joined));
        sections.extend(machines::section(study, record));
        sections.extend(conditions.map(|list| Section::of(CONDITIONS, [list])));
        View {
            title: plain(&format!("{}: {}", study.id, study.title)),
            lead: lead.into_iter().map(Paragraph::from).collect(),
            sections,
            ..View::default()
        }
    }
}

/// The machine of the run, its day, and the command that makes it again.
fn measured_on(joined: &StudyComparison<'_>, record: &Record) -> String {
    let study = match joined {
        StudyComparison::OneTarget(it) => it.study,
        StudyComparison::TwoTargets(it) => it.study,
    };
    let (peer, option) = match record.machines.get(1) {
        Some(peer) => (format!(", with {} as the peer", describe(Some(peer))), " --peer HOST"),
        None => (String::new(), ""),
    };
    plain(&format!(
        "Measured on {}{peer} ({}); run {}. Again: {}{option}.",
        machine(record),
        run_date(study, record),
        record.id,
        command(study)
    ))
}

fn of_one_target(comparison: &SingleTargetComparison<'_>) -> Vec<Section> {
    let tables = comparison.tables.iter().enumerate().map(|(at, table)| {
        let is_single = |row: usize| !table.table.series.iter().any(|it| it.rows().contains(&row));
        let id = format!("{}-{}", comparison.study.id, at + 1);
        let mut blocks = methods_of(table);
        blocks.extend(systems::blocks(comparison.study, table.table));
        blocks.extend(table_of_rows(table, is_single).map(Block::Table));
        blocks.extend(picture::of_rows(table, &id).map(Block::chart));
        blocks.extend(picture::of_curves(table, &id).into_iter().map(Block::chart));
        blocks.extend(curves(table, comparison.clock_rates, Plots::None));
        blocks.extend(statements(table.table));
        blocks.extend(expectations(table));
        blocks.extend(notes(table, comparison.clock_step_ns));
        Section::of(plain(&format!("{}: {}", table.table.name, table.table.title)), blocks)
    });
    tables.collect()
}

/// The unit of a table, and the method of its rows.
fn methods_of(table: &SingleTargetTable<'_>) -> Vec<Block> {
    let unit = format!("Unit: {}.", table.table.unit.plural());
    match &methods(table)[..] {
        [] => vec![Block::Text(unit)],
        [one] => vec![Block::Text(format!("{unit} Here: {one}."))],
        several => {
            let list = Block::list(several.iter().cloned());
            std::iter::once(Block::Text(format!("{unit} Here:"))).chain(list).collect()
        }
    }
}

fn of_two_targets(comparison: &TwoTargetComparison<'_>) -> Vec<Section> {
    let tables = comparison.tables.iter().enumerate().map(|(at, table)| {
        let id = format!("{}-{}", comparison.study.id, at + 1);
        let mut blocks = vec![
            Block::Text(ab::title(comparison, table)),
            Block::Table(ab::by_study_statistic(comparison, table)),
        ];
        blocks.extend(picture::of_ratios(comparison, table, &id).map(Block::chart));
        blocks.push(Block::Heading(ab::median_heading(comparison, table)));
        blocks.push(Block::Table(ab::by_medians(comparison, table)));
        blocks.extend(ab::notes(comparison, table));
        Section::of(plain(&format!("{}: {}", table.table.name, table.table.title)), blocks)
    });
    tables.collect()
}
