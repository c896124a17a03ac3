//! Describes the machine that the worker runs on.
//!
//! Reads files in `/proc`, `/sys`, `/boot`, `/run` and `/etc` and the start of `/bin/sh`, and
//! nothing else: no system call beyond open and read, no command, no network. It does not judge
//! (that is `advice`, in the tool) and knows no benchmark, clock or worker. A fact that cannot be
//! read is `None`; nothing here fails, because a machine that hides a fact can still be measured.

pub mod activity;
mod cgroup;
mod cmdline;
mod config;
pub mod counter_files;
mod cpu;
mod disks;
pub mod dmi;
pub mod gzip;
mod interrupts;
mod limits;
mod memory;
mod network;
mod os;
mod parse;
mod processes;
mod reader;
mod roots;
mod scheduling;
mod security;
mod snapshot;
#[cfg(test)]
mod tests;
mod tracers;
mod unreadable;
mod virtualization;

use oscost_model::facts::{Cpu, Facts, Snapshot};

pub use roots::Roots;

/// Reads all facts about the machine. Takes some 5 ms: once per session, not once per worker.
pub fn gather(roots: &Roots) -> Facts {
    let status = reader::lines(&roots.at("proc/self/status")).unwrap_or_default();
    let firmware = reader::binary(&roots.at("sys/firmware/dmi/tables/DMI"));
    let firmware = firmware.map(|table| dmi::parse(&table)).unwrap_or_default();
    let cpu = Cpu { bus_mhz: firmware.bus_mhz, ..cpu::gather(roots, &status) };
    let tracers = tracers::gather(roots, &status);
    Facts {
        caches: cpu::caches(roots),
        memory: memory::gather(roots, firmware),
        disks: disks::gather(roots),
        network: network::gather(roots),
        os: os::gather(roots),
        limits: limits::gather(roots),
        virtualization: virtualization::gather(roots, cpu.flags.as_deref()),
        mitigations: security::mitigations(roots),
        scheduling: scheduling::gather(roots, cpu.allowed_cpus.as_deref()),
        security: security::gather(roots, &status),
        counters: counter_files::gather(roots),
        tracers: tracers.active,
        tracers_unread: tracers.unread,
        unread: unreadable::gather(roots),
        cpu,
    }
}

/// The CPUs that this process may run on; empty if unknown.
pub fn allowed_cpus(roots: &Roots) -> Vec<u32> {
    let status = reader::lines(&roots.at("proc/self/status")).unwrap_or_default();
    parse::field(&status, "Cpus_allowed_list").and_then(parse::list).unwrap_or_default()
}

/// The disturbance counters of a CPU of this machine. Takes some 100 us: outside timed intervals
/// only.
pub fn disturbances(cpu: u32) -> Snapshot {
    disturbances_in(&Roots::machine(), cpu)
}

/// The disturbance counters of a CPU, from the files under `roots`.
pub fn disturbances_in(roots: &Roots, cpu: u32) -> Snapshot {
    snapshot::take(roots, cpu)
}
