//! The probe: spins on CPUs and records gaps.

use oscost_model::clock::ClockKind;
use oscost_model::protocol::CpuProbe;

use crate::engine::clock::{Clock, Syscall, Tsc, Vdso};
use crate::engine::covariates::KernelAccount;
use crate::engine::{calibrate, probe};
use crate::kernel::cpu::affinity;

/// How often the probe times each of the two chains that show the core's rate.
const CORE_RATE_TRIES: u32 = 15;

/// Spins on every CPU at once, one thread each; a CPU that cannot be used is left out. Without CPUs
/// it spins on the CPU that the scheduler has chosen.
pub(crate) fn probe_cpus(cpus: &[u32], spin_ms: u64, clock: ClockKind) -> Vec<CpuProbe> {
    let probe = |cpu: u32| match clock {
        ClockKind::Tsc => probe_cpu(&mut Tsc, cpu, spin_ms),
        ClockKind::Vdso => probe_cpu(&mut Vdso::find().ok()?, cpu, spin_ms),
        _ => probe_cpu(&mut Syscall, cpu, spin_ms),
    };
    if cpus.is_empty() {
        return probe(affinity::current_cpu().max(0) as u32).into_iter().collect();
    }
    let spin = |cpu: u32| {
        affinity::pin(cpu).ok()?;
        probe(cpu)
    };
    std::thread::scope(|scope| {
        let started = |&cpu: &u32| {
            std::thread::Builder::new().spawn_scoped(scope, move || spin(cpu)).map_err(|_| cpu)
        };
        let started: Vec<_> = cpus.iter().map(started).collect();
        let probes = started.into_iter().filter_map(|started| match started {
            Ok(thread) => thread.join().ok().flatten(),
            // No more threads (RLIMIT_NPROC): one CPU after the other.
            Err(cpu) => spin(cpu),
        });
        probes.collect()
    })
}

fn probe_cpu<C: Clock>(clock: &mut C, cpu: u32, spin_ms: u64) -> Option<CpuProbe> {
    let mut covariates = KernelAccount::of_this_thread();
    let first = calibrate::sync(clock);
    while clock.raw_ns() - first.raw_ns < 2_000_000 {}
    let rate = first.ticks_per_ns(&calibrate::sync(clock))?;
    let found = probe::find_gaps(clock, &mut covariates, cpu, spin_ms * 1_000_000, rate);
    let core_cycles_per_ns = probe::core_cycles_per_ns(clock, rate, CORE_RATE_TRIES);
    Some(CpuProbe { core_cycles_per_ns, ..found })
}
