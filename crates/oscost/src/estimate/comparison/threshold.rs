//! How much slower is too much, and what is.

use std::fmt;

use oscost_model::record::{Comparison, Row};
use oscost_model::unit::{Better, Unit};

/// How much slower is too much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Threshold {
    /// So many per cent of the base.
    PerCent(f64),
    /// So many instructions: of times it says nothing.
    Instructions(f64),
}

impl Threshold {
    /// Reads `5`, `5%` or `10insn`.
    pub fn parse(text: &str) -> Option<Self> {
        let number = |text: &str, most: f64| {
            text.trim_end().parse::<f64>().ok().filter(|it| (0.0..=most).contains(it))
        };
        match text.strip_suffix("insn") {
            Some(count) => number(count, 1e15).map(Self::Instructions),
            None => number(text.strip_suffix('%').unwrap_or(text), 1e4).map(Self::PerCent),
        }
    }

    /// Whether a comparison can be held against it.
    pub fn applies_to(self, it: &Comparison) -> bool {
        match self {
            Threshold::PerCent(_) => true,
            Threshold::Instructions(_) => it.added.unit == Unit::InstructionsPerOp,
        }
    }

    /// Whether a comparison is surely slower than the base's row, and by more than that.
    pub fn is_exceeded(self, it: &Comparison, base: &Row) -> bool {
        if it.verdict != "slower" || !self.applies_to(it) {
            return false;
        }
        let median = base.estimate.as_ref().map(|estimate| estimate.median);
        match (self, it.added.unit, median) {
            (Threshold::Instructions(most), ..) => it.added.value > most,
            // In whole numbers: five of a hundred are five per cent, and not a bit more.
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

    /// Whether a change of so much would have shown in a comparison.
    pub fn would_detect(self, it: &Comparison) -> bool {
        let claimable = !it.flags.iter().any(|flag| flag == "UNRELIABLE");
        let seen = it.mde_pct.is_some_and(|at| match self {
            Threshold::PerCent(pct) => at <= pct,
            // Any instruction shows in what is exact, and none surely in what is not.
            Threshold::Instructions(_) => at == 0.0,
        });
        claimable && self.applies_to(it) && seen
    }
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
        let told = [Threshold::PerCent(5.0), Threshold::PerCent(0.1)].map(|it| it.to_string());
        assert_eq!(told, ["5 %", "0.1 %"]);
        let told = [0.0, 1.0, 10.0].map(|it| Threshold::Instructions(it).to_string());
        assert_eq!(told, ["0 instructions", "1 instruction", "10 instructions"]);
    }
}
