//! Series with known true changes: S17 of docs/explanation/METHOD.md, section 10.

use std::time::{Duration, UNIX_EPOCH};

use rand_xoshiro::rand_core::Rng;

use super::super::random::standard_normal;
use super::*;

const SEED: u64 = 17;
/// The standard deviation between runs.
const SD: f64 = 0.02;

/// A simulated series: lognormal runs, each with an uncertain interval.
struct Truth {
    outliers: f64,
    /// The autocorrelation: the share of a run's deviation that the next one keeps.
    keeps: f64,
    /// The number of consecutive runs of a day, five minutes apart; the standard deviations between
    /// days and between runs of a day.
    days: Option<(usize, f64, f64)>,
    /// The first point with a changed figure, and the factor.
    step: Option<(usize, f64)>,
    points: usize,
}

const NULL: Truth =
    Truth { outliers: 0.0, keeps: 0.0, days: None, step: None, points: WINDOW_POINTS };

impl Truth {
    fn series(&self, number: u64) -> Vec<RunValue> {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1_000_000 + number);
        let (mut stray, mut day) = (0.0, 0.0);
        let point = |at: usize| {
            let own = standard_normal(&mut random);
            let kept = if at == 0 { 0.0 } else { self.keeps };
            stray = kept * stray + (1.0 - kept * kept).sqrt() * own;
            let mut log = 100f64.ln();
            let mut began = None;
            match self.days {
                Some((runs, of_days, of_runs)) => {
                    if at.is_multiple_of(runs) {
                        day = of_days * standard_normal(&mut random);
                    }
                    log += day + of_runs * stray;
                    let seconds = 86_400 * (at / runs) + 300 * (at % runs);
                    began = Some(UNIX_EPOCH + Duration::from_secs(seconds as u64));
                }
                None => log += SD * stray,
            }
            if ((random.next_u64() >> 11) as f64) < self.outliers * (1u64 << 53) as f64 {
                log += 1.3f64.ln();
            }
            if let Some((from, times)) = self.step
                && at >= from
            {
                log += times.ln();
            }
            RunValue {
                log,
                relative_half_width: Some(0.007 * (0.3 * standard_normal(&mut random)).exp()),
                started: began,
            }
        };
        (0..self.points).map(point).collect()
    }

    fn all(&self, count: u64) -> Vec<Vec<RunValue>> {
        (0..count).map(|number| self.series(number)).collect()
    }

    /// The changes of this number of series, each tested alone.
    fn found(&self, count: u64) -> Vec<SeriesChanges> {
        self.all(count).into_iter().map(alone).collect()
    }
}

fn alone(series: Vec<RunValue>) -> SeriesChanges {
    changes(&[series], SEED).remove(0).unwrap()
}

/// The share for which a condition holds, in per cent.
fn pct<T>(all: &[T], is: impl Fn(&T) -> bool) -> f64 {
    100.0 * all.iter().filter(|it| is(it)).count() as f64 / all.len() as f64
}

fn any(found: &SeriesChanges) -> bool {
    !found.changes.is_empty()
}

#[test]
fn at_most_one_in_forty_series_without_a_change_has_one() {
    let found = NULL.found(1_000);
    let (any, tested) = (pct(&found, any), pct(&found, |it| it.p <= MAX_P));
    println!("null: {tested:.1} % by the test, {any:.1} % with all rules");
    assert!(any <= 2.5 && tested <= 2.5, "{tested} {any}");
}

#[test]
fn outliers_are_no_change() {
    let found = Truth { outliers: 0.03, ..NULL }.found(1_000);
    let (any, tested) = (pct(&found, any), pct(&found, |it| it.p <= MAX_P));
    println!("null and outliers: {tested:.1} % by the test, {any:.1} % with all rules");
    assert!(any <= 2.5 && tested <= 2.5, "{tested} {any}");
}

#[test]
fn a_step_of_five_per_cent_is_found_where_it_is() {
    for outliers in [0.0, 0.03] {
        let found = Truth { step: Some((40, 1.05)), outliers, ..NULL }.found(1_000);
        let near =
            |it: &SeriesChanges| it.changes.iter().any(|change| change.first.abs_diff(40) <= 2);
        let (any, near) = (pct(&found, any), pct(&found, near));
        println!("+5 % at 40, outliers {outliers}: {any:.1} % found, {near:.1} % within two runs");
        assert!(near >= 85.0, "{any} {near}");
        let once = pct(&found, |it| it.changes.len() <= 1);
        assert!(once >= 95.0, "{once}");
    }
}

/// Whether Student's t at the position where it is largest is significant at 0.001.
fn t_test_after_the_fact(series: &[RunValue]) -> bool {
    /// The two-sided 0.1 % quantile with 58 degrees of freedom.
    const T: f64 = 3.466;
    let logs = logs(series);
    (MIN_SEGMENT_POINTS..=logs.len() - MIN_SEGMENT_POINTS).any(|at| {
        let (x, y) = logs.split_at(at);
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let squares = |part: &[f64]| {
            let mean = mean(part);
            part.iter().map(|it| (it - mean).powi(2)).sum::<f64>()
        };
        let (n, m) = (x.len() as f64, y.len() as f64);
        let variance = (squares(x) + squares(y)) / (n + m - 2.0);
        (mean(x) - mean(y)).abs() > T * (variance * (1.0 / n + 1.0 / m)).sqrt()
    })
}

#[test]
fn a_t_test_at_the_largest_t_is_not_a_test_at_a_thousandth() {
    let plain = pct(&NULL.all(1_000), |it| t_test_after_the_fact(it));
    let strayed = Truth { outliers: 0.03, ..NULL }.all(1_000);
    let strayed = pct(&strayed, |it| t_test_after_the_fact(it));
    println!("t test at 0.1 %: {plain:.1} % of null, {strayed:.1} % with outliers");
    // Ten times the nominal level, and with outliers three times what S17 allows.
    assert!(plain >= 1.0 && strayed > 3.0 * 2.5, "{plain} {strayed}");
}

#[test]
fn among_many_series_the_few_with_a_change_are_found_and_few_others() {
    let changed = Truth { step: Some((40, 1.1)), ..NULL };
    let mut series = NULL.all(100);
    series.truncate(97);
    series.extend((500..503).map(|number| changed.series(number)));
    let found = changes(&series, SEED);
    // With the permutations for one series, three of a hundred could not be discoveries.
    assert!(found[97..].iter().flatten().all(|it| it.p < 0.005), "{:?}", &found[97..]);
    let found: Vec<usize> = (0..100).filter(|&at| found[at].as_ref().is_some_and(any)).collect();
    assert_eq!(found, [97, 98, 99]);
}

#[test]
fn all_changes_of_a_series_are_found_in_order_with_their_sizes() {
    let levels = [100.0, 110.0, 104.0];
    let mut series = NULL.series(7);
    for (at, point) in series.iter_mut().enumerate() {
        let noise = point.log - 100f64.ln();
        point.log = f64::ln(levels[at / 20]) + 0.25 * noise;
    }
    let found = alone(series.clone());
    assert_eq!(found.changes.iter().map(|it| it.first).collect::<Vec<_>>(), [20, 40]);
    for (change, pair) in found.changes.iter().zip(levels.windows(2)) {
        let truth = (pair[1] / pair[0]).ln();
        assert!((change.to - change.from - truth).abs() < 0.006, "{change:?}");
        assert!(change.interval.unwrap().contains(truth), "{change:?}");
    }
    // The same with older points in front, which are not searched but counted.
    let longer = [NULL.series(8), series].concat();
    let later: Vec<usize> = alone(longer).changes.iter().map(|it| it.first).collect();
    assert_eq!(later, [WINDOW_POINTS + 20, WINDOW_POINTS + 40]);
}

#[test]
fn a_seed_gives_the_same_result_alone_and_among_other_series() {
    let series = Truth { step: Some((30, 1.05)), ..NULL }.all(5);
    let once = changes(&series, SEED);
    assert_eq!(once, changes(&series, SEED));
    for (series, together) in series.into_iter().zip(once) {
        let found = alone(series);
        assert_eq!(found.changes, together.unwrap().changes);
    }
}

#[test]
fn below_ten_points_there_is_no_test_and_equal_points_have_no_change() {
    let equal =
        |count: usize| vec![RunValue { log: 4.6, relative_half_width: None, started: None }; count];
    for count in 0..MIN_POINTS {
        assert_eq!(changes(&[equal(count)], SEED), [None]);
    }
    for count in [10, 11, 60, 200] {
        let found = alone(equal(count));
        assert_eq!((found.changes.len(), found.p, found.q), (0, 1.0, 1.0));
    }
    // Counts repeat to the last digit, so a different one is a change from its first run on.
    let mut counts = equal(30);
    counts.iter_mut().for_each(|point| point.relative_half_width = Some(0.0));
    counts[24..].iter_mut().for_each(|point| point.log += 0.03);
    let found = alone(counts);
    assert_eq!(found.changes.len(), 1);
    assert!(found.changes[0].first == 24 && found.p < 0.002, "{found:?}");
}

#[test]
fn a_clear_step_among_few_points_is_found_if_its_p_is_below_a_hundredth() {
    for points in 10..=24 {
        for at in MIN_SEGMENT_POINTS..=points - MIN_SEGMENT_POINTS {
            // All points differ, including neighbours and ends.
            let log = |of: usize| (of * 7 % 11) as f64 / 1e3 + if of < at { 0.0 } else { 1.0 };
            let series = (0..points).map(|of| RunValue {
                log: log(of),
                relative_half_width: None,
                started: None,
            });
            let series = Series::of(&series.collect::<Vec<_>>(), SEED).unwrap();
            // Two of all choices of the points on one side.
            let choices: f64 = (1..=at).map(|k| (points - at + k) as f64 / k as f64).product();
            let (split, exact) = (series.split(&series.whole(), 0), 2.0 / choices);
            assert_eq!(split.at, at, "{points} points");
            assert_eq!(split.p <= MAX_P, exact <= MAX_P, "{points} at {at}: {}", split.p);
        }
    }
}

#[test]
fn a_figure_that_is_not_finite_is_refused_and_does_not_affect_other_series() {
    let good = Truth { step: Some((40, 1.1)), ..NULL }.series(1);
    for wrong in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut bad = good.clone();
        bad[50].log = wrong;
        let found = changes(&[bad.clone(), good.clone()], SEED);
        assert_eq!(found, [None, Some(alone(good.clone()))]);
        assert_eq!(recent_shift(&bad), None);
    }
}

#[test]
fn an_invalid_half_width_is_ignored() {
    let mut good = Truth { step: Some((40, 1.1)), ..NULL }.series(1);
    good[50].relative_half_width = None;
    for wrong in [f64::NAN, f64::INFINITY, -1.0] {
        let mut bad = good.clone();
        bad[50].relative_half_width = Some(wrong);
        assert_eq!(alone(bad), alone(good.clone()));
    }
}

#[test]
fn a_change_below_two_per_cent_or_below_two_intervals_is_not_reported() {
    let step = |times: f64, half_width: f64| {
        let mut series = NULL.series(3);
        for (at, point) in series.iter_mut().enumerate() {
            let noise = 0.1 * (point.log - 100f64.ln());
            let level = if at < 30 { 0.0 } else { times.ln() };
            *point = RunValue {
                log: level + noise,
                relative_half_width: Some(half_width),
                started: None,
            };
        }
        let found = alone(series);
        assert!(found.p <= MAX_P, "{found:?}");
        found.changes.len()
    };
    assert_eq!([step(1.015, 0.005), step(1.025, 0.005), step(1.025, 0.02)], [0, 1, 0]);
    assert_eq!(step(1.05, 0.02), 1);
}

#[test]
fn an_uncertain_run_has_less_weight() {
    let counted = |half_width: f64| {
        let mut series = NULL.series(5);
        series.iter_mut().for_each(|point| point.relative_half_width = Some(0.01));
        series[50].relative_half_width = Some(half_width);
        weights(&series)[50]
    };
    let weights = [0.0125, 0.01, 0.0001, 0.02, 1e6].map(counted);
    assert!((weights[0] - 0.64).abs() < 1e-9, "{weights:?}");
    assert_eq!(weights[1..], [1.0, 1.0, 0.25, 0.25]);
    // Five uncertain outliers among the last nine are a change only with full weight.
    let strays = |half_width: f64| {
        let mut series = NULL.series(5);
        for at in [51, 53, 55, 56, 58] {
            series[at].log += 0.15;
            series[at].relative_half_width = Some(half_width);
        }
        alone(series).p
    };
    assert!(strays(0.007) <= MAX_P && strays(0.15) > MAX_P, "{}", strays(0.15));
}

#[test]
fn a_figure_that_becomes_higher_and_less_certain_has_changed() {
    for at in [20, 40] {
        let mut series = Truth { step: Some((at, 1.3)), ..NULL }.all(200);
        let after = series.iter_mut().flat_map(|it| &mut it[at..]);
        after.for_each(|point| {
            point.relative_half_width = point.relative_half_width.map(|it| 10.0 * it)
        });
        let found: Vec<SeriesChanges> = series.into_iter().map(alone).collect();
        let found = pct(&found, |it| it.changes.iter().any(|it| it.first.abs_diff(at) <= 1));
        assert!(found >= 98.0, "{found} at {at}");
    }
}

#[test]
fn invalid_or_extreme_half_widths_cause_no_change() {
    let mut series = [NULL.all(400), NULL.all(400)];
    // Two of the last three have almost no weight; or all but one, compared with which they would.
    for it in &mut series[0] {
        [it[57].relative_half_width, it[59].relative_half_width] = [Some(1e5), Some(1e12)];
    }
    for (at, it) in series[1].iter_mut().flat_map(|it| it.iter_mut().enumerate()) {
        it.relative_half_width = Some(if at < 40 { 1e-16 } else { 0.01 });
    }
    for series in series {
        let found: Vec<SeriesChanges> = series.into_iter().map(alone).collect();
        let tested = pct(&found, |it| it.p <= MAX_P);
        assert!(tested <= 2.5, "{tested}");
    }
}

#[test]
fn a_change_of_the_spread_alone_is_no_change() {
    let mut series = NULL.all(300);
    for point in series.iter_mut().flat_map(|it| &mut it[30..]) {
        point.log = 100f64.ln() + 6.0 * (point.log - 100f64.ln());
    }
    let found: Vec<SeriesChanges> = series.into_iter().map(alone).collect();
    let (tested, any) = (pct(&found, |it| it.p <= MAX_P), pct(&found, any));
    println!("spreads of one level: {tested:.1} % by the test, {any:.1} % with all rules");
    assert!(tested > 5.0 && any <= tested / 2.0, "{tested} {any}");
}

/// The share that would be found if all runs were treated as independent.
fn as_if_independent(truth: &Truth, count: u64) -> f64 {
    pct(&truth.all(count), |runs| {
        let apart: Vec<RunValue> =
            runs.iter().map(|run| RunValue { started: None, ..*run }).collect();
        let series = Series::of(&apart, SEED).unwrap();
        series.split(&series.whole(), 0).p <= MAX_P
    })
}

#[test]
fn autocorrelated_runs_are_no_change_and_hide_none() {
    for (keeps, max_any, min_apart) in [(0.3, 3.0, 6.0), (0.6, 8.0, 30.0)] {
        let truth = Truth { keeps, ..NULL };
        let found = truth.found(1_000);
        let (tested, any) = (pct(&found, |it| it.p <= MAX_P), pct(&found, any));
        let apart = as_if_independent(&truth, 1_000);
        println!("AR(1) {keeps}: {tested:.1} % by the test, {any:.1} % with all rules");
        println!("    as if independent: {apart:.1} %");
        assert!(any <= max_any && apart >= min_apart, "{any} {apart}");
    }
    let found = Truth { keeps: 0.3, step: Some((40, 1.05)), ..NULL }.found(300);
    let near = |it: &SeriesChanges| it.changes.iter().any(|change| change.first.abs_diff(40) <= 2);
    let (reported, near) = (pct(&found, |it| it.autocorrelation.is_some()), pct(&found, near));
    assert!(reported >= 70.0 && near >= 85.0, "{reported} {near}");
}

#[test]
fn consecutive_runs_are_one_point() {
    let days = Truth { days: Some((5, 0.02, 0.005)), points: 300, ..NULL };
    let found = days.found(500);
    let (any, apart) = (pct(&found, any), as_if_independent(&days, 200));
    println!("60 days of 5 runs: {any:.1} %, and {apart:.1} % as if independent");
    assert!(any <= 2.5 && apart >= 30.0, "{any} {apart}");
    // Six days are too few for a test.
    let six = Truth { days: Some((10, 0.02, 0.005)), ..NULL };
    assert!(six.all(100).into_iter().all(|runs| changes(&[runs], SEED) == [None]));
    assert!(as_if_independent(&six, 200) >= 80.0);

    let step = Truth { step: Some((200, 1.1)), ..days };
    let found = alone(step.series(1));
    assert_eq!((found.points, found.changes.len(), found.changes[0].first), (60, 1, 200));
    let newest = Truth { step: Some((285, 1.2)), ..step };
    assert_eq!(recent_shift(&newest.series(1)).map(|it| it.first), Some(285));
}

#[test]
fn a_burst_is_an_hour_long_and_its_point_is_its_median() {
    let run = |seconds: u64, log: f64, half_width: f64| RunValue {
        log,
        relative_half_width: Some(half_width),
        started: Some(UNIX_EPOCH + Duration::from_secs(seconds)),
    };
    let mut runs = vec![
        run(9_000, 1.0, 0.1),
        run(9_000, 3.0, 0.3),
        run(12_599, 9.0, 0.2),
        run(12_600, 4.0, 0.1),
    ];
    // An earlier one, as from another clock, and two without a start time.
    runs.push(run(100, 5.0, 0.1));
    runs.extend([RunValue { started: None, ..runs[0] }; 2]);
    let points = merge_bursts(&runs).unwrap();
    assert_eq!(points.iter().map(|it| it.first_run).collect::<Vec<_>>(), [0, 3, 4, 5, 6]);
    assert_eq!((points[0].value.log, points[0].value.relative_half_width), (3.0, Some(0.2)));
}

#[test]
fn short_series_are_not_counted_in_the_correction_and_its_cost_is_reported() {
    let changed = Truth { step: Some((6, 1.2)), points: 12, ..NULL };
    let short = vec![Truth { points: 9, ..NULL }.series(1); 50];
    let found = changes(&[short, vec![changed.series(2)]].concat(), SEED);
    assert!(found[..50].iter().all(Option::is_none));
    let last = found[50].as_ref().unwrap();
    assert!(
        last.p == last.q && last.changes.len() == 1 && !last.rejected_by_correction,
        "{last:?}"
    );
    // Among forty series, one p of 2 / 924 is not a discovery.
    let found = changes(&[NULL.all(40), vec![changed.series(2)]].concat(), SEED);
    let last = found[40].as_ref().unwrap();
    assert!(last.p <= MAX_P && last.changes.is_empty() && last.rejected_by_correction, "{last:?}");
    assert_eq!(found.iter().flatten().filter(|it| it.rejected_by_correction).count(), 1);
}

#[test]
fn the_newest_three_points_raise_a_false_alarm_at_most_once_in_forty_runs() {
    let elsewhere_in = |truth: &Truth| {
        pct(&(0..4_000).map(|it| truth.series(it)).collect::<Vec<_>>(), |it| {
            recent_shift(it).is_some()
        })
    };
    let recent = |times| Truth {
        points: PRECEDING_POINTS + NEWEST_POINTS,
        step: Some((PRECEDING_POINTS, times)),
        ..NULL
    };
    let (nothing, five, ten) =
        (elsewhere_in(&recent(1.0)), elsewhere_in(&recent(1.05)), elsewhere_in(&recent(1.1)));
    println!("newest three: {nothing:.1} % of null, {five:.1} % of +5 %, {ten:.1} % of +10 %");
    assert!(nothing <= 2.4 && five > 60.0 && ten > 95.0, "{nothing} {five} {ten}");
    let [some, much] = [0.3, 0.6].map(|keeps| {
        elsewhere_in(&Truth { keeps, points: PRECEDING_POINTS + NEWEST_POINTS, ..NULL })
    });
    println!("newest three, autocorrelated: {some:.1} and {much:.1} % of null");
    assert!(some <= 3.0 && much <= 4.0, "{some} {much}");
    assert_eq!(recent_shift(&NULL.series(1)[..PRECEDING_POINTS + NEWEST_POINTS - 1]), None);
}
