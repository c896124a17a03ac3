//! What comparisons of stored runs find: the power of the whole rule, by the number of rows.

use oscost::estimate::comparison::verdict::{EffectEstimate, Verdict, separate_effect, verdicts};
use oscost_stats::between_runs::{Prior, RunDifference, RunMedian, run_difference};
use oscost_stats::boots::{BootVariation, boot_shares};
use oscost_stats::interval::Nominal;
use oscost_stats::order::{median, sorted};

use super::{CheckResult, MARGIN, accept, normal};
use crate::shapes::Source;
use crate::share::share;

/// The median of a run of a row that varies by this deviation between runs, and what fifteen repetitions
/// that spread by 4 % leave open of it.
fn median_of_run(level: f64, deviation: f64, source: &mut Source) -> RunMedian {
    const STANDARD_ERROR: f64 = 0.0129;
    let value = level + deviation.hypot(STANDARD_ERROR) * normal(source);
    RunMedian { value, standard_error: STANDARD_ERROR, count: 15 }
}

/// The difference between five alternating runs a side of a row that varies by 3 % between runs, with
/// so many earlier ones, each in a boot of its own; the class of its case says `prior`.
fn five_a_side(effect: f64, earlier: usize, prior: f64, source: &mut Source) -> RunDifference {
    let mut runs = |level: f64, count: usize| -> Vec<RunMedian> {
        (0..count).map(|_| median_of_run(level, 0.03, source)).collect()
    };
    let (earlier, base, new) = (runs(0.0, earlier), runs(0.0, 5), runs(effect, 5));
    let prior = Prior { deviation: prior, degrees_of_freedom: 4.0 };
    let groups = [&earlier, &base, &new].map(|runs| runs.chunks(1).collect::<Vec<_>>());
    let shares = boot_shares(&[0, 2, 4, 6, 8], &[1, 3, 5, 7, 9]);
    let variation = BootVariation::of(&groups, prior).of_sides(shares, 5);
    run_difference(&base, &new, 5, variation, 0.0).unwrap()
}

/// S12: the smallest detectable effect of stored runs of forty rows, five a side, is detected in about
/// four of five comparisons: of the whole rule, with its margin and its correction.
pub(crate) fn s12_smallest_effect() -> CheckResult {
    const ROWS: usize = 40;
    let (mut good, mut found) = (true, String::new());
    for earlier in [0, 20] {
        let mut source = Source::seeded(75);
        let mut judged = |effect: f64| {
            let of_row = |row: usize| if row == 0 { effect } else { 0.0 };
            let rows: Vec<EffectEstimate> = (0..ROWS)
                .map(|row| separate_effect(five_a_side(of_row(row), earlier, 0.035, &mut source)))
                .collect();
            verdicts(&rows, &[MARGIN; ROWS])
        };
        let smallest: Vec<f64> =
            (0..25).flat_map(|_| judged(0.0)).map(|it| it.detectable.unwrap()).collect();
        let smallest = median(&sorted(&smallest)).unwrap();
        let power = share(1_000, || judged(smallest)[0].verdict == Verdict::Larger);
        good &= (75.0..=85.0).contains(&power);
        found.push_str(&format!(
            "{earlier} earlier runs: {:.1} % are detected in {power:.1} %; ",
            100.0 * smallest.exp_m1()
        ));
    }
    accept("S12 of stored runs", good, &found)
}

/// How often +10 % is found in five alternating runs a side, by the prior of the class and by how many rows
/// are compared: as the only discovery among them.
pub(crate) fn ten_per_cent_among_rows() -> CheckResult {
    let (mut good, mut found) = (true, String::new());
    for (prior, earlier, accepted) in [
        (0.05, 0, [88.0..=97.0, 42.0..=56.0, 6.0..=16.0]),
        (0.05, 20, [94.0..=99.0, 72.0..=86.0, 42.0..=57.0]),
        (0.07, 0, [74.0..=86.0, 11.0..=24.0, 0.0..=4.0]),
        (0.07, 20, [90.0..=98.0, 60.0..=75.0, 24.0..=39.0]),
        (0.20, 0, [0.0..=2.0, 0.0..=1.0, 0.0..=1.0]),
        (0.20, 20, [15.0..=28.0, 0.0..=2.0, 0.0..=1.0]),
    ] {
        for (rows, accepted) in [1, 10, 90].into_iter().zip(accepted) {
            let mut source = Source::seeded(76);
            let power = share(1_000, || {
                let difference = five_a_side(1.1f64.ln(), earlier, prior, &mut source);
                difference.interval_at(Nominal::FIXED.bonferroni(rows)).lo > MARGIN
            });
            good &= accepted.contains(&power);
            found.push_str(&format!(
                "{:.0} %, {earlier} earlier runs, {rows} rows: {power:.1} %; ",
                100.0 * prior
            ));
        }
    }
    accept("+10 % in five runs a side", good, &found)
}
