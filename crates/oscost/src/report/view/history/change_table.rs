//! The changes of all cases, where none was named.

use oscost_stats::change::MIN_POINTS;

use super::causes::{explanations, times};
use super::findings::{cases, probability, started};
use crate::estimate::history::{Change, History, Series};
use crate::report::figures::Style;
use crate::report::text::plain;
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// A figure of more characters than these is written in powers of ten: a record from outside may
/// hold one of twenty digits.
const MAX_FIGURE_CHARS: usize = 13;

/// The changes of all cases in a table.
pub(super) fn changed(history: &History, all: &[Series]) -> View {
    let tested = all.iter().filter(|it| it.p.is_some()).count();
    let changed = all.iter().filter(|it| !it.changes.is_empty()).count();
    let target = plain(&history.target);
    let lead = match tested {
        0 => format!(
            "nothing at {target} has enough runs to look for changes: {MIN_POINTS} usable ones of a case \
             are needed"
        ),
        _ => format!(
            "{changed} of {} at {target} changed within their newest {} runs (q <= 0.05)",
            cases(tested),
            history.window
        ),
    };
    let row = |series: &Series, it: &Change| {
        TableRow::of(vec![
            Cell::text(plain(&series.case)),
            Cell::text(started(series, it)),
            Cell::number(figure(series, it.from), Some(it.from)),
            Cell::number(times(it.ratio), Some(it.ratio)),
            Cell::number(probability(it.q), Some(it.q)),
        ])
    };
    let rows = all.iter().flat_map(|series| series.changes.iter().map(move |it| row(series, it)));
    let table = Table {
        columns: vec![
            Column::text("case"),
            Column::text("since"),
            Column::number("was", "from"),
            Column::number("times", "ratio"),
            Column::number("q", "q"),
        ],
        rows: rows.collect(),
        ..Table::default()
    };
    let table = (changed > 0).then_some(Block::Table(table));
    let explanations = Block::list(explanations(all));
    let remarks = Block::list(remarks(all));
    let blocks = table.into_iter().chain(explanations).chain(remarks).collect();
    let section = Section { blocks, ..Section::default() };
    View { lead: vec![Paragraph::from(lead)], sections: vec![section], ..View::default() }
}

/// What the table of changes does not say of all series.
fn remarks(all: &[Series]) -> Vec<String> {
    let count = |is: &dyn Fn(&Series) -> bool| all.iter().filter(|it| is(it)).count();
    let changed = count(&|it| !it.changes.is_empty());
    let without = count(&|it| it.points.is_empty());
    let untested = count(&|it| it.p.is_none()).saturating_sub(without);
    // Where some were tested, the answer counts the others.
    let untested = if all.iter().any(|it| it.p.is_some()) { 0 } else { untested };
    let missed = count(&|it| it.rejected_by_correction);
    let mut remarks = Vec::new();
    let provisional: Vec<&Series> = all.iter().filter(|it| it.recent_shift.is_some()).collect();
    if let [first, others @ ..] = &provisional[..] {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let case = plain(&first.case);
        remarks
            .push(format!("provisional: the newest runs of {case}{more} differ from those before"));
    }
    if untested > 0 {
        let cases = cases(untested);
        remarks.push(format!(
            "{cases} with fewer than {MIN_POINTS} runs: changes are looked for from {MIN_POINTS} on"
        ));
    }
    if missed > 0 {
        let cases = cases(missed);
        remarks.push(format!("{cases} would have changed if tested alone: name them"));
    }
    if without > 0 {
        remarks.push(format!("{} without a usable run", cases(without)));
    }
    if changed > 0 {
        remarks.push("`oscost history CASE` shows one with its runs and updates".to_owned());
    }
    remarks
}

/// A figure in a column.
fn figure(series: &Series, value: f64) -> String {
    let style = Style::of(value, series.unit);
    let text = style.with_unit(value);
    match text.chars().count() > MAX_FIGURE_CHARS {
        true => format!("{:.0e} {}", style.scale(value), style.unit()),
        false => text,
    }
}
