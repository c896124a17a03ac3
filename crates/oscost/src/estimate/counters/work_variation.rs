//! How far the instructions of a case vary between runs of one boot: by its class, and by earlier runs.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use oscost_model::record::Row;
use oscost_stats::between_runs::{Prior, RunMedian, RunVariation};
use serde::Deserialize;

/// The measured deviations, with their provenance.
const DATA: &str = include_str!("work_variation.toml");

/// How many degrees of freedom a prior is worth: as few as that of times.
const DEGREES_OF_FREEDOM: f64 = 4.0;

static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    // A test reads the file. Without it nothing could be claimed.
    toml::from_str(DATA).unwrap_or_else(|_| Classes { other: 1.0, class: BTreeMap::new() })
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    /// The deviation of cases of no class.
    other: f64,
    /// That of a class, by its name.
    class: BTreeMap<String, f64>,
}

/// The variation of the instructions of a case with these earlier runs, those of a boot in one item.
/// Boots differ by more than runs of one, so only what runs differ by within a boot counts.
pub(in crate::estimate) fn work_variation(row: &Row, boots: &[Vec<RunMedian>]) -> RunVariation {
    let of_class = row.class.as_ref().and_then(|class| CLASSES.class.get(class));
    let deviation = of_class.copied().unwrap_or(CLASSES.other);
    let prior = Prior { deviation, degrees_of_freedom: DEGREES_OF_FREEDOM };
    let boots: Vec<&[RunMedian]> = boots.iter().map(Vec::as_slice).collect();
    RunVariation::pooled(&boots, prior)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::made_up_rows::row;

    #[test]
    fn each_class_has_a_plausible_deviation_and_others_the_largest() {
        let read: Classes = toml::from_str(DATA).unwrap();
        for name in ["user", "vdso", "light", "heavy", "blocking"] {
            let deviation = read.class[name];
            assert!((0.000_1..0.01).contains(&deviation) && deviation <= read.other, "{name}");
        }
    }

    #[test]
    fn runs_within_a_boot_replace_the_class_as_they_accrue() {
        let deviation = |boots: &[Vec<RunMedian>]| {
            let RunVariation { deviation, degrees_of_freedom } =
                work_variation(&row("syscall/read", 100.0), boots);
            (deviation, degrees_of_freedom)
        };
        let (of_class, freedom) = deviation(&[]);
        assert!((of_class - 0.000_5).abs() < 1e-9 && freedom == 4.0, "{of_class} {freedom}");
        let runs = |of_boot: f64, step: f64| -> Vec<RunMedian> {
            let value = |at: u32| of_boot + step * f64::from(at % 2);
            let run = |at| RunMedian { value: value(at), standard_error: 0.0, count: 6 };
            (0..20).map(run).collect()
        };
        // Runs that differ by 0.6 %: 0.3 % around their mean.
        let (varying, freedom) = deviation(&[runs(0.0, 0.006)]);
        assert!((0.002_5..0.003_1).contains(&varying) && freedom == 23.0, "{varying} {freedom}");
        let (steady, _) = deviation(&[runs(0.0, 0.0), runs(0.2, 0.0)]);
        assert!(steady < 0.000_2, "what boots differ by does not count: {steady}");
    }
}
