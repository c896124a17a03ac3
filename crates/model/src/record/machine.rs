//! A machine that was measured, and how quiet it was.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::facts::{
    Cache, Cpu, Disk, Facts, Limits, Memory, NetworkCard, Os, Scheduling, Security,
};
use crate::protocol::CpuProbe;

record! {
    /// A machine that was measured.
    pub struct Machine {
        /// `m0`, `m1`, ...
        pub id: String,
        /// Its processors.
        pub cpu: Cpu,
        /// Its caches.
        pub caches: Vec<Cache>,
        /// Its memory.
        pub memory: Memory,
        /// Its disks.
        pub disks: Vec<Disk>,
        /// Its network cards.
        pub network: Vec<NetworkCard>,
        /// Its kernel.
        pub os: Os,
        /// The limits of the measuring process.
        pub limits: Limits,
        /// How tasks are scheduled and isolated there.
        pub scheduling: Scheduling,
        /// What its kernel checks, hides or forbids.
        pub security: Security,
        /// The hypervisor, where one shows.
        pub virtualization: Option<String>,
        /// Mitigations of processor faults, as the kernel words them.
        pub mitigations: BTreeMap<String, String>,
        /// The clock that was used.
        pub clock: Option<Clock>,
        /// What makes figures noisy or incomparable there, in words.
        pub advice: Vec<String>,
        /// How it was booted, where oscost did so itself; null where it stood there already.
        #[serde(default)]
        pub vm: Option<Vm>,
    }

    /// A virtual machine that was booted for a run.
    pub struct Vm {
        /// The kernel's image as it was named: a file, a package, or a version.
        pub kernel: String,
        /// Content hash of the image.
        pub image: String,
        /// What ran it, as `QEMU 7.2.22`.
        pub emulator: String,
        /// `tcg` where instructions are counted, `kvm` where time is measured.
        pub accel: String,
        /// The processor that it pretends to have, as the emulator names it.
        pub cpu: String,
        /// Its memory, in MiB.
        pub mem_mib: u32,
        /// What was appended to the kernel's command line.
        pub append: Option<String>,
    }

    /// The clock of a machine.
    pub struct Clock {
        /// `tsc`, `vdso`, `syscall` or `instructions`.
        pub source: String,
        /// Its rate against CLOCK_MONOTONIC_RAW over the whole run.
        pub ticks_per_ns: f64,
        /// The bound on the relative error of the rate, in parts per million.
        pub rate_error_ppm: Option<f64>,
        /// q: its step.
        pub q_ns: f64,
        /// c_in: what an empty timed interval shows.
        pub c_in_ns: f64,
        /// c_tot: what a pair of reads costs the program.
        pub c_tot_ns: f64,
        /// Why better clocks were passed over.
        pub passed_over: Vec<String>,
    }

    /// How quiet a machine was.
    pub struct Conditions {
        /// Which machine.
        pub machine: String,
        /// `clean`, `noisy` or `very_noisy`; null when nothing was measured.
        pub class: Option<String>,
        /// The reference cases before and after.
        pub reference_cases: ReferenceCases,
        /// Interruptions over 5 us in a second on the measuring CPU.
        pub lambda_per_s: Option<f64>,
        /// Time that the hypervisor took while workers were timing, in per cent.
        pub steal_pct: Option<f64>,
        /// Time that workers were ready but not running, in per cent of their timed part.
        pub lost_pct: Option<f64>,
        /// What was attached to the system or to the workers.
        pub tracers: Vec<String>,
        /// What the probe saw on each CPU.
        pub probe: Vec<CpuProbe>,
        /// Flags of the whole run.
        pub flags: Vec<String>,
    }

    /// The reference cases' raw medians, in ns/op.
    pub struct ReferenceCases {
        /// Before the first round and in the first third of the rounds.
        pub before: BTreeMap<String, f64>,
        /// After the last round and in the last third.
        pub after: BTreeMap<String, f64>,
    }
}

impl Machine {
    /// A machine of these facts whose clock is not known yet.
    pub fn new(id: &str, facts: Facts, advice: Vec<String>) -> Self {
        Self {
            id: id.to_owned(),
            cpu: facts.cpu,
            caches: facts.caches,
            memory: facts.memory,
            disks: facts.disks,
            network: facts.network,
            os: facts.os,
            limits: facts.limits,
            scheduling: facts.scheduling,
            security: facts.security,
            virtualization: facts.virtualization,
            mitigations: facts.mitigations,
            clock: None,
            advice,
            vm: None,
        }
    }
}
