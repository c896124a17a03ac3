//! Signals of disturbance that need no counter of the processor.
//!
//! They are read outside the timed window, and they alone decide what is rejected: never a time.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::sys::affinity::current_cpu;
use crate::sys::clock::thread_cpu_ns;
use crate::sys::usage;

/// What the kernel has charged the thread until now.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// CPU time, in nanoseconds.
    pub cpu_ns: u64,
    /// Switches that the scheduler forced.
    pub involuntary_switches: u64,
    /// Faults that waited for a disk.
    pub major_faults: u64,
    /// The CPU that the thread is on.
    pub cpu: i32,
}

/// Where the signals come from.
pub trait Covariates {
    /// Cheap enough for every batch: some 600 ns for all of them.
    fn read(&mut self) -> Reading;

    /// Time that the thread was ready but did not run, in nanoseconds, until now.
    fn run_delay_ns(&mut self) -> Option<u64>;
}

/// The kernel's own account of the calling thread.
pub struct Kernel {
    schedstat: Option<File>,
}

impl Kernel {
    /// The account of the thread that calls this.
    pub fn of_this_thread() -> Self {
        Self { schedstat: File::open("/proc/thread-self/schedstat").ok() }
    }
}

impl Covariates for Kernel {
    fn read(&mut self) -> Reading {
        let usage = usage::thread();
        Reading {
            cpu_ns: thread_cpu_ns(),
            involuntary_switches: usage.involuntary_switches,
            major_faults: usage.major_faults,
            cpu: current_cpu(),
        }
    }

    fn run_delay_ns(&mut self) -> Option<u64> {
        let mut text = [0u8; 96];
        let read = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..read]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}
