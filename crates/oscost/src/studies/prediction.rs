//! What was predicted of a cost, and whether it held.
//!
//! A prediction is a value, a bound or a range, written before anybody measured; or it says which
//! of two costs is the smaller. It holds, it does not, or the figures cannot decide: where an
//! interval lies on both sides of a bound, and where there is none.

use std::fmt;

use super::ClockRates;

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
fn shown(text: &str) -> String {
    const LONGEST: usize = 40;
    let start: String = text.chars().take(LONGEST).collect();
    format!("`{}`", start.escape_debug())
}

/// What an estimate is told in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeUnit {
    /// Nanoseconds.
    Nanoseconds,
    /// Microseconds.
    Microseconds,
    /// Milliseconds.
    Milliseconds,
    /// Seconds.
    Seconds,
    /// Cycles of the core, as many a second as it runs at.
    Cycles,
    /// Ticks of the processor's counter, which runs at a rate of its own.
    Ticks,
}

impl TimeUnit {
    /// As it is written.
    pub fn text(self) -> &'static str {
        match self {
            TimeUnit::Nanoseconds => "ns",
            TimeUnit::Microseconds => "us",
            TimeUnit::Milliseconds => "ms",
            TimeUnit::Seconds => "s",
            TimeUnit::Cycles => "cycles",
            TimeUnit::Ticks => "ticks",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "ns" => TimeUnit::Nanoseconds,
            "us" => TimeUnit::Microseconds,
            "ms" => TimeUnit::Milliseconds,
            "s" => TimeUnit::Seconds,
            "cycle" | "cycles" => TimeUnit::Cycles,
            "tick" | "ticks" => TimeUnit::Ticks,
            _ => return None,
        })
    }

    /// How many nanoseconds one has on a machine of these beats; or why that cannot be told.
    pub fn ns(self, beats: &ClockRates) -> Result<f64, String> {
        let tick_ns = || beats.ticks_per_ns.map(|rate| 1.0 / rate).ok_or_else(no_counter);
        match self {
            TimeUnit::Nanoseconds => Ok(1.0),
            TimeUnit::Microseconds => Ok(1e3),
            TimeUnit::Milliseconds => Ok(1e6),
            TimeUnit::Seconds => Ok(1e9),
            TimeUnit::Ticks => tick_ns(),
            TimeUnit::Cycles => beats.core_ghz.map(|ghz| 1.0 / ghz).ok_or_else(|| {
                "how many ns a cycle has is not known: neither the probe nor \
                 timer/ticks-per-cycle told in this run"
                    .to_owned()
            }),
        }
    }
}

fn no_counter() -> String {
    "how many ns a tick has is not known: the processor's counter was not the clock".to_owned()
}

/// A cost as somebody expects it: what is said of it, and in which unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// What is said.
    pub bound: Bound,
    /// Its unit.
    pub unit: TimeUnit,
}

impl Estimate {
    /// Reads `120 ns`, `<25 cycles`, `>1us`, `100..200 ticks`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (bound, unit) = text.split_at(at);
        let unit = TimeUnit::parse(unit).ok_or_else(|| {
            format!("{} has no unit: ns, us, ms, s, cycles or ticks", shown(text))
        })?;
        Ok(Self { bound: Bound::parse(bound)?, unit })
    }

    /// What it says in nanoseconds, on a machine of these beats; or why that cannot be told.
    pub fn in_ns(&self, beats: &ClockRates) -> Result<Bound, String> {
        Ok(self.bound.scaled(self.unit.ns(beats)?))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.bound, self.unit.text())
    }
}

/// A cost as somebody expects it, split into what the hardware takes and what the software does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedCost {
    /// All of it, where that was said.
    pub whole: Option<Estimate>,
    /// What the hardware takes.
    pub hardware: Option<Estimate>,
    /// What the software does.
    pub software: Option<Estimate>,
}

impl PredictedCost {
    /// All of it in nanoseconds: as it was said, or as its two parts add up.
    pub fn in_ns(&self, beats: &ClockRates) -> Result<Bound, String> {
        match (self.whole, self.parts_ns(beats)) {
            (Some(whole), _) => whole.in_ns(beats),
            (None, Some(sum)) => sum,
            (None, None) => {
                Err("neither the whole nor both of its parts were predicted".to_owned())
            }
        }
    }

    fn parts_ns(&self, beats: &ClockRates) -> Option<Result<Bound, String>> {
        let add =
            |one: &Estimate, other: &Estimate| Ok(one.in_ns(beats)?.sum(&other.in_ns(beats)?));
        Some(add(self.hardware.as_ref()?, self.software.as_ref()?))
    }

    /// All of it as it is written: in the unit of its parts where they have one.
    pub fn text(&self, beats: &ClockRates) -> Result<String, String> {
        match (self.whole, self.hardware, self.software) {
            (Some(whole), ..) => Ok(whole.to_string()),
            (None, Some(one), Some(other)) if one.unit == other.unit => {
                let bound = one.bound.sum(&other.bound).rounded();
                Ok(Estimate { bound, unit: one.unit }.to_string())
            }
            _ => Ok(format!("{} ns", self.in_ns(beats)?.rounded())),
        }
    }

    /// What is wrong with it by itself, where whole and parts contradict each other.
    pub fn contradiction(&self, beats: &ClockRates) -> Option<String> {
        let whole = self.whole?.in_ns(beats).ok()?.rounded();
        if let Some(Ok(sum)) = self.parts_ns(beats) {
            let (sum, differs) = (sum.rounded(), sum.contradicts(&whole));
            return differs
                .then(|| format!("its parts add up to {sum} ns, the whole is {whole} ns"));
        }
        let (name, part) = match (self.hardware, self.software) {
            (Some(part), _) => ("hardware", part),
            (_, Some(part)) => ("software", part),
            _ => return None,
        };
        let part = part.in_ns(beats).ok()?.rounded();
        let more = part.ends().0 > whole.ends().1;
        more.then(|| format!("its part of the {name} is {part} ns, the whole {whole} ns"))
    }
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
    fn an_estimate_has_a_unit_and_ticks_are_no_cycles() {
        let ns = |text: &str, beats: &ClockRates| Estimate::parse(text).unwrap().in_ns(beats);
        let here = ClockRates { ticks_per_ns: Some(2.5), core_ghz: Some(5.0) };
        assert_eq!(ns("120 ns", &here), Ok(Bound::Value(120.0)));
        assert_eq!(ns("~5us", &here), Ok(Bound::Value(5_000.0)));
        assert_eq!(ns("<2 ms", &here), Ok(Bound::Below(2e6)));
        assert_eq!(ns(">1 s", &here), Ok(Bound::Above(1e9)));
        assert_eq!(ns("25..50 ticks", &here), Ok(Bound::Range(10.0, 20.0)));
        assert_eq!(ns("25 cycles", &here), Ok(Bound::Value(5.0)));
        assert_eq!(ns("1 cycle", &here), Ok(Bound::Value(0.2)));
        let no_core = ClockRates { core_ghz: None, ..here };
        assert!(ns("25 cycles", &no_core).unwrap_err().contains("timer/ticks-per-cycle"));
        assert_eq!(ns("25 ticks", &no_core), Ok(Bound::Value(10.0)));
        let no_counter = ClockRates::default();
        assert!(ns("25 ticks", &no_counter).unwrap_err().contains("counter"));
        for text in ["120", "ns", "120 parsecs", "120 ns ns", "ns 120", "", "120 ms\u{7}"] {
            assert!(Estimate::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn parts_add_up_where_the_whole_is_not_said_and_are_held_against_it_where_it_is() {
        let some = |text: &str| Some(Estimate::parse(text).unwrap());
        let here = ClockRates { ticks_per_ns: Some(2.0), core_ghz: Some(2.0) };
        let of = |whole: Option<Estimate>, hardware: &str, software: &str| PredictedCost {
            whole,
            hardware: Some(hardware).filter(|it| !it.is_empty()).and_then(some),
            software: Some(software).filter(|it| !it.is_empty()).and_then(some),
        };
        for (hardware, software, sum) in [
            ("20 ns", "30 ns", "50 ns"),
            ("20 cycles", "30 ns", "40 ns"),
            ("20 cycles", "30..40 cycles", "50..60 cycles"),
            ("<20 ns", "<30 ns", "<50 ns"),
            ("20 ns", "<30 ns", "20..50 ns"),
            ("1 us", ">30 ns", ">1030 ns"),
            ("0.1 ns", "0.2 ns", "0.3 ns"),
            ("3.3333333 cycles", "1 ns", "2.667 ns"),
        ] {
            assert_eq!(of(None, hardware, software).text(&here).unwrap(), sum);
        }
        assert!(of(None, "20 ns", "").in_ns(&here).is_err());
        assert_eq!(of(some("50 ns"), "20 ns", "35 ns").contradiction(&here), None);
        let twice = of(some("50 ns"), "20 ns", "80 ns").contradiction(&here);
        assert_eq!(twice.unwrap(), "its parts add up to 100 ns, the whole is 50 ns");
        let more = of(some("<50 ns"), "", "80 ns").contradiction(&here);
        assert_eq!(more.unwrap(), "its part of the software is 80 ns, the whole <50 ns");
        assert_eq!(of(some("<50 ns"), "30 ns", "").contradiction(&here), None);
        // What cannot be told in ns contradicts nothing.
        let unknown = of(some("1 cycle"), "20 ns", "80 ns").contradiction(&ClockRates::default());
        assert_eq!(unknown, None);
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
        fn no_text_makes_a_parser_panic_and_what_is_read_is_written_so_that_it_can_be_read(
            text in "[<>~]?[0-9]{1,6}(\\.[0-9]{1,3})?(\\.\\.)?[0-9]{0,6} ?(ns|us|cycles)?|.{0,20}"
        ) {
            if let Ok(estimate) = Estimate::parse(&text) {
                prop_assert_eq!(Estimate::parse(&estimate.to_string()), Ok(estimate), "{}", text);
            }
        }

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
