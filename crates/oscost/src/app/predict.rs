//! `oscost predict`: predictions that later runs are compared with.

use oscost_model::case::Case;
use oscost_model::definition::{Catalog, Extent};
use oscost_model::record::{NumberedPrediction, Prediction, Record};
use oscost_model::unit::Unit;

pub use crate::studies::figures::prediction::Estimate;

use super::error::UsageError;
use super::measurement::run_header::timestamp;
use super::results::records::record;
use super::results::user_data::{existing_store, open_store, open_store_to_read};
use super::selection::cases::all_definitions;
use crate::plan;

/// A prediction.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// The case, in full.
    pub case: String,
    /// Its expected cost; empty if only its parts or `below` are predicted.
    pub estimate: String,
    /// The part of it that the hardware takes.
    pub hardware: Option<Estimate>,
    /// The part of it that the software takes.
    pub software: Option<Estimate>,
    /// A case that costs more.
    pub below: Option<String>,
}

/// Which predictions are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionSelection {
    /// All.
    All,
    /// The one of this number.
    Number(i64),
}

/// Keeps a prediction; returns its number.
pub fn predict(request: &Request) -> anyhow::Result<i64> {
    let catalog = all_definitions()?;
    let whole = match request.estimate.as_str() {
        "" => None,
        text => Some(Estimate::parse(text).map_err(UsageError)?),
    };
    let below = request.below.as_deref().map(|it| predictable(&catalog, it)).transpose()?;
    let case = predictable(&catalog, &request.case)?;
    let has_parts = request.hardware.is_some() && request.software.is_some();
    if below.is_none() && whole.is_none() && !has_parts {
        let what = "cannot keep a prediction without an estimate of the whole";
        let hint = "add an estimate, both `--hardware` and `--software`, or `--below CASE`";
        return Err(UsageError::with_hint(what, hint).into());
    }
    if below.as_ref() == Some(&case) {
        let what = format!("cannot predict this: `{case}` cannot cost less than itself");
        return Err(UsageError::with_hint(&what, "name another case after `--below`").into());
    }
    let text = |estimate: Option<Estimate>| estimate.map(|it| it.to_string());
    let prediction = Prediction {
        case: case.to_string(),
        estimate: text(whole),
        hardware: text(request.hardware),
        software: text(request.software),
        below: below.map(|case| case.to_string()),
        made_at: timestamp(),
    };
    Ok(open_store()?.add_prediction(&prediction)?)
}

/// The predictions in the store, with their numbers.
pub fn list() -> anyhow::Result<Vec<NumberedPrediction>> {
    match existing_store()? {
        Some(store) => Ok(store.predictions()?),
        None => Ok(Vec::new()),
    }
}

/// Deletes predictions; returns how many.
pub fn delete(which: PredictionSelection) -> anyhow::Result<usize> {
    let number = match which {
        PredictionSelection::All => None,
        PredictionSelection::Number(number) => Some(number),
    };
    Ok(open_store()?.remove_predictions(number)?)
}

/// The run whose predictions are checked.
pub fn check(run: &str) -> anyhow::Result<Record> {
    record(&open_store_to_read()?, run, false)
}

/// The single case that `name` means, if its cost is a time.
fn predictable(catalog: &Catalog, name: &str) -> anyhow::Result<Case> {
    let found = plan::select(catalog, &[name.to_owned()], Extent::Default)?;
    let case = match &found[..] {
        [case] if case.to_string() == name => case.clone(),
        found => {
            let hint = found.first().map_or_else(
                || "`oscost list -v` names benchmarks and axes".to_owned(),
                |it| format!("`{it}` is one"),
            );
            let what = format!("`{}` is not the full name of a single case", name.escape_debug());
            return Err(UsageError::with_hint(&what, &hint).into());
        }
    };
    match catalog.get(&case.benchmark).map(|definition| definition.unit) {
        Some(Unit::NsPerOp | Unit::Seconds) => Ok(case),
        unit => {
            let unit = unit.map_or("nothing", Unit::text);
            let what = format!(
                "cannot predict `{case}`: its unit is {unit}, and only times are predicted"
            );
            let hint =
                "`oscost list -v` names benchmarks and axes; most figures are times of an op";
            Err(UsageError::with_hint(&what, hint).into())
        }
    }
}
