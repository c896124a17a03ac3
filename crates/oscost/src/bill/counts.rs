//! The counts of several runs of a program as one.

use std::collections::BTreeMap;

use oscost_model::program_calls::{FormCount, ProgramCalls};

use super::clock_reads::is_of_clock_function;

/// The counts of several runs.
#[derive(Clone, Debug, PartialEq)]
pub struct CombinedCounts {
    /// Of each form what the run with the median number of its calls has.
    pub calls: ProgramCalls,
    /// Forms whose number of calls was not the same in all runs.
    pub varying_forms: u32,
}

/// The calls of a form in one run.
#[derive(Default)]
struct CallsOfForm<'a> {
    calls: u64,
    /// By size class and depth.
    counts: Vec<&'a FormCount>,
}

/// The counts of some runs as one; `None` without any. Of each form all classes are of one run: a size
/// that differs from run to run may be in another class in each. The time is the median of all, and
/// what else is not by form is that of the run with the median number of calls; where clock reads were
/// counted the system calls of their names are, too, since the ones are subtracted from the others.
pub fn combine(runs: &[ProgramCalls]) -> Option<CombinedCounts> {
    let mut by_calls: Vec<usize> = (0..runs.len()).collect();
    by_calls.sort_by_key(|&at| runs[at].calls());
    let middle_at = *by_calls.get(by_calls.len().saturating_sub(1) / 2)?;
    let middle = &runs[middle_at];
    let has_clock_reads = middle.events.is_some_and(|events| events.clock_reads.is_some());
    let mut by_form: BTreeMap<&str, Vec<CallsOfForm<'_>>> = BTreeMap::new();
    for (at, run) in runs.iter().enumerate() {
        for count in &run.forms {
            let of_runs = by_form.entry(&count.form).or_default();
            of_runs.resize_with(runs.len(), CallsOfForm::default);
            if let Some(of_run) = of_runs.get_mut(at) {
                of_run.calls += count.calls;
                of_run.counts.push(count);
            }
        }
    }
    let mut forms = Vec::new();
    for (form, of_runs) in by_form {
        let counts = match has_clock_reads && is_of_clock_function(form) {
            true => of_run(of_runs, middle_at),
            false => median(of_runs),
        };
        forms.extend(counts.into_iter().cloned());
    }
    let calls = ProgramCalls { forms, real_ns: median_real_ns(runs), ..middle.clone() };
    Some(CombinedCounts { calls, varying_forms: varying_forms(runs) })
}

/// The counts of the run with the median number of calls, the lower one of two; none if most runs have
/// no such call.
fn median(mut of_runs: Vec<CallsOfForm<'_>>) -> Vec<&FormCount> {
    of_runs.sort_by_key(|it| it.calls);
    let middle = of_runs.len().saturating_sub(1) / 2;
    of_run(of_runs, middle)
}

/// The counts of one of the runs.
fn of_run(of_runs: Vec<CallsOfForm<'_>>, at: usize) -> Vec<&FormCount> {
    of_runs.into_iter().nth(at).map_or_else(Vec::new, |it| it.counts)
}

/// The median time of the runs, the lower one of two, as that of their calls.
fn median_real_ns(runs: &[ProgramCalls]) -> u64 {
    let mut times: Vec<u64> = runs.iter().map(|run| run.real_ns).collect();
    times.sort_unstable();
    times.get(times.len().saturating_sub(1) / 2).copied().unwrap_or(0)
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
