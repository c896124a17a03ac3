//! The comparison of runs in cycles of the core: of rows whose time follows the core's rate, which may
//! be another one in each run.
//!
//! Whether a row follows the core, and whether its time or its cycles vary less between runs, is decided
//! by earlier runs, by the runs of each side around their own mean and by the workers of each run. What
//! the sides differ by decides neither: it is what is looked for.

use oscost_model::counters::CORE_CYCLES;
use oscost_model::record::{AddedCost, Comparison};
use oscost_model::unit::Unit;
use oscost_stats::between_runs::{RunMedian, run_difference, variance_between_sides};
use oscost_stats::core_rate::{CoreDependence, PeriodRegression, RatedCost, RatedRun};
use oscost_stats::interval::Nominal;
use oscost_stats::moments;

use super::case_sides::CaseSides;
use super::evidence::{Evidence, KnownVariation};
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
        let groups = [
            self.earlier.base.rated_boots(row),
            sides.base_boots().grouped(&base),
            self.earlier.new.rated_boots(row),
            sides.new_boots().grouped(&new),
        ];
        if !dependence(&groups, sides).follows() {
            return None;
        }
        let cycles =
            |runs: &Vec<RatedRun>| -> Vec<RunMedian> { runs.iter().map(|it| it.cycles).collect() };
        let groups = groups.map(|boots| boots.iter().map(cycles).collect::<Vec<_>>());
        let variation = KnownVariation::of(&groups, prior(row)).of_sides(sides);
        let common = self.drift_in_cycles?.of(row);
        let [base, new] = [&base, &new].map(cycles);
        let difference = run_difference(&base, &new, sides.alternations, variation, common)?;
        Some(EffectInCycles {
            effect: self.judged(difference, sides),
            between_sides: variance_between_sides(sides.alternations, variation, common),
        })
    }
}

/// How the time of a row depends on the core's rate, by runs of each system and side around their own
/// means, and by the workers of each compared run around theirs. Each group has its runs by boots.
fn dependence(groups: &[Vec<Vec<RatedRun>>], sides: &CaseSides<'_>) -> CoreDependence {
    let costs = |boots: &Vec<Vec<RatedRun>>| -> Vec<RatedCost> {
        boots.iter().flatten().map(RatedRun::rated_cost).collect()
    };
    let of_runs: Vec<Vec<RatedCost>> = groups.iter().map(costs).collect();
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
                 judged in cycles of the core, {by_time} in time, whichever varies less between \
                 runs; the other one is shown as SECONDARY",
                by_cycles + by_time,
            )
        })
    }

    /// Adds the cycles to the rows that are compared in them, and says where the clock changed.
    pub(super) fn complete(&self, compared: &mut RunComparison) {
        let in_cycles = compared.comparisons.iter().filter(|it| it.metric == CORE_CYCLES);
        let rows: Vec<[u32; 2]> = in_cycles.map(|it| [it.base, it.new]).collect();
        for index in rows.into_iter().flatten() {
            let Some(row) = compared.results.get_mut(index as usize) else { continue };
            if let Some(metric) = cycles_metric(row, Nominal::FIXED) {
                row.metrics.entry(CORE_CYCLES.to_owned()).or_insert(metric);
            }
        }
        compared.notes.extend(note_on_clock(&compared.comparisons));
    }
}

/// Names the rows whose slowdown is that of the core's clock, at least in part: in cycles none was
/// found, and one as large as that in time is excluded. That none was found is not enough: the two
/// metrics are judged in families of their own.
fn note_on_clock(comparisons: &[Comparison]) -> Option<String> {
    let is_by_clock = |time: &&Comparison| {
        let is_in_cycles = |it: &&Comparison| {
            it.metric == CORE_CYCLES && (it.base, it.new) == (time.base, time.new)
        };
        let in_cycles = comparisons.iter().find(is_in_cycles);
        time.metric == PRIMARY
            && time.verdict == "slower"
            && in_cycles.is_some_and(|it| {
                let excluded = it.ratio.ci95.is_some_and(|[_, high]| high < time.ratio.value);
                it.verdict != "slower" && excluded
            })
    };
    let mut by_clock = comparisons.iter().filter(is_by_clock);
    let first = &by_clock.next()?.case;
    let more = match by_clock.count() {
        0 => String::new(),
        others => format!(" and {others} more"),
    };
    Some(format!(
        "slower in time, by less or not at all in cycles of the core: {first}{more}; the core's clock \
         explains the difference"
    ))
}

#[cfg(test)]
mod tests {
    use oscost_model::record::{Ratio, Record};

    use super::*;

    /// The comparison of a row in time, which is slower by 30 %, and in cycles.
    fn of_both(verdict_in_cycles: &str, ratio: Ratio) -> Option<String> {
        let text = include_str!("../../../../tests/store/run-1.json");
        let record: Record = serde_json::from_str(text).unwrap();
        let mut time = record.comparisons[0].clone();
        (time.metric, time.verdict) = (PRIMARY.to_owned(), "slower".to_owned());
        time.ratio = Ratio { value: 1.3, ci95: Some([1.2, 1.4]) };
        let metric = CORE_CYCLES.to_owned();
        let verdict = verdict_in_cycles.to_owned();
        let in_cycles = Comparison { metric, verdict, ratio, ..time.clone() };
        note_on_clock(&[time, in_cycles])
    }

    #[test]
    fn the_clock_explains_a_slowdown_that_the_cycles_exclude() {
        let ratio = |value, ends| Ratio { value, ci95: Some(ends) };
        let by_clock = of_both("inconclusive", ratio(1.01, [0.95, 1.08])).unwrap();
        assert!(by_clock.starts_with("slower in time, by less or not at all"), "{by_clock}");
        // At the same rate of the core: in cycles it is one of more hypotheses.
        assert_eq!(of_both("inconclusive", ratio(1.3, [0.99, 1.7])), None);
        assert_eq!(of_both("slower", ratio(1.2, [1.15, 1.25])), None);
        assert_eq!(of_both("inconclusive", Ratio { value: 1.01, ci95: None }), None);
    }
}
