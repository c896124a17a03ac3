//! Restartable sequences (rseq(2), Linux 4.18): a word in our own memory that the kernel clears
//! when the thread is switched out, moved or signalled.
//!
//! They are meant for per-CPU data; here they answer "was this thread left alone?" without entering
//! the kernel. That matters: where it was looked at (a Zen 5 guest) one entry leaves calls and returns half as dear
//! again for tens of thousands of them, and asking getrusage(2) before each batch would time that.

use std::arch::global_asm;

use crate::kernel::Errno;
use crate::kernel::arch::RSEQ_SIGNATURE;

/// What the kernel and the thread share (`struct rseq`, its first 32 bytes).
#[repr(C, align(32))]
struct Area {
    cpu_id_start: u32,
    cpu_id: u32,
    section: u64,
    flags: u32,
    rest: [u32; 3],
}

/// A critical section (`struct rseq_cs`). Ours holds an instruction that is never executed: whoever
/// is switched out is outside of it, and then the kernel clears the area's `section`.
#[repr(C, align(32))]
struct Section {
    version: u32,
    flags: u32,
    start: u64,
    length: u64,
    abort: u64,
}

// The kernel wants the signature in the four bytes before the place that it would go to on abort,
// which lies outside the section.
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

/// The calling thread's watch. It stays registered until the thread ends, and over fork(2).
pub struct Watch {
    area: &'static mut Area,
    section: &'static Section,
}

impl Watch {
    /// Registers the calling thread. Refused where the kernel has no rseq(2), and where the C
    /// library has registered the thread before us; a worker is started with
    /// `GLIBC_TUNABLES=glibc.pthread.rseq=0` so that it does not.
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
        // SAFETY: both are leaked, so that they stay where they are for as long as the thread runs;
        // the kernel writes the area's 32 bytes and reads the section.
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

    /// Begins to watch.
    #[inline(always)]
    pub fn arm(&mut self) {
        // SAFETY: a plain store to our own memory; volatile, since the kernel reads it.
        unsafe { (&raw mut self.area.section).write_volatile(&raw const *self.section as u64) };
    }

    /// Whether the thread was switched out, moved or signalled since [`Self::arm`].
    #[inline(always)]
    pub fn was_disturbed(&self) -> bool {
        // SAFETY: a plain load from our own memory; volatile, since the kernel writes it.
        unsafe { (&raw const self.area.section).read_volatile() == 0 }
    }

    /// Ends the watch, so that the kernel has nothing to look at while nobody asks.
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
