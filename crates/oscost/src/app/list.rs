//! `oscost list`: the benchmarks that can be measured.

use oscost_model::definition::{Catalog, Definition, Extent};

use super::selection::cases::all_definitions;
use crate::plan;

/// What is listed.
pub struct Outcome {
    /// All families and benchmarks.
    pub catalog: Catalog,
    /// The selected benchmarks.
    pub selected: Vec<Definition>,
}

/// Lists the selected benchmarks; without selectors, all of them.
pub fn list(selectors: &[String]) -> anyhow::Result<Outcome> {
    let catalog = all_definitions()?;
    let cases = plan::select(&catalog, selectors, Extent::Default)?;
    let is_selected = |definition: &&Definition| {
        selectors.is_empty() || cases.iter().any(|case| case.benchmark == definition.id)
    };
    let selected = catalog.benchmarks.iter().filter(is_selected).cloned().collect();
    Ok(Outcome { catalog, selected })
}

/// All that can be measured.
pub fn definitions() -> anyhow::Result<Catalog> {
    all_definitions()
}
