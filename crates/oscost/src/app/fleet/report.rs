//! `oscost fleet report`: which nodes of a fleet are not like the others, and what changed.

use std::path::Path;

use super::data_set;
use super::source::{FleetSource, LoadedFleet, RejectedRecord, load};
use crate::app::error::UsageError;
use crate::fleet::{AnalysisOptions, Fleet, FleetAnalysis, FleetChanges, analyse, fleet_changes};

/// Which fleet.
#[derive(Clone, Debug)]
pub struct Request {
    /// The source: the name of a fleet, its folder, or a data set.
    pub source: String,
    /// The source of the same fleet at another moment.
    pub baseline: Option<String>,
}

/// A fleet, and what is said of it.
pub struct Outcome {
    /// The fleet.
    pub fleet: Fleet,
    /// Which of its nodes and cases stand out.
    pub analysis: FleetAnalysis,
    /// What changed; `None` if it was not compared.
    pub changes: Option<FleetChanges>,
    /// The records that could not be read.
    pub rejected: Vec<RejectedRecord>,
}

impl Outcome {
    /// Writes all figures as a data set into a folder.
    pub fn write_data_set(&self, folder: &Path) -> anyhow::Result<()> {
        data_set::write_data_set(&self.fleet, folder)?;
        Ok(())
    }
}

/// Reads a fleet, analyses it, and compares it with the baseline.
pub fn report(request: &Request) -> anyhow::Result<Outcome> {
    let Request { source, baseline } = request;
    let LoadedFleet { fleet, mut rejected } = loaded(source)?;
    let changes = match baseline {
        None => None,
        Some(baseline) => {
            let base = loaded(baseline)?;
            let of_base = base
                .rejected
                .into_iter()
                .map(|it| RejectedRecord { file: format!("{baseline}: {}", it.file), why: it.why });
            rejected.extend(of_base);
            Some(fleet_changes(&base.fleet, &fleet, baseline))
        }
    };
    let analysis = analyse(&fleet, AnalysisOptions::default());
    Ok(Outcome { fleet, analysis, changes, rejected })
}

/// The fleet of a source; one without a visit is refused.
fn loaded(source: &str) -> anyhow::Result<LoadedFleet> {
    let found = load(&FleetSource::parse(source))?;
    if found.fleet.visits.is_empty() {
        let first = found.rejected.first();
        let why = first.map_or_else(String::new, |it| format!(" ({}: {})", it.file, it.why));
        let what = format!("cannot report fleet {source}: no record of it could be used{why}");
        let hint = "`oscost fleet status` says what became of its nodes";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    Ok(found)
}
