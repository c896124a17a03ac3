//! Earlier runs of a study on the system of a run: its claims are judged by all of them.

use std::collections::BTreeMap;

use oscost_model::record::Record;

use super::earlier_runs::is_same_machine;
use super::figures::{SUMMARY_RULES, options, summary};
use super::records::load;
use super::user_data::existing_store;
use crate::app::observer::Observer;
use crate::store::{Listing, Store, Summary};
use crate::studies::Study;

/// More runs would hardly narrow an interval, and each is read with its journal.
const MAX_RUNS: usize = 10;

/// A study that a run was measured for, with the earlier runs of it.
#[derive(Clone, Debug)]
pub struct MeasuredStudy {
    /// The study.
    pub study: Study,
    /// Its earlier runs on the same system, the newest first.
    pub earlier: Vec<Record>,
}

impl MeasuredStudy {
    /// A study without earlier runs.
    pub(crate) fn alone(study: Study) -> Self {
        Self { study, earlier: Vec::new() }
    }

    /// A study with the earlier runs that the user's store has of it. If they cannot be read, that is
    /// noted, and the run stands alone.
    pub(crate) fn of(study: Study, record: &Record, observer: &dyn Observer) -> Self {
        let found = existing_store().and_then(|store| match store {
            Some(store) => earlier_study_runs(&store, &study, record),
            None => Ok(Vec::new()),
        });
        let earlier = found.unwrap_or_else(|error| {
            observer.note(&format!(
                "the claims of study {} are judged by this run alone: its earlier runs cannot be \
                 read: {error:#}",
                study.id
            ));
            Vec::new()
        });
        Self { study, earlier }
    }
}

/// The newest runs of a study before a run that was measured here, on the same machine with the same
/// kernel and worker. A study of two targets has none: its claims are judged by paired differences.
pub(crate) fn earlier_study_runs(
    store: &Store,
    study: &Study,
    record: &Record,
) -> anyhow::Result<Vec<Record>> {
    let Some(name) = record.settings.study.as_deref().filter(|_| study.columns.is_none()) else {
        return Ok(Vec::new());
    };
    let listed = store.list()?;
    // A run of another user's machine has no earlier runs here.
    if !listed.iter().any(|it| it.id == record.id && !it.imported) {
        return Ok(Vec::new());
    }
    let own = summary(record);
    let summaries = store.figures(SUMMARY_RULES, &|_| false)?;
    let summaries: BTreeMap<&str, &Summary> =
        summaries.iter().map(|it| (it.id.as_str(), &it.summary)).collect();
    let is_candidate = |it: &&Listing| {
        let before = (it.started.as_str(), it.id.as_str()) < (&*record.started, &*record.id);
        let is_of_study = options(&it.command, "--study").last() == Some(&name);
        let known = summaries.get(it.id.as_str());
        let is_here = known.is_some_and(|summary| is_same_machine(&own, Some(0), summary, Some(0)));
        before && is_of_study && is_here && it.complete && !it.imported
    };
    let mut found = Vec::new();
    for run in listed.iter().filter(is_candidate) {
        if found.len() == MAX_RUNS {
            break;
        }
        let other = load(store, &run.id, false)?;
        if is_comparable(record, &other) {
            found.push(other);
        }
    }
    Ok(found)
}

/// Whether two runs of a study on one system measured the same: at one target, without a peer's
/// machine, which may have been another one, and with as much effort, which decides how many ops they
/// made.
fn is_comparable(one: &Record, other: &Record) -> bool {
    let target = |record: &Record| record.results.first().map(|row| row.target.text.clone());
    let is_alone = |record: &Record| record.machines.len() == 1 && record.comparisons.is_empty();
    is_alone(one)
        && is_alone(other)
        && target(one) == target(other)
        && one.settings.study == other.settings.study
        && one.settings.profile == other.settings.profile
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let text = include_str!("../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        record.machines.truncate(1);
        record.results.truncate(1);
        record.comparisons.clear();
        record.settings.study = Some("cs161-syscalls".to_owned());
        record
    }

    #[test]
    fn runs_with_another_target_peer_or_effort_are_not_comparable() {
        let one = record();
        assert!(is_comparable(&one, &one));
        let mut others = vec![one.clone(); 4];
        others[0].results[0].target.text = "seccomp=allow@local".to_owned();
        others[1].machines.push(one.machines[0].clone());
        others[2].settings.profile = "thorough".to_owned();
        others[3].settings.study = Some("./other.toml".to_owned());
        for other in &others {
            assert!(!is_comparable(&one, other) && !is_comparable(other, &one));
        }
    }
}
