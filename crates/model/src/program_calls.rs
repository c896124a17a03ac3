//! What the process tree of a program did: its system calls by form and size, as a counter saw them.

use serde::{Deserialize, Serialize};

/// The calls of one form and one size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormCount {
    /// What makes the call cheap or expensive: its name, the kind of its descriptor or what it does,
    /// and its error: `read pipe`, `openat ENOENT`, `clone thread`.
    pub form: String,
    /// The most bytes of its size class, a power of two; null of a call without a size in bytes.
    pub bytes: Option<u64>,
    /// The most descriptors of its size class, a power of two: those that it was told, or, of
    /// epoll_wait(2), those that it returned; null of a call that is not about a number of them.
    #[serde(default)]
    pub descriptors: Option<u64>,
    /// The most mappings of its size class, a power of two: those of the process that it copies;
    /// null of a call that copies none, and of older counters.
    #[serde(default)]
    pub mappings: Option<u64>,
    /// The most messages of its size class, a power of two: those that sendmmsg(2) has sent or
    /// recvmmsg(2) has received; null of other calls, and of older counters.
    #[serde(default)]
    pub messages: Option<u64>,
    /// The components of its path; null of a call without a path.
    pub depth: Option<u32>,
    /// How often it was made.
    pub calls: u64,
    /// The bytes of all of these calls together; their descriptors, mappings or messages, where that
    /// class is given.
    pub moved: u64,
    /// Those of these calls before which their CPU had been busy for at least 0.5 ms since the last one of
    /// their name and kind of descriptor returned there, and the first one there; null where the counter does not tell.
    #[serde(default)]
    pub rare: Option<u64>,
}

impl FormCount {
    /// The mean size of these calls, in bytes, descriptors, mappings or messages; `None` without a size.
    pub fn mean_size(&self) -> Option<f64> {
        let size = self.bytes.or(self.descriptors).or(self.mappings).or(self.messages);
        let has_size = size.is_some();
        has_size.then(|| self.moved as f64 / self.calls.max(1) as f64)
    }
}

/// The time that calls took in the kernel, from the entry of each to its return.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelTime {
    /// The calls that returned.
    pub calls: u64,
    /// Nanoseconds of all of them on a CPU, with the interrupts that came meanwhile.
    pub on_cpu_ns: u64,
    /// Nanoseconds of all of them off the CPU: they waited, or another task ran.
    pub off_cpu_ns: u64,
}

impl KernelTime {
    /// That of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            calls: self.calls.saturating_add(other.calls),
            on_cpu_ns: self.on_cpu_ns.saturating_add(other.on_cpu_ns),
            off_cpu_ns: self.off_cpu_ns.saturating_add(other.off_cpu_ns),
        }
    }
}

/// The time that the calls of a form took in the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FormTime {
    /// The form.
    pub form: String,
    /// The time.
    pub time: KernelTime,
    /// The calls by their time on a CPU, the shortest first, without empty buckets; empty where the
    /// counter has none.
    #[serde(default)]
    pub on_cpu_histogram: Vec<TimeBucket>,
    /// Those calls that were off the CPU, by that time: the others did not block.
    #[serde(default)]
    pub off_cpu_histogram: Vec<TimeBucket>,
}

/// Calls that took from half of so long to so long; in the first bucket, of 64 ns, from nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeBucket {
    /// All of them took less than so many nanoseconds, a power of two; null of the last bucket, which
    /// has no end.
    pub below_ns: Option<u64>,
    /// The number of these calls.
    pub calls: u64,
}

/// Page faults by kind. All are those that the kernel itself counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FaultCounts {
    /// First touches of anonymous memory that got pages cleared, without huge ones.
    pub zero_fill: u64,
    /// Those that got a huge page.
    pub huge_zero_fill: u64,
    /// Touches of pages of a file that were in the page cache.
    pub file_minor: u64,
    /// Writes to a page that was not writable and was copied; and writes to a page of a privately
    /// mapped file, which is copied at once. Where `page_reuse` is absent those are among them.
    pub copy_on_write: u64,
    /// Writes to a page that was not writable and was not copied: its only user may write to it now,
    /// such as after the exit of the child that shared it.
    #[serde(default)]
    pub page_reuse: u64,
    /// Faults that waited for a disk.
    pub major: u64,
    /// Faults whose kind the kernel does not tell.
    pub unknown: u64,
}

impl FaultCounts {
    /// Minor faults whose kind is known.
    pub fn of_known_kind(&self) -> u64 {
        let Self { zero_fill, huge_zero_fill, file_minor, copy_on_write, page_reuse, .. } = *self;
        let kinds = [zero_fill, huge_zero_fill, file_minor, copy_on_write, page_reuse];
        kinds.into_iter().fold(0, u64::saturating_add)
    }
}

/// Calls of functions of the C library that read a clock, mostly without a system call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClockReads {
    /// clock_gettime(2), with those that are `nested`.
    pub clock_gettime: u64,
    /// gettimeofday(2); null where the library leaves it to the vDSO.
    pub gettimeofday: Option<u64>,
    /// time(2); null where the library leaves it to the vDSO.
    pub time: Option<u64>,
    /// Of the calls of clock_gettime(2) those by the library's own gettimeofday(2) and time(2), which
    /// read the clock by it: one for each of their calls.
    #[serde(default)]
    pub nested: u64,
}

/// Wake-ups after which the task continued on another CPU than that of its waker, by what the CPU did
/// that it had left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoteWakes {
    /// It became idle, or ran a thread of the kernel.
    pub after_idle: u64,
    /// It ran another task at once.
    pub after_switch: u64,
}

/// Such wake-ups by what the waker's call was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RemoteWakesByCall {
    /// A TCP socket: the receiving side runs within the call, as a softirq.
    pub tcp: RemoteWakes,
    /// An AF_UNIX socket.
    pub unix: RemoteWakes,
    /// A pipe.
    pub pipe: RemoteWakes,
    /// A futex.
    pub futex: RemoteWakes,
}

impl RemoteWakesByCall {
    /// All of them together.
    pub fn sum(self) -> RemoteWakes {
        let Self { tcp, unix, pipe, futex } = self;
        [tcp, unix, pipe, futex].into_iter().fold(RemoteWakes::default(), |sum, of_one| {
            RemoteWakes {
                after_idle: sum.after_idle.saturating_add(of_one.after_idle),
                after_switch: sum.after_switch.saturating_add(of_one.after_switch),
            }
        })
    }
}

/// How often the CPU on which a task continued, or began, after a wake-up from another CPU was idle, by for
/// how long it had been. All others continued on a CPU that ran another task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakesOfIdle {
    /// For less than 150 us.
    pub below_150_us: u64,
    /// For 150 us or more, and less than 600.
    pub below_600_us: u64,
    /// For 600 us or more.
    pub longer: u64,
    /// Those for less than 150 us where the CPU had stopped its tick; null if the kernel does not tell.
    #[serde(default)]
    pub below_150_us_tickless: Option<u64>,
}

impl WakesOfIdle {
    /// How often, in all.
    pub fn wakes(self) -> u64 {
        self.below_150_us.saturating_add(self.below_600_us).saturating_add(self.longer)
    }

    /// Both together; what is not known of one of them is not known of both.
    fn plus(self, other: Self) -> Self {
        let tickless = self.below_150_us_tickless.zip(other.below_150_us_tickless);
        Self {
            below_150_us: self.below_150_us.saturating_add(other.below_150_us),
            below_600_us: self.below_600_us.saturating_add(other.below_600_us),
            longer: self.longer.saturating_add(other.longer),
            below_150_us_tickless: tickless.map(|(one, other)| one.saturating_add(other)),
        }
    }
}

/// Such wake-ups by what the waker's call was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WakesOfIdleByCall {
    /// A TCP socket.
    pub tcp: WakesOfIdle,
    /// An AF_UNIX socket.
    pub unix: WakesOfIdle,
    /// A pipe.
    pub pipe: WakesOfIdle,
    /// A futex.
    pub futex: WakesOfIdle,
    /// None of these; with the first run of a thread, or of the child of a vfork(2).
    pub other: WakesOfIdle,
}

impl WakesOfIdleByCall {
    /// All of them together.
    pub fn sum(self) -> WakesOfIdle {
        let Self { tcp, unix, pipe, futex, other } = self;
        [unix, pipe, futex, other].into_iter().fold(tcp, WakesOfIdle::plus)
    }
}

/// Wake-ups after which the task continued on another CPU than that of its waker, and of which one end is a
/// task outside of the process tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideWakes {
    /// All of them.
    pub wakes: u64,
    /// Those among them where the CPU on which the task continued was idle, by for how long.
    pub of_idle: WakesOfIdle,
}

/// Such wake-ups by what the waker's call was about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutsideWakesByCall {
    /// A TCP socket.
    pub tcp: OutsideWakes,
    /// An AF_UNIX socket.
    pub unix: OutsideWakes,
    /// A pipe.
    pub pipe: OutsideWakes,
    /// A futex.
    pub futex: OutsideWakes,
    /// None of these, or the end of a task.
    pub other: OutsideWakes,
}

impl OutsideWakesByCall {
    /// How often, in all.
    pub fn wakes(self) -> u64 {
        let Self { tcp, unix, pipe, futex, other } = self;
        [tcp, unix, pipe, futex, other].into_iter().fold(0, |sum, it| sum.saturating_add(it.wakes))
    }
}

/// What happened to the tasks of a process tree in the kernel besides their calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelEvents {
    /// Their page faults.
    pub faults: FaultCounts,
    /// How often a task left its CPU since it waited.
    pub voluntary_switches: u64,
    /// How often a task that could run left its CPU to another one.
    pub forced_switches: u64,
    /// Of the voluntary ones those after which the CPU ran a task of another process at once; null
    /// where the counter did not count them, and where a monitor of the program may be that process.
    #[serde(default)]
    pub voluntary_to_process: Option<u64>,
    /// Of the voluntary ones those after which the CPU ran a task of the same memory at once: another
    /// thread, or the child of a vfork(2); null where the counter did not count them. After the others
    /// it was idle, or ran a thread of the kernel.
    #[serde(default)]
    pub voluntary_to_thread: Option<u64>,
    /// How often a task continued on the CPU that it had left.
    pub same_cpu: u64,
    /// How often it continued on another one.
    pub other_cpu: u64,
    /// Processes that fork(2) has created and whose first CPU was another one than that of their
    /// parent then; null where the counter did not count them.
    #[serde(default)]
    pub forks_to_other_cpu: Option<u64>,
    /// The same of threads and of children of vfork(2).
    #[serde(default)]
    pub starts_on_other_cpu: Option<u64>,
    /// How often a task of these woke another one that then continued on another CPU than that of the
    /// former: after waits in which the CPU that it had left became idle, or ran a thread of the
    /// kernel; null where the counter did not count them.
    #[serde(default)]
    pub remote_wakes_after_idle: Option<u64>,
    /// The same after waits in which that CPU ran another task at once.
    #[serde(default)]
    pub remote_wakes_after_switch: Option<u64>,
    /// Of both those by calls about sockets, pipes and futexes; null where the counter did not count
    /// them apart.
    #[serde(default)]
    pub remote_wakes_by: Option<RemoteWakesByCall>,
    /// Of both, and of the tasks of `starts_on_other_cpu`, those that continued, or began, on a CPU that
    /// was idle, by for how long; null where the counter did not tell.
    #[serde(default)]
    pub remote_wakes_of_idle: Option<WakesOfIdleByCall>,
    /// How often a task of these woke one outside that then continued on another CPU than that of the
    /// former, but for threads of the kernel; null where the counter did not count them, and where a
    /// monitor of the program may be among the latter.
    #[serde(default)]
    pub remote_wakes_of_outside: Option<OutsideWakesByCall>,
    /// How often one outside woke a task of these that then continued on another CPU than that of the
    /// former, in a call or at its end, but for threads of the kernel; null where the counter did not
    /// count them, and where a monitor of the program may be among the former.
    #[serde(default)]
    pub remote_wakes_by_outside: Option<OutsideWakesByCall>,
    /// Softirqs that ran while one of them was on the CPU; null where the kernel does not tell.
    pub softirqs: Option<u64>,
    /// Interrupts of devices and timers that came meanwhile; null where the kernel does not tell.
    pub interrupts: Option<u64>,
    /// Their clock reads through the C library; null where these were not counted.
    #[serde(default)]
    pub clock_reads: Option<ClockReads>,
    /// The pages of files that their faults mapped: those around a fault, and the page itself; null
    /// where the kernel does not tell.
    #[serde(default)]
    pub mapped_file_pages: Option<u64>,
}

/// What a process tree did, from the execve(2) of its program to the exit of that process.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProgramCalls {
    /// How they were counted: `ptrace` or `ebpf`.
    pub by: String,
    /// The calls that returned, and exits, by form, size and depth, in this order.
    pub forms: Vec<FormCount>,
    /// Processes that were created.
    pub forks: u64,
    /// Threads that were created.
    pub threads: u64,
    /// Programs that were executed, with the first one.
    pub execs: u64,
    /// Tasks that ended.
    pub exits: u64,
    /// Signals that were delivered.
    pub signals: u64,
    /// Calls that never returned: their task ended.
    pub unfinished: u64,
    /// Tasks that outlived the program. By ptrace they were killed; by eBPF some may have ended
    /// themselves.
    pub killed: u64,
    /// Descriptors and arguments of calls that could not be read: their forms are incomplete.
    pub unread: u64,
    /// Nanoseconds that the program took, with all that counting added. By eBPF as a trial is timed,
    /// from before its process is created; of several runs the median. By ptrace from the execve(2)
    /// to the exit: the creation of its process is not in it. Of a watched process the time of the
    /// watch.
    pub real_ns: u64,
    /// Events that the counter had no room for, or at which its program ran on that CPU already: the
    /// counts are that much too low.
    #[serde(default)]
    pub lost: u64,
    /// The time in the kernel of each form whose calls return, in the order of the forms; empty where
    /// the counter does not measure it.
    #[serde(default)]
    pub in_kernel: Vec<FormTime>,
    /// What else happened in the kernel; null where the counter does not count it.
    #[serde(default)]
    pub events: Option<KernelEvents>,
}

impl ProgramCalls {
    /// All calls.
    pub fn calls(&self) -> u64 {
        self.forms.iter().map(|it| it.calls).sum()
    }
}

/// The size class of so many bytes: the smallest power of two that is as large, and 0 of none.
pub fn size_class(bytes: u64) -> u64 {
    match bytes {
        0 => 0,
        bytes => bytes.checked_next_power_of_two().unwrap_or(1 << 63),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_class_is_a_power_of_two_that_is_as_large() {
        let classes = [0, 1, 2, 3, 4_096, 4_097, u64::MAX].map(size_class);
        assert_eq!(classes, [0, 1, 2, 4, 4_096, 8_192, 1 << 63]);
    }
}
