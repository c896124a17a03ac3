//! The kernel: tracers, build options, hardening and permissions.

use oscost_model::facts::Bound;

use super::finding::{RuleResult, Weight};
use super::observations::Observations;
use super::wording::join_names;
use crate::advice::{OPEN_FILES, SECCOMP};

/// The bit of CAP_SYS_RESOURCE, which allows raising limits.
const CAP_SYS_RESOURCE: u32 = 24;

/// Build options of debugging kernels, each of which adds checks to what is timed. Left out are
/// those that distribution kernels have (UBSAN, DEBUG_LIST), and those that do nothing until a boot
/// argument enables them.
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

/// Boot arguments with the same effect, and the values that turn each off.
const DEBUGGING_BOOT: &[(&str, &[&str])] = &[
    ("debug_pagealloc=", &["off", "0"]),
    ("page_poison=", &["off", "0"]),
    ("slab_debug", &["=-"]),
    ("slub_debug", &["=-"]),
    ("kmemleak=", &["off"]),
    ("page_owner=", &["off"]),
];

/// Hardening with a measurable cost: the build option, the boot argument that overrides it, its
/// effect.
const HARDENING: &[(&str, &str, &str)] = &[
    (
        "INIT_ON_ALLOC_DEFAULT_ON",
        "init_on_alloc=",
        "zeroes memory on allocation (page faults and allocating calls)",
    ),
    ("INIT_ON_FREE_DEFAULT_ON", "init_on_free=", "zeroes memory on free (exit, munmap, close)"),
    (
        "RANDOMIZE_KSTACK_OFFSET_DEFAULT",
        "randomize_kstack_offset=",
        "randomizes the kernel stack offset in each system call",
    ),
    ("HARDENED_USERCOPY", "hardened_usercopy=", "checks each copy to and from user space"),
];

/// Tracers attached to system calls.
pub(super) fn tracers(observations: &Observations<'_>) -> RuleResult {
    let facts = observations.facts;
    // The seccomp filter has its own rule.
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
            None => RuleResult::pass("tracers (BPF and perf are not visible)"),
        };
    }
    let result = RuleResult::finding(
        Weight::Biases,
        format!("attached to system calls: {}", join_names(&attached, 4)),
        "every system call of every process takes the slow entry path: 25 to 80 ns more, 200 to \
         375 ns with a trace event, over 10 us under ptrace",
    );
    let ptraced = attached.iter().any(|it| it.starts_with("ptrace"));
    match attached.iter().all(|it| it.starts_with("ptrace")) {
        true => result.with_fix("start oscost without strace or a debugger"),
        false => {
            let result = result.with_command(
                "echo 0 | sudo tee /sys/kernel/tracing/events/enable; echo nop | sudo tee \
                 /sys/kernel/tracing/current_tracer",
            );
            if ptraced { result.with_fix("and start oscost without a debugger") } else { result }
        }
    }
}

/// Security monitors, which observe system calls through BPF or audit rules; neither is visible in
/// /proc or /sys.
pub(super) fn monitors(observations: &Observations<'_>) -> RuleResult {
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
    let Some(watch) = observations.system_activity() else { return RuleResult::NotApplicable };
    let is_monitor = |name: &&String| NAMES.contains(&name.as_str());
    let running: Vec<&String> = watch.daemons.iter().filter(is_monitor).collect();
    if running.is_empty() {
        return match watch.processes_unread {
            Some(_) => RuleResult::NotApplicable,
            None => RuleResult::pass("security monitors"),
        };
    }
    let names: Vec<String> = running.iter().map(|name| format!("`{name}`")).collect();
    let services: Vec<&str> = running.iter().map(|name| name.as_str()).collect();
    RuleResult::finding(
        Weight::Biases,
        format!("security monitor running: {}", join_names(&names, 3)),
        "each system call may pay for a BPF program (78 ns empty, 110 to 350 ns otherwise) or an \
         audit rule (90 ns, over 9 us if it matches)",
    )
    .with_command(observations.stop(&services))
}

/// Seccomp filters on the measuring process.
pub(super) fn seccomp(observations: &Observations<'_>) -> RuleResult {
    let security = &observations.facts.security;
    let filters = match (security.seccomp_filters, security.seccomp_mode) {
        (Some(filters), _) => filters,
        // Before Linux 5.9 only the mode is reported, not the number of filters.
        (None, Some(mode)) => u32::from(mode == 2),
        (None, None) => return RuleResult::unknown("seccomp (not in /proc/self/status)"),
    };
    if filters == 0 {
        return RuleResult::pass("seccomp");
    }
    RuleResult::finding(
        Weight::Biases,
        format!("{} ({filters} of them)", SECCOMP.0),
        format!("{}: 35 ns if the kernel has cached the result, 60 to 110 ns if not", SECCOMP.1),
    )
    .with_fix(
        "start the container with `--security-opt seccomp=unconfined`, or start oscost outside \
         the sandbox",
    )
}

/// The audit system.
pub(super) fn audit(observations: &Observations<'_>) -> RuleResult {
    let Some(watch) = observations.system_activity() else { return RuleResult::NotApplicable };
    match (watch.audit, observations.built_with("AUDITSYSCALL")) {
        (Some(0), _) => RuleResult::pass("audit"),
        (_, Some(false)) => RuleResult::pass("audit"),
        (Some(_), _) => RuleResult::finding(
            Weight::Biases,
            "the audit system is on",
            "each system call of each task started since then costs 90 ns more, over 9 us if a \
             rule matches and no daemon listens; turning it off does not help running tasks",
        )
        .with_command("sudo auditctl -a never,task")
        .with_fix("then start oscost from a new shell"),
        (None, _) => {
            let why = watch.audit_unread.as_deref().unwrap_or("no reply");
            RuleResult::unknown(format!("audit ({why})"))
        }
    }
}

/// Debugging options of the kernel.
pub(super) fn debug_options(observations: &Observations<'_>) -> RuleResult {
    let built = observations.facts.os.options.as_deref();
    let mut on: Vec<String> = built
        .unwrap_or_default()
        .iter()
        .filter(|option| DEBUGGING.contains(&option.as_str()))
        .map(|option| format!("CONFIG_{option}"))
        .collect();
    on.extend(DEBUGGING_BOOT.iter().filter_map(|(switch, off)| {
        let value = observations.boot(switch)?;
        (!off.contains(&value)).then(|| format!("{switch}{value}"))
    }));
    if on.is_empty() {
        return match built {
            Some(_) => RuleResult::pass("debug options"),
            None => RuleResult::unknown(
                "the kernel's build options (no /proc/config.gz, no /boot copy)",
            ),
        };
    }
    RuleResult::finding(
        Weight::Biases,
        format!("kernel debugging is enabled: {}", join_names(&on, 5)),
        "locks, allocations, faults and system calls cost more, some several times as much: \
         figures are those of a debugging kernel",
    )
    .with_fix("boot a kernel built without these options, and without those boot arguments")
}

/// Hardening that adds to the cost of calls, faults or exits.
pub(super) fn hardening(observations: &Observations<'_>) -> RuleResult {
    let Some(built) = observations.facts.os.options.as_deref() else {
        return RuleResult::NotApplicable;
    };
    let is_off = |value: &str| ["0", "off", "n", "N"].contains(&value);
    let on: Vec<_> = HARDENING
        .iter()
        .filter(|(option, switch, _)| match observations.boot(switch) {
            Some(value) => !is_off(value),
            None => built.iter().any(|it| it == option),
        })
        .collect();
    if on.is_empty() {
        return RuleResult::pass("hardening");
    }
    let names: Vec<String> =
        on.iter().map(|(_, switch, _)| switch.trim_end_matches('=').to_owned()).collect();
    let effect: Vec<String> = on.iter().map(|(_, _, effect)| (*effect).to_owned()).collect();
    let switches: Vec<String> = names.iter().map(|name| format!("{name}=off")).collect();
    RuleResult::finding(
        Weight::Note,
        format!("hardening is on: {}", join_names(&names, 4)),
        format!("usual on most machines, so keep it: it {}", effect.join("; ")),
    )
    .with_fix(format!("to see its cost, boot with `{}`", switches.join(" ")))
}

/// Address space layout randomization.
pub(super) fn address_randomization(observations: &Observations<'_>) -> RuleResult {
    let security = &observations.facts.security;
    let effect = "all workers have the same layout: repetitions agree on figures that another \
                layout, another build or another file name would change by several per cent";
    if security.randomization_disabled == Some(true) {
        return RuleResult::finding(
            Weight::Biases,
            "address randomization is disabled for this process (setarch -R, a debugger)",
            effect,
        )
        .with_fix("start oscost without setarch or a debugger");
    }
    match security.address_randomization {
        Some(0) => RuleResult::finding(Weight::Biases, "address randomization is off", effect)
            .with_command("echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"),
        Some(1) => RuleResult::finding(
            Weight::Note,
            "address randomization excludes the heap (randomize_va_space is 1)",
            "all workers have the same heap layout: the spread between them is too small",
        )
        .with_command("echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"),
        Some(_) => RuleResult::pass("address randomization"),
        None => RuleResult::unknown("address randomization"),
    }
}

/// Transparent huge pages.
pub(super) fn huge_pages(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.memory.transparent_huge_pages.as_deref() {
        Some("always") => RuleResult::finding(
            Weight::Note,
            "transparent huge pages are `always`",
            "the first touch of memory may map 2 MiB at once: figures of faults and mappings \
             depend on free and aligned memory",
        )
        .with_command("echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled"),
        Some(_) => RuleResult::pass("huge pages"),
        None => RuleResult::unknown("huge pages (not supported or not reported by this kernel)"),
    }
}

/// Free page reporting to the host.
pub(super) fn page_reporting(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.memory.free_page_reporting {
        Some(true) => RuleResult::finding(
            Weight::Note,
            "free pages are returned to the host (free page reporting of the balloon device)",
            "the first touch of memory may also fault in the host: figures of first touches \
             depend on what ran before",
        )
        .with_fix("none from inside: the host configures it"),
        _ => RuleResult::NotApplicable,
    }
}

/// Whether a tracer can count the system calls of an op.
pub(super) fn counting(observations: &Observations<'_>) -> RuleResult {
    let Some(why) = observations.uncountable_reason else { return RuleResult::pass("counting") };
    let result = RuleResult::finding(
        Weight::Limitation,
        format!("system calls cannot be counted here: {why}"),
        "rows are flagged CALLS_UNCOUNTED: the calls of an op are not verified",
    );
    let security = &observations.facts.security;
    match security.yama_ptrace_scope {
        Some(3) => result.with_fix("reboot: ptrace_scope 3 cannot be changed before"),
        Some(2) => result.with_command("sudo sysctl kernel.yama.ptrace_scope=1"),
        _ if security.seccomp_mode == Some(2) => result.with_fix(
            "start the container with `--cap-add SYS_PTRACE --security-opt seccomp=unconfined`",
        ),
        _ => result.with_fix("allow ptrace(2) for this user"),
    }
}

/// The limit of open files.
pub(super) fn open_files(observations: &Observations<'_>) -> RuleResult {
    let Some(hard) = observations.facts.limits.open_files.hard else {
        return RuleResult::unknown("the limit of open files");
    };
    let Bound::Max(hard) = hard else { return RuleResult::pass("open files") };
    if hard >= OPEN_FILES {
        return RuleResult::pass("open files");
    }
    let result = RuleResult::finding(
        Weight::Limitation,
        format!("the hard limit of open files is {hard}"),
        "a benchmark with more descriptors cannot be measured here",
    );
    let may_raise =
        observations.facts.security.capability_bound.map(|it| it >> CAP_SYS_RESOURCE & 1 == 1);
    match may_raise {
        Some(false) => {
            result.with_fix("none: not even root may raise it here (CAP_SYS_RESOURCE is missing)")
        }
        _ => result.with_command("sudo prlimit --pid $$ --nofile=32768"),
    }
}

/// The run level: what else the system starts.
pub(super) fn run_level(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.os.run_level.as_deref() {
        Some(level @ ("graphical.target" | "5")) => {
            let result = RuleResult::finding(
                Weight::Note,
                format!("the system is at run level `{level}`: a graphical session may run"),
                "a desktop session wakes up often and uses memory and caches",
            );
            match level {
                "5" => result.with_command("sudo telinit 3"),
                _ => result.with_command("sudo systemctl isolate multi-user.target"),
            }
        }
        Some(_) => RuleResult::pass("run level"),
        None => match observations.facts.os.init.as_deref() {
            Some(init) => RuleResult::unknown(format!(
                "run level (`{init}` is process 1, and utmp has no entry)"
            )),
            None => RuleResult::unknown("run level"),
        },
    }
}

/// Access to hardware counters, for information: oscost does not use them.
pub(super) fn perf_events(observations: &Observations<'_>) -> RuleResult {
    match observations.facts.security.perf_event_paranoid {
        Some(level @ 2..) => RuleResult::finding(
            Weight::Note,
            format!("perf_event_paranoid is {level}"),
            "none on oscost's figures; perf(1), which can verify them, counts kernel events only \
             as root",
        )
        .with_command("sudo sysctl kernel.perf_event_paranoid=1"),
        Some(_) => RuleResult::pass("perf events"),
        None => RuleResult::unknown("perf_event_paranoid"),
    }
}
