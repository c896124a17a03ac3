//! Runs of two machines: what tells them apart, and what is said of them.

use oscost_model::facts::Facts;
use oscost_model::fleet::FleetVisit;
use oscost_model::record::Machine;

use super::*;

/// The run on a machine with this processor.
fn on_processor(run: Record, name: &str) -> Record {
    let mut facts = Facts::default();
    facts.cpu.model_name = Some(name.to_owned());
    Record { machines: vec![Machine::new("m0", facts, Vec::new())], ..run }
}

#[test]
fn two_machines_have_a_ratio_and_are_never_equivalent() {
    // Equal costs in turns: on one machine they are equivalent.
    let equal = |order: &str, names: [&str; 2]| {
        let [base, new] = runs(order);
        let cost = |run: &Record| run.results[0].estimate.as_ref().unwrap().median;
        let of = |side: usize, run: Record| {
            let scale = if side == 1 { cost(&base[0]) / cost(&new[0]) } else { 1.0 };
            let row = row("syscall/read", scale * cost(&run));
            Record { results: vec![row], ..on_processor(run, names[side]) }
        };
        let base: Vec<Record> = base.iter().map(|run| of(0, run.clone())).collect();
        let new: Vec<Record> = new.iter().map(|run| of(1, run.clone())).collect();
        compare(&base, &new)
    };
    let order = "abbaabbaabba".repeat(2);
    assert_eq!(verdict(&equal(&order, ["one", "one"])), "equivalent");
    for order in [&order[..], "ab"] {
        let compared = equal(order, ["one", "other"]);
        let found = &compared.comparisons[0];
        assert_eq!(found.verdict, "inconclusive");
        assert!(found.flags.iter().any(|flag| flag == MACHINES_DIFFER), "{found:?}");
        assert!(found.ratio.ci95.is_some() && (found.ratio.value - 1.0).abs() < 0.01);
        assert!(compared.differences[0].starts_with("another CPU: one"), "{compared:?}");
    }
}

#[test]
fn two_nodes_of_equal_hardware_are_two_machines_unless_they_share_a_boot() {
    let visit = |cost: f64, node: &str, boot: Option<&str>| {
        let mut run = on_processor(one(cost, NO_DRIFT), "one");
        run.machines[0].counters.boot = boot.map(str::to_owned);
        run.fleet = Some(FleetVisit {
            fleet: "night".to_owned(),
            plan: String::new(),
            node: node.to_owned(),
            visit: 0,
            task: 0,
            exclusive: None,
        });
        run
    };
    let compared = |node: &str, boot: Option<&str>| {
        compare(&[visit(100.0, "n1", Some("b1"))], &[visit(100.5, node, boot)])
    };
    let is_of_two =
        |it: &RunComparison| it.comparisons[0].flags.iter().any(|flag| flag == MACHINES_DIFFER);
    for boot in [None, Some("b2")] {
        let found = compared("n2", boot);
        assert!(is_of_two(&found) && verdict(&found) != "equivalent", "{found:?}");
        let told = "another machine: n1 and n2 are two nodes of a fleet";
        assert_eq!(found.differences.first().map(String::as_str), Some(told));
    }
    assert!(!is_of_two(&compared("n1", Some("b2"))), "another boot of one node");
    assert!(!is_of_two(&compared("n2", Some("b1"))), "two names of one machine");
}

#[test]
fn the_reference_cases_of_two_machines_do_not_drift() {
    let base = on_processor(one(100.0, NO_DRIFT), "one");
    let new = on_processor(one(300.0, [300.0, 300.0]), "other");
    let compared = compare(&[base], &[new]);
    assert_eq!(verdict(&compared), "slower");
    assert!(!compared.notes.iter().any(|it| it.contains("reference cases")), "{compared:?}");
}

#[test]
fn a_run_of_another_machine_on_one_side_is_left_out() {
    let [mut base, new] = runs("aaabbb");
    let on = |runs: Vec<Record>| runs.into_iter().map(|run| on_processor(run, "one")).collect();
    base = on(base);
    let new: Vec<Record> = on(new);
    base[2] = on_processor(base[2].clone(), "other");
    let compared = compare(&base, &new);
    assert!(compared.comparisons[0].flags.is_empty(), "{compared:?}");
    let told = "the base runs differ among themselves: another CPU";
    assert!(compared.notes.iter().any(|it| it.starts_with(told)), "{compared:?}");
}

#[test]
fn runs_at_two_hosts_are_compared_as_two_machines_unless_they_share_a_boot() {
    let at = |cost: f64, text: &str, host: &str, boot: &str| {
        let mut run = on_processor(one(cost, NO_DRIFT), "one");
        run.machines[0].counters.boot = Some(boot.to_owned());
        let target = &mut run.results[0].target;
        (target.text, target.host) = (text.to_owned(), host.to_owned());
        run
    };
    let compared = |base: Record, new: Record| compare(&[base], &[new]);
    let is_of_two =
        |it: &RunComparison| it.comparisons[0].flags.iter().any(|flag| flag == MACHINES_DIFFER);
    let local = || at(100.0, "local", "local", "b1");
    let found = compared(local(), at(100.5, "ssh:db1", "ssh:db1", "b2"));
    assert!(is_of_two(&found) && verdict(&found) != "equivalent", "{found:?}");
    assert_eq!(found.differences[0], "another machine: local and ssh:db1");
    let of_one = compared(local(), at(100.5, "ssh:localhost", "ssh:localhost", "b1"));
    assert!(!is_of_two(&of_one), "{of_one:?}");
    // Treatments stay what rows share.
    let treated = at(100.0, "nice=5", "local", "b1");
    let found = compared(treated, at(100.5, "nice=5@slurm:nodes=n1", "slurm:nodes=n1", "b2"));
    assert!(is_of_two(&found), "{found:?}");
    let treated = at(100.0, "env=AT=local", "local", "b1");
    let found = compared(treated, at(100.5, "env=AT=local@ssh:db1", "ssh:db1", "b2"));
    assert!(is_of_two(&found), "the value of a treatment is no host: {found:?}");
    let other = compared(local(), at(100.5, "nice=5@ssh:db1", "ssh:db1", "b2"));
    assert!(other.comparisons.is_empty(), "{other:?}");
    // Slurm chooses a node for each run.
    let of_any_node = |boot: &str| {
        let host = "slurm:partition=debug";
        is_of_two(&compared(at(100.0, host, host, "b1"), at(100.5, host, host, boot)))
    };
    assert!(of_any_node("b2") && !of_any_node("b1"));
    let host = "slurm:nodes=n1";
    assert!(!is_of_two(&compared(at(100.0, host, host, "b1"), at(100.5, host, host, "b2"))));
    // A kernel that was booted for its run is no machine of its own.
    let booted = compared(local(), at(100.5, "vm:6.1", "vm:6.1", "b2"));
    assert!(booted.comparisons.is_empty(), "{booted:?}");
}
