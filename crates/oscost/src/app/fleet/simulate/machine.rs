//! A machine whose record says the facts of a simulated node.

use oscost_model::facts::Facts;
use oscost_model::record::{Conditions, Machine, ReferenceCases};

use crate::fleet::FleetNode;

/// The only machine of a simulated record.
pub(super) const MACHINE: &str = "m0";

/// What stands for the hypervisor: no machine has it.
const SIMULATED: &str = "simulated";

/// The fact that is told of the time of a run, not of the machine.
const TRACERS: &str = "tracers";

/// Simulated facts that no record has: they are left out.
const NOT_RECORDED: [&str; 2] = ["NUMA balancing", "serial number"];

/// The machine of a node; an error names a fact that no record can say.
pub(super) fn machine(node: &FleetNode) -> anyhow::Result<Machine> {
    let mut facts = Facts::default();
    let is_of_machine = |name: &str| name != TRACERS && !NOT_RECORDED.contains(&name);
    for fact in node.facts.iter().filter(|fact| is_of_machine(fact.name)) {
        let Some(value) = fact.value.as_deref() else { continue };
        anyhow::ensure!(
            set_fact(&mut facts, fact.name, value).is_some(),
            "cannot simulate the {} `{value}`: no record says it in this way",
            fact.name
        );
    }
    if facts.cpu.model_name.is_none() && !node.class.is_empty() {
        facts.cpu.model_name = Some(node.class.to_string());
    }
    facts.virtualization = Some(SIMULATED.to_owned());
    let advice = "it is simulated: nothing was measured on it".to_owned();
    Ok(Machine::new(MACHINE, facts, vec![advice]))
}

/// The conditions of a visit of a node.
pub(super) fn conditions(node: &FleetNode, not_claimable: Option<&str>) -> Conditions {
    let tracers = node.facts.iter().find(|fact| fact.name == TRACERS);
    let tracers = tracers.and_then(|fact| fact.value.as_deref()).unwrap_or_default();
    let tracers = tracers.split("; ").filter(|tracer| !tracer.is_empty()).map(str::to_owned);
    let class = if not_claimable.is_some() { "very-noisy" } else { "quiet" };
    Conditions {
        machine: MACHINE.to_owned(),
        class: Some(class.to_owned()),
        reference_cases: ReferenceCases { before: Default::default(), after: Default::default() },
        lambda_per_s: None,
        steal_pct: None,
        lost_pct: None,
        tracers: tracers.collect(),
        probe: Vec::new(),
        core: None,
        flags: Vec::new(),
    }
}

/// Sets what the advice on machines reads a fact from; `None` if it reads no such value.
fn set_fact(facts: &mut Facts, name: &str, value: &str) -> Option<()> {
    let text = || Some(value.to_owned());
    let (cpu, os, memory) = (&mut facts.cpu, &mut facts.os, &mut facts.memory);
    let scheduling = &mut facts.scheduling;
    match name {
        "processor" => set_processor(facts, value),
        "CPU" => cpu.model_name = text(),
        "kernel" => os.release = text(),
        "microcode" => cpu.microcode = text(),
        "mitigations" => {
            for part in value.split("; ") {
                let (flaw, what) = part.split_once(": ")?;
                facts.mitigations.insert(flaw.to_owned(), what.to_owned());
            }
        }
        "transparent huge pages" => memory.transparent_huge_pages = text(),
        "defragmentation of huge pages" => memory.transparent_huge_page_defrag = text(),
        "frequency governor" | "governor" => scheduling.governor = text(),
        "frequency boost" => scheduling.boost = Some(is_on(value)?),
        "SMT" => scheduling.smt_active = Some(is_on(value)?),
        "preemption" => scheduling.preempt = text(),
        "clock source" => scheduling.clocksource = text(),
        "tick rate" => os.hz = Some(value.strip_suffix(" Hz")?.parse().ok()?),
        "kernel image" => os.build_id = text(),
        "kernel command line" => os.cmdline = text(),
        "build options" => os.options = Some(words(value)),
        "security modules" => os.lsm = Some(words(value)),
        "seccomp filters of the worker" => {
            facts.security.seccomp_filters = Some(value.parse().ok()?);
        }
        "scheduling policy" => scheduling.policy = text(),
        "nice value" => scheduling.nice = Some(value.parse().ok()?),
        "idle driver" => scheduling.idle_driver = text(),
        "idle governor" => scheduling.idle_governor = text(),
        "NUMA nodes" => memory.numa_nodes = Some(value.parse().ok()?),
        "memory size" => {
            let gib: u64 = value.strip_suffix(" GiB")?.parse().ok()?;
            memory.total_kib = Some(gib << 20);
        }
        "distribution" => os.distribution = text(),
        _ => return None,
    }
    Some(())
}

/// Sets the parts of a class of machines; a text that is none is the name of the processor.
fn set_processor(facts: &mut Facts, value: &str) {
    for part in value.split(", ") {
        match part.split_once(' ') {
            Some(("arch", arch)) => facts.os.arch = Some(arch.to_owned()),
            Some(("cpu", name)) => facts.cpu.model_name = Some(name.to_owned()),
            Some(("cpus", count)) => facts.cpu.logical_online = count.parse().ok(),
            // It is simulated.
            Some(("hypervisor", _)) => {}
            _ => facts.cpu.model_name = Some(part.to_owned()),
        }
    }
}

fn is_on(value: &str) -> Option<bool> {
    match value {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    }
}

fn words(value: &str) -> Vec<String> {
    value.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::advice::machine_facts::machine_facts;
    use crate::fleet::FleetFact;

    #[test]
    fn a_record_says_each_fact_as_the_node_has_it() {
        let said = [
            ("kernel", "6.1.0-22-amd64"),
            ("microcode", "0x1"),
            ("mitigations", "mds: Not affected; meltdown: Mitigation: PTI"),
            ("transparent huge pages", "never"),
            ("defragmentation of huge pages", "madvise"),
            ("frequency governor", "powersave"),
            ("frequency boost", "off"),
            ("SMT", "on"),
            ("preemption", "full"),
            ("clock source", "hpet"),
            ("tick rate", "250 Hz"),
            ("kernel image", "0123abc"),
            ("kernel command line", "quiet ro"),
            ("build options", "A B"),
            ("security modules", "lockdown yama"),
            ("tracers", "perf; strace"),
            ("seccomp filters of the worker", "2"),
            ("scheduling policy", "batch"),
            ("nice value", "10"),
            ("idle driver", "haltpoll"),
            ("idle governor", "menu"),
            ("NUMA nodes", "2"),
            ("memory size", "64 GiB"),
            ("distribution", "Debian 12"),
        ];
        let facts =
            said.map(|(name, value)| FleetFact { name, value: Some(Arc::from(value)) }).into();
        let node = FleetNode { name: "n1".to_owned(), class: Arc::from("some CPU"), facts };
        let machine = machine(&node).unwrap();
        let conditions = conditions(&node, None);
        let read = machine_facts(&machine, Some(&conditions));
        for (name, value) in said {
            let fact = read.iter().find(|fact| fact.name == name).unwrap();
            assert_eq!(fact.value.as_deref(), Some(value), "{name}");
        }
        let processor = read[0].value.as_deref().unwrap();
        assert!(processor.contains("cpu some CPU") && processor.contains("simulated"));
    }

    #[test]
    fn a_fact_that_no_record_says_is_an_error() {
        let fact = FleetFact { name: "tick rate", value: Some(Arc::from("often")) };
        let node = FleetNode { name: "n1".to_owned(), class: Arc::from(""), facts: vec![fact] };
        let error = machine(&node).unwrap_err().to_string();
        assert!(error.starts_with("cannot simulate the tick rate `often`"), "{error}");
    }
}
