//! The word behind `--study`: a study that comes with oscost, or a file of the user's own.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::journal::PlannedRow;
use oscost_model::record::{Record, TargetInfo};

use super::UsageError;
use super::named::Named;
use crate::plan;
use crate::studies::{self, Study, text};

const NAMED: Named =
    Named { what: "study", page: "docs/STUDY-FILES.md", most_bytes: text::MOST_BYTES };

/// Whether a word names a file, and no study that comes with oscost.
fn is_file(word: &str) -> bool {
    word.contains('/') || word.ends_with(".toml")
}

/// Finds the study of that name, or reads it from its file.
pub(super) fn find(word: &str) -> anyhow::Result<Study> {
    if is_file(word) {
        return NAMED.read(word, text::read);
    }
    let names: Vec<&str> = studies::names().collect();
    studies::named(word).ok_or_else(|| NAMED.unknown(word, &names))
}

/// The same of a study that compares nothing.
pub(super) fn of_one_target(word: &str) -> anyhow::Result<Study> {
    let study = find(word)?;
    match &study.columns {
        None => Ok(study),
        Some([one, other]) => Err(UsageError(format!(
            "study {} compares `{}` with `{}`: `oscost ab --study {word}` measures it",
            study.id, other.target, one.target
        ))
        .into()),
    }
}

/// The study that a run was measured for, as its record names it; `None` where it has none, or
/// where that was a file, which may have changed since.
pub(super) fn of_record(record: &Record) -> Option<Study> {
    record.settings.study.as_deref().filter(|word| !is_file(word)).and_then(studies::named)
}

/// The cases of a study with both ends on one machine, in the catalog's order. Each must be one case
/// of the catalog, by the name that its row has in the record.
pub(super) fn cases(catalog: &Catalog, study: &Study) -> anyhow::Result<Vec<Case>> {
    Ok(asked(catalog, study)?.0)
}

/// The cases of a study in the catalog's order: those with both ends on one machine, then those
/// with one of them on another.
pub(super) fn asked(catalog: &Catalog, study: &Study) -> anyhow::Result<(Vec<Case>, Vec<Case>)> {
    let wanted = study.wanted();
    for it in &wanted {
        one_case(catalog, it).map_err(|why| {
            UsageError(format!("cannot measure the study {}: line {}: {why}", study.id, it.line))
        })?;
    }
    let of = |peer: bool| -> anyhow::Result<Vec<Case>> {
        let those = wanted.iter().filter(|it| it.peer == peer);
        let selectors: Vec<String> = those.map(|it| it.case.to_owned()).collect();
        // Without a selector it would be the price list.
        match selectors.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(plan::select(catalog, &selectors, Extent::Default)?),
        }
    };
    Ok((of(false)?, of(true)?))
}

/// Whether what a study wants is one case of the catalog; if not, why.
fn one_case(catalog: &Catalog, wanted: &studies::Wanted<'_>) -> Result<(), String> {
    let case = wanted.case;
    let found = plan::select(catalog, &[case.to_owned()], Extent::Default);
    match found.map_err(|error| error.to_string())?.as_slice() {
        [one] if one.to_string() == case => Ok(()),
        found => {
            let meant = found.first().map(|it| format!("; `{it}` is one")).unwrap_or_default();
            Err(format!("`{case}` is not a single case in full{meant}"))
        }
    }
}

/// Rows that cannot be measured here, and why.
pub(super) type Lacking = Vec<(usize, String)>;

/// The rows of a study: those of cases with both ends here, those with one of them at the peer,
/// then what is measured beside them; each with its manner. And which of them lack a peer.
pub(super) fn rows(
    catalog: &Catalog,
    study: &Study,
    target: &TargetInfo,
    peer: Option<&str>,
) -> anyhow::Result<(Vec<PlannedRow>, Lacking)> {
    let (near, far) = asked(catalog, study)?;
    let far = plan::remote_peer_rows(catalog, far, target, peer);
    let mut rows = plan::rows(catalog, near, target);
    let first = rows.iter().take_while(|row| row.requested).count();
    let last = first + far.len();
    rows.splice(first..first, far);
    let wanted = study.wanted();
    let mut lacking = Vec::new();
    for (at, row) in rows[..last].iter_mut().enumerate() {
        let is_far = at >= first;
        row.study_method = wanted
            .iter()
            .find(|it| it.peer == is_far && is_of(catalog, it, row))
            .and_then(|it| it.study_method);
        let why = match (is_far, peer) {
            (false, _) => None,
            (true, None) => Some(studies::NO_PEER.to_owned()),
            (true, Some(_)) => plan::local_only_reason(row),
        };
        lacking.extend(why.map(|why| (at, why)));
    }
    Ok((rows, lacking))
}

/// Whether a row is what a study wants: between machines the peer is always on another CPU.
fn is_of(catalog: &Catalog, wanted: &studies::Wanted<'_>, row: &PlannedRow) -> bool {
    let Some(case) = Case::parse(wanted.case) else { return false };
    match wanted.peer {
        true => plan::with_remote_peer(catalog, vec![case]).0.contains(&row.case),
        false => case == row.case,
    }
}

/// Programs are tried as often as a study did.
pub(super) fn as_often_as(study: &Study, rows: &mut [PlannedRow]) {
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
