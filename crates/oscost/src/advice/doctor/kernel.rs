//! The kernel: what is attached to it, built into it, and what it forbids.

use oscost_model::facts::Bound;

use super::{Observations, RuleResult, Weight, join_names};
use crate::advice::SECCOMP;

/// Descriptors that the largest cases want, with those that a worker has open anyway.
const OPEN_FILES: u64 = 20_010;

/// The bit of CAP_SYS_RESOURCE, which raises limits.
const CAP_SYS_RESOURCE: u32 = 24;

/// Build options that make a kernel a developer's: each checks in the middle of what is timed. Left
/// out are those that distributions build into kernels for everybody (UBSAN, DEBUG_LIST), and those
/// that do nothing until a switch on the command line turns them on.
const DEBUGGING: &[&str] = &[
    "DEBUG_ATOMIC_SLEEP",
    "DEBUG_LOCK_ALLOC",
    "DEBUG_MUTEXES",
    "DEBUG_OBJECTS",
    "DEBUG_PAGEALLOC_ENABLE_DEFAULT",
    "DEBUG_RT_MUTEXES",
    "DEBUG_RWSEMS",
    "DEBUG_SPINLOCK",
    "GCOV_KERNEL",
    "KASAN",
    "KCOV",
    "KCSAN",
    "KMSAN",
    "LOCKDEP",
    "LOCK_STAT",
    "PROVE_LOCKING",
    "SLUB_DEBUG_ON",
];

/// Switches of the command line that do the same, and where each is off.
const DEBUGGING_BOOT: &[(&str, &[&str])] = &[
    ("debug_pagealloc=", &["off", "0"]),
    ("page_poison=", &["off", "0"]),
    ("slab_debug", &["=-"]),
    ("slub_debug", &["=-"]),
    ("kmemleak=", &["off"]),
    ("page_owner=", &["off"]),
];

/// Hardening that shows in figures: the option, the switch that takes it back, what it does.
const HARDENING: &[(&str, &str, &str)] = &[
    (
        "INIT_ON_ALLOC_DEFAULT_ON",
        "init_on_alloc=",
        "zeroes what the kernel hands out: faults and calls that allocate",
    ),
    (
        "INIT_ON_FREE_DEFAULT_ON",
        "init_on_free=",
        "zeroes what is given back: exits, unmappings, closes",
    ),
    (
        "RANDOMIZE_KSTACK_OFFSET_DEFAULT",
        "randomize_kstack_offset=",
        "moves the kernel's stack at random in each system call",
    ),
    ("HARDENED_USERCOPY", "hardened_usercopy=", "checks each copy to and from user space"),
];

/// What was seen attached to system calls.
pub(super) fn tracers(seen: &Observations<'_>) -> RuleResult {
    let facts = seen.facts;
    // The filter on this process has a rule of its own.
    let attached: Vec<String> =
        facts.tracers.iter().filter(|it| !it.starts_with("seccomp")).cloned().collect();
    if attached.is_empty() {
        return match facts.tracers_unread.first() {
            Some(source) => {
                let why = match facts.unread.get("/sys/kernel/tracing/current_tracer") {
                    Some(why) if why == "does not exist" => "is not mounted",
                    Some(why) => why.as_str(),
                    None => "cannot be read",
                };
                RuleResult::unknown(format!("tracers attached ({source} {why})"))
            }
            None => RuleResult::fine("tracers (BPF and perf would not show)"),
        };
    }
    let judged = RuleResult::found(
        Weight::Biases,
        format!("attached to system calls: {}", join_names(&attached, 4)),
        "every system call of every process takes the slow way in: 25 to 80 ns more, 200 to 375 \
         with a trace event on it, over 10 us under ptrace",
    );
    let ptraced = attached.iter().any(|it| it.starts_with("ptrace"));
    match attached.iter().all(|it| it.starts_with("ptrace")) {
        true => judged.mend("start oscost without strace or a debugger around it"),
        false => {
            let judged = judged.with_command(
                "echo 0 | sudo tee /sys/kernel/tracing/events/enable; echo nop | sudo tee \
                 /sys/kernel/tracing/current_tracer",
            );
            if ptraced { judged.mend("and without a debugger around oscost") } else { judged }
        }
    }
}

/// Security monitors, which look at system calls by BPF or by audit rules: neither shows in a file.
pub(super) fn monitors(seen: &Observations<'_>) -> RuleResult {
    const NAMES: &[&str] = &[
        "auditd",
        "falco",
        "falcon-sensor",
        "osqueryd",
        "sysdig",
        "tetragon",
        "tracee",
        "wdavdaemon",
    ];
    let Some(watch) = seen.system_activity() else { return RuleResult::NotApplicable };
    let is_monitor = |name: &&String| NAMES.contains(&name.as_str());
    let running: Vec<&String> = watch.daemons.iter().filter(is_monitor).collect();
    if running.is_empty() {
        return match watch.processes_unread {
            Some(_) => RuleResult::NotApplicable,
            None => RuleResult::fine("security monitors"),
        };
    }
    let names: Vec<String> = running.iter().map(|name| format!("`{name}`")).collect();
    let services: Vec<&str> = running.iter().map(|name| name.as_str()).collect();
    RuleResult::found(
        Weight::Biases,
        format!("{} watches what processes do", join_names(&names, 3)),
        "each system call may pay for a program of BPF (78 ns empty, 110 to 350 with work to do) \
         or for an audit rule (90 ns, over 9 us where it matches)",
    )
    .with_command(seen.stop(&services))
}

/// Filters on the process that measures.
pub(super) fn seccomp(seen: &Observations<'_>) -> RuleResult {
    let security = &seen.facts.security;
    let filters = match (security.seccomp_filters, security.seccomp_mode) {
        (Some(filters), _) => filters,
        // Before Linux 5.9 only that there are any is told.
        (None, Some(mode)) => u32::from(mode == 2),
        (None, None) => return RuleResult::unknown("seccomp (/proc/self/status does not tell)"),
    };
    if filters == 0 {
        return RuleResult::fine("seccomp");
    }
    RuleResult::found(
        Weight::Biases,
        format!("{} ({filters} of them)", SECCOMP.0),
        format!("{}: 35 ns if the kernel remembers its answer, 60 to 110 if not", SECCOMP.1),
    )
    .mend(
        "start the container with `--security-opt seccomp=unconfined`, or oscost outside of what \
         set the filters",
    )
}

/// The audit system.
pub(super) fn audit(seen: &Observations<'_>) -> RuleResult {
    let Some(watch) = seen.system_activity() else { return RuleResult::NotApplicable };
    match (watch.audit, seen.built_with("AUDITSYSCALL")) {
        (Some(0), _) => RuleResult::fine("audit"),
        (_, Some(false)) => RuleResult::fine("audit"),
        (Some(_), _) => RuleResult::found(
            Weight::Biases,
            "the audit system is on",
            "each system call of each task that was started since pays 90 ns, over 9 us where a \
             rule matches and no daemon listens; switching it off again does not help tasks that \
             live",
        )
        .with_command("sudo auditctl -a never,task")
        .mend("then start a new shell, and oscost in it"),
        (None, _) => {
            let why = watch.audit_unread.as_deref().unwrap_or("it does not answer");
            RuleResult::unknown(format!("audit ({why})"))
        }
    }
}

/// A kernel for developers of kernels.
pub(super) fn debug_options(seen: &Observations<'_>) -> RuleResult {
    let built = seen.facts.os.options.as_deref();
    let mut on: Vec<String> = built
        .unwrap_or_default()
        .iter()
        .filter(|option| DEBUGGING.contains(&option.as_str()))
        .map(|option| format!("CONFIG_{option}"))
        .collect();
    on.extend(DEBUGGING_BOOT.iter().filter_map(|(switch, off)| {
        let value = seen.boot(switch)?;
        (!off.contains(&value)).then(|| format!("{switch}{value}"))
    }));
    if on.is_empty() {
        return match built {
            Some(_) => RuleResult::fine("debug options"),
            None => RuleResult::unknown(
                "the kernel's build options (no /proc/config.gz, no /boot copy)",
            ),
        };
    }
    RuleResult::found(
        Weight::Biases,
        format!("the kernel checks itself: {}", join_names(&on, 5)),
        "locks, allocations, faults and calls are dearer, some by several times: figures are those \
         of a debugging kernel",
    )
    .mend("boot a kernel that is built without, and without those words on its command line")
}

/// Hardening that costs something in each call, fault or exit.
pub(super) fn hardening(seen: &Observations<'_>) -> RuleResult {
    let Some(built) = seen.facts.os.options.as_deref() else { return RuleResult::NotApplicable };
    let is_off = |value: &str| ["0", "off", "n", "N"].contains(&value);
    let on: Vec<_> = HARDENING
        .iter()
        .filter(|(option, switch, _)| match seen.boot(switch) {
            Some(value) => !is_off(value),
            None => built.iter().any(|it| it == option),
        })
        .collect();
    if on.is_empty() {
        return RuleResult::fine("hardening");
    }
    let names: Vec<String> =
        on.iter().map(|(_, switch, _)| switch.trim_end_matches('=').to_owned()).collect();
    let does: Vec<String> = on.iter().map(|(_, _, does)| (*does).to_owned()).collect();
    let switches: Vec<String> = names.iter().map(|name| format!("{name}=off")).collect();
    RuleResult::found(
        Weight::Note,
        format!("hardening is on: {}", join_names(&names, 4)),
        format!("as on most machines, so leave it: it {}", does.join("; ")),
    )
    .mend(format!("to see its price, boot with `{}`", switches.join(" ")))
}

/// Whether each process gets a layout of its own.
pub(super) fn address_randomization(seen: &Observations<'_>) -> RuleResult {
    let security = &seen.facts.security;
    let does = "all workers get one layout: repetitions agree on figures that another layout, \
                another build or another name of a file would move by some per cent";
    if security.randomization_disabled == Some(true) {
        return RuleResult::found(
            Weight::Biases,
            "address randomization is given up for this process (setarch -R, a debugger)",
            does,
        )
        .mend("start oscost without setarch or a debugger around it");
    }
    match security.address_randomization {
        Some(0) => RuleResult::found(Weight::Biases, "address randomization is off", does)
            .with_command("echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"),
        Some(1) => RuleResult::found(
            Weight::Note,
            "address randomization leaves out the heap (randomize_va_space is 1)",
            "workers share the layout of their heaps: spread between them is too small",
        )
        .with_command("echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"),
        Some(_) => RuleResult::fine("address randomization"),
        None => RuleResult::unknown("address randomization"),
    }
}

/// Huge pages that the kernel takes by itself.
pub(super) fn huge_pages(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.memory.transparent_huge_pages.as_deref() {
        Some("always") => RuleResult::found(
            Weight::Note,
            "transparent huge pages are `always`",
            "first touches of memory bring 2 MiB at once where they fit: figures of faults and \
             mappings depend on what is free and aligned",
        )
        .with_command("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(_) => RuleResult::fine("huge pages"),
        None => RuleResult::unknown("huge pages (this kernel has none, or does not tell)"),
    }
}

/// Free pages that go back to the host.
pub(super) fn page_reporting(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.memory.free_page_reporting {
        Some(true) => RuleResult::found(
            Weight::Note,
            "free pages are handed back to the host (the balloon device's page reporting)",
            "the first touch of memory after a while costs a fault of the host as well: figures of \
             first touches depend on what ran before",
        )
        .mend("nothing here: it is the host's"),
        _ => RuleResult::NotApplicable,
    }
}

/// Whether a tracer can count the calls of an op.
pub(super) fn counting(seen: &Observations<'_>) -> RuleResult {
    let Some(why) = seen.uncountable_reason else { return RuleResult::fine("counting") };
    let judged = RuleResult::found(
        Weight::Limitation,
        format!("system calls cannot be counted here: {why}"),
        "rows are flagged CALLS_UNCOUNTED: that an op makes the calls that it should is believed, \
         not seen",
    );
    let security = &seen.facts.security;
    match security.yama_ptrace_scope {
        Some(3) => judged.mend("reboot: ptrace_scope 3 lasts until then"),
        Some(2) => judged.with_command("sudo sysctl kernel.yama.ptrace_scope=1"),
        _ if security.seccomp_mode == Some(2) => judged.mend(
            "start the container with `--cap-add SYS_PTRACE --security-opt seccomp=unconfined`",
        ),
        _ => judged.mend("allow ptrace(2) to this user"),
    }
}

/// How many files may be open.
pub(super) fn open_files(seen: &Observations<'_>) -> RuleResult {
    let Some(hard) = seen.facts.limits.open_files.hard else {
        return RuleResult::unknown("the limit of open files");
    };
    let Bound::Max(hard) = hard else { return RuleResult::fine("open files") };
    if hard >= OPEN_FILES {
        return RuleResult::fine("open files");
    }
    let judged = RuleResult::found(
        Weight::Limitation,
        format!("a process may open {hard} files, and may not ask for more"),
        "a benchmark over more descriptors than that cannot be measured here",
    );
    let may_raise = seen.facts.security.capability_bound.map(|it| it >> CAP_SYS_RESOURCE & 1 == 1);
    match may_raise {
        Some(false) => {
            judged.mend("nothing here: not even root may raise it (CAP_SYS_RESOURCE is missing)")
        }
        _ => judged.with_command("sudo prlimit --pid $$ --nofile=32768"),
    }
}

/// What else the system was told to start.
pub(super) fn run_level(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.os.run_level.as_deref() {
        Some(level @ ("graphical.target" | "5")) => {
            let judged = RuleResult::found(
                Weight::Note,
                format!("the system is at run level `{level}`: a graphical session may run"),
                "a desktop wakes up again and again, and uses memory and caches",
            );
            match level {
                "5" => judged.with_command("sudo telinit 3"),
                _ => judged.with_command("sudo systemctl isolate multi-user.target"),
            }
        }
        Some(_) => RuleResult::fine("run level"),
        None => match seen.facts.os.init.as_deref() {
            Some(init) => RuleResult::unknown(format!(
                "run level (`{init}` is process 1, and no utmp tells a level)"
            )),
            None => RuleResult::unknown("run level"),
        },
    }
}

/// Hardware counters, as information: oscost uses none.
pub(super) fn perf_events(seen: &Observations<'_>) -> RuleResult {
    match seen.facts.security.perf_event_paranoid {
        Some(level @ 2..) => RuleResult::found(
            Weight::Note,
            format!("perf_event_paranoid is {level}"),
            "nothing to oscost's figures; perf(1), to check one with, sees the kernel's side only \
             as root",
        )
        .with_command("sudo sysctl kernel.perf_event_paranoid=1"),
        Some(_) => RuleResult::fine("perf events"),
        None => RuleResult::unknown("perf_event_paranoid"),
    }
}
