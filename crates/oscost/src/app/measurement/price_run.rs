//! The runs that measure what a bill lacks: prices, and pairs of rows for what is added to them.

use std::time::Duration;

use oscost_model::case::Case;
use oscost_model::definition::Catalog;
use oscost_model::journal::PlannedRow;
use oscost_model::record::{Machine, Settings, TargetInfo};
use oscost_model::treatment::TreatmentSet;

use super::predictions::predictions_for;
use super::retention::{CompletedRun, Retention, observe};
use super::run_header::{fresh_seed, run_header};
use crate::app::observer::Observer;
use crate::app::results::prices::{PairKind, PairTreatment};
use crate::app::selection::effort::{Effort, trial_budget};
use crate::app::selection::named_rows::NamedRows;
use crate::hosts::Session;
use crate::plan::{self, ComparedTarget, ComparisonRows};
use crate::run::{self, ComparisonPlan, EventCounting, PairCount, Profile, RoundLimit};

/// What a short run takes beside its rows: a probe of the CPUs, calibrations, the reference cases.
pub(super) const OVERHEAD: Duration = Duration::from_secs(4);
/// As many pairs of a case as `oscost ab --quick` makes of a few.
const PAIRS: u32 = 8;

/// Where the prices are measured that a bill needs, and under which treatments.
#[derive(Clone, Copy)]
pub(crate) struct PricedTarget<'a> {
    pub(crate) catalog: &'a Catalog,
    pub(crate) side: &'a ComparedTarget,
    pub(crate) machine: &'a Machine,
}

/// The cases of a run of prices.
pub(super) struct PricedCases {
    pub(super) cases: Vec<Case>,
    /// Those of them that are also measured through a function around each call, and without one as a
    /// pair.
    pub(super) through_functions: Vec<Case>,
}

/// Measures cases as `oscost run --quick` does, in a session that is open, and keeps the run.
pub(super) fn price_run(
    session: &mut dyn Session,
    at: PricedTarget<'_>,
    priced: PricedCases,
    limit: Duration,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let PricedCases { cases, through_functions } = priced;
    let mut rows = plan::rows(at.catalog, cases, &at.side.target);
    let monitored = plan::has_monitor(&at.side.treatments);
    rows.iter_mut().for_each(|row| row.monitored = monitored);
    let mut treatments = vec![at.side.treatments.clone(); rows.len()];
    for side in PairKind::Function.sides(0) {
        let ComparedTarget { target, treatments: of_side } = compared_target(at, side);
        // Without the reference cases, which are there: one of them that is a price as well is no reference
        // through a function.
        let of_pairs = plan::rows(at.catalog, through_functions.clone(), &target).into_iter();
        let of_pairs = of_pairs.filter(|row| row.requested);
        rows.extend(of_pairs.map(|row| PlannedRow { is_reference: false, ..row }));
        treatments.resize(rows.len(), of_side);
    }
    let planned = PlannedRows { rows, treatments, comparison: None };
    kept_run(session, at, planned, EventCounting::InFewRounds, limit, observer)
}

/// Compares cases under two treatments as `oscost ab --quick` does, in a session that is open, and
/// keeps the run.
pub(super) fn pair_run(
    session: &mut dyn Session,
    at: PricedTarget<'_>,
    sides: [PairTreatment; 2],
    cases: &[Case],
    limit: Duration,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let [base, new] = sides.map(|side| compared_target(at, side));
    let ComparisonRows { rows, treatments, sets } =
        plan::comparison_rows(at.catalog, cases, &base, &[new]);
    let pairs = PairCount {
        min: PAIRS,
        max: PAIRS,
        spread: false,
        time_budget: Duration::ZERO,
        limit: Some(RoundLimit::QUICK),
    };
    let comparison = Some(ComparisonPlan { sets, pairs, measure_lone_bases: false });
    let planned = PlannedRows { rows, treatments, comparison };
    kept_run(session, at, planned, EventCounting::InNoRound, limit, observer)
}

/// The host of the prices with this treatment alone.
fn compared_target(at: PricedTarget<'_>, side: PairTreatment) -> ComparedTarget {
    let PairTreatment { applied, text } = side;
    let of_host = &at.side.target;
    let target = TargetInfo {
        text: match of_host.host.as_str() {
            "local" => text.clone(),
            host => format!("{text}@{host}"),
        },
        treatments: vec![text],
        ..of_host.clone()
    };
    let treatments = TreatmentSet { applied: vec![applied], attached: Vec::new() };
    ComparedTarget { target, treatments }
}

/// The rows of a run, and how they are measured.
struct PlannedRows {
    rows: Vec<PlannedRow>,
    treatments: Vec<TreatmentSet>,
    comparison: Option<ComparisonPlan>,
}

fn kept_run(
    session: &mut dyn Session,
    at: PricedTarget<'_>,
    planned: PlannedRows,
    event_counting: EventCounting,
    limit: Duration,
    observer: &dyn Observer,
) -> anyhow::Result<CompletedRun> {
    let PlannedRows { rows, treatments, comparison } = planned;
    let profile = Profile::Quick;
    // The reference cases and the last calibration come after the time of the rows.
    let budget = limit.saturating_sub(OVERHEAD / 2).max(limit / 2);
    let budget_s = Some(budget.as_secs_f64());
    let settings = Settings {
        seed: fresh_seed(),
        profile: profile.text().to_owned(),
        precision_pct: profile.precision_pct(),
        nominal: profile.nominal().share(),
        budget_s,
        study: None,
        predictions: predictions_for(&rows, observer),
    };
    let hello = session.hello();
    let request = run::Request {
        header: run_header(None, hello, settings),
        machine: at.machine.clone(),
        tracers: hello.facts.tracers.clone(),
        timers: Vec::new(),
        treatments,
        budget: Some(budget),
        rows,
        profile,
        comparison,
        refine: false,
        trials: trial_budget(Effort::Quick, false, budget_s),
        skipped: Vec::new(),
        event_counting,
        requested_cpu: None,
        peer_cpu: None,
    };
    let header = request.header.clone();
    let retention = Retention { keep: true, raw_samples: false };
    observe(&header, retention, &NamedRows::NONE, observer, |listener| {
        run::run(session, request, listener)
    })
}
