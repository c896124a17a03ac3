//! Antagonists ("noisy neighbours"): processes that keep a CPU busy.

use std::hint::black_box;

use oscost_model::treatment::AntagonistLoad;

use crate::kernel::cpu::affinity;
use crate::kernel::process::signal;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};
use crate::kernel::{Errno, syscall};

/// Larger than any cache.
const MEMORY_BYTES: usize = 64 << 20;
/// The shortest cache line.
const LINE_BYTES: usize = 64;

/// The CPUs from which those of the antagonists are chosen.
#[derive(Clone, Copy, Debug, Default)]
pub struct AntagonistCpus {
    /// The measured CPU; `None` if the measured process is not pinned.
    pub measured: Option<u32>,
    /// The CPU for an antagonist on another CPU; `None` for the last allowed one.
    pub other: Option<u32>,
}

/// A child process. Dropping it kills it; it dies with this process, too.
pub(super) struct Antagonist(u32);

/// Starts the antagonists: one on the measured CPU or on another. If the measured process is not
/// pinned, "the same CPU" may be any: one antagonist runs on each.
pub(super) fn start(
    load: AntagonistLoad,
    same_cpu: bool,
    cpus: AntagonistCpus,
) -> Result<Vec<Antagonist>, Errno> {
    let allowed = affinity::allowed_cpus(0)?;
    let cpus = antagonist_cpus(same_cpu, cpus, &allowed);
    cpus.into_iter().map(|cpu| Antagonist::start(load, cpu)).collect()
}

/// The CPUs of the antagonists.
fn antagonist_cpus(same_cpu: bool, cpus: AntagonistCpus, allowed: &[u32]) -> Vec<u32> {
    let another = || allowed.iter().rev().copied().find(|&cpu| Some(cpu) != cpus.measured);
    match (same_cpu, cpus.measured) {
        (true, None) => allowed.to_vec(),
        (true, measured) => measured.into_iter().collect(),
        // On a machine with one CPU they share it.
        (false, measured) => cpus.other.or_else(another).or(measured).into_iter().collect(),
    }
}

impl Antagonist {
    fn start(load: AntagonistLoad, cpu: u32) -> Result<Self, Errno> {
        let us = std::process::id();
        let antagonist = Self(process::fork(|| match process::die_with_parent(us) {
            Ok(()) => generate_load(load),
            Err(_) => 1,
        })?);
        affinity::pin_task(antagonist.0, cpu)?;
        Ok(antagonist)
    }

    /// Kills it. An error means that it had already ended: what was measured since then was
    /// measured without it.
    pub(super) fn end(self) -> Result<(), Errno> {
        match process::wait(WaitTarget::Child(self.0), false)? {
            None => Ok(()),
            Some(EndedChild { termination, .. }) => {
                // Reaped: its number may have been reused.
                std::mem::forget(self);
                let end = match termination {
                    Termination::Killed(by) => format!("was killed by {}", signal::name(by)),
                    Termination::Exited(status) => format!("exited with {status}"),
                };
                Err(Errno::check_failed(format!(
                    "the noisy neighbour {end} before the measurement was over"
                )))
            }
        }
    }
}

/// Generates load until it is killed.
fn generate_load(load: AntagonistLoad) -> ! {
    match load {
        AntagonistLoad::Cpu => {
            let mut value = 1u64;
            loop {
                value = black_box(value.wrapping_mul(3));
            }
        }
        AntagonistLoad::Memory => {
            let mut memory = vec![1u8; MEMORY_BYTES];
            loop {
                for line in memory.chunks_exact_mut(LINE_BYTES) {
                    line[0] = line[0].wrapping_add(1);
                }
                black_box(&mut memory);
            }
        }
        AntagonistLoad::Syscalls => loop {
            // getppid(2) cannot fail.
            let _ = syscall::getppid();
        },
    }
}

impl Drop for Antagonist {
    fn drop(&mut self) {
        process::kill_and_reap(self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_antagonist_that_was_killed_early_is_reported() {
        process::in_own_process(|| {
            let allowed = affinity::allowed_cpus(0).unwrap();
            let start = || Antagonist::start(AntagonistLoad::Syscalls, allowed[0]).unwrap();
            start().end().unwrap();
            let killed = start();
            process::kill(killed.0);
            // A killed process needs a moment to become a zombie.
            while !std::fs::read_to_string(format!("/proc/{}/stat", killed.0))
                .unwrap()
                .contains(") Z")
            {
                std::thread::yield_now();
            }
            let reason = killed.end().unwrap_err().to_string();
            assert!(reason.contains("the noisy neighbour was killed by SIGKILL"), "{reason}");
        });
    }

    #[test]
    fn an_antagonist_shares_the_measured_cpu_or_has_another_if_there_is_one() {
        let at = |measured, other| AntagonistCpus { measured, other };
        assert_eq!(antagonist_cpus(true, at(Some(1), None), &[0, 1]), [1]);
        assert_eq!(antagonist_cpus(false, at(Some(1), None), &[0, 1]), [0]);
        assert_eq!(antagonist_cpus(false, at(Some(0), None), &[0, 1, 2]), [2]);
        assert_eq!(antagonist_cpus(false, at(Some(0), Some(1)), &[0, 1, 2]), [1]);
        assert_eq!(antagonist_cpus(false, at(Some(3), None), &[3]), [3]);
        assert_eq!(antagonist_cpus(true, at(None, None), &[0, 1]), [0, 1]);
        assert_eq!(antagonist_cpus(false, at(None, None), &[0, 1]), [1]);
    }
}
