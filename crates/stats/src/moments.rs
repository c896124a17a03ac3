//! Mean and standard deviation, for comparison with published studies. A single disturbed value
//! moves both, so they are not used as estimates (docs/explanation/METHOD.md, section 4).

/// The arithmetic mean, in the unit of the values. `None` without values.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The sample standard deviation (divisor n - 1), in the unit of the values. `None` below two
/// values.
pub fn standard_deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_deviation_is_that_of_a_sample() {
        assert_eq!(mean(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(5.0));
        let found = standard_deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((found - (32.0f64 / 7.0).sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(standard_deviation(&[3.0, 3.0]), Some(0.0));
        assert_eq!([mean(&[]), standard_deviation(&[]), standard_deviation(&[1.0])], [None; 3]);
    }
}
