//! How far the reference cases moved between two sides: what the machine as a whole changed by.

use oscost_model::record::{Record, ReferenceCases, Row};
use oscost_stats::{moments, order};

use super::super::rows::is_cost;
use crate::estimate::core_rate::rate_level;

/// The movement of the reference cases from the base to the new side, as logarithms of ratios.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ReferenceDrift {
    /// Of those that stay in user mode: the smaller movement, since what all cases share moves
    /// each of them. The empty loop alone jumps between two speeds with its placement.
    user: f64,
    /// Of those that enter the kernel, the same.
    kernel: f64,
}

impl ReferenceDrift {
    /// Measured at the beginning and the end of each run of the sides. A reference case that enters
    /// the kernel shows a drift only if both sides have the same system; otherwise its difference
    /// may be the effect that is compared.
    pub(super) fn between(base: &[&Record], new: &[&Record], same_system: bool) -> Self {
        Self::of_levels(base, new, same_system, level)
    }

    /// The same in cycles of the core: what is left of the movement without that of the core's rate.
    /// `None` if no reference case has its rate on both sides.
    pub(super) fn in_cycles(base: &[&Record], new: &[&Record], same_system: bool) -> Option<Self> {
        let is_known =
            |case: &&str| [base, new].iter().all(|runs| level_in_cycles(runs, case).is_some());
        let is_any_known = cases(base).iter().any(is_known);
        is_any_known.then(|| Self::of_levels(base, new, same_system, level_in_cycles))
    }

    fn of_levels(
        base: &[&Record],
        new: &[&Record],
        same_system: bool,
        level: fn(&[&Record], &str) -> Option<f64>,
    ) -> Self {
        let mut drift = Self { user: f64::INFINITY, kernel: f64::INFINITY };
        for case in cases(base) {
            let (Some(from), Some(to)) = (level(base, case), level(new, case)) else { continue };
            let enters_kernel = base.iter().chain(new).any(|run| enters_kernel(run, case));
            let of_kind = match enters_kernel {
                true if !same_system => continue,
                true => &mut drift.kernel,
                false => &mut drift.user,
            };
            *of_kind = of_kind.min((to - from).abs());
        }
        let finite = |it: f64| if it.is_finite() { it } else { 0.0 };
        let user = finite(drift.user);
        // Without one that enters the kernel, the others show the core's rate at least.
        Self { user, kernel: if drift.kernel.is_finite() { drift.kernel } else { user } }
    }

    /// The movement that a row of this class may have shared.
    pub(super) fn of(&self, row: &Row) -> f64 {
        match row.class.as_deref() {
            Some("user" | "vdso") => self.user,
            _ => self.kernel,
        }
    }

    /// The larger movement.
    pub(super) fn max(&self) -> f64 {
        self.user.max(self.kernel)
    }
}

fn reference_cases(run: &Record) -> Option<&ReferenceCases> {
    Some(&run.conditions.first()?.reference_cases)
}

/// The reference cases of these runs, each once.
fn cases<'a>(runs: &[&'a Record]) -> Vec<&'a str> {
    let of_run = |it: &'a ReferenceCases| it.before.keys().chain(it.after.keys());
    let all = runs.iter().filter_map(|run| reference_cases(run)).flat_map(of_run);
    let mut all: Vec<&str> = all.map(String::as_str).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// The figure of a reference case over these runs, as a logarithm: the median over the runs of the
/// mean of beginning and end. `None` if no run has it.
fn level(runs: &[&Record], case: &str) -> Option<f64> {
    median_over(runs, |run| run_level(run, case))
}

/// The same in cycles of the core.
fn level_in_cycles(runs: &[&Record], case: &str) -> Option<f64> {
    median_over(runs, |run| {
        let machine = &run.conditions.first()?.machine;
        let is_it = |row: &&Row| row.case == case && row.target.machine == *machine;
        Some(run_level(run, case)? + rate_level(run.results.iter().find(is_it)?)?)
    })
}

fn median_over(runs: &[&Record], of_run: impl Fn(&Record) -> Option<f64>) -> Option<f64> {
    let levels: Vec<f64> = runs.iter().filter_map(|run| of_run(run)).collect();
    order::median(&order::sorted(&levels))
}

/// The figure of a reference case in a run, as a logarithm.
fn run_level(run: &Record, case: &str) -> Option<f64> {
    let of = reference_cases(run)?;
    let figures = [of.before.get(case), of.after.get(case)];
    let figures = figures.into_iter().flatten().copied().filter(|&value| is_cost(value));
    moments::mean(&figures.map(f64::ln).collect::<Vec<_>>())
}

fn enters_kernel(run: &Record, case: &str) -> bool {
    let row = run.results.iter().find(|row| row.case == case);
    let calls = row.and_then(|row| row.calls.as_ref());
    // One whose calls are unknown may be the effect that is compared.
    calls.is_none_or(|calls| calls.per_op.values().sum::<f64>() > 0.0)
}
