//! The processor: its clock, its siblings, its tick, and whose it is.

use oscost_model::protocol::CpuProbe;

use super::{Observations, RuleResult, Weight, pct};
use crate::advice::{GOVERNOR, ONE_CPU, SMT, VIRTUAL};

/// A difference between the rates of two cores, or a drift of one, that is worth a flag.
const RATES_PCT: f64 = 2.0;

/// Two threads on one core.
pub(super) fn smt(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.scheduling.smt_active {
        Some(true) => RuleResult::found(Weight::Noise, format!("{} here", SMT.0), SMT.1)
            .with_command("echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        Some(false) => RuleResult::fine("SMT"),
        None => RuleResult::unknown("SMT (the kernel does not tell)"),
    }
}

/// What chooses the core's rate.
pub(super) fn governor(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.scheduling.governor.as_deref() {
        Some("performance") => RuleResult::fine("governor"),
        Some(governor) => RuleResult::found(
            Weight::Noise,
            format!("the frequency governor is `{governor}`, not `performance`"),
            format!("{}: it takes some 20 ms to rise, longer than a worker lives", GOVERNOR.1),
        )
        .with_command(
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        None if seen.facts.is_guest() => {
            RuleResult::unknown("governor (no cpufreq in this guest: the host chooses the rate)")
        }
        None => RuleResult::unknown("governor (no cpufreq here)"),
    }
}

/// Whether the core may run faster than it is rated.
pub(super) fn turbo(seen: &Observations<'_>) -> RuleResult {
    let scheduling = &seen.facts.scheduling;
    let rate = seen.chosen_probe().and_then(|probe| probe.core_cycles_per_ns);
    let now = rate.map(|rate| format!(" ({rate:.2} GHz now, an estimate)")).unwrap_or_default();
    match scheduling.boost {
        Some(false) => RuleResult::fine("turbo"),
        Some(true) => RuleResult::found(
            Weight::Note,
            format!("turbo is on: the core may run faster than rated{now}"),
            "its rate then follows temperature and neighbours, and every figure follows the rate: \
             a drift of over 2 % between two runs is a difference",
        )
        .with_command(match seen.facts.cpu.vendor.as_deref() {
            Some("GenuineIntel") => {
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            }
            _ => "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        }),
        None => RuleResult::unknown("turbo (no switch for it shows)"),
    }
}

/// Whether the cores run at one rate.
pub(super) fn core_rates(seen: &Observations<'_>) -> RuleResult {
    let rates: Vec<(u32, f64)> =
        seen.probe.iter().filter_map(|it| Some((it.cpu, it.core_cycles_per_ns?))).collect();
    let by_rate = |one: &&(u32, f64), other: &&(u32, f64)| one.1.total_cmp(&other.1);
    let (Some(slow), Some(fast)) = (rates.iter().min_by(by_rate), rates.iter().max_by(by_rate))
    else {
        return RuleResult::NotApplicable;
    };
    let apart = 100.0 * (fast.1 / slow.1 - 1.0);
    if rates.len() < 2 {
        return RuleResult::NotApplicable;
    }
    if apart <= RATES_PCT {
        return RuleResult::fine("core rates");
    }
    let cpu = seen.chosen_probe().map_or(slow.0, |probe| probe.cpu);
    let what = format!(
        "cores run at different rates: CPU {} at {:.2} GHz, CPU {} at {:.2} (estimates)",
        slow.0, slow.1, fast.0, fast.1
    );
    let does = format!("the same op differs by {} between them: stay on one CPU", pct(apart));
    RuleResult::found(Weight::Noise, what, does).with_command(format!("oscost run --cpu {cpu}"))
}

/// Whether tool and workers have to take turns.
pub(super) fn one_cpu(seen: &Observations<'_>) -> RuleResult {
    let Some(allowed) = seen.facts.cpu.allowed_cpus.as_ref() else {
        return RuleResult::unknown("the CPUs that may be used");
    };
    if allowed.len() != 1 {
        return RuleResult::fine(format!("{} CPUs", allowed.len()));
    }
    let judged = RuleResult::found(Weight::Limitation, ONE_CPU.0, ONE_CPU.1);
    match seen.facts.cpu.logical_online {
        Some(2..) => judged.with_command("sudo taskset -pc 0-$(($(nproc --all) - 1)) $$"),
        _ => judged.mend("nothing: the machine has no other"),
    }
}

/// Whether a CPU is kept for measuring.
pub(super) fn isolation(seen: &Observations<'_>) -> RuleResult {
    let isolated = seen.facts.scheduling.isolated_cpus.as_deref();
    let chosen = seen.chosen_probe().map(|probe| probe.cpu);
    match (isolated, chosen) {
        (Some(isolated), Some(cpu)) if isolated.contains(&cpu) => RuleResult::fine("isolation"),
        (Some(&[first, ..]), _) => RuleResult::found(
            Weight::Note,
            format!("CPU {first} is isolated, and is not among those that were probed"),
            "no task is put there unless it asks: intervals are narrower on it",
        )
        .with_command(format!("oscost run --cpu {first}")),
        (None, _) => RuleResult::unknown("isolated CPUs"),
        (Some([]), Some(cpu)) if seen.facts.cpu.logical_online.is_none_or(|cpus| cpus > 1) => {
            RuleResult::found(
                Weight::Note,
                "no CPU is isolated (isolcpus is empty)",
                "any task may be put beside a worker on its CPU",
            )
            .mend(format!("boot with `isolcpus={cpu}`, then `oscost run --cpu {cpu}`"))
        }
        (Some([]), _) => RuleResult::NotApplicable,
    }
}

/// Whether the kernel's tick comes to the CPU that a run would take.
pub(super) fn tick(seen: &Observations<'_>) -> RuleResult {
    let (Some(probe), cpu) = (seen.chosen_probe(), seen.cpu_name()) else {
        return RuleResult::NotApplicable;
    };
    let full = seen.facts.scheduling.nohz_full_cpus.as_deref();
    if full.is_some_and(|cpus| cpus.contains(&probe.cpu)) {
        return RuleResult::fine("tick");
    }
    let hz = seen.facts.os.hz.map(|hz| format!(" (HZ={hz})")).unwrap_or_default();
    let what = match timer_rate(seen, probe) {
        Some(rate) => format!("the timer interrupted {cpu} {rate:.0} times a second{hz}"),
        None => format!("the kernel's tick interrupts {cpu}{hz}"),
    };
    let what = format!("{what}; no CPU is without a tick (nohz_full)");
    let does = match seen.facts.is_guest() {
        true => {
            "in a guest a tick takes 20 to 30 us, 0.8 % of the time at 250 a second: batches of 50 \
             us mostly pass between two"
        }
        false => "each takes some us: batches of 50 us mostly pass between two",
    };
    let judged = RuleResult::found(Weight::Note, what, does);
    match seen.built_with("NO_HZ_FULL") {
        Some(false) => judged.mend("nothing here: this kernel is built without CONFIG_NO_HZ_FULL"),
        _ => judged.mend(format!(
            "boot with `nohz_full={0} rcu_nocbs={0}`, then `oscost run --cpu {0}`",
            probe.cpu
        )),
    }
}

/// Timer interrupts in a second, as they came.
fn timer_rate(seen: &Observations<'_>, probe: &CpuProbe) -> Option<f64> {
    let watch = seen.system_activity()?;
    let at = watch.cpus.iter().position(|it| it.cpu == probe.cpu)?;
    let timer = watch.interrupts.iter().find(|it| it.irq == "LOC")?;
    Some(*timer.counts.get(at)? as f64 / (watch.wall_ns.max(1) as f64 / 1e9))
}

/// Whether a hypervisor is underneath.
pub(super) fn virtual_machine(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.virtualization.as_deref() {
        Some("none") => RuleResult::fine("hypervisor"),
        Some(kind) => RuleResult::found(
            Weight::Note,
            format!("{} ({kind})", VIRTUAL.0),
            format!(
                "{}; what leaves the guest is dear: an interrupt 20 to 30 us, a wake-up of another \
                 CPU some 25 us",
                VIRTUAL.1
            ),
        )
        .mend("nothing here: compare guests with guests, and pin its CPUs on the host"),
        None => RuleResult::unknown("whether a hypervisor is underneath"),
    }
}
