//! Facts about a machine, and counters of disturbances of a CPU.
//!
//! The worker collects them, the tool judges them. Null means "could not be read", unlike 0, "" or
//! an empty list. Host names, addresses and serial numbers have no field here.

mod hardware;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::hardware::{Cache, Cpu, Disk, Memory, MemoryModule, NetworkCard};
use crate::counters::CounterFacts;

/// A machine, as seen by the measuring process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// The processor.
    pub cpu: Cpu,
    /// Caches of the first CPU that is online; empty when sysfs does not describe them.
    pub caches: Vec<Cache>,
    /// Memory, its pages and nodes.
    pub memory: Memory,
    /// Block devices with a non-zero size, by name.
    pub disks: Vec<Disk>,
    /// Network cards, grouped by equal properties.
    pub network: Vec<NetworkCard>,
    /// The kernel.
    pub os: Os,
    /// Resource limits of this process.
    pub limits: Limits,
    /// `none`, `kvm`, `xen`, `hyper-v`, `qemu`, ...; `unnamed` if a hypervisor hides its name.
    pub virtualization: Option<String>,
    /// CPU vulnerabilities and their mitigations (`/sys/.../cpu/vulnerabilities/*`).
    pub mitigations: BTreeMap<String, String>,
    /// Scheduler, frequency and cgroup settings.
    pub scheduling: Scheduling,
    /// Security settings of the kernel.
    pub security: Security,
    /// Counters of the processor and the kernel, as a program of this user may use them.
    #[serde(default)]
    pub counters: CounterFacts,
    /// Tracers that slow system calls now. BPF and perf are not visible in files, so an empty list
    /// proves nothing.
    pub tracers: Vec<String>,
    /// Sources of `tracers` that could not be read here (`tracefs`, `/proc/self/status`).
    pub tracers_unread: Vec<String>,
    /// Files that could not be read, with the reason: `needs root`, `does not exist`.
    #[serde(default)]
    pub unread: BTreeMap<String, String>,
}

impl Facts {
    /// Whether the machine is known to be a virtual machine.
    pub fn is_guest(&self) -> bool {
        self.virtualization.as_deref().is_some_and(|kind| kind != "none")
    }
}

/// The kernel, and the user space that starts programs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Os {
    /// As printed by `uname -r` (`/proc/sys/kernel/osrelease`).
    pub release: Option<String>,
    /// As printed by `uname -v` (`/proc/sys/kernel/version`).
    pub version: Option<String>,
    /// GNU build id in hexadecimal (`/sys/kernel/notes`): equal only for the same kernel image.
    pub build_id: Option<String>,
    /// `/proc/sys/kernel/arch`, since Linux 6.1; before, the architecture of this build.
    pub arch: Option<String>,
    /// `/proc/cmdline`; `***` stands for values that identify a machine, and for init's part after `--`.
    pub cmdline: Option<String>,
    /// Ticks per second: by the resolution of the coarse clock, else by `/boot/config-*`.
    pub hz: Option<u32>,
    /// Security modules in the order they are asked (`/sys/kernel/security/lsm`, else
    /// lsm_list_modules(2)).
    pub lsm: Option<Vec<String>>,
    /// The distribution and its version (`PRETTY_NAME` of `/etc/os-release`).
    #[serde(default)]
    pub distribution: Option<String>,
    /// Enabled build options that affect costs (`/proc/config.gz`, `/boot/config-*`).
    #[serde(default)]
    pub options: Option<Vec<String>>,
    /// The init system: `systemd`, or the name of process 1 (`/proc/1/comm`).
    #[serde(default)]
    pub init: Option<String>,
    /// The requested run level, `N` or `S` (`/run/utmp`); systemd names its
    /// default target here (`graphical.target`).
    #[serde(default)]
    pub run_level: Option<String>,
    /// `none`, `integrity` or `confidentiality` (`/sys/kernel/security/lockdown`).
    #[serde(default)]
    pub lockdown: Option<String>,
    /// Which program `/bin/sh` is, links followed.
    #[serde(default)]
    pub shell: Option<String>,
    /// Its dynamic loader; null for a static shell.
    #[serde(default)]
    pub loader: Option<String>,
    /// The version of the firmware and its date, `1.4.2 (03/14/2023)`
    /// (`/sys/class/dmi/id/bios_version`, `bios_date`).
    #[serde(default)]
    pub firmware: Option<String>,
}

/// Resource limits of this process (`/proc/self/limits`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limits {
    /// `RLIMIT_NOFILE`: open file descriptors.
    pub open_files: Limit,
    /// `RLIMIT_MEMLOCK`, in bytes.
    pub locked_memory_bytes: Limit,
    /// `RLIMIT_NPROC`: processes and threads of this user.
    pub processes: Limit,
    /// `RLIMIT_AS`, in bytes.
    pub address_space_bytes: Limit,
    /// `RLIMIT_STACK`, in bytes.
    pub stack_bytes: Limit,
}

/// A soft and a hard limit, in the unit that the field's name states.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Limit {
    /// The current limit.
    pub soft: Option<Bound>,
    /// The maximum of the soft limit.
    pub hard: Option<Bound>,
}

/// A number or the word `unlimited`; an unknown limit is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Bound {
    /// A finite limit.
    Max(u64),
    /// No bound.
    Unlimited(Unlimited),
}

impl Bound {
    /// No bound.
    pub const UNLIMITED: Bound = Bound::Unlimited(Unlimited::Unlimited);
}

/// The word for "no bound": an enum, so that JSON holds the word and not a null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Unlimited {
    /// No bound.
    Unlimited,
}

/// Scheduler, frequency and cgroup settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scheduling {
    /// `none`, `voluntary`, `full`, `lazy` or `rt` (`/sys/kernel/debug/sched/preempt`, `preempt=`);
    /// `full-or-lazy` or `dynamic` where only `uname -v` is available.
    pub preempt: Option<String>,
    /// Whether simultaneous multithreading is active (`/sys/devices/system/cpu/smt/active`).
    pub smt_active: Option<bool>,
    /// CPUs excluded from load balancing (`/sys/devices/system/cpu/isolated`).
    pub isolated_cpus: Option<Vec<u32>>,
    /// CPUs without a tick while one task runs (`/sys/devices/system/cpu/nohz_full`).
    pub nohz_full_cpus: Option<Vec<u32>>,
    /// Frequency governor of the first allowed CPU (`cpufreq/scaling_governor`).
    pub governor: Option<String>,
    /// Whether the frequency may exceed the nominal one (`cpufreq/boost`, `intel_pstate/no_turbo`).
    pub boost: Option<bool>,
    /// The cpuidle driver (`cpuidle/current_driver`).
    pub idle_driver: Option<String>,
    /// The cpuidle governor (`cpuidle/current_governor`), which affects wake-ups of other CPUs.
    pub idle_governor: Option<String>,
    /// The kernel's clock source (`current_clocksource`).
    pub clocksource: Option<String>,
    /// Available clock sources (`available_clocksource`).
    pub clocksources_available: Option<Vec<String>>,
    /// Timer slack of this process, in ns (`/proc/self/timerslack_ns`).
    pub timer_slack_ns: Option<u64>,
    /// The cgroup version that controls this process's CPU time (`/proc/self/cgroup`).
    pub cgroup_version: Option<CgroupVersion>,
    /// Lowest CPU quota of its own and parent cgroups, in 1/1000 CPU (`cpu.max`,
    /// `cpu.cfs_quota_us`).
    pub cgroup_quota_milli_cpus: Option<Bound>,
    /// Lowest memory limit of its own and parent cgroups, in bytes (`memory.max`,
    /// `memory.limit_in_bytes`).
    #[serde(default)]
    pub cgroup_memory_bytes: Option<Bound>,
    /// Lowest task limit of its own and parent cgroups (`pids.max`).
    #[serde(default)]
    pub cgroup_tasks: Option<Bound>,
    /// Scheduling policy of this process, which workers inherit: `other`, `batch`, `idle`, `fifo`,
    /// `rr`, `deadline` or `ext` (sched(7)); the number of any other (`/proc/self/stat`).
    #[serde(default)]
    pub policy: Option<String>,
    /// Nice value of this process, which workers inherit (`/proc/self/stat`).
    #[serde(default)]
    pub nice: Option<i32>,
    /// CPU weights of its own and parent cgroups, the own one first (`cpu.weight`, `cpu.shares`);
    /// empty if none of them has a weight. Version 2 has 100 by default and 0 for `cpu.idle`,
    /// version 1 has 1024.
    #[serde(default)]
    pub cgroup_cpu_weights: Option<Vec<u64>>,
}

impl Scheduling {
    /// The CPU weights that are not the default of their version of control groups.
    pub fn unusual_cpu_weights(&self) -> Option<Vec<u64>> {
        /// Of a group in version 2.
        const USUAL_WEIGHT: u64 = 100;
        /// Of a group in version 1.
        const USUAL_SHARES: u64 = 1024;
        let usual = match self.cgroup_version? {
            CgroupVersion::V1 => USUAL_SHARES,
            CgroupVersion::V2 => USUAL_WEIGHT,
        };
        let weights = self.cgroup_cpu_weights.as_ref()?;
        Some(weights.iter().copied().filter(|weight| *weight != usual).collect())
    }
}

/// A version of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CgroupVersion {
    /// One hierarchy per controller.
    V1,
    /// One hierarchy.
    V2,
}

/// Security settings of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Security {
    /// 0 off, 1 without the heap, 2 all (`/proc/sys/kernel/randomize_va_space`).
    pub address_randomization: Option<u32>,
    /// From -1, everything, to 2 or more, no kernel (`/proc/sys/kernel/perf_event_paranoid`).
    pub perf_event_paranoid: Option<i32>,
    /// 0 no, 1 until reboot, 2 yes (`/proc/sys/kernel/unprivileged_bpf_disabled`).
    pub unprivileged_bpf_disabled: Option<u32>,
    /// 0 any process of a user may ptrace, 1 parents, 2 root, 3 none (`yama/ptrace_scope`).
    pub yama_ptrace_scope: Option<u32>,
    /// Of this process: 0 off, 1 strict, 2 filter (`Seccomp` in `/proc/self/status`).
    pub seccomp_mode: Option<u32>,
    /// Filters on this process (`Seccomp_filters` in `/proc/self/status`, Linux 5.9).
    pub seccomp_filters: Option<u32>,
    /// Of this process (`Speculation_Store_Bypass` in `/proc/self/status`).
    pub speculation_store_bypass: Option<String>,
    /// Of this process (`SpeculationIndirectBranch` in `/proc/self/status`).
    pub speculation_indirect_branch: Option<String>,
    /// Whether address randomization is disabled for this process (`/proc/self/personality`).
    #[serde(default)]
    pub randomization_disabled: Option<bool>,
    /// Whether this process runs as root (`Uid` of `/proc/self/status`, the effective one).
    #[serde(default)]
    pub is_root: Option<bool>,
    /// The capability bounding set (`CapBnd` of `/proc/self/status`).
    #[serde(default)]
    pub capability_bound: Option<u64>,
    /// The effective capabilities of a worker whose case needs no others, a bit each. The `needs` of
    /// a definition name what the worker of its cases keeps besides.
    #[serde(default)]
    pub worker_capabilities: Option<u64>,
}

/// Disturbance counters of a CPU since boot; the difference of two snapshots covers an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Snapshot {
    /// The CPU.
    pub cpu: u32,
    /// Stolen time, in 1/100 s (`/proc/stat`, `steal` of this CPU).
    pub steal_ticks: Option<u64>,
    /// All time of this CPU, idle and stolen time included, in 1/100 s (`/proc/stat`).
    pub total_ticks: Option<u64>,
    /// Time of this CPU in which it was neither idle nor waited for a disk, stolen time included, in 1/100
    /// s (`/proc/stat`).
    #[serde(default)]
    pub busy_ticks: Option<u64>,
    /// Share of the last 10 s in which some task waited, in % (`/proc/pressure/cpu`).
    pub pressure_cpu_some_avg10_pct: Option<f64>,
    /// Interrupts on this CPU (`/proc/interrupts`, the sum of its column).
    pub interrupts: Option<u64>,
    /// Throttled periods of its own and parent cgroups (`nr_throttled`).
    pub throttled_periods: Option<u64>,
    /// Throttled time of all CPUs, in us (`throttled_usec` of `cpu.stat`).
    pub throttled_us: Option<u64>,
    /// Load average of one minute (`/proc/loadavg`).
    pub load_1min: Option<f64>,
    /// Runnable tasks including this one (`/proc/loadavg`).
    pub runnable_tasks: Option<u64>,
}
