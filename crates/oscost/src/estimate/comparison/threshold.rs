//! The threshold above which a slowdown is reported as a failure.

use std::fmt;

use oscost_model::counters::is_work;
use oscost_model::record::{Comparison, Row};
use oscost_model::unit::{Better, Unit};

use super::verdict::{EQUIVALENCE_FACTOR, MAX_FALSE_DISCOVERY_RATE, MIN_PAIRS};
use super::work_power::WorkPower;

/// The largest accepted slowdown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// A percentage of the base.
    PerCent(f64),
    /// A number of instructions; it does not apply to times.
    Instructions(f64),
}

impl Threshold {
    /// Reads `5`, `5%` or `10insn`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str, max: f64| {
            text.trim_end().parse::<f64>().ok().filter(|it| (0.0..=max).contains(it))
        };
        match text.strip_suffix("insn") {
            Some(count) => number(count, 1e15).map(Self::Instructions),
            None => number(text.strip_suffix('%').unwrap_or(text), 1e4).map(Self::PerCent),
        }
    }

    /// Whether it applies to a comparison.
    pub fn applies_to(self, it: &Comparison) -> bool {
        match self {
            Threshold::PerCent(_) => true,
            Threshold::Instructions(_) => it.added.unit == Unit::InstructionsPerOp,
        }
    }

    /// Whether the verdict of a comparison is `slower`, by more than the threshold. An increase of work
    /// need not exceed the margin of that verdict: a threshold may be as small.
    pub fn is_exceeded(self, it: &Comparison, base: &Row) -> bool {
        let is_slower = it.verdict == "slower" || is_work(&it.metric) && is_increase(it);
        if !is_slower || !self.applies_to(it) {
            return false;
        }
        let median = base.estimate.as_ref().map(|estimate| estimate.median);
        match (self, it.added.unit, median) {
            (Threshold::Instructions(max), ..) => it.added.value > max,
            // Its figure is not that of the row.
            (Threshold::PerCent(pct), ..) if is_work(&it.metric) => {
                it.ratio.value.ln() > (pct / 100.0).ln_1p()
            }
            // In whole numbers, so that 105 of 100 is not above 5 % by rounding.
            (Threshold::PerCent(pct), Unit::InstructionsPerOp, Some(median)) => {
                100.0 * it.added.value > pct * median
            }
            (Threshold::PerCent(pct), ..) => {
                let log = it.ratio.value.ln();
                let worse = match base.better {
                    Better::Lower => log,
                    Better::Higher => -log,
                };
                worse > (pct / 100.0).ln_1p()
            }
        }
    }

    /// Whether a comparison, one of this many, would have detected a change of this size.
    pub fn would_detect(self, it: &Comparison, rows: usize) -> bool {
        let claimable = !it.flags.iter().any(|flag| flag == "UNRELIABLE");
        let is_detectable = match is_work(&it.metric) {
            true => self.is_visible_in(it, rows),
            false => it.mde_pct.is_some_and(|at| match self {
                Threshold::PerCent(pct) => at <= pct,
                // An exact count shows each instruction; others may miss some.
                Threshold::Instructions(_) => at == 0.0,
            }),
        };
        claimable && self.applies_to(it) && is_detectable
    }

    /// Whether two figures that are called equivalent cannot differ by more: times differ by up to 3 %
    /// then, and counts by nothing.
    pub fn contains_equivalence(self, it: &Comparison) -> bool {
        let is_count = it.added.unit == Unit::InstructionsPerOp;
        match self {
            Threshold::PerCent(pct) => is_count || 1.0 + pct / 100.0 >= EQUIVALENCE_FACTOR,
            Threshold::Instructions(_) => is_count,
        }
    }

    /// Whether a comparison of work would show an increase in four of five comparisons, were the change
    /// of this size: its interval would lie beyond no change, and it would be a discovery among these
    /// rows. The smallest detectable effect has the margin of the verdict beside, a tenth of a per cent;
    /// it is asked where the interval alone does not say how p falls, with a few workers or runs.
    fn is_visible_in(self, it: &Comparison, rows: usize) -> bool {
        let reach = |value: f64, [low, high]: [f64; 2]| (value - low).max(high - value);
        let Some(ends) = it.ratio.ci95 else { return false };
        let half_width = reach(it.ratio.value.ln(), ends.map(f64::ln));
        let needed = match (it.pairs as usize) < MIN_PAIRS {
            true => it.mde_pct.map(|pct| (pct / 100.0).ln_1p()),
            false => Some(WorkPower::HalfWidth(half_width).detectable(0.0, rows)),
        };
        needed.is_some_and(|needed| match self {
            Threshold::PerCent(pct) => needed <= (pct / 100.0).ln_1p(),
            // The interval of what is added is that of the ratio, applied to the base.
            Threshold::Instructions(count) => it
                .added
                .ci95
                .is_some_and(|ends| reach(it.added.value, ends) * (needed / half_width) <= count),
        })
    }
}

/// Whether a comparison shows an increase, however small.
fn is_increase(it: &Comparison) -> bool {
    let is_judged = matches!(it.verdict.as_str(), "equivalent" | "inconclusive");
    let is_above = it.ratio.ci95.is_some_and(|[low, _]| low > 1.0);
    is_judged && is_above && it.q <= MAX_FALSE_DISCOVERY_RATE
}

impl fmt::Display for Threshold {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::PerCent(pct) => write!(to, "{pct} %"),
            Threshold::Instructions(count) if *count == 1.0 => write!(to, "1 instruction"),
            Threshold::Instructions(count) => write!(to, "{count} instructions"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_a_number_of_per_cent_or_of_instructions() {
        for (text, expected) in [
            ("5", Some(Threshold::PerCent(5.0))),
            ("5%", Some(Threshold::PerCent(5.0))),
            ("2.5 %", Some(Threshold::PerCent(2.5))),
            ("0insn", Some(Threshold::Instructions(0.0))),
            ("10insn", Some(Threshold::Instructions(10.0))),
            ("0.5 insn", Some(Threshold::Instructions(0.5))),
            ("-1", None),
            ("-1insn", None),
            ("insn", None),
            ("%", None),
            ("5ns", None),
            ("nan", None),
            ("inf", None),
            ("20000", None),
        ] {
            assert_eq!(Threshold::parse(text), expected, "{text}");
        }
        let texts = [Threshold::PerCent(5.0), Threshold::PerCent(0.1)].map(|it| it.to_string());
        assert_eq!(texts, ["5 %", "0.1 %"]);
        let texts = [0.0, 1.0, 10.0].map(|it| Threshold::Instructions(it).to_string());
        assert_eq!(texts, ["0 instructions", "1 instruction", "10 instructions"]);
    }

    #[test]
    fn a_small_increase_of_work_exceeds_a_threshold_that_is_as_small() {
        let text = include_str!("../../../tests/store/run-1.json");
        let record: oscost_model::record::Record = serde_json::from_str(text).unwrap();
        let base = &record.results[0];
        let mut it = record.comparisons[0].clone();
        it.metric = oscost_model::counters::INSN.to_owned();
        it.added.unit = Unit::InstructionsPerOp;
        (it.verdict, it.q) = ("equivalent".to_owned(), 0.001);
        (it.ratio.value, it.ratio.ci95) = (1.0013, Some([1.0009, 1.0017]));
        assert!(Threshold::PerCent(0.1).is_exceeded(&it, base));
        assert!(!Threshold::PerCent(0.2).is_exceeded(&it, base));
        it.ratio.ci95 = Some([0.9999, 1.0027]);
        assert!(!Threshold::PerCent(0.1).is_exceeded(&it, base), "it may be none");
        it.metric = "primary".to_owned();
        it.ratio.ci95 = Some([1.0009, 1.0017]);
        assert!(!Threshold::PerCent(0.1).is_exceeded(&it, base), "times have their margin");
    }
}
