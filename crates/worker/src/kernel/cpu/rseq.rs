//! Restartable sequences (rseq(2), Linux 4.18): a word in user memory that the kernel clears when
//! the thread is preempted, migrated or signalled.
//!
//! They are meant for per-CPU data; here they tell, without entering the kernel, whether the thread
//! ran undisturbed. That matters: on a Zen 5 guest one kernel entry makes calls and returns half as
//! expensive again for tens of thousands of them, and getrusage(2) before each batch would be timed
//! with it.

use std::arch::global_asm;

use crate::kernel::Errno;
use crate::kernel::arch::RSEQ_SIGNATURE;

/// The area that the kernel and the thread share (`struct rseq`, its first 32 bytes).
#[repr(C, align(32))]
struct Area {
    cpu_id_start: u32,
    cpu_id: u32,
    section: u64,
    flags: u32,
    rest: [u32; 3],
}

/// A critical section (`struct rseq_cs`). Ours contains an instruction that is never executed: a
/// preempted thread is always outside of it, and then the kernel clears the area's `section`.
#[repr(C, align(32))]
struct Section {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

// The kernel requires the signature in the four bytes before the abort address, which lies outside
// the section.
global_asm!(
    ".pushsection .text.oscost_rseq,\"ax\"",
    ".balign 16",
    ".globl oscost_rseq_section",
    ".hidden oscost_rseq_section",
    "oscost_rseq_section:",
    "nop",
    "nop",
    ".balign 16",
    ".long {signature}",
    ".globl oscost_rseq_abort",
    ".hidden oscost_rseq_abort",
    "oscost_rseq_abort:",
    "nop",
    ".popsection",
    signature = const RSEQ_SIGNATURE,
);

unsafe extern "C" {
    static oscost_rseq_section: u8;
    static oscost_rseq_abort: u8;
}

/// Detects disturbances of the calling thread. It stays registered until the thread ends, and over
/// fork(2).
pub struct Watch {
    area: &'static mut Area,
    section: &'static Section,
}

impl Watch {
    /// Registers the calling thread. Fails if the kernel has no rseq(2), or if the C library
    /// registered the thread first; a worker is started with `GLIBC_TUNABLES=glibc.pthread.rseq=0`
    /// so that it does not.
    pub fn register() -> Result<Self, Errno> {
        let section = Box::leak(Box::new(Section {
            version: 0,
            flags: 0,
            start: (&raw const oscost_rseq_section) as u64,
            length: 1,
            abort: (&raw const oscost_rseq_abort) as u64,
        }));
        let area = Box::leak(Box::new(Area {
            cpu_id_start: 0,
            cpu_id: u32::MAX,
            section: 0,
            flags: 0,
            rest: [0; 3],
        }));
        // SAFETY: both are leaked, so that they stay valid for as long as the thread runs; the
        // kernel writes the area's 32 bytes and reads the section.
        let result = unsafe {
            libc::syscall(
                libc::SYS_rseq,
                &raw mut *area,
                size_of::<Area>() as u32,
                0,
                RSEQ_SIGNATURE,
            )
        };
        Errno::check(result)?;
        Ok(Self { area, section })
    }

    /// Starts watching.
    #[inline(always)]
    pub fn arm(&mut self) {
        // SAFETY: a plain store to memory that this value owns; volatile, since the kernel reads
        // it.
        unsafe { (&raw mut self.area.section).write_volatile(&raw const *self.section as u64) };
    }

    /// Whether the thread was preempted, migrated or signalled since [`Self::arm`].
    #[inline(always)]
    pub fn was_disturbed(&self) -> bool {
        // SAFETY: a plain load from memory that this value owns; volatile, since the kernel writes
        // it.
        unsafe { (&raw const self.area.section).read_volatile() == 0 }
    }

    /// Stops watching, so that the kernel has no section to check meanwhile.
    #[inline(always)]
    pub fn disarm(&mut self) {
        // SAFETY: as in `arm`.
        unsafe { (&raw mut self.area.section).write_volatile(0) };
    }

    /// The CPU that the thread is on.
    #[inline(always)]
    pub fn cpu(&self) -> i32 {
        // SAFETY: as in `was_disturbed`.
        unsafe { (&raw const self.area.cpu_id).read_volatile() as i32 }
    }
}
