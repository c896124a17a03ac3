use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

use super::*;
use crate::interval::Nominal;
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
    assert_eq!(by_boots.degrees_of_freedom, 7.0);
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
        let logs: Vec<f64> = (0..15).map(|_| level + 0.02 * student(&mut self.0, 4)).collect();
        RunMedian::of(&logs).unwrap()
    }
}

/// The share of intervals that hold the long-run figure over boots, by so many earlier runs of each of
/// so many boots. The run is of the last of these, if `of_a_known_boot`.
fn coverage(
    [boots, runs]: [usize; 2],
    of_a_known_boot: bool,
    variation: impl Fn(&[&[RunMedian]]) -> RunVariation,
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
        variation(&earlier).interval(&machine.run(level), Nominal::FIXED).contains(0.0)
    });
    held.count() as f64 / CASES as f64
}

#[test]
fn an_interval_holds_the_figure_over_boots_whichever_boots_the_earlier_runs_are_of() {
    let by_boots = |earlier: &[&[RunMedian]]| variation_over_boots(earlier, PRIOR);
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
    let by_runs = |earlier: &[&[RunMedian]]| RunVariation::of(&earlier.concat(), PRIOR);
    let share = coverage([1, 20], true, by_runs);
    assert!(share < 0.80, "{share}");
}
