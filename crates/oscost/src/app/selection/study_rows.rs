//! The cases and rows of a study.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::journal::PlannedRow;
use oscost_model::record::TargetInfo;

use super::named_files::find_study;
use crate::app::error::UsageError;
use crate::plan::{self, SkippedRow};
use crate::studies::{self, Study};

/// The study of that name, for a run on one target: it must not compare two.
pub(crate) fn study_without_comparison(name: &str) -> anyhow::Result<Study> {
    let study = find_study(name)?;
    match &study.columns {
        None => Ok(study),
        Some([one, other]) => {
            let what = format!(
                "cannot run study {} at one target: it compares `{}` with `{}`",
                study.id, other.target, one.target
            );
            let hint = format!("`oscost ab --study {name}` measures it");
            Err(UsageError::with_hint(&what, &hint).into())
        }
    }
}

/// The cases of a study, in the catalog's order.
pub(crate) struct StudyCases {
    /// Both ends are on one machine.
    pub(crate) local: Vec<Case>,
    /// One end is on the peer's machine.
    pub(crate) remote: Vec<Case>,
}

/// The cases of a study. Each must be one case of the catalog, under the name that its row has in
/// the record.
pub(crate) fn study_cases(catalog: &Catalog, study: &Study) -> anyhow::Result<StudyCases> {
    let wanted = study.requested_cases();
    for it in &wanted {
        check_case(catalog, it).map_err(|why| {
            let what = format!("cannot measure the study {}: line {}: {why}", study.id, it.line);
            UsageError::with_hint(&what, "`oscost list -v` names benchmarks and axes")
        })?;
    }
    let select = |peer: bool| -> anyhow::Result<Vec<Case>> {
        let those = wanted.iter().filter(|it| it.peer == peer);
        let selectors: Vec<String> = those.map(|it| it.case.to_owned()).collect();
        // Without a selector the price list would be selected.
        match selectors.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(plan::select(catalog, &selectors, Extent::Default)?),
        }
    };
    Ok(StudyCases { local: select(false)?, remote: select(true)? })
}

/// Refuses a name that does not mean exactly one case of the catalog.
fn check_case(catalog: &Catalog, wanted: &studies::RequestedCase<'_>) -> Result<(), String> {
    let case = wanted.case;
    let found = plan::select(catalog, &[case.to_owned()], Extent::Default);
    match found.map_err(|error| error.to_string())?.as_slice() {
        [one] if one.to_string() == case => Ok(()),
        found => {
            let example = found.first().map(|it| format!("; `{it}` is one")).unwrap_or_default();
            Err(format!("`{case}` is not the full name of a single case{example}"))
        }
    }
}

/// The rows of a study.
pub(crate) struct StudyRows {
    pub(crate) rows: Vec<PlannedRow>,
    /// Those that need a peer which there is not.
    pub(crate) skipped: Vec<SkippedRow>,
}

/// The rows of a study, each with its study method: cases with both ends on one machine, cases with
/// one end at the peer, then reference cases and parts of floors.
pub(crate) fn study_rows(
    catalog: &Catalog,
    study: &Study,
    target: &TargetInfo,
    peer: Option<&str>,
) -> anyhow::Result<StudyRows> {
    let StudyCases { local, remote } = study_cases(catalog, study)?;
    let remote = plan::remote_peer_rows(catalog, remote, target, peer);
    let mut rows = plan::rows(catalog, local, target);
    let first = rows.iter().take_while(|row| row.requested).count();
    let last = first + remote.len();
    rows.splice(first..first, remote);
    let wanted = study.requested_cases();
    let mut skipped = Vec::new();
    for (index, row) in rows[..last].iter_mut().enumerate() {
        let is_remote = index >= first;
        row.study_method = wanted
            .iter()
            .find(|it| it.peer == is_remote && is_row_of(catalog, it, row))
            .and_then(|it| it.study_method);
        let reason = match (is_remote, peer) {
            (false, _) => None,
            (true, None) => Some(studies::NO_PEER.to_owned()),
            (true, Some(_)) => plan::local_only_reason(row),
        };
        skipped.extend(reason.map(|reason| SkippedRow { row: index, reason }));
    }
    Ok(StudyRows { rows, skipped })
}

/// Whether a row is the requested case of a study: between machines the peer is always on another
/// CPU.
fn is_row_of(catalog: &Catalog, wanted: &studies::RequestedCase<'_>, row: &PlannedRow) -> bool {
    let Some(case) = Case::parse(wanted.case) else { return false };
    match wanted.peer {
        true => plan::with_remote_peer(catalog, vec![case]).cases.contains(&row.case),
        false => case == row.case,
    }
}

/// Gives programs as many trials as the study made.
pub(crate) fn repeat_as_study(study: &Study, rows: &mut [PlannedRow]) {
    let all = study.tables.iter().flat_map(|table| &table.rows);
    for row in rows {
        let case = row.case.to_string();
        let runs =
            all.clone().filter(|it| it.case() == Some(case.as_str())).map(|it| it.runs).max();
        if let (Some(workload), Some(runs)) = (&mut row.workload, runs) {
            workload.trials = runs as u32;
            workload.min_trials = runs as u32;
        }
    }
}
