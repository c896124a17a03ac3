//! What a history found: which figures moved, since when, and what was updated then.

use oscost_stats::change::MIN_POINTS;

use crate::estimate::history::{Change, History, Series};
use crate::report::figures::Style;
use crate::report::text::{day, plain};
use crate::report::view::answer::quote::{cases, relative};
use crate::report::view::document::Answer;
use crate::report::view::history::causes::short_cause;
use crate::report::view::history::updates::update_text;

/// Of more changed series, the largest changes are told.
const MAX_CHANGED: usize = 3;

/// The answer of a history; `None` if it has no figures.
pub(in crate::report::view) fn answer(history: &History) -> Option<Answer> {
    let judged: Vec<&Series> = history.series.iter().filter(|it| !it.secondary).collect();
    if judged.iter().all(|it| it.points.is_empty()) {
        return None;
    }
    let mut changed: Vec<(&Series, &Change)> =
        judged.iter().filter_map(|it| Some((*it, it.changes.last()?))).collect();
    let size = |change: &Change| change.ratio.ln().abs();
    changed.sort_by(|(_, one), (_, other)| size(other).total_cmp(&size(one)));
    let mut findings: Vec<String> =
        changed.iter().take(MAX_CHANGED).map(|(series, it)| change(series, it)).collect();
    findings.extend(more(changed.len().saturating_sub(MAX_CHANGED)));
    findings.extend(unchanged(&judged, changed.len(), history.window));
    findings.extend(provisional(&judged));
    if findings.is_empty() {
        return Some(too_few_runs(&judged));
    }
    let has_moved = !changed.is_empty() || judged.iter().any(|it| it.recent_shift.is_some());
    let trust = has_moved.then(|| TRUST.to_owned());
    let next = has_moved.then(|| NEXT.to_owned()).into_iter().collect();
    Some(Answer { findings, trust, next })
}

const TRUST: &str = "Trust: a history finds candidates and proves nothing.";

const NEXT: &str = "Next: measuring both sides in alternation says more: by `oscost ab` where one run \
                    can have both, else by alternating runs and `oscost compare A,B,... C,D,...`.";

/// That there are too few runs to look for changes, and what can be done with them.
fn too_few_runs(judged: &[&Series]) -> Answer {
    let most = judged.iter().map(|it| it.points.len()).max().unwrap_or_default();
    let finding = match (judged, most) {
        (_, MIN_POINTS..) => format!(
            "It takes {MIN_POINTS} runs at different times to look for changes: those within an hour count \
             as one."
        ),
        ([_], 1) => format!("It takes {MIN_POINTS} runs to look for changes: there is 1."),
        ([_], most) => format!("It takes {MIN_POINTS} runs to look for changes: there are {most}."),
        (_, most) => format!(
            "It takes {MIN_POINTS} runs of a case to look for changes: no case here has more than {most}."
        ),
    };
    let others = match most {
        0 | 1 => "",
        _ => "; `oscost compare last~1 last` compares the last two",
    };
    let next = format!("Next: each `oscost run` adds one{others}.");
    Answer { findings: vec![finding], next: vec![next], ..Answer::default() }
}

/// The last change of a series.
fn change(series: &Series, it: &Change) -> String {
    let style = Style::of(it.from, series.unit);
    let since = series.points.get(it.point).map(|point| format!(" since {}", day(&point.started)));
    let updated = series.updates.iter().filter(|mark| mark.point == it.point);
    let updated: Vec<String> = updated.map(update_text).collect();
    let updated = match updated.is_empty() {
        true => String::new(),
        false => format!("; updated at that run: {}", updated.join("; ")),
    };
    let cause = short_cause(it).map(|cause| format!("; by its counts the cause is {cause}"));
    let before = match series.changes.len() {
        0 | 1 => String::new(),
        count => format!(", the last of its {count} changes"),
    };
    format!(
        "{}: {} -> {} ({}){}{before}{updated}{}.",
        plain(&series.case),
        style.number(it.from),
        style.with_unit(it.to),
        relative(it.ratio),
        since.unwrap_or_default(),
        cause.unwrap_or_default()
    )
}

fn more(count: usize) -> Option<String> {
    match count {
        0 => None,
        1 => Some("1 more case changed, by less.".to_owned()),
        many => Some(format!("{many} more cases changed, by less.")),
    }
}

/// How many series show no change, and how many cannot, if any can: of others the history itself says
/// that they have too few runs.
fn unchanged(judged: &[&Series], changed: usize, window: usize) -> Option<String> {
    let tested = judged.iter().filter(|it| it.p.is_some()).count();
    let is_short = |it: &&&Series| it.p.is_none() && !it.points.is_empty();
    let untested = if tested > 0 { judged.iter().filter(is_short).count() } else { 0 };
    let steady = tested.saturating_sub(changed);
    let steady = match steady {
        0 => None,
        1 if judged.len() == 1 => Some(format!(
            "No change shows in the newest {window} runs of {}",
            plain(&judged[0].case)
        )),
        count => Some(format!("No change shows in the newest {window} runs of {}", cases(count))),
    };
    let too_few = match untested {
        0 => None,
        count => Some(format!(
            "{} {} fewer than {MIN_POINTS} runs, in which no change is looked for",
            cases(count),
            if count == 1 { "has" } else { "have" }
        )),
    };
    let both: Vec<String> = steady.into_iter().chain(too_few).collect();
    (!both.is_empty()).then(|| format!("{}.", both.join("; ")))
}

/// The series whose newest runs differ from those before.
fn provisional(judged: &[&Series]) -> Option<String> {
    let mut shifted = judged.iter().filter(|it| it.recent_shift.is_some());
    let first = shifted.next()?;
    let shift = first.recent_shift.as_ref()?;
    let more = match shifted.count() {
        0 => String::new(),
        more => format!(", and those of {}", cases(more)),
    };
    Some(format!(
        "Provisional: the newest {} runs of {}{more} differ from those before ({}); the next runs will \
         show whether that lasts.",
        shift.runs,
        plain(&first.case),
        relative(shift.ratio)
    ))
}
