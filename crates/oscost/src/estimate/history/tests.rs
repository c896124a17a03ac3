//! Intervals between the runs of made-up series.

use super::*;
use crate::estimate::made_up_series::series_of;

/// A series of runs with these figures, each known to 1 % by its own repetitions.
fn series(figures: &[f64]) -> Series {
    let point = |median: &f64| Point {
        run: String::new(),
        started: String::new(),
        median: *median,
        interval: Some([0.995 * median, 1.005 * median]),
        between_run_ci95: None,
        class: None,
        imported: false,
        counts: None,
    };
    series_of(figures.iter().map(point).collect())
}

fn change(point: usize) -> Change {
    Change {
        point,
        before: String::new(),
        after: String::new(),
        from: 100.0,
        to: 150.0,
        ratio: 1.5,
        ci95: None,
        p: 0.001,
        q: 0.001,
        decomposition: None,
        not_decomposed: None,
        counted_runs: None,
    }
}

#[test]
fn runs_that_vary_more_than_their_repetitions_have_wider_intervals_between_runs() {
    let mut varying = series(&[95.0, 105.0, 97.0, 103.0, 95.0, 105.0, 100.0]);
    varying.set_intervals_between_runs();
    let [low, high] = varying.points[6].between_run_ci95.unwrap();
    assert!(low < 92.0 && high > 108.0, "{low} {high}");
    assert!((0.03..0.06).contains(&varying.between_run_sd.unwrap()));
    // Runs that agree leave open what each of them does.
    let mut equal = series(&[100.0; 7]);
    equal.set_intervals_between_runs();
    assert_eq!(equal.between_run_sd, Some(0.0));
    let [low, high] = equal.points[6].between_run_ci95.unwrap();
    assert!((99.4..=99.5).contains(&low) && (100.5..100.6).contains(&high), "{low} {high}");
}

#[test]
fn a_change_of_the_level_is_no_variation_between_runs() {
    let levels = [[100.0, 101.0, 99.0, 100.0], [150.0, 151.5, 148.5, 150.0]].concat();
    let mut changed = series(&levels);
    changed.changes = vec![change(4)];
    changed.set_intervals_between_runs();
    assert!(changed.between_run_sd.unwrap() < 0.02, "{changed:?}");
    changed.changes.clear();
    changed.set_intervals_between_runs();
    assert!(changed.between_run_sd.unwrap() > 0.1, "{changed:?}");
}

#[test]
fn too_few_runs_of_a_level_do_not_show_how_far_they_vary() {
    let mut few = series(&[100.0, 104.0, 96.0, 100.0, 103.0]);
    few.set_intervals_between_runs();
    assert!(few.points.iter().all(|it| it.between_run_ci95.is_none()));
    assert_eq!(few.between_run_sd, None);
    let mut none = series(&[]);
    none.set_intervals_between_runs();
    assert_eq!(none.between_run_sd, None);
}
