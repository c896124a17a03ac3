//! The run before a run on its machine, and what changed from one to the other.

use std::collections::BTreeSet;

use oscost_model::record::{Record, RowOutcome};
use oscost_model::unit::Unit;

use super::earlier_runs::earlier_runs;
use super::figures::{SUMMARY_RULES, summary};
use super::omissions::note_omission;
use super::records::estimates;
use super::user_data::existing_store;
use crate::app::observer::Observer;
use crate::estimate::comparison::{MACHINES_DIFFER, RunComparison, compare};
use crate::store::{Figure, MachineState, Store, SummarisedRun, Summary};

/// What is said of a run that is compared with none because those before it were too noisy.
const TOO_NOISY: &str = "the run before this one was too noisy to compare with";
/// A run of fewer of the cases than this share is another run.
const MIN_SHARED: f64 = 0.5;

/// A run compared with the run before it.
#[derive(Clone, Debug)]
pub struct PreviousRun {
    /// When the run before was started.
    pub started: String,
    /// Row by row, with the run before as the base.
    pub compared: RunComparison,
}

impl PreviousRun {
    /// The run before one that has just been measured. If the store cannot be read, that is noted; if
    /// only runs before it that were very noisy could be compared with it, that is told.
    pub(crate) fn of_measured(record: &Record, observer: &dyn Observer) -> Option<Self> {
        noted(
            existing_store().and_then(|store| match store {
                Some(store) => run_before(&store, record, &|| observer.status(TOO_NOISY)),
                None => Ok(None),
            }),
            observer,
        )
    }

    /// The run before one that is shown again: a run of another user's machine has none here.
    pub(crate) fn of_kept(record: &Record, observer: &dyn Observer) -> Option<Self> {
        noted(
            existing_store().and_then(|store| match store {
                Some(store) if is_of_here(&store, record)? => run_before(&store, record, &|| ()),
                _ => Ok(None),
            }),
            observer,
        )
    }
}

fn noted(
    found: anyhow::Result<Option<PreviousRun>>,
    observer: &dyn Observer,
) -> Option<PreviousRun> {
    found.unwrap_or_else(|error| {
        note_omission(observer, "what changed since the run before is not known", &error);
        None
    })
}

fn is_of_here(store: &Store, record: &Record) -> anyhow::Result<bool> {
    Ok(store.list()?.iter().any(|it| it.id == record.id && !it.imported))
}

/// The newest run before this one on the same machine with most of its cases. A run that compares has
/// its own base, and a study has what was published. `too_noisy` is called if only very noisy runs are
/// before it.
fn run_before(
    store: &Store,
    record: &Record,
    too_noisy: &dyn Fn(),
) -> anyhow::Result<Option<PreviousRun>> {
    if !record.comparisons.is_empty() || record.settings.study.is_some() {
        return Ok(None);
    }
    let requested: BTreeSet<(&str, &str)> = record
        .results
        .iter()
        .filter(|row| row.is_requested() && row.outcome == RowOutcome::Measured)
        .map(|row| (row.target.text.as_str(), row.case.as_str()))
        .collect();
    let cases: BTreeSet<&str> = requested.iter().map(|(_, case)| *case).collect();
    let stored = store.figures(SUMMARY_RULES, &|case| cases.contains(case))?;
    let own = summary(record);
    let is_before = |it: &SummarisedRun| {
        (it.started.as_str(), it.id.as_str()) < (&*record.started, &*record.id)
            && is_same_machine(&own, &it.summary)
            && has_most_of(&requested, &it.summary)
    };
    let Some(before) = stored.iter().rev().find(|it| is_usable(it) && is_before(it)) else {
        if stored.iter().any(|it| is_too_noisy(it) && is_before(it)) {
            too_noisy();
        }
        return Ok(None);
    };
    let base = [estimates(store, &before.id)?];
    let new = [record.clone()];
    let compared = compare(&base, &new, &earlier_runs(&base, &new)?);
    // A class of machines leaves caches and memory out: what differs is then no change since.
    let mut flags = compared.comparisons.iter().flat_map(|it| &it.flags);
    let is_of_other_machine = flags.any(|flag| flag == MACHINES_DIFFER);
    Ok((!is_of_other_machine).then(|| PreviousRun { started: before.started.clone(), compared }))
}

/// Whether something can be said by comparing a run with this one.
fn is_usable(run: &SummarisedRun) -> bool {
    !run.imported && !run.summary.clock_drifted && class(run) != Some("very-noisy")
}

/// Whether it is the noise alone that keeps a run from being compared with this one.
fn is_too_noisy(run: &SummarisedRun) -> bool {
    !run.imported && !run.summary.clock_drifted && class(run) == Some("very-noisy")
}

fn class(run: &SummarisedRun) -> Option<&str> {
    run.summary.machine_states.first().and_then(|it| it.class.as_deref())
}

/// Whether both were measured on one machine, whatever its kernel was.
fn is_same_machine(one: &Summary, other: &Summary) -> bool {
    let machines = |it: &Summary| -> Vec<String> {
        it.machine_states.iter().map(|it: &MachineState| it.machine.clone()).collect()
    };
    machines(one) == machines(other) && !one.machine_states.is_empty()
}

/// Whether a run has most of the requested cases.
fn has_most_of(requested: &BTreeSet<(&str, &str)>, run: &Summary) -> bool {
    let key = |it: &Figure| requested.contains(&(it.target.as_str(), it.case.as_str()));
    let times = run.figures.iter().filter(|it| it.unit != Unit::CyclesPerOp);
    let shared = times.filter(|it| key(it)).count();
    shared > 0 && shared as f64 >= MIN_SHARED * requested.len() as f64
}

#[cfg(test)]
mod tests {
    use super::super::test_store::figure;
    use super::*;

    fn summary_of(machine: &str, cases: &[&str]) -> Summary {
        let state = MachineState { machine: machine.to_owned(), ..MachineState::default() };
        Summary {
            machine_states: vec![state],
            figures: cases.iter().map(|case| figure(case, 1.0)).collect(),
            ..Summary::default()
        }
    }

    #[test]
    fn the_run_before_has_half_of_the_cases_or_more() {
        let requested = BTreeSet::from([("local", "a/a"), ("local", "a/b"), ("local", "a/c")]);
        let has = |cases: &[&str]| has_most_of(&requested, &summary_of("m", cases));
        assert!(has(&["a/a", "a/b"]) && has(&["a/a", "a/c", "a/d"]));
        assert!(!has(&["a/a"]) && !has(&["a/d", "a/e"]) && !has(&[]));
        assert!(!has_most_of(&BTreeSet::new(), &summary_of("m", &["a/a"])));
        let mut in_cycles = summary_of("m", &["a/a", "a/a"]);
        in_cycles.figures[1].unit = Unit::CyclesPerOp;
        assert!(!has_most_of(&requested, &in_cycles), "a case is counted once");
    }

    #[test]
    fn the_run_before_is_of_the_same_machine_and_says_something() {
        let [one, same, other] = ["m", "m", "n"].map(|machine| summary_of(machine, &["a/a"]));
        assert!(is_same_machine(&one, &same) && !is_same_machine(&one, &other));
        assert!(!is_same_machine(&Summary::default(), &Summary::default()), "it is not known");
        let run = |imported: bool, drifted: bool, class: &str| {
            let mut summary = one.clone();
            summary.clock_drifted = drifted;
            summary.machine_states[0].class = Some(class.to_owned());
            let (id, started) = ("1".to_owned(), "1".to_owned());
            let run = SummarisedRun { id, started, imported, summary };
            (is_usable(&run), is_too_noisy(&run))
        };
        assert_eq!(run(false, false, "noisy"), (true, false));
        assert_eq!(run(true, false, "quiet"), (false, false));
        assert_eq!(run(false, true, "very-noisy"), (false, false));
        assert_eq!(run(false, false, "very-noisy"), (false, true));
    }
}
