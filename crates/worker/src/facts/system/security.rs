//! Security settings of the kernel and of this process.

use std::collections::BTreeMap;

use oscost_model::facts::Security;

use crate::facts::source::roots::Roots;
use crate::facts::source::{parse, reader};

/// The bit of personality(2) that setarch -R sets.
const ADDR_NO_RANDOMIZE: u64 = 0x004_0000;

/// Security settings, from sysctls and the process's status.
pub(in crate::facts) fn gather(roots: &Roots, status: &str) -> Security {
    let sysctl = roots.at("proc/sys/kernel");
    let number = |key| parse::number(parse::field(status, key)?);
    let text = |key| parse::printable(parse::field(status, key)?, 256);
    Security {
        address_randomization: reader::number(&sysctl.join("randomize_va_space")),
        perf_event_paranoid: reader::number(&sysctl.join("perf_event_paranoid")),
        unprivileged_bpf_disabled: reader::number(&sysctl.join("unprivileged_bpf_disabled")),
        yama_ptrace_scope: reader::number(&sysctl.join("yama/ptrace_scope")),
        seccomp_mode: number("Seccomp"),
        seccomp_filters: number("Seccomp_filters"),
        speculation_store_bypass: text("Speculation_Store_Bypass"),
        speculation_indirect_branch: text("SpeculationIndirectBranch"),
        randomization_disabled: hex(reader::value(&roots.at("proc/self/personality")).as_deref())
            .map(|bits| bits & ADDR_NO_RANDOMIZE != 0),
        is_root: parse::field(status, "Uid")
            .and_then(|ids| ids.split_ascii_whitespace().nth(1))
            .map(|effective| effective == "0"),
        capability_bound: hex(parse::field(status, "CapBnd")),
        // Not in a file: it is what the supervisor leaves to its workers.
        worker_capabilities: None,
    }
}

/// A number as the kernel writes sets of bits: hexadecimal, without a mark.
fn hex(text: Option<&str>) -> Option<u64> {
    u64::from_str_radix(text?, 16).ok()
}

/// The processor vulnerabilities that the kernel knows, each with its mitigation.
pub(in crate::facts) fn mitigations(roots: &Roots) -> BTreeMap<String, String> {
    let folder = roots.at("sys/devices/system/cpu/vulnerabilities");
    let flaws = reader::names(&folder).into_iter();
    let pair =
        |flaw: String| Some((parse::printable(&flaw, 256)?, reader::value(&folder.join(flaw))?));
    parse::map(flaws.filter_map(pair).collect())
}
