//! Groups of known costs, and what resampling tells of them.

use proptest::prelude::*;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::measured_cost::Cost;
use super::partition::partitions;
use super::similarity::{greatest_similarities, match_groups, shared_costs};
use super::{
    Borderline, Groups, MIN_GAP_RATIO, MeasuredCost, assign_groups, group_costs, resamples,
};
use crate::interval::Interval;
use crate::order;

/// A cost that is known to some per cent on either side.
fn known_to(pct: f64, value: f64) -> MeasuredCost {
    let factor = 1.0 + pct / 100.0;
    let interval = Interval { lo: value / factor, hi: value * factor };
    MeasuredCost::new(value, interval).unwrap()
}

/// Costs that are known to 2 % on either side.
fn measured(values: &[f64]) -> Vec<MeasuredCost> {
    values.iter().map(|&value| known_to(2.0, value)).collect()
}

fn costs(values: &[f64]) -> Vec<Cost> {
    measured(values).iter().map(|it| it.cost).collect()
}

/// The sum of squares of some values about their mean.
fn squares(values: &[f64]) -> f64 {
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    values.iter().map(|value| (value - mean).powi(2)).sum()
}

/// The smallest sum of squares of any way to cut the values into `k` groups.
fn by_trying_all(values: &[f64], k: usize) -> f64 {
    if k == 1 {
        return squares(values);
    }
    let cuts = k - 1..values.len();
    cuts.map(|cut| by_trying_all(&values[..cut], k - 1) + squares(&values[cut..]))
        .fold(f64::INFINITY, f64::min)
}

proptest! {
    #[test]
    fn no_partition_is_better_than_the_result(
        values in prop::collection::vec(-3.0..8.0f64, 1..12),
    ) {
        let sorted = order::sorted(&values);
        for (at, (found, starts)) in partitions(&sorted, 6).into_iter().enumerate() {
            let k = at + 1;
            prop_assert_eq!(starts.len(), at);
            let bounds: Vec<usize> =
                [0].into_iter().chain(starts).chain([sorted.len()]).collect();
            let own: f64 =
                bounds.windows(2).map(|bound| squares(&sorted[bound[0]..bound[1]])).sum();
            prop_assert!((own - found).abs() < 1e-9, "k = {k}: {own}, not {found}");
            let best = by_trying_all(&sorted, k);
            prop_assert!((best - found).abs() < 1e-9, "k = {k}: {best}, not {found}");
        }
    }

    #[test]
    fn groups_do_not_depend_on_order_or_unit(
        values in prop::collection::vec(1.0..1e6f64, 1..20),
        rotation in 0usize..20,
        unit in 1e-3..1e3f64,
    ) {
        let of = assign_groups(&costs(&values));
        let mut rotated: Vec<f64> = values.iter().map(|value| value * unit).collect();
        let by = rotation % rotated.len();
        rotated.rotate_left(by);
        let mut back = assign_groups(&costs(&rotated));
        back.rotate_right(by);
        // A gap of 1.5 to the last bit may fall on either side.
        let close = |one: f64, other: f64| (one / other / MIN_GAP_RATIO - 1.0).abs() < 1e-9;
        let edge = values.iter().any(|&one| values.iter().any(|&other| close(one, other)));
        prop_assert!(edge || back == of, "{of:?}, {back:?}");
    }
}

/// Twenty costs from 1.2 ns to 150 us, as section 7 of docs/explanation/METHOD.md describes
/// them.
const TWENTY: [f64; 20] = [
    1.2, 1.3, 1.6, 20.0, 22.0, 25.0, 110.0, 124.0, 130.0, 150.0, 170.0, 200.0, 250.0, 900.0,
    1_200.0, 1_500.0, 5_000.0, 25_000.0, 60_000.0, 150_000.0,
];

#[test]
fn twenty_costs_from_a_call_to_a_process_form_six_groups() {
    let found = group_costs(&measured(&TWENTY), 1);
    assert!((0..6).all(|group| found.is_stable(group)), "{:?}", found.similarities);
    let Groups { assignments: of, count, borderline, .. } = found;
    assert_eq!((count, borderline), (6, vec![]));
    let expected = [0, 0, 0, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 4, 5, 5, 5];
    assert_eq!(of, expected);
}

#[test]
fn a_boundary_needs_a_gap_and_intervals_that_do_not_overlap() {
    assert_eq!(assign_groups(&costs(&[100.0, 101.0, 102.0, 140.0, 141.0, 142.0])), [0; 6], "a gap");
    assert_eq!(assign_groups(&costs(&[100.0, 101.0, 102.0, 160.0, 161.0])), [0, 0, 0, 1, 1]);
    let mut wide = costs(&[100.0, 101.0, 102.0, 160.0, 161.0]);
    wide[2].interval.hi = 170.0;
    assert_eq!(assign_groups(&wide), [0; 5], "intervals that overlap");
}

#[test]
fn costs_far_from_every_boundary_are_not_borderline() {
    let found = group_costs(&measured(&[1.0, 1.1, 24.0, 25.0, 120.0, 130.0, 2_000.0]), 7);
    assert_eq!(found.assignments, [0, 0, 1, 1, 2, 2, 3]);
    assert_eq!(found.borderline, []);
}

#[test]
fn a_cost_near_a_boundary_is_borderline() {
    // The gap is 1.5 to a hundredth: in some redraws it holds, in others it does not.
    let found = group_costs(&measured(&[100.0, 100.0, 100.0, 151.0]), 7);
    assert_eq!(found.assignments, [0, 0, 0, 1]);
    assert_eq!(found.borderline, [Borderline { item: 3, group: 1, alternative: Some(0) }]);
    // The same from the other side: no group yet, but often one of its own.
    let found = group_costs(&measured(&[100.0, 100.0, 100.0, 149.0]), 7);
    assert_eq!(found.assignments, [0; 4]);
    assert_eq!(found.borderline, [Borderline { item: 3, group: 0, alternative: None }]);
}

/// Costs that lie at equal ratios have groups by chance alone.
fn chain(pct: f64) -> Vec<MeasuredCost> {
    (0..40).map(|at| known_to(pct, 100.0 * 1.7f64.powi(at))).collect()
}

#[test]
fn groups_of_a_chain_are_stable_only_without_uncertainty() {
    let exact = group_costs(&chain(0.0), 7);
    assert!(exact.count > 1, "{exact:?}");
    assert!(exact.similarities.iter().all(|&it| (it - 1.0).abs() < 1e-9), "{exact:?}");
    let uncertain = group_costs(&chain(25.0), 7);
    assert!(uncertain.similarities.iter().all(|it| (0.0..1.0).contains(it)), "{uncertain:?}");
    let stable = (0..uncertain.count).filter(|&group| uncertain.is_stable(group)).count();
    assert!(stable < uncertain.count, "{uncertain:?}");
}

#[test]
fn a_group_apart_is_stable_beside_a_chain_that_is_not() {
    let near = [1.0, 1.01, 1.02, 1.03, 1.04].map(|value| known_to(10.0, value));
    let found = group_costs(&near.into_iter().chain(chain(25.0)).collect::<Vec<_>>(), 7);
    assert_eq!(found.assignments[..6], [0, 0, 0, 0, 0, 1], "{found:?}");
    assert!(found.is_stable(0), "{found:?}");
    assert!(!(1..found.count).all(|group| found.is_stable(group)), "{found:?}");
    assert!(!found.is_stable(found.count), "there is no such group");
}

#[test]
fn a_distinct_group_is_stable_within_a_decade_and_not_alone() {
    // Costs of one group that span a decade and a tenth, or a decade less a tenth.
    for (ratio, expected) in [(1.25, false), (1.20, true)] {
        let near = (0..12).map(|at| 1_000.0 * f64::powi(ratio, at));
        let far = [1.0, 1.0, 1.0, 1.0];
        let all: Vec<f64> = far.into_iter().chain(near).collect();
        let found = group_costs(&measured(&all), 7);
        assert_eq!(found.count, 2, "{found:?}");
        assert!(found.is_stable(1) && found.is_distinct(0), "{found:?}");
        assert_eq!(found.is_distinct(1), expected, "{found:?}");
    }
    let alone = group_costs(&measured(&[5.0; 9]), 7);
    assert!(alone.is_stable(0) && !alone.is_distinct(0), "{alone:?}");
}

#[test]
fn a_similarity_is_the_shared_part_of_both_groups() {
    // The first group lost one cost and got another; of the second, each is elsewhere.
    let shared = shared_costs(&[0, 0, 0, 1, 1], &[0, 0, 1, 0, 2], 2);
    assert_eq!(shared, [[2, 1, 0], [1, 0, 1]]);
    assert_eq!(greatest_similarities(&shared), [2.0 / 4.0, 1.0 / 2.0]);
    assert_eq!(match_groups(&shared), [Some(0), None, Some(1)]);
}

#[test]
fn repetitions_are_resampled_and_what_varies_between_runs_is_drawn_beside_them() {
    let own = Interval { lo: 9.0, hi: 11.0 };
    let values: Vec<f64> = (0..15).map(|at| 9.3 + 0.1 * f64::from(at)).collect();
    let one =
        |wide: Interval| MeasuredCost::new(10.0, wide).unwrap().with_repetitions(&values, own);
    let deviation = |cost: &MeasuredCost| {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
        let draws: Vec<f64> =
            (0..4_000).map(|_| (cost.resampled(&mut random).value / 10.0).ln()).collect();
        (draws.iter().map(|it| it * it).sum::<f64>() / draws.len() as f64).sqrt()
    };
    let of_run = one(own);
    assert_eq!(of_run.log_deviations, [0.0; 2]);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(3);
    let is_value = |it: f64| values.iter().any(|value| (value - it).abs() < 1e-9);
    assert!((0..100).all(|_| is_value(of_run.resampled(&mut random).value)));
    let between = deviation(&one(Interval { lo: 5.0, hi: 20.0 }));
    let all = 2f64.ln() / 1.96;
    assert!((between / all - 1.0).abs() < 0.05, "{between}, not {all}");
    assert!(deviation(&of_run) < 0.1 * between, "{}", deviation(&of_run));
    // What cannot be resampled varies as its interval says.
    let plain = MeasuredCost::new(10.0, own).unwrap();
    for unusable in [&[][..], &[0.0, 10.0, 20.0], &[-1.0; 9]] {
        assert_eq!(plain.clone().with_repetitions(unusable, own), plain);
    }
}

#[test]
fn many_values_are_resampled_less_often() {
    assert_eq!([0, 1, 100, 4_000].map(resamples), [500; 4]);
    assert_eq!([8_000, 40_000, 100_000, 1_000_000].map(resamples), [250, 50, 20, 20]);
}

#[test]
fn the_same_seed_gives_the_same_result() {
    let costs = measured(&TWENTY);
    assert_eq!(group_costs(&costs, 3), group_costs(&costs, 3));
}

#[test]
fn few_costs_can_be_grouped() {
    let none = group_costs(&[], 1);
    assert_eq!((none.count, none.assignments, none.borderline), (0, vec![], vec![]));
    assert_eq!(group_costs(&measured(&[5.0]), 1).assignments, [0]);
    assert_eq!(group_costs(&measured(&[5.0, 500.0]), 1).assignments.len(), 2);
    assert_eq!(group_costs(&measured(&[5.0; 9]), 1).count, 1);
}

#[test]
fn a_cost_whose_interval_includes_zero_is_rejected() {
    assert_eq!(MeasuredCost::new(0.1, Interval { lo: -0.1, hi: 0.3 }), None);
    assert_eq!(MeasuredCost::new(0.0, Interval { lo: 0.0, hi: 0.3 }), None);
    assert!(MeasuredCost::new(0.2, Interval { lo: 0.1, hi: 0.3 }).is_some());
}

#[test]
fn ninety_five_percent_of_resamples_are_within_the_interval() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let interval = Interval { lo: 9.9, hi: 14.0 };
    let lopsided = MeasuredCost::new(10.0, interval).unwrap();
    let inside =
        (0..20_000).filter(|_| interval.contains(lopsided.resampled(&mut random).value)).count();
    assert!((18_900..19_100).contains(&inside), "{inside}");
}
