//! Predicted costs: a bound with its unit of time, whole or in two parts.

use std::fmt;

use super::bound::{Bound, quote};
use super::unit::ClockRates;

/// The unit of an estimate.
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
    /// Cycles of the core, at its frequency.
    Cycles,
    /// Ticks of the processor's counter, which has a rate of its own.
    Ticks,
}

impl TimeUnit {
    /// The unit as it is written.
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

    /// Its length in nanoseconds on a machine with these clock rates, or why that is not known.
    pub fn ns(self, rates: &ClockRates) -> Result<f64, String> {
        let tick_ns = || rates.ticks_per_ns.map(|rate| 1.0 / rate).ok_or_else(no_counter);
        match self {
            TimeUnit::Nanoseconds => Ok(1.0),
            TimeUnit::Microseconds => Ok(1e3),
            TimeUnit::Milliseconds => Ok(1e6),
            TimeUnit::Seconds => Ok(1e9),
            TimeUnit::Ticks => tick_ns(),
            TimeUnit::Cycles => rates.core_ghz.map(|ghz| 1.0 / ghz).ok_or_else(|| {
                "the length of a cycle in ns is not known: this run has neither a probe of it nor \
                 timer/ticks-per-cycle"
                    .to_owned()
            }),
        }
    }
}

fn no_counter() -> String {
    "the length of a tick in ns is not known: the processor's counter was not the clock".to_owned()
}

/// A predicted cost: a bound and its unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The bound.
    pub bound: Bound,
    /// Its unit.
    pub unit: TimeUnit,
}

impl Estimate {
    /// Parses `120 ns`, `<25 cycles`, `>1us`, `100..200 ticks`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let at = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
        let (bound, unit) = text.split_at(at);
        if !text.contains(|c: char| c.is_ascii_digit()) {
            return Err(format!("{} is not an estimate\n  hint: try `120 ns`", quote(text)));
        }
        let unit = TimeUnit::parse(unit).ok_or_else(|| {
            let units = "ns, us, ms, s, cycles or ticks";
            format!("{} has no unit\n  hint: write one of {units}, as in `120 ns`", quote(text))
        })?;
        Ok(Self { bound: Bound::parse(bound)?, unit })
    }

    /// Its bound in nanoseconds on a machine with these clock rates, or why that is not known.
    pub fn in_ns(&self, rates: &ClockRates) -> Result<Bound, String> {
        Ok(self.bound.scale(self.unit.ns(rates)?))
    }
}

impl fmt::Display for Estimate {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{} {}", self.bound, self.unit.text())
    }
}

/// A predicted cost, whole or in the parts of hardware and software.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PredictedCost {
    /// The whole, if it was predicted.
    pub whole: Option<Estimate>,
    /// The hardware's part.
    pub hardware: Option<Estimate>,
    /// The software's part.
    pub software: Option<Estimate>,
}

impl PredictedCost {
    /// The whole in nanoseconds: as predicted, or as the sum of both parts.
    pub fn in_ns(&self, rates: &ClockRates) -> Result<Bound, String> {
        match (self.whole, self.parts_ns(rates)) {
            (Some(whole), _) => whole.in_ns(rates),
            (None, Some(sum)) => sum,
            (None, None) => {
                Err("the prediction has neither the whole nor both of its parts".to_owned())
            }
        }
    }

    fn parts_ns(&self, rates: &ClockRates) -> Option<Result<Bound, String>> {
        let add =
            |one: &Estimate, other: &Estimate| Ok(one.in_ns(rates)?.sum(&other.in_ns(rates)?));
        Some(add(self.hardware.as_ref()?, self.software.as_ref()?))
    }

    /// The whole as text, in the unit of its parts if they have the same.
    pub fn text(&self, rates: &ClockRates) -> Result<String, String> {
        match (self.whole, self.hardware, self.software) {
            (Some(whole), ..) => Ok(whole.to_string()),
            (None, Some(one), Some(other)) if one.unit == other.unit => {
                let bound = one.bound.sum(&other.bound).round();
                Ok(Estimate { bound, unit: one.unit }.to_string())
            }
            _ => Ok(format!("{} ns", self.in_ns(rates)?.round())),
        }
    }

    /// The contradiction between the whole and its parts, if there is one.
    pub fn contradiction(&self, rates: &ClockRates) -> Option<String> {
        let whole = self.whole?.in_ns(rates).ok()?.round();
        if let Some(Ok(sum)) = self.parts_ns(rates) {
            let (sum, differs) = (sum.round(), sum.contradicts(&whole));
            return differs
                .then(|| format!("its parts add up to {sum} ns, the whole is {whole} ns"));
        }
        let (name, part) = match (self.hardware, self.software) {
            (Some(part), _) => ("hardware", part),
            (_, Some(part)) => ("software", part),
            _ => return None,
        };
        let part = part.in_ns(rates).ok()?.round();
        let more = part.ends().0 > whole.ends().1;
        more.then(|| format!("the {name}'s part is {part} ns, the whole {whole} ns"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_estimate_has_a_unit_and_ticks_differ_from_cycles() {
        let ns = |text: &str, rates: &ClockRates| Estimate::parse(text).unwrap().in_ns(rates);
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
    fn parts_add_up_to_the_whole_or_contradict_it() {
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
        assert_eq!(more.unwrap(), "the software's part is 80 ns, the whole <50 ns");
        assert_eq!(of(some("<50 ns"), "30 ns", "").contradiction(&here), None);
        // What cannot be converted to ns contradicts nothing.
        let unknown = of(some("1 cycle"), "20 ns", "80 ns").contradiction(&ClockRates::default());
        assert_eq!(unknown, None);
    }

    proptest! {
        #[test]
        fn any_text_is_refused_or_parsed_and_written_back(
            text in "[<>~]?[0-9]{1,6}(\\.[0-9]{1,3})?(\\.\\.)?[0-9]{0,6} ?(ns|us|cycles)?|.{0,20}"
        ) {
            if let Ok(estimate) = Estimate::parse(&text) {
                prop_assert_eq!(Estimate::parse(&estimate.to_string()), Ok(estimate), "{}", text);
            }
        }
    }
}
