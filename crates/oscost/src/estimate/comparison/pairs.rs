//! Pairs of values that were measured side by side.

use std::collections::BTreeMap;

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::journal::{Design, Phase};
use oscost_stats::order;

use super::rows::is_cost;

/// A pair needs this many rounds in which neither side was disturbed.
const MIN_ROUNDS: usize = 3;

/// One pair: when it was measured, its ratio, and the added cost of the new side in the case's
/// unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    pub(super) at_s: f64,
    pub(super) ratio: f64,
    pub(super) added: f64,
    pub(super) ties: u32,
    /// The core's rate beside both sides; `None` if it is not known.
    pub(super) cycles_per_ns: Option<f64>,
}

/// The round of a phase; rehearsals and reference cases have none.
pub(super) fn round_of(phase: Phase) -> Option<u32> {
    match phase {
        Phase::Round(round) => Some(round),
        Phase::Before | Phase::Rehearsal(_) | Phase::After | Phase::StudyMethod { .. } => None,
    }
}

/// The time from the first pair to the last, in seconds.
pub(super) fn span_s(pairs: &[Pair]) -> f64 {
    match pairs {
        [first, .., last] => last.at_s - first.at_s,
        _ => 0.0,
    }
}

/// The clean batches of one side by round.
pub(super) type Rounds = BTreeMap<u32, f64>;

/// One pair of workers, or of arms of a worker; `None` if too few rounds were undisturbed.
pub(super) fn pair(at_s: f64, base: &Rounds, new: &Rounds, design: Design) -> Option<Pair> {
    let good = |rounds: &Rounds| -> Vec<f64> {
        rounds.values().copied().filter(|&value| is_cost(value)).collect()
    };
    let middle = |values: Vec<f64>| order::median(&order::sorted(&values));
    if design == Design::Pairs || is_injected(InjectedFault::PairingIgnored) {
        // The n-th batches of two workers are unrelated.
        let (base, new) = (good(base), good(new));
        if base.len().min(new.len()) < MIN_ROUNDS {
            return None;
        }
        let (base, new) = (middle(base)?, middle(new)?);
        let (ratio, added) = (new / base, new - base);
        return Some(Pair { at_s, ratio, added, ties: 0, cycles_per_ns: None });
    }
    let both: BTreeMap<u32, [f64; 2]> = base
        .iter()
        .filter_map(|(&round, &base)| Some((round, [base, *new.get(&round)?])))
        .filter(|(_, both)| both.iter().all(|&value| is_cost(value)))
        .collect();
    if both.len() < MIN_ROUNDS {
        return None;
    }
    let median_of = |value: &dyn Fn(&[f64; 2]) -> f64| match design {
        // In the second half the order of the sides is reversed, so the effect of drift has the
        // opposite sign there and cancels in the mean of both halves.
        Design::Toggle => {
            let half = base.keys().chain(new.keys()).max().map_or(0, |last| last.div_ceil(2));
            let of_half = |is_second: bool| {
                let its = both.iter().filter(|(round, _)| (**round >= half) == is_second);
                middle(its.map(|(_, both)| value(both)).collect())
            };
            match (of_half(false), of_half(true)) {
                (Some(first), Some(second)) => Some((first + second) / 2.0),
                (first, second) => first.or(second),
            }
        }
        // Boots are compared by rows and have no pairs.
        Design::Twins | Design::Pairs | Design::Boots => middle(both.values().map(value).collect()),
    };
    let ratio = median_of(&|[base, new]| (new / base).ln())?.exp();
    let added = median_of(&|[base, new]| new - base)?;
    let ties = both.values().filter(|[base, new]| base == new).count() as u32;
    Some(Pair { at_s, ratio, added, ties, cycles_per_ns: None })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounds(values: &[f64]) -> Rounds {
        (0..).zip(values.iter().copied()).collect()
    }

    #[test]
    fn a_pair_is_the_median_over_common_rounds() {
        let mut base = rounds(&[100.0, 200.0, 300.0, 400.0]);
        let new = rounds(&[110.0, 220.0, 330.0, 9_999.0]);
        base.remove(&3);
        let pair = pair(1.0, &base, &new, Design::Twins).unwrap();
        assert!((pair.ratio - 1.1).abs() < 1e-9 && (pair.added - 20.0).abs() < 1e-9, "{pair:?}");
    }

    #[test]
    fn differences_between_rounds_cancel_in_twins_and_not_in_two_workers() {
        // Both sides vary from 100 to 900 together: the effect is 5 % in every round.
        let base: Vec<f64> = (1..=9).map(|round| 100.0 * f64::from(round)).collect();
        let new: Vec<f64> = base.iter().map(|value| 1.05 * value).collect();
        let twins = pair(0.0, &rounds(&base), &rounds(&new), Design::Twins).unwrap();
        assert!((twins.ratio - 1.05).abs() < 1e-9);
        let fewer = rounds(&new[..5]);
        let workers = pair(0.0, &rounds(&base), &fewer, Design::Pairs).unwrap();
        assert!(workers.ratio < 0.7, "{workers:?}");
        let twins = pair(0.0, &rounds(&base), &fewer, Design::Twins).unwrap();
        assert!((twins.ratio - 1.05).abs() < 1e-9);
    }

    #[test]
    fn drift_cancels_over_the_four_phases_of_a_toggled_worker() {
        // One per cent per phase: base, new, new, base. One round of the second half is lost.
        let times = |factor: f64| vec![100.0 * factor; 10];
        let base = rounds(&[times(1.00), times(1.03)].concat());
        let mut new = rounds(&[times(1.01), times(1.02)].concat());
        new.remove(&15);
        let toggled = pair(0.0, &base, &new, Design::Toggle).unwrap();
        assert!((toggled.ratio - 1.0).abs() < 2e-4, "{toggled:?}");
    }

    #[test]
    fn too_few_rounds_form_no_pair_and_equal_ones_are_ties() {
        let [two, three] = [rounds(&[1.0, 1.0]), rounds(&[1.0, 1.0, 1.0])];
        assert!(pair(0.0, &two, &three, Design::Twins).is_none());
        assert!(pair(0.0, &two, &three, Design::Pairs).is_none());
        assert_eq!(pair(0.0, &three, &three, Design::Twins).unwrap().ties, 3);
    }
}
