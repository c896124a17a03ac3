//! What a run measures: its cases, and what they are defined by.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};

use super::named_rows::NamedRows;
use super::programs::{ProgramRequest, Programs};
use super::study_rows::study_cases;
use crate::hosts::WorkerBinary;
use crate::plan;
use crate::studies::Study;

/// What is measured.
pub(crate) struct Selection {
    pub(crate) cases: Vec<Case>,
    /// Which of them were asked for by name.
    pub(crate) named: NamedRows,
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
    let selectors = programs.selectors(selectors);
    let cases = match &study {
        Some(study) => study_cases(&definitions, study)?.local,
        None => plan::select(&definitions, &selectors, extent)?,
    };
    let named = match &study {
        Some(_) => NamedRows::All,
        None => NamedRows::OfCases(plan::named_cases(&definitions, &selectors, extent)?),
    };
    Ok(Selection { cases, named, definitions, programs, study })
}

/// The definitions of the worker's benchmarks and of the programs that come with oscost.
pub(crate) fn all_definitions() -> anyhow::Result<Catalog> {
    Ok(Programs::bundled().definitions(&WorkerBinary::find()?.catalog))
}
