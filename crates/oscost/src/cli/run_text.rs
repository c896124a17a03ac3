//! Runs as text.

use oscost_model::record::Record;

use super::display::fitted_text;
use super::output::report_line;
use crate::app::report::{MeasuredStudy, PreviousRun, side_by_side, study_comparison};
use crate::report;
use crate::report::Screen;
use crate::report::run::{CountedEvents, Plots};
use crate::report::since::{self, PreviousRun as Before};

/// What is shown of a run, and where.
#[derive(Clone, Copy)]
pub(super) struct RunText<'a> {
    /// The study that it was measured for.
    pub(super) study: Option<&'a MeasuredStudy>,
    /// The run before it.
    pub(super) before: Option<&'a PreviousRun>,
    /// The terminal.
    pub(super) screen: Screen,
}

/// What changed since the run before.
pub(super) fn change_since(before: Option<&PreviousRun>) -> Option<String> {
    let PreviousRun { started, compared } = before?;
    since::sentence(&Before { started, compared })
}

/// A run of one target: in the form of its study, if it has one.
pub(super) fn single(
    record: &Record,
    text: RunText<'_>,
    plots: Plots,
    counted: CountedEvents,
) -> String {
    let RunText { study, before, screen } = text;
    let view = match study.filter(|it| it.study.columns.is_none()) {
        Some(study) => report::study::run::view(&side_by_side(study, record), record, plots),
        None => report::run::view(record, plots, counted).with_finding(change_since(before)),
    };
    fitted_text(view, screen)
}

/// A run of several targets: in the form of its study, if that compares two.
pub(super) fn comparison(record: &Record, study: Option<&MeasuredStudy>, screen: Screen) -> String {
    let view = match study.and_then(|study| study_comparison(study, record)) {
        Some(comparison) => report::study::ab::view(&comparison, record),
        None => report::ab::view(record),
    };
    fitted_text(view, screen)
}

/// A run in the form of the command that measured it.
pub(super) fn any(
    record: &Record,
    text: RunText<'_>,
    plots: Plots,
    counted: CountedEvents,
) -> String {
    match record.comparisons.is_empty() {
        true => single(record, text, plots, counted),
        false => comparison(record, text.study, text.screen),
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

/// Reports where a run or a bill is kept.
pub(super) fn report_id(id: Option<&str>) {
    if let Some(id) = id {
        report_line(&format!("kept as {id}: `oscost runs show last`"));
    }
}
