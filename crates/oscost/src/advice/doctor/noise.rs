//! Who takes the CPU: neighbours, processes, interrupts, quotas.

use oscost_model::facts::Bound;
use oscost_model::noise_class::NoiseClass;
use oscost_model::watch::{InterruptActivity, ProcessActivity, ProcessKind};

use super::{Observations, RuleResult, Weight, join_names, pct, time};
use crate::advice::QUOTA;

/// A batch, as a pilot wants it: long against the clock, short against interruptions.
const BATCH_S: f64 = 50e-6;

/// More interruptions than this, and a batch of 50 us is hit more often than one time in ten: then
/// batches are made shorter, and the clock's step shows in them.
const INTERRUPTIONS_PER_S: f64 = 2_000.0;

/// Stolen time that is worth a flag, and that rejects a block.
const STEAL_PCT: f64 = 1.0;
const STEAL_SPOILS_PCT: f64 = 10.0;

/// Gaps that nothing explains, from here on: the ticks of a quiet guest alone make 0.8 %.
const HIDDEN_PCT: f64 = 2.0;

/// A process that takes more of one CPU than this is named. Two ticks of the kernel's account lie
/// within it, so that a rounding is no process.
const PROCESS_PCT: f64 = 2.0;

/// The same for what no process accounts for: the kernel samples it, some per cent off.
const UNNAMED_PCT: f64 = 10.0;

/// Share of the last 10 s in which some task waited that is worth a flag.
const PRESSURE_PCT: f64 = 10.0;

/// Interrupts of devices on the measuring CPU: from here on they are a tenth of its interruptions.
const DEVICE_INTERRUPTS_PER_S: f64 = 25.0;

/// Time in gaps on the CPU that a run would take.
pub(super) fn lost_time(seen: &Observations<'_>) -> RuleResult {
    let Some(probe) = seen.chosen_probe() else {
        return RuleResult::unknown("lost time (no CPU could be probed)");
    };
    let (lost, cpu) = (probe.lost_pct(), seen.cpu_name());
    let what = format!(
        "{} of the time on {cpu} was lost, in pieces of up to {}",
        pct(lost),
        time(probe.max_gap_ns)
    );
    let judged = match NoiseClass::of_lost_pct(lost) {
        NoiseClass::Quiet => return RuleResult::fine(format!("lost time {}", pct(lost))),
        NoiseClass::Noisy => RuleResult::found(
            Weight::Noise,
            what,
            "batches that are hit are rejected; an op of over 1 ms cannot get out of the way, and \
             its figure grows by about that share",
        ),
        NoiseClass::VeryNoisy => RuleResult::found(
            Weight::Invalidates,
            what,
            "absolute figures of single shots cannot be claimed; batches of 50 us mostly pass \
             between two losses, and their median holds",
        ),
    };
    let stolen = seen.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct()).unwrap_or(0.0);
    let delay = probe.run_delay_ns.map(|ns| 100.0 * ns as f64 / probe.spin_ns.max(1) as f64);
    match delay {
        _ if stolen > lost / 2.0 => judged.mend("nothing here: it is the host's"),
        Some(delay) if delay > lost / 2.0 => {
            judged.mend("stop the processes that took the CPU: see below")
        }
        Some(_) if seen.facts.is_guest() => {
            judged.mend("no process took it: interrupts did, or it is the host's")
        }
        Some(_) => judged.mend("no process took it: interrupts did, or the firmware"),
        None => judged.mend("stop what else runs here"),
    }
}

/// Time that the hypervisor gave to others.
pub(super) fn steal(seen: &Observations<'_>) -> RuleResult {
    let stolen = seen.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct());
    let (Some(stolen), cpu) = (stolen, seen.cpu_name()) else {
        return RuleResult::unknown("steal (/proc/stat does not tell)");
    };
    if stolen <= STEAL_PCT {
        return match seen.facts.is_guest() {
            true => RuleResult::fine("steal"),
            false => RuleResult::NotApplicable,
        };
    }
    let weight = if stolen > STEAL_SPOILS_PCT { Weight::Invalidates } else { Weight::Noise };
    let what = format!("the hypervisor gave {} of {cpu}'s time to others", pct(stolen));
    RuleResult::found(
        weight,
        what,
        "it stops a worker for milliseconds, and no switch that is counted tells; wall times of long \
         ops grow, medians of batches of 50 us hardly",
    )
    .mend("nothing here: it is the host's")
}

/// Time in gaps that neither the scheduler's nor the hypervisor's account shows.
pub(super) fn hidden_time(seen: &Observations<'_>) -> RuleResult {
    let Some((probe, delay)) = seen.chosen_probe().and_then(|it| Some((it, it.run_delay_ns?)))
    else {
        return RuleResult::NotApplicable;
    };
    let stolen = seen.chosen_activity().and_then(|(_, cpu)| cpu.steal_pct()).unwrap_or(0.0);
    let hidden = probe.lost_pct() - 100.0 * delay as f64 / probe.spin_ns.max(1) as f64 - stolen;
    if hidden <= HIDDEN_PCT {
        return RuleResult::fine("hidden losses");
    }
    let what = format!("{} of {}'s time was lost without an account", pct(hidden), seen.cpu_name());
    let judged = RuleResult::found(
        Weight::Noise,
        what,
        "batches that it hits cannot be rejected, since nothing tells: only the median passes it \
         by",
    );
    judged.mend(match seen.facts.is_guest() {
        true => "nothing here: it is the host's",
        false => "look for system management interrupts in the firmware's setup",
    })
}

/// The control group's quota of CPU time.
pub(super) fn quota(seen: &Observations<'_>) -> RuleResult {
    let quota = seen.facts.scheduling.cgroup_quota_milli_cpus;
    let throttled = seen.system_activity().and_then(|watch| watch.throttled_periods).unwrap_or(0);
    let below = matches!(quota, Some(Bound::Max(quota)) if quota < 1_000);
    let what = match quota {
        Some(Bound::Max(quota)) => {
            format!("the control group may use {:.2} CPUs", quota as f64 / 1_000.0)
        }
        _ => "the control group has a quota of CPU time".to_owned(),
    };
    let judged = if throttled > 0 {
        let what = format!("{what}, and was stopped for it {throttled} times during the probe");
        RuleResult::found(Weight::Invalidates, what, QUOTA.1)
    } else if below {
        RuleResult::found(Weight::Invalidates, what, QUOTA.1)
    } else {
        return match quota {
            Some(Bound::Max(_)) => RuleResult::found(
                Weight::Note,
                what,
                "nothing as long as all that runs in the group stays below it; beyond it, workers \
                 are stopped for 10 to 100 ms at a time",
            )
            .with_command(lift_quota(seen)),
            Some(Bound::Unlimited(_)) => RuleResult::fine("CPU quota"),
            None => RuleResult::unknown("CPU quota (the control group does not tell)"),
        };
    };
    judged.with_command(lift_quota(seen))
}

/// Takes the quota off the own group. Where a group above has one, it holds all the same.
fn lift_quota(seen: &Observations<'_>) -> &'static str {
    use oscost_model::facts::CgroupVersion::V1;
    match seen.facts.scheduling.cgroup_version {
        Some(V1) => {
            "echo -1 | sudo tee /sys/fs/cgroup/cpu$(sed -n 's/.*:cpu[^:]*://p' \
             /proc/self/cgroup | head -1)/cpu.cfs_quota_us"
        }
        _ => "echo max | sudo tee /sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/cpu.max",
    }
}

/// Who took CPU time during the probe.
pub(super) fn processes(seen: &Observations<'_>) -> RuleResult {
    let watch = match seen.activity {
        Ok(watch) => watch,
        Err(why) => return RuleResult::unknown(format!("who took CPU time ({why})")),
    };
    let share = |ns: f64| 100.0 * ns / watch.wall_ns.max(1) as f64;
    let busy: Vec<&ProcessActivity> = watch
        .processes
        .iter()
        .filter(|process| share(process.cpu_ns as f64) > PROCESS_PCT)
        .collect();
    let unnamed =
        watch.unattributed_cpu_ns.map(|ns| share(ns as f64)).filter(|&it| it > UNNAMED_PCT);
    if busy.is_empty() && unnamed.is_none() {
        return match &watch.processes_unread {
            Some(why) => RuleResult::unknown(format!("other processes ({why})")),
            None => RuleResult::fine("other processes"),
        };
    }
    let mut names: Vec<String> = busy
        .iter()
        .map(|process| {
            let took = pct(share(process.cpu_ns as f64));
            let pid = process.pids.first().copied().unwrap_or_default();
            match (process.kind, process.count) {
                (ProcessKind::Program, 1) => format!("`{}` ({pid}) {took}", process.name),
                (ProcessKind::Program, count) => {
                    format!("{count} x `{}` ({pid}, ...) {took}", process.name)
                }
                (ProcessKind::Kernel, _) => format!("the kernel's `{}` {took}", process.name),
                (ProcessKind::Children, _) => {
                    format!("children of `{}` ({pid}) that ended {took}", process.name)
                }
            }
        })
        .collect();
    if let Some(unnamed) = unnamed {
        let who = match &watch.processes_unread {
            Some(_) => "processes that are hidden from this user",
            None => "processes that came and went",
        };
        names.push(format!("{who} {}", pct(unnamed)));
    }
    let what =
        format!("took CPU time during the probe, in % of one CPU: {}", join_names(&names, 6));
    let judged = RuleResult::found(
        Weight::Noise,
        what,
        "each takes the CPU from workers, or their lines out of the caches: with one competitor the \
         median of batches of 5 ms went from 120 to 208 ns on one machine, their minimum stayed",
    );
    let pids_of = |kind| {
        let of_kind = busy.iter().filter(|process| process.kind == kind);
        // By number: a name may be anything.
        let pids = of_kind.flat_map(|process| &process.pids).take(6).map(u32::to_string);
        pids.collect::<Vec<_>>()
    };
    let (programs, parents) = (pids_of(ProcessKind::Program), pids_of(ProcessKind::Children));
    match () {
        () if !programs.is_empty() => judged
            .with_command(format!("sudo kill -STOP {}", programs.join(" ")))
            .mend("and `sudo kill -CONT` with the same numbers afterwards"),
        () if !parents.is_empty() => judged
            .with_command(format!("ps -o pid,pcpu,args --ppid {}", parents.join(",")))
            .mend("to see what it starts; then wait for its end"),
        () if busy.is_empty() => judged
            .with_command("top -b -n1 -d1 -o %CPU | head -15")
            .mend("to see who; then wait for its end, or stop it"),
        () => judged.mend("the kernel's own work goes with what causes it: disks, the network"),
    }
}

/// Whether tasks had to wait before the probe began.
pub(super) fn pressure(seen: &Observations<'_>) -> RuleResult {
    let Some(pressure) = seen.system_activity().map(|watch| &watch.pressure) else {
        return RuleResult::NotApplicable;
    };
    let parts =
        [("a CPU", pressure.cpu_pct), ("memory", pressure.memory_pct), ("a disk", pressure.io_pct)];
    if parts.iter().all(|(_, share)| share.is_none()) {
        return RuleResult::unknown("pressure (/proc/pressure is not there)");
    }
    let over = parts.iter().filter_map(|(of, share)| {
        let share = share.filter(|&share| share > PRESSURE_PCT)?;
        Some(format!("{of} {}", pct(share)))
    });
    let over: Vec<String> = over.collect();
    if over.is_empty() {
        return RuleResult::fine("pressure");
    }
    let what = format!("tasks waited in the 10 s before the probe: for {}", join_names(&over, 3));
    RuleResult::found(
        Weight::Noise,
        what,
        "what waits runs as soon as a worker sleeps, and takes turns with it: above 10 % rows need \
         more repetitions",
    )
    .with_command("ps -eo pcpu,pid,stat,comm --sort=-pcpu | head")
    .mend("to see who; then stop them")
}

/// How often a batch is hit.
pub(super) fn interruptions(seen: &Observations<'_>) -> RuleResult {
    let Some(probe) = seen.chosen_probe() else { return RuleResult::NotApplicable };
    let rate = probe.interruptions_per_s();
    if rate <= INTERRUPTIONS_PER_S {
        return RuleResult::fine(format!("{rate:.0} interruptions a second"));
    }
    let hit = 100.0 * (1.0 - (-rate * BATCH_S).exp());
    let what = format!("{} is interrupted {rate:.0} times a second", seen.cpu_name());
    let does = format!(
        "of batches of 50 us {} are hit: they are made shorter, and rows may be flagged \
         COARSE_CLOCK",
        pct(hit)
    );
    RuleResult::found(Weight::Noise, what, does)
        .with_command("watch -n1 -d cat /proc/interrupts")
        .mend("to see which; then move them away or stop their device")
}

/// Interrupts of devices that go to the CPU that a run would take.
pub(super) fn device_interrupts(seen: &Observations<'_>) -> RuleResult {
    let (Some(watch), Some((at, chosen))) = (seen.system_activity(), seen.chosen_activity()) else {
        return RuleResult::unknown("where interrupts of devices go");
    };
    let devices: Vec<_> = watch.interrupts.iter().filter(|it| it.allowed.is_some()).collect();
    if devices.is_empty() {
        return RuleResult::unknown("where interrupts of devices go (/proc/irq does not tell)");
    }
    let goes = |cpus: &Option<Vec<u32>>| cpus.as_ref().is_some_and(|it| it.contains(&chosen.cpu));
    let here: Vec<_> = devices
        .iter()
        // Older kernels do not tell where it goes, only where it may.
        .filter(|it| if it.effective.is_some() { goes(&it.effective) } else { goes(&it.allowed) })
        .collect();
    let cpu = seen.cpu_name();
    if here.is_empty() {
        return RuleResult::fine("device interrupts");
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
            format!("{} ({name}) {:.0} a second", it.irq, rate(times(it)))
        })
        .collect();
    let (all, some) = (devices.len(), here.len());
    let what = match names.is_empty() {
        true => format!("{some} of {all} device interrupts go to {cpu}; none came"),
        false => {
            format!("{some} of {all} device interrupts go to {cpu}: {}", join_names(&names, 3))
        }
    };
    let weight = if total > DEVICE_INTERRUPTS_PER_S { Weight::Noise } else { Weight::Note };
    let judged = RuleResult::found(
        weight,
        what,
        "each takes the CPU in the middle of a batch and pushes its lines out of the cache; no \
         switch is counted for it",
    );
    let Some(other) = watch.cpus.iter().map(|it| it.cpu).find(|&cpu| cpu != chosen.cpu) else {
        return judged.mend("nothing: there is no other CPU to send them to");
    };
    let irqs: Vec<&str> = here.iter().map(|it| it.irq.as_str()).collect();
    let moves = format!(
        "for i in {}; do echo {other} | sudo tee /proc/irq/$i/smp_affinity_list; done",
        irqs.join(" ")
    );
    match watch.daemons.iter().any(|name| name == "irqbalance") {
        true => judged.with_command(format!("{}; {moves}", seen.stop(&["irqbalance"]))),
        false => judged.with_command(moves),
    }
}

/// Memory that was moved to a disk.
pub(super) fn swap(seen: &Observations<'_>) -> RuleResult {
    let memory = &seen.facts.memory;
    let (Some(total), Some(free)) = (memory.swap_total_kib, memory.swap_free_kib) else {
        return RuleResult::unknown("swap (/proc/meminfo does not tell)");
    };
    let used = total.saturating_sub(free);
    if used == 0 {
        return RuleResult::fine("swap");
    }
    let what = format!("{} MiB lie in swap", used.div_ceil(1024));
    RuleResult::found(
        Weight::Noise,
        what,
        "a page that comes back from there waits for a disk: the batch is rejected, and first \
         touches of memory are dearer by a disk's latency",
    )
    .with_command("sudo swapoff -a")
}

/// Programs that start work by themselves.
pub(super) fn work_daemons(seen: &Observations<'_>) -> RuleResult {
    const SERVICES: &[(&str, &str)] = &[
        ("anacron", "anacron"),
        ("atd", "atd"),
        ("boinc", "boinc-client"),
        ("condor_master", "condor"),
        ("condor_startd", "condor"),
        ("cron", "cron"),
        ("crond", "crond"),
        ("pbs_mom", "pbs"),
        ("sge_execd", "sgeexecd"),
        ("slurmd", "slurmd"),
    ];
    let Some(watch) = seen.system_activity() else { return RuleResult::NotApplicable };
    let runs = |(name, _): &&(&str, &str)| watch.daemons.iter().any(|it| it == name);
    let running: Vec<&(&str, &str)> = SERVICES.iter().filter(runs).collect();
    if running.is_empty() {
        return match watch.processes_unread {
            Some(_) => RuleResult::NotApplicable,
            None => RuleResult::fine("job schedulers"),
        };
    }
    let names: Vec<String> = running.iter().map(|(name, _)| format!("`{name}`")).collect();
    let mut services: Vec<&str> = running.iter().map(|(_, service)| *service).collect();
    services.dedup();
    RuleResult::found(
        Weight::Note,
        format!("{} may start work at any time", join_names(&names, 4)),
        "a job that starts in the middle of a run makes its second half another machine: the flag \
         REFERENCE_DRIFT tells",
    )
    .with_command(seen.stop(&services))
}
