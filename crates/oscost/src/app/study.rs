//! `oscost study`: published measurements that can be made again.

use oscost_model::record::Record;

use super::results::earlier_study_runs::earlier_study_runs;
use super::results::records::record;
use super::results::user_data::open_store_to_read;
use super::selection::named_files::find_study;
use crate::studies::{self, Study};
use crate::workloads;
use crate::workloads::study_program::StudyProgram;

/// The studies that come with oscost.
pub fn list() -> Vec<Study> {
    studies::built_in_names().filter_map(studies::find_built_in).collect()
}

/// The study of that name, or of that file.
pub fn show(name: &str) -> anyhow::Result<Study> {
    find_study(name)
}

/// The programs of a study that come with oscost, in the order of its rows.
pub fn programs(study: &Study) -> Vec<&'static StudyProgram> {
    let mut found: Vec<&'static StudyProgram> = Vec::new();
    let cases = study.rows().filter_map(|row| row.case());
    let benchmarks = cases.map(|case| case.split(':').next().unwrap_or(case));
    for spec in benchmarks.filter_map(workloads::find) {
        for program in spec.study_programs() {
            if !found.iter().any(|it| it.name == program.name) {
                found.push(program);
            }
        }
    }
    found
}

/// The last run of a study, and the runs of it before that one.
#[derive(Clone, Debug)]
pub struct LastRuns {
    /// The last run.
    pub last: Record,
    /// Those before it on the same system, the newest first.
    pub earlier: Vec<Record>,
}

/// The last runs of each of these studies that were measured here, if there are any.
pub fn last_runs(studies: &[Study]) -> anyhow::Result<Vec<Option<LastRuns>>> {
    let store = open_store_to_read()?;
    let mut found: Vec<Option<LastRuns>> = studies.iter().map(|_| None).collect();
    for run in store.list()? {
        // A record is read only where its command line names a study.
        let is_study = |word: &String| word == "--study" || word.starts_with("--study=");
        if found.iter().all(Option::is_some) {
            break;
        }
        if run.imported || !run.command.iter().any(is_study) {
            continue;
        }
        let last = record(&store, &run.id, false)?;
        let Some(name) = last.settings.study.clone() else { continue };
        let Some(at) = studies.iter().position(|study| study.id == name) else { continue };
        if found[at].is_none() {
            let earlier = earlier_study_runs(&store, &studies[at], &last)?;
            found[at] = Some(LastRuns { last, earlier });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use oscost_model::case::Case;

    use super::*;

    #[test]
    fn the_programs_of_studies_exist_with_their_points_and_metrics() {
        let mut seen = 0;
        for study in list() {
            for row in study.rows().filter(|row| row.is_program()) {
                let case = Case::parse(row.case().unwrap()).unwrap();
                let spec = workloads::find(&case.benchmark);
                let spec = spec.unwrap_or_else(|| panic!("line {}: {case}", row.line));
                for (name, value) in case.point.iter() {
                    let axis = spec.axes.iter().find(|axis| axis.name == *name);
                    assert!(axis.is_some_and(|axis| axis.points.contains(value)), "{case}");
                }
                assert!(spec.definition().is_complete(&case.point), "{case}");
                seen += 1;
            }
        }
        assert!(seen > 50, "{seen}");
    }

    #[test]
    fn each_program_of_a_study_is_named_once() {
        let named = |study: &str| {
            let study = studies::find_built_in(study).unwrap();
            programs(&study).iter().map(|program| program.name).collect::<Vec<_>>()
        };
        assert_eq!(named("cs161-syscalls"), ["cs161", "cs161-pid"]);
        assert_eq!(named("cse221-2014"), ["cse221"]);
        assert_eq!(named("ph-2000"), ["ph2000", "hello"]);
        assert_eq!(named("sunos-1999"), ["output"]);
        assert!(named("cs736-2019").is_empty());
    }
}
