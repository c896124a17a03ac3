//! All rules together.

use std::collections::BTreeSet;

use oscost_model::facts::Bound;
use oscost_model::noise_class::NoiseClass;

use super::super::wording::{join_names, time};
use super::super::{Diagnosis, examine};
use super::*;

/// Machines with many problems.
fn problematic_machines() -> Vec<World> {
    let contended = World::quiet().but(|world| {
        world.facts.virtualization = Some("kvm".into());
        world.facts.os.init = Some("init".into());
        world.facts.scheduling.smt_active = Some(true);
        world.facts.scheduling.governor = Some("powersave".into());
        world.facts.scheduling.boost = Some(true);
        world.facts.scheduling.isolated_cpus = Some(vec![]);
        world.facts.scheduling.nohz_full_cpus = None;
        world.facts.scheduling.cgroup_quota_milli_cpus = Some(Bound::Max(500));
        world.facts.scheduling.nice = Some(10);
        world.facts.memory.free_page_reporting = Some(true);
        world.facts.memory.swap_total_kib = Some(4096);
        world.probe[1].lost_ns = 300_000_000;
        world.probe[1].gaps_over_5us = 5_000;
        world.watch().daemons = vec!["cron".into(), "chronyd".into(), "falco".into()];
        world.watch().audit = Some(1);
        world.watch().throttled_periods = Some(9);
        world.uncounted = Some("ptrace was refused".into());
    });
    let clockless = World::quiet().but(|world| {
        world.facts.scheduling.clocksource = Some("hpet".into());
        world.clocks[0].unusable_reason = Some("it is trapped".into());
        world.clocks[1].unusable_reason = Some("there is no vDSO".into());
        world.facts.cpu.allowed_cpus = Some(vec![0]);
        world.facts.os.options = Some(vec!["KASAN".into(), "HARDENED_USERCOPY".into()]);
        world.facts.tracers = vec!["tracer function".into()];
        world.facts.security.address_randomization = Some(0);
        world.facts.security.seccomp_filters = Some(2);
        world.facts.os.run_level = Some("graphical.target".into());
    });
    vec![contended, clockless]
}

fn worlds() -> Vec<World> {
    let mut worlds = vec![World::quiet(), World::unknown()];
    worlds.extend(problematic_machines());
    worlds
}

#[test]
fn a_quiet_machine_has_no_findings_and_nothing_unknown() {
    let diagnosis = examine(&World::quiet().observations());
    assert_eq!(diagnosis.findings, []);
    assert_eq!(diagnosis.unknown, Vec::<String>::new());
    assert_eq!(diagnosis.class, Some(NoiseClass::Quiet));
    assert!(diagnosis.passed.len() > 20, "{:?}", diagnosis.passed);
}

#[test]
fn a_machine_without_facts_has_no_findings() {
    let diagnosis = examine(&World::unknown().observations());
    assert_eq!(diagnosis.findings, []);
    assert_eq!(diagnosis.class, None);
    // Counting works, and no debugger is attached.
    assert_eq!(diagnosis.passed, ["tracers (BPF and perf are not visible)", "counting"]);
    assert!(diagnosis.unknown.len() > 15, "{:?}", diagnosis.unknown);
}

#[test]
fn findings_are_sorted_by_weight_then_by_the_order_of_the_rules() {
    for world in problematic_machines() {
        let diagnosis = examine(&world.observations());
        assert!(diagnosis.findings.len() > 5, "{:?}", diagnosis.findings);
        let target = |rule| RULES.iter().position(|(name, _)| *name == rule);
        let keys: Vec<_> =
            diagnosis.findings.iter().map(|it| (it.weight, target(it.rule))).collect();
        assert!(keys.is_sorted(), "{keys:?}");
    }
}

#[test]
fn every_rule_has_a_unique_name_and_one_result() {
    let names: BTreeSet<&str> = RULES.iter().map(|(name, _)| *name).collect();
    assert_eq!(names.len(), RULES.len());
    for world in worlds() {
        let Diagnosis { findings, passed, unknown, .. } = examine(&world.observations());
        assert!(findings.len() + passed.len() + unknown.len() <= RULES.len());
        let found: BTreeSet<&str> = findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(found.len(), findings.len(), "a rule found two things");
        // A condition has one result; the results have the names of their rules.
        let subject =
            |diagnosis: &str| diagnosis.split(" (").next().unwrap_or(diagnosis).replace(' ', "-");
        for diagnosis in passed.iter().map(|diagnosis| subject(diagnosis)) {
            assert!(!found.contains(diagnosis.as_str()), "`{diagnosis}` passed and was found");
            assert!(
                !unknown.iter().any(|it| subject(it) == diagnosis),
                "`{diagnosis}` passed and is unknown"
            );
        }
    }
}

#[test]
fn every_finding_has_a_condition_an_effect_and_a_fix() {
    for world in problematic_machines() {
        for finding in examine(&world.observations()).findings {
            assert!(!finding.condition.is_empty() && !finding.effect.is_empty(), "{finding:?}");
            assert!(finding.fix.is_some() || finding.command.is_some(), "{finding:?}");
            let texts = [Some(&finding.condition), Some(&finding.effect), finding.fix.as_ref()];
            for text in texts.into_iter().flatten().chain(finding.command.as_ref()) {
                assert!(text.is_ascii() && !text.contains("  "), "{text}");
                assert!(!text.ends_with('.'), "{text}");
            }
        }
    }
}

#[test]
fn commands_for_root_do_not_use_sudo() {
    for mut world in problematic_machines() {
        let commands = |world: &World| -> Vec<String> {
            examine(&world.observations())
                .findings
                .into_iter()
                .filter_map(|it| it.command)
                .collect()
        };
        assert!(commands(&world).iter().any(|command| command.contains("sudo ")));
        world.facts.security.is_root = Some(true);
        assert!(commands(&world).iter().all(|command| !command.contains("sudo ")));
    }
}

#[test]
fn the_class_is_that_of_the_cpu_that_a_run_would_use() {
    let class = |lost_ns: u64| {
        let world = World::quiet().but(|world| {
            world.probe[0].lost_ns = SPIN_NS / 2;
            world.probe[1].lost_ns = lost_ns;
        });
        examine(&world.observations()).class
    };
    assert_eq!(class(SPIN_NS / 100 - 1), Some(NoiseClass::Quiet));
    assert_eq!(class(SPIN_NS / 100), Some(NoiseClass::Noisy));
    assert_eq!(class(SPIN_NS / 10), Some(NoiseClass::Noisy));
    assert_eq!(class(SPIN_NS / 10 + 1), Some(NoiseClass::VeryNoisy));
}

#[test]
fn names_and_times_are_short() {
    let names: Vec<String> = ["a", "b", "c", "d"].map(String::from).to_vec();
    assert_eq!(join_names(&names[..0], 3), "");
    assert_eq!(join_names(&names[..1], 3), "a");
    assert_eq!(join_names(&names[..3], 3), "a, b and c");
    assert_eq!(join_names(&names, 2), "a, b and 2 more");
    assert_eq!([time(59_400), time(4_096_000), time(1_500_000_000)], ["59 us", "4.1 ms", "1.50 s"]);
}
