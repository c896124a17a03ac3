//! What the monitor requires of this program and this machine, with a hint where it is missing.

use std::fs;
use std::path::Path;

/// A requirement of the monitor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Its name.
    pub name: &'static str,
    /// Whether it is met.
    pub availability: Availability,
    /// What was found; if it is not met, how to fix it. One line.
    pub detail: String,
}

/// Whether a requirement is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is met.
    Yes,
    /// It is not met.
    No,
    /// The system does not report it.
    Unknown,
}

/// Whether a build of oscost contains the monitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// It does.
    With,
    /// It was built without the feature `ebpf`.
    Without,
}

/// This build.
pub const BUILD: Build = if cfg!(feature = "ebpf") { Build::With } else { Build::Without };

/// Capabilities as bits (`linux/capability.h`).
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Checks all requirements. `root` is the root directory of the machine: `/`, except in tests.
pub fn check_requirements(build: Build, root: &Path) -> Vec<Requirement> {
    let build = match build {
        Build::With => {
            requirement("build", Availability::Yes, "the monitor is part of this oscost")
        }
        Build::Without => requirement(
            "build",
            Availability::No,
            "not built: install clang libelf-dev zlib1g-dev, `make build`",
        ),
    };
    vec![build, bpf(root), btf(root), lockdown(root), rights(root)]
}

/// Checks that this process is in the initial PID namespace, whose ids the BPF programs use.
pub fn pid_namespace() -> Result<(), String> {
    /// The initial namespace: PROC_PID_INIT_INO.
    const INITIAL: &str = "pid:[4026531836]";
    let own = std::fs::read_link("/proc/self/ns/pid")
        .map_err(|error| format!("the PID namespace is unknown: {error}; /proc must be mounted"))?;
    if own.as_os_str() == INITIAL {
        return Ok(());
    }
    Err("this is not the initial PID namespace: run it outside of the container".to_owned())
}

fn requirement(name: &'static str, availability: Availability, detail: &str) -> Requirement {
    Requirement { name, availability, detail: detail.to_owned() }
}

/// A kernel with bpf(2) has this setting (CONFIG_BPF_SYSCALL).
fn bpf(root: &Path) -> Requirement {
    match root.join("proc/sys/kernel/unprivileged_bpf_disabled").exists() {
        true => requirement("bpf", Availability::Yes, "the kernel has bpf(2)"),
        false if !root.join("proc/self").exists() => {
            requirement("bpf", Availability::No, "no /proc: `mount -t proc proc /proc` mounts it")
        }
        false => requirement(
            "bpf",
            Availability::No,
            "the kernel has no bpf(2): it needs CONFIG_BPF_SYSCALL=y",
        ),
    }
}

fn btf(root: &Path) -> Requirement {
    match root.join("sys/kernel/btf/vmlinux").exists() {
        true => requirement("btf", Availability::Yes, "the kernel has type information"),
        false => requirement(
            "btf",
            Availability::No,
            "no /sys/kernel/btf/vmlinux: it needs CONFIG_DEBUG_INFO_BTF=y",
        ),
    }
}

/// `none [integrity] confidentiality`: the current level is in brackets.
fn lockdown(root: &Path) -> Requirement {
    let Ok(text) = fs::read_to_string(root.join("sys/kernel/security/lockdown")) else {
        let detail = "unknown; only the level `confidentiality` is a problem";
        return requirement("lockdown", Availability::Unknown, detail);
    };
    let level = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    match level.map(|(level, _)| level) {
        Some("none") => requirement("lockdown", Availability::Yes, "none"),
        Some("integrity") => requirement(
            "lockdown",
            Availability::Yes,
            "integrity: reading kernel memory is allowed",
        ),
        Some("confidentiality") => requirement(
            "lockdown",
            Availability::No,
            "forbids reading kernel memory: boot with lockdown=integrity",
        ),
        _ => requirement("lockdown", Availability::Unknown, "this oscost does not know the level"),
    }
}

fn rights(root: &Path) -> Requirement {
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(mask) = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()) else {
        return requirement("rights", Availability::Unknown, "unknown; run it as root");
    };
    // The capabilities of a process in a user namespace do not extend to the kernel.
    let map = fs::read_to_string(root.join("proc/self/uid_map")).unwrap_or_default();
    let is_initial_namespace = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let may = mask & CAP_SYS_ADMIN != 0 || mask & (CAP_BPF | CAP_PERFMON) == CAP_BPF | CAP_PERFMON;
    match (may, is_initial_namespace) {
        (true, true) => requirement("rights", Availability::Yes, "CAP_BPF and CAP_PERFMON"),
        (true, false) => {
            let detail = "root in a user namespace only: run it as root of the machine";
            requirement("rights", Availability::No, detail)
        }
        (false, _) => requirement(
            "rights",
            Availability::No,
            "not root: run it with sudo (CAP_BPF and CAP_PERFMON)",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "         0          0 4294967295\n";

    /// The requirements on a machine with these files.
    fn machine(files: &[(&str, &str)]) -> Vec<Requirement> {
        let root = tempfile::TempDir::with_prefix("oscost-test-").unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check_requirements(Build::With, root.path())
    }

    fn availabilities(requirements: &[Requirement]) -> Vec<Availability> {
        requirements.iter().map(|it| it.availability).collect()
    }

    #[test]
    fn a_suitable_machine_meets_all_requirements() {
        let needs = machine(&[
            ("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
            ("sys/kernel/btf/vmlinux", ""),
            ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
            ("proc/self/status", "Name:\tx\nCapEff:\t000001fffeffffff\n"),
            ("proc/self/uid_map", ALL),
        ]);
        assert_eq!(availabilities(&needs), [Availability::Yes; 5]);
    }

    #[test]
    fn each_missing_requirement_has_a_hint() {
        let needs = machine(&[
            ("sys/kernel/security/lockdown", "none integrity [confidentiality]\n"),
            ("proc/self/status", "CapEff:\t0000000000000000\n"),
            ("proc/self/uid_map", ALL),
        ]);
        assert_eq!(
            availabilities(&needs),
            [
                Availability::Yes,
                Availability::No,
                Availability::No,
                Availability::No,
                Availability::No
            ]
        );
        let without = check_requirements(Build::Without, Path::new("/proc/self/no/such/folder"));
        assert_eq!(
            availabilities(&without),
            [
                Availability::No,
                Availability::No,
                Availability::No,
                Availability::Unknown,
                Availability::Unknown
            ]
        );
        for (missing, hint) in [
            (&without[0], "install clang"),
            (&needs[1], "CONFIG_BPF_SYSCALL"),
            (&without[1], "mount -t proc"),
            (&needs[2], "CONFIG_DEBUG_INFO_BTF"),
            (&needs[3], "lockdown=integrity"),
            (&needs[4], "sudo"),
        ] {
            assert!(missing.detail.contains(hint), "{missing:?}");
            let is_line = !missing.detail.contains('\n') && missing.detail.chars().count() <= 62;
            assert!(is_line, "{missing:?}");
        }
    }

    #[test]
    fn capabilities_in_a_user_namespace_do_not_count() {
        let rights = |mask: &str, map: &str| {
            let status = format!("CapEff:\t{mask}\n");
            let needs = machine(&[("proc/self/status", &status), ("proc/self/uid_map", map)]);
            (needs[4].availability, needs[4].detail.clone())
        };
        assert_eq!(rights("000000c000000000", ALL).0, Availability::Yes);
        assert_eq!(rights("0000000000200000", ALL).0, Availability::Yes);
        assert_eq!(rights("0000004000000000", ALL).0, Availability::No);
        let (availability, detail) = rights("000001ffffffffff", "0 1000 1\n");
        assert!(availability == Availability::No && detail.contains("namespace"), "{detail}");
    }
}
