//! `oscost study`: published measurements that can be made again.

use oscost_model::record::Record;

use super::results::records::record;
use super::results::user_data::open_store;
use super::selection::named_files::find_study;
use crate::studies::{self, Study};

/// The studies that come with oscost.
pub fn list() -> Vec<Study> {
    studies::built_in_names().filter_map(studies::find_built_in).collect()
}

/// The study of that name, or of that file.
pub fn show(name: &str) -> anyhow::Result<Study> {
    find_study(name)
}

/// The last run of each of these studies that was measured here, if there is one.
pub fn last_runs(studies: &[Study]) -> anyhow::Result<Vec<Option<Record>>> {
    let store = open_store()?;
    let mut found: Vec<Option<Record>> = studies.iter().map(|_| None).collect();
    for run in store.list()? {
        // A record is read only where its command line names a study.
        let is_study = |word: &String| word == "--study" || word.starts_with("--study=");
        if found.iter().all(Option::is_some) {
            break;
        }
        if run.imported || !run.command.iter().any(is_study) {
            continue;
        }
        let record = record(&store, &run.id, false)?;
        let Some(name) = record.settings.study.clone() else { continue };
        let at = studies.iter().position(|study| study.id == name);
        if let Some(slot) = at.and_then(|at| found.get_mut(at)).filter(|it| it.is_none()) {
            *slot = Some(record);
        }
    }
    Ok(found)
}
