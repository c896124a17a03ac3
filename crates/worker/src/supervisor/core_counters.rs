//! Counters of the core that a worker is pinned to.
//!
//! Where kinds of cores have counters of their own, those of a kind count on its cores alone. So the
//! thread is on its CPU before any counter is opened: the modes that are tried, and what inheriting
//! the counters adds to a process, are those of that kind.

use crate::facts::{Roots, counter_files};
use crate::kernel::cpu::affinity;

/// Opens counters on a CPU; `open` is given their number: see
/// [`Selection::pmu`](crate::kernel::probe::perf::Selection::pmu). Afterwards the thread may run where
/// it could before: the CPU of a peer is chosen from those.
pub(super) fn open_on_cpu<T>(
    roots: &Roots,
    cpu: Option<u32>,
    open: impl FnOnce(u32) -> T,
) -> Result<T, String> {
    let pmu = counter_files::pmu_of(roots, cpu);
    match cpu {
        None => Ok(open(pmu)),
        Some(cpu) => affinity::on_cpu(cpu, || open(pmu))
            .map_err(|error| format!("cannot open counters on CPU {cpu}: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::Tree;

    /// A hybrid processor, one of whose kinds is this CPU alone.
    fn hybrid(cpu: u32) -> Tree {
        let own = format!("{cpu}\n");
        let others = format!("{}-{}\n", cpu + 1, cpu + 8);
        Tree::new().files(&[
            ("sys/bus/event_source/devices/cpu_core/type", "4\n"),
            ("sys/bus/event_source/devices/cpu_core/cpus", &others),
            ("sys/bus/event_source/devices/cpu_atom/type", "10\n"),
            ("sys/bus/event_source/devices/cpu_atom/cpus", &own),
        ])
    }

    #[test]
    fn the_thread_is_on_its_cpu_before_counters_of_that_kind_are_opened() {
        let before = affinity::allowed_cpus(0).unwrap();
        // The last one: a thread that was not pinned would rarely be there.
        let cpu = *before.last().unwrap();
        let tree = hybrid(cpu);
        let opened = open_on_cpu(&tree.roots(), Some(cpu), |pmu| {
            (pmu, affinity::allowed_cpus(0).unwrap(), affinity::current_cpu())
        });
        assert_eq!(opened, Ok((10, vec![cpu], cpu as i32)));
        assert_eq!(affinity::allowed_cpus(0).unwrap(), before, "as before");
    }

    #[test]
    fn without_a_cpu_the_kernel_chooses_and_on_one_that_does_not_exist_nothing_is_opened() {
        let tree = hybrid(0);
        assert_eq!(open_on_cpu(&tree.roots(), None, |pmu| pmu), Ok(0));
        let never = |_| -> u32 { unreachable!("the thread is on no such CPU") };
        let why = open_on_cpu(&tree.roots(), Some(8_191), never).unwrap_err();
        assert!(why.starts_with("cannot open counters on CPU 8191: Invalid argument"), "{why}");
    }
}
