//! The effects found in pairs of rows or in a control, and the verdicts on them.

use oscost_model::journal::Pairing;
use oscost_model::record::AddedCost;
use oscost_model::unit::Unit;
use oscost_stats::paired_power::PairCriterion;

use super::pairs::{Pair, span_s};
use super::verdict::{
    self, EQUIVALENCE_FACTOR, EffectEstimate, Judgement, PairRule, Spread, verdicts,
};

/// If a control is beyond half the margin with this p or less, something other than the compared
/// treatment distinguishes the sides.
const MAX_CONTROL_P: f64 = 0.001;

/// A metric that is compared.
pub(super) struct ComparedMetric {
    pub(super) name: String,
    pub(super) unit: Unit,
}

/// The effect found in two rows or in a control, before correction for the number of rows.
pub(super) struct PairedRows {
    pub(super) pairing: Pairing,
    pub(super) metric: ComparedMetric,
    pub(super) pairs: Vec<Pair>,
    pub(super) effect: EffectEstimate,
    pub(super) rule: PairRule,
    /// Whether it is one of the hypotheses of the comparison; otherwise it is a further metric of a
    /// row, judged with the others of that kind.
    pub(super) is_hypothesis: bool,
}

impl PairedRows {
    /// What is added, by the pairs. Its interval also contains that of the next run, in which the
    /// core's rate may be another one by this deviation of its logarithm.
    pub(super) fn added(&self, of_pairs: &[f64], rate_sd: f64, unit: Unit) -> AddedCost {
        let PairRule { test, .. } = self.rule;
        let merged = self.effect.merged(of_pairs);
        let value = test.centre(&merged, of_pairs).unwrap_or(0.0);
        let interval = test.interval(&merged, self.rule.nominal()).map(|it| {
            let next = verdict::widen_for_next_run(value, it, value);
            verdict::widen_for_core_rate(value, next, rate_sd)
        });
        AddedCost { value, ci95: interval.map(|it| [it.lo, it.hi]), unit }
    }
}

/// The effect in pairs.
pub(super) fn judge(
    pairing: Pairing,
    metric: ComparedMetric,
    mut pairs: Vec<Pair>,
    rule: PairRule,
) -> PairedRows {
    pairs.sort_by(|one, other| one.at_s.total_cmp(&other.at_s));
    let ratios: Vec<[f64; 2]> = pairs.iter().map(|pair| [1.0, pair.ratio]).collect();
    let effect = verdict::interleaved_effect(&ratios, span_s(&pairs), rule);
    PairedRows { pairing, metric, pairs, effect, rule, is_hypothesis: true }
}

/// The verdicts on pairs of rows, those on hypotheses apart from those on further metrics.
pub(super) fn judgements(found: &[PairedRows]) -> Vec<Judgement> {
    let of_kind = |is_hypothesis: bool| {
        let of_kind = found.iter().filter(|it| it.is_hypothesis == is_hypothesis);
        let effects: Vec<EffectEstimate> = of_kind.clone().map(|it| it.effect.clone()).collect();
        let margins: Vec<f64> = of_kind.map(|it| it.rule.margin).collect();
        verdicts(&effects, &margins).into_iter()
    };
    let (mut hypotheses, mut others) = (of_kind(true), of_kind(false));
    let next = |it: &PairedRows| if it.is_hypothesis { hypotheses.next() } else { others.next() };
    found.iter().filter_map(next).collect()
}

/// Whether a control shows an effect with such certainty that the other results are not valid.
pub(super) fn is_control_violated(control: &PairedRows) -> bool {
    let half = control.rule.margin / 2.0;
    let beyond = control.effect.interval.is_some_and(|it| it.lo > half || it.hi < -half);
    beyond && control.effect.p <= MAX_CONTROL_P
}

/// The smallest effect that a control shows in 80 of 100 runs, as a logarithm, by its own rule. `None`
/// if it has too few pairs to show any.
pub(super) fn control_detectable(control: &PairedRows) -> Option<f64> {
    let Spread { sd, count } = control.effect.spread?;
    let nominal = control.rule.nominal();
    let margin = control.rule.margin / 2.0;
    let criterion = PairCriterion { level: MAX_CONTROL_P, nominal, margin };
    control.rule.test.detectable(criterion, sd, count)
}

/// Whether a control, in which nothing differs, is known to be equivalent. Otherwise its pairs leave
/// room for an effect as large as those that verdicts are about.
pub(super) fn is_control_equivalent(control: &PairedRows) -> bool {
    let bound = EQUIVALENCE_FACTOR.ln().max(control.rule.margin);
    control.effect.interval.is_some_and(|it| -bound < it.lo && it.hi < bound)
}

#[cfg(test)]
mod tests {
    use oscost_model::journal::Design;

    use super::*;

    fn control(ratios: &[f64]) -> PairedRows {
        let pairing = Pairing { base: 0, new: 0, design: Design::Twins, set: 0, looks: 1 };
        let pair = |(at, &ratio): (usize, &f64)| Pair {
            at_s: 10.0 * at as f64,
            ratio,
            added: ratio - 1.0,
            ties: 0,
            cycles_per_ns: None,
        };
        let metric = ComparedMetric { name: "primary".to_owned(), unit: Unit::NsPerOp };
        let rule = PairRule { margin: 0.01, ..PairRule::default() };
        judge(pairing, metric, ratios.iter().enumerate().map(pair).collect(), rule)
    }

    #[test]
    fn a_control_is_equivalent_only_if_its_whole_interval_is() {
        let quiet = [1.0, 1.001, 0.999, 1.0, 1.002, 0.998, 1.0, 1.0, 1.001];
        assert!(is_control_equivalent(&control(&quiet)));
        // Most pairs are tied at the clock's step, and a few were far below.
        let tied = [1.0, 1.0, 0.6, 1.0, 0.5, 1.0, 0.6, 1.0, 1.0];
        assert!(!is_control_equivalent(&control(&tied)));
        assert!(!is_control_equivalent(&control(&[1.05; 9])), "an effect");
        assert!(!is_control_equivalent(&control(&quiet[..3])), "too few for an interval");
    }
}
