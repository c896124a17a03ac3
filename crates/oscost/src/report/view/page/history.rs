//! How figures went from run to run: a chart for each series, with what changed and what was updated.

use std::collections::BTreeMap;

use plotly::Scatter;
use plotly::common::{DashType, HoverInfo, Line as Stroke, MarkerSymbol, Mode};
use plotly::layout::HoverMode;

use crate::report::figures::Style;
use crate::report::figures::quantity;
use crate::report::text::plain;
use crate::report::view::chart::{
    Along, COLOURS, Chart, Plot, Points, axis, layout, safe, titled, told, upright,
};
use crate::report::view::document::{Block, Cell, Column, Section, Table, TableRow, View};
use crate::report::view::history::{History, Mark, Series, Updated};

/// More charts than these make a page that nobody reads to its end; the table has all.
const MOST_CHARTS: usize = 100;

/// The page of a history: a table of what changed, and a chart for each series.
pub fn history(history: &History) -> View {
    let changed: Vec<&Series> = history.series.iter().filter(|it| !it.changes.is_empty()).collect();
    // Where nothing was named it is what changed that is looked at.
    let shown: Vec<&Series> =
        if history.named { history.series.iter().collect() } else { changed.clone() };
    let mut sections = vec![changes(history, &changed)];
    for (at, series) in shown.iter().take(MOST_CHARTS).enumerate() {
        let mut parts = vec![Block::chart(chart(at, series))];
        parts.extend(Block::list(series.says()));
        sections.push(Section {
            id: format!("series-{at}"),
            title: plain(&series.case),
            blocks: parts,
            ..Section::default()
        });
    }
    let span = history.series.iter().flat_map(|it| &it.points).map(|it| it.started.as_str());
    let (first, last) = (span.clone().min(), span.max());
    let day = |at: Option<&str>| plain(at.and_then(|it| it.get(..10)).unwrap_or("-"));
    let mut lead = vec![format!(
        "{} series at {}, from {} to {}; changes are looked for in the newest {} runs of each.",
        history.series.len(),
        plain(&history.target),
        day(first),
        day(last),
        history.window
    )];
    if shown.len() > MOST_CHARTS {
        lead.push(format!("The first {MOST_CHARTS} of {} are drawn.", shown.len()));
    }
    if let Some(series) = shown.first() {
        lead.push(format!(
            "Machine: {}. Kernel: {}.",
            plain(&series.machine_class),
            plain(&series.kernel_class)
        ));
    }
    View {
        title: "How figures went from run to run".to_owned(),
        lead: lead.into_iter().map(Into::into).collect(),
        sections,
        explanations: BTreeMap::new(),
    }
}

/// What changed, in a table.
fn changes(history: &History, changed: &[&Series]) -> Section {
    let mut rows = Vec::new();
    for series in changed {
        for it in &series.changes {
            let style = Style::of(it.from, series.unit);
            let point = series.points.get(it.point);
            let end = |which: usize| {
                let value = it.ci95.map(|ends| ends[which]);
                Cell::number(value.map_or("-".to_owned(), |value| format!("{value:.3}")), value)
            };
            let updated = series.marks.iter().filter(|mark| mark.point == it.point);
            let updated: Vec<String> = updated.map(Mark::text).collect();
            let cells = vec![
                Cell::text(plain(&series.case)),
                Cell::text(point.map_or(String::new(), |it| minute(&it.started))),
                Cell::number(style.with_unit(it.from), Some(it.from)),
                Cell::number(style.with_unit(it.to), Some(it.to)),
                Cell::number(format!("{:.3}", it.ratio), Some(it.ratio)),
                end(0),
                end(1),
                Cell::number(format!("{:.4}", it.p), Some(it.p)),
                Cell::number(format!("{:.4}", it.q), Some(it.q)),
                Cell::text(plain(&it.before)),
                Cell::text(plain(&it.behind)),
                Cell::text(updated.join("; ")),
            ];
            rows.push(TableRow { cells, ..TableRow::default() });
        }
    }
    let mut parts = Vec::new();
    let asked = history.series.iter().filter(|it| it.p.is_some()).count();
    parts.push(Block::Text(format!("{} of {asked} series changed (q <= 0.05).", changed.len())));
    if !rows.is_empty() {
        parts.push(Block::Table(Table {
            id: "changes".to_owned(),
            caption: "Every change".to_owned(),
            columns: vec![
                Column::text("case"),
                Column::text("since"),
                Column::number("from", "from"),
                Column::number("to", "to"),
                Column::number("ratio", "ratio"),
                Column::number("at least", "ratio_ci95_low"),
                Column::number("at most", "ratio_ci95_high"),
                Column::number("p", "p"),
                Column::number("q", "q"),
                Column::text("last run before"),
                Column::text("first run behind"),
                Column::text("updated there"),
            ],
            rows,
            interactive: true,
            ..Table::default()
        }));
        parts.push(Block::Text(crate::report::view::history::ADVICE.to_owned()));
    }
    let notes = crate::report::view::history::notes(history);
    parts.extend(Block::list(notes));
    Section {
        id: "changes-found".to_owned(),
        title: "What changed".to_owned(),
        blocks: parts,
        ..Section::default()
    }
}

/// A series, run by run, its levels, its changes, and what was updated.
fn chart(at: usize, series: &Series) -> Chart {
    let newest = series.points.last().map_or(1.0, |point| point.median);
    let style = Style::of(newest, series.unit);
    let mut plot = Plot::default();
    let mut points = Points { name: "a run each".to_owned(), ..Points::default() };
    for (which, it) in series.points.iter().enumerate() {
        let ends = it.interval.unwrap_or([it.median; 2]);
        let interval = it.interval.map(|[low, high]| {
            format!(
                "{} ({} .. {})",
                style.with_unit(it.median),
                style.number(low),
                style.number(high)
            )
        });
        let words = [
            format!("run {} of {}", which + 1, minute(&it.started)),
            interval.unwrap_or_else(|| style.with_unit(it.median)),
            format!("{}, {}", it.class.as_deref().unwrap_or("not classed"), it.run),
        ];
        points.x.push((which + 1) as f64);
        points.y.push(style.scaled(it.median));
        points.ends.push(ends.map(|end| style.scaled(end)));
        points.told.push(told(&words));
        points.rows.push(String::new());
    }
    let lowest = points.ends.iter().map(|[low, _]| *low).fold(f64::INFINITY, f64::min);
    plot.add_trace(points.trace((COLOURS[0], MarkerSymbol::Circle), Along::Y, Mode::Markers));
    for (x, y) in levels(series, &style) {
        let stroke = Stroke::new().color(COLOURS[1]).dash(DashType::Solid).width(1.5);
        let trace = Scatter::new(x, y)
            .mode(Mode::Lines)
            .show_legend(false)
            .hover_info(HoverInfo::Skip)
            .line(stroke);
        plot.add_trace(trace);
    }
    for (which, trace) in updates(series, lowest).into_iter().enumerate() {
        let symbol = if which % 2 == 0 { MarkerSymbol::TriangleUp } else { MarkerSymbol::Diamond };
        let colour = COLOURS[2 + which % 4];
        plot.add_trace(trace.trace((colour, symbol), Along::Y, Mode::Markers));
    }
    let lines = series.changes.iter().map(|it| {
        let near_end = 2 * it.point > series.points.len();
        upright(it.point as f64 + 0.5, &format!("{:.3} times", it.ratio), false, near_end)
    });
    let (shapes, notes): (Vec<_>, Vec<_>) = lines.unzip();
    let count = series.points.len() as f64;
    let below = titled(axis().range(vec![0.4, count + 0.6]), "run, the oldest first");
    let beside = titled(axis(), &format!("{}, in {}", quantity(series.unit), style.unit()));
    let layout = layout(None)
        .x_axis(below)
        .y_axis(beside)
        .shapes(shapes)
        .annotations(notes)
        .hover_mode(HoverMode::Closest);
    plot.layout = Box::new(layout);
    Chart {
        id: format!("history-{at}"),
        caption: format!(
            "{} at {}: {} runs with their 95 % intervals; lines are medians between changes, marks \
             at the foot are updates.",
            plain(&series.case),
            plain(&series.target),
            series.points.len()
        ),
        plot,
        lines: None,
        orders: Vec::new(),
    }
}

/// A time to its minute.
fn minute(at: &str) -> String {
    plain(at.get(..16).unwrap_or(at)).replace('T', " ")
}

/// The medians between changes, each from its first run to its last.
fn levels(series: &Series, style: &Style) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut levels = Vec::new();
    for (which, it) in series.changes.iter().enumerate() {
        let start = which.checked_sub(1).map_or(0, |before| series.changes[before].point);
        levels.push((start, it.point, it.from));
        if which + 1 == series.changes.len() {
            levels.push((it.point, series.points.len(), it.to));
        }
    }
    let line = |(start, end, level): (usize, usize, f64)| {
        let level = style.scaled(level);
        (vec![start as f64 + 0.6, end as f64 + 0.4], vec![level, level])
    };
    levels.into_iter().map(line).collect()
}

/// What was updated, at the foot: points for each sort of update.
fn updates(series: &Series, lowest: f64) -> Vec<Points> {
    let mut sorts: BTreeMap<Updated, Points> = BTreeMap::new();
    for mark in &series.marks {
        let points = sorts.entry(mark.what).or_insert_with(|| Points {
            name: format!("{} updated", mark.what.text()),
            ..Points::default()
        });
        points.x.push((mark.point + 1) as f64);
        points.y.push(lowest);
        points.told.push(safe(&format!("run {}: {}", mark.point + 1, mark.text())));
        points.rows.push(String::new());
    }
    sorts.into_values().collect()
}
