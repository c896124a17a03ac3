//! What a run measures: its cases, and what they are defined by.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};

use super::programs::{ProgramRequest, Programs};
use super::study_rows::study_cases;
use crate::hosts::WorkerBinary;
use crate::plan;
use crate::studies::Study;

/// What is measured.
pub(crate) struct Selection {
    pub(crate) cases: Vec<Case>,
    /// The definitions of the worker's benchmarks and of programs.
    pub(crate) definitions: Catalog,
    pub(crate) programs: Programs,
    pub(crate) study: Option<Study>,
}

/// The cases of a study, or those that the selectors name. Errors in either are reported before
/// the command waits for a machine.
pub(crate) fn select(
    worker: &WorkerBinary,
    selectors: &[String],
    programs: &ProgramRequest,
    study: Option<Study>,
    extent: Extent,
) -> anyhow::Result<Selection> {
    let programs = Programs::with_request(programs)?;
    let definitions = programs.definitions(&worker.catalog);
    let cases = match &study {
        Some(study) => study_cases(&definitions, study)?.local,
        None => plan::select(&definitions, &programs.selectors(selectors), extent)?,
    };
    Ok(Selection { cases, definitions, programs, study })
}

/// The definitions of the worker's benchmarks and of the programs that come with oscost.
pub(crate) fn all_definitions() -> anyhow::Result<Catalog> {
    Ok(Programs::bundled().definitions(&WorkerBinary::find()?.catalog))
}
