//! A study with the run that measured it.

use oscost_model::record::Record;

use crate::studies::Study;
use crate::studies::claims::judgement::JudgedClaim;
use crate::studies::comparison::single_target::{SingleTargetComparison, compare_single_target};
use crate::studies::comparison::two_targets::{TwoTargetComparison, compare_two_targets};

/// A run joined with its study.
pub(super) enum StudyComparison<'a> {
    OneTarget(Box<SingleTargetComparison<'a>>),
    TwoTargets(Box<TwoTargetComparison<'a>>),
}

impl<'a> StudyComparison<'a> {
    pub(super) fn of(study: &'a Study, record: &'a Record, earlier: &[Record]) -> Self {
        match compare_two_targets(study, record) {
            Some(comparison) => Self::TwoTargets(Box::new(comparison)),
            None => Self::OneTarget(Box::new(compare_single_target(study, record, earlier))),
        }
    }

    pub(super) fn claims(&self) -> &[JudgedClaim<'a>] {
        match self {
            Self::OneTarget(it) => &it.claims,
            Self::TwoTargets(it) => &it.claims,
        }
    }
}

/// A study with its run, if it was measured here.
pub(super) struct StudyRun<'a> {
    pub(super) study: &'a Study,
    pub(super) run: Option<JoinedRun<'a>>,
}

/// A run, and the same joined with its study.
pub(super) struct JoinedRun<'a> {
    pub(super) record: &'a Record,
    pub(super) joined: StudyComparison<'a>,
}

/// The command that measures a study.
pub(super) fn command(study: &Study) -> String {
    let verb = if study.columns.is_some() { "ab" } else { "run" };
    format!("oscost {verb} --study {}", study.id)
}
