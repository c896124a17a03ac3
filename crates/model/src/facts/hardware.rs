//! The hardware of a machine: processor, caches, memory, disks and network cards.

use serde::{Deserialize, Serialize};

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
