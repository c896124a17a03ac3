//! Facts about a machine, and counters of disturbances of a CPU.
//!
//! The worker collects them, the tool judges them. Null means "could not be read", unlike 0, "" or
//! an empty list. Host names, addresses and serial numbers have no field here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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

/// The processor: the first block of `/proc/cpuinfo` and the topology in sysfs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cpu {
    /// `model name`; null on aarch64.
    pub model_name: Option<String>,
    /// `vendor_id`; on aarch64 `CPU implementer` (0x41 is Arm).
    pub vendor: Option<String>,
    /// `cpu family`; on aarch64 `CPU architecture`.
    pub family: Option<u32>,
    /// `model`; on aarch64 `CPU part`.
    pub model: Option<u32>,
    /// `stepping`; on aarch64 16 x `CPU variant` + `CPU revision`, so r3p1 is 49.
    pub stepping: Option<u32>,
    /// `microcode`, as the kernel writes it.
    pub microcode: Option<String>,
    /// Those of `flags` (aarch64: `Features`) that affect costs or clocks.
    pub flags: Option<Vec<String>>,
    /// CPUs that are online (`/sys/devices/system/cpu/online`).
    pub logical_online: Option<u32>,
    /// Cores with a CPU online (`topology/core_cpus_list`).
    pub cores: Option<u32>,
    /// Packages with a CPU online (`topology/package_cpus_list`).
    pub sockets: Option<u32>,
    /// CPUs this process may run on (`Cpus_allowed_list` of `/proc/self/status`).
    pub allowed_cpus: Option<Vec<u32>>,
    /// The x86-64 level of its flags: `x86-64`, `x86-64-v2` to `x86-64-v4`; other architectures
    /// none.
    #[serde(default)]
    pub instruction_set: Option<String>,
    /// Those of `flags` for vectors, cryptography and bit operations.
    #[serde(default)]
    pub extensions: Option<Vec<String>>,
    /// Highest clock that it is rated for, in kHz (`cpufreq/cpuinfo_max_freq`).
    #[serde(default)]
    pub rated_khz: Option<u64>,
    /// External clock, in MHz (DMI, structure 4: `External Clock`).
    #[serde(default)]
    pub bus_mhz: Option<u32>,
}

/// One cache (`/sys/devices/system/cpu/cpu*/cache/index*`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cache {
    /// 1 is next to the core.
    pub level: Option<u32>,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: Option<String>,
    /// Size in KiB.
    pub size_kib: Option<u64>,
    /// Ways of associativity.
    pub ways: Option<u32>,
    /// Line length in bytes.
    pub line_bytes: Option<u32>,
    /// CPUs that share it.
    pub shared_cpus: Option<Vec<u32>>,
}

/// Memory, its pages and nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Memory {
    /// `MemTotal` of `/proc/meminfo`, in KiB.
    pub total_kib: Option<u64>,
    /// `SwapTotal` of `/proc/meminfo`, in KiB.
    pub swap_total_kib: Option<u64>,
    /// Page size in bytes (`AT_PAGESZ` in `/proc/self/auxv`).
    pub page_bytes: Option<u64>,
    /// `Hugepagesize` of `/proc/meminfo`, in KiB.
    pub huge_page_kib: Option<u64>,
    /// `always`, `madvise` or `never` (`/sys/kernel/mm/transparent_hugepage/enabled`).
    pub transparent_huge_pages: Option<String>,
    /// The defragmentation effort of a page fault (`/sys/kernel/mm/transparent_hugepage/defrag`).
    pub transparent_huge_page_defrag: Option<String>,
    /// NUMA nodes online (`/sys/devices/system/node/online`).
    pub numa_nodes: Option<u32>,
    /// CPUs of each of these nodes (`/sys/devices/system/node/node*/cpulist`); a node of memory alone
    /// has none.
    #[serde(default)]
    pub numa_cpus: Option<Vec<Vec<u32>>>,
    /// `SwapFree` of `/proc/meminfo`, in KiB.
    #[serde(default)]
    pub swap_free_kib: Option<u64>,
    /// Whether free pages are reported to the host (feature 5 of the virtio balloon device).
    #[serde(default)]
    pub free_page_reporting: Option<bool>,
    /// Memory modules, equal ones once (DMI, structures 17).
    #[serde(default)]
    pub modules: Option<Vec<MemoryModule>>,
    /// Sockets for modules, empty ones too (DMI, structures 17).
    #[serde(default)]
    pub slots: Option<u32>,
    /// Channels that hold a module, by the names of their sockets (DMI, structures 17).
    #[serde(default)]
    pub channels: Option<u32>,
}

/// Memory modules with equal properties (DMI, structures 17). No maker, serial number or tag is
/// read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MemoryModule {
    /// Size in MiB.
    pub size_mib: Option<u64>,
    /// `DDR4`, `DDR5`, ...; what has no name here is `type N`.
    pub kind: Option<String>,
    /// The rate that it runs at, in million transfers a second; otherwise the rated speed.
    pub speed_mts: Option<u32>,
    /// Width of its data in bits, without error correction.
    pub data_bits: Option<u32>,
    /// The number of such modules.
    pub count: u32,
}

/// One block device (`/sys/block/*`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Disk {
    /// The kernel's name: `vda`, `nvme0n1`.
    pub name: String,
    /// Its model (`device/model`); virtio disks have none.
    pub model: Option<String>,
    /// Size in bytes (`size`, which counts 512-byte sectors).
    pub size_bytes: Option<u64>,
    /// Whether it reports to be rotational (`queue/rotational`); virtual disks often do.
    pub rotational: Option<bool>,
    /// The I/O scheduler in use (`queue/scheduler`).
    pub scheduler: Option<String>,
    /// `virtio`, `nvme`, `sata`, `usb`, `scsi`, ...: by the path of its device.
    #[serde(default)]
    pub interface: Option<String>,
    /// `write back` or `write through` (`queue/write_cache`): whether a write waits for the medium.
    #[serde(default)]
    pub write_cache: Option<String>,
    /// Revolutions a minute (SCSI page B1h, `device/vpd_pgb1`).
    #[serde(default)]
    pub rpm: Option<u32>,
    /// Rate of its link: `6.0 Gbps` (`sata_spd`), `8.0 GT/s PCIe x4`.
    #[serde(default)]
    pub link: Option<String>,
}

/// Network cards with equal properties (`/sys/class/net/*`). The name is left out, since it can
/// contain a MAC address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NetworkCard {
    /// `loopback`, `physical` (a VM's card too), `wireless`, `virtual`, or its `DEVTYPE`: `bridge`.
    pub kind: String,
    /// The kernel's driver (`device/driver`); devices of software have none.
    pub driver: Option<String>,
    /// Link speed in Mbit/s (`speed`); unknown while the link is down.
    pub speed_mbps: Option<u64>,
    /// Largest packet in bytes (`mtu`).
    pub mtu_bytes: Option<u64>,
    /// The number of such cards.
    pub count: u32,
    /// Vendor and device id, `8086:1533` (`device/vendor`, `device/device`).
    #[serde(default)]
    pub device: Option<String>,
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
