//! Figures from run to run: series with their level changes and the software updates between runs.

pub(super) mod causes;
#[cfg(test)]
mod tests;
pub(super) mod updates;

use std::collections::BTreeMap;

use oscost_model::unit::Unit;
use oscost_stats::change::{MIN_POINTS, WINDOW_POINTS};
use serde::Serialize;

use self::causes::{counts_text, explanation, explanations, times};
use self::updates::update_text;
use crate::estimate::history::{Change, History, LeftOut, Point, Series, Update, UpdatedPart};
use crate::report::figures::Style;
use crate::report::text::{class_text, day, minute, plain, shortest_unique};
use crate::report::view::answer;
use crate::report::view::document::timeline::{self, LevelChange, Timeline, TimelineRun};
use crate::report::view::document::{
    Block, Cell, Column, Paragraph, Section, Table, TableRow, View,
};

/// The version of the document.
pub const SCHEMA: &str = "oscost.history/1";

/// More series than these are not read one after the other.
const MAX_SERIES: usize = 10;
/// An update this many runs from a change may be its cause: of a step of 5 % nine in ten are placed
/// within two runs.
const MAX_DISTANCE_RUNS: usize = 2;
/// Of more other targets than these, the first are named.
const MAX_TARGETS: usize = 4;
/// A figure of more characters than these is written in powers of ten: a record from outside may
/// hold one of twenty digits.
const MAX_FIGURE_CHARS: usize = 13;

/// The history on a screen: one series with its picture, several in short, or where no case was
/// named a table of those that changed.
pub fn view(history: &History) -> View {
    let mut view = match (history.named, &history.series[..]) {
        (_, []) => View {
            lead: vec![format!("no figure of {} is kept", plain(&history.target)).into()],
            ..View::default()
        },
        (true, series) => named(series),
        (false, all) => changed(history, all),
    };
    let end = Block::list(notes(history)).into_iter().collect();
    view.sections.push(Section { blocks: end, ..Section::default() });
    View { answer: answer::history::answer(history), ..view }
}

/// The series that were named, a section each.
fn named(series: &[Series]) -> View {
    let is_alone = series.iter().filter(|it| !it.secondary).count() == 1;
    // Of many, those without a usable run are only counted.
    let (usable, unusable): (Vec<&Series>, Vec<&Series>) =
        series.iter().partition(|it| series.len() <= MAX_SERIES || !it.points.is_empty());
    let mut sections: Vec<Section> =
        usable.iter().take(MAX_SERIES).map(|it| section(it, is_alone && !it.secondary)).collect();
    sections.extend(without_usable_run(&unusable));
    if let Some(others) = usable.get(MAX_SERIES..).filter(|others| !others.is_empty()) {
        let changed = others.iter().filter(|it| !it.changes.is_empty()).count();
        let text = format!(
            "and {} more series, {changed} of them with a change: name fewer cases, or write all of \
             them with --json",
            others.len()
        );
        sections.push(Section { blocks: vec![Block::Text(text)], ..Section::default() });
    }
    View { sections, ..View::default() }
}

/// The series without a usable run, in one line.
fn without_usable_run(unusable: &[&Series]) -> Option<Section> {
    // A run is left out of each of them: the largest count is that of the runs.
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for left in unusable.iter().flat_map(|it| &it.left_out) {
        let count = by_reason.entry(&left.reason).or_default();
        *count = left.runs.max(*count);
    }
    let reasons: Vec<String> =
        by_reason.iter().map(|(why, count)| format!("{}: {}", plain(why), runs(*count))).collect();
    let have = if unusable.len() == 1 { "has" } else { "have" };
    let text = match reasons.is_empty() {
        true => format!("{} {have} no usable run", cases(unusable.len())),
        false => {
            format!("{} {have} no usable run ({})", cases(unusable.len()), reasons.join("; "))
        }
    };
    let section = || Section { blocks: vec![Block::Text(text)], ..Section::default() };
    (!unusable.is_empty()).then(section)
}

/// A series: its newest figure and its changes; where it is the only one, also its class and picture.
fn section(series: &Series, is_alone: bool) -> Section {
    let Series { case, target, points, .. } = series;
    let peer = match (&series.peer_host, series.peer) {
        (Some(host), true) => format!(", its other end at {}", plain(host)),
        (None, true) => ", its other end on another machine".to_owned(),
        (_, false) => String::new(),
    };
    let span = match (points.first(), points.last()) {
        (Some(first), Some(last)) => {
            let (first, last) = (day(&first.started), day(&last.started));
            let days = if first == last { first } else { format!("{first} to {last}") };
            format!("{}, {days}", runs(points.len()))
        }
        _ => "no usable run".to_owned(),
    };
    let older = match series.older_runs {
        0 => String::new(),
        older => format!(" ({} older)", runs(older)),
    };
    let mut head = Vec::new();
    if is_alone {
        head.push(format!("machine: {}", plain(&series.machine_class)));
        // An update of the kernel is a mark of the series, and no other series.
        head.push(format!("kernel: any release of {}", plain(&series.kernel_class)));
    }
    head.extend(points.last().map(|last| {
        let style = Style::of(last.median, series.unit);
        format!("newest: {}", figure_with_intervals(last, &style))
    }));
    head.extend(
        series.between_run_sd.map(|sd| {
            format!("runs of one level vary by {:.1} % (standard deviation)", 100.0 * sd)
        }),
    );
    let sentences = sentences(series);
    let blocks = match is_alone {
        true => {
            let picture = Block::Timeline(Box::new(timeline(String::new(), series)));
            let head = Block::list(head);
            head.into_iter().chain([picture]).chain(Block::list(sentences)).collect()
        }
        false => Block::list(head.into_iter().chain(sentences)).into_iter().collect(),
    };
    let title = format!("{} at {}{peer}: {span}{older}", plain(case), plain(target));
    Section { title, blocks, ..Section::default() }
}

/// A figure with its intervals: between runs, if it is known, and what the run's own repetitions
/// leave open.
fn figure_with_intervals(point: &Point, style: &Style) -> String {
    let ends = |[low, high]: [f64; 2]| format!("{} .. {}", style.number(low), style.number(high));
    let between = point.between_run_ci95.map(ends);
    let within = point.interval.map(|it| format!("{} within the run", ends(it)));
    let intervals: Vec<String> = between.into_iter().chain(within).collect();
    let figure = style.with_unit(point.median);
    if intervals.is_empty() { figure } else { format!("{figure} ({})", intervals.join("; ")) }
}

/// A series as a timeline.
pub(super) fn timeline(id: String, series: &Series) -> Timeline {
    let newest = series.points.last().map_or(1.0, |point| point.median);
    let style = Style::of(newest, series.unit);
    // Intervals of one kind: with few runs only the newest has one between runs.
    let is_known = series.between_run_sd.is_some();
    let run = |(number, point): (usize, &Point)| {
        let figure = figure_with_intervals(point, &style);
        let class = point.class.as_deref().unwrap_or("not classed");
        let mut details = vec![
            format!("run {} of {}", number + 1, minute(&point.started)),
            figure,
            format!("{}, {}", class_text(class), point.run),
        ];
        details.extend(point.counts.as_ref().and_then(|it| counts_text(&it.medians)));
        TimelineRun {
            day: day(&point.started),
            figure: point.median,
            interval: point.between_run_ci95.filter(|_| is_known).or(point.interval),
            details,
        }
    };
    let change =
        |it: &Change| LevelChange { run: it.point, from: it.from, to: it.to, ratio: it.ratio };
    let update = |mark: &Update| timeline::Update {
        run: mark.point,
        kind: mark.part.text(),
        letter: letter(mark.part),
        text: update_text(mark),
    };
    let which = if is_known { " between runs" } else { "" };
    Timeline {
        id,
        caption: format!(
            "{} at {}: {} runs with their 95 % intervals{which}; lines are medians between changes, \
             symbols at the bottom are updates.",
            plain(&series.case),
            plain(&series.target),
            series.points.len()
        ),
        unit: series.unit,
        runs: series.points.iter().enumerate().map(run).collect(),
        changes: series.changes.iter().map(change).collect(),
        updates: series.updates.iter().map(update).collect(),
    }
}

/// The letter of what can be updated.
fn letter(updated: UpdatedPart) -> char {
    match updated {
        UpdatedPart::Kernel => 'K',
        UpdatedPart::Image => 'I',
        UpdatedPart::Microcode => 'M',
        UpdatedPart::CommandLine => 'L',
        UpdatedPart::Mitigations => 'G',
        UpdatedPart::Modules => 'S',
        UpdatedPart::Tracers => 'T',
        UpdatedPart::Clock => 'R',
        UpdatedPart::Mode => 'W',
        UpdatedPart::Cpu => 'P',
        UpdatedPart::Oscost => 'O',
        UpdatedPart::Worker => 'C',
    }
}

/// What is in none of the series, and why.
pub(super) fn notes(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    // Where cases were named, each says its own.
    if !history.named {
        if !history.left_out.is_empty() {
            notes.push(format!("left out of a case or more: {}", reasons(&history.left_out)));
        }
        if !history.other_targets.is_empty() {
            notes.push(other_targets(&history.other_targets));
        }
    }
    if !history.without_figures.is_empty() {
        notes.push(format!("not read: {}", reasons(&history.without_figures)));
    }
    notes
}

/// `3 runs: why; 1 run: why`.
fn reasons(left: &[LeftOut]) -> String {
    let one = |it: &LeftOut| format!("{}: {}", runs(it.runs), plain(&it.reason));
    left.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

fn cases(count: usize) -> String {
    format!("{count} case{}", if count == 1 { "" } else { "s" })
}

/// What is found in a series, a sentence or two a piece.
pub(super) fn sentences(series: &Series) -> Vec<String> {
    let mut sentences: Vec<String> = series.changes.iter().map(|it| change(series, it)).collect();
    sentences.extend(no_change(series));
    sentences.extend(series.autocorrelation.map(|share| {
        format!(
            "successive runs are correlated: {share:.2} of a run's deviation is that of the run \
             before it, which was removed before testing for changes"
        )
    }));
    sentences.extend(newest(series));
    sentences.extend(unit_of_verdict(series));
    if !series.left_out.is_empty() {
        sentences.push(format!("left out: {}", reasons(&series.left_out)));
    }
    if !series.other_targets.is_empty() {
        sentences.push(other_targets(&series.other_targets));
    }
    sentences
}

/// Whether the verdict on a case that follows the core's rate rests on this series.
fn unit_of_verdict(series: &Series) -> Option<String> {
    let in_cycles = series.unit == Unit::CyclesPerOp;
    let of = |in_cycles: bool| if in_cycles { "cycles of the core" } else { "time" };
    let (own, other) = (of(in_cycles), of(!in_cycles));
    match series.secondary {
        true => Some(format!(
            "shown for comparison: the case follows the core's rate, and is judged in {other}, which \
             varies less between runs than {own}"
        )),
        false => in_cycles.then(|| {
            format!(
                "judged in {own}: the case follows the core's rate, and they vary less between runs \
                 than its {other}"
            )
        }),
    }
}

fn other_targets(targets: &[String]) -> String {
    let shown: Vec<String> = targets.iter().take(MAX_TARGETS).map(|target| plain(target)).collect();
    let more = targets.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("also measured at other targets (--at): {}{more}", shown.join(", "))
}

fn change(series: &Series, it: &Change) -> String {
    let style = Style::of(it.from, series.unit);
    let (from, to) = (style.number(it.from), style.with_unit(it.to));
    let interval = it.ci95.map(|[low, high]| format!(" ({low:.3} .. {high:.3})"));
    let interval = interval.unwrap_or_else(|| ", too few runs for an interval".to_owned());
    let ids: Vec<&str> = series.points.iter().map(|point| point.run.as_str()).collect();
    let length = shortest_unique(&ids);
    let id = |id: &String| id.get(..length).unwrap_or(id).to_owned();
    let near =
        series.updates.iter().filter(|it_| it_.point.abs_diff(it.point) <= MAX_DISTANCE_RUNS);
    let near: Vec<String> = near
        .map(|mark| match mark.point == it.point {
            true => format!("at that run: {}", update_text(mark)),
            false => format!("at run {}: {}", mark.point + 1, update_text(mark)),
        })
        .collect();
    let near = match near.is_empty() {
        true => {
            let watched = UpdatedPart::ALL.map(UpdatedPart::text).join(", ");
            format!("nothing that is watched was updated within two runs ({watched})")
        }
        false => format!("updated {}", near.join("; ")),
    };
    let counted = explanation(it).map(|text| format!(" {text}")).unwrap_or_default();
    format!(
        "change at run {} of {}: {from} -> {to}, {} times{interval}; p {}, q {}. Between runs {} and \
         {}; {near}.{counted}",
        it.point + 1,
        started(series, it),
        times(it.ratio),
        probability(it.p),
        probability(it.q),
        id(&it.before),
        id(&it.after),
    )
}

/// The day of the first run after a change.
fn started(series: &Series, it: &Change) -> String {
    series.points.get(it.point).map_or(String::new(), |point| day(&point.started))
}

/// A p or a q.
fn probability(p: f64) -> String {
    if p < 0.001 { format!("{p:.4}") } else { format!("{p:.3}") }
}

/// That no change was found, and what that does not say.
fn no_change(series: &Series) -> Option<String> {
    let count = series.points.len();
    match series.p.zip(series.q) {
        None if count == 0 => None,
        None if count < MIN_POINTS => {
            Some(format!("{}: changes are looked for from {MIN_POINTS} on", runs(count)))
        }
        None => Some(format!(
            "{}, but of fewer than {MIN_POINTS} times: runs within an hour count as one, and changes \
             are looked for from {MIN_POINTS} on",
            runs(count)
        )),
        Some((p, q)) if series.changes.is_empty() => {
            let window = match count > WINDOW_POINTS {
                true => format!(" in the newest {WINDOW_POINTS} runs: older ones were not tested"),
                false => String::new(),
            };
            let others = match series.rejected_by_correction {
                true => " Tested alone it would have changed: name only this case.",
                false => "",
            };
            Some(format!(
                "no change shows{window} (p {}, q {}). A change of less than 2 %, or of less than an \
                 interval, is not reported.{others}",
                probability(p),
                probability(q)
            ))
        }
        Some(_) => None,
    }
}

fn newest(series: &Series) -> Option<String> {
    let it = series.recent_shift.as_ref()?;
    let style = Style::of(it.from, series.unit);
    let direction = if it.to > it.from { "above" } else { "below" };
    Some(format!(
        "provisional: the newest {} runs are {direction} all of the {} before them, {} -> {}, {} \
         times. The next runs will show whether it lasts.",
        it.runs,
        it.before,
        style.number(it.from),
        style.with_unit(it.to),
        times(it.ratio),
    ))
}

/// The changes of all cases in a table.
fn changed(history: &History, all: &[Series]) -> View {
    let tested = all.iter().filter(|it| it.p.is_some()).count();
    let changed = all.iter().filter(|it| !it.changes.is_empty()).count();
    let target = plain(&history.target);
    let lead = match tested {
        0 => format!("nothing at {target} has enough runs to look for changes"),
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

/// The history as a document.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    target: &'a str,
    window: usize,
    series: &'a [Series],
    without_figures: &'a [LeftOut],
    left_out: &'a [LeftOut],
    other_targets: &'a [String],
}

/// The history as JSON, indented, with a line end.
pub fn json(history: &History) -> Result<String, serde_json::Error> {
    let document = Document {
        schema: SCHEMA,
        target: &history.target,
        window: history.window,
        series: &history.series,
        without_figures: &history.without_figures,
        left_out: &history.left_out,
        other_targets: &history.other_targets,
    };
    serde_json::to_string_pretty(&document).map(|text| text + "\n")
}
