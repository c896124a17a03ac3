//! What this process may do: its filters, its capabilities, its user namespace.

use super::conditions::Conditions;
use super::judgement::Judgement;

const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// The capabilities that root's oscost uses, with the purpose of each.
const USED: &[(u32, &str, &str)] = &[
    (1, "DAC_OVERRIDE", "files and folders of other users"),
    (19, "SYS_PTRACE", "the names of other users' programs that hold the lock"),
    (CAP_SYS_ADMIN, "SYS_ADMIN", "`ebpf` and `ph` before Linux 5.8"),
    (23, "SYS_NICE", "`nice` below 0"),
    (24, "SYS_RESOURCE", "a hard limit that is too low for the largest cases"),
    (14, "IPC_LOCK", "memory beyond RLIMIT_MEMLOCK"),
    (30, "AUDIT_CONTROL", "whether the audit system is on"),
];

/// The seccomp filters that this process has inherited.
pub(super) fn seccomp(conditions: &Conditions) -> Judgement {
    let process = &conditions.host.process;
    match (process.seccomp_mode, process.seccomp_filters) {
        (Some(0), _) => Judgement::fine("no filter"),
        (Some(_), filters) => {
            let filters = match filters {
                Some(1) => "a filter applies".to_owned(),
                Some(filters) => format!("{filters} filters apply"),
                None => "filters apply".to_owned(),
            };
            Judgement::limits(
                format!("{filters} to this process and its workers"),
                "every system call of every row pays for them; rows whose calls they forbid are \
                 skipped, with the reason",
                "start oscost outside the sandbox (with docker: `--security-opt \
                 seccomp=unconfined`)",
            )
        }
        (None, _) => Judgement::unknown("/proc/self/status does not say"),
    }
}

/// BPF programs, which two treatments load.
pub(super) fn bpf(conditions: &Conditions) -> Judgement {
    let process = &conditions.host.process;
    let sysctl = conditions.worker.as_ref().ok();
    let sysctl = sysctl.map(|worker| worker.facts.security.unprivileged_bpf_disabled);
    let has = |capability| process.has(capability) == Some(true);
    let may = has(CAP_SYS_ADMIN) || has(CAP_BPF) && has(CAP_PERFMON);
    let setting = match sysctl {
        None => String::new(),
        Some(None) => "; the kernel has no bpf(2)".to_owned(),
        Some(Some(level)) => format!("; unprivileged_bpf_disabled is {level}"),
    };
    let cost = "treatments `ebpf=empty`, `ebpf=count` and `ph`, and `oscost ph` are not available";
    match (process.capabilities, may) {
        (None, _) => Judgement::unknown("the capabilities of this process are unknown"),
        _ if sysctl == Some(None) => {
            let remedy = "use a kernel with CONFIG_BPF_SYSCALL=y";
            Judgement::limits("the kernel has no bpf(2)", cost, remedy)
        }
        (_, false) => {
            let found = format!("CAP_BPF or CAP_PERFMON is missing{setting}");
            Judgement::limits(found, cost, "`sudo oscost ...` for these")
        }
        _ if process.is_in_user_namespace == Some(true) => Judgement::limits(
            format!("root in a user namespace loads no programs for the kernel{setting}"),
            cost,
            "run oscost as root of the machine",
        ),
        (_, true) => Judgement::fine(format!("programs can be loaded{setting}")),
    }
}

/// The capabilities that are missing.
pub(super) fn capabilities(conditions: &Conditions) -> Judgement {
    let process = &conditions.host.process;
    let (Some(is_root), Some(_)) = (process.is_root(), process.capabilities) else {
        return Judgement::unknown("the user or the capabilities of this process are unknown");
    };
    let missing = USED.iter().filter(|(bit, ..)| process.has(*bit) == Some(false));
    let missing: Vec<_> = missing.collect();
    if missing.is_empty() {
        return Judgement::fine("all that oscost uses");
    }
    if !is_root {
        let remedy = match process.no_new_privileges {
            Some(true) => "start oscost as root outside this sandbox: in it sudo has no effect",
            _ => "`sudo oscost ...` for these",
        };
        return Judgement::limits(
            "an ordinary user",
            "treatments `ebpf`, `ph`, `ftrace`, `clocksource`, `nice` below 0 and `cgroup` (unless \
             a group is delegated) are not available; memory modules, tracers and the audit system are \
             not visible",
            remedy,
        );
    }
    let names: Vec<&str> = missing.iter().map(|(_, name, _)| *name).collect();
    let purposes: Vec<String> =
        missing.iter().map(|(_, name, purpose)| format!("{name}: {purpose}")).collect();
    Judgement::limits(
        format!("root without {}", names.join(", ")),
        purposes.join("; "),
        "give the container these capabilities (with docker: `--cap-add NAME`)",
    )
}

/// The user namespace, whose root is not the machine's.
pub(super) fn user_namespaces(conditions: &Conditions) -> Judgement {
    let host = &conditions.host;
    let made = match host.max_user_namespaces {
        None => "whether new ones can be created is unknown",
        Some(0) => "none can be created here",
        Some(_) => "new ones can be created",
    };
    match host.process.is_in_user_namespace {
        None => Judgement::unknown("/proc/self/uid_map cannot be read"),
        Some(false) => {
            Judgement::fine(format!("that of the machine; {made}, and oscost creates none"))
        }
        Some(true) => Judgement::limits(
            format!("not that of the machine; {made}, and oscost creates none"),
            "capabilities do not extend to the kernel: treatments that need root, and limits \
             beyond those of the namespace's owner, are not available",
            "run oscost outside the namespace",
        ),
    }
}
