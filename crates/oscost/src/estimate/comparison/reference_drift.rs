//! The drift of the reference cases between two runs.

use oscost_model::record::{Record, ReferenceCases};

use super::rows::is_cost;

/// The largest drift of a reference case over two runs.
pub(super) struct ReferenceDrift {
    /// The reference case that moved most.
    pub(super) case: String,
    /// The logarithm of its largest figure over its smallest one.
    pub(super) log_ratio: f64,
}

/// The largest drift of the reference cases over both runs; `None` if a run has none.
///
/// Within a run each reference case is a control, since nothing is changed there on purpose. From
/// run to run, a reference case that enters the kernel is a control only if both runs have the same
/// system: otherwise its difference may be the effect in question.
pub(super) fn reference_drift(
    base: &Record,
    new: &Record,
    same_system: bool,
) -> Option<ReferenceDrift> {
    let reference_cases = |run: &Record| Some(run.conditions.first()?.reference_cases.clone());
    let (of_base, of_new) = (reference_cases(base)?, reference_cases(new)?);
    let figures = |of: &ReferenceCases, case: &str| -> Vec<f64> {
        let figures = [of.before.get(case), of.after.get(case)];
        figures.into_iter().flatten().copied().filter(|&value| is_cost(value)).collect()
    };
    let log_range = |values: &[f64]| {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        if low < high { (high / low).ln() } else { 0.0 }
    };
    let enters_kernel = |run: &Record, case: &str| {
        let row = run.results.iter().find(|row| row.case == case);
        let calls = row.and_then(|row| row.calls.as_ref());
        calls.is_some_and(|calls| calls.per_op.values().sum::<f64>() > 0.0)
    };
    let cases = of_base.before.keys().chain(of_base.after.keys());
    let drifts = cases.map(|case| {
        let (one, other) = (figures(&of_base, case), figures(&of_new, case));
        let is_control = same_system || !(enters_kernel(base, case) || enters_kernel(new, case));
        let log_ratio = match is_control {
            true => log_range(&[one, other].concat()),
            false => log_range(&one).max(log_range(&other)),
        };
        ReferenceDrift { case: case.clone(), log_ratio }
    });
    drifts.max_by(|one, other| one.log_ratio.total_cmp(&other.log_ratio))
}
