use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

/// The costs added to five cases in some rounds: `truth` on average, times a drift that all cases
/// of a round share, and a noise of each case.
fn run(seed: u64, truth: [f64; 5], rounds: u32, noise: f64) -> Vec<BTreeMap<u32, f64>> {
    let mut source = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut normal = move || {
        let uniform = |_| (source.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        (0..12).map(uniform).sum::<f64>() - 6.0
    };
    let mut cases = vec![BTreeMap::new(); 5];
    for round in 0..rounds {
        let drift = 1.0 + 0.05 * normal();
        for (case, truth) in cases.iter_mut().zip(truth) {
            case.insert(round, truth * (drift + noise * normal()));
        }
    }
    cases
}

const EQUAL: [f64; 5] = [116.0; 5];

#[test]
fn a_constant_holds_in_spite_of_drift() {
    let EqualAddedResult { verdict, added, each } = equal_added(&run(1, EQUAL, 12, 0.01));
    assert_eq!(verdict, Verdict::Holds);
    let AddedCost { mean, rounds } = added.unwrap();
    assert_eq!(rounds, 12);
    assert!((mean.value - 116.0).abs() < 12.0, "{mean:?}");
    assert!(mean.interval.unwrap().contains(mean.value));
    for estimate in each {
        let IntervalEstimate { value, interval } = estimate.unwrap();
        assert!(value.abs() < 0.03 && interval.unwrap().contains(value));
    }
}

#[test]
fn a_case_with_a_fifth_more_is_detected() {
    let mut truth = EQUAL;
    truth[3] *= 1.2;
    let EqualAddedResult { verdict, each, .. } = equal_added(&run(2, truth, 12, 0.01));
    assert_eq!(verdict, Verdict::DoesNotHold);
    // The mean of all five includes a fifth of one.
    let furthest = each[3].unwrap().value;
    assert!((furthest - (1.2 / 1.04 - 1.0)).abs() < 0.03, "{furthest}");
}

#[test]
fn strong_noise_and_values_on_the_bound_are_undecided() {
    let why = |cases: &[BTreeMap<u32, f64>]| match equal_added(cases).verdict {
        Verdict::Undecided(why) => why,
        other => panic!("{other:?}"),
    };
    assert!(why(&run(3, EQUAL, 12, 0.2)).contains("reach across the bounds"));
    let mut truth = EQUAL;
    truth[0] *= 1.05 / 0.9875;
    assert!(why(&run(3, truth, 12, 0.03)).contains("reach across the bounds"));
    assert!(why(&run(4, [0.0; 5], 12, 0.01)).contains("reaches zero"));
    assert!(why(&run(4, [-100.0; 5], 12, 0.01)).contains("reaches zero"));
}

#[test]
fn too_few_complete_rounds_are_undecided_with_their_number() {
    let mut cases = run(5, EQUAL, 9, 0.01);
    // Six are left, but not the same ones.
    for round in 0..4 {
        cases[round as usize].remove(&round);
    }
    let found = equal_added(&cases);
    let expected =
        Verdict::Undecided("5 rounds have all of its cases, and 6 are needed".to_owned());
    assert_eq!((found.verdict, found.each.len()), (expected, 5));
    assert_eq!(found.added.map(|it| it.rounds), Some(5));
    // Five intervals that hold together need more rounds than one.
    let found = equal_added(&run(6, EQUAL, 7, 0.01));
    let expected = Verdict::Undecided("7 rounds are too few to bound all intervals".to_owned());
    assert_eq!(found.verdict, expected);
    cases[4].clear();
    let found = equal_added(&cases);
    assert!(matches!(found.verdict, Verdict::Undecided(_)) && found.added.is_none());
    assert!(matches!(equal_added(&[]).verdict, Verdict::Undecided(_)));
}

#[test]
fn a_constant_is_rarely_refuted() {
    for noise in [0.01, 0.05, 0.3] {
        let refuted = (0..200).filter(|&seed| {
            equal_added(&run(1_000 + seed, EQUAL, 12, noise)).verdict == Verdict::DoesNotHold
        });
        let refuted = refuted.count();
        assert!(refuted <= 10, "{refuted} of 200, noise {noise}");
    }
}
