//! `oscost report`: reads a run or a bill that is to be shown or written.

use oscost_model::bill::Bill;
use oscost_model::record::Record;

pub use super::results::earlier_study_runs::MeasuredStudy;
pub use super::results::run_before::PreviousRun;
pub use crate::studies::Study;

use super::observer::Observer;
use super::results::records::{KeptRecord, KeptRun, RecordReader};
use super::selection::named_files::study_of;
use crate::studies::comparison::single_target::{SingleTargetComparison, compare_single_target};
use crate::studies::comparison::two_targets::{TwoTargetComparison, compare_two_targets};

/// A run, and the study that it was measured for.
pub struct Run {
    /// Its record.
    pub record: Record,
    /// The study, if it comes with oscost.
    pub study: Option<MeasuredStudy>,
    /// The run before it on its machine, if there is one.
    pub before: Option<PreviousRun>,
    /// When its raw batches were pruned, if they were.
    pub pruned_at: Option<String>,
}

/// What is reported.
pub enum ReportSubject {
    /// A run.
    Run(Box<Run>),
    /// A bill.
    Bill(Box<Bill>),
}

/// The run or bill of that name: in the store, or a record file.
pub fn read(name: &str, samples: bool, observer: &dyn Observer) -> anyhow::Result<ReportSubject> {
    Ok(reported(RecordReader::new("report").read_any(name, samples)?, observer))
}

/// A record, a run with the study that it names and its earlier runs.
pub fn reported(kept: KeptRecord, observer: &dyn Observer) -> ReportSubject {
    match kept {
        KeptRecord::Run(run) => ReportSubject::Run(Box::new(with_study(*run, observer))),
        KeptRecord::Bill(bill) => ReportSubject::Bill(bill),
    }
}

/// A run with the study that it names, and its earlier runs.
fn with_study(kept: KeptRun, observer: &dyn Observer) -> Run {
    let KeptRun { record, pruned_at, .. } = kept;
    let study = study_of(&record).map(|study| MeasuredStudy::of(study, &record, observer));
    let before = PreviousRun::of_kept(&record, observer);
    Run { study, before, record, pruned_at }
}

/// A run of a study that compares two targets, with what was published; `None` if the run does not
/// compare them.
pub fn study_comparison<'a>(
    study: &'a MeasuredStudy,
    record: &'a Record,
) -> Option<TwoTargetComparison<'a>> {
    compare_two_targets(&study.study, record)
}

/// A run side by side with what its study published.
pub fn side_by_side<'a>(
    study: &'a MeasuredStudy,
    record: &'a Record,
) -> SingleTargetComparison<'a> {
    compare_single_target(&study.study, record, &study.earlier)
}
