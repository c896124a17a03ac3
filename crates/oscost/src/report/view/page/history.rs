//! The history of figures on a page: a table of changes, and a chart for each series.

use oscost_stats::change::MIN_POINTS;

use crate::estimate::history::{Change, History, Series};
use crate::report::figures::Style;
use crate::report::text::{day, minute, plain};
use crate::report::view::answer;
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};
use crate::report::view::history::updates::update_text;
use crate::report::view::history::{notes, sentences, timeline};

/// The maximum number of charts; the table lists the changes of all series.
const MAX_CHARTS: usize = 100;

/// The page of a history.
pub fn history(history: &History) -> View {
    let changed: Vec<&Series> = history.series.iter().filter(|it| !it.changes.is_empty()).collect();
    // If no case was named, only the series that changed are shown.
    let shown: Vec<&Series> =
        if history.named { history.series.iter().collect() } else { changed.clone() };
    let mut sections = vec![changes(history, &changed)];
    for (number, series) in shown.iter().take(MAX_CHARTS).enumerate() {
        let timeline = timeline(format!("history-{number}"), series);
        let timeline = Block::Timeline(Box::new(timeline));
        sections.push(Section {
            id: format!("series-{number}"),
            title: plain(&series.case),
            blocks: [timeline].into_iter().chain(Block::list(sentences(series))).collect(),
            ..Section::default()
        });
    }
    let times = history.series.iter().flat_map(|it| &it.points).map(|it| it.started.as_str());
    let (first, last) = (times.clone().min(), times.max());
    let mut lead = vec![format!(
        "{} series at {}, from {} to {}; changes are searched for in the newest {} runs of each.",
        history.series.len(),
        plain(&history.target),
        first.map_or("-".to_owned(), day),
        last.map_or("-".to_owned(), day),
        history.window
    )];
    if shown.len() > MAX_CHARTS {
        lead.push(format!("The first {MAX_CHARTS} of {} are drawn.", shown.len()));
    }
    if let Some(series) = shown.first() {
        lead.push(format!(
            "Machine: {}. Kernel: any release of {}.",
            plain(&series.machine_class),
            plain(&series.kernel_class)
        ));
    }
    View {
        title: "How figures changed from run to run".to_owned(),
        lead: lead.into_iter().map(Into::into).collect(),
        answer: answer::history::answer(history),
        sections,
        ..View::default()
    }
}

/// The changes in a table.
fn changes(history: &History, changed: &[&Series]) -> Section {
    let mut all = changed.iter().flat_map(|series| &series.changes);
    let has_causes = all.any(|it| it.decomposition.is_some());
    let rows: Vec<TableRow> = changed
        .iter()
        .flat_map(|series| series.changes.iter().map(|change| row(series, change, has_causes)))
        .collect();
    let tested = history.series.iter().filter(|it| it.p.is_some()).count();
    let text = match tested {
        0 => format!(
            "No series has enough runs to look for changes: {MIN_POINTS} usable ones are needed."
        ),
        _ => format!("{} of {tested} series changed (q <= 0.05).", changed.len()),
    };
    let mut blocks = vec![Block::Text(text)];
    if !rows.is_empty() {
        let mut columns = vec![
            Column::text("case"),
            Column::text("since"),
            Column::number("from", "from"),
            Column::number("to", "to"),
            Column::number("ratio", "ratio"),
            Column::number("95 % low", "ratio_ci95_low"),
            Column::number("95 % high", "ratio_ci95_high"),
            Column::number("p", "p"),
            Column::number("q", "q"),
            Column::text("last run before"),
            Column::text("first run after"),
            Column::text("updated at that run"),
        ];
        columns.extend(has_causes.then(|| Column::text("why")));
        blocks.push(Block::Table(Table {
            id: "changes".to_owned(),
            caption: "Every change".to_owned(),
            columns,
            rows,
            interactive: true,
            ..Table::default()
        }));
    }
    blocks.extend(Block::list(notes(history)));
    Section {
        id: "changes-found".to_owned(),
        title: "Changes".to_owned(),
        blocks,
        ..Section::default()
    }
}

fn row(series: &Series, change: &Change, has_causes: bool) -> TableRow {
    let style = Style::of(change.from, series.unit);
    let point = series.points.get(change.point);
    let end = |which: usize| {
        let value = change.ci95.map(|ends| ends[which]);
        Cell::number(value.map_or("-".to_owned(), |value| format!("{value:.3}")), value)
    };
    let updated = series.updates.iter().filter(|mark| mark.point == change.point);
    let updated: Vec<String> = updated.map(update_text).collect();
    let why = change.decomposition.as_ref().map(|it| plain(&it.sentence)).unwrap_or_default();
    let mut cells = vec![
        Cell::text(plain(&series.case)),
        Cell::text(point.map_or(String::new(), |it| minute(&it.started))),
        Cell::number(style.with_unit(change.from), Some(change.from)),
        Cell::number(style.with_unit(change.to), Some(change.to)),
        Cell::number(format!("{:.3}", change.ratio), Some(change.ratio)),
        end(0),
        end(1),
        Cell::number(format!("{:.4}", change.p), Some(change.p)),
        Cell::number(format!("{:.4}", change.q), Some(change.q)),
        Cell::text(plain(&change.before)),
        Cell::text(plain(&change.after)),
        Cell::text(updated.join("; ")),
    ];
    cells.extend(has_causes.then(|| Cell::text(why).with_style("small")));
    TableRow::of(cells)
}
