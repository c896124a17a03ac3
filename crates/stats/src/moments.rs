//! Mean and standard deviation: what studies print. One disturbed value moves both, so that no
//! figure of oscost's own is a mean (docs/METHOD.md, section 4).

/// The mean, in the unit of the values; `None` without any.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of what the values are a sample of, in their unit: by one less than there
/// are. `None` below two.
pub fn deviation(values: &[f64]) -> Option<f64> {
    let mean = mean(values).filter(|_| values.len() >= 2)?;
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deviation_is_that_of_what_the_values_are_a_sample_of() {
        assert_eq!(mean(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]), Some(5.0));
        let found = deviation(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert!((found - (32.0f64 / 7.0).sqrt()).abs() < 1e-12, "{found}");
        assert_eq!(deviation(&[3.0, 3.0]), Some(0.0));
        assert_eq!([mean(&[]), deviation(&[]), deviation(&[1.0])], [None; 3]);
    }
}
