//! Disturbance counters of the kernel; no hardware counter is needed.
//!
//! They are read outside the timed window. They alone decide which batches are rejected: a time
//! never does.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::kernel::cpu::affinity::current_cpu;
use crate::kernel::cpu::rseq::Watch;
use crate::kernel::process::usage::{self, ThreadUsage};
use crate::kernel::time::clock::thread_cpu_ns;

/// The kernel's counters of the thread; `None` where the kernel has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading {
    /// CPU time, in nanoseconds.
    pub cpu_ns: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Major page faults.
    pub major_faults: Option<u64>,
    /// The CPU that the thread is on.
    pub cpu: i32,
}

/// The result of a watch for context switches.
#[derive(Clone, Copy, Debug)]
pub struct SwitchWatch {
    /// Whether the thread was switched out during the watch.
    pub switched: bool,
    /// The CPU that the thread is on now.
    pub cpu: i32,
}

/// A source of disturbance counters.
pub trait Covariates {
    /// Reads the counters by system calls: some 600 ns in all.
    fn read(&mut self) -> Reading;

    /// Starts to watch for context switches without a system call; false if that is not possible.
    fn start_switch_watch(&mut self) -> bool;

    /// Ends the watch.
    fn end_switch_watch(&mut self) -> SwitchWatch;

    /// The total time that the thread was ready but did not run, in nanoseconds.
    fn run_delay_ns(&mut self) -> Option<u64>;

    /// The resource usage of the thread so far, with the faults of its process's children.
    fn usage(&mut self) -> Option<ThreadUsage> {
        None
    }
}

/// The kernel's counters of the calling thread.
pub struct KernelAccount {
    schedstat: Option<File>,
    watch: Option<Watch>,
}

impl KernelAccount {
    /// The counters of the calling thread.
    pub fn of_this_thread() -> Self {
        let schedstat = File::open("/proc/thread-self/schedstat").ok();
        Self { schedstat, watch: Watch::register().ok() }
    }
}

impl Covariates for KernelAccount {
    fn read(&mut self) -> Reading {
        let usage = usage::thread().ok();
        Reading {
            cpu_ns: thread_cpu_ns().ok(),
            involuntary_switches: usage.map(|usage| usage.involuntary_switches),
            major_faults: usage.map(|usage| usage.major_faults),
            cpu: current_cpu(),
        }
    }

    #[inline(always)]
    fn start_switch_watch(&mut self) -> bool {
        self.watch.as_mut().map(Watch::arm).is_some()
    }

    #[inline(always)]
    fn end_switch_watch(&mut self) -> SwitchWatch {
        match &mut self.watch {
            Some(watch) => {
                let result = SwitchWatch { switched: watch.was_disturbed(), cpu: watch.cpu() };
                watch.disarm();
                result
            }
            None => SwitchWatch { switched: false, cpu: -1 },
        }
    }

    fn usage(&mut self) -> Option<ThreadUsage> {
        usage::thread_with_children().ok()
    }

    fn run_delay_ns(&mut self) -> Option<u64> {
        let mut text = [0u8; 96];
        let read = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        std::str::from_utf8(&text[..read]).ok()?.split_whitespace().nth(1)?.parse().ok()
    }
}
