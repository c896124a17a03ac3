//! How far figures vary between runs before a case has runs of its own: by the class of its cost
//! and by how many CPUs it uses.

use std::sync::LazyLock;

use oscost_model::record::Row;
use oscost_stats::between_runs::Prior;
use serde::Deserialize;

/// The measured deviations, with their provenance.
const DATA: &str = include_str!("class_variation.toml");

/// How many degrees of freedom a prior is worth: few, since the cases of a class differ in how far
/// they vary (docs/explanation/METHOD.md, section 11).
const DEGREES_OF_FREEDOM: f64 = 4.0;

static CLASSES: LazyLock<Classes> = LazyLock::new(|| {
    // A test reads the file. Without it nothing could be claimed.
    toml::from_str(DATA).unwrap_or(Classes { other: 1.0, classes: Vec::new() })
});

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    /// The deviation of cases of no class.
    other: f64,
    #[serde(rename = "class")]
    classes: Vec<Class>,
}

/// The deviation of a class.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Class {
    /// `user`, `vdso`, `light`, `heavy` or `blocking`, as in the record.
    class: String,
    /// 1, or 2 if the peer is on another CPU.
    cpus: u8,
    /// The standard deviation of the logarithms between runs.
    deviation: f64,
}

/// The variation between runs of cases like this one.
pub(in crate::estimate) fn prior(row: &Row) -> Prior {
    let cpus = if is_on_two_cpus(row) { 2 } else { 1 };
    let name = row.class.as_deref();
    let class = CLASSES.classes.iter().find(|it| Some(&*it.class) == name && it.cpus == cpus);
    let deviation = class.map_or(CLASSES.other, |it| it.deviation);
    Prior { deviation, degrees_of_freedom: DEGREES_OF_FREEDOM }
}

/// Whether the op has a peer on another CPU.
fn is_on_two_cpus(row: &Row) -> bool {
    row.point.get("peer_cpu").is_some_and(|value| value.to_string() == "other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_a_plausible_deviation() {
        let read: Classes = toml::from_str(DATA).unwrap();
        let all = read.classes.iter().map(|it| it.deviation).chain([read.other]);
        assert!(all.into_iter().all(|it| (0.001..1.0).contains(&it)), "{read:?}");
        for name in ["user", "vdso", "light", "heavy", "blocking"] {
            assert!(read.classes.iter().any(|it| it.class == name && it.cpus == 1), "{name}");
        }
        let widest = read.classes.iter().map(|it| it.deviation).fold(0.0, f64::max);
        assert_eq!(read.other, widest, "a case of no class may be of any");
    }
}
