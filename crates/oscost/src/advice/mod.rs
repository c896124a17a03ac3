//! Judges facts: what makes figures noisy here, and what they cannot be compared with.
//!
//! What this room is for: sentences about a machine, from its facts alone. What it may not know:
//! anything that was measured.

use oscost_model::facts::{Bound, Facts};

/// What a reader of the figures should know of the machine, a sentence each.
pub fn about(facts: &Facts) -> Vec<String> {
    let mut advice = Vec::new();
    let mut say = |when: bool, text: &str| {
        if when {
            advice.push(text.to_owned());
        }
    };
    let scheduling = &facts.scheduling;
    say(
        facts.cpu.allowed_cpus.as_ref().is_some_and(|cpus| cpus.len() == 1),
        "only one CPU may be used: the tool and its cells take turns on it, and cases with a peer on \
         another CPU cannot be measured",
    );
    say(
        scheduling.smt_active == Some(true),
        "SMT is active: work on the sibling of the measuring CPU slows it by 20 to 40 %",
    );
    say(
        scheduling.governor.as_deref().is_some_and(|governor| governor != "performance"),
        "the frequency governor is not `performance`: the core's rate follows the load",
    );
    say(
        matches!(scheduling.cgroup_quota_milli_cpus, Some(Bound::At(quota)) if quota < 1_000),
        "the control group's CPU quota is below one CPU: cells are stopped for 10 to 100 ms at a time",
    );
    say(
        facts.virtualization.as_deref().is_some_and(|kind| kind != "none"),
        "this is a virtual machine: time that the hypervisor takes may not show in any counter",
    );
    say(
        scheduling
            .clocksource
            .as_deref()
            .is_some_and(|source| source == "hpet" || source == "acpi_pm"),
        "the kernel's clocksource cannot be read from user space: every clock read enters the kernel",
    );
    say(
        facts.security.seccomp_filters.is_some_and(|filters| filters > 0),
        "seccomp filters apply to this process: every system call pays for them",
    );
    advice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_machine_is_not_judged() {
        assert_eq!(about(&Facts::default()), Vec::<String>::new());
    }

    #[test]
    fn one_cpu_and_a_small_quota_are_named() {
        let mut facts = Facts::default();
        facts.cpu.allowed_cpus = Some(vec![3]);
        facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::At(500));
        let advice = about(&facts);
        assert_eq!(advice.len(), 2, "{advice:?}");
        assert!(advice[0].contains("one CPU") && advice[1].contains("quota"));
    }
}
