//! Preparation of the runs of a series: merging, weights and autocorrelation.

use std::time::{Duration, SystemTime};

use super::super::comparison::lag_one_autocorrelation;
use super::super::{order, robust};

/// The value of a run in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunValue {
    /// The natural logarithm of the figure.
    pub log: f64,
    /// Half of the figure's interval as a share of the figure; `None` without an interval.
    pub relative_half_width: Option<f64>,
    /// The start of the run; `None` if unknown.
    pub started: Option<SystemTime>,
}

/// Runs that started within this time of the first one are merged into one point. The state of a
/// machine outlasts a run, so ten consecutive runs are not ten independent observations.
const BURST: Duration = Duration::from_secs(3_600);

/// A point of a series: one run, or several that started close together.
pub(super) struct Point {
    /// The index of its first run.
    pub(super) first_run: usize,
    /// The median of its runs.
    pub(super) value: RunValue,
}

/// Merges runs that started close together into points; a run without a start time is its own
/// point. `None` if a value is not finite.
pub(super) fn merge_bursts(runs: &[RunValue]) -> Option<Vec<Point>> {
    if !runs.iter().all(|run| run.log.is_finite()) {
        return None;
    }
    let mut points = Vec::new();
    let mut first = 0;
    while first < runs.len() {
        let with_first = |run: &&RunValue| match (runs[first].started, run.started) {
            (Some(first), Some(it)) => it.duration_since(first).is_ok_and(|after| after < BURST),
            _ => false,
        };
        let more = runs[first + 1..].iter().take_while(with_first).count();
        let burst = &runs[first..=first + more];
        let log = order::median(&order::sorted(&logs(burst)))?;
        let relative_half_width = median_half_width(burst);
        let value = RunValue { log, relative_half_width, ..runs[first] };
        points.push(Point { first_run: first, value });
        first += burst.len();
    }
    Some(points)
}

/// The smallest change that is reported.
const MIN_RELATIVE_CHANGE: f64 = 0.02;

/// The smallest change among some points that is reported, as a logarithm: 2 %, or twice the median
/// half-width of their intervals.
pub(super) fn min_log_change(points: &[RunValue]) -> f64 {
    MIN_RELATIVE_CHANGE.max(2.0 * median_half_width(points).unwrap_or(0.0)).ln_1p()
}

/// The standard deviation between the runs of two adjacent segments, each around its own median. It
/// is robust: one run that differs says nothing of how far the others do.
pub(super) fn spread(segments: [&[RunValue]; 2]) -> f64 {
    let mut residuals = Vec::new();
    for segment in segments {
        let logs = order::sorted(&logs(segment));
        let level = order::median(&logs).unwrap_or(0.0);
        residuals.extend(logs.iter().map(|log| log - level));
    }
    robust::mad_sd(&order::sorted(&residuals)).unwrap_or(0.0)
}

/// The half-width of a point, if it is valid.
fn valid_half_width(point: &RunValue) -> Option<f64> {
    point.relative_half_width.filter(|it| it.is_finite() && *it >= 0.0)
}

/// The median half-width of the points that have one.
fn median_half_width(points: &[RunValue]) -> Option<f64> {
    let widths: Vec<f64> = points.iter().filter_map(valid_half_width).collect();
    order::median(&order::sorted(&widths))
}

pub(super) fn logs(points: &[RunValue]) -> Vec<f64> {
    points.iter().map(|point| point.log).collect()
}

/// The minimum weight of a point: see [`weights`].
const MIN_WEIGHT: f64 = 0.25;

/// The weight of each point, from 0.25 to 1: the inverse square of its half-width relative to the
/// median half-width. Distances are averaged by the product of the weights of two points, and a
/// part's weight is the sum of its points'. Permutations keep values and weights together, so the p
/// values stay valid.
///
/// No weight exceeds 1. An interval of a dozen repetitions is itself off by a third, and runs
/// differ by more than their intervals state: a run with a tenth of the usual half-width would have
/// a hundredfold weight, and form a part by itself. A point without an interval has weight 1.
///
/// No weight is below 0.25. A figure that rises often becomes less certain too: otherwise the new
/// points would have no weight, and the change would not be found. It also avoids parts whose
/// weight is mostly rounding error.
pub(super) fn weights(points: &[RunValue]) -> Vec<f64> {
    let usual = median_half_width(points).unwrap_or(0.0);
    let weight = |point: &RunValue| match valid_half_width(point) {
        Some(half_width) if half_width > usual && usual > 0.0 => (usual / half_width).powi(2),
        _ => 1.0,
    };
    points.iter().map(|point| weight(point).max(MIN_WEIGHT)).collect()
}

/// Autocorrelation below this is ignored. A full window of independent points exceeds it once in
/// seven times, which costs little power.
const MIN_AUTOCORRELATION: f64 = 0.1;
/// The maximum autocorrelation that is removed, so that something is left of a random walk.
const MAX_AUTOCORRELATION: f64 = 0.9;

/// The lag-one autocorrelation of the residuals around the medians of the segments between
/// `bounds`; `None` if it is negligible.
///
/// Estimating a level from the points biases it by -(1 + 3 r) / n (Kendall 1954), and each further
/// level by as much again, which is corrected.
pub(super) fn residual_autocorrelation(logs: &[f64], bounds: &[usize]) -> Option<f64> {
    let mut residuals = Vec::with_capacity(logs.len());
    for of in bounds.windows(2) {
        let part = &logs[of[0]..of[1]];
        let level = order::median(&order::sorted(part))?;
        residuals.extend(part.iter().map(|log| log - level));
    }
    let share = lag_one_autocorrelation(&residuals).filter(|it| *it > MIN_AUTOCORRELATION)?;
    let (points, levels) = (logs.len() as f64, (bounds.len() - 1) as f64);
    Some(((points * share + levels) / (points - 3.0 * levels)).min(MAX_AUTOCORRELATION))
}

/// The innovations of a first-order autoregressive series with coefficient `share`.
pub(super) fn prewhiten(logs: &[f64], share: f64) -> Vec<f64> {
    let middle = order::median(&order::sorted(logs)).unwrap_or(0.0);
    // The first point has no predecessor; its residual is scaled to the variance of innovations.
    let first = logs
        .first()
        .map(|log| (1.0 - share) * middle + (1.0 - share * share).sqrt() * (log - middle));
    first.into_iter().chain(logs.windows(2).map(|two| two[1] - share * two[0])).collect()
}
