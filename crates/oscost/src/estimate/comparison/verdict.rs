//! The rules of a comparison: from values to an effect, how surely it is one, and the verdict.
//!
//! All in logarithms, so that twice and half are as far from nothing as each other.

use oscost_model::fault_injection::{InjectedFault, is_injected};

use oscost_stats::comparison::{
    benjamini_hochberg, block_medians, detectable_difference, lag_one_autocorrelation,
    median_difference, sample_size, sign_test,
};
use oscost_stats::interval::{Interval, Nominal, median_hs};
use oscost_stats::{order, robust};

/// The fewest pairs of which anything is said: below, there is no interval.
pub const MIN_PAIRS: usize = 6;

/// Within this factor two figures stand for each other.
const EQUIVALENCE_FACTOR: f64 = 1.03;

/// Pairs that lie within less than a minute do not know how the effect itself drifts.
const MIN_SPAN_S: f64 = 60.0;

/// At most this share of the discoveries may be false, on average.
const MAX_FALSE_DISCOVERY_RATE: f64 = 0.05;

/// How much wider than within a run an interval must be to hold the figure of the next run: of ten
/// bills in a row 56 % of the intervals of 95 % held their case's grand median on the worst day,
/// which are those of a spread 2.5 times theirs (docs/explanation/METHOD.md, section 10).
const NEXT_RUN_FACTOR: f64 = 2.5;

/// The spread of a row from run to run where its repetitions show none: the largest Allan deviation
/// of getppid on a shared host, alike from half a second to half a minute, so that no average and
/// no longer run lowers it (docs/explanation/METHOD.md, section 10).
const RUN_TO_RUN_SD: f64 = 0.025;

/// Half the width of a normal interval of 95 %, in standard deviations.
const Z_95: f64 = 1.960;

/// How far beyond the end of an interval an effect must lie to show in four of five comparisons.
const Z_80: f64 = 0.842;

/// What is known of a pair of rows, before its neighbours are looked at.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EffectEstimate {
    /// The logarithm of new over base.
    pub effect: f64,
    /// Its interval of 95 %; `None` where there is too little for one.
    pub interval: Option<Interval>,
    /// How likely so much or more is where nothing differs.
    pub p: f64,
    /// The smallest effect that could have been seen, as a logarithm.
    pub min_detectable: Option<f64>,
    /// Whether it lies surely within 3 % of nothing.
    pub equivalent: bool,
    /// How many pairs would show the margin.
    pub pairs_needed: Option<f64>,
    /// What must not be overlooked.
    pub flags: Vec<&'static str>,
}

/// Judges values that were measured in pairs: base and new, in the order of their times, all above
/// 0. `span_s` is the time from the first pair to the last; `margin` a logarithm.
pub fn paired_effect(pairs: &[[f64; 2]], span_s: f64, margin: f64) -> EffectEstimate {
    let ratios: Vec<f64> = pairs.iter().map(|[base, new]| (new / base).ln()).collect();
    let effect = order::median(&order::sorted(&ratios)).unwrap_or(0.0);
    let mut judged = EffectEstimate { effect, p: 1.0, ..EffectEstimate::default() };
    if ratios.len() < MIN_PAIRS {
        judged.flags.push("FEW_PAIRS");
        return judged;
    }
    let together = lag_one_autocorrelation(&ratios).is_some_and(|lag| lag > 0.2);
    let values = match together && ratios.len() >= 16 {
        true => {
            judged.flags.push("BLOCKS");
            block_medians(&ratios, ratios.len() / 2)
        }
        false => ratios.clone(),
    };
    let sorted = order::sorted(&values);
    judged.interval = median_hs(&sorted, Nominal::FIXED);
    judged.p = sign_test(&values);
    if is_injected(InjectedFault::PairingIgnored) {
        let side = |side: usize| {
            order::sorted(&pairs.iter().map(|pair| pair[side].ln()).collect::<Vec<_>>())
        };
        let found = median_difference(&side(0), &side(1), [Nominal::FIXED; 2]);
        judged.interval = found.map(|(_, interval)| interval);
    }
    // Of few values the robust deviation is too small (Croux and Rousseeuw 1992).
    let of_few = values.len() as f64 / (values.len() as f64 - 0.8);
    let spread = robust::mad_sd(&sorted).map(|spread| of_few * spread);
    judged.min_detectable = spread.map(|spread| {
        let all = detectable_difference(spread, values.len());
        let half = Z_95 / (Z_95 + Z_80);
        if is_injected(InjectedFault::HalfThePower) { all * half } else { all }
    });
    // A block of two stands for both of its pairs.
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

/// The same of values that were measured side by side in one run: the interval is one that the next
/// run's effect lies in, too.
pub fn interleaved_effect(pairs: &[[f64; 2]], span_s: f64, margin: f64) -> EffectEstimate {
    let mut judged = paired_effect(pairs, span_s, margin);
    // The share that what is added has in the dearer side: all that can wander of their ratio.
    let added = -(-judged.effect.abs()).exp_m1();
    judged.interval = judged.interval.map(|it| widen_for_next_run(judged.effect, it, added));
    judged
}

/// The interval of a value within a run, as much wider as what a change adds wanders from run to
/// run: that is a cost like any other, and dearer in one minute than in another one. Where nothing
/// is added, nothing wanders.
pub fn widen_for_next_run(value: f64, within: Interval, added: f64) -> Interval {
    let wanders = Z_95 * RUN_TO_RUN_SD * added.abs();
    Interval {
        lo: value - (value - within.lo).hypot(wanders),
        hi: value + (within.hi - value).hypot(wanders),
    }
}

/// Whether the effect of the second half is surely another than that of the first.
fn drifts(ratios: &[f64], margin: f64) -> bool {
    let (first, second) = ratios.split_at(ratios.len() / 2);
    let (first, second) = (order::sorted(first), order::sorted(second));
    let found = median_difference(&first, &second, [Nominal::FIXED; 2]);
    found.is_some_and(|(_, interval)| interval.lo > margin || interval.hi < -margin)
}

/// Judges the repetitions of two runs that were measured one after the other: their logarithms,
/// the levels of the runs' intervals, and how far the reference cases moved, as a logarithm. `None` where
/// a side has fewer than six.
///
/// The interval is of what another two runs would show: that of the two medians, as much wider as
/// runs are seen to differ, and moved apart by what the reference cases moved. Its tails are taken for
/// exponential, with the 5 % at its ends: what wanders as flicker noise does strays further than a
/// normal law says. It is too wide for `equivalent` ever to be said.
pub fn unpaired_effect(
    base: &[f64],
    new: &[f64],
    nominal: [Nominal; 2],
    moved: f64,
) -> Option<EffectEstimate> {
    let (base, new) = (order::sorted(base), order::sorted(new));
    let (effect, within) = median_difference(&base, &new, nominal)?;
    let host = |inside: f64| match is_injected(InjectedFault::RunsAsInterleaved) {
        true => (inside, 0.0),
        false => ((NEXT_RUN_FACTOR * inside).hypot(Z_95 * 2f64.sqrt() * RUN_TO_RUN_SD), moved),
    };
    let (below, moved_below) = host(effect - within.lo);
    let (above, moved_above) = host(within.hi - effect);
    // The side on which nothing lies.
    let facing = if effect > 0.0 { below } else { above };
    let beyond = (effect.abs() - moved_below).max(0.0);
    let p = match facing > 0.0 {
        true => (0.05f64).powf(beyond / facing),
        false => f64::from(u8::from(beyond == 0.0)),
    };
    Some(EffectEstimate {
        effect,
        interval: Some(Interval {
            lo: effect - below - moved_below,
            hi: effect + above + moved_above,
        }),
        p,
        min_detectable: Some(moved_above + below.max(above) * (1.0 + Z_80 / Z_95)),
        ..EffectEstimate::default()
    })
}

/// What is said of a pair of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The new figure is larger.
    Larger,
    /// The new figure is smaller.
    Smaller,
    /// They stand for each other.
    Equivalent,
    /// Nobody can tell.
    Inconclusive,
}

/// The verdict on each of the pairs of one comparison, with its q: `margins` are logarithms.
///
/// A difference must lie beyond the margin with its whole interval, and be a discovery among all
/// pairs of the comparison.
pub fn verdicts(judged: &[EffectEstimate], margins: &[f64]) -> Vec<(f64, Verdict)> {
    let p: Vec<f64> = judged.iter().map(|it| it.p).collect();
    let q = if is_injected(InjectedFault::NoMultiplicityCorrection) {
        p
    } else {
        benjamini_hochberg(&p)
    };
    let verdict = |(it, (&margin, &q)): (&EffectEstimate, (&f64, &f64))| {
        let found = q <= MAX_FALSE_DISCOVERY_RATE;
        let verdict = match it.interval {
            Some(interval) if found && interval.lo > margin => Verdict::Larger,
            Some(interval) if found && interval.hi < -margin => Verdict::Smaller,
            Some(_) if it.equivalent || is_injected(InjectedFault::AbsenceIsEquivalence) => {
                Verdict::Equivalent
            }
            _ => Verdict::Inconclusive,
        };
        (q, verdict)
    };
    judged.iter().zip(margins.iter().zip(&q)).map(verdict).collect()
}

/// How many pairs one discovery among so many rows takes: of J pairs no sign test has a p below
/// 2^(1-J).
pub fn min_pairs_for_discovery(rows: usize) -> u32 {
    (1.0 + (rows as f64 / MAX_FALSE_DISCOVERY_RATE).log2()).ceil() as u32
}

/// Which side a run stands on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// What is compared with.
    Base,
    /// What is compared.
    New,
}

/// The pairs among runs that are given in the order in which they began: neighbours of two sides,
/// as indices of base and new. A run that finds no neighbour is left over, so that runs which did
/// not take turns make few pairs: a day that is slower than the other would pass for an effect.
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
    use super::*;

    const MARGIN: f64 = 0.00995;

    fn pairs(ratios: &[f64]) -> Vec<[f64; 2]> {
        ratios.iter().map(|ratio| [100.0, 100.0 * ratio]).collect()
    }

    fn verdict(judged: &EffectEstimate) -> Verdict {
        verdicts(std::slice::from_ref(judged), &[MARGIN])[0].1
    }

    #[test]
    fn the_interval_of_an_effect_holds_what_it_wanders_by_and_that_of_nothing_only_itself() {
        let both = |ratio: f64| {
            let pairs: Vec<[f64; 2]> = (0..20u32)
                .map(|it| [1.0, ratio * (1.0 + 0.0005 * (f64::from(it % 5) - 2.0))])
                .collect();
            [paired_effect(&pairs, 62.0, 0.01), interleaved_effect(&pairs, 62.0, 0.01)]
                .map(|it| it.interval.unwrap())
        };
        let [within, next] = both(1.0);
        assert!((within.lo - next.lo).abs() < 1e-6 && (within.hi - next.hi).abs() < 1e-6);
        let [within, next] = both(1.3);
        assert!(within.hi - within.lo < 0.003, "{within:?}");
        // 1.96 times 2.5 % of 0.3 in 1.3 on either side is much more than the pairs scatter by.
        assert!((next.hi - next.lo - 0.0226).abs() < 0.001, "{next:?}");
        // However much is added, the ratio wanders by no more than that does.
        let [_, next] = both(50.0);
        assert!((next.hi - next.lo - 0.096).abs() < 0.003, "{next:?}");
    }

    #[test]
    fn runs_pair_with_their_neighbours_and_those_in_a_row_do_not() {
        use Side::{Base as A, New as B};
        assert_eq!(neighbours(&[A, B, B, A]), [[0, 1], [3, 2]]);
        assert_eq!(neighbours(&[A, A, A, B, B, B]), [[2, 3]]);
        assert_eq!(neighbours(&[A, A, B, A, B]), [[1, 2], [3, 4]]);
        assert_eq!(neighbours(&[A]), Vec::<[usize; 2]>::new());
    }

    #[test]
    fn six_pairs_of_one_sign_are_a_verdict_and_five_are_none() {
        let six = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05, 1.06]), 600.0, MARGIN);
        assert_eq!(verdict(&six), Verdict::Larger);
        let five = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05]), 600.0, MARGIN);
        assert_eq!((verdict(&five), five.interval), (Verdict::Inconclusive, None));
        assert_eq!(five.flags, ["FEW_PAIRS"]);
    }

    #[test]
    fn close_pairs_are_equivalent_but_not_within_a_minute() {
        let close = [1.001, 0.999, 1.002, 0.998, 1.0, 1.001, 0.999, 1.0];
        assert_eq!(verdict(&paired_effect(&pairs(&close), 61.0, MARGIN)), Verdict::Equivalent);
        let short = paired_effect(&pairs(&close), 59.0, MARGIN);
        assert_eq!(
            (verdict(&short), &short.flags[..]),
            (Verdict::Inconclusive, &["SHORT_SPAN"][..])
        );
    }

    #[test]
    fn an_effect_that_is_another_later_is_flagged() {
        let early = [1.10, 1.11, 1.12, 1.10, 1.11, 1.12, 1.11];
        let late = [1.20, 1.21, 1.22, 1.20, 1.21, 1.22, 1.21];
        let judged = paired_effect(&pairs(&[early, late].concat()), 600.0, MARGIN);
        assert_eq!(
            (verdict(&judged), &judged.flags[..]),
            (Verdict::Larger, &["EFFECT_DRIFTS"][..])
        );
    }

    #[test]
    fn neighbouring_pairs_that_hang_together_are_merged() {
        let slow: Vec<f64> = (0..32).map(|i| 1.0 + 0.01 * (f64::from(i) / 5.0).sin()).collect();
        let judged = paired_effect(&pairs(&slow), 600.0, MARGIN);
        assert!(judged.flags.contains(&"BLOCKS"), "{judged:?}");
    }

    #[test]
    fn two_runs_differ_only_by_more_than_runs_and_reference_cases_do() {
        let around = |centre: f64| -> Vec<f64> {
            (-7..=7).map(|i| (centre * (1.0 + 0.002 * f64::from(i))).ln()).collect()
        };
        let judge = |ratio: f64, moved: f64| {
            unpaired_effect(&around(100.0), &around(100.0 * ratio), [Nominal::FIXED; 2], moved)
                .unwrap()
        };
        assert_eq!(verdict(&judge(1.05, 0.0)), Verdict::Inconclusive);
        assert_eq!(verdict(&judge(1.20, 0.0)), Verdict::Larger);
        assert_eq!(verdict(&judge(0.80, 0.0)), Verdict::Smaller);
        assert_eq!(
            verdict(&judge(1.20, 0.15)),
            Verdict::Inconclusive,
            "the reference cases moved, too"
        );
        assert_eq!(verdict(&judge(1.0, 0.0)), Verdict::Inconclusive, "never equivalent");
        let [there, back] = [judge(1.2, 0.01), judge(1.0 / 1.2, 0.01)];
        assert!((there.effect + back.effect).abs() < 1e-9 && (there.p / back.p - 1.0).abs() < 0.1);
        assert_eq!(
            unpaired_effect(&around(100.0)[..5], &around(100.0), [Nominal::FIXED; 2], 0.0),
            None
        );
    }

    #[test]
    fn so_many_rows_take_so_many_pairs() {
        assert_eq!([1, 2, 10, 100].map(min_pairs_for_discovery), [6, 7, 9, 12]);
    }

    #[test]
    fn one_discovery_among_many_needs_more_than_six_pairs() {
        let found = paired_effect(&pairs(&[1.05, 1.06, 1.05, 1.07, 1.05, 1.06]), 600.0, MARGIN);
        let nothing = paired_effect(&pairs(&[1.0, 0.99, 1.01, 0.98, 1.02, 1.0]), 600.0, MARGIN);
        let mut all = vec![nothing; 20];
        all[7] = found;
        let larger = |all: &[EffectEstimate]| {
            let said = verdicts(all, &[MARGIN; 20]);
            said.iter().filter(|(_, it)| *it == Verdict::Larger).count()
        };
        assert_eq!(larger(&all), 0);
        assert_eq!(larger(&all[7..8]), 1);
    }
}
