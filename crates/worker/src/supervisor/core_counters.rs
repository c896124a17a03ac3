//! Counters of the core that a worker is pinned to.
//!
//! Where kinds of cores have counters of their own, those of a kind count on its cores alone. So the
//! thread is on its CPU before any counter is opened: the modes that are tried, and what inheriting
//! the counters adds to a process, are those of that kind.

use crate::facts::{Roots, counter_files};
use crate::kernel::cpu::affinity::{self, OnCpuError};

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
        Some(cpu) => affinity::on_cpu(cpu, || open(pmu)).map_err(|error| match error {
            OnCpuError::Pin(error) => {
                format!(
                    "cannot pin the worker to CPU {cpu}, where its counters are opened: {error}"
                )
            }
            OnCpuError::Restore(error) => format!(
                "cannot release the worker from CPU {cpu}, where its counters were opened: \
                 {error}; its peer could run on no other CPU"
            ),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::tests::Tree;
    use crate::kernel::probe::seccomp::{self, NotifyMode};

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
        assert!(why.starts_with("cannot pin the worker to CPU 8191, where its counters"), "{why}");
        assert!(why.contains("Invalid argument"), "{why}");
    }

    #[test]
    fn an_affinity_mask_that_cannot_be_restored_is_named_and_not_the_counters() {
        // In a thread of its own, since a filter stays for as long as the thread.
        let test = std::thread::spawn(|| {
            let cpu = *affinity::allowed_cpus(0).unwrap().last().unwrap();
            let filter = forbidden(libc::SYS_sched_setaffinity as u32);
            let opened = open_on_cpu(&hybrid(cpu).roots(), Some(cpu), |_| {
                seccomp::install(&filter, NotifyMode::None).map(drop)
            });
            if let Ok(Err(error)) = opened {
                return eprintln!("not tested: a filter: {error}");
            }
            let why = opened.unwrap_err();
            let expected = format!("cannot release the worker from CPU {cpu}, where its counters");
            assert!(why.starts_with(&expected), "{why}");
            assert!(why.contains("Operation not permitted"), "{why}");
        });
        test.join().unwrap();
    }

    /// A filter that answers this call with EPERM and allows the others.
    fn forbidden(call: u32) -> [u64; 4] {
        const LOAD_NUMBER: u64 = 0x20 << 48;
        const SKIP_UNLESS: u64 = 0x15 << 48 | 1 << 32;
        const RETURN: u64 = 0x06 << 48;
        let refuse = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
        [
            LOAD_NUMBER,
            SKIP_UNLESS | u64::from(call),
            RETURN | u64::from(refuse),
            RETURN | u64::from(libc::SECCOMP_RET_ALLOW),
        ]
    }
}
