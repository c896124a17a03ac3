//! What answers to `--what-if` need, and the comparisons that they are made of.

use oscost_model::cool::COOL;
use oscost_model::raw_call::CALL;
use oscost_model::reach::Reach;
use oscost_model::record::Record;
use oscost_model::target::{Target, Treatment};

use super::subject::BillSubject;
use super::trials::ModeTimes;
use crate::app::ab::{Request as ComparisonRequest, ab};
use crate::app::error::is_interrupted;
use crate::app::measurement::retention::{Completion, Retention};
use crate::app::observer::Observer;
use crate::app::results::prices::PriceRuns;
use crate::app::selection::effort::Effort;
use crate::app::selection::programs::ProgramRequest;
use crate::app::targets::connect::BusyPolicy;
use crate::hosts::WorkerBinary;
use crate::run::EventCounting;
use crate::treatments::KINDS;

/// Why nothing is measured after Ctrl-C.
pub(super) const INTERRUPTED: &str = "it was interrupted";

/// What the answers need beside the bill.
pub(super) struct WhatIfContext<'a> {
    /// Where, and under which treatments, the program was billed.
    pub(super) base: &'a Target,
    pub(super) subject: &'a BillSubject,
    pub(super) worker: &'a WorkerBinary,
    /// The runs of the bill's prices.
    pub(super) prices: &'a PriceRuns,
    pub(super) cpu: Option<u32>,
    /// How the kernel knows the times of the program.
    pub(super) mode_times: ModeTimes,
    /// The time for the added costs of one change; 0 for those that are known.
    pub(super) price_seconds: u32,
    /// Whether predictions are checked.
    pub(super) is_checked: bool,
    /// How long the check of one takes; `None` for as long as the predicted increase needs.
    pub(super) check_seconds: Option<u32>,
    /// Whether the bill is kept before that.
    pub(super) is_kept: bool,
    /// Whether the user has ended the runs of the program.
    pub(super) runs_interrupted: bool,
    /// Whether the user has ended the measurement of prices.
    pub(super) prices_interrupted: bool,
    pub(super) on_busy: BusyPolicy,
}

/// Why there is no answer.
pub(super) struct Failure {
    pub(super) reason: String,
    /// Whether the user has ended the measurement: then nothing else is measured.
    pub(super) is_interrupt: bool,
}

impl From<String> for Failure {
    fn from(reason: String) -> Self {
        Self { reason, is_interrupt: false }
    }
}

impl From<anyhow::Error> for Failure {
    fn from(error: anyhow::Error) -> Self {
        Self { reason: format!("{error:#}"), is_interrupt: is_interrupted(&error) }
    }
}

impl WhatIfContext<'_> {
    /// Where in a program what a target has beside the base costs time.
    pub(super) fn reach(&self, target: &Target) -> Reach {
        let of = |treatment: &Treatment| match treatment.name.as_str() {
            // The walk between the ops of a comparison, and the function around its calls, are in both of its
            // sides.
            COOL | CALL => None,
            name => {
                let kind = KINDS.iter().find(|kind| kind.name == name);
                Some(kind.map_or(Reach::Anything, |kind| kind.reach))
            }
        };
        let further = target.treatments.iter().skip(self.base.treatments.len());
        further.filter_map(of).max().unwrap_or(Reach::Anything)
    }

    /// A comparison of two targets; what is compared is left open.
    pub(super) fn comparison(&self, [base, new]: [&Target; 2]) -> ComparisonRequest {
        ComparisonRequest {
            base: Some(base.to_string()),
            new: vec![new.to_string()],
            selectors: Vec::new(),
            programs: ProgramRequest::default(),
            study: None,
            effort: Effort::Default,
            budget_s: None,
            event_counting: EventCounting::default(),
            cpu: self.cpu,
            numa_turn: None,
            peer_cpu: None,
            label: None,
            seed: None,
            gate: None,
            retention: Retention { keep: true, raw_samples: false },
            on_busy: self.on_busy,
        }
    }
}

/// Measures a comparison, which is kept as a run of its own.
pub(super) fn compare(
    request: &ComparisonRequest,
    observer: &dyn Observer,
) -> Result<Record, Failure> {
    let measured = ab(request, observer)?.measured;
    match measured.ended {
        Ok(Completion::Interrupted) => {
            Err(Failure { reason: INTERRUPTED.to_owned(), is_interrupt: true })
        }
        // What was measured before a failure counts.
        _ => Ok(measured.record),
    }
}
