//! The processor: frequency, SMT siblings, tick, isolation and hypervisor.

use oscost_model::protocol::CpuProbe;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::pct;
use crate::advice::{GOVERNOR, ONE_CPU, SMT, VIRTUAL};

/// A difference between the frequencies of two cores that is worth a finding.
const RATES_PCT: f64 = 2.0;

/// Simultaneous multithreading.
pub(super) fn smt(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.scheduling.smt_active {
        Some(true) => RuleResult::finding(Weight::Noise, format!("{} here", SMT.0), SMT.1)
            .with_command("echo off | sudo tee /sys/devices/system/cpu/smt/control"),
        Some(false) => RuleResult::pass("SMT"),
        None => RuleResult::unknown("SMT (not reported by the kernel)"),
    }
}

/// The frequency governor.
pub(super) fn governor(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.scheduling.governor.as_deref() {
        Some("performance") => RuleResult::pass("governor"),
        Some(governor) => RuleResult::finding(
            Weight::Noise,
            format!("the frequency governor is `{governor}`, not `performance`"),
            format!("{}: it takes about 20 ms to rise, longer than a worker lives", GOVERNOR.1),
        )
        .with_command(
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        None if observations.facts.is_guest() => {
            RuleResult::unknown("governor (no cpufreq in this guest: the host sets the frequency)")
        }
        None => RuleResult::unknown("governor (no cpufreq here)"),
    }
}

/// Whether the core may run above its rated frequency.
pub(super) fn turbo(observations: &Observations<'_>) -> RuleResult {
    let scheduling = &observations.facts.scheduling;
    let rate = observations.chosen_probe().and_then(|probe| probe.core_cycles_per_ns);
    let now = rate.map(|rate| format!(" ({rate:.2} GHz now, an estimate)")).unwrap_or_default();
    match scheduling.boost {
        Some(false) => RuleResult::pass("turbo"),
        Some(true) => RuleResult::finding(
            Weight::Note,
            format!("turbo is on: the core may exceed its rated frequency{now}"),
            "the frequency depends on temperature and on the load of other cores, and every \
             figure on the frequency: a drift of over 2 % between two runs shows as a difference",
        )
        .with_command(match observations.facts.cpu.vendor.as_deref() {
            Some("GenuineIntel") => {
                "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
            }
            _ => "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost",
        }),
        None => RuleResult::unknown("turbo (no control in sysfs)"),
    }
}

/// The estimated frequency of a core.
struct CoreRate {
    cpu: u32,
    ghz: f64,
}

/// Whether the cores run at the same frequency.
pub(super) fn core_rates(observations: &Observations<'_>) -> RuleResult {
    let rate = |it: &CpuProbe| Some(CoreRate { cpu: it.cpu, ghz: it.core_cycles_per_ns? });
    let rates: Vec<CoreRate> = observations.probe.iter().filter_map(rate).collect();
    let by_rate = |one: &&CoreRate, other: &&CoreRate| one.ghz.total_cmp(&other.ghz);
    let (Some(slow), Some(fast)) = (rates.iter().min_by(by_rate), rates.iter().max_by(by_rate))
    else {
        return RuleResult::NotApplicable;
    };
    let difference_pct = 100.0 * (fast.ghz / slow.ghz - 1.0);
    if rates.len() < 2 {
        return RuleResult::NotApplicable;
    }
    if difference_pct <= RATES_PCT {
        return RuleResult::pass("core rates");
    }
    let cpu = observations.chosen_probe().map_or(slow.cpu, |probe| probe.cpu);
    let what = format!(
        "cores run at different frequencies: CPU {} at {:.2} GHz, CPU {} at {:.2} (estimates)",
        slow.cpu, slow.ghz, fast.cpu, fast.ghz
    );
    let effect =
        format!("the same op differs by {} between them: measure on one CPU", pct(difference_pct));
    RuleResult::finding(Weight::Noise, what, effect).with_command(format!("oscost run --cpu {cpu}"))
}

/// Whether the tool and the workers share one CPU.
pub(super) fn one_cpu(observations: &Observations<'_>) -> RuleResult {
    let Some(allowed) = observations.facts.cpu.allowed_cpus.as_ref() else {
        return RuleResult::unknown("the available CPUs");
    };
    if allowed.len() != 1 {
        return RuleResult::pass(format!("{} CPUs", allowed.len()));
    }
    let result = RuleResult::finding(Weight::Limitation, ONE_CPU.0, ONE_CPU.1);
    match observations.facts.cpu.logical_online {
        Some(2..) => result.with_command("sudo taskset -pc 0-$(($(nproc --all) - 1)) $$"),
        _ => result.with_fix("none: the machine has no other CPU"),
    }
}

/// A CPU that can be kept free of other work: not CPU 0, on which the kernel boots and does its
/// housekeeping (timers, RCU, unbound work), but the highest one in its place.
fn without_housekeeping(observations: &Observations<'_>, cpu: u32) -> u32 {
    let allowed = observations.facts.cpu.allowed_cpus.as_ref();
    let highest = allowed.and_then(|cpus| cpus.iter().copied().max());
    if cpu == 0 { highest.unwrap_or(cpu) } else { cpu }
}

/// Whether a CPU is isolated from the scheduler.
pub(super) fn isolation(observations: &Observations<'_>) -> RuleResult {
    let isolated = observations.facts.scheduling.isolated_cpus.as_deref();
    let chosen = observations.chosen_probe().map(|probe| probe.cpu);
    match (isolated, chosen) {
        (Some(isolated), Some(cpu)) if isolated.contains(&cpu) => RuleResult::pass("isolation"),
        (Some(&[first, ..]), _) => RuleResult::finding(
            Weight::Note,
            format!("CPU {first} is isolated, but was not probed"),
            "no task runs there unless it is pinned: intervals are narrower on it",
        )
        .with_command(format!("oscost run --cpu {first}")),
        (None, _) => RuleResult::unknown("isolated CPUs"),
        (Some([]), Some(cpu))
            if observations.facts.cpu.logical_online.is_none_or(|cpus| cpus > 1) =>
        {
            RuleResult::finding(
                Weight::Note,
                "no CPU is isolated (isolcpus is empty)",
                "the scheduler may place any task on a worker's CPU",
            )
            .with_fix(format!(
                "boot with `isolcpus={0}`, then `oscost run --cpu {0}`",
                without_housekeeping(observations, cpu)
            ))
        }
        (Some([]), _) => RuleResult::NotApplicable,
    }
}

/// Whether the timer tick interrupts the CPU that a run would use.
pub(super) fn tick(observations: &Observations<'_>) -> RuleResult {
    let (Some(probe), cpu) = (observations.chosen_probe(), observations.cpu_name()) else {
        return RuleResult::NotApplicable;
    };
    let full = observations.facts.scheduling.nohz_full_cpus.as_deref();
    if full.is_some_and(|cpus| cpus.contains(&probe.cpu)) {
        return RuleResult::pass("tick");
    }
    let hz = observations.facts.os.hz.map(|hz| format!(" (HZ={hz})")).unwrap_or_default();
    let what = match timer_rate(observations, probe) {
        Some(rate) => format!("the timer interrupted {cpu} {rate:.0} times a second{hz}"),
        None => format!("the kernel's tick interrupts {cpu}{hz}"),
    };
    let what = format!("{what}; no CPU is tickless (nohz_full)");
    let effect = match observations.facts.is_guest() {
        true => {
            "in a guest a tick takes 20 to 30 us, 0.8 % of the time at 250 per second: most \
             batches of 50 us fall between two ticks"
        }
        false => "each takes a few us: most batches of 50 us fall between two ticks",
    };
    let result = RuleResult::finding(Weight::Note, what, effect);
    match observations.built_with("NO_HZ_FULL") {
        Some(false) => result.with_fix("none: this kernel is built without CONFIG_NO_HZ_FULL"),
        _ => result.with_fix(format!(
            "boot with `nohz_full={0} rcu_nocbs={0}`, then `oscost run --cpu {0}`",
            without_housekeeping(observations, probe.cpu)
        )),
    }
}

/// Timer interrupts per second during the probe.
fn timer_rate(observations: &Observations<'_>, probe: &CpuProbe) -> Option<f64> {
    let watch = observations.system_activity()?;
    let at = watch.cpus.iter().position(|it| it.cpu == probe.cpu)?;
    let timer = watch.interrupts.iter().find(|it| it.irq == "LOC")?;
    Some(*timer.counts.get(at)? as f64 / (watch.wall_ns.max(1) as f64 / 1e9))
}

/// Whether the machine runs under a hypervisor.
pub(super) fn virtual_machine(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.virtualization.as_deref() {
        Some("none") => RuleResult::pass("hypervisor"),
        Some(kind) => RuleResult::finding(
            Weight::Note,
            format!("{} ({kind})", VIRTUAL.0),
            format!(
                "{}; VM exits are expensive: an interrupt costs 20 to 30 us, waking another CPU \
                 about 25 us",
                VIRTUAL.1
            ),
        )
        .with_fix("none from inside: compare guests with guests, and pin their CPUs on the host"),
        None => RuleResult::unknown("whether there is a hypervisor"),
    }
}
