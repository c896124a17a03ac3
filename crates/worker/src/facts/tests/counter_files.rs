//! The processor's counters in files.

use oscost_model::counters::CounterFacts;
use oscost_model::hash;

use super::Tree;
use crate::facts::counter_files::{gather, pmu_of};

#[test]
fn a_machine_with_one_kind_of_cores_has_one_kind_of_counters() {
    let tree = Tree::new().files(&[
        ("sys/bus/event_source/devices/cpu/type", "4\n"),
        ("sys/bus/event_source/devices/cpu/rdpmc", "1\n"),
        ("sys/bus/event_source/devices/uncore_imc/type", "12\n"),
        ("sys/bus/event_source/devices/uncore_imc/cpumask", "0\n"),
        ("sys/bus/event_source/devices/software/type", "1\n"),
        ("proc/sys/kernel/perf_event_paranoid", "2\n"),
        ("proc/sys/kernel/random/boot_id", "3a6f\n"),
    ]);
    let roots = tree.roots();
    let facts = gather(&roots);
    assert_eq!(facts.pmus, ["cpu"]);
    assert_eq!((facts.paranoid, facts.rdpmc), (Some(2), Some(true)));
    assert_eq!(facts.boot, Some(hash::content(b"3a6f")), "and not the id itself");
    assert_eq!(pmu_of(&roots, Some(0)), 0);
}

#[test]
fn the_counters_of_a_hybrid_processor_are_those_of_the_cpus_kind() {
    let tree = Tree::new().files(&[
        ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
        ("sys/bus/event_source/devices/cpu_core/cpus", "0-7\n"),
        ("sys/bus/event_source/devices/cpu_core/rdpmc", "0\n"),
        ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
        ("sys/bus/event_source/devices/cpu_atom/cpus", "8-15\n"),
    ]);
    let roots = tree.roots();
    let facts = gather(&roots);
    assert_eq!(facts.pmus, ["cpu_atom", "cpu_core"]);
    assert_eq!(pmu_of(&roots, Some(3)), 4);
    assert_eq!(pmu_of(&roots, Some(12)), 10);
    assert_eq!(pmu_of(&roots, None), 0, "on no CPU in particular the kernel chooses");
}

#[test]
fn a_machine_without_counters_has_none() {
    let tree = Tree::new().files(&[("sys/bus/event_source/devices/software/type", "1\n")]);
    assert_eq!(gather(&tree.roots()), CounterFacts::default());
}
