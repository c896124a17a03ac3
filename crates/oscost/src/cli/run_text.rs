//! Runs as text.

use oscost_model::record::Record;

use super::display::text;
use super::output::report_line;
use crate::app::report::{MeasuredStudy, side_by_side, study_comparison};
use crate::report;
use crate::report::run::{CountedEvents, Plots};

/// A run of one target: in the form of its study, if it has one.
pub(super) fn single(
    record: &Record,
    study: Option<&MeasuredStudy>,
    plots: Plots,
    counted: CountedEvents,
) -> String {
    match study.filter(|it| it.study.columns.is_none()) {
        Some(study) => {
            text(&report::study::run::view(&side_by_side(study, record), record, plots))
        }
        None => text(&report::run::view(record, plots, counted)),
    }
}

/// A run of several targets: in the form of its study, if that compares two.
pub(super) fn comparison(record: &Record, study: Option<&MeasuredStudy>) -> String {
    match study.and_then(|study| study_comparison(study, record)) {
        Some(comparison) => text(&report::study::ab::view(&comparison, record)),
        None => text(&report::ab::view(record)),
    }
}

/// A run in the form of the command that measured it.
pub(super) fn any(
    record: &Record,
    study: Option<&MeasuredStudy>,
    plots: Plots,
    counted: CountedEvents,
) -> String {
    match record.comparisons.is_empty() {
        true => single(record, study, plots, counted),
        false => comparison(record, study),
    }
}

/// Reports that a run whose raw batches are needed has none any more.
pub(super) fn report_missing_batches(pruned_at: Option<&str>) {
    if let Some(at) = pruned_at {
        let day = at.get(..10).unwrap_or(at);
        report_line(&format!(
            "note: the raw batches of this run were pruned on {day}: its repetitions have their \
             values alone"
        ));
    }
}

/// Reports where a run is kept.
pub(super) fn report_run_id(id: Option<&str>) {
    if let Some(id) = id {
        report_line(&format!("kept as {id}: `oscost runs show last` shows it again"));
    }
}
