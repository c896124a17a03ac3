//! A history as text of 80 columns.

use std::fmt::Write as _;

use super::super::compare::name;
use super::super::figures::Style;
use super::super::runs::shortest_unique;
use super::super::{fold, plain};
use super::picture::{picture, times};
use super::{Change, History, LeftOut, Mark, Point, Series};

/// More blocks than these are not read one after the other.
const MOST_BLOCKS: usize = 10;
/// The most updates that are listed of a series.
const MOST_UPDATES: usize = 8;
/// What was updated so few runs away may be what changed a figure: of a step of 5 % nine in ten are
/// placed within two runs.
const NEAR: usize = 2;
/// A series may be of that many places more.
const MOST_PLACES: usize = 4;

/// What follows from a change, and what does not.
pub(in crate::report) const ADVICE: &str = "A history finds candidates and proves nothing. Measured in turns both sides \
    say more: by `oscost ab` where one run can have both, else by runs in turns and `oscost compare \
    --base A,B,.. --new C,D,..`.";

/// The history as text: one series with its picture, several in a block each, or where nothing was
/// named a table of those that changed.
pub fn text(history: &History) -> String {
    let mut out = match (history.named, &history.series[..]) {
        (_, []) => format!("no figure of {} is kept\n", plain(&history.place)),
        (true, [one]) => block(one, true),
        (true, several) => {
            let shown = several.iter().take(MOST_BLOCKS);
            let mut out = shown.map(|it| block(it, false)).collect::<Vec<_>>().join("\n");
            if several.len() > MOST_BLOCKS {
                let more = several.len() - MOST_BLOCKS;
                let changed = several[MOST_BLOCKS..].iter().filter(|it| !it.changes.is_empty());
                let text = format!(
                    "and {more} more series, {} of them with a change: name fewer cases, or have \
                     all of them with --json",
                    changed.count()
                );
                let _ = writeln!(out, "\n{}", fold(&text, 78, "  "));
            }
            out
        }
        (false, all) => table(history, all),
    };
    if history.series.iter().any(|it| !it.changes.is_empty() || it.newest.is_some()) {
        let _ = writeln!(out, "\n{}", fold(ADVICE, 78, "  "));
    }
    if !history.without_figures.is_empty() {
        let text = format!("not looked at: {}", counted(&history.without_figures));
        let _ = writeln!(out, "\n{}", fold(&text, 78, "  "));
    }
    out
}

/// The day of a time.
pub(super) fn day(started: &str) -> String {
    plain(started.get(..10).unwrap_or(started))
}

/// `3 runs: why; 1 run: why`.
fn counted(left: &[LeftOut]) -> String {
    let one = |it: &LeftOut| format!("{}: {}", runs(it.runs), plain(&it.why));
    left.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

/// A series in words, with its picture where it is the only one.
fn block(series: &Series, pictured: bool) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        let _ = writeln!(out, "{}", fold(text, 78, "  "));
    };
    let Series { case, place, points, .. } = series;
    let peer = if series.peer { ", its other end on another machine" } else { "" };
    let span = match (points.first(), points.last()) {
        (Some(first), Some(last)) => {
            format!("{}, {} to {}", runs(points.len()), day(&first.started), day(&last.started))
        }
        _ => "no run can be in it".to_owned(),
    };
    let older = match series.older {
        0 => String::new(),
        older => format!(" ({} older)", runs(older)),
    };
    say(&format!("{} at {}{peer}: {span}{older}", plain(case), plain(place)));
    if pictured {
        say(&format!("machine: {}", plain(&series.machine_class)));
        say(&format!("kernel: {}", plain(&series.kernel_class)));
    }
    if let Some(last) = points.last() {
        let style = Style::of(last.median, series.unit);
        let interval = last
            .interval
            .map(|[low, high]| format!(" ({} .. {})", style.number(low), style.number(high)));
        let interval = interval.unwrap_or_default();
        say(&format!("newest: {}{interval}", style.with_unit(last.median)));
    }
    if pictured && let Some(picture) = picture(series) {
        let _ = write!(out, "\n{picture}");
        out.push_str(&updates(series));
        out.push('\n');
    }
    for line in lines(series) {
        let _ = writeln!(out, "{}", fold(&line, 78, "  "));
    }
    out
}

/// What was updated, a line each, the newest of them.
fn updates(series: &Series) -> String {
    let mut out = String::new();
    let skipped = series.marks.len().saturating_sub(MOST_UPDATES);
    for mark in &series.marks[skipped..] {
        let when = series.points.get(mark.point).map_or(String::new(), |it| day(&it.started));
        let letter = mark.what.letter();
        let text = format!("{letter} run {} of {when}: {}", mark.point + 1, update(mark));
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
    if skipped > 0 {
        let _ = writeln!(out, "  and {skipped} updates before");
    }
    out
}

fn update(mark: &Mark) -> String {
    format!("{} {} -> {}", mark.what.text(), plain(&mark.from), plain(&mark.to))
}

/// What is found in a series, a sentence or two a line.
pub(super) fn lines(series: &Series) -> Vec<String> {
    let mut lines: Vec<String> = series.changes.iter().map(|it| change(series, it)).collect();
    lines.extend(nothing(series));
    lines.extend(newest(series));
    if !series.left_out.is_empty() {
        lines.push(format!("left out: {}", counted(&series.left_out)));
    }
    if !series.other_places.is_empty() {
        let shown: Vec<String> =
            series.other_places.iter().take(MOST_PLACES).map(|place| plain(place)).collect();
        let more = series.other_places.len() - shown.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("measured at other places too (--place): {}{more}", shown.join(", ")));
    }
    lines
}

fn change(series: &Series, it: &Change) -> String {
    let style = Style::of(it.from, series.unit);
    let (from, to) = (style.number(it.from), style.with_unit(it.to));
    let interval = it.ci95.map(|[low, high]| format!(" ({low:.3} .. {high:.3})"));
    let interval = interval.unwrap_or_else(|| ", too few runs for an interval".to_owned());
    let ids: Vec<&str> = series.points.iter().map(|point| point.run.as_str()).collect();
    let length = shortest_unique(&ids);
    let id = |id: &String| id.get(..length).unwrap_or(id).to_owned();
    let started = |at: usize| series.points.get(at).map_or(String::new(), |it| day(&it.started));
    let near: Vec<String> = series
        .marks
        .iter()
        .filter(|mark| mark.point.abs_diff(it.point) <= NEAR)
        .map(|mark| {
            let at = match mark.point == it.point {
                true => "there".to_owned(),
                false => format!("at run {}", mark.point + 1),
            };
            format!("{at}: {}", update(mark))
        })
        .collect();
    let near = match near.is_empty() {
        true => "nothing that is watched was updated within two runs".to_owned(),
        false => format!("updated {}", near.join("; ")),
    };
    format!(
        "change at run {} of {}: {from} -> {to}, {} times{interval}; p {}, q {}. Between runs {} and \
         {}; {near}.",
        it.point + 1,
        started(it.point),
        times(it.ratio).trim_start_matches('x'),
        chance(it.p),
        chance(it.q),
        id(&it.before),
        id(&it.behind),
    )
}

/// A p or a q.
fn chance(p: f64) -> String {
    if p < 0.001 { format!("{p:.4}") } else { format!("{p:.3}") }
}

/// That no change was found, and what that does not say.
fn nothing(series: &Series) -> Option<String> {
    let count = series.points.len();
    match series.p.zip(series.q) {
        None => Some(format!(
            "{}: changes are looked for from six on",
            if count == 0 { "no runs".to_owned() } else { runs(count) }
        )),
        Some((p, q)) if series.changes.is_empty() => Some(format!(
            "no change shows (p {}, q {}). One of less than 2 %, or of less than an interval, is not \
             mentioned.",
            chance(p),
            chance(q)
        )),
        Some(_) => None,
    }
}

fn newest(series: &Series) -> Option<String> {
    let it = series.newest.as_ref()?;
    let style = Style::of(it.from, series.unit);
    let where_ = if it.to > it.from { "above" } else { "below" };
    Some(format!(
        "provisional: the newest {} runs lie {where_} all of the {} before them, {} -> {}, {} times. \
         Whether it stays, the next runs tell.",
        it.runs,
        it.before,
        style.number(it.from),
        style.with_unit(it.to),
        times(it.ratio).trim_start_matches('x'),
    ))
}

/// The changes of all cases, a line each.
fn table(history: &History, all: &[Series]) -> String {
    const NAMES: usize = 38;
    let asked = all.iter().filter(|it| it.p.is_some()).count();
    let changed = all.iter().filter(|it| !it.changes.is_empty()).count();
    let mut out = String::new();
    let text = format!(
        "{changed} of {asked} cases at {} changed within their newest {} runs (q <= 0.05)",
        plain(&history.place),
        history.window
    );
    let _ = writeln!(out, "{}", fold(&plain(&text), 78, "  "));
    if changed > 0 {
        let _ = writeln!(
            out,
            "\n{:NAMES$}  {:10}  {:>11}  {:>6}  {:>5}",
            "case", "since", "was", "times", "q"
        );
    }
    for series in all {
        for it in &series.changes {
            let style = Style::of(it.from, series.unit);
            let when = series.points.get(it.point).map_or(String::new(), |it| day(&it.started));
            let _ = writeln!(
                out,
                "{}  {when:10}  {:>11}  {:>6}  {:>5}",
                name(&plain(&series.case), NAMES),
                style.with_unit(it.from),
                times(it.ratio).trim_start_matches('x'),
                chance(it.q),
            );
        }
    }
    let few = all.len() - asked;
    let provisional: Vec<&Series> = all.iter().filter(|it| it.newest.is_some()).collect();
    let mut notes = Vec::new();
    if let [first, rest @ ..] = &provisional[..] {
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let case = plain(&first.case);
        notes.push(format!("provisional: the newest runs lie elsewhere in {case}{more}"));
    }
    if few > 0 {
        notes.push(format!(
            "{few} cases have fewer than six runs: changes are looked for from six on"
        ));
    }
    if changed > 0 {
        notes
            .push("`oscost history CASE` shows one with its runs, and what was updated".to_owned());
    }
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        let _ = writeln!(out, "{}", fold(&note, 78, "  "));
    }
    out
}

impl Point {
    /// Half of its interval, as a share of its figure.
    pub fn unsure(&self) -> Option<f64> {
        self.interval.map(|[low, high]| (high - low) / 2.0 / self.median.abs())
    }
}
