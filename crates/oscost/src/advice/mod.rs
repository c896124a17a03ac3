//! Judges facts: the causes of noise on a machine, what limits oscost on it, and the figures with
//! which its own can be compared.
//!
//! Purpose: findings about a machine from its facts and from the activity on it; the words that
//! oscost prints; the grade of a run by its flags and conditions. It must not know about any figure.

pub mod classes;
pub mod doctor;
pub mod machine_facts;
pub mod record_trust;
pub mod self_check;
pub mod trust;
pub mod words;

use oscost_model::facts::{Bound, Facts};

/// A condition and its effect on figures.
type Sentence = (&'static str, &'static str);

const ONE_CPU: Sentence = (
    "only one CPU is available",
    "the tool and its workers share it, and cases with a peer on another CPU cannot be measured",
);
const SMT: Sentence =
    ("SMT is active", "load on the sibling hardware thread slows the measuring CPU by 20 to 40 %");
const GOVERNOR: Sentence =
    ("the frequency governor is not `performance`", "the core frequency follows the load");
const QUOTA: Sentence = (
    "the control group's CPU quota is below one CPU",
    "workers are throttled for 10 to 100 ms at a time",
);
const VIRTUAL: Sentence =
    ("this is a virtual machine", "time taken by the hypervisor may not appear in any counter");
const CLOCKSOURCE: Sentence = (
    "the kernel's clocksource cannot be read from user space",
    "every clock read enters the kernel",
);
const SECCOMP: Sentence =
    ("seccomp filters apply to this process", "every system call pays for them");

/// File descriptors that the largest cases need, including those a worker always has open.
const OPEN_FILES: u64 = 20_010;

/// Notes on the machine for readers of its figures, one sentence each.
pub fn machine_notes(facts: &Facts) -> Vec<String> {
    let scheduling = &facts.scheduling;
    let quota = scheduling.cgroup_quota_milli_cpus;
    let judged = [
        (facts.cpu.allowed_cpus.as_ref().is_some_and(|cpus| cpus.len() == 1), ONE_CPU),
        (scheduling.smt_active == Some(true), SMT),
        (scheduling.governor.as_deref().is_some_and(|it| it != "performance"), GOVERNOR),
        (matches!(quota, Some(Bound::Max(quota)) if quota < 1_000), QUOTA),
        (facts.is_guest(), VIRTUAL),
        (matches!(scheduling.clocksource.as_deref(), Some("hpet" | "acpi_pm")), CLOCKSOURCE),
        (facts.security.seccomp_filters.is_some_and(|filters| filters > 0), SECCOMP),
    ];
    let notes = judged.into_iter().filter(|(holds, _)| *holds);
    notes.map(|(_, (what, effect))| format!("{what}: {effect}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_facts_has_no_notes() {
        assert_eq!(machine_notes(&Facts::default()), Vec::<String>::new());
    }

    #[test]
    fn one_cpu_and_a_small_quota_are_noted() {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(vec![3]);
        facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::Max(500));
        let advice = machine_notes(&facts);
        assert_eq!(advice.len(), 2, "{advice:?}");
        assert!(advice[0].contains("one CPU") && advice[1].contains("quota"));
    }
}
