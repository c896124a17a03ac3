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
            if half_pct > MAX_HALF_WIDTH_PCT {
                let text =
                    format!("not judged: the measured increase is known to +-{half_pct:.1} % only");
                return Judgement { ratio: Some(ratio), text };
            }
            let is_within = off_pct <= TOLERANCE_PCT;
            let word = if is_within { "within" } else { "outside" };
            let left_open = undecided_ratios(predicted, [low, high], is_within);
            let left_open = left_open.map_or(String::new(), |[least, most]| {
                format!(
                    " by figures alone; both intervals leave {least:.2} to {most:.2} times open"
                )
            });
            format!("{word} {TOLERANCE_PCT:.0} % of the measured increase{left_open}")
        }
    };
    Judgement { ratio, text }
}

/// The least and the largest ratio that both intervals leave open, where they do not all have the same
/// judgement as the figures; `None` where they do, and without the interval of the prediction.
fn undecided_ratios(predicted: &Amount, measured: [f64; 2], is_within: bool) -> Option<[f64; 2]> {
    let [low, high] = measured;
    let inverse = Some([1.0 / high, 1.0 / low]).filter(|_| low > 0.0);
    let [least, most] = predicted.times_between(1.0 / low, inverse).ci95?;
    let near = 1.0 - TOLERANCE_PCT / 100.0..=1.0 + TOLERANCE_PCT / 100.0;
    let is_decided = match is_within {
        true => near.contains(&least) && near.contains(&most),
        false => most < *near.start() || least > *near.end(),
    };
    (!is_decided).then_some([least, most])
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
    fn a_judgement_that_intervals_do_not_decide_says_what_they_leave_open() {
        let text = |predicted: [f64; 3], measured: [f64; 2]| {
            let [low, ns, high] = predicted;
            let predicted = Amount { ns, ci95: Some([low, high]) };
            judge(&predicted, &Amount { ns: 100.0, ci95: Some(measured) }).text
        };
        let within = "within 25 % of the measured increase";
        assert_eq!(text([95.0, 100.0, 105.0], [95.0, 105.0]), within);
        let outside = "outside 25 % of the measured increase";
        assert_eq!(text([190.0, 200.0, 210.0], [95.0, 105.0]), outside);
        assert_eq!(text([-9.0, -8.0, -7.0], [80.0, 120.0]), outside);
        assert_eq!(
            text([90.0, 120.0, 150.0], [80.0, 120.0]),
            format!("{within} by figures alone; both intervals leave 0.75 to 1.88 times open")
        );
        assert_eq!(
            text([100.0, 130.0, 160.0], [80.0, 125.0]),
            format!("{outside} by figures alone; both intervals leave 0.80 to 2.00 times open")
        );
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
