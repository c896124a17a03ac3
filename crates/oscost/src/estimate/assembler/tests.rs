//! The conditions of a run that has a peer.

use oscost_model::facts::Facts;
use oscost_model::record::Settings;

use super::*;

#[test]
fn the_conditions_of_a_peers_machine_come_from_its_probe() {
    let described = |id: &str| Entry::MachineDescribed {
        machine: Box::new(Machine::new(id, Facts::default(), vec![])),
        tracers: vec![],
    };
    let surveyed = |machine: &str, lost_ns| Entry::CpuChosen {
        machine: machine.to_owned(),
        probe: vec![CpuProbe {
            cpu: 3,
            spin_ns: 1_000_000,
            gaps_over_1us: 1,
            gaps_over_5us: 0,
            lost_ns,
            max_gap_ns: lost_ns,
            run_delay_ns: None,
            core_cycles_per_ns: None,
        }],
        cpu: Some(3),
    };
    let mut assembler = Assembler { started: Some(started()), ..Assembler::default() };
    for entry in [described("m0"), described("m1"), surveyed("m0", 0), surveyed("m1", 500_000)] {
        assembler.apply(&entry);
    }
    let record = assembler.record(false).unwrap();
    let ids: Vec<&str> = record.machines.iter().map(|machine| &*machine.id).collect();
    assert_eq!(ids, ["m0", "m1"]);
    let classes: Vec<Option<&str>> =
        record.conditions.iter().map(|conditions| conditions.class.as_deref()).collect();
    assert_eq!(classes, [None, Some("very-noisy")], "nothing was measured on either");
    assert_eq!(record.conditions[1].machine, "m1");
    assert_eq!(record.conditions[1].probe[0].lost_ns, 500_000);
}

fn started() -> RunHeader {
    let worker = oscost_model::record::WorkerProgram {
        hash: String::new(),
        link: String::new(),
        libc: String::new(),
        catalog: String::new(),
    };
    RunHeader {
        id: String::new(),
        started_at: String::new(),
        label: None,
        command: vec![],
        tool: oscost_model::record::Tool {
            version: String::new(),
            commit: None,
            rustc: None,
            worker,
        },
        settings: Settings {
            seed: 1,
            profile: String::new(),
            precision_pct: None,
            nominal: 0.95,
            budget_s: None,
            study: None,
            predictions: Vec::new(),
        },
    }
}
