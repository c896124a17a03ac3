//! How far the values of a run moved while it lasted: a machine that wanders within a run wanders at
//! least as far between runs (docs/explanation/METHOD.md, section 4).

use super::moments;

/// The minimum number of values in a part of a run: its mean and their spread are to be known.
const MIN_VALUES_IN_A_PART: usize = 3;
/// The minimum number of values for a line.
const MIN_VALUES: usize = 6;

/// A value, and when it was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedValue {
    /// Seconds since the start of the run.
    pub at_s: f64,
    /// The value.
    pub value: f64,
}

/// How far the values of a run moved over its length, as a standard deviation: the largest one of those
/// between its halves, between its quarters, and of two moments as far apart as a straight line leads
/// from its beginning to its end. Each is without what values that are close in time explain, so it is
/// near zero if nothing moved. 0 with too few values.
pub fn deviation_over_time(values: &[TimedValue]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let variances =
        [between_parts(&values, 2), between_parts(&values, 4), between_ends_of_line(&values)];
    variances.into_iter().flatten().fold(0.0, f64::max).sqrt()
}

/// The variance between equal parts of a series (analysis of variance, by the method of moments).
fn between_parts(series: &[TimedValue], parts: usize) -> Option<f64> {
    let values: Vec<f64> = series.iter().map(|it| it.value).collect();
    let count = values.len();
    if count < MIN_VALUES_IN_A_PART * parts {
        return None;
    }
    let mean = moments::mean(&values)?;
    let (mut between, mut within, mut squared_sizes) = (0.0, 0.0, 0.0);
    for part in 0..parts {
        let of_part = &values[part * count / parts..(part + 1) * count / parts];
        let (own, size) = (moments::mean(of_part)?, of_part.len() as f64);
        between += size * (own - mean).powi(2);
        within += of_part.iter().map(|value| (value - own).powi(2)).sum::<f64>();
        squared_sizes += size * size;
    }
    let (count, parts) = (count as f64, parts as f64);
    let size = (count - squared_sizes / count) / (parts - 1.0);
    let excess = between / (parts - 1.0) - within / (count - parts);
    // A variance is not negative: the method of moments has none below zero.
    Some((excess / size).max(0.0))
}

/// The variance of two values that differ by as much as the least squares line does between its ends,
/// without the error of that difference.
fn between_ends_of_line(series: &[TimedValue]) -> Option<f64> {
    let (first, last) = (series.first()?, series.last()?);
    let mean =
        |of: fn(&TimedValue) -> f64| moments::mean(&series.iter().map(of).collect::<Vec<_>>());
    let (at_s, value) = (mean(|it| it.at_s)?, mean(|it| it.value)?);
    let times: f64 = series.iter().map(|it| (it.at_s - at_s).powi(2)).sum();
    if series.len() < MIN_VALUES || times == 0.0 {
        return None;
    }
    let products: f64 = series.iter().map(|it| (it.at_s - at_s) * (it.value - value)).sum();
    let slope = products / times;
    let residual = |it: &TimedValue| it.value - value - slope * (it.at_s - at_s);
    let squares: f64 = series.iter().map(|it| residual(it).powi(2)).sum();
    let variance_of_slope = squares / (series.len() - 2) as f64 / times;
    let span = last.at_s - first.at_s;
    Some(((slope * slope - variance_of_slope) * span * span / 2.0).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deviation(value: impl Fn(f64) -> f64, count: u32) -> f64 {
        let at = |at: u32| TimedValue { at_s: f64::from(at), value: value(f64::from(at)) };
        // The order of the values does not matter, but their times.
        deviation_over_time(&(0..count).rev().map(at).collect::<Vec<_>>())
    }

    #[test]
    fn a_line_has_the_deviation_of_its_ends() {
        let found = deviation(|at| 0.02 * at, 11);
        assert!((found - 0.2 / 2f64.sqrt()).abs() < 1e-12, "{found}");
    }

    #[test]
    fn a_level_of_the_second_half_is_seen_and_values_without_order_are_not() {
        let step = deviation(|at| if at < 6.0 { 0.0 } else { 0.1 }, 12);
        assert!((0.07..0.12).contains(&step), "{step}");
        assert_eq!(deviation(|at| 0.1 * (at % 2.0), 12), 0.0);
        // A single odd value is no movement.
        assert!(deviation(|at| if at == 9.0 { 1.0 } else { 0.0 }, 12) < 0.2);
    }

    #[test]
    fn quarters_show_what_halves_do_not() {
        let wave = deviation(|at| if (3.0..9.0).contains(&at) { 0.1 } else { 0.0 }, 12);
        assert!((wave - 0.1 / 3f64.sqrt()).abs() < 1e-12, "{wave}");
    }

    #[test]
    fn too_few_values_or_one_moment_show_nothing() {
        assert_eq!(deviation(|at| at, 5), 0.0);
        assert_eq!(deviation_over_time(&[]), 0.0);
        let at_once = [TimedValue { at_s: 1.0, value: 2.0 }; 12];
        assert_eq!(deviation_over_time(&at_once), 0.0);
    }
}
