//! CPU affinity: where a task may run.

use crate::kernel::Errno;
use crate::kernel::arch;

/// One more than the highest CPU number that a mask here can name; `cpu_set_t` ends at 1024.
const MAX_CPU: u32 = 8_192;
const WORDS: usize = MAX_CPU as usize / 64;

/// A bit for each CPU.
type Mask = [u64; WORDS];

/// Why an act on a CPU has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnCpuError {
    /// The thread could not be pinned, and has not acted.
    Pin(Errno),
    /// It has acted, and stays on that CPU: its former mask could not be restored.
    Restore(Errno),
}

/// Pins the calling thread to one CPU.
pub fn pin(cpu: u32) -> Result<(), Errno> {
    pin_task(0, cpu)
}

/// Pins a task to one CPU, which also moves it there.
pub fn pin_task(task: u32, cpu: u32) -> Result<(), Errno> {
    set_mask(task, &mask_of(&[cpu])?)
}

/// Lets the calling thread, and the processes that it creates from now on, run on these CPUs alone.
pub fn restrict_to(cpus: &[u32]) -> Result<(), Errno> {
    set_mask(0, &mask_of(cpus)?)
}

fn mask_of(cpus: &[u32]) -> Result<Mask, Errno> {
    let mut mask = [0u64; WORDS];
    for &cpu in cpus {
        let word = mask.get_mut(cpu as usize / 64).ok_or(Errno::EINVAL)?;
        *word |= 1 << (cpu % 64);
    }
    Ok(mask)
}

/// Acts while the calling thread is pinned to a CPU; afterwards it may run where it could before.
pub fn on_cpu<T>(cpu: u32, act: impl FnOnce() -> T) -> Result<T, OnCpuError> {
    let before = mask(0).map_err(OnCpuError::Pin)?;
    pin(cpu).map_err(OnCpuError::Pin)?;
    let done = act();
    set_mask(0, &before).map_err(OnCpuError::Restore)?;
    Ok(done)
}

/// The CPUs that another process may run on, ascending.
pub fn allowed_cpus(pid: u32) -> Result<Vec<u32>, Errno> {
    let mask = mask(pid)?;
    Ok((0..MAX_CPU).filter(|cpu| mask[*cpu as usize / 64] >> (cpu % 64) & 1 == 1).collect())
}

fn set_mask(task: u32, mask: &Mask) -> Result<(), Errno> {
    // SAFETY: the kernel reads as many bytes as the mask has.
    let result = unsafe {
        arch::syscall(
            libc::SYS_sched_setaffinity,
            [u64::from(task), size_of_val(mask) as u64, mask.as_ptr() as u64, 0, 0, 0],
        )
    };
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(()) }
}

fn mask(pid: u32) -> Result<Mask, Errno> {
    let mut mask = [0u64; WORDS];
    // SAFETY: the kernel writes at most as many bytes as the mask has.
    let result = unsafe {
        arch::syscall(
            libc::SYS_sched_getaffinity,
            [u64::from(pid), size_of_val(&mask) as u64, mask.as_mut_ptr() as u64, 0, 0, 0],
        )
    };
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(mask) }
}

/// The CPU that the calling thread is running on.
#[inline(always)]
pub fn current_cpu() -> i32 {
    // SAFETY: sched_getcpu takes no arguments.
    unsafe { libc::sched_getcpu() }
}
