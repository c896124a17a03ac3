//! What changed since the run before a run on its machine.

use oscost_model::counters::is_work;
use oscost_model::record::Comparison;
use oscost_stats::order;

use crate::advice::words::Kind;
use crate::estimate::comparison::RunComparison;
use crate::estimate::comparison::interleaved_run::SECONDARY;
use crate::report::figures::per_cent;
use crate::report::text::{minute, plain};
use crate::report::view::answer::quote::{MAX_DETECTABLE_PCT, cases, relative, warning};
use crate::report::view::run::row::is_requested;

/// Of more changed cases, the first are named.
const MAX_NAMED: usize = 2;

/// A run compared with the run before it.
#[derive(Clone, Copy, Debug)]
pub struct PreviousRun<'a> {
    /// When the run before was started.
    pub started: &'a str,
    /// Row by row, with the run before as the base.
    pub compared: &'a RunComparison,
}

/// What changed, in a sentence; `None` if no case of both runs can be compared.
pub fn sentence(before: &PreviousRun<'_>) -> Option<String> {
    let PreviousRun { started, compared } = before;
    let judged: Vec<&Comparison> = compared
        .comparisons
        .iter()
        .filter(|it| !is_work(&it.metric) && !it.flags.iter().any(|flag| flag == SECONDARY))
        .filter(|it| compared.results.get(it.base as usize).is_some_and(is_requested))
        .collect();
    if judged.is_empty() {
        return None;
    }
    let since = format!("Since the run before this one ({})", minute(started));
    if let Some(why) = compared.notes.iter().find(|note| note.starts_with("no verdict")) {
        let why = why.replace("the base run", "that run").replace("the new run", "this run");
        return Some(format!("{since}: {}.", plain(&why)));
    }
    let mut changed: Vec<&Comparison> = judged
        .iter()
        .copied()
        .filter(|it| matches!(it.verdict.as_str(), "slower" | "faster"))
        .collect();
    let size = |it: &Comparison| it.ratio.value.ln().abs();
    changed.sort_by(|one, other| size(other).total_cmp(&size(one)));
    let found = match changed.len() {
        0 => format!("no change shows in {}{}", cases(judged.len()), limit(&judged)),
        count => {
            let named = changed.iter().take(MAX_NAMED).map(|it| named(it));
            let named = named.collect::<Vec<_>>().join(", ");
            let more = match count.saturating_sub(MAX_NAMED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            format!("{count} of {} changed: {named}{more}", cases(judged.len()))
        }
    };
    Some(format!("{since} {found}.{}", differences(compared)))
}

fn named(it: &Comparison) -> String {
    let warning = warning(Kind::ComparisonFlag, &it.flags);
    format!("{} is {} ({}){warning}", plain(&it.case), plain(&it.verdict), relative(it.ratio.value))
}

/// How large a change would have been found.
fn limit(judged: &[&Comparison]) -> String {
    let known = judged.iter().filter_map(|it| it.mde_pct).filter(|pct| pct.is_finite());
    let known = order::sorted(&known.collect::<Vec<f64>>());
    match order::median(&known) {
        Some(pct) if pct > MAX_DETECTABLE_PCT => {
            "; these two runs are too noisy to be compared".to_owned()
        }
        Some(pct) if known.len() == 1 => {
            format!("; a change of {} would have shown", per_cent(pct))
        }
        Some(pct) => format!("; a change of {} would have shown in half of them", per_cent(pct)),
        None => String::new(),
    }
}

/// What else differs between both runs.
fn differences(compared: &RunComparison) -> String {
    match &compared.differences[..] {
        [] => String::new(),
        [one] => format!(" What differs: {}.", plain(one)),
        [first, others @ ..] => {
            format!(
                " What differs: {}, and {} more (`oscost compare`).",
                plain(first),
                others.len()
            )
        }
    }
}
