//! Verdicts on effects of known size and spread.

use oscost_stats::between_runs::{RunMedian, RunVariation, run_difference};

use super::*;

const MARGIN: f64 = 0.00995;

fn pairs(ratios: &[f64]) -> Vec<[f64; 2]> {
    ratios.iter().map(|ratio| [100.0, 100.0 * ratio]).collect()
}

fn verdict(judged: &EffectEstimate) -> Verdict {
    verdicts(std::slice::from_ref(judged), &[MARGIN])[0].verdict
}

#[test]
fn an_interval_is_widened_by_the_variation_of_the_added_cost_alone() {
    let both = |ratio: f64| {
        let pairs: Vec<[f64; 2]> = (0..20u32)
            .map(|it| [1.0, ratio * (1.0 + 0.0005 * (f64::from(it % 5) - 2.0))])
            .collect();
        let rule = PairRule { margin: 0.01, ..PairRule::default() };
        [paired_effect(&pairs, 62.0, 0.01), interleaved_effect(&pairs, 62.0, rule)]
            .map(|it| it.interval.unwrap())
    };
    let [within, next] = both(1.0);
    assert!((within.lo - next.lo).abs() < 1e-6 && (within.hi - next.hi).abs() < 1e-6);
    let [within, next] = both(1.3);
    assert!(within.hi - within.lo < 0.003, "{within:?}");
    // 1.96 times 2.5 % of 0.3 in 1.3 on each side is much more than the spread of the pairs.
    assert!((next.hi - next.lo - 0.0226).abs() < 0.001, "{next:?}");
    // However much is added, the ratio varies by no more than the added cost does.
    let [_, next] = both(50.0);
    assert!((next.hi - next.lo - 0.096).abs() < 0.003, "{next:?}");
}

#[test]
fn an_added_time_is_that_of_any_rate_of_the_core() {
    let within = Interval { lo: 99.0, hi: 101.0 };
    assert_eq!(widen_for_core_rate(100.0, within, 0.0), within);
    let wide = widen_for_core_rate(100.0, within, 0.2);
    // 100 / 1.48 and 100 times 1.48.
    assert!((wide.lo - 67.6).abs() < 0.2 && (wide.hi - 148.0).abs() < 0.2, "{wide:?}");
    let less = widen_for_core_rate(-100.0, Interval { lo: -101.0, hi: -99.0 }, 0.2);
    assert!((less.lo + wide.hi).abs() < 1e-9 && (less.hi + wide.lo).abs() < 1e-9, "{less:?}");
    let none = Interval { lo: -1.0, hi: 1.0 };
    assert_eq!(widen_for_core_rate(0.0, none, 0.2), none);
}

#[test]
fn runs_pair_with_neighbours_of_the_other_side_alone() {
    use Side::{Base as A, New as B};
    assert_eq!(neighbours(&[A, B, B, A]), [[0, 1], [3, 2]]);
    assert_eq!(neighbours(&[A, A, A, B, B, B]), [[2, 3]]);
    assert_eq!(neighbours(&[A, A, B, A, B]), [[1, 2], [3, 4]]);
    assert_eq!(neighbours(&[A]), Vec::<[usize; 2]>::new());
}

#[test]
fn many_pairs_are_merged_into_blocks_so_that_those_of_one_worker_count_once() {
    // Twenty workers of 100 pairs, each with an effect of its own, without any on average.
    let of_worker = |worker: u32| 0.01 * (f64::from(worker * 7 % 20) - 9.5) / 9.5;
    let noise = |pair: u32| 0.02 * (f64::from(pair * 37 % 101) / 50.0 - 1.0);
    let ratios: Vec<f64> =
        (0..2_000).map(|pair| (of_worker(pair / 100) + noise(pair)).exp()).collect();
    let width = |max_blocks: usize| {
        let rule = PairRule { margin: MARGIN, looks: 2, max_blocks, ..PairRule::default() };
        let found = interleaved_effect(&pairs(&ratios), 62.0, rule);
        let interval = found.interval.unwrap();
        assert!(interval.lo < 0.0 && interval.hi > 0.0, "{found:?}");
        interval.hi - interval.lo
    };
    assert!(width(20) > 4.0 * width(2_000), "{} {}", width(20), width(2_000));
}

#[test]
fn six_pairs_of_one_sign_give_a_verdict_and_five_do_not() {
    let six = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05, 1.06]), 600.0, MARGIN);
    assert_eq!(verdict(&six), Verdict::Larger);
    let five = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05]), 600.0, MARGIN);
    assert_eq!((verdict(&five), five.interval), (Verdict::Inconclusive, None));
    assert_eq!(five.flags, ["FEW_PAIRS"]);
}

#[test]
fn close_pairs_are_equivalent_unless_they_span_less_than_a_minute() {
    let close = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999, 1.0];
    assert_eq!(verdict(&paired_effect(&pairs(&close), 61.0, MARGIN)), Verdict::Equivalent);
    let short = paired_effect(&pairs(&close), 59.0, MARGIN);
    assert_eq!((verdict(&short), &short.flags[..]), (Verdict::Inconclusive, &["SHORT_SPAN"][..]));
}

#[test]
fn an_effect_that_changes_over_time_is_flagged() {
    let early = [1.10, 1.11, 1.12, 1.10, 1.11, 1.12, 1.11];
    let late = [1.20, 1.21, 1.22, 1.20, 1.21, 1.22, 1.21];
    let judged = paired_effect(&pairs(&[early, late].concat()), 600.0, MARGIN);
    assert_eq!((verdict(&judged), &judged.flags[..]), (Verdict::Larger, &["EFFECT_DRIFTS"][..]));
}

#[test]
fn correlated_neighbouring_pairs_are_merged() {
    let slow: Vec<f64> = (0..32).map(|i| 1.0 + 0.01 * (f64::from(i) / 5.0).sin()).collect();
    let judged = paired_effect(&pairs(&slow), 600.0, MARGIN);
    assert!(judged.flags.contains(&"BLOCKS"), "{judged:?}");
}

#[test]
fn runs_differ_only_by_more_than_the_variation_between_runs() {
    let judge = |ratio: f64, deviation: f64| {
        let run = |value: f64| RunMedian { value, standard_error: 0.003, count: 15 };
        let variation = RunVariation { deviation, degrees_of_freedom: 4.0 };
        let (base, new) = ([run(0.0)], [run(ratio.ln())]);
        let found = run_difference(&base, &new, 1, variation, 0.0).unwrap();
        separate_effect(found)
    };
    assert_eq!(verdict(&judge(1.05, 0.03)), Verdict::Inconclusive);
    assert_eq!(verdict(&judge(1.20, 0.03)), Verdict::Larger);
    assert_eq!(verdict(&judge(0.80, 0.03)), Verdict::Smaller);
    assert_eq!(verdict(&judge(1.20, 0.10)), Verdict::Inconclusive);
    assert_eq!(verdict(&judge(1.0, 0.03)), Verdict::Inconclusive, "never equivalent");
    let [up, down] = [judge(1.2, 0.01), judge(1.0 / 1.2, 0.01)];
    assert!((up.effect + down.effect).abs() < 1e-9 && (up.p / down.p - 1.0).abs() < 1e-6);
    let at = |rows| {
        let all = vec![judge(1.0, 0.03); rows];
        verdicts(&all, &vec![MARGIN; rows])[0].detectable.unwrap()
    };
    assert!(at(1) < at(80), "one of many rows needs a larger effect");
}

#[test]
fn more_rows_need_more_pairs() {
    assert_eq!([1, 2, 10, 100].map(min_pairs_for_discovery), [6, 7, 9, 12]);
}

#[test]
fn one_discovery_among_many_needs_more_than_six_pairs() {
    let found = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05, 1.06]), 600.0, MARGIN);
    let nothing = paired_effect(&pairs(&[1.0, 0.99, 1.01, 0.98, 1.02, 1.0]), 600.0, MARGIN);
    let mut all = vec![nothing; 20];
    all[7] = found;
    let larger = |all: &[EffectEstimate]| {
        let judged = verdicts(all, &[MARGIN; 20]);
        judged.iter().filter(|it| it.verdict == Verdict::Larger).count()
    };
    assert_eq!(larger(&all), 0);
    assert_eq!(larger(&all[7..8]), 1);
}
