//! The comparison of runs in cycles of the core: of rows whose time follows the core's rate, which may
//! be another one in each run.
//!
//! Whether a row follows the core, and whether its time or its cycles vary less between runs, is decided
//! by earlier runs, by the runs of each side around their own mean and by the workers of each run. What
//! the sides differ by decides neither: it is what is looked for.

use oscost_model::counters::CORE_CYCLES;
use oscost_model::record::{AddedCost, Comparison};
use oscost_model::unit::Unit;
use oscost_stats::between_runs::{RunMedian, RunVariation, run_difference, variance_between_sides};
use oscost_stats::core_rate::{CoreDependence, PeriodRegression, RatedCost, RatedRun};
use oscost_stats::interval::Nominal;
use oscost_stats::moments;

use super::case_sides::CaseSides;
use super::evidence::Evidence;
use crate::estimate::between_runs::prior;
use crate::estimate::comparison::rows::{PRIMARY, RunRow};
use crate::estimate::comparison::run_comparison::{JudgedPair, RunComparison, Timing};
use crate::estimate::comparison::verdict::EffectEstimate;
use crate::estimate::core_rate::{cycles_metric, rated_costs, rated_run};

/// An effect in cycles of the core.
pub(super) struct EffectInCycles {
    pub(super) effect: EffectEstimate,
    /// The variance of the effect by the variation between runs alone.
    pub(super) between_sides: f64,
}

impl Evidence<'_> {
    /// The effect in cycles; `None` if the row does not follow the core, or if a run or the reference
    /// cases do not have its rate.
    pub(super) fn effect_in_cycles(&self, sides: &CaseSides<'_>) -> Option<EffectInCycles> {
        let rated = |rows: &[RunRow<'_>]| -> Option<Vec<RatedRun>> {
            rows.iter().map(|it| rated_run(it.row)).collect()
        };
        let (base, new) = (rated(&sides.base)?, rated(&sides.new)?);
        let row = sides.base[0].row;
        let (of_base, of_new) = (self.earlier.base.rated(row), self.earlier.new.rated(row));
        let groups = [of_base, &base[..], of_new, &new[..]];
        if !dependence(&groups, sides).follows() {
            return None;
        }
        let cycles = groups.map(|runs| runs.iter().map(|it| it.cycles).collect::<Vec<_>>());
        let prior = prior(row);
        let groups: Vec<&[RunMedian]> = cycles.iter().map(Vec::as_slice).collect();
        let variation = self.of_boots(RunVariation::pooled(&groups, prior), prior);
        let common = self.drift_in_cycles?.of(row);
        let [_, base, _, new] = &cycles;
        let difference = run_difference(base, new, sides.alternations, variation, common)?;
        Some(EffectInCycles {
            effect: self.judged(difference, sides),
            between_sides: variance_between_sides(sides.alternations, variation, common),
        })
    }
}

/// How the time of a row depends on the core's rate, by runs of each system and side around their own
/// means, and by the workers of each compared run around theirs.
fn dependence(groups: &[&[RatedRun]], sides: &CaseSides<'_>) -> CoreDependence {
    let of_runs: Vec<Vec<RatedCost>> =
        groups.iter().map(|runs| runs.iter().map(RatedRun::rated_cost).collect()).collect();
    let of_workers: Vec<Vec<RatedCost>> =
        sides.all().filter_map(|it| rated_costs(it.row)).collect();
    let regression = |groups: &[Vec<RatedCost>]| {
        PeriodRegression::of(&groups.iter().map(Vec::as_slice).collect::<Vec<_>>())
    };
    CoreDependence::of(&[regression(&of_runs), regression(&of_workers)])
}

impl<'a> CaseSides<'a> {
    /// The comparison in cycles.
    pub(super) fn judged_in_cycles(
        &self,
        effect: EffectEstimate,
        is_hypothesis: bool,
    ) -> Option<JudgedPair<'a>> {
        let figure = |rows: &[RunRow<'a>]| {
            let logs = rows.iter().map(|it| Some(rated_run(it.row)?.cycles.value));
            moments::mean(&logs.collect::<Option<Vec<f64>>>()?).map(f64::exp)
        };
        let (from, to) = (figure(&self.base)?, figure(&self.new)?);
        Some(JudgedPair {
            base: self.base[0],
            new: self.new[0],
            timing: Timing {
                design: "stored",
                pairs: self.alternations as u32,
                span_s: self.span_s(),
            },
            effect,
            metric: CORE_CYCLES,
            is_hypothesis,
            base_figure: from,
            // Its interval follows from that of the ratio, as that of the time.
            added: AddedCost { value: to - from, ci95: None, unit: Unit::CyclesPerOp },
            decomposition: None,
        })
    }
}

/// The compared rows that follow the core.
#[derive(Default)]
pub(super) struct CycleRows {
    by_cycles: usize,
    by_time: usize,
}

impl CycleRows {
    pub(super) fn add(&mut self, by_cycles: bool) {
        match by_cycles {
            true => self.by_cycles += 1,
            false => self.by_time += 1,
        }
    }

    /// What such rows are judged by; `None` without any.
    pub(super) fn note(&self) -> Option<String> {
        let Self { by_cycles, by_time } = self;
        let s = if by_cycles + by_time == 1 { " follows" } else { "s follow" };
        (by_cycles + by_time > 0).then(|| {
            format!(
                "{} row{s} the core's rate, by earlier runs and the workers of these: {by_cycles} \
                 judged in cycles of the core, {by_time} in time, by which varies less between runs; \
                 the other one stands beside (SECONDARY)",
                by_cycles + by_time,
            )
        })
    }

    /// Adds the cycles to the rows that are compared in them, and says where time alone changed.
    pub(super) fn complete(&self, compared: &mut RunComparison) {
        let in_cycles = compared.comparisons.iter().filter(|it| it.metric == CORE_CYCLES);
        let in_cycles: Vec<(u32, u32, String)> =
            in_cycles.map(|it| (it.base, it.new, it.verdict.clone())).collect();
        let mut by_clock = Vec::new();
        for (base, new, verdict) in in_cycles {
            for index in [base, new] {
                let Some(row) = compared.results.get_mut(index as usize) else { continue };
                if let Some(metric) = cycles_metric(row, Nominal::FIXED) {
                    row.metrics.entry(CORE_CYCLES.to_owned()).or_insert(metric);
                }
            }
            let is_time =
                |it: &&Comparison| it.metric == PRIMARY && (it.base, it.new) == (base, new);
            let time = compared.comparisons.iter().find(is_time);
            let changed = time.filter(|it| it.verdict == "slower" && it.verdict != verdict);
            by_clock.extend(changed.map(|it| it.case.clone()));
        }
        if let Some(first) = by_clock.first() {
            let more = match by_clock.len() - 1 {
                0 => String::new(),
                others => format!(" and {others} more"),
            };
            compared.notes.push(format!(
                "slower in time, not in cycles of the core: {first}{more}; the core's clock explains it"
            ));
        }
    }
}
