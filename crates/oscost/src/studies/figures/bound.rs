//! What is predicted of a cost (a value, a bound or a range), and whether it holds.
//!
//! A prediction holds, does not hold, or is undecided: where an interval lies on both sides of a
//! bound, and without an interval.

use std::fmt;

/// A value holds if the cost differs from it by at most this factor. With less than a quarter, two
/// runs of one case on one machine may disagree; with much more, the value would hold on any
/// machine of the last ten years. A wider prediction is written as a range.
pub const VALUE_TOLERANCE_FACTOR: f64 = 1.25;

/// The largest cost: in nanoseconds it is a quarter of an hour.
const MAX_NUMBER: f64 = 1e12;
/// The smallest cost, except 0 as the lower end of a range.
const MIN_NUMBER: f64 = 1e-6;
/// The maximum number of characters of a number.
const MAX_NUMBER_CHARS: usize = 15;

/// A statement about a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It has this value, within a factor of [`VALUE_TOLERANCE_FACTOR`].
    Value(f64),
    /// It is less than this.
    Below(f64),
    /// It is more than this.
    Above(f64),
    /// It is between these, inclusive.
    Range(f64, f64),
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionResult {
    /// It is right.
    Held,
    /// It is wrong.
    DidNotHold,
    /// The figures cannot decide.
    Undecided,
}

impl PredictionResult {
    /// The result as it is shown.
    pub fn text(self) -> &'static str {
        match self {
            PredictionResult::Held => "held",
            PredictionResult::DidNotHold => "did not hold",
            PredictionResult::Undecided => "undecided",
        }
    }
}

impl Bound {
    /// Parses `120`, `~120`, `<25`, `>1` or `100..200`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return match low < high {
                true => Ok(Bound::Range(low, high)),
                false => Err(format!("the range {} ends before it begins", quote(text))),
            };
        }
        let some = |text: &str| match number(text)? {
            0.0 => Err("it must be above 0".to_owned()),
            number => Ok(number),
        };
        let rest = |sign: char| text.strip_prefix(sign);
        match (rest('<'), rest('>')) {
            (Some(text), _) => some(text).map(Bound::Below),
            (_, Some(text)) => number(text).map(Bound::Above),
            _ => some(rest('~').unwrap_or(text)).map(Bound::Value),
        }
    }

    /// Whether it holds for a cost with this figure and interval. Without an interval it is
    /// undecided.
    pub fn judge(&self, value: f64, interval: Option<[f64; 2]>) -> PredictionResult {
        let Some([low, high]) = interval else { return PredictionResult::Undecided };
        if ![value, low, high].iter().all(|number| number.is_finite()) {
            return PredictionResult::Undecided;
        }
        // The figure counts even if it lies outside its interval.
        let (low, high) = (low.min(value), high.max(value));
        let (inside, outside) = match *self {
            Bound::Below(max) => (high < max, low >= max),
            Bound::Above(min) => (low > min, high <= min),
            Bound::Value(_) | Bound::Range(..) => {
                let (min, max) = self.ends();
                (low >= min && high <= max, high < min || low > max)
            }
        };
        match (inside, outside) {
            (true, _) => PredictionResult::Held,
            (_, true) => PredictionResult::DidNotHold,
            _ => PredictionResult::Undecided,
        }
    }

    /// The numbers between which the cost must lie.
    pub fn ends(&self) -> (f64, f64) {
        match *self {
            Bound::Value(value) => (value / VALUE_TOLERANCE_FACTOR, value * VALUE_TOLERANCE_FACTOR),
            Bound::Below(max) => (0.0, max),
            Bound::Above(min) => (min, f64::INFINITY),
            Bound::Range(min, max) => (min, max),
        }
    }

    /// The same in another unit, by the factor of the units.
    #[must_use]
    pub fn scale(&self, factor: f64) -> Self {
        match *self {
            Bound::Value(value) => Bound::Value(value * factor),
            Bound::Below(max) => Bound::Below(max * factor),
            Bound::Above(min) => Bound::Above(min * factor),
            Bound::Range(min, max) => Bound::Range(min * factor, max * factor),
        }
    }

    /// The same in numbers of four digits, for computed bounds.
    #[must_use]
    pub fn round(&self) -> Self {
        match *self {
            Bound::Value(value) => Bound::Value(round(value)),
            Bound::Below(max) => Bound::Below(round(max)),
            Bound::Above(min) => Bound::Above(round(min)),
            Bound::Range(min, max) => Bound::Range(round(min), round(max)),
        }
    }

    /// The bound of the sum of two numbers with these bounds.
    #[must_use]
    pub fn sum(&self, other: &Self) -> Self {
        // A value is added without its tolerance, which is that of the sum.
        let exact = |bound: &Self| match *bound {
            Bound::Value(value) => (value, value),
            _ => bound.ends(),
        };
        let ((low, high), (more_low, more_high)) = (exact(self), exact(other));
        match (low + more_low, high + more_high) {
            (low, high) if low == high => Bound::Value(low),
            (low, high) if high.is_infinite() => Bound::Above(low),
            (0.0, high) => Bound::Below(high),
            (low, high) => Bound::Range(low, high),
        }
    }

    /// Whether no number satisfies both.
    pub fn contradicts(&self, other: &Self) -> bool {
        let ((low, high), (other_low, other_high)) = (self.ends(), other.ends());
        high < other_low || other_high < low
    }
}

/// In the form that [`Bound::parse`] parses.
impl fmt::Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bound::Value(value) => write!(to, "{value}"),
            Bound::Below(max) => write!(to, "<{max}"),
            Bound::Above(min) => write!(to, ">{min}"),
            Bound::Range(min, max) => write!(to, "{min}..{max}"),
        }
    }
}

/// A computed number in the four digits that are shown.
fn round(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// Parses a number: digits, and optionally a point with more digits.
fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let parsed =
        (plain && text.len() <= MAX_NUMBER_CHARS).then(|| text.parse::<f64>().ok()).flatten();
    let number = parsed.ok_or_else(|| format!("{} is not a number", quote(text)))?;
    match number == 0.0 || (MIN_NUMBER..=MAX_NUMBER).contains(&number) {
        true => Ok(number),
        false => {
            Err(format!("{} is not a cost: it must be {MIN_NUMBER} to {MAX_NUMBER:e}", quote(text)))
        }
    }
}

/// Text from outside as an error shows it.
pub(in crate::studies) fn quote(text: &str) -> String {
    const MAX_CHARS: usize = 40;
    let start: String = text.chars().take(MAX_CHARS).collect();
    format!("`{}`", start.escape_debug())
}

/// Whether a cost is less than another, judged by the intervals of both.
pub fn judge_order(one: Option<[f64; 2]>, other: Option<[f64; 2]>) -> PredictionResult {
    match (one, other) {
        (Some([_, high]), Some([low, _])) if high < low => PredictionResult::Held,
        (Some([low, _]), Some([_, high])) if low > high => PredictionResult::DidNotHold,
        _ => PredictionResult::Undecided,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_a_bound_and_a_range_are_parsed_and_written_back() {
        for (text, bound, back) in [
            ("120", Bound::Value(120.0), "120"),
            ("~5", Bound::Value(5.0), "5"),
            (" < 25 ", Bound::Below(25.0), "<25"),
            (">1.50", Bound::Above(1.5), ">1.5"),
            ("1.234567", Bound::Value(1.234567), "1.234567"),
            (">0", Bound::Above(0.0), ">0"),
            ("100..200", Bound::Range(100.0, 200.0), "100..200"),
            ("0 .. 0.25", Bound::Range(0.0, 0.25), "0..0.25"),
        ] {
            assert_eq!(Bound::parse(text), Ok(bound), "{text}");
            assert_eq!(bound.to_string(), back);
            assert_eq!(Bound::parse(back), Ok(bound), "{back}");
        }
    }

    #[test]
    fn an_invalid_number_is_refused() {
        for text in [
            "",
            "ns",
            "<",
            ">",
            "..",
            "1..",
            "..2",
            "2..1",
            "1..1",
            "-1",
            "1e3",
            "NaN",
            "inf",
            "<<1",
            "0",
            "<0",
            "~0",
            "~<1",
            "1 2",
            "1.2.3",
            "0.0000001",
            "1000000000001",
            "\u{1b}[2J",
            "1234567890.123456789",
        ] {
            assert!(Bound::parse(text).is_err(), "{text}");
        }
        assert!(!Bound::parse("\u{1b}[2J").unwrap_err().contains('\u{1b}'));
    }

    #[test]
    fn a_bound_holds_if_the_whole_interval_lies_on_its_side() {
        let judge = |text: &str, low: f64, high: f64| {
            Bound::parse(text).unwrap().judge((low + high) / 2.0, Some([low, high]))
        };
        for (text, held, undecided, wrong) in [
            ("<25", [24.0, 24.9], [24.0, 25.0], [25.0, 26.0]),
            (">25", [25.1, 26.0], [25.0, 26.0], [24.0, 25.0]),
            ("100..200", [100.0, 200.0], [99.0, 101.0], [200.1, 201.0]),
            ("100..200", [150.0, 151.0], [50.0, 250.0], [98.0, 99.0]),
            ("100", [80.0, 125.0], [124.0, 126.0], [125.1, 130.0]),
            ("100", [99.0, 101.0], [79.0, 81.0], [10.0, 79.9]),
        ] {
            assert_eq!(judge(text, held[0], held[1]), PredictionResult::Held, "{text}");
            assert_eq!(
                judge(text, undecided[0], undecided[1]),
                PredictionResult::Undecided,
                "{text}"
            );
            assert_eq!(judge(text, wrong[0], wrong[1]), PredictionResult::DidNotHold, "{text}");
        }
    }

    #[test]
    fn an_interval_that_is_missing_or_lacks_its_figure_decides_nothing() {
        let below = Bound::Below(25.0);
        assert_eq!(below.judge(1.0, None), PredictionResult::Undecided);
        assert_eq!(below.judge(f64::NAN, Some([1.0, 2.0])), PredictionResult::Undecided);
        assert_eq!(below.judge(1.0, Some([1.0, f64::INFINITY])), PredictionResult::Undecided);
        assert_eq!(below.judge(30.0, Some([1.0, 2.0])), PredictionResult::Undecided);
    }

    #[test]
    fn an_order_holds_if_the_intervals_do_not_overlap() {
        let (low, high) = (Some([1.0, 2.0]), Some([3.0, 4.0]));
        assert_eq!(judge_order(low, high), PredictionResult::Held);
        assert_eq!(judge_order(high, low), PredictionResult::DidNotHold);
        assert_eq!(judge_order(low, Some([2.0, 3.0])), PredictionResult::Undecided);
        assert_eq!(judge_order(low, None), PredictionResult::Undecided);
    }

    proptest! {
        #[test]
        fn a_range_holds_for_its_middle_and_not_for_a_number_outside(
            low in 1.0f64..1e6, more in 1.1f64..10.0
        ) {
            let range = Bound::Range(low, low * more);
            let middle = low * more.sqrt();
            prop_assert_eq!(range.judge(middle, Some([middle, middle])), PredictionResult::Held);
            let outside = low * more * 1.01;
            prop_assert_eq!(range.judge(outside, Some([outside, outside])), PredictionResult::DidNotHold);
        }
    }
}
