//! How well a prediction agrees with what was measured.

use oscost_model::bill::Amount;

/// A prediction is good if it is as near as this to the measured increase, in per cent ...
const TOLERANCE_PCT: f64 = 25.0;
/// ... and is judged if that is known as well: half of its interval, in per cent. With more, chance
/// would decide.
const MAX_HALF_WIDTH_PCT: f64 = 25.0;

/// Half of the interval that a longer measurement aims at: the spread of trials is known badly itself.
const AIMED_HALF_WIDTH_PCT: f64 = 20.0;

/// The judgement on a prediction.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// The predicted increase over the measured one; `None` without a positive one.
    pub ratio: Option<f64>,
    /// The judgement, in words.
    pub text: String,
}

/// Whether an increase was measured that is known well enough to judge by.
pub fn is_known_to_judge(measured: &Amount) -> bool {
    let is_known = |half_pct: f64| half_pct <= MAX_HALF_WIDTH_PCT;
    measured.ns > 0.0 && half_width_pct(measured).is_some_and(is_known)
}

/// How many times as long a measurement takes that tells an increase well enough to judge by: an interval
/// narrows with the root of the time. `None` where nothing was added, or its interval suffices.
pub fn times_longer_to_judge(measured: &Amount) -> Option<f64> {
    let half_pct = half_width_pct(measured).filter(|_| measured.ns > 0.0)?;
    (half_pct > MAX_HALF_WIDTH_PCT).then(|| (half_pct / AIMED_HALF_WIDTH_PCT).powi(2))
}

/// Half of the interval of a positive increase, in per cent of it.
fn half_width_pct(measured: &Amount) -> Option<f64> {
    measured.ci95.map(|[low, high]| 100.0 * (high - low) / 2.0 / measured.ns)
}

/// Judges a predicted increase by the measured one.
pub fn judge(predicted: &Amount, measured: &Amount) -> Judgement {
    let ratio = (measured.ns > 0.0).then(|| predicted.ns / measured.ns);
    let text = match (ratio, measured.ci95.zip(half_width_pct(measured))) {
        (None, _) => "not judged: no increase was measured".to_owned(),
        (_, None) => "not judged: the measured increase has no interval".to_owned(),
        (Some(ratio), Some(([low, high], half_pct))) => {
            let off_pct = 100.0 * (ratio - 1.0).abs();
            if half_pct > MAX_HALF_WIDTH_PCT {
                let text =
                    format!("not judged: the measured increase is known to +-{half_pct:.1} % only");
                return Judgement { ratio: Some(ratio), text };
            }
            let is_within = off_pct <= TOLERANCE_PCT;
            let word = if is_within { "within" } else { "outside" };
            let undecided = undecided_ratios(predicted, [low, high], is_within);
            let left_open = match (predicted.ci95, undecided) {
                (None, _) => " by the figures, but the prediction has no interval".to_owned(),
                (_, Some([least, most])) => format!(
                    " by the figures, but the intervals leave {least:.2} to {most:.2} times open"
                ),
                (Some(_), None) => String::new(),
            };
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
        let predicted = Amount { ns: predicted_ns, ci95: Some([predicted_ns; 2]) };
        judge(&predicted, &Amount { ns: measured_ns, ci95 }).text
    }

    #[test]
    fn a_prediction_is_within_a_quarter_of_the_measured_increase_or_outside() {
        let near = Some([100.0; 2]);
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
    fn a_prediction_without_an_interval_is_judged_by_the_figures() {
        let found = judge(&Amount::exact(90.0), &Amount { ns: 100.0, ci95: Some([100.0; 2]) }).text;
        let figures = "by the figures, but the prediction has no interval";
        assert_eq!(found, format!("within 25 % of the measured increase {figures}"));
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
            format!("{within} by the figures, but the intervals leave 0.75 to 1.88 times open")
        );
        assert_eq!(
            text([100.0, 130.0, 160.0], [80.0, 125.0]),
            format!("{outside} by the figures, but the intervals leave 0.80 to 2.00 times open")
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
        let times = |ns: f64, ends| times_longer_to_judge(&Amount { ns, ci95: Some(ends) });
        assert_eq!(times(100.0, [40.0, 160.0]), Some(9.0));
        assert_eq!(times(100.0, [75.0, 125.0]), None, "it is known well enough");
        assert_eq!(times(-100.0, [-150.0, -50.0]), None, "nothing was added");
        for measured_ns in [0.0, -5.0] {
            let none = text(100.0, measured_ns, Some([-6.0, 1.0]));
            assert_eq!(none, "not judged: no increase was measured");
            assert_eq!(judge(&Amount::exact(1.0), &Amount::exact(measured_ns)).ratio, None);
        }
    }
}
