//! What the kernel checks, hides or forbids.

use std::collections::BTreeMap;

use oscost_model::facts::Security;

use super::{Roots, parse, reader};

/// What sysctls and the process's status say.
pub(super) fn gather(roots: &Roots, status: &str) -> Security {
    let sysctl = roots.at("proc/sys/kernel");
    let number = |key| parse::number(parse::field(status, key)?);
    let text = |key| parse::shown(parse::field(status, key)?, 256);
    Security {
        address_randomization: reader::number(&sysctl.join("randomize_va_space")),
        perf_event_paranoid: reader::number(&sysctl.join("perf_event_paranoid")),
        unprivileged_bpf_disabled: reader::number(&sysctl.join("unprivileged_bpf_disabled")),
        yama_ptrace_scope: reader::number(&sysctl.join("yama/ptrace_scope")),
        seccomp_mode: number("Seccomp"),
        seccomp_filters: number("Seccomp_filters"),
        speculation_store_bypass: text("Speculation_Store_Bypass"),
        speculation_indirect_branch: text("SpeculationIndirectBranch"),
    }
}

/// Each processor flaw the kernel knows, and what it does about it.
pub(super) fn mitigations(roots: &Roots) -> BTreeMap<String, String> {
    let folder = roots.at("sys/devices/system/cpu/vulnerabilities");
    let flaws = reader::names(&folder).into_iter();
    flaws
        .filter_map(|flaw| Some((parse::shown(&flaw, 256)?, reader::value(&folder.join(flaw))?)))
        .collect()
}
