//! The rules of a comparison: from values to an effect, its evidence, and the verdict.
//!
//! All in logarithms, so that doubling and halving are effects of the same size.

use oscost_model::fault_injection::{InjectedFault, is_injected};
use oscost_model::record::Ratio;
use oscost_model::unit::Better;

use oscost_stats::between_runs::RunDifference;
use oscost_stats::comparison::{
    benjamini_hochberg, block_medians, lag_one_autocorrelation, median_difference,
};
use oscost_stats::interval::{Interval, Nominal};
use oscost_stats::paired_power::PairCriterion;
use oscost_stats::{order, robust};

pub use super::pair_test::PairTest;
use super::work_power::{WorkPower, Z_80, Z_95};

/// The minimum number of pairs for an interval.
pub const MIN_PAIRS: usize = 6;

/// Figures within this factor of each other are equivalent.
pub(super) const EQUIVALENCE_FACTOR: f64 = 1.03;

/// Pairs within less than a minute do not show how the effect itself drifts.
const MIN_SPAN_S: f64 = 60.0;

/// The accepted share of false discoveries, on average.
pub(super) const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// The standard deviation of a row from run to run if its repetitions show none: the largest Allan
/// deviation of getppid on a shared host. It is the same from half a second to half a minute, so
/// neither an average nor a longer run lowers it (docs/explanation/METHOD.md, section 10).
const RUN_TO_RUN_SD: f64 = 0.025;

/// The effect found in a pair of rows, before correction for the number of pairs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectEstimate {
    /// The logarithm of new over base.
    pub effect: f64,
    /// Its interval of 95 %; `None` if there are too few values.
    pub interval: Option<Interval>,
    /// The probability of an effect of this size or larger if nothing differs.
    pub p: f64,
    /// How well it is known, of work; see [`Judgement::detectable`].
    pub work_power: Option<WorkPower>,
    /// How the effect varies between the values that it is the centre of.
    pub spread: Option<Spread>,
    /// How these values are tested.
    pub test: PairTest,
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
    /// How pairs, or blocks of them, are tested.
    pub test: PairTest,
}

impl Default for PairRule {
    fn default() -> Self {
        Self { margin: 0.0, looks: 1, max_blocks: usize::MAX / 4, test: PairTest::Signs }
    }
}

impl PairRule {
    /// The level of an interval at one look.
    pub fn nominal(self) -> Nominal {
        Nominal::FIXED.corrected(1, self.looks as usize)
    }
}

fn effect_by(rule: PairRule, pairs: &[[f64; 2]], span_s: f64) -> EffectEstimate {
    let PairRule { margin, looks, max_blocks, test } = rule;
    let nominal = rule.nominal();
    let ratios: Vec<f64> = pairs.iter().map(|[base, new]| (new / base).ln()).collect();
    let effect = order::median(&order::sorted(&ratios)).unwrap_or(0.0);
    let mut judged = EffectEstimate { effect, p: 1.0, looks, test, ..EffectEstimate::default() };
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
    judged.effect = test.centre(&values, &ratios).unwrap_or(effect);
    judged.interval = test.interval(&values, nominal);
    judged.p = (f64::from(looks.max(1)) * test.p(&values)).min(1.0);
    if is_injected(InjectedFault::PairingIgnored) {
        let logs = |side: usize| {
            order::sorted(&pairs.iter().map(|pair| pair[side].ln()).collect::<Vec<_>>())
        };
        let found = median_difference(&logs(0), &logs(1), [Nominal::FIXED; 2]);
        judged.interval = found.map(|it| it.interval);
    }
    // The robust deviation of few values is too small (Croux and Rousseeuw 1992).
    let small_sample_factor = values.len() as f64 / (values.len() as f64 - 0.8);
    let spread = robust::mad_sd(&order::sorted(&values)).map(|it| small_sample_factor * it);
    judged.spread = spread.map(|sd| Spread { sd, count: values.len() });
    // A block of two represents both of its pairs.
    let per_value = ratios.len() as f64 / values.len() as f64;
    judged.pairs_needed = spread.map(|spread| per_value * test.count_needed(spread, margin));
    let bound = EQUIVALENCE_FACTOR.ln();
    let inside = |it: Interval| -bound < it.lo && it.hi < bound;
    judged.equivalent = test.interval(&values, Nominal::EQUIVALENCE).is_some_and(inside);
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
    let Some(Spread { sd, count }) = found.spread else {
        return found.work_power.map(|it| it.detectable(margin, rows));
    };
    let looks = found.looks.max(1) as usize;
    let criterion = PairCriterion {
        level: MAX_FALSE_DISCOVERY_RATE / (rows.max(1) * looks) as f64,
        nominal: Nominal::FIXED.corrected(1, looks),
        margin,
    };
    let detectable = found.test.detectable(criterion, sd, count)?;
    let half = Z_95 / (Z_95 + Z_80);
    let share = if is_injected(InjectedFault::HalfThePower) { half } else { 1.0 };
    Some(margin + share * (detectable - margin))
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
mod tests;
