//! A run of one target in the form of its study: each of its tables with what was published, what
//! was measured by the study's statistic and by oscost's, and how many times as much it was then.

use oscost_model::record::{Record, Row};

use crate::report::text::plain;
use crate::report::view::answer;
use crate::report::view::document::{Block, Section, View};
use crate::report::view::run::headline::{headline, title as run_title};
use crate::report::view::run::predictions;
use crate::report::view::run::row::is_requested;
use crate::report::view::run::{self, Plots};
use crate::report::view::sections::{first_of, grouped};
use crate::report::view::study::claims;
use crate::report::view::study::curves::curves;
use crate::report::view::study::heading::heading_lines;
use crate::report::view::study::machine;
use crate::report::view::study::method::{COUNTED, OF_TRIALS, method_text, ops_made};
use crate::report::view::study::notes::{empty_table_reason, expectations, notes, statements};
use crate::report::view::study::rows::table_of_rows;
use crate::studies::comparison::single_target::{SingleTargetComparison, SingleTargetTable};

/// A run in the form of its study.
pub fn view(comparison: &SingleTargetComparison<'_>, record: &Record, plots: Plots) -> View {
    let heading = Block::list(heading(comparison)).into_iter().collect();
    let mut sections = vec![Section { blocks: heading, ..Section::default() }];
    for table in &comparison.tables {
        let is_single = |at: usize| !table.table.series.iter().any(|it| it.rows().contains(&at));
        let mut blocks = vec![Block::Heading(title(table))];
        blocks.extend(table_of_rows(table, is_single).map(Block::Table));
        blocks.extend(empty_table_reason(table));
        blocks.extend(curves(table, comparison.clock_rates, plots));
        blocks.extend(statements(table.table));
        blocks.extend(expectations(table));
        blocks.extend(notes(table, comparison.clock_step_ns));
        sections.push(Section { blocks, ..Section::default() });
    }
    sections.extend(machine::section(comparison.study, record));
    sections.extend(claims::sections(comparison.study, &comparison.conditions, &comparison.claims));
    let asked: Vec<&Row> = record.results.iter().filter(|row| is_requested(row)).collect();
    sections.extend(run::notes(record, &asked));
    sections.extend(predictions::section(record));
    let answer = Some(answer::study::answer(comparison.study, &comparison.claims, record));
    let (title, lead) = (run_title(record), headline(record));
    View { title, lead, answer, sections, ..View::default() }
}

/// Which study, what it was measured on, and what is done here; a sentence each.
pub(in crate::report::view) fn heading(comparison: &SingleTargetComparison<'_>) -> Vec<String> {
    let study = comparison.study;
    let cycles = match (study.clock_rates.core_ghz, comparison.clock_rates.core_ghz) {
        (Some(then), Some(here)) => format!(
            "cycles are of a core of {then} GHz then, and of {here:.2} GHz here (an estimate, by a \
             chain of multiplications)"
        ),
        (None, Some(here)) => {
            format!("cycles here are of a core of {here:.2} GHz, by a chain of multiplications")
        }
        (_, None) => "the frequency of the core is unknown here: there are no cycles".to_owned(),
    };
    let mut lines = heading_lines(study, None);
    lines.push(plain(&cycles));
    lines.extend(comparison.counted_core_ghz.map(|ghz| {
        format!(
            "claims in cycles are judged at {ghz:.2} GHz, the core's clock as its counters show it"
        )
    }));
    lines
}

/// The title of a table, its unit and the method of its rows.
pub(in crate::report::view) fn title(table: &SingleTargetTable<'_>) -> String {
    let of = table.table;
    // Each part is bounded by itself: together they are as long as the table has methods.
    let methods: String = methods(table).iter().map(|it| format!("; {it}")).collect();
    format!("{}: {}. Unit: {}{methods}.", plain(&of.name), plain(&of.title), of.unit.plural())
}

/// The methods of a table's rows, each with the rows that have it if there are several.
pub(super) fn methods(table: &SingleTargetTable<'_>) -> Vec<String> {
    let rows = table.rows.iter().filter(|row| row.row.case().is_some());
    let methods = rows.map(|row| {
        let method = match row.row.is_program() {
            true if !table.table.figures.iter().any(|it| it.formula.has_figures()) => {
                COUNTED.to_owned()
            }
            true => OF_TRIALS.to_owned(),
            false => method_text(row.row.study_method.as_ref()),
        };
        (method, row.row.name.as_str())
    });
    match &grouped(methods)[..] {
        [(one, names)] => vec![format!("{one}{}", ops_here(table, names))],
        several => several
            .iter()
            .map(|(method, names)| {
                format!("{}: {method}{}", plain(&first_of(names)), ops_here(table, names))
            })
            .collect(),
    }
}

/// How many ops were made here by the study's method in the rows of these names.
fn ops_here(table: &SingleTargetTable<'_>, names: &[&str]) -> String {
    let rows = table.rows.iter().filter(|row| names.contains(&row.row.name.as_str()));
    let with_method = rows.filter(|row| row.row.study_method.is_some());
    let figures = with_method.filter_map(|row| row.measured?.study_method.as_ref());
    ops_made(&figures.collect::<Vec<_>>())
}
