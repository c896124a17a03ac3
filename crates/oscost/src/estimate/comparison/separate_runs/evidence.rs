//! What is known of the variation between runs, and what follows from it for an effect.

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_stats::between_runs::{
    Prior, RunDifference, RunMedian, RunVariation, run_difference, variance_between_sides,
};
use oscost_stats::boots::{
    BootVariation, RunsByBoot, variation_by_runs_alone, variation_within_boots_alone,
};

use super::case_sides::CaseSides;
use super::earlier_runs::EarlierRuns;
use super::reference_drift::ReferenceDrift;
use crate::estimate::between_runs::{prior, run_median};
use crate::estimate::comparison::comparability::MACHINES_DIFFER;
use crate::estimate::comparison::margins::MIN_EFFECT;
use crate::estimate::comparison::rows::{RunRow, has_flag};
use crate::estimate::comparison::verdict::{self, EffectEstimate};

/// What is known of the variation between runs.
pub(super) struct Evidence<'a> {
    pub(super) earlier: &'a EarlierRuns,
    pub(super) drift: ReferenceDrift,
    /// The same in cycles of the core, if its rate is known beside reference cases of both sides.
    pub(super) drift_in_cycles: Option<ReferenceDrift>,
    /// Whether verdicts may be based on these runs.
    pub(super) is_claimable: bool,
}

/// An effect, and where the variation between runs that it rests on comes from.
pub(super) struct JudgedEffect {
    pub(super) effect: EffectEstimate,
    pub(super) source: VariationSource,
    /// The variance of the effect by the variation between runs alone.
    pub(super) between_sides: f64,
}

/// Where the variation between runs of a row comes from.
#[derive(Clone, Copy)]
pub(super) struct VariationSource {
    /// Its standard deviation.
    deviation: f64,
    /// How many earlier runs of its systems show it.
    earlier_runs: usize,
    /// Whether they are all of one boot.
    of_one_boot: bool,
    /// Whether it also rests on cases of the same class: programs have none.
    has_class: bool,
}

impl Evidence<'_> {
    /// The effect between two sides; `None` if a run has too few repetitions.
    pub(super) fn effect(&self, sides: &CaseSides<'_>) -> Option<JudgedEffect> {
        let medians = |rows: &[RunRow<'_>]| -> Option<Vec<RunMedian>> {
            rows.iter().map(|it| run_median(it.row)).collect()
        };
        let (base, new) = (medians(&sides.base)?, medians(&sides.new)?);
        let row = sides.base[0].row;
        // The compared runs apart from the earlier ones: which side they are on changes nothing.
        let groups = [
            self.earlier.base.boots(row),
            sides.base_boots().grouped(&base),
            self.earlier.new.boots(row),
            sides.new_boots().grouped(&new),
        ];
        let known = KnownVariation::of(&groups, prior(row));
        let is_program = row.primary_metric.is_some();
        let known = if is_program { known.by_runs_alone(&groups) } else { known };
        let variation = known.of_sides(sides);
        let count = |boots: &[Vec<RunMedian>]| boots.iter().map(Vec::len).sum::<usize>();
        let source = VariationSource {
            deviation: known.of_a_run(sides).deviation,
            earlier_runs: count(&groups[0]) + count(&groups[2]),
            of_one_boot: self.earlier.base.boot_count(row) == Some(1) && groups[2].is_empty(),
            has_class: !is_program,
        };
        let (used, common) = match is_injected(InjectedFault::RunsAsInterleaved) {
            true => (RunVariation { deviation: 0.0, ..variation }, 0.0),
            false => (variation, self.drift.of(row)),
        };
        let difference = run_difference(&base, &new, sides.alternations, used, common)?;
        Some(JudgedEffect {
            effect: self.judged(difference, sides),
            source,
            between_sides: variance_between_sides(sides.alternations, used, common),
        })
    }

    /// A difference as an effect, without a verdict where nothing may be concluded from the runs.
    pub(super) fn judged(
        &self,
        difference: RunDifference,
        sides: &CaseSides<'_>,
    ) -> EffectEstimate {
        let mut effect = verdict::separate_effect(difference);
        if !self.is_claimable || sides.all().any(|it| has_flag(it.row, "UNRELIABLE")) {
            effect.flags.push("UNRELIABLE");
            effect.p = 1.0;
        }
        if sides.are_of_two_machines() {
            effect.flags.push(MACHINES_DIFFER);
        }
        effect
    }

    /// That the machine as a whole changed.
    pub(super) fn drift_note(&self) -> Option<String> {
        let drift = self.drift.max();
        (drift > MIN_EFFECT.ln_1p()).then(|| {
            format!(
                "the reference cases differ by {:.0} % between the sides: intervals allow for it",
                100.0 * drift.exp_m1(),
            )
        })
    }
}

/// How far the runs of a row vary, by what is known of them and of its class.
pub(super) struct KnownVariation {
    known: BootVariation,
    prior: Prior,
}

impl KnownVariation {
    /// The variation of these groups of runs, each by boots.
    pub(super) fn of(groups: &[Vec<Vec<RunMedian>>], prior: Prior) -> Self {
        let groups: Vec<RunsByBoot<'_>> =
            groups.iter().map(|boots| boots.iter().map(Vec::as_slice).collect()).collect();
        Self { known: BootVariation::of(&groups, prior), prior }
    }

    /// The same of a program, which has no class: as far as runs of it show it, by these alone.
    fn by_runs_alone(self, groups: &[Vec<Vec<RunMedian>>]) -> Self {
        let all: RunsByBoot<'_> = groups.iter().flatten().map(Vec::as_slice).collect();
        let within = variation_within_boots_alone(&all);
        // Each group has a long-run figure of its own: that with most boots shows most of them.
        let most = groups.iter().max_by_key(|boots| boots.len()).filter(|boots| boots.len() > 1);
        let total = most.and_then(|boots| {
            variation_by_runs_alone(&boots.iter().map(Vec::as_slice).collect::<Vec<_>>())
        });
        let known = BootVariation {
            total: total.unwrap_or(self.known.total),
            within: within.unwrap_or(self.known.within),
        };
        Self { known, ..self }
    }

    /// That of the runs of two sides.
    pub(super) fn of_sides(&self, sides: &CaseSides<'_>) -> RunVariation {
        match sides.boot_shares() {
            Some(shares) => self.known.of_sides(shares, sides.alternations),
            None => self.of_unknown_boots(),
        }
    }

    /// That of one run of the compared ones: within its boot, if what boots differ by cancels.
    fn of_a_run(&self, sides: &CaseSides<'_>) -> RunVariation {
        match sides.boot_shares() {
            Some(0.0) => self.known.within,
            Some(_) => self.known.total,
            None => self.of_unknown_boots(),
        }
    }

    /// Alternating runs of unknown boots are of as many, or of one whose part in both sides cancels;
    /// which of them is not known, so that agreement narrows nothing.
    fn of_unknown_boots(&self) -> RunVariation {
        self.known.total.at_least(self.prior.deviation)
    }
}

/// How far the rows vary between runs, and how that is known, where so many earlier runs are left out
/// as very noisy; `None` without rows.
pub(super) fn source_of_variation(
    mut sources: Vec<VariationSource>,
    very_noisy: usize,
) -> Option<String> {
    sources.sort_by_key(|it| it.earlier_runs);
    let runs = sources.get(sources.len() / 2)?.earlier_runs;
    let one_boot = if sources.iter().all(|it| it.of_one_boot) { ", all of one boot" } else { "" };
    sources.sort_by(|one, other| one.deviation.total_cmp(&other.deviation));
    let pct = 100.0 * sources.get(sources.len() / 2)?.deviation.exp_m1();
    let s = if runs == 1 { "" } else { "s" };
    let others = match sources.iter().any(|it| it.has_class) {
        true => ", the compared runs, and cases of the same class",
        false => " and the compared runs alone",
    };
    let more = if runs == 0 { "" } else { " more" };
    let left_out = match very_noisy {
        0 => String::new(),
        1 => format!("; 1{more} in the store is left out: the machine was very noisy"),
        count => format!("; {count}{more} in the store are left out: the machine was very noisy"),
    };
    let known = match runs {
        0 if very_noisy > 0 => format!(
            "that of cases of the same class: no earlier runs of this system (machine, kernel, worker) \
             can be used{left_out}"
        ),
        0 => "that of cases of the same class, since no earlier runs of this system (machine, kernel, \
              worker) are known"
            .to_owned(),
        runs => format!(
            "by {runs} earlier run{s} of this system (machine, kernel, worker) in the store\
             {one_boot}{others}{left_out}"
        ),
    };
    Some(format!("variation between runs: {pct:.1} % in the median row, {known}"))
}
