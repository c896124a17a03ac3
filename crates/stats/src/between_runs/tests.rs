//! Tests of the intervals between runs on simulated runs with known truth: workers within a run,
//! runs that vary by case, and workers of two levels.

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

use super::*;

/// Repetitions of a quick run.
const REPETITIONS: usize = 6;
/// The standard deviation of repetitions within a run.
const WITHIN: f64 = 0.03;
/// The typical standard deviation between runs.
const BETWEEN: f64 = 0.05;

struct Random(Xoshiro256PlusPlus);

#[test]
fn the_interval_of_several_runs_shrinks_with_the_boots_and_not_with_runs_of_one() {
    let run = |value| RunMedian { value, standard_error: 0.0, count: 6 };
    let variation = RunVariation { deviation: 0.05, degrees_of_freedom: 8.0 };
    let runs = [0.9, 1.0, 1.1, 1.0].map(run);
    let mean = |independent| long_run_mean(&runs, variation, independent, Nominal::FIXED).unwrap();
    let alone = variation.interval(&run(1.0), Nominal::FIXED).half_width();
    assert!((mean(1).value - 1.0).abs() < 1e-12);
    assert!((mean(1).interval.half_width() - alone).abs() < 1e-12);
    assert!((mean(4).interval.half_width() - alone / 2.0).abs() < 1e-12);
    assert_eq!(long_run_mean(&[], variation, 1, Nominal::FIXED), None);
}

impl Random {
    fn uniform(&mut self) -> f64 {
        ((self.0.next_u64() >> 11) as f64 + 0.5) / 2f64.powi(53)
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// Student's distribution with four degrees of freedom, scaled to a deviation of 1.
    fn heavy_tailed(&mut self) -> f64 {
        let squares: f64 = (0..4).map(|_| self.normal().powi(2)).sum();
        self.normal() / (squares / 4.0).sqrt() / 2f64.sqrt()
    }

    /// A run of a case whose long-run figure is 0.
    fn run(&mut self, between: f64) -> RunMedian {
        self.noisy_run(between, WITHIN)
    }

    /// The same whose repetitions vary by `within`.
    fn noisy_run(&mut self, between: f64, within: f64) -> RunMedian {
        let level = between * self.normal();
        let logs: Vec<f64> =
            (0..REPETITIONS).map(|_| level + within * self.heavy_tailed()).collect();
        RunMedian::of(&logs).unwrap()
    }
}

/// The share of intervals that hold the truth, over cases whose deviations vary by a factor.
fn coverage(earlier: usize, prior_error: f64, log_spread: f64, seed: u64) -> f64 {
    const CASES: usize = 6_000;
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(seed));
    let prior = Prior { deviation: prior_error * BETWEEN, degrees_of_freedom: 4.0 };
    let held = (0..CASES).filter(|_| {
        let between = BETWEEN * (log_spread * random.normal()).exp();
        let runs: Vec<RunMedian> = (0..earlier).map(|_| random.run(between)).collect();
        let variation = RunVariation::of(&runs, prior);
        variation.interval(&random.run(between), Nominal::FIXED).contains(0.0)
    });
    held.count() as f64 / CASES as f64
}

#[test]
fn an_interval_holds_the_long_run_figure_with_few_and_with_many_earlier_runs() {
    for (earlier, log_spread, accepted) in [
        (0, 0.3, 0.93..0.995),
        (1, 0.3, 0.93..0.995),
        (5, 0.3, 0.93..0.985),
        (20, 0.3, 0.93..0.97),
        (5, 0.7, 0.93..0.985),
        (20, 0.7, 0.93..0.97),
    ] {
        let share = coverage(earlier, 1.0, log_spread, 7 + earlier as u64);
        assert!(accepted.contains(&share), "{earlier} runs, spread {log_spread}: {share}");
    }
    // The control: the interval of one run alone, which is what its repetitions show.
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(3));
    let none = RunVariation { deviation: 0.0, degrees_of_freedom: 4.0 };
    let held = (0..6_000)
        .filter(|_| none.interval(&random.run(BETWEEN), Nominal::FIXED).contains(0.0))
        .count();
    assert!(held < 4_500, "{held} of 6000 would be enough without variation between runs");
}

#[test]
fn a_prior_that_is_too_wide_is_replaced_as_runs_accrue() {
    let (none, many) = (coverage(0, 2.0, 0.3, 1), coverage(20, 2.0, 0.3, 2));
    assert!(none > 0.98 && (0.94..0.99).contains(&many), "{none} and {many}");
    // One that is too narrow is the reason why it errs to the wide side.
    let (none, many) = (coverage(0, 0.5, 0.3, 1), coverage(20, 0.5, 0.3, 2));
    assert!(none < 0.90 && many > none, "{none} and {many}");
}

#[test]
fn two_runs_that_do_not_differ_are_rarely_called_different() {
    const CASES: usize = 6_000;
    let prior = Prior { deviation: BETWEEN, degrees_of_freedom: 4.0 };
    for (earlier, at_most) in [(0, 0.08), (5, 0.065), (20, 0.06)] {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(11 + earlier));
        let called = (0..CASES).filter(|_| {
            let between = BETWEEN * (0.3 * random.normal()).exp();
            let runs: Vec<RunMedian> = (0..earlier).map(|_| random.run(between)).collect();
            let variation = RunVariation::of(&runs, prior);
            let [base, new] = [random.run(between), random.run(between)];
            run_difference(&[base], &[new], 1, variation, 0.0).unwrap().p <= 0.05
        });
        let share = called.count() as f64 / CASES as f64;
        assert!(share <= at_most, "{earlier} runs: {share}");
    }
}

/// The share of intervals that hold the truth, and that of equal pairs of quiet runs that are called
/// different, after twenty earlier runs whose repetitions vary by `within`; by this rule.
fn after_noisy_runs(within: f64, rule: impl Fn(&[RunMedian], Prior) -> RunVariation) -> [f64; 2] {
    const CASES: usize = 3_000;
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(83));
    let prior = Prior { deviation: BETWEEN, degrees_of_freedom: 4.0 };
    let (mut held, mut called) = (0usize, 0usize);
    for _ in 0..CASES {
        let between = BETWEEN * (0.3 * random.normal()).exp();
        let earlier: Vec<RunMedian> = (0..20).map(|_| random.noisy_run(between, within)).collect();
        let variation = rule(&earlier, prior);
        let [base, new] = [random.run(between), random.run(between)];
        held += usize::from(variation.interval(&base, Nominal::FIXED).contains(0.0));
        let difference = run_difference(&[base], &[new], 1, variation, 0.0).unwrap();
        called += usize::from(difference.p <= 0.05);
    }
    [held, called].map(|count| count as f64 / CASES as f64)
}

#[test]
fn noisy_earlier_runs_neither_narrow_an_interval_nor_make_equal_runs_differ() {
    // The control: all degrees of freedom, though the repetitions explain most of the variance.
    let in_full = |earlier: &[RunMedian], prior: Prior| {
        let RunVariation { deviation, degrees_of_freedom } =
            RunVariation::without_prior(&[earlier]).unwrap();
        let both = prior.degrees_of_freedom + degrees_of_freedom;
        let squares = prior.degrees_of_freedom * prior.deviation.powi(2)
            + degrees_of_freedom * deviation.powi(2);
        RunVariation { deviation: (squares / both).sqrt(), degrees_of_freedom: both }
    };
    for within in [WITHIN, 0.1, 0.2, 0.4] {
        let [held, called] = after_noisy_runs(within, RunVariation::of);
        assert!(held >= 0.93 && called <= 0.08, "{within}: {held} {called}");
        let [held, called] = after_noisy_runs(within, in_full);
        assert!(within < 0.2 || (held < 0.82 && called > 0.15), "{within}: {held} {called}");
    }
}

#[test]
fn the_detectable_effect_is_found_in_four_of_five_comparisons() {
    const CASES: usize = 6_000;
    let margin = 0.01;
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(5));
    // Many runs were stored, so the variation is known.
    let variation = RunVariation { deviation: BETWEEN, degrees_of_freedom: 200.0 };
    let found = (0..CASES).filter(|_| {
        let base: Vec<RunMedian> = (0..5).map(|_| random.run(BETWEEN)).collect();
        let new: Vec<RunMedian> = (0..5).map(|_| random.run(BETWEEN)).collect();
        let difference = |new: &[RunMedian]| run_difference(&base, new, 5, variation, 0.0).unwrap();
        let effect = difference(&new).detectable(Nominal::FIXED, margin, 1);
        let moved: Vec<RunMedian> =
            new.iter().map(|run| RunMedian { value: run.value + effect, ..*run }).collect();
        difference(&moved).interval.lo > margin
    });
    let share = found.count() as f64 / CASES as f64;
    assert!((0.75..0.85).contains(&share), "{share}");
}

#[test]
fn an_effect_beyond_a_far_quantile_is_found_in_four_of_five_samples_of_few_degrees_of_freedom() {
    const SAMPLES: usize = 20_000;
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(41));
    for degrees_of_freedom in [4, 8, 12, 31] {
        let freedom = f64::from(degrees_of_freedom);
        let known = Uncertainty { standard_error: 1.0, degrees_of_freedom: freedom };
        for level in [0.05, 0.05 / 40.0] {
            let quantile = known.quantile(1.0 - level / 2.0);
            let effect = found_beyond(quantile, freedom);
            let mut below = 0;
            let found = (0..SAMPLES).filter(|_| {
                let squares: f64 = (0..degrees_of_freedom).map(|_| random.normal().powi(2)).sum();
                let standard_error = (squares / freedom).sqrt();
                let sample = Uncertainty { standard_error, ..known };
                below += usize::from(sample.median_standard_error() < 1.0);
                effect + random.normal() > quantile * standard_error
            });
            let (found, below) = (found.count() as f64, below as f64);
            let [found, below] = [found, below].map(|it| it / SAMPLES as f64);
            assert!((0.78..0.82).contains(&found), "{freedom}, {level}: {found}");
            assert!((0.48..0.52).contains(&below), "{freedom}: {below}");
        }
    }
}

#[test]
fn a_quantile_agrees_with_tables() {
    // Student's distribution, 97.5 %: 12.706 with one degree of freedom, 2.776 with four.
    for (degrees_of_freedom, expected) in [(1.0, 12.706), (4.0, 2.776), (1e6, 1.960)] {
        let found = Uncertainty { standard_error: 1.0, degrees_of_freedom }.quantile(0.975);
        assert!((found - expected).abs() < 1e-3, "{degrees_of_freedom}: {found}");
    }
}

#[test]
fn figures_without_any_variance_have_intervals_of_no_width() {
    let run = RunMedian::of(&[2.0; 6]).unwrap();
    let variation = RunVariation { deviation: 0.0, degrees_of_freedom: 4.0 };
    assert_eq!(variation.interval(&run, Nominal::FIXED), Interval { lo: 2.0, hi: 2.0 });
    assert_eq!(RunMedian::of(&[2.0]), None);
    let same = [run];
    let found = run_difference(&same, &same, 1, variation, 0.0).unwrap();
    assert_eq!((found.value, found.p), (0.0, 1.0));
    assert_eq!(run_difference(&same, &[], 1, variation, 0.0), None);
}

#[test]
fn runs_of_two_systems_vary_around_their_own_figures() {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(23));
    let prior = Prior { deviation: BETWEEN, degrees_of_freedom: 4.0 };
    let mut runs = |level: f64| -> Vec<RunMedian> {
        let shifted = |run: RunMedian| RunMedian { value: run.value + level, ..run };
        (0..200).map(|_| shifted(random.run(BETWEEN))).collect()
    };
    let [base, new] = [runs(0.0), runs(0.5)];
    let apart = RunVariation::pooled(&[&base, &new], prior);
    assert!((apart.deviation / BETWEEN - 1.0).abs() < 0.1, "{apart:?}");
    // 398 and 4, less by what six repetitions leave open.
    assert!((300.0..385.0).contains(&apart.degrees_of_freedom), "{apart:?}");
    let mixed = RunVariation::of(&[base, new].concat(), prior);
    assert!(mixed.deviation > 0.2, "a difference between systems is no variation: {mixed:?}");
    assert_eq!(apart.at_least(0.1).deviation, 0.1);
}

#[test]
fn one_of_many_hypotheses_needs_a_larger_effect() {
    let run = RunMedian { value: 0.0, standard_error: 0.01, count: 15 };
    let variation = RunVariation { deviation: 0.03, degrees_of_freedom: 12.0 };
    let found = run_difference(&[run; 5], &[run; 5], 5, variation, 0.0).unwrap();
    let among = |hypotheses| found.detectable(Nominal::FIXED, 0.01, hypotheses);
    assert!(among(1) < 0.08 && among(80) > 1.4 * among(1), "{} and {}", among(1), among(80));
}

#[test]
fn an_interval_of_six_repetitions_has_their_standard_error() {
    let run = RunMedian::from_interval(4.0, Interval { lo: 3.9, hi: 4.1 });
    assert!((run.standard_error - 0.0389).abs() < 1e-4 && run.count == 6, "{run:?}");
}

#[test]
fn runs_in_a_row_do_not_average_the_state_of_the_machine() {
    let run = RunMedian { value: 0.0, standard_error: 0.0, count: 15 };
    let variation = RunVariation { deviation: 0.03, degrees_of_freedom: 12.0 };
    let width = |alternations| {
        let found = run_difference(&[run; 5], &[run; 5], alternations, variation, 0.0);
        found.unwrap().interval.half_width()
    };
    assert!((width(1) / width(5) - 5f64.sqrt()).abs() < 1e-9);
}

#[test]
fn a_corrected_interval_excludes_no_effect_as_its_corrected_p_says() {
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(29));
    let variation = RunVariation { deviation: BETWEEN, degrees_of_freedom: 12.0 };
    let found: Vec<RunDifference> = (0..200)
        .map(|case| {
            let (base, mut new) = (random.run(BETWEEN), random.run(BETWEEN));
            new.value += if case % 4 == 0 { 0.4 } else { 0.0 };
            run_difference(&[base], &[new], 1, variation, 0.0).unwrap()
        })
        .collect();
    let p: Vec<f64> = found.iter().map(|it| it.p).collect();
    let q = crate::comparison::benjamini_hochberg(&p);
    let discoveries = q.iter().filter(|&&q| q <= 0.05).count();
    assert!((10..60).contains(&discoveries), "{discoveries}");
    for (it, q) in found.iter().zip(q) {
        let interval = it.interval_at(Nominal::FIXED.corrected(discoveries, 200));
        assert_eq!(!interval.contains(0.0), q <= 0.05, "{it:?}, {q}");
    }
}

#[test]
fn what_all_cases_may_have_shared_is_not_averaged_by_alternation() {
    let run = |value: f64| RunMedian { value, standard_error: 0.001, count: 15 };
    let variation = RunVariation { deviation: 0.005, degrees_of_freedom: 40.0 };
    let p = |common: f64| {
        run_difference(&[run(0.0); 5], &[run(0.113); 5], 5, variation, common).unwrap().p
    };
    assert!(p(0.0) < 1e-6 && p(0.113) > 0.3, "{} and {}", p(0.0), p(0.113));
}

#[test]
fn one_noisy_run_of_several_has_its_own_degrees_of_freedom() {
    let run = |standard_error: f64| RunMedian { value: 0.0, standard_error, count: 6 };
    let term = mean_term(&[run(0.5), run(0.01), run(0.01), run(0.01), run(0.01)]);
    assert!((term.degrees_of_freedom - 5.0).abs() < 0.1, "{term:?}");
    assert_eq!(mean_term(&[run(0.1); 5]).degrees_of_freedom.round(), 25.0);
}

#[test]
fn the_mean_over_runs_has_an_interval_that_holds_the_long_run_figure_without_a_prior() {
    const CASES: usize = 6_000;
    // Runs that vary by less than their repetitions show, by as much, and by far more.
    for (between, accepted) in [(0.0, 0.94..1.0), (0.02, 0.94..0.99), (0.2, 0.94..0.96)] {
        for runs in [4, 6, 11] {
            let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(31 + runs));
            let held = (0..CASES).filter(|_| {
                let all: Vec<RunMedian> = (0..runs).map(|_| random.run(between)).collect();
                run_mean(&all, Nominal::FIXED).unwrap().interval.contains(0.0)
            });
            let share = held.count() as f64 / CASES as f64;
            assert!(accepted.contains(&share), "{runs} runs that vary by {between}: {share}");
        }
    }
}

#[test]
fn runs_that_agree_by_chance_leave_open_what_their_repetitions_do() {
    let run = |value: f64| RunMedian { value, standard_error: 0.01, count: 10 };
    let agreeing = run_mean(&[run(2.0); 4], Nominal::FIXED).unwrap();
    assert_eq!(agreeing.value, 2.0);
    // Student's distribution with three degrees of freedom: 3.182.
    assert!((agreeing.interval.half_width() - 3.182 * 0.005).abs() < 1e-5, "{agreeing:?}");
    assert_eq!(run_mean(&[run(2.0)], Nominal::FIXED), None);
}

#[test]
fn without_a_prior_two_runs_of_a_system_are_needed() {
    let run = |value: f64| RunMedian { value, standard_error: 0.0, count: 10 };
    let (one, two) = ([run(0.0)], [run(0.0), run(0.2)]);
    assert_eq!(RunVariation::without_prior(&[&one, &one]), None);
    let found = RunVariation::without_prior(&[&one, &two]).unwrap();
    assert!((found.deviation - 0.02f64.sqrt()).abs() < 1e-12, "{found:?}");
    assert_eq!(found.degrees_of_freedom, 1.0);
}

/// The point at which two levels fit a series best.
fn best_split(runs: &[RunMedian]) -> usize {
    let mean = |runs: &[RunMedian]| {
        moments::mean(&runs.iter().map(|run| run.value).collect::<Vec<_>>()).unwrap()
    };
    let gain = |at: usize| {
        let (one, other) = runs.split_at(at);
        let weight = (one.len() * other.len()) as f64 / runs.len() as f64;
        weight * (mean(one) - mean(other)).powi(2)
    };
    (3..runs.len() - 2).max_by(|&one, &other| gain(one).total_cmp(&gain(other))).unwrap()
}

#[test]
fn neighbours_show_the_deviation_of_runs_between_levels_that_were_found_in_them() {
    const SERIES: usize = 4_000;
    for step in [0.0, 0.1, 0.25] {
        let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(61));
        let (mut neighbours, mut own_means) = (0.0, 0.0);
        for _ in 0..SERIES {
            let runs: Vec<RunMedian> = (0..24)
                .map(|at| {
                    let level = if at < 12 { 0.0 } else { step };
                    let value = level + BETWEEN * random.normal();
                    RunMedian { value, standard_error: 0.0, count: 10 }
                })
                .collect();
            let (one, other) = runs.split_at(best_split(&runs));
            let found = RunVariation::by_neighbours(&[one, other], 0.0).unwrap();
            neighbours += found.deviation.powi(2);
            let around_means = RunVariation::without_prior(&[one, other]).unwrap();
            own_means += around_means.deviation.powi(2);
        }
        let ratio = |squares: f64| (squares / SERIES as f64).sqrt() / BETWEEN;
        let (neighbours, own_means) = (ratio(neighbours), ratio(own_means));
        assert!((0.96..1.03).contains(&neighbours), "step {step}: {neighbours}");
        assert!(own_means < neighbours || step > 0.2, "step {step}: {own_means} {neighbours}");
        // The control: levels where there are none, placed where they fit best.
        assert!(step > 0.0 || own_means < 0.96, "{own_means}");
    }
}

#[test]
fn neighbours_that_are_correlated_differ_by_less_than_the_runs_vary() {
    const SERIES: usize = 2_000;
    const PHI: f64 = 0.6;
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(67));
    let mut squares = [0.0; 2];
    for _ in 0..SERIES {
        let mut value = random.normal();
        let runs: Vec<RunMedian> = (0..30)
            .map(|_| {
                value = PHI * value + (1.0 - PHI * PHI).sqrt() * random.normal();
                RunMedian { value: BETWEEN * value, standard_error: 0.0, count: 10 }
            })
            .collect();
        for (sum, autocorrelation) in squares.iter_mut().zip([0.0, PHI]) {
            let found = RunVariation::by_neighbours(&[&runs], autocorrelation).unwrap();
            *sum += found.deviation.powi(2);
        }
    }
    let [ignored, known] = squares.map(|it| (it / SERIES as f64).sqrt() / BETWEEN);
    assert!(ignored < 0.7 && (0.95..1.05).contains(&known), "{ignored} {known}");
}

#[test]
fn the_freedom_of_neighbours_is_less_than_that_of_their_number() {
    let run = |value: f64| RunMedian { value, standard_error: 0.0, count: 10 };
    let of = |levels: &[&[RunMedian]]| RunVariation::by_neighbours(levels, 0.0);
    let six = [0.0, 0.2, 0.0, 0.2, 0.0, 0.2].map(run);
    let found = of(&[&six]).unwrap();
    assert!((found.deviation - 0.02f64.sqrt()).abs() < 1e-12, "{found:?}");
    assert!((found.degrees_of_freedom - 50.0 / 14.0).abs() < 1e-12, "{found:?}");
    assert_eq!(of(&[&six[..1], &six[..1]]), None);
    assert_eq!(of(&[&six[..2]]).unwrap().degrees_of_freedom, 1.0);
}
