//! A history as text of 80 columns.

use std::fmt::Write as _;

use crate::report::figures::Style;
use crate::report::text::shortened as name;
use crate::report::text::{day, plain};
use crate::report::view::history::plot::{picture, times};
use crate::report::view::history::{Change, FEWEST, History, LeftOut, Point, Series, Updated};
use crate::report::view::runs::shortest_unique;
use oscost_stats::change::WINDOW_POINTS;

/// More blocks than these are not read one after the other.
const MOST_BLOCKS: usize = 10;
/// The most updates that are listed of a series.
const MOST_UPDATES: usize = 8;
/// What was updated so few runs away may be what changed a figure: of a step of 5 % nine in ten are
/// placed within two runs.
const NEAR: usize = 2;
/// A series may be of that many places more.
const MOST_TARGETS: usize = 4;

/// What was updated is quoted up to here: it may be a whole command line.
const LONGEST: usize = 120;

/// What follows from a change, and what does not.
pub(in crate::report) const ADVICE: &str = "A history finds candidates and proves nothing. Measured in turns both sides \
    say more: by `oscost ab` where one run can have both, else by runs in turns and `oscost compare \
    --base A,B,.. --new C,D,..`.";

/// The history as text: one series with its picture, several in a block each, or where nothing was
/// named a table of those that changed.
pub fn text(history: &History) -> String {
    let mut out = match (history.named, &history.series[..]) {
        (_, []) => format!("no figure of {} is kept\n", plain(&history.target)),
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
    let notes = notes(history);
    if !notes.is_empty() {
        out.push('\n');
    }
    for note in notes {
        let _ = writeln!(out, "{}", fold(&note, 78, "  "));
    }
    out
}

/// What is in none of the series, and why.
pub(in crate::report) fn notes(history: &History) -> Vec<String> {
    let mut notes = Vec::new();
    // Where cases were named, each says its own.
    if !history.named {
        if !history.left_out.is_empty() {
            notes.push(format!("left out of a case or more: {}", counted(&history.left_out)));
        }
        if !history.other_targets.is_empty() {
            notes.push(elsewhere(&history.other_targets));
        }
    }
    if !history.without_figures.is_empty() {
        notes.push(format!("not looked at: {}", counted(&history.without_figures)));
    }
    notes
}

/// Breaks a text as `text::fold` does, and words that are longer than a line, too:
/// cases and releases may be.
fn fold(text: &str, width: usize, indent: &str) -> String {
    let mut broken = String::new();
    for word in text.split_whitespace() {
        for (at, letter) in word.chars().enumerate() {
            if at > 0 && at % width == 0 {
                broken.push(' ');
            }
            broken.push(letter);
        }
        broken.push(' ');
    }
    crate::report::text::fold(&broken, width, indent)
}

/// The beginning of a text that may be long.
pub(in crate::report) fn cut(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text.to_owned(),
    }
}

/// `3 runs: why; 1 run: why`.
fn counted(left: &[LeftOut]) -> String {
    let one = |it: &LeftOut| format!("{}: {}", runs(it.runs), plain(&it.why));
    left.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn runs(count: usize) -> String {
    format!("{count} run{}", if count == 1 { "" } else { "s" })
}

fn cases(count: usize) -> String {
    format!("{count} case{}", if count == 1 { "" } else { "s" })
}

/// A series in words, with its picture where it is the only one.
fn block(series: &Series, pictured: bool) -> String {
    let mut out = String::new();
    let mut say = |text: &str| {
        let _ = writeln!(out, "{}", fold(text, 78, "  "));
    };
    let Series { case, target, points, .. } = series;
    let peer = match (&series.peer_at, series.peer) {
        (Some(host), true) => format!(", its other end at {}", plain(host)),
        (None, true) => ", its other end on another machine".to_owned(),
        (_, false) => String::new(),
    };
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
    say(&format!("{} at {}{peer}: {span}{older}", plain(case), plain(target)));
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
        let text = format!("{letter} run {} of {when}: {}", mark.point + 1, mark.text());
        let _ = writeln!(out, "  {}", fold(&text, 76, "    "));
    }
    if skipped > 0 {
        let _ = writeln!(out, "  and {skipped} updates before");
    }
    out
}

/// What is found in a series, a sentence or two a line.
pub(in crate::report) fn lines(series: &Series) -> Vec<String> {
    let mut lines: Vec<String> = series.changes.iter().map(|it| change(series, it)).collect();
    lines.extend(nothing(series));
    lines.extend(series.together.map(|share| {
        format!(
            "runs hang together: a run shares {share:.2} of how far the one before it strays, which \
             was taken out before chance was asked"
        )
    }));
    lines.extend(newest(series));
    if !series.left_out.is_empty() {
        lines.push(format!("left out: {}", counted(&series.left_out)));
    }
    if !series.other_targets.is_empty() {
        lines.push(elsewhere(&series.other_targets));
    }
    lines
}

fn elsewhere(targets: &[String]) -> String {
    let shown: Vec<String> =
        targets.iter().take(MOST_TARGETS).map(|target| plain(target)).collect();
    let more = targets.len() - shown.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("measured at other targets too (--at): {}{more}", shown.join(", "))
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
            format!("{at}: {}", mark.text())
        })
        .collect();
    let near = match near.is_empty() {
        true => {
            let watched = Updated::ALL.map(Updated::text).join(", ");
            format!("nothing that is watched was updated within two runs ({watched})")
        }
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
        None if count == 0 => None,
        None if count < FEWEST => {
            Some(format!("{}: changes are looked for from {FEWEST} on", runs(count)))
        }
        None => Some(format!(
            "{}, but of fewer than {FEWEST} times: runs within an hour count as one, and changes \
             are looked for from {FEWEST} on",
            runs(count)
        )),
        Some((p, q)) if series.changes.is_empty() => {
            let among = match count > WINDOW_POINTS {
                true => {
                    format!(" in the newest {WINDOW_POINTS} runs: older ones were not looked at")
                }
                false => String::new(),
            };
            let company = match series.missed {
                true => " Asked about alone it would have changed: name it alone.",
                false => "",
            };
            Some(format!(
                "no change shows{among} (p {}, q {}). One of less than 2 %, or of less than an \
                 interval, is not mentioned.{company}",
                chance(p),
                chance(q)
            ))
        }
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
    const NAMES: usize = 36;
    let asked = all.iter().filter(|it| it.p.is_some()).count();
    let changed = all.iter().filter(|it| !it.changes.is_empty()).count();
    let without = all.iter().filter(|it| it.points.is_empty()).count();
    let mut out = String::new();
    let target = plain(&history.target);
    let text = match asked {
        0 => format!("nothing at {target} has runs enough for changes to be looked for"),
        _ => format!(
            "{changed} of {} at {target} changed within their newest {} runs (q <= 0.05)",
            cases(asked),
            history.window
        ),
    };
    let _ = writeln!(out, "{}", fold(&text, 78, "  "));
    if changed > 0 {
        let _ = writeln!(
            out,
            "\n{:NAMES$}  {:10}  {:>13}  {:>6}  {:>6}",
            "case", "since", "was", "times", "q"
        );
    }
    for series in all {
        for it in &series.changes {
            let when = series.points.get(it.point).map_or(String::new(), |it| day(&it.started));
            let _ = writeln!(
                out,
                "{}  {when:10}  {:>13}  {:>6}  {:>6}",
                name(&plain(&series.case), NAMES),
                short(series, it.from),
                times(it.ratio).trim_start_matches('x'),
                chance(it.q),
            );
        }
    }
    let provisional: Vec<&Series> = all.iter().filter(|it| it.newest.is_some()).collect();
    let mut notes = Vec::new();
    if let [first, rest @ ..] = &provisional[..] {
        let more =
            if rest.is_empty() { String::new() } else { format!(" and {} more", rest.len()) };
        let case = plain(&first.case);
        notes.push(format!("provisional: the newest runs lie elsewhere in {case}{more}"));
    }
    if all.len() > asked + without {
        notes.push(format!(
            "{} with fewer than {FEWEST} runs: changes are looked for from {FEWEST} on",
            cases(all.len() - asked - without)
        ));
    }
    let missed = all.iter().filter(|it| it.missed).count();
    if missed > 0 {
        let text = cases(missed);
        notes.push(format!("{text} would have changed if asked about alone: name them"));
    }
    if without > 0 {
        notes.push(format!("{} without any run that can be in a series", cases(without)));
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

/// A figure in a column: what a stranger's record holds may have twenty digits.
fn short(series: &Series, value: f64) -> String {
    let style = Style::of(value, series.unit);
    let text = style.with_unit(value);
    match text.chars().count() > 13 {
        true => format!("{:.0e} {}", style.scaled(value), style.unit()),
        false => text,
    }
}

impl Point {
    /// Half of its interval, as a share of its figure.
    pub fn unsure(&self) -> Option<f64> {
        let interval = self.interval.filter(|[low, high]| low <= high);
        interval.map(|[low, high]| (high - low) / 2.0 / self.median.abs())
    }
}
