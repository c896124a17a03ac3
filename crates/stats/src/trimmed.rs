//! Means of the middle values: nearly as exact as the mean of normal values, and blind to a few that
//! are far from the others. They need no pairs of values, so they are as fast as sorting.

use super::order;
use super::student::Estimate;

/// The share that is left out on each side.
const TRIMMED_SHARE: f64 = 0.2;

/// The mean of these values, less the fifth on each side, with the standard error by the winsorised
/// variance (Tukey and McLaughlin 1963). Of four values or fewer none is left out. `None` below two
/// values.
///
/// The difference of two is that of Yuen (1974).
pub fn trimmed_mean(values: &[f64]) -> Option<Estimate> {
    if values.len() < 2 {
        return None;
    }
    let mut sorted = order::sorted(values);
    let count = sorted.len();
    let cut = (TRIMMED_SHARE * count as f64) as usize;
    let middle = count - 2 * cut;
    let value = sorted[cut..count - cut].iter().sum::<f64>() / middle as f64;
    let (lowest, highest) = (sorted[cut], sorted[count - cut - 1]);
    sorted.iter_mut().for_each(|it| *it = it.clamp(lowest, highest));
    let mean = sorted.iter().sum::<f64>() / count as f64;
    let squares: f64 = sorted.iter().map(|it| (it - mean).powi(2)).sum();
    let degrees_of_freedom = (middle - 1) as f64;
    let standard_error = (squares / (middle as f64 * degrees_of_freedom)).sqrt();
    Some(Estimate { value, standard_error, degrees_of_freedom })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interval::Nominal;

    #[test]
    fn four_values_have_the_interval_of_student() {
        let found = trimmed_mean(&[1.0, 2.0, 3.0, 4.0]).unwrap();
        assert_eq!((found.value, found.degrees_of_freedom), (2.5, 3.0));
        // s = 1.29099, over the root of four; t with three degrees of freedom is 3.18245.
        assert!((found.standard_error - 0.645_497).abs() < 1e-6, "{found:?}");
        let half_width = found.interval(Nominal::FIXED).half_width();
        assert!((half_width - 2.054_260).abs() < 1e-4, "{half_width}");
        assert_eq!(trimmed_mean(&[1.0]), None);
    }

    #[test]
    fn a_fifth_on_each_side_is_left_out() {
        let found = trimmed_mean(&[-500.0, 2.0, 3.0, 4.0, 900.0]).unwrap();
        assert_eq!((found.value, found.degrees_of_freedom), (3.0, 2.0));
        // Winsorised: 2, 2, 3, 4, 4, whose squares around 3 add up to 4.
        assert!((found.standard_error - (4.0f64 / 6.0).sqrt()).abs() < 1e-12, "{found:?}");
    }
}
