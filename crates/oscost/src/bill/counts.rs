//! The counts of several runs of a program as one.

use std::collections::BTreeMap;

use oscost_model::program_calls::{FormCount, ProgramCalls};

/// The counts of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedCounts {
    /// Of each form and size the median.
    pub calls: ProgramCalls,
    /// Forms whose number of calls was not the same in all runs.
    pub varying_forms: u32,
}

/// The form, size class and depth of calls.
type Key<'a> = (&'a str, Option<u64>, Option<u32>);

/// The median counts of some runs; `None` without any. What is not by form is that of the run with
/// the median number of calls.
pub fn combine(runs: &[ProgramCalls]) -> Option<CombinedCounts> {
    let mut by_calls: Vec<&ProgramCalls> = runs.iter().collect();
    by_calls.sort_by_key(|run| run.calls());
    let middle = *by_calls.get(by_calls.len().saturating_sub(1) / 2)?;
    let mut counts: BTreeMap<Key<'_>, Vec<&FormCount>> = BTreeMap::new();
    for count in runs.iter().flat_map(|run| &run.forms) {
        counts.entry((count.form.as_str(), count.bytes, count.depth)).or_default().push(count);
    }
    let forms = counts.into_values().filter_map(|of_runs| median(of_runs, runs.len()));
    let calls = ProgramCalls { forms: forms.collect(), ..middle.clone() };
    Some(CombinedCounts { calls, varying_forms: varying_forms(runs) })
}

/// The median of a count in so many runs; `None` if that is 0: most of them have no such call.
fn median(mut counts: Vec<&FormCount>, runs: usize) -> Option<FormCount> {
    counts.sort_by_key(|count| count.calls);
    let without = runs - counts.len();
    let at = (runs.saturating_sub(1) / 2).checked_sub(without)?;
    counts.get(at).map(|&count| count.clone())
}

fn varying_forms(runs: &[ProgramCalls]) -> u32 {
    let by_form = |run: &ProgramCalls| {
        let mut sums: BTreeMap<String, u64> = BTreeMap::new();
        for count in &run.forms {
            *sums.entry(count.form.clone()).or_default() += count.calls;
        }
        sums
    };
    let sums: Vec<BTreeMap<String, u64>> = runs.iter().map(by_form).collect();
    let mut forms: Vec<&String> = sums.iter().flat_map(BTreeMap::keys).collect();
    forms.sort_unstable();
    forms.dedup();
    let varies = |form: &&String| {
        let mut counts = sums.iter().map(|of_run| of_run.get(*form).copied().unwrap_or(0));
        let first = counts.next();
        counts.any(|count| Some(count) != first)
    };
    forms.into_iter().filter(varies).count() as u32
}
