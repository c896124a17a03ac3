//! The predictions that a run takes into its record.

use oscost_model::journal::PlannedRow;
use oscost_model::record::Prediction;

use crate::app::observer::Observer;
use crate::app::results::omissions::note_omission;
use crate::app::results::user_data::existing_store;

/// The stored predictions for the cases of a run that is about to begin.
pub(crate) fn predictions_for(rows: &[PlannedRow], observer: &dyn Observer) -> Vec<Prediction> {
    let read = existing_store().and_then(|store| match store {
        Some(store) => Ok(store.predictions()?),
        None => Ok(Vec::new()),
    });
    let all = read.unwrap_or_else(|error| {
        note_omission(observer, "predictions are left out", &error);
        Vec::new()
    });
    let is_measured = |case: &str| rows.iter().any(|row| row.case.to_string() == case);
    all.into_iter().map(|it| it.prediction).filter(|it| is_measured(&it.case)).collect()
}
