//! What the processes of a program used.

use serde::{Deserialize, Serialize};

/// Resource usage of a process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeUsage {
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: u64,
    /// The largest resident set of a single process, in bytes.
    pub peak_bytes: u64,
    /// The largest resident set of the process that started it; `None` if it is not known. Until the
    /// exec the new process has its memory, and Linux carries the peak of that over the exec
    /// (setmax_mm_hiwater_rss() in fs/exec.c): a peak that is no larger is a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub starter_peak_bytes: Option<u64>,
    /// Minor faults.
    pub minor_faults: u64,
    /// Major faults.
    pub major_faults: u64,
    /// Voluntary context switches.
    pub voluntary_switches: u64,
    /// Involuntary context switches.
    pub involuntary_switches: u64,
}

impl TreeUsage {
    /// CPU time in nanoseconds. The kernel scales its ticks so that user and system time add up to
    /// what the scheduler counted (cputime_adjust() in kernel/sched/cputime.c): the sum is exact to
    /// a microsecond, each of the two is not.
    pub fn cpu_ns(self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// Whether the peak is only a bound, since the process that started the tree had as much.
    pub fn is_peak_of_starter(self) -> bool {
        self.starter_peak_bytes.is_some_and(|peak| self.peak_bytes <= peak)
    }

    /// The usage of both trees together.
    #[must_use]
    pub fn merged_with(self, other: TreeUsage) -> TreeUsage {
        TreeUsage {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            peak_bytes: self.peak_bytes.max(other.peak_bytes),
            starter_peak_bytes: self.starter_peak_bytes.max(other.starter_peak_bytes),
            minor_faults: self.minor_faults + other.minor_faults,
            major_faults: self.major_faults + other.major_faults,
            voluntary_switches: self.voluntary_switches + other.voluntary_switches,
            involuntary_switches: self.involuntary_switches + other.involuntary_switches,
        }
    }
}

/// The CPU time of all processes of a control group, in microseconds. The kernel divides their exact
/// sum into these two by the clock ticks of all of them together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupTimes {
    /// In user mode.
    pub user_us: u64,
    /// In the kernel.
    pub system_us: u64,
}
