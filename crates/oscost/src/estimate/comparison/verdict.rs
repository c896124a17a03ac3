//! The rules of a comparison: from values to an effect, its evidence, and the verdict.
//!
//! All in logarithms, so that doubling and halving are effects of the same size.

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::record::Ratio;
use oscost_model::unit::Better;

use oscost_stats::between_runs::RunDifference;
use oscost_stats::comparison::{
    benjamini_hochberg, block_medians, detectable_difference, detectable_difference_at,
    lag_one_autocorrelation, median_difference, sample_size, sign_test, sign_test_detectable,
};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::{order, robust};

/// The minimum number of pairs for an interval.
pub const MIN_PAIRS: usize = 6;

/// Figures within this factor of each other are equivalent.
const EQUIVALENCE_FACTOR: f64 = 1.03;

/// Pairs within less than a minute do not show how the effect itself drifts.
const MIN_SPAN_S: f64 = 60.0;

/// The accepted share of false discoveries, on average.
pub(super) const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// The standard deviation of a row from run to run if its repetitions show none: the largest Allan
/// deviation of getppid on a shared host. It is the same from half a second to half a minute, so
/// neither an average nor a longer run lowers it (docs/explanation/METHOD.md, section 10).
const RUN_TO_RUN_SD: f64 = 0.025;

/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;

/// The distance beyond the end of an interval, in standard deviations, of an effect that is
/// detected in four of five comparisons.
const Z_80: f64 = 0.842;

/// The effect whose interval lies beyond a point in four of five comparisons, as its distance from
/// that point; the interval reaches so far towards it.
pub(super) fn detectable_beyond(half_width: f64) -> f64 {
    half_width * (1.0 + Z_80 / Z_95)
}

/// The effect found in a pair of rows, before correction for the number of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectEstimate {
    /// The logarithm of new over base.
    pub effect: f64,
    /// Its interval of 95 %; `None` if there are too few values.
    pub interval: Option<Interval>,
    /// The probability of an effect of this size or larger if nothing differs.
    pub p: f64,
    /// The smallest detectable effect of this pair of rows alone, without the margin, as a
    /// logarithm; see [`Judgement::detectable`].
    pub min_detectable: Option<f64>,
    /// How the effect varies between the values that it is the median of.
    pub spread: Option<Spread>,
    /// The same with its uncertainty, of runs that did not alternate.
    pub between_runs: Option<RunDifference>,
    /// How often it may be looked at; 0 is the same as once.
    pub looks: u32,
    /// The number of blocks that pairs were merged into, if they were.
    pub blocks: Option<usize>,
    /// Whether it is within 3 % of no effect with certainty.
    pub equivalent: bool,
    /// How many pairs would detect an effect of the margin.
    pub pairs_needed: Option<f64>,
    /// Conditions that a reader has to know.
    pub flags: Vec<&'static str>,
}

/// The spread of an effect over pairs, or blocks of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Its standard deviation.
    pub sd: f64,
    /// The number of values.
    pub count: usize,
}

impl EffectEstimate {
    /// The values of pairs, merged as those of the effect.
    pub(super) fn merged(&self, values: &[f64]) -> Vec<f64> {
        self.blocks.map_or_else(|| values.to_vec(), |count| block_medians(values, count))
    }

    /// The effect as a ratio of new to base.
    pub(super) fn ratio(&self) -> Ratio {
        Ratio { value: self.effect.exp(), ci95: self.interval.map(|it| [it.lo.exp(), it.hi.exp()]) }
    }
}

/// The effect in pairs of values, base and new, in the order of their times, all above 0. `span_s`
/// is the time from the first pair to the last; `margin` is a logarithm.
pub fn paired_effect(pairs: &[[f64; 2]], span_s: f64, margin: f64) -> EffectEstimate {
    effect_by(PairRule { margin, ..PairRule::default() }, pairs, span_s)
}

/// How the effect in pairs is found.
#[derive(Clone, Copy, Debug)]
pub struct PairRule {
    /// The smallest difference worth reporting, as a logarithm.
    pub margin: f64,
    /// How often it may be looked at, if the measurement ends at the first look that gives a verdict:
    /// each look has its part of the probability of error (Bonferroni).
    pub looks: u32,
    /// More pairs than four times this are merged into so many blocks of neighbours: neighbours that
    /// share a worker are alike, however little of that each pair shows.
    pub max_blocks: usize,
}

impl Default for PairRule {
    fn default() -> Self {
        Self { margin: 0.0, looks: 1, max_blocks: usize::MAX / 4 }
    }
}

impl PairRule {
    /// The level of an interval at one look.
    pub fn nominal(self) -> Nominal {
        Nominal::FIXED.corrected(1, self.looks as usize)
    }
}

fn effect_by(rule: PairRule, pairs: &[[f64; 2]], span_s: f64) -> EffectEstimate {
    let PairRule { margin, looks, max_blocks } = rule;
    let nominal = rule.nominal();
    let ratios: Vec<f64> = pairs.iter().map(|[base, new]| (new / base).ln()).collect();
    let effect = order::median(&order::sorted(&ratios)).unwrap_or(0.0);
    let mut judged = EffectEstimate { effect, p: 1.0, looks, ..EffectEstimate::default() };
    if ratios.len() < MIN_PAIRS {
        judged.flags.push("FEW_PAIRS");
        return judged;
    }
    let correlated = lag_one_autocorrelation(&ratios).is_some_and(|lag| lag > 0.2);
    if ratios.len() > 4 * max_blocks {
        judged.blocks = Some(max_blocks);
    } else if correlated && ratios.len() >= 16 {
        judged.flags.push("BLOCKS");
        judged.blocks = Some(ratios.len() / 2);
    }
    let values = judged.merged(&ratios);
    let sorted = order::sorted(&values);
    judged.interval = median_hs(&sorted, nominal);
    judged.p = (f64::from(looks.max(1)) * sign_test(&values)).min(1.0);
    if is_injected(InjectedFault::PairingIgnored) {
        let logs = |side: usize| {
            order::sorted(&pairs.iter().map(|pair| pair[side].ln()).collect::<Vec<_>>())
        };
        let found = median_difference(&logs(0), &logs(1), [Nominal::FIXED; 2]);
        judged.interval = found.map(|it| it.interval);
    }
    // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
    let small_sample_factor = values.len() as f64 / (values.len() as f64 - 0.8);
    let spread = robust::mad_sd(&sorted).map(|spread| small_sample_factor * spread);
    judged.spread = spread.map(|sd| Spread { sd, count: values.len() });
    judged.min_detectable = spread.map(|spread| {
        let all = match looks {
            0 | 1 => detectable_difference(spread, values.len()),
            _ => detectable_difference_at(spread, values.len(), nominal),
        };
        let half = Z_95 / (Z_95 + Z_80);
        if is_injected(InjectedFault::HalfThePower) { all * half } else { all }
    });
    // A block of two represents both of its pairs.
    let per_value = ratios.len() as f64 / values.len() as f64;
    judged.pairs_needed = spread.map(|spread| per_value * sample_size(spread, margin));
    let bound = EQUIVALENCE_FACTOR.ln();
    let inside = |it: Interval| -bound < it.lo && it.hi < bound;
    judged.equivalent = median_hs(&sorted, Nominal::EQUIVALENCE).is_some_and(inside);
    if span_s < MIN_SPAN_S {
        judged.flags.push("SHORT_SPAN");
        judged.equivalent = false;
    }
    if drifts(&ratios, margin) {
        judged.flags.push("EFFECT_DRIFTS");
    }
    judged
}

/// The same for values that were measured side by side in one run: the interval also contains the
/// effect in the next run.
pub fn interleaved_effect(pairs: &[[f64; 2]], span_s: f64, rule: PairRule) -> EffectEstimate {
    let mut judged = effect_by(rule, pairs, span_s);
    // The share of the added cost in the more expensive side: only that part of the ratio varies.
    let added = -(-judged.effect.abs()).exp_m1();
    judged.interval = judged.interval.map(|it| widen_for_next_run(judged.effect, it, added));
    judged
}

/// The interval of a value within a run, widened by what the added cost varies from run to run: it
/// is a cost like any other, higher in one minute than in another. If nothing is added, nothing
/// varies.
pub fn widen_for_next_run(value: f64, within: Interval, added: f64) -> Interval {
    let half_width = Z_95 * RUN_TO_RUN_SD * added.abs();
    Interval {
        lo: value - (value - within.lo).hypot(half_width),
        hi: value + (within.hi - value).hypot(half_width),
    }
}

/// The interval of an added time, widened by what the core's rate varies from run to run: the same
/// cycles take another time. `rate_sd` is the standard deviation of its logarithm.
pub fn widen_for_core_rate(value: f64, within: Interval, rate_sd: f64) -> Interval {
    let end = |sign: f64| (value * (sign * Z_95 * rate_sd).exp_m1()).abs();
    // A slower core makes the distance from zero larger, by more than a faster one makes it smaller.
    let (inward, outward) = (end(-1.0), end(1.0));
    let (below, above) = if value < 0.0 { (outward, inward) } else { (inward, outward) };
    Interval {
        lo: value - (value - within.lo).hypot(below),
        hi: value + (within.hi - value).hypot(above),
    }
}

/// Whether the effect in the second half differs with certainty from that in the first.
fn drifts(ratios: &[f64], margin: f64) -> bool {
    let (first, second) = ratios.split_at(ratios.len() / 2);
    let (first, second) = (order::sorted(first), order::sorted(second));
    let found = median_difference(&first, &second, [Nominal::FIXED; 2]);
    found.is_some_and(|it| it.interval.lo > margin || it.interval.hi < -margin)
}

/// The effect between runs that did not alternate. Its smallest detectable effect depends on the
/// whole comparison, see [`Judgement::detectable`]. Its interval is too wide for the verdict
/// `equivalent`.
pub fn separate_effect(difference: RunDifference) -> EffectEstimate {
    EffectEstimate {
        effect: difference.value,
        interval: Some(difference.interval),
        p: difference.p,
        between_runs: Some(difference),
        ..EffectEstimate::default()
    }
}

/// The smallest effect that is found in 80 of 100 comparisons of this many rows by the whole rule, as
/// a logarithm: its interval lies beyond the margin, and its p is small enough for the only discovery
/// among all rows. `None` if no effect is large enough, or too little is known.
fn detectable_effect(found: &EffectEstimate, margin: f64, rows: usize) -> Option<f64> {
    if let Some(difference) = &found.between_runs {
        return Some(difference.detectable(Nominal::FIXED, margin, rows));
    }
    // Other rules have their own.
    let Some(Spread { sd, count }) = found.spread else { return found.min_detectable };
    let level = MAX_FALSE_DISCOVERY_RATE / (rows.max(1) * found.looks.max(1) as usize) as f64;
    let discovery = sign_test_detectable(sd, count, level)?;
    Some(discovery.max(margin + found.min_detectable?))
}

/// The verdict on a pair of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new figure is larger.
    Larger,
    /// The new figure is smaller.
    Smaller,
    /// The figures differ by less than 3 %.
    Equivalent,
    /// Neither can be shown.
    Inconclusive,
}

impl Verdict {
    /// The verdict's name in the record.
    pub(super) fn text(self, better: Better) -> &'static str {
        match (self, better) {
            (Verdict::Equivalent, _) => "equivalent",
            (Verdict::Inconclusive, _) => "inconclusive",
            (Verdict::Larger, Better::Lower) | (Verdict::Smaller, Better::Higher) => "slower",
            (Verdict::Smaller, Better::Lower) | (Verdict::Larger, Better::Higher) => "faster",
        }
    }
}

/// The verdict on a pair of rows among others.
#[derive(Clone, Copy, Debug)]
pub struct Judgement {
    /// The smallest false discovery rate at which the pair is a discovery.
    pub q: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The interval of the effect that the verdict rests on.
    pub interval: Option<Interval>,
    /// The smallest effect, as a logarithm, that such comparisons find in 80 of 100; `None` if they
    /// find none, or if too little is known.
    pub detectable: Option<f64>,
}

impl Judgement {
    /// The smallest detectable effect in per cent.
    pub(super) fn detectable_pct(&self) -> Option<f64> {
        self.detectable.map(|it| 100.0 * it.exp_m1())
    }
}

/// The verdicts on all pairs of one comparison; `margins` are logarithms.
///
/// The whole interval of a difference must be beyond the margin, and it must be a discovery among
/// all pairs of the comparison. The intervals of runs that did not alternate are corrected for the
/// number of pairs, so that the one follows from the other.
pub fn verdicts(judged: &[EffectEstimate], margins: &[f64]) -> Vec<Judgement> {
    let claimable = |it: &EffectEstimate| !it.flags.contains(&"UNRELIABLE");
    let p: Vec<f64> = judged.iter().filter(|it| claimable(it)).map(|it| it.p).collect();
    let hypotheses = p.len();
    let q = match is_injected(InjectedFault::NoMultiplicityCorrection) {
        true => p,
        false => benjamini_hochberg(&p),
    };
    let discoveries = q.iter().filter(|&&q| q <= MAX_FALSE_DISCOVERY_RATE).count();
    let corrected = Nominal::FIXED.corrected(discoveries, hypotheses);
    let mut q = q.into_iter();
    let verdict = |(it, &margin): (&EffectEstimate, &f64)| {
        let interval = match &it.between_runs {
            Some(difference) => Some(difference.interval_at(corrected)),
            None => it.interval,
        };
        // A row that nothing may be concluded from is no hypothesis.
        let Some(q) = claimable(it).then(|| q.next()).flatten() else {
            let verdict = Verdict::Inconclusive;
            return Judgement { q: 1.0, verdict, interval, detectable: None };
        };
        let found = q <= MAX_FALSE_DISCOVERY_RATE;
        let verdict = match interval {
            Some(interval) if found && interval.lo > margin => Verdict::Larger,
            Some(interval) if found && interval.hi < -margin => Verdict::Smaller,
            Some(_) if it.equivalent || is_injected(InjectedFault::AbsenceIsEquivalence) => {
                Verdict::Equivalent
            }
            _ => Verdict::Inconclusive,
        };
        Judgement { q, verdict, interval, detectable: detectable_effect(it, margin, hypotheses) }
    };
    judged.iter().zip(margins).map(verdict).collect()
}

/// The minimum number of pairs for one discovery among this many rows: with J pairs, the p of a
/// sign test is at least 2^(1-J).
pub fn min_pairs_for_discovery(rows: usize) -> u32 {
    (1.0 + (rows as f64 / MAX_FALSE_DISCOVERY_RATE).log2()).ceil() as u32
}

/// The side of a comparison that a run belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The reference.
    Base,
    /// What is compared with it.
    New,
}

/// The pairs among runs in the order in which they began: neighbours of different sides, as indices
/// of base and new. A run without such a neighbour is not used, so runs that did not alternate form
/// few pairs: otherwise one day being slower than another would be taken for an effect.
pub fn neighbours(sides: &[Side]) -> Vec<[usize; 2]> {
    if is_injected(InjectedFault::AThenB) {
        let of = |side| (0..sides.len()).filter(move |&at| sides[at] == side);
        return of(Side::Base).zip(of(Side::New)).map(|(base, new)| [base, new]).collect();
    }
    let (mut pairs, mut at) = (Vec::new(), 0);
    while at + 1 < sides.len() {
        match (sides[at], sides[at + 1]) {
            (Side::Base, Side::New) => pairs.push([at, at + 1]),
            (Side::New, Side::Base) => pairs.push([at + 1, at]),
            _ => {
                at += 1;
                continue;
            }
        }
        at += 2;
    }
    pairs
}

#[cfg(test)]
mod tests {
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
            let rule = PairRule { margin: MARGIN, looks: 2, max_blocks };
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
        assert_eq!(
            (verdict(&short), &short.flags[..]),
            (Verdict::Inconclusive, &["SHORT_SPAN"][..])
        );
    }

    #[test]
    fn an_effect_that_changes_over_time_is_flagged() {
        let early = [1.10, 1.11, 1.12, 1.10, 1.11, 1.12, 1.11];
        let late = [1.20, 1.21, 1.22, 1.20, 1.21, 1.22, 1.21];
        let judged = paired_effect(&pairs(&[early, late].concat()), 600.0, MARGIN);
        assert_eq!(
            (verdict(&judged), &judged.flags[..]),
            (Verdict::Larger, &["EFFECT_DRIFTS"][..])
        );
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
}
