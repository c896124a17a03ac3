//! How well a prediction agrees with what was measured.

use oscost_model::bill::Amount;

/// A prediction is good if it is as near as this to the measured increase, in per cent ...
const TOLERANCE_PCT: f64 = 25.0;
/// ... and is judged if that is known as well: half of its interval, in per cent. With more, chance
/// would decide.
const MAX_HALF_WIDTH_PCT: f64 = 25.0;

/// The judgement on a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The predicted increase over the measured one; `None` without a positive one.
    pub ratio: Option<f64>,
    /// The judgement, in words.
    pub text: String,
}

/// Judges a predicted increase by the measured one.
pub fn judge(predicted: &Amount, measured: &Amount) -> Judgement {
    let ratio = (measured.ns > 0.0).then(|| predicted.ns / measured.ns);
    let text = match (ratio, measured.ci95) {
        (None, _) => "not judged: no increase was measured".to_owned(),
        (_, None) => "not judged: the measured increase has no interval".to_owned(),
        (Some(ratio), Some([low, high])) => {
            let half_pct = 100.0 * (high - low) / 2.0 / measured.ns;
            let off_pct = 100.0 * (ratio - 1.0).abs();
            match (half_pct <= MAX_HALF_WIDTH_PCT, off_pct <= TOLERANCE_PCT) {
                (false, _) => {
                    format!("not judged: the measured increase is known to +-{half_pct:.1} % only")
                }
                (true, true) => {
                    format!("within {TOLERANCE_PCT:.0} % of the measured increase")
                }
                (true, false) => {
                    format!("outside {TOLERANCE_PCT:.0} % of the measured increase")
                }
            }
        }
    };
    Judgement { ratio, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(predicted_ns: f64, measured_ns: f64, ci95: Option<[f64; 2]>) -> String {
        judge(&Amount::exact(predicted_ns), &Amount { ns: measured_ns, ci95 }).text
    }

    #[test]
    fn a_prediction_is_within_a_quarter_of_the_measured_increase_or_outside() {
        let near = Some([90.0, 110.0]);
        for (predicted_ns, word) in
            [(75.0, "within"), (125.0, "within"), (74.9, "outside"), (125.1, "outside")]
        {
            let text = text(predicted_ns, 100.0, near);
            assert_eq!(text, format!("{word} 25 % of the measured increase"), "{predicted_ns}");
        }
        assert_eq!(text(-100.0, 100.0, near), "outside 25 % of the measured increase");
        assert_eq!(judge(&Amount::exact(80.0), &Amount::exact(100.0)).ratio, Some(0.8));
    }

    #[test]
    fn an_increase_that_is_not_known_well_judges_nothing() {
        assert!(text(100.0, 100.0, Some([75.0, 125.0])).starts_with("within"));
        let wide = text(100.0, 100.0, Some([60.0, 140.0]));
        assert_eq!(wide, "not judged: the measured increase is known to +-40.0 % only");
        let slightly_wide = text(100.0, 100.0, Some([74.0, 125.0]));
        assert_eq!(slightly_wide, "not judged: the measured increase is known to +-25.5 % only");
        let unknown = text(100.0, 100.0, None);
        assert_eq!(unknown, "not judged: the measured increase has no interval");
        for measured_ns in [0.0, -5.0] {
            let none = text(100.0, measured_ns, Some([-6.0, 1.0]));
            assert_eq!(none, "not judged: no increase was measured");
            assert_eq!(judge(&Amount::exact(1.0), &Amount::exact(measured_ns)).ratio, None);
        }
    }
}
