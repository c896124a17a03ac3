//! How far the statistics of studies vary between runs before a claim has runs of its own: a minimum over
//! all ops, and a mean that contains interruptions, vary otherwise than the median.

use std::sync::LazyLock;

use oscost_model::record::Row;
use oscost_model::study_method::Statistic;
use serde::Deserialize;

use super::between_runs;

/// The measured deviations, with their provenance.
const DATA: &str = include_str!("statistic_variation.toml");

static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    // A test reads the file. Without it no claim could be decided.
    let unknown = Deviations { minimum: 1.0, mean: 1.0 };
    let empty = Classes { other: unknown, new_inodes: unknown, classes: Vec::new() };
    toml::from_str(DATA).unwrap_or(empty)
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    /// Of cases of no class.
    other: Deviations,
    /// Of cases that make and remove inodes.
    new_inodes: Deviations,
    #[serde(rename = "class")]
    classes: Vec<Class>,
}

/// Standard deviations of logarithms between runs.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Deviations {
    minimum: f64,
    mean: f64,
}

/// Those of a class.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    /// `user`, `vdso`, `light`, `heavy` or `blocking`, as in the record.
    class: String,
    /// 1, or 2 if the peer is on another CPU.
    cpus: u8,
    minimum: f64,
    mean: f64,
}

/// Benchmarks that make and remove an inode of the machine's file system.
const NEW_INODES: [&str; 5] = [
    "file/create-unlink",
    "directory/mkdir-rmdir",
    "directory/symlink-unlink",
    "file-system/create-unlink",
    "file-system/mkdir-rmdir",
];

/// The standard deviation between runs of the logarithm of a row's figure by the statistic of its study;
/// `None` if the record has no interval between runs of the row.
pub(in crate::studies) fn deviation(row: &Row, statistic: Statistic) -> Option<f64> {
    let of_median = between_runs::deviation(row)?;
    // A program has no class: what its runs show is all that is known.
    if row.primary_metric.is_some() {
        return Some(of_median);
    }
    let Deviations { minimum, mean } = prior(row);
    Some(match statistic {
        Statistic::Minimum => minimum,
        // What moves the median moves the mean, and what the median does not see comes in addition.
        Statistic::Mean | Statistic::MeanAndDeviation => mean.max(of_median),
    })
}

fn prior(row: &Row) -> Deviations {
    let is_on_two = row.point.get("peer_cpu").is_some_and(|value| value.to_string() == "other");
    let cpus = if is_on_two { 2 } else { 1 };
    let name = row.class.as_deref();
    let class = CLASSES.classes.iter().find(|it| Some(&*it.class) == name && it.cpus == cpus);
    let of_class = class.map_or(CLASSES.other, |it| {
        let Class { minimum, mean, .. } = *it;
        Deviations { minimum, mean }
    });
    let Deviations { minimum, mean } = CLASSES.new_inodes;
    match NEW_INODES.contains(&&*row.benchmark) {
        true => {
            Deviations { minimum: of_class.minimum.max(minimum), mean: of_class.mean.max(mean) }
        }
        false => of_class,
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::seed::Seed;
    use oscost_stats::interval::{Interval, Nominal};

    use super::*;
    use crate::studies::test_record::{measured_row, stored_record};

    /// A row of a class whose median varies by this deviation between runs.
    fn row(class: &str, of_median: f64) -> Row {
        let mut row = measured_row(&stored_record(), "a", &[100.0; 6]);
        row.class = Some(class.to_owned());
        let estimate = row.estimate.as_mut().unwrap();
        let half = 2.776 * of_median;
        estimate.ci95 = Some([100.0; 2]);
        estimate.between_run_ci95 = Some([100.0 * (-half).exp(), 100.0 * half.exp()]);
        row
    }

    #[test]
    fn each_class_has_plausible_deviations() {
        let read: Classes = toml::from_str(DATA).unwrap();
        for it in &read.classes {
            assert!((0.001..1.0).contains(&it.minimum) && it.minimum < it.mean, "{it:?}");
            assert!(it.minimum <= read.other.minimum && it.mean <= read.other.mean, "{it:?}");
        }
        for name in ["user", "vdso", "light", "heavy", "blocking"] {
            assert!(read.classes.iter().any(|it| it.class == name && it.cpus == 1), "{name}");
        }
        let catalog = oscost_worker::benchmarks::data();
        assert!(NEW_INODES.iter().all(|id| catalog.get(id).is_some()));
    }

    #[test]
    fn a_minimum_and_a_mean_have_deviations_of_their_own() {
        let of = |row: &Row, statistic| deviation(row, statistic).unwrap();
        let steady = row("heavy", 0.002);
        assert_eq!(of(&steady, Statistic::Minimum), 0.055, "not that of a median that is known");
        assert_eq!(of(&steady, Statistic::Mean), 0.145);
        let varying = row("heavy", 0.3);
        assert_eq!(of(&varying, Statistic::Minimum), 0.055);
        assert!((of(&varying, Statistic::MeanAndDeviation) - 0.3).abs() < 1e-3);
        let mut two_cpus = row("blocking", 0.05);
        two_cpus.point = two_cpus.point.with("peer_cpu", "other");
        assert_eq!(of(&two_cpus, Statistic::Minimum), 0.2);
        let mut inodes = row("heavy", 0.05);
        inodes.benchmark = "file/create-unlink".to_owned();
        assert_eq!([Statistic::Minimum, Statistic::Mean].map(|it| of(&inodes, it)), [0.15, 0.4]);
        let mut program = row("heavy", 0.01);
        program.primary_metric = Some("real".to_owned());
        assert!((of(&program, Statistic::Minimum) - 0.01).abs() < 1e-4);
        program.estimate.as_mut().unwrap().between_run_ci95 = None;
        assert_eq!(deviation(&program, Statistic::Minimum), None);
    }

    #[test]
    fn an_interval_of_one_run_holds_the_long_run_minimum() {
        const CASES: u32 = 4_000;
        let mut seed = Seed::new(28);
        // The sum of twelve uniform deviates is nearly normal.
        let mut normal = || (0..12).map(|_| seed.unit()).sum::<f64>() - 6.0;
        // What was measured of the minima of three classes; cases differ in how far they vary.
        for (class, measured) in [("user", 0.032), ("light", 0.001), ("heavy", 0.027)] {
            // The median of such a row, by 20 earlier runs, varies by 0.2 %.
            let steady = row(class, 0.002);
            let of_minimum = deviation(&steady, Statistic::Minimum).unwrap();
            let of_median = between_runs::deviation(&steady).unwrap();
            let (mut held, mut held_by_median) = (0, 0);
            for _ in 0..CASES {
                let log = measured * (0.7 * normal()).exp() * normal();
                let within = Interval { lo: log, hi: log };
                let holds = |deviation: f64| {
                    between_runs::widened(log, within, deviation, Nominal::FIXED).contains(0.0)
                };
                held += u32::from(holds(of_minimum));
                held_by_median += u32::from(holds(of_median));
            }
            let share = |count: u32| f64::from(count) / f64::from(CASES);
            assert!(share(held) >= 0.93, "{class}: {}", share(held));
            // The control: what is known of the median.
            assert!(class == "light" || share(held_by_median) < 0.4, "{class}");
        }
    }
}
