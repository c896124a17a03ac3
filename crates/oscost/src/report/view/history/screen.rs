//! The history on a screen.

use std::collections::BTreeMap;

use super::change_table::changed;
use super::findings::{cases, notes, runs, sentences};
use super::run_timeline::{figure_with_intervals, timeline};
use crate::estimate::history::{History, Series};
use crate::report::figures::Style;
use crate::report::text::{day, plain};
use crate::report::view::answer;
use crate::report::view::document::{Block, Section, View};

/// More series than these are not read one after the other.
const MAX_SERIES: usize = 10;

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
