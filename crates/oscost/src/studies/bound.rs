//! What is predicted of a number (a value, a bound or a range), and whether it held.

use std::fmt;

/// A value holds where the cost is between so many times less and so many times more. Closer than
/// a quarter, two runs of one case on one machine may disagree; much further, and any machine of
/// the last ten years would bear it out. Who means more than that writes a range.
pub const VALUE_TOLERANCE_FACTOR: f64 = 1.25;

/// Numbers above this are no costs: in nanoseconds it is a quarter of an hour.
const MAX_NUMBER: f64 = 1e12;
/// Nor are those below this, but 0 itself as the lower end of a range.
const MIN_NUMBER: f64 = 1e-6;
/// A number takes so many characters.
const MAX_NUMBER_CHARS: usize = 15;

/// What is said of a number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// It is this, within a factor of [`VALUE_TOLERANCE_FACTOR`].
    Value(f64),
    /// It is less than this.
    Below(f64),
    /// It is more than this.
    Above(f64),
    /// It is between these, both of them included.
    Range(f64, f64),
}

/// What became of a prediction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PredictionResult {
    /// It was right.
    Held,
    /// It was wrong.
    DidNotHold,
    /// The figures cannot tell.
    Undecided,
}

impl PredictionResult {
    /// As tables have it.
    pub fn text(self) -> &'static str {
        match self {
            PredictionResult::Held => "held",
            PredictionResult::DidNotHold => "did not hold",
            PredictionResult::Undecided => "undecided",
        }
    }
}

impl Bound {
    /// Reads `120`, `~120`, `<25`, `>1` or `100..200`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return match low < high {
                true => Ok(Bound::Range(low, high)),
                false => Err(format!("the range {} ends before it begins", shown(text))),
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

    /// Whether it holds of a cost whose figure is `value` and whose interval is `interval`. Without
    /// an interval nobody knows.
    pub fn judge(&self, value: f64, interval: Option<[f64; 2]>) -> PredictionResult {
        let Some([low, high]) = interval else { return PredictionResult::Undecided };
        if ![value, low, high].iter().all(|number| number.is_finite()) {
            return PredictionResult::Undecided;
        }
        // The figure is part of what is held against it, wherever its interval lies.
        let (low, high) = (low.min(value), high.max(value));
        let (inside, outside) = match *self {
            Bound::Below(most) => (high < most, low >= most),
            Bound::Above(least) => (low > least, high <= least),
            Bound::Value(_) | Bound::Range(..) => {
                let (least, most) = self.ends();
                (low >= least && high <= most, high < least || low > most)
            }
        };
        match (inside, outside) {
            (true, _) => PredictionResult::Held,
            (_, true) => PredictionResult::DidNotHold,
            _ => PredictionResult::Undecided,
        }
    }

    /// The numbers between which it lies; of a value, those within which it holds.
    pub fn ends(&self) -> (f64, f64) {
        match *self {
            Bound::Value(value) => (value / VALUE_TOLERANCE_FACTOR, value * VALUE_TOLERANCE_FACTOR),
            Bound::Below(most) => (0.0, most),
            Bound::Above(least) => (least, f64::INFINITY),
            Bound::Range(least, most) => (least, most),
        }
    }

    /// The same in units of which one has so many of its own.
    #[must_use]
    pub fn scaled(&self, factor: f64) -> Self {
        match *self {
            Bound::Value(value) => Bound::Value(value * factor),
            Bound::Below(most) => Bound::Below(most * factor),
            Bound::Above(least) => Bound::Above(least * factor),
            Bound::Range(least, most) => Bound::Range(least * factor, most * factor),
        }
    }

    /// The same in numbers of four digits: for what was computed.
    #[must_use]
    pub fn rounded(&self) -> Self {
        match *self {
            Bound::Value(value) => Bound::Value(rounded(value)),
            Bound::Below(most) => Bound::Below(rounded(most)),
            Bound::Above(least) => Bound::Above(rounded(least)),
            Bound::Range(least, most) => Bound::Range(rounded(least), rounded(most)),
        }
    }

    /// What is said of the sum of two numbers of which these are said.
    #[must_use]
    pub fn sum(&self, other: &Self) -> Self {
        // A value is taken for what it is: how far it may be off is a matter of the sum.
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

    /// Whether no number is as both say.
    pub fn contradicts(&self, other: &Self) -> bool {
        let ((low, high), (its_low, its_high)) = (self.ends(), other.ends());
        high < its_low || its_high < low
    }
}

/// As [`Bound::parse`] reads it.
impl fmt::Display for Bound {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Bound::Value(value) => write!(to, "{value}"),
            Bound::Below(most) => write!(to, "<{most}"),
            Bound::Above(least) => write!(to, ">{least}"),
            Bound::Range(least, most) => write!(to, "{least}..{most}"),
        }
    }
}

/// A number that was computed, in the four digits of it that are shown.
fn rounded(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// A number that a person might mean: digits, and perhaps a point with more of them.
fn number(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let plain = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read =
        (plain && text.len() <= MAX_NUMBER_CHARS).then(|| text.parse::<f64>().ok()).flatten();
    let number = read.ok_or_else(|| format!("{} is no number", shown(text)))?;
    match number == 0.0 || (MIN_NUMBER..=MAX_NUMBER).contains(&number) {
        true => Ok(number),
        false => {
            Err(format!("{} is no cost: it must be {MIN_NUMBER} to {MAX_NUMBER:e}", shown(text)))
        }
    }
}

/// Text from outside as an error shows it.
pub(super) fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let start: String = text.chars().take(LONGEST).collect();
    format!("`{}`", start.escape_debug())
}

/// Whether a cost is less than another, by the intervals of both.
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
    fn a_value_a_bound_and_a_range_are_read_and_written_back() {
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
    fn what_is_no_number_says_so() {
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
    fn a_bound_holds_where_the_whole_interval_lies_on_its_side() {
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
    fn nothing_is_decided_without_an_interval_or_by_one_that_leaves_its_figure_out() {
        let below = Bound::Below(25.0);
        assert_eq!(below.judge(1.0, None), PredictionResult::Undecided);
        assert_eq!(below.judge(f64::NAN, Some([1.0, 2.0])), PredictionResult::Undecided);
        assert_eq!(below.judge(1.0, Some([1.0, f64::INFINITY])), PredictionResult::Undecided);
        assert_eq!(below.judge(30.0, Some([1.0, 2.0])), PredictionResult::Undecided);
    }

    #[test]
    fn an_order_holds_where_the_intervals_lie_apart() {
        let (low, high) = (Some([1.0, 2.0]), Some([3.0, 4.0]));
        assert_eq!(judge_order(low, high), PredictionResult::Held);
        assert_eq!(judge_order(high, low), PredictionResult::DidNotHold);
        assert_eq!(judge_order(low, Some([2.0, 3.0])), PredictionResult::Undecided);
        assert_eq!(judge_order(low, None), PredictionResult::Undecided);
    }

    proptest! {
        #[test]
        fn what_is_said_is_held_by_its_own_middle_and_by_nothing_far_away(
            low in 1.0f64..1e6, more in 1.1f64..10.0
        ) {
            let range = Bound::Range(low, low * more);
            let middle = low * more.sqrt();
            prop_assert_eq!(range.judge(middle, Some([middle, middle])), PredictionResult::Held);
            let far = low * more * 1.01;
            prop_assert_eq!(range.judge(far, Some([far, far])), PredictionResult::DidNotHold);
        }
    }
}
