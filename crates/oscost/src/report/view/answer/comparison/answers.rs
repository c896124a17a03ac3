//! The answers of targets that one run compared, and of runs.

use oscost_model::record::{Comparison, Record};

use super::group::{Group, findings, judged};
use crate::estimate::comparison::{MACHINES_DIFFER, RunComparison};
use crate::report::view::answer::{empty_comparison, trust};
use crate::report::view::document::Answer;
use crate::report::view::run::row::is_requested;

/// The flag of a run whose control is not known to be equivalent.
const CONTROL_WIDE: &str = "CONTROL_WIDE";
/// Of more pairs of targets, the first are told.
const MAX_GROUPS: usize = 5;

/// The answer of targets or commands that one run compared; `None` without any.
pub(in crate::report::view) fn of_run(record: &Record, groups: &[Group<'_>]) -> Option<Answer> {
    if groups.is_empty() {
        return None;
    }
    let findings: Vec<String> = match groups {
        [one] => findings(one),
        several => {
            let told = several.iter().take(MAX_GROUPS).map(|group| findings(group).join(" "));
            told.chain(more_groups(several.len())).collect()
        }
    };
    let judged: Vec<&Comparison> = groups.iter().flat_map(judged).collect();
    let trust = trust::of_record(record).map(|found| trust::sentence(&found));
    let trust = match (trust, control(record)) {
        (Some(trust), Some(control)) => Some(format!("{trust} {control}")),
        (trust, control) => trust.or(control),
    };
    let has = |flag: &str| judged.iter().any(|it| it.flags.iter().any(|own| own == flag));
    let next = match judged.iter().any(|it| it.verdict == "inconclusive") {
        _ if has("VOID") || has("UNRELIABLE") => Some("Next: measure again."),
        true => Some("Next: fewer cases, or `--thorough`, show smaller effects."),
        false => None,
    };
    let next = next.map(str::to_owned);
    let next = next.into_iter().chain(trust::next(record)).collect();
    Some(Answer { findings, trust, next })
}

/// The answer of runs that were compared; `None` of runs without rows.
pub(in crate::report::view) fn of_runs(
    compared: &RunComparison,
    runs: [&[Record]; 2],
) -> Option<Answer> {
    let RunComparison { results, comparisons, .. } = compared;
    if results.is_empty() {
        return None;
    }
    let is_of_request = |it: &&Comparison| results.get(it.base as usize).is_some_and(is_requested);
    let requested: Vec<&Comparison> = comparisons.iter().filter(is_of_request).collect();
    if requested.is_empty() {
        return Some(empty_comparison::answer(compared, runs));
    }
    let [base, new] = runs;
    let runs_of = |side: &str, runs: &[Record]| match runs.len() {
        1 => format!("the {side} run"),
        count => format!("the {count} {side} runs"),
    };
    let group =
        Group { new: runs_of("new", new), base: runs_of("base", base), comparisons: requested };
    let mut flags = comparisons.iter().flat_map(|it| &it.flags);
    let are_two_machines = flags.any(|flag| flag == MACHINES_DIFFER);
    let next = match are_two_machines {
        true => "Next: two machines, two moments: `oscost table` shows several runs of each.",
        false => {
            "Next: `oscost ab` measures both side by side, where one run can: it shows smaller \
             differences."
        }
    };
    Some(Answer {
        findings: findings(&group),
        trust: trust::sentence_of_all(base.iter().chain(new)),
        next: vec![next.to_owned()],
    })
}

fn more_groups(count: usize) -> Option<String> {
    match count.saturating_sub(MAX_GROUPS) {
        0 => None,
        1 => Some("1 more pair was compared: its table says what it found.".to_owned()),
        more => Some(format!("{more} more pairs were compared: their tables say what they found.")),
    }
}

/// What the control shows, in which nothing differs; `None` without a control.
fn control(record: &Record) -> Option<String> {
    let mut controls = record.comparisons.iter().filter(|it| it.control).peekable();
    controls.peek()?;
    let is_void = record.comparisons.iter().any(|it| it.flags.iter().any(|flag| flag == "VOID"));
    let intervals: Option<Vec<[f64; 2]>> = controls.map(|it| it.ratio.ci95).collect();
    let is_wide = record.conditions.iter().any(|it| it.flags.iter().any(|own| own == CONTROL_WIDE));
    Some(match (is_void, intervals) {
        (true, _) => "The control, in which nothing differs, shows an effect.".to_owned(),
        (false, None) => "The control has too few pairs to show anything.".to_owned(),
        (false, Some(intervals)) if is_wide => {
            let low = intervals.iter().map(|[low, _]| *low).fold(f64::INFINITY, f64::min);
            let high = intervals.iter().map(|[_, high]| *high).fold(f64::NEG_INFINITY, f64::max);
            format!("The control's ratio, which should be 1, is between {low:.3} and {high:.3}.")
        }
        (false, Some(_)) => "The control, in which nothing differs, shows nothing.".to_owned(),
    })
}
