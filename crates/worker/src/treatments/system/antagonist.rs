//! A noisy neighbour: a process that keeps a CPU busy.

use std::hint::black_box;

use oscost_model::treatment::AntagonistLoad;

use crate::kernel::because::unfit;
use crate::kernel::cpu::affinity;
use crate::kernel::process::signal;
use crate::kernel::process::{self, Ended, Whose};
use crate::kernel::{Errno, syscall};

/// More memory than any cache holds.
const MEMORY_BYTES: usize = 64 << 20;
/// No cache line is shorter.
const LINE_BYTES: usize = 64;

/// The CPUs that a neighbour is placed by.
#[derive(Clone, Copy, Debug, Default)]
pub struct AntagonistCpus {
    /// Where it is measured; `None` for wherever the scheduler puts it.
    pub measured: Option<u32>,
    /// Where a neighbour goes that has another one; `None` for the last that may be used.
    pub other: Option<u32>,
}

/// A process of ours. Dropping it ends it; it ends with us, too.
pub(super) struct Antagonist(u32);

/// Starts those that there are to be: one on the measured CPU, or on another. Where none is
/// measured (a command that runs where it likes), the same one is any: there is one on each.
pub(super) fn start(
    does: AntagonistLoad,
    same_cpu: bool,
    cpus: AntagonistCpus,
) -> Result<Vec<Antagonist>, Errno> {
    let allowed = affinity::allowed_to(0)?;
    let places = antagonist_cpus(same_cpu, cpus, &allowed);
    places.into_iter().map(|cpu| Antagonist::start(does, cpu)).collect()
}

/// The CPUs of the neighbours.
fn antagonist_cpus(same_cpu: bool, cpus: AntagonistCpus, allowed: &[u32]) -> Vec<u32> {
    let another = || allowed.iter().rev().copied().find(|&cpu| Some(cpu) != cpus.measured);
    match (same_cpu, cpus.measured) {
        (true, None) => allowed.to_vec(),
        (true, measured) => measured.into_iter().collect(),
        // Where there is only one, they share it.
        (false, measured) => cpus.other.or_else(another).or(measured).into_iter().collect(),
    }
}

impl Antagonist {
    fn start(does: AntagonistLoad, cpu: u32) -> Result<Self, Errno> {
        let us = std::process::id();
        let neighbour = Self(process::fork(|| match process::die_with(us) {
            Ok(()) => generate_load(does),
            Err(_) => 1,
        })?);
        affinity::pin_task(neighbour.0, cpu)?;
        Ok(neighbour)
    }

    /// Ends it. The error is that it had ended before: whatever was measured since then was
    /// measured without it.
    pub(super) fn end(self) -> Result<(), Errno> {
        match process::wait(Whose::Child(self.0), false)? {
            None => Ok(()),
            Some((_, ended)) => {
                // Reaped: its number may be somebody else's by now.
                std::mem::forget(self);
                let how = match ended {
                    Ended::Killed(by) => format!("was killed by {}", signal::name(by)),
                    Ended::Exited(status) => format!("exited with {status}"),
                };
                Err(unfit(format!("the noisy neighbour {how} before its time")))
            }
        }
    }
}

/// Makes noise until it is killed.
fn generate_load(does: AntagonistLoad) -> ! {
    match does {
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
            // It cannot fail, and nobody wants to know.
            let _ = syscall::getppid();
        },
    }
}

impl Drop for Antagonist {
    fn drop(&mut self) {
        process::kill(self.0);
        // It was our child and is now ended: there is nothing left to know.
        let _ = process::wait(Whose::Child(self.0), true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_that_was_killed_before_its_time_is_noticed() {
        process::alone(|| {
            let allowed = affinity::allowed_to(0).unwrap();
            let start = || Antagonist::start(AntagonistLoad::Syscalls, allowed[0]).unwrap();
            start().end().unwrap();
            let killed = start();
            process::kill(killed.0);
            // Killed is not yet ended.
            while !std::fs::read_to_string(format!("/proc/{}/stat", killed.0))
                .unwrap()
                .contains(") Z")
            {
                std::thread::yield_now();
            }
            let why = killed.end().unwrap_err().to_string();
            assert!(why.contains("the noisy neighbour was killed by SIGKILL"), "{why}");
        });
    }

    #[test]
    fn a_neighbour_shares_the_measured_cpu_or_has_another_where_there_is_one() {
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
