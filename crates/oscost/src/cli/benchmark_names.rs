//! Names of benchmarks where something else was expected.

use oscost_model::definition::Catalog;

use crate::app::list::definitions;

/// Whether a name is that of a family or of a benchmark, or the last part of one. Without a worker no
/// benchmark is known, and none is meant.
pub(super) fn is_benchmark(name: &str) -> bool {
    definitions().is_ok_and(|catalog| has_name(&catalog, name))
}

fn has_name(catalog: &Catalog, name: &str) -> bool {
    catalog.families.iter().any(|family| family.name == name)
        || catalog.benchmarks.iter().any(|it| {
            let last_part = it.id.split_once('/').map(|(_, part)| part);
            it.id == name || last_part == Some(name)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_ids_and_last_parts_are_names() {
        let catalog = oscost_worker::benchmarks::data();
        for name in ["timer", "syscall/getppid", "getppid"] {
            assert!(has_name(&catalog, name), "{name}");
        }
        for name in ["", "/", "getppid.json", "syscall/getpppid", "run"] {
            assert!(!has_name(&catalog, name), "{name}");
        }
    }
}
