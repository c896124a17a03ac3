//! How far figures vary between runs before a case has runs of its own: by the class of its cost,
//! by how many CPUs it uses, and by whether it makes and removes inodes of the machine's file system.

use std::collections::BTreeMap;
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
    toml::from_str(DATA).unwrap_or_else(|_| Classes { other: 1.0, ..Classes::default() })
});

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Classes {
    /// The deviation of cases of no class.
    other: f64,
    #[serde(rename = "class")]
    classes: Vec<Class>,
    new_inodes: NewInodes,
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

/// Acts that make and remove an inode of the file system that the machine works on.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct NewInodes {
    /// The standard deviation of the logarithms between runs.
    deviation: f64,
    benchmarks: Vec<String>,
    /// The values of axes with which they work on another file system: one in memory, or a new one.
    elsewhere: BTreeMap<String, Vec<String>>,
}

impl NewInodes {
    fn contain(&self, row: &Row) -> bool {
        let is_elsewhere = |(axis, values): (&String, &Vec<String>)| {
            row.point.get(axis).is_some_and(|value| values.contains(&value.to_string()))
        };
        self.benchmarks.contains(&row.benchmark) && !self.elsewhere.iter().any(is_elsewhere)
    }
}

/// The variation between runs of cases like this one.
pub(in crate::estimate) fn prior(row: &Row) -> Prior {
    let cpus = if is_on_two_cpus(row) { 2 } else { 1 };
    let name = row.class.as_deref();
    let class = CLASSES.classes.iter().find(|it| Some(&*it.class) == name && it.cpus == cpus);
    let of_class = class.map_or(CLASSES.other, |it| it.deviation);
    let deviation = match CLASSES.new_inodes.contain(row) {
        true => of_class.max(CLASSES.new_inodes.deviation),
        false => of_class,
    };
    Prior { deviation, degrees_of_freedom: DEGREES_OF_FREEDOM }
}

/// Whether the op has a peer on another CPU.
fn is_on_two_cpus(row: &Row) -> bool {
    row.point.get("peer_cpu").is_some_and(|value| value.to_string() == "other")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::made_up_rows::row;

    #[test]
    fn each_class_has_a_plausible_deviation() {
        let read: Classes = toml::from_str(DATA).unwrap();
        let others = [read.other, read.new_inodes.deviation];
        let all = read.classes.iter().map(|it| it.deviation).chain(others);
        assert!(all.into_iter().all(|it| (0.001..1.0).contains(&it)), "{read:?}");
        for name in ["user", "vdso", "light", "heavy", "blocking"] {
            assert!(read.classes.iter().any(|it| it.class == name && it.cpus == 1), "{name}");
        }
        let widest = read.classes.iter().map(|it| it.deviation).fold(0.0, f64::max);
        assert_eq!(read.other, widest, "a case of no class may be of any");
    }
    #[test]
    fn a_case_that_makes_inodes_on_the_disk_varies_by_more_than_its_class() {
        let of = |case: &str, point: serde_json::Value| {
            let row = Row { point: serde_json::from_value(point).unwrap(), ..row(case, 10_000.0) };
            prior(&row).deviation
        };
        let light = 0.05;
        let empty = serde_json::json!({});
        assert_eq!(of("syscall/read", empty.clone()), light);
        for case in ["file/create-unlink", "directory/mkdir-rmdir"] {
            assert!(of(case, empty.clone()) > 0.5, "{case}");
            assert_eq!(of(case, serde_json::json!({"directory": "tmpfs"})), light);
        }
        let of_file_system =
            |fs: &str| of("file-system/mkdir-rmdir", serde_json::json!({"fs": fs}));
        assert!(of_file_system("disk") > 0.5);
        assert_eq!(["ext4", "tmpfs"].map(of_file_system), [light; 2], "a new one, or none");
        assert_eq!(of("file/rename", empty), light, "no inode is made");
    }

    #[test]
    fn the_named_benchmarks_and_axes_exist() {
        let catalog = oscost_worker::benchmarks::data();
        let read: Classes = toml::from_str(DATA).unwrap();
        for id in &read.new_inodes.benchmarks {
            let found = catalog.get(id).unwrap();
            let has_axis = |axis: &String| found.axes.iter().any(|it| it.name == *axis);
            assert!(read.new_inodes.elsewhere.keys().any(has_axis), "{id}");
        }
    }
}
