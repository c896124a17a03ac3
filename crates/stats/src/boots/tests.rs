use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::between_runs::run_difference;
use crate::interval::{Interval, Nominal};
use crate::random::{standard_normal, student};

const PRIOR: Prior = Prior { deviation: 0.05, degrees_of_freedom: 4.0 };

fn run(value: f64) -> RunMedian {
    RunMedian { value, standard_error: 0.0, count: 6 }
}

#[test]
fn where_each_run_has_a_boot_of_its_own_boots_and_runs_are_the_same() {
    let runs =
        [0.0, 0.1, -0.05, 0.02].map(|value| RunMedian { standard_error: 0.01, ..run(value) });
    let boots: Vec<&[RunMedian]> = runs.chunks(1).collect();
    let [by_boots, by_runs] = [variation_over_boots(&boots, PRIOR), RunVariation::of(&runs, PRIOR)];
    assert!((by_boots.deviation - by_runs.deviation).abs() < 1e-12, "{by_boots:?} {by_runs:?}");
    let [boots_freedom, runs_freedom] = [by_boots, by_runs].map(|it| it.degrees_of_freedom);
    assert!((boots_freedom - runs_freedom).abs() < 1e-12, "{by_boots:?} {by_runs:?}");
    // Three, of which the repetitions take a twentieth.
    assert!((6.83..6.87).contains(&boots_freedom), "{by_boots:?}");
    let unknown = RunVariation { deviation: 0.05, degrees_of_freedom: 4.0 };
    assert_eq!(
        [variation_over_boots(&[], PRIOR), variation_over_boots(&[&[]], PRIOR)],
        [unknown; 2]
    );
}

#[test]
fn runs_of_one_boot_widen_the_prior_and_never_narrow_it() {
    let of = |deviation: f64| {
        let runs: Vec<RunMedian> = (0..20).map(|at| run(deviation * f64::from(at % 2))).collect();
        variation_over_boots(&[&runs], PRIOR)
    };
    let steady = of(0.001);
    assert!((steady.deviation - 0.05).abs() < 1e-12, "{steady:?}");
    assert!((steady.degrees_of_freedom - 4.0).abs() < 1e-9, "{steady:?}");
    // Squares of 0.8 with 19 degrees of freedom beside a variance of 0.0025 with 4.
    let varying = of(0.4);
    let expected: f64 = (4.0 * 0.0025 + 0.8) / 23.0;
    assert!((varying.deviation - expected.sqrt()).abs() < 1e-12, "{varying:?}");
    assert!((19.0..=23.0).contains(&varying.degrees_of_freedom), "{varying:?}");
}

#[test]
fn boots_that_differ_are_seen_however_steady_their_runs_are() {
    let boot = |value: f64| vec![run(value), run(value), run(value)];
    let boots = [boot(0.0), boot(0.3), boot(0.6)];
    let boots: Vec<&[RunMedian]> = boots.iter().map(Vec::as_slice).collect();
    let found = variation_over_boots(&boots, PRIOR);
    // Their variance is 0.09, with two degrees of freedom.
    let expected: f64 = (4.0 * 0.0025 + 2.0 * 0.09) / 6.0;
    assert!((found.deviation - expected.sqrt()).abs() < 1e-12, "{found:?}");
    assert_eq!(found.degrees_of_freedom, 6.0);
}

/// A machine whose boots differ by 5 %, runs of a boot by 2 %, and workers by 3 %.
struct Machine(Xoshiro256PlusPlus);

impl Machine {
    fn boot(&mut self) -> f64 {
        0.05 * standard_normal(&mut self.0)
    }

    fn run(&mut self, boot: f64) -> RunMedian {
        let level = boot + 0.02 * standard_normal(&mut self.0);
        self.steady_run(level)
    }

    /// A run that differs from others of its boot by what its repetitions explain.
    fn steady_run(&mut self, boot: f64) -> RunMedian {
        let logs: Vec<f64> = (0..15).map(|_| boot + 0.02 * student(&mut self.0, 4)).collect();
        RunMedian::of(&logs).unwrap()
    }
}

/// The share of intervals that hold the long-run figure over boots, by so many earlier runs of each of
/// so many boots. The run is of the last of these, if `of_a_known_boot`.
fn coverage(
    [boots, runs]: [usize; 2],
    of_a_known_boot: bool,
    interval: impl Fn(&[&[RunMedian]], &RunMedian) -> Interval,
) -> f64 {
    const CASES: usize = 3_000;
    let mut machine = Machine(Xoshiro256PlusPlus::seed_from_u64(17));
    let held = (0..CASES).filter(|_| {
        let mut level = machine.boot();
        let mut earlier: Vec<Vec<RunMedian>> = Vec::new();
        for at in 0..boots {
            level = if at == 0 { level } else { machine.boot() };
            earlier.push((0..runs).map(|_| machine.run(level)).collect());
        }
        level = if of_a_known_boot { level } else { machine.boot() };
        let earlier: Vec<&[RunMedian]> = earlier.iter().map(Vec::as_slice).collect();
        interval(&earlier, &machine.run(level)).contains(0.0)
    });
    held.count() as f64 / CASES as f64
}

#[test]
fn an_interval_holds_the_figure_over_boots_whichever_boots_the_earlier_runs_are_of() {
    let by_boots = |earlier: &[&[RunMedian]], run: &RunMedian| {
        variation_over_boots(earlier, PRIOR).interval(run, Nominal::FIXED)
    };
    for (earlier, of_a_known_boot) in [
        ([0, 0], false),
        ([1, 1], true),
        ([1, 5], true),
        ([1, 20], true),
        ([1, 20], false),
        ([2, 10], true),
        ([4, 5], true),
        ([5, 1], false),
        ([20, 1], false),
    ] {
        let share = coverage(earlier, of_a_known_boot, by_boots);
        assert!((0.93..0.998).contains(&share), "{earlier:?}: {share}");
    }
    // The control: twenty runs of one boot as if each had a boot of its own.
    let by_runs = |earlier: &[&[RunMedian]], run: &RunMedian| {
        RunVariation::of(&earlier.concat(), PRIOR).interval(run, Nominal::FIXED)
    };
    let share = coverage([1, 20], true, by_runs);
    assert!(share < 0.80, "{share}");
}

#[test]
fn an_interval_by_runs_alone_holds_the_figure_without_a_prior() {
    let by_runs = |earlier: &[&[RunMedian]], run: &RunMedian| {
        let variation = variation_by_runs_alone(earlier).unwrap();
        variation.interval_by_runs_alone(run, Nominal::FIXED)
    };
    for (earlier, of_a_known_boot) in [
        ([3, 1], false),
        ([5, 1], false),
        ([20, 1], false),
        ([2, 10], false),
        ([3, 7], false),
        ([4, 5], false),
        ([5, 2], false),
    ] {
        let share = coverage(earlier, of_a_known_boot, by_runs);
        assert!(share >= 0.925, "{earlier:?}: {share}");
    }
    // The control: runs of one boot do not show how far boots differ.
    let share = coverage([1, 20], false, by_runs);
    assert!(share < 0.80, "{share}");
}

/// The shares of intervals by runs alone, and of those of the sum of both terms, that hold the figure
/// over boots where runs of a boot differ by what their repetitions explain. Each item is the number of
/// earlier runs of a boot.
fn coverage_of_steady_runs(boots: &[usize]) -> [f64; 2] {
    const CASES: usize = 4_000;
    let mut machine = Machine(Xoshiro256PlusPlus::seed_from_u64(23));
    let mut held = [0usize; 2];
    for _ in 0..CASES {
        let mut runs_of_boot = |count: usize| -> Vec<RunMedian> {
            let level = machine.boot();
            (0..count).map(|_| machine.steady_run(level)).collect()
        };
        let earlier: Vec<Vec<RunMedian>> = boots.iter().map(|&runs| runs_of_boot(runs)).collect();
        let run = runs_of_boot(1)[0];
        let earlier: Vec<&[RunMedian]> = earlier.iter().map(Vec::as_slice).collect();
        let variation = variation_by_runs_alone(&earlier).unwrap();
        let by_runs = variation.interval_by_runs_alone(&run, Nominal::FIXED);
        let of_both = variation.interval(&run, Nominal::FIXED);
        held[0] += usize::from(by_runs.contains(0.0));
        held[1] += usize::from(of_both.contains(0.0));
    }
    held.map(|count| count as f64 / CASES as f64)
}

#[test]
fn boots_that_agree_by_chance_do_not_narrow_an_interval_by_runs_alone() {
    let of_two: [&[usize]; 4] = [&[1, 2], &[5, 1], &[20, 1], &[10, 10]];
    let of_more: [&[usize]; 3] = [&[1, 1, 1], &[20, 1, 1], &[5, 5, 5, 5]];
    for boots in of_two.into_iter().chain(of_more) {
        let [by_runs, _] = coverage_of_steady_runs(boots);
        assert!(by_runs >= 0.94, "{boots:?}: {by_runs}");
    }
    // The control: the degrees of freedom of the sum are those of the run's own error too often.
    for boots in [[1, 2], [5, 1]] {
        let [_, of_both] = coverage_of_steady_runs(&boots);
        assert!(of_both < 0.925, "{boots:?}: {of_both}");
    }
}

#[test]
fn a_variation_by_runs_alone_needs_three_runs_and_of_one_boot_is_that_of_its_runs() {
    let runs = [0.0, 0.2, -0.2].map(run);
    assert_eq!(variation_by_runs_alone(&[&runs[..2]]), None);
    assert_eq!(variation_by_runs_alone(&[&[], &runs[..1], &runs[1..2]]), None);
    let of_one_boot = variation_by_runs_alone(&[&runs]).unwrap();
    assert!((of_one_boot.deviation - 0.2).abs() < 1e-12, "{of_one_boot:?}");
    assert_eq!(of_one_boot.degrees_of_freedom, 2.0);
    let each: Vec<&[RunMedian]> = runs.chunks(1).collect();
    let of_boots = variation_by_runs_alone(&each).unwrap();
    assert!((of_boots.deviation - 0.2).abs() < 1e-12, "{of_boots:?}");
    assert_eq!(of_boots.degrees_of_freedom, 2.0);
    let of_two = variation_by_runs_alone(&[&runs[..2], &runs[2..]]).unwrap();
    assert_eq!(of_two.degrees_of_freedom, 1.0);
    let equal = [run(1.0); 3];
    assert_eq!(variation_by_runs_alone(&[&equal]).unwrap().deviation, 0.0);
}

#[test]
fn what_boots_differ_by_cancels_where_each_has_the_same_part_in_both_sides() {
    let shares = |base: &str, new: &str| {
        let boots = |side: &str| side.chars().collect::<Vec<char>>();
        boot_shares(&boots(base), &boots(new))
    };
    assert_eq!([shares("aaaaa", "bbbbb"), shares("a", "b"), shares("", "")], [2.0, 2.0, 0.0]);
    assert_eq!([shares("aaaaa", "aaaaa"), shares("aab", "aaaabb"), shares("ab", "ba")], [0.0; 3]);
    assert!((shares("abcde", "fghij") - 0.4).abs() < 1e-12);
    // Two of four runs are of the other side's boot.
    assert!((shares("aabb", "bbcc") - 0.5).abs() < 1e-12);
}

#[test]
fn sides_vary_as_runs_of_one_boot_or_as_their_boots_do() {
    let boot = |value: f64| vec![run(value), run(value + 0.001)];
    let boots: Vec<Vec<RunMedian>> = (0..20).map(|at| boot(0.1 * f64::from(at % 2))).collect();
    let found = BootVariation::of(&[boots.iter().map(Vec::as_slice).collect()], PRIOR);
    assert!(found.total.deviation > 0.049 && found.within.deviation < 0.022, "{found:?}");
    assert_eq!(found.of_sides(0.0, 5), found.within);
    // In boots of their own, in turns and in a row: boots, and alternations.
    assert_eq!([found.of_sides(0.4, 5), found.of_sides(0.4, 1)], [found.total; 2]);
    // One boot a side, whatever its runs do: twice the variance of a run, which turns do not reduce.
    let of_sides = found.of_sides(2.0, 5);
    let expected = found.total.deviation * 5f64.sqrt();
    assert!((of_sides.deviation - expected).abs() < 1e-12, "{of_sides:?}");
}

/// The share of comparisons of two equal sides in which they differ with 95 % certainty: each letter is
/// a run, in capitals of the new side, and the letter is its boot. Twenty earlier runs are of one boot.
fn false_differences(
    order: &str,
    alternations: usize,
    variation: impl Fn(&[RunsByBoot<'_>], f64, usize) -> RunVariation,
) -> f64 {
    const CASES: usize = 3_000;
    let mut machine = Machine(Xoshiro256PlusPlus::seed_from_u64(19));
    let called = (0..CASES).filter(|_| {
        let level = machine.boot();
        let earlier: Vec<RunMedian> = (0..20).map(|_| machine.run(level)).collect();
        let levels: Vec<f64> = (0..26).map(|_| machine.boot()).collect();
        let mut of_side = |is_new: bool| -> (Vec<usize>, Vec<RunMedian>) {
            let letters = order.chars().filter(|it| it.is_ascii_uppercase() == is_new);
            let boots = letters.map(|it| (it.to_ascii_lowercase() as u8 - b'a') as usize);
            boots.map(|boot| (boot, machine.run(levels[boot]))).unzip()
        };
        let (base, new) = (of_side(false), of_side(true));
        let by_boot = |(boots, runs): &(Vec<usize>, Vec<RunMedian>)| -> Vec<Vec<RunMedian>> {
            let of_boot = |boot: usize| {
                let all = boots.iter().zip(runs).filter(|(it, _)| **it == boot);
                all.map(|(_, run)| *run).collect::<Vec<RunMedian>>()
            };
            (0..26).map(of_boot).collect()
        };
        let groups = [vec![earlier], by_boot(&base), by_boot(&new)];
        let groups: Vec<RunsByBoot<'_>> =
            groups.iter().map(|boots| boots.iter().map(Vec::as_slice).collect()).collect();
        let variation = variation(&groups, boot_shares(&base.0, &new.0), alternations);
        run_difference(&base.1, &new.1, alternations, variation, 0.0).unwrap().p <= 0.05
    });
    called.count() as f64 / CASES as f64
}

#[test]
fn equal_sides_are_rarely_called_different_whichever_boots_their_runs_are_of() {
    fn by_boots(groups: &[RunsByBoot<'_>], shares: f64, alternations: usize) -> RunVariation {
        BootVariation::of(groups, PRIOR).of_sides(shares, alternations)
    }
    // Runs as if boots did not differ, by what the earlier ones of one boot vary by.
    fn by_runs(groups: &[RunsByBoot<'_>], _: f64, _: usize) -> RunVariation {
        let runs: Vec<Vec<RunMedian>> = groups.iter().map(|boots| boots.concat()).collect();
        let runs: Vec<&[RunMedian]> = runs.iter().map(Vec::as_slice).collect();
        RunVariation::pooled(&runs, PRIOR)
    }
    let orders = [
        ("aB", 1),
        ("aaaaaBBBBB", 1),
        ("aBCdeFGhiJ", 5),
        ("abcdeFGHIJ", 1),
        ("aBBccDDeeF", 5),
        ("aAAaaAAaaA", 5),
    ];
    for (order, alternations) in orders {
        let share = false_differences(order, alternations, by_boots);
        assert!(share <= 0.065, "{order}: {share}");
    }
    // The control.
    for (order, alternations) in [("aaaaaBBBBB", 1), ("aBBccDDeeF", 5)] {
        let share = false_differences(order, alternations, by_runs);
        assert!(share > 0.1, "{order}: {share}");
    }
}

#[test]
fn a_variation_within_boots_needs_two_degrees_of_freedom_and_ignores_what_boots_differ_by() {
    let run = |value: f64| RunMedian { value, standard_error: 0.01, count: 6 };
    let (one, other) = ([run(0.0), run(0.02)], [run(0.5), run(0.52)]);
    assert_eq!(variation_within_boots_alone(&[]), None);
    assert_eq!(variation_within_boots_alone(&[&one, &[], &other[..1]]), None);
    let found = variation_within_boots_alone(&[&one, &other]).unwrap();
    // Half of the square of the difference, in each boot.
    assert!((found.deviation - 0.02 / 2f64.sqrt()).abs() < 1e-12, "{found:?}");
    assert_eq!(found.degrees_of_freedom, 2.0);
}
