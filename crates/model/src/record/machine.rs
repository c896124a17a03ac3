//! A measured machine, and the disturbances on it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::CoreConditions;
use crate::counters::CounterFacts;
use crate::facts::{
    Cache, Cpu, Disk, Facts, Limits, Memory, NetworkCard, Os, Scheduling, Security,
};
use crate::noise_class::NoiseClass;
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
        /// Scheduler, frequency and cgroup settings.
        pub scheduling: Scheduling,
        /// Security settings of its kernel.
        pub security: Security,
        /// The hypervisor; `none` for a physical machine, null if unknown.
        pub virtualization: Option<String>,
        /// Mitigations of CPU vulnerabilities, as reported by the kernel.
        pub mitigations: BTreeMap<String, String>,
        /// The processor's counters.
        #[serde(default)]
        pub counters: CounterFacts,
        /// The clock that was used.
        pub clock: Option<Clock>,
        /// Advice on what makes its figures noisy or incomparable.
        pub advice: Vec<String>,
        /// How oscost booted it; null if it was already running.
        #[serde(default)]
        pub vm: Option<Vm>,
    }

    /// A virtual machine that was booted for a run.
    pub struct Vm {
        /// The kernel image as named by the user: a file, a package, or a version.
        pub kernel: String,
        /// Content hash of the image.
        pub image: String,
        /// The emulator, as `QEMU 7.2.22`.
        pub emulator: String,
        /// `tcg` where instructions are counted, `kvm` where time is measured.
        pub accel: String,
        /// The emulated CPU model, by the emulator's name.
        pub cpu: String,
        /// Its memory, in MiB.
        pub mem_mib: u32,
        /// The text appended to the kernel's command line.
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
        /// q: its step, in ns.
        pub q_ns: f64,
        /// c_in: what an empty timed interval shows, in ns.
        pub c_in_ns: f64,
        /// c_tot: the cost of a pair of reads, in ns.
        pub c_tot_ns: f64,
        /// Why better clocks were not used.
        pub rejected_clocks: Vec<String>,
    }

    /// Disturbances on a machine during the run.
    pub struct Conditions {
        /// The machine's id.
        pub machine: String,
        /// `quiet`, `noisy` or `very-noisy`; null if nothing was measured.
        pub class: Option<String>,
        /// The reference cases before and after.
        pub reference_cases: ReferenceCases,
        /// Interruptions over 5 us per second on the measuring CPU.
        pub lambda_per_s: Option<f64>,
        /// Stolen time while workers were timing, in per cent.
        pub steal_pct: Option<f64>,
        /// Time that workers were runnable but not running, in per cent of their timed part.
        pub lost_pct: Option<f64>,
        /// Tracers attached to the system or to the workers.
        pub tracers: Vec<String>,
        /// The result of the probe on each CPU.
        pub probe: Vec<CpuProbe>,
        /// The core over the run, by the processor's counters; null if nothing was counted.
        #[serde(default)]
        pub core: Option<CoreConditions>,
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

impl Conditions {
    /// The share of the time that the run did not get, by which `class` is: while others had its CPU, and
    /// while the host had it. In per cent.
    pub fn lost_and_stolen_pct(&self) -> Option<f64> {
        Some(self.lost_pct? + self.steal_pct.unwrap_or(0.0))
    }

    /// Why no verdict may be based on a run on this machine, as what the run is or has; `None` if it
    /// may.
    pub fn not_claimable_reason(&self) -> Option<&'static str> {
        if self.flags.iter().any(|flag| flag == "CLOCK_DRIFTED") {
            return Some("has a clock that drifted");
        }
        let is_very_noisy = self.class.as_deref() == Some(NoiseClass::VeryNoisy.text());
        is_very_noisy.then_some("is very noisy")
    }
}

impl Machine {
    /// A machine with these facts whose clock has not been calibrated yet.
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
            counters: facts.counters,
            clock: None,
            advice,
            vm: None,
        }
    }
}
