//! What uses the CPU: other guests of the host, interrupts, quotas; pressure, and swap.

use oscost_model::facts::Bound;
use oscost_model::noise_class::NoiseClass;
use oscost_model::watch::InterruptActivity;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::{join_names, pct, time};
use crate::advice::QUOTA;

/// The batch length that a pilot aims at: long compared with the clock's resolution, short compared
/// with the time between interruptions.
const BATCH_S: f64 = 50e-6;

/// Above this rate more than one in ten batches of 50 us is interrupted: batches are then made
/// shorter, and the clock's resolution limits them.
const INTERRUPTIONS_PER_S: f64 = 2_000.0;

/// Steal time that is reported, and steal time that invalidates figures.
const STEAL_PCT: f64 = 1.0;
const INVALIDATING_STEAL_PCT: f64 = 10.0;

/// Unexplained gaps above this share are reported: the ticks of a quiet guest alone make 0.8 %.
const HIDDEN_PCT: f64 = 2.0;

/// The share of the last 10 s in which tasks stalled, above which it is reported.
const PRESSURE_PCT: f64 = 10.0;

/// Device interrupts on the measuring CPU per second: at this rate they are a tenth of its
/// interruptions.
const DEVICE_INTERRUPTS_PER_S: f64 = 25.0;

/// Lost time on the CPU that a run would use.
pub(super) fn lost_time(observations: &Observations<'_>) -> RuleResult {
    let Some(probe) = observations.chosen_probe() else {
        return RuleResult::unknown("lost time (no CPU could be probed)");
    };
    let (lost, cpu) = (probe.lost_pct(), observations.cpu_name());
    let what = format!(
        "{} of the time on {cpu} was lost, in gaps of up to {}",
        pct(lost),
        time(probe.max_gap_ns)
    );
    let result = match NoiseClass::of_lost_pct(lost) {
        NoiseClass::Quiet => return RuleResult::pass(format!("lost time {}", pct(lost))),
        NoiseClass::Noisy => RuleResult::finding(
            Weight::Noise,
            what,
            "interrupted batches are rejected; an op of over 1 ms cannot avoid interruptions, and \
             its figure grows by about this share",
        ),
        NoiseClass::VeryNoisy => RuleResult::finding(
            Weight::Invalidates,
            what,
            "absolute figures of single shots are not reliable; most batches of 50 us are \
             not interrupted, and their median is valid",
        ),
    };
    let stolen = observations.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct()).unwrap_or(0.0);
    let delay = probe.run_delay_ns.map(|ns| 100.0 * ns as f64 / probe.spin_ns.max(1) as f64);
    match delay {
        _ if stolen > lost / 2.0 => {
            result.with_fix("none from inside: the time went to the hypervisor")
        }
        Some(delay) if delay > lost / 2.0 => {
            result.with_fix("stop the processes that used the CPU (see below)")
        }
        Some(_) if observations.facts.is_guest() => {
            result.with_fix("none from inside: the time went to interrupts or to the hypervisor")
        }
        Some(_) => result.with_fix("none known: the time went to interrupts or to the firmware"),
        None => result.with_fix("stop other processes"),
    }
}

/// Time that the hypervisor gave to other guests.
pub(super) fn steal(observations: &Observations<'_>) -> RuleResult {
    let stolen = observations.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct());
    let (Some(stolen), cpu) = (stolen, observations.cpu_name()) else {
        return RuleResult::unknown("steal (not in /proc/stat)");
    };
    if stolen <= STEAL_PCT {
        return match observations.facts.is_guest() {
            true => RuleResult::pass("steal"),
            false => RuleResult::NotApplicable,
        };
    }
    let weight = if stolen > INVALIDATING_STEAL_PCT { Weight::Invalidates } else { Weight::Noise };
    let what = format!("the hypervisor gave {} of {cpu}'s time to other guests", pct(stolen));
    RuleResult::finding(
        weight,
        what,
        "it stops a worker for milliseconds without a counted context switch; wall times of long \
         ops grow, medians of batches of 50 us hardly change",
    )
    .with_fix("none from inside: the time went to the hypervisor")
}

/// Lost time that neither the scheduler nor the hypervisor accounts for.
pub(super) fn hidden_time(observations: &Observations<'_>) -> RuleResult {
    let Some((probe, delay)) =
        observations.chosen_probe().and_then(|it| Some((it, it.run_delay_ns?)))
    else {
        return RuleResult::NotApplicable;
    };
    let stolen = observations.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct()).unwrap_or(0.0);
    let hidden = probe.lost_pct() - 100.0 * delay as f64 / probe.spin_ns.max(1) as f64 - stolen;
    if hidden <= HIDDEN_PCT {
        return RuleResult::pass("hidden losses");
    }
    let what = format!(
        "{} of {}'s time was lost and is not accounted for",
        pct(hidden),
        observations.cpu_name()
    );
    let result = RuleResult::finding(
        Weight::Noise,
        what,
        "affected batches cannot be detected and rejected: only the median is robust against them",
    );
    result.with_fix(match observations.facts.is_guest() {
        true => "none from inside: the time went to the hypervisor",
        false => "check the firmware setup for system management interrupts",
    })
}

/// The CPU quota of the control group.
pub(super) fn quota(observations: &Observations<'_>) -> RuleResult {
    let quota = observations.facts.scheduling.cgroup_quota_milli_cpus;
    let throttled =
        observations.system_activity().and_then(|watch| watch.throttled_periods).unwrap_or(0);
    let below = matches!(quota, Some(Bound::Max(quota)) if quota < 1_000);
    let what = match quota {
        Some(Bound::Max(quota)) => {
            format!("the control group is limited to {:.2} CPUs", quota as f64 / 1_000.0)
        }
        _ => "the control group has a CPU quota".to_owned(),
    };
    let result = if throttled > 0 {
        let what = format!("{what}, and was throttled {throttled} times during the probe");
        RuleResult::finding(Weight::Invalidates, what, QUOTA.1)
    } else if below {
        RuleResult::finding(Weight::Invalidates, what, QUOTA.1)
    } else {
        return match quota {
            Some(Bound::Max(_)) => RuleResult::finding(
                Weight::Note,
                what,
                "none while the group stays below it; above it, workers are throttled for 10 to \
                 100 ms at a time",
            )
            .with_command(lift_quota(observations)),
            Some(Bound::Unlimited(_)) => RuleResult::pass("CPU quota"),
            None => RuleResult::unknown("CPU quota (not reported by the control group)"),
        };
    };
    result.with_command(lift_quota(observations))
}

/// The command that removes the quota of the own group. A quota of a parent group still applies.
fn lift_quota(observations: &Observations<'_>) -> &'static str {
    use oscost_model::facts::CgroupVersion::V1;
    match observations.facts.scheduling.cgroup_version {
        Some(V1) => {
            "echo -1 | sudo tee /sys/fs/cgroup/cpu$(sed -n 's/.*:cpu[^:]*://p' \
             /proc/self/cgroup | head -1)/cpu.cfs_quota_us"
        }
        _ => "echo max | sudo tee /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cpu.max",
    }
}

/// Whether tasks had to wait before the probe (pressure stall information).
pub(super) fn pressure(observations: &Observations<'_>) -> RuleResult {
    let Some(pressure) = observations.system_activity().map(|watch| &watch.pressure) else {
        return RuleResult::NotApplicable;
    };
    let parts =
        [("cpu", pressure.cpu_pct), ("memory", pressure.memory_pct), ("io", pressure.io_pct)];
    if parts.iter().all(|(_, share)| share.is_none()) {
        return RuleResult::unknown("pressure (no /proc/pressure)");
    }
    let over = parts.iter().filter_map(|(of, share)| {
        let share = share.filter(|&share| share > PRESSURE_PCT)?;
        Some(format!("{of} {}", pct(share)))
    });
    let over: Vec<String> = over.collect();
    if over.is_empty() {
        return RuleResult::pass("pressure");
    }
    let what = format!("pressure (PSI, some avg10): {}", join_names(&over, 3));
    RuleResult::finding(
        Weight::Noise,
        what,
        "waiting tasks run whenever a worker sleeps and compete with it: above 10 % rows need \
         more repetitions",
    )
    .with_command("ps -eo pcpu,pid,stat,comm --sort=-pcpu | head")
    .with_fix("to identify them; then stop them if they are yours")
}

/// How often batches are interrupted.
pub(super) fn interruptions(observations: &Observations<'_>) -> RuleResult {
    let Some(probe) = observations.chosen_probe() else { return RuleResult::NotApplicable };
    let rate = probe.interruptions_per_s();
    if rate <= INTERRUPTIONS_PER_S {
        return RuleResult::pass(format!("{rate:.0} gaps over 5 us per second"));
    }
    let hit = 100.0 * (1.0 - (-rate * BATCH_S).exp());
    let what = format!("{} has {rate:.0} gaps over 5 us per second", observations.cpu_name());
    let effect = format!(
        "{} of batches of 50 us are interrupted: batches are made shorter, and rows may be \
         flagged COARSE_CLOCK",
        pct(hit)
    );
    RuleResult::finding(Weight::Noise, what, effect)
        .with_command("watch -n1 -d cat /proc/interrupts")
        .with_fix("to identify them; then move them to another CPU or stop their device")
}

/// Device interrupts routed to the CPU that a run would use.
pub(super) fn device_interrupts(observations: &Observations<'_>) -> RuleResult {
    let (Some(watch), Some((at, chosen))) =
        (observations.system_activity(), observations.chosen_activity())
    else {
        return RuleResult::unknown("where device interrupts go");
    };
    let devices: Vec<_> = watch.interrupts.iter().filter(|it| it.allowed.is_some()).collect();
    if devices.is_empty() {
        return RuleResult::unknown("where device interrupts go (not in /proc/irq)");
    }
    let may_use =
        |cpus: &Option<Vec<u32>>| cpus.as_ref().is_some_and(|it| it.contains(&chosen.cpu));
    let here: Vec<_> = devices
        .iter()
        // Older kernels report only where an interrupt may go.
        .filter(
            |it| if it.effective.is_some() { may_use(&it.effective) } else { may_use(&it.allowed) },
        )
        .collect();
    let cpu = observations.cpu_name();
    if here.is_empty() {
        return RuleResult::pass("device interrupts");
    }
    let seconds = watch.wall_ns.max(1) as f64 / 1e9;
    let rate = |times: u64| times as f64 / seconds;
    let times = |it: &&&InterruptActivity| it.counts.get(at).copied().unwrap_or(0);
    let total = rate(here.iter().map(&times).sum());
    let mut busiest: Vec<_> = here.iter().filter(|it| times(it) > 0).collect();
    busiest.sort_by_key(|it| std::cmp::Reverse(times(it)));
    let names: Vec<String> = busiest
        .iter()
        .map(|it| {
            let name = it.name.as_deref().unwrap_or("unnamed");
            format!("{} ({name}) {:.0} per second", it.irq, rate(times(it)))
        })
        .collect();
    let (all, some) = (devices.len(), here.len());
    let what = match names.is_empty() {
        true => format!("{some} of {all} device interrupts go to {cpu}; none occurred"),
        false => {
            format!("{some} of {all} device interrupts go to {cpu}: {}", join_names(&names, 3))
        }
    };
    let weight = if total > DEVICE_INTERRUPTS_PER_S { Weight::Noise } else { Weight::Note };
    let result = RuleResult::finding(
        weight,
        what,
        "each interrupts a batch and evicts its cache lines, without a counted context switch",
    );
    let Some(other) = watch.cpus.iter().map(|it| it.cpu).find(|&cpu| cpu != chosen.cpu) else {
        return result.with_fix("none: there is no other CPU to move them to");
    };
    let irqs: Vec<&str> = here.iter().map(|it| it.irq.as_str()).collect();
    let moves = format!(
        "for i in {}; do echo {other} | sudo tee /proc/irq/$i/smp_affinity_list; done",
        irqs.join(" ")
    );
    match watch.daemons.iter().any(|name| name == "irqbalance") {
        true => result.with_command(format!("{}; {moves}", observations.stop(&["irqbalance"]))),
        false => result.with_command(moves),
    }
}

/// Memory in swap.
pub(super) fn swap(observations: &Observations<'_>) -> RuleResult {
    let memory = &observations.facts.memory;
    let (Some(total), Some(free)) = (memory.swap_total_kib, memory.swap_free_kib) else {
        return RuleResult::unknown("swap (not in /proc/meminfo)");
    };
    let used = total.saturating_sub(free);
    if used == 0 {
        return RuleResult::pass("swap");
    }
    let what = format!("{} MiB are in swap", used.div_ceil(1024));
    RuleResult::finding(
        Weight::Noise,
        what,
        "swapping a page in waits for a disk: the batch is rejected, and first touches of memory \
         take a disk's latency longer",
    )
    .with_command("sudo swapoff -a")
}
