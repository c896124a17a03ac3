//! Describes the machine that the worker runs on.
//!
//! Reads files in `/proc`, `/sys`, `/boot`, `/run` and `/etc` and the start of `/bin/sh`, and
//! nothing else: no system call beyond open and read, no command, no network. It does not judge
//! (that is `advice`, in the tool) and knows no benchmark, clock or worker. A fact that cannot be
//! read is `None`; nothing here fails, because a machine that hides a fact can still be measured.

pub mod accounting;
pub mod counter_files;
pub mod hardware;
pub mod source;
mod system;
#[cfg(test)]
pub(crate) mod tests;

use oscost_model::facts::{Cpu, Facts, Snapshot};

pub use source::roots::Roots;

/// Reads all facts about the machine. Takes some 5 ms: once per session, not once per worker.
pub fn gather(roots: &Roots) -> Facts {
    let status = source::reader::lines(&roots.at("proc/self/status")).unwrap_or_default();
    let firmware = source::reader::binary(&roots.at("sys/firmware/dmi/tables/DMI"));
    let firmware = firmware.map(|table| hardware::dmi::parse(&table)).unwrap_or_default();
    let cpu = Cpu { bus_mhz: firmware.bus_mhz, ..hardware::cpu::gather(roots, &status) };
    let tracers = system::tracers::gather(roots, &status);
    Facts {
        caches: hardware::cpu::caches(roots),
        memory: hardware::memory::gather(roots, firmware),
        disks: hardware::disks::gather(roots),
        network: hardware::network::gather(roots),
        os: system::os::gather(roots),
        limits: system::limits::gather(roots),
        virtualization: hardware::virtualization::gather(roots, cpu.flags.as_deref()),
        mitigations: system::security::mitigations(roots),
        scheduling: system::scheduling::gather(roots, cpu.allowed_cpus.as_deref()),
        security: system::security::gather(roots, &status),
        counters: counter_files::gather(roots),
        tracers: tracers.active,
        tracers_unread: tracers.unread,
        unread: source::unreadable::gather(roots),
        cpu,
    }
}

/// The CPUs that this process may run on; empty if unknown.
pub fn allowed_cpus(roots: &Roots) -> Vec<u32> {
    let status = source::reader::lines(&roots.at("proc/self/status")).unwrap_or_default();
    source::parse::field(&status, "Cpus_allowed_list")
        .and_then(source::parse::list)
        .unwrap_or_default()
}

/// The disturbance counters of a CPU of this machine. Takes some 100 us: outside timed intervals
/// only.
pub fn disturbances(cpu: u32) -> Snapshot {
    disturbances_in(&Roots::machine(), cpu)
}

/// The disturbance counters of a CPU, from the files under `roots`.
pub fn disturbances_in(roots: &Roots, cpu: u32) -> Snapshot {
    accounting::snapshot::take(roots, cpu)
}
