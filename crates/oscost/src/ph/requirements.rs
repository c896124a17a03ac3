//! Whether this program and this machine can monitor, and if not, the way out.

use std::fs;
use std::path::Path;

/// What the monitor needs, and whether it is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// What is needed.
    pub name: &'static str,
    /// Whether it is here.
    pub availability: Availability,
    /// What was seen; where it is lacking, what mends it. One line.
    pub detail: String,
}

/// Whether a need is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Availability {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// The system does not tell.
    Unknown,
}

/// What the monitor is made of at build time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Build {
    /// It is part of this program.
    With,
    /// It was left out.
    Without,
}

/// What this program was built with.
pub const BUILD: Build = if cfg!(feature = "ebpf") { Build::With } else { Build::Without };

/// The bits of the capabilities (`linux/capability.h`).
const CAP_SYS_ADMIN: u64 = 1 << 21;
const CAP_PERFMON: u64 = 1 << 38;
const CAP_BPF: u64 = 1 << 39;

/// Looks at all that the monitor needs. `root` is where the machine's files are: `/`, unless this
/// is a test.
pub fn check_requirements(build: Build, root: &Path) -> Vec<Requirement> {
    let build = match build {
        Build::With => need("build", Availability::Yes, "the monitor is part of this oscost"),
        Build::Without => need(
            "build",
            Availability::No,
            "left out: get clang, libelf-dev and zlib1g-dev, `make build`",
        ),
    };
    vec![build, kernel(root), types(root), lockdown(root), rights(root)]
}

fn need(of: &'static str, met: Availability, words: &str) -> Requirement {
    Requirement { name: of, availability: met, detail: words.to_owned() }
}

/// The setting is there where the call is (CONFIG_BPF_SYSCALL).
fn kernel(root: &Path) -> Requirement {
    match root.join("proc/sys/kernel/unprivileged_bpf_disabled").exists() {
        true => need("bpf", Availability::Yes, "the kernel has bpf(2)"),
        false => {
            need("bpf", Availability::No, "the kernel has no bpf(2): it takes CONFIG_BPF_SYSCALL=y")
        }
    }
}

fn types(root: &Path) -> Requirement {
    match root.join("sys/kernel/btf/vmlinux").exists() {
        true => need("btf", Availability::Yes, "the kernel describes its types"),
        false => need(
            "btf",
            Availability::No,
            "no /sys/kernel/btf/vmlinux: it takes CONFIG_DEBUG_INFO_BTF=y",
        ),
    }
}

/// `none [integrity] confidentiality`: the brackets are around what is in force.
fn lockdown(root: &Path) -> Requirement {
    let Ok(text) = fs::read_to_string(root.join("sys/kernel/security/lockdown")) else {
        let words = "not told; only `confidentiality` would be in the way";
        return need("lockdown", Availability::Unknown, words);
    };
    let level = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    match level.map(|(level, _)| level) {
        Some("none") => need("lockdown", Availability::Yes, "none"),
        Some("integrity") => need("lockdown", Availability::Yes, "integrity: reading is allowed"),
        Some("confidentiality") => need(
            "lockdown",
            Availability::No,
            "forbids to read the kernel: boot with lockdown=integrity",
        ),
        _ => {
            need("lockdown", Availability::Unknown, "told in words that this oscost does not know")
        }
    }
}

fn rights(root: &Path) -> Requirement {
    let status = fs::read_to_string(root.join("proc/self/status")).unwrap_or_default();
    let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let Some(mask) = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()) else {
        return need("rights", Availability::Unknown, "not told; run it as root");
    };
    // In a user namespace of its own a process has all rights, and none of them over the kernel.
    let map = fs::read_to_string(root.join("proc/self/uid_map")).unwrap_or_default();
    let is_all = map.split_whitespace().eq(["0", "0", "4294967295"]);
    let may = mask & CAP_SYS_ADMIN != 0 || mask & (CAP_BPF | CAP_PERFMON) == CAP_BPF | CAP_PERFMON;
    match (may, is_all) {
        (true, true) => {
            need("rights", Availability::Yes, "CAP_BPF and CAP_PERFMON, as root has them")
        }
        (true, false) => {
            let words = "root of a user namespace only: run it as root of the machine";
            need("rights", Availability::No, words)
        }
        (false, _) => {
            need("rights", Availability::No, "not root: run it with sudo (CAP_BPF and CAP_PERFMON)")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: &str = "         0          0 4294967295\n";

    /// A machine of these files.
    fn machine(files: &[(&str, &str)]) -> Vec<Requirement> {
        let root = tempfile::TempDir::with_prefix("oscost-test-").unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        check_requirements(Build::With, root.path())
    }

    fn met(needs: &[Requirement]) -> Vec<Availability> {
        needs.iter().map(|need| need.availability).collect()
    }

    #[test]
    fn a_machine_that_has_all_can() {
        let needs = machine(&[
            ("proc/sys/kernel/unprivileged_bpf_disabled", "2\n"),
            ("sys/kernel/btf/vmlinux", ""),
            ("sys/kernel/security/lockdown", "none [integrity] confidentiality\n"),
            ("proc/self/status", "Name:\tx\nCapEff:\t000001fffeffffff\n"),
            ("proc/self/uid_map", ALL),
        ]);
        assert_eq!(met(&needs), [Availability::Yes; 5]);
    }

    #[test]
    fn a_machine_that_lacks_all_is_told_a_way_out_for_each() {
        let needs = machine(&[
            ("sys/kernel/security/lockdown", "none integrity [confidentiality]\n"),
            ("proc/self/status", "CapEff:\t0000000000000000\n"),
            ("proc/self/uid_map", ALL),
        ]);
        assert_eq!(
            met(&needs),
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
            met(&without),
            [
                Availability::No,
                Availability::No,
                Availability::No,
                Availability::Unknown,
                Availability::Unknown
            ]
        );
        for (need, way) in [
            (&without[0], "get clang"),
            (&needs[1], "CONFIG_BPF_SYSCALL"),
            (&needs[2], "CONFIG_DEBUG_INFO_BTF"),
            (&needs[3], "lockdown=integrity"),
            (&needs[4], "sudo"),
        ] {
            assert!(need.detail.contains(way), "{need:?}");
            assert!(need.detail.chars().count() <= 62 && !need.detail.contains('\n'), "{need:?}");
        }
    }

    #[test]
    fn rights_are_those_over_the_machine_and_not_over_a_namespace() {
        let rights = |mask: &str, map: &str| {
            let status = format!("CapEff:\t{mask}\n");
            let needs = machine(&[("proc/self/status", &status), ("proc/self/uid_map", map)]);
            (needs[4].availability, needs[4].detail.clone())
        };
        assert_eq!(rights("000000c000000000", ALL).0, Availability::Yes);
        assert_eq!(rights("0000000000200000", ALL).0, Availability::Yes);
        assert_eq!(rights("0000004000000000", ALL).0, Availability::No);
        let (met, words) = rights("000001ffffffffff", "0 1000 1\n");
        assert!(met == Availability::No && words.contains("namespace"), "{words}");
    }
}
