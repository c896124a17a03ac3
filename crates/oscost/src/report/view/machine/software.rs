//! Facts of the software: kernel, clocks, scheduling, limits, security.

use oscost_model::facts::{Bound, CgroupVersion, Facts, Limit};

use crate::report::view::document::Fact;
use crate::report::view::machine::description::Description;
use crate::report::view::machine::facts::{
    bound, bytes, fact, hidden_fact, missing_reason, no_cpufreq, plural, ranges, words,
};

pub(super) fn system(machine: &Description<'_>) -> Vec<Fact> {
    let (facts, os) = (machine.facts, &machine.facts.os);
    let kernel = os.release.as_ref().map(|release| {
        let version = os.version.as_deref().map(|it| format!(", {it}")).unwrap_or_default();
        format!("Linux {release}{version}")
    });
    let build = machine.worker;
    let libc =
        (!build.libc.is_empty()).then(|| format!("{} ({}, in the worker)", build.libc, build.link));
    let init = os.init.as_ref().map(|init| format!("`{init}`"));
    let no_config =
        || "no /proc/config.gz, and no copy in /boot or /lib/modules can be read".to_owned();
    let no_level = || missing_reason(facts, "/run/utmp", "utmp has none");
    let lsm = || missing_reason(facts, "/sys/kernel/security/lsm", "not reported by the kernel");
    vec![
        fact("distribution", os.distribution.clone(), || {
            missing_reason(facts, "/etc/os-release", "no name")
        }),
        fact("firmware", os.firmware.clone(), || {
            missing_reason(facts, "/sys/class/dmi/id/bios_version", "it has no version")
        }),
        fact("kernel", kernel, || {
            missing_reason(facts, "/proc/sys/kernel/osrelease", "it is empty")
        }),
        fact("build id", os.build_id.clone(), || "/sys/kernel/notes has none".to_owned()),
        fact("command line", os.cmdline.clone(), || {
            missing_reason(facts, "/proc/cmdline", "it is empty")
        }),
        fact("preemption", facts.scheduling.preempt.clone(), || {
            missing_reason(
                facts,
                "/sys/kernel/debug/sched/preempt",
                "none or voluntary, unknown which",
            )
        }),
        fact("HZ", os.hz.map(|hz| hz.to_string()), || "not reported".to_owned()),
        fact("options of interest", words(os.options.as_deref()), no_config),
        fact("security modules", words(os.lsm.as_deref()), lsm),
        fact("lockdown", os.lockdown.clone(), || {
            missing_reason(facts, "/sys/kernel/security/lockdown", "not reported")
        }),
        fact("C library", libc, || "not reported by the worker".to_owned()),
        fact("init (PID 1)", init, || missing_reason(facts, "/proc/1/comm", "it is empty")),
        fact("run level", os.run_level.clone(), no_level),
        fact("hypervisor", facts.virtualization.clone(), || {
            "nothing shows whether there is one".to_owned()
        }),
    ]
}

pub(super) fn scheduling(machine: &Description<'_>) -> Vec<Fact> {
    let (facts, scheduling) = (machine.facts, &machine.facts.scheduling);
    let cpu = |name: &str| format!("/sys/devices/system/cpu/{name}");
    let sysfs = |name: &str| missing_reason(facts, &cpu(name), "not reported by sysfs");
    let source = scheduling.clocksource.as_ref().map(|source| {
        let others = scheduling.clocksources_available.as_deref().unwrap_or_default();
        format!("{source} (available: {})", others.join(", "))
    });
    let timing: Vec<String> = machine
        .clocks
        .iter()
        .map(|verdict| match &verdict.unusable_reason {
            None => verdict.kind.text().to_owned(),
            Some(why) => format!("not {}: {why}", verdict.kind.text()),
        })
        .collect();
    let list = |cpus: &Option<Vec<u32>>| {
        cpus.as_ref().map(|cpus| if cpus.is_empty() { "none".to_owned() } else { ranges(cpus) })
    };
    // A kernel without the option does not have the file.
    let has_option = facts.os.options.as_ref().map(|it| it.iter().any(|it| it == "NO_HZ_FULL"));
    let without_option = || {
        let none = "none: the kernel is built without CONFIG_NO_HZ_FULL";
        (has_option == Some(false)).then(|| none.to_owned())
    };
    let tickless = list(&scheduling.nohz_full_cpus).or_else(without_option);
    let yes = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    let idle = scheduling.idle_driver.as_ref().map(|driver| match &scheduling.idle_governor {
        Some(governor) => format!("driver {driver}, governor {governor}"),
        None => format!("driver {driver}"),
    });
    let version = scheduling.cgroup_version.map(|version| match version {
        CgroupVersion::V1 => "v1".to_owned(),
        CgroupVersion::V2 => "v2".to_owned(),
    });
    let group = || missing_reason(facts, "/proc/self/cgroup", "not reported by the cgroup");
    let quota = scheduling.cgroup_quota_milli_cpus.map(|quota| match quota {
        Bound::Max(milli) => format!("{:.2} CPUs", milli as f64 / 1_000.0),
        Bound::Unlimited(_) => "unlimited".to_owned(),
    });
    let weights = scheduling.cgroup_cpu_weights.as_ref().map(|weights| match &weights[..] {
        [] => "none".to_owned(),
        weights => weights.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    });
    let stat = || missing_reason(facts, "/proc/self/stat", "not in /proc/self/stat");
    let slack = scheduling.timer_slack_ns.map(|ns| format!("{ns} ns"));
    vec![
        fact("clocksource", source, || {
            missing_reason(
                facts,
                "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                "not reported by sysfs",
            )
        }),
        fact("clocks of workers", (!timing.is_empty()).then(|| timing.join("; ")), || {
            "not tested".to_owned()
        }),
        fact("governor", scheduling.governor.clone(), || no_cpufreq(facts)),
        fact("turbo", yes(scheduling.boost), || no_cpufreq(facts)),
        fact("SMT", yes(scheduling.smt_active), || sysfs("smt/active")),
        fact("isolated CPUs", list(&scheduling.isolated_cpus), || sysfs("isolated")),
        fact("nohz_full CPUs", tickless, || sysfs("nohz_full")),
        fact("idle CPUs", idle, || sysfs("cpuidle/current_driver")),
        fact("timer slack", slack, || "not in /proc/self/timerslack_ns".to_owned()),
        fact("policy", scheduling.policy.clone(), stat),
        fact("nice value", scheduling.nice.map(|nice| nice.to_string()), stat),
        fact("cgroups", version, group),
        fact("CPU quota", quota, group),
        fact("CPU weights", weights, group),
        fact("memory limit", scheduling.cgroup_memory_bytes.map(|it| bound(it, bytes)), group),
        fact("task limit", scheduling.cgroup_tasks.map(|it| bound(it, |it| it.to_string())), group),
    ]
}

pub(super) fn limits(facts: &Facts) -> Vec<Fact> {
    let row = |name: &str, limit: &Limit, show: fn(u64) -> String| {
        let end = |end: Option<Bound>| end.map_or("?".to_owned(), |it| bound(it, show));
        let known = limit.soft.is_some() || limit.hard.is_some();
        let text = format!("soft {}, hard {}", end(limit.soft), end(limit.hard));
        fact(name, known.then_some(text), || {
            missing_reason(facts, "/proc/self/limits", "no such line")
        })
    };
    let limits = &facts.limits;
    let number = |it: u64| it.to_string();
    vec![
        row("open files", &limits.open_files, number),
        row("processes", &limits.processes, number),
        row("locked memory", &limits.locked_memory_bytes, bytes),
        row("address space", &limits.address_space_bytes, bytes),
        row("stack", &limits.stack_bytes, bytes),
    ]
}

pub(super) fn security(facts: &Facts) -> Vec<Fact> {
    let security = &facts.security;
    let sysctl = |name: &str| {
        missing_reason(facts, &format!("/proc/sys/kernel/{name}"), "not reported by the kernel")
    };
    let status = || missing_reason(facts, "/proc/self/status", "not in /proc/self/status");
    let layout = security.address_randomization.map(|level| {
        let all = match level {
            0 => "0: off",
            1 => "1: all but the heap",
            _ => "2: all",
        };
        match security.randomization_disabled {
            Some(true) => format!("{all}; disabled for this process"),
            _ => all.to_owned(),
        }
    });
    let mode = security.seccomp_mode.map(|mode| {
        let filters = security.seccomp_filters.map(|it| plural(it.into(), "filter"));
        let word = match mode {
            0 => "off",
            1 => "strict",
            _ => "filtered",
        };
        filters.map_or(word.to_owned(), |filters| format!("{word}, {filters}"))
    });
    let bpf = security.unprivileged_bpf_disabled.map(|level| {
        let word = match level {
            0 => "allowed",
            1 => "forbidden until the next boot",
            _ => "forbidden",
        };
        word.to_owned()
    });
    let user = security.is_root.map(|root| if root { "root" } else { "not root" }.to_owned());
    let tracers = match (facts.tracers.is_empty(), facts.tracers_unread.is_empty()) {
        (false, _) => Some(facts.tracers.join("; ")),
        (true, true) => Some("none (BPF and perf do not show in files)".to_owned()),
        (true, false) => None,
    };
    let no_tracers = || {
        let why = match facts.unread.get("/sys/kernel/tracing/current_tracer") {
            Some(why) if why == "does not exist" => "is not mounted",
            Some(why) => why.as_str(),
            None => "cannot be read",
        };
        format!("{} {why}", facts.tracers_unread.join(", "))
    };
    vec![
        fact("user", user, status),
        fact("ASLR", layout, || sysctl("randomize_va_space")),
        fact("seccomp", mode, status),
        fact("ptrace scope", security.yama_ptrace_scope.map(|it| it.to_string()), || {
            sysctl("yama/ptrace_scope")
        }),
        fact("perf_event_paranoid", security.perf_event_paranoid.map(|it| it.to_string()), || {
            sysctl("perf_event_paranoid")
        }),
        fact("unprivileged BPF", bpf, || sysctl("unprivileged_bpf_disabled")),
        fact("store bypass", security.speculation_store_bypass.clone(), status),
        fact("indirect branch", security.speculation_indirect_branch.clone(), status),
        fact("capabilities", security.capability_bound.map(|it| format!("{it:016x}")), status),
        fact("tracers attached", tracers, no_tracers),
    ]
}

/// The vulnerabilities of the processor, and in one fact those that it does not have.
pub(super) fn flaws(facts: &Facts) -> Vec<Fact> {
    let (absent, present): (Vec<_>, Vec<_>) =
        facts.mitigations.iter().partition(|(_, state)| state.as_str() == "Not affected");
    if facts.mitigations.is_empty() {
        let none = missing_reason(
            facts,
            "/sys/devices/system/cpu/vulnerabilities",
            "the kernel lists none",
        );
        return vec![hidden_fact("mitigations", &none)];
    }
    let present = present.iter().map(|(flaw, state)| format!("{flaw}: {state}"));
    let mut rows: Vec<Fact> =
        present.map(|text| fact("mitigations", Some(text), String::new)).collect();
    if !absent.is_empty() {
        let names: Vec<&str> = absent.iter().map(|(flaw, _)| flaw.as_str()).collect();
        rows.push(fact("not affected by", Some(names.join(", ")), String::new));
    }
    rows
}
