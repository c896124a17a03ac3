//! Rows of what is set: kernel, clocks, scheduling, limits, security.

use oscost_model::facts::{Bound, CgroupVersion, Facts, Limit};

use crate::report::view::machine::{
    Description, Rows, Shown, bound, bytes, no_cpufreq, or, plural, ranges, why, words,
};

pub(super) fn system(machine: &Description<'_>) -> Rows {
    let (facts, os) = (machine.facts, &machine.facts.os);
    let kernel = os.release.as_ref().map(|release| {
        let version = os.version.as_deref().map(|it| format!(", {it}")).unwrap_or_default();
        format!("Linux {release}{version}")
    });
    let build = machine.program;
    let libc = (!build.libc.is_empty())
        .then(|| format!("{} ({}, in the program that measures)", build.libc, build.link));
    let init = os.init.as_ref().map(|init| format!("`{init}`"));
    let no_config =
        || "no /proc/config.gz, and no copy in /boot or /lib/modules can be read".to_owned();
    let no_level = || why(facts, "/run/utmp", "utmp tells none");
    let lsm = || why(facts, "/sys/kernel/security/lsm", "the kernel does not tell");
    vec![
        ("distribution", or(os.distribution.clone(), || why(facts, "/etc/os-release", "no name"))),
        ("kernel", or(kernel, || why(facts, "/proc/sys/kernel/osrelease", "it does not tell"))),
        ("build id", or(os.build_id.clone(), || "/sys/kernel/notes has none".to_owned())),
        ("command line", or(os.cmdline.clone(), || why(facts, "/proc/cmdline", "it is empty"))),
        (
            "preemption",
            or(facts.scheduling.preempt.clone(), || {
                why(facts, "/sys/kernel/debug/sched/preempt", "none or voluntary, not told which")
            }),
        ),
        ("tick", or(os.hz.map(|hz| format!("{hz} a second")), || "not told".to_owned())),
        ("options of interest", or(words(os.options.as_deref()), no_config)),
        ("security modules", or(words(os.lsm.as_deref()), lsm)),
        (
            "lockdown",
            or(os.lockdown.clone(), || why(facts, "/sys/kernel/security/lockdown", "not told")),
        ),
        ("C library", or(libc, || "the program does not tell".to_owned())),
        ("process 1", or(init, || why(facts, "/proc/1/comm", "it has no name"))),
        ("run level", or(os.run_level.clone(), no_level)),
        (
            "hypervisor",
            or(facts.virtualization.clone(), || "nothing tells of one, or of none".to_owned()),
        ),
    ]
}

pub(super) fn scheduling(machine: &Description<'_>) -> Rows {
    let (facts, scheduling) = (machine.facts, &machine.facts.scheduling);
    let cpu = |name: &str| format!("/sys/devices/system/cpu/{name}");
    let sysfs = |name: &str| why(facts, &cpu(name), "sysfs does not tell");
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
    // A kernel that cannot do it has no file for it.
    let built = facts.os.options.as_ref().map(|it| it.iter().any(|it| it == "NO_HZ_FULL"));
    let unbuilt = || {
        let none = "none: the kernel is built without CONFIG_NO_HZ_FULL";
        (built == Some(false)).then(|| none.to_owned())
    };
    let tickless = list(&scheduling.nohz_full_cpus).or_else(unbuilt);
    let yes = |on: Option<bool>| on.map(|on| if on { "on" } else { "off" }.to_owned());
    let idle = scheduling.idle_driver.as_ref().map(|driver| match &scheduling.idle_governor {
        Some(governor) => format!("driver {driver}, governor {governor}"),
        None => format!("driver {driver}"),
    });
    let version = scheduling.cgroup_version.map(|version| match version {
        CgroupVersion::V1 => "v1".to_owned(),
        CgroupVersion::V2 => "v2".to_owned(),
    });
    let group = || why(facts, "/proc/self/cgroup", "the control group does not tell");
    let quota = scheduling.cgroup_quota_milli_cpus.map(|quota| match quota {
        Bound::Max(milli) => format!("{:.2} CPUs", milli as f64 / 1_000.0),
        Bound::Unlimited(_) => "unlimited".to_owned(),
    });
    let slack = scheduling.timer_slack_ns.map(|ns| format!("{ns} ns"));
    vec![
        (
            "clocksource",
            or(source, || {
                why(
                    facts,
                    "/sys/devices/system/clocksource/clocksource0/current_clocksource",
                    "sysfs does not tell",
                )
            }),
        ),
        (
            "cells can time by",
            or((!timing.is_empty()).then(|| timing.join("; ")), || "not judged".to_owned()),
        ),
        ("governor", or(scheduling.governor.clone(), || no_cpufreq(facts))),
        ("turbo", or(yes(scheduling.boost), || no_cpufreq(facts))),
        ("SMT", or(yes(scheduling.smt_active), || sysfs("smt/active"))),
        ("isolated CPUs", or(list(&scheduling.isolated_cpus), || sysfs("isolated"))),
        ("CPUs without a tick", or(tickless, || sysfs("nohz_full"))),
        ("idle CPUs", or(idle, || sysfs("cpuidle/current_driver"))),
        ("timer slack", or(slack, || "/proc/self/timerslack_ns does not tell".to_owned())),
        ("control groups", or(version, group)),
        ("CPU quota", or(quota, group)),
        ("memory limit", or(scheduling.cgroup_memory_bytes.map(|it| bound(it, bytes)), group)),
        ("task limit", or(scheduling.cgroup_tasks.map(|it| bound(it, |it| it.to_string())), group)),
    ]
}

pub(super) fn limits(facts: &Facts) -> Rows {
    let row = |limit: &Limit, show: fn(u64) -> String| {
        let half = |half: Option<Bound>| half.map_or("?".to_owned(), |it| bound(it, show));
        let known = limit.soft.is_some() || limit.hard.is_some();
        or(known.then(|| format!("{}, at most {}", half(limit.soft), half(limit.hard))), || {
            why(facts, "/proc/self/limits", "it has no such line")
        })
    };
    let limits = &facts.limits;
    let number = |it: u64| it.to_string();
    vec![
        ("open files", row(&limits.open_files, number)),
        ("processes", row(&limits.processes, number)),
        ("locked memory", row(&limits.locked_memory_bytes, bytes)),
        ("address space", row(&limits.address_space_bytes, bytes)),
        ("stack", row(&limits.stack_bytes, bytes)),
    ]
}

pub(super) fn security(facts: &Facts) -> Rows {
    let security = &facts.security;
    let sysctl =
        |name: &str| why(facts, &format!("/proc/sys/kernel/{name}"), "the kernel does not tell");
    let status = || why(facts, "/proc/self/status", "/proc/self/status does not tell");
    let layout = security.address_randomization.map(|level| {
        let all = match level {
            0 => "0: off",
            1 => "1: all but the heap",
            _ => "2: all",
        };
        match security.randomization_disabled {
            Some(true) => format!("{all}; given up for this process"),
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
    let user =
        security.is_root.map(|root| if root { "root" } else { "an ordinary one" }.to_owned());
    let tracers = match (facts.tracers.is_empty(), facts.tracers_unread.is_empty()) {
        (false, _) => Shown::Value(facts.tracers.join("; ")),
        (true, true) => Shown::Value("none (BPF and perf show in no file)".to_owned()),
        (true, false) => {
            let source = "/sys/kernel/tracing/current_tracer";
            let why = match facts.unread.get(source) {
                Some(why) if why == "does not exist" => "is not mounted",
                Some(why) => why.as_str(),
                None => "cannot be read",
            };
            Shown::Hidden(format!("{} {why}", facts.tracers_unread.join(", ")))
        }
    };
    vec![
        ("user", or(user, status)),
        ("ASLR", or(layout, || sysctl("randomize_va_space"))),
        ("seccomp", or(mode, status)),
        (
            "ptrace scope",
            or(security.yama_ptrace_scope.map(|it| it.to_string()), || sysctl("yama/ptrace_scope")),
        ),
        (
            "perf_event_paranoid",
            or(security.perf_event_paranoid.map(|it| it.to_string()), || {
                sysctl("perf_event_paranoid")
            }),
        ),
        ("unprivileged BPF", or(bpf, || sysctl("unprivileged_bpf_disabled"))),
        ("store bypass", or(security.speculation_store_bypass.clone(), status)),
        ("indirect branch", or(security.speculation_indirect_branch.clone(), status)),
        ("capabilities", or(security.capability_bound.map(|it| format!("{it:016x}")), status)),
        ("tracers attached", tracers),
    ]
}

/// Every flaw that the processor has; those that it has not in one row.
pub(super) fn flaws(facts: &Facts) -> Rows {
    let (clear, has): (Vec<_>, Vec<_>) =
        facts.mitigations.iter().partition(|(_, state)| state.as_str() == "Not affected");
    if facts.mitigations.is_empty() {
        let none = why(facts, "/sys/devices/system/cpu/vulnerabilities", "the kernel knows none");
        return vec![("mitigations", Shown::Hidden(none))];
    }
    let said = has.iter().map(|(flaw, state)| format!("{flaw}: {state}"));
    let mut rows: Vec<(&'static str, Shown)> =
        said.map(|said| ("mitigations", Shown::Value(said))).collect();
    if !clear.is_empty() {
        let names: Vec<&str> = clear.iter().map(|(flaw, _)| flaw.as_str()).collect();
        rows.push(("not affected by", Shown::Value(names.join(", "))));
    }
    rows
}
