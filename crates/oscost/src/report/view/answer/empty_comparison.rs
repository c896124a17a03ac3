//! The answer of runs of which no row can be compared: why, and what shows both sides all the same.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::record::{Record, TargetInfo};

use crate::estimate::comparison::RunComparison;
use crate::report::text::plain;
use crate::report::view::answer::quote::cases;
use crate::report::view::document::Answer;
use crate::report::view::run::row::is_requested;

/// Enough of a run's id to find it.
const ID_CHARS: usize = 13;

/// Why nothing can be compared, and what to do.
pub(super) fn answer(compared: &RunComparison, runs: [&[Record]; 2]) -> Answer {
    let [base, new] = runs.map(targets_of);
    // The hosts of two machines are no reason.
    let has_other_target =
        compared.not_compared.iter().any(|it| it.reason.starts_with("another target"));
    let why = match (&base[..], &new[..]) {
        ([base], [new]) if base.text != new.text && has_other_target => {
            format!("the base is {}, the new run {}", place(base), place(new))
        }
        _ if cases_of(runs[0]).is_disjoint(&cases_of(runs[1])) => "no case is in both".to_owned(),
        _ => main_reason(compared),
    };
    let interleaved = match (&base[..], &new[..]) {
        ([base], [new]) if base.text != new.text => interleaved(base, new),
        _ => None,
    };
    let table = format!("`oscost table {}` shows both", runs.map(name_of).join(" "));
    let next: Vec<String> = interleaved.into_iter().chain([table]).collect();
    let why = format!("Nothing can be compared: {why}.");
    let of_ab = ["base", "new run"].into_iter().zip(runs).filter_map(|(side, it)| of_ab(side, it));
    Answer {
        findings: [why].into_iter().chain(of_ab).collect(),
        next: vec![format!("Next: {}.", next.join("; "))],
        ..Answer::default()
    }
}

/// That a side is a run that compares its own two sides, and what shows that.
fn of_ab(side: &str, runs: &[Record]) -> Option<String> {
    runs.iter().any(|run| !run.comparisons.is_empty()).then(|| {
        format!(
            "The {side} is of `oscost ab`, which compares its own two sides: `oscost runs show {}` \
             shows that; `oscost runs list` has the kind of each run.",
            name_of(runs)
        )
    })
}

/// The different targets of the rows that were asked for.
fn targets_of(runs: &[Record]) -> Vec<&TargetInfo> {
    let rows = runs.iter().flat_map(|run| &run.results).filter(|row| is_requested(row));
    let mut seen = BTreeSet::new();
    rows.map(|row| &row.target).filter(|target| seen.insert(&target.text)).collect()
}

/// The cases that were asked for.
fn cases_of(runs: &[Record]) -> BTreeSet<&str> {
    let rows = runs.iter().flat_map(|run| &run.results).filter(|row| is_requested(row));
    rows.map(|row| row.case.as_str()).collect()
}

/// A target in a sentence.
fn place(target: &TargetInfo) -> String {
    let under = if target.treatments.is_empty() { "" } else { "under " };
    format!("{under}{}", plain(&target.text))
}

/// The command that measures both targets in one run; `None` for targets of two hosts, and for those
/// that a shell would split or evaluate.
fn interleaved(base: &TargetInfo, new: &TargetInfo) -> Option<String> {
    let is_word = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.,:=+@/%".contains(c))
    };
    if base.host != new.host || !is_word(&base.text) || !is_word(&new.text) {
        return None;
    }
    let base = match base.text.as_str() {
        "local" => String::new(),
        text => format!(" --base {text}"),
    };
    Some(format!("`oscost ab{base} --new {}` measures and compares both", new.text))
}

/// The reason of most of the cases, and of how many.
fn main_reason(compared: &RunComparison) -> String {
    let mut by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for it in &compared.not_compared {
        by_reason.entry(&it.reason).or_default().insert(&it.case);
    }
    let most = by_reason.iter().max_by_key(|(_, cases)| cases.len());
    let all: BTreeSet<&str> = compared.not_compared.iter().map(|it| it.case.as_str()).collect();
    match most {
        None => "no reason is known".to_owned(),
        Some((reason, of)) if of.len() == all.len() => plain(reason),
        Some((reason, of)) => format!("{} ({} of {})", plain(reason), of.len(), cases(all.len())),
    }
}

/// The name by which the first run of a side is found: its label, or the beginning of its id.
fn name_of(runs: &[Record]) -> String {
    let is_word = |text: &&str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    let label = |run: &Record| run.label.as_deref().filter(is_word).map(|it| format!("@{it}"));
    let id = |run: &Record| {
        let beginning = run.id.get(..ID_CHARS).unwrap_or(&run.id);
        Some(beginning).filter(is_word).map(str::to_owned)
    };
    let found = runs.first().and_then(|run| label(run).or_else(|| id(run)));
    found.unwrap_or_else(|| "RUN".to_owned())
}
