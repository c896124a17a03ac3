//! Instructions that the processors counted.

use oscost_model::counters::INSN;
use oscost_model::facts::Facts;
use oscost_model::record::{Estimate, Machine, Metric, Record, Row};
use oscost_model::unit::{Better, Unit};

use super::super::*;
use super::{machines, record};
use crate::estimate::made_up_rows::row;

/// A row whose workers counted these instructions in user mode, and so many in the kernel's if they
/// could see it.
fn counted(case: &str, user: &[f64], kernel: Option<f64>) -> Row {
    let figures = |user: f64| match kernel {
        Some(kernel) => {
            serde_json::json!({"insn_user": user, "insn_kernel": kernel, "insn": user + kernel})
        }
        None => serde_json::json!({"insn_user": user}),
    };
    let repetitions: Vec<_> = user
        .iter()
        .map(|&user| {
            serde_json::json!({"round": 0, "at_s": 0.0, "figures": figures(user),
                "time_ns": null, "running_ns": null})
        })
        .collect();
    let mut row = serde_json::to_value(row(case, 100.0)).unwrap();
    row["counters"] = serde_json::json!({"workers": user.len(), "read_by": "read",
        "kernel": kernel.is_some(), "inherited": false, "insn_sd_pct": null, "repeats": true,
        "counted_time_ratio": null, "running_ns": null, "waiting_ns": null, "void": [],
        "repetitions": repetitions});
    let mut row: Row = serde_json::from_value(row).unwrap();
    let estimate = row.estimate.clone().unwrap();
    for (metric, value) in figures(user[0]).as_object().unwrap() {
        let estimate = Estimate { median: value.as_f64().unwrap(), ..estimate.clone() };
        let (unit, better) = (Unit::InstructionsPerOp, Better::Lower);
        row.metrics.insert(metric.clone(), Metric { unit, better, estimate });
    }
    row
}

fn in_instructions(rows: [Row; 2]) -> MachineTable {
    let [one, other] = rows;
    let records = [record("one", vec![one]), record("other", vec![other])];
    machine_table(&machines(&records, &[["c", "f"], ["d", "g"]]), TableUnit::Instructions, 0)
}

#[test]
fn instructions_have_the_interval_of_their_counts_and_two_boots_are_not_judged() {
    let base = counted("file/stat", &[12.0, 12.0, 12.0], Some(288.0));
    // Neither a bound on its time nor a noisy run says anything of its count.
    let flags = vec!["BELOW_DETECTION".to_owned()];
    let other = Row { flags, ..counted("file/stat", &[12.0, 12.3, 12.6], Some(347.7)) };
    let found = in_instructions([base, other]);
    let [line] = &found.lines[..] else { panic!("{:?}", found.lines) };
    assert_eq!(
        (line.unit, line.counted),
        (Some(Unit::InstructionsPerOp), Some(CountedModes::Both))
    );
    let [own, second] = [0, 1].map(|at| line.cells[at].figure().unwrap());
    assert!((own.value - 300.0).abs() < 1e-9 && (second.value - 360.0).abs() < 1e-9, "{line:?}");
    // Runs of one boot differ by 0.08 %, though the workers of this one agree.
    let [low, high] = own.interval.unwrap();
    assert!((low - 299.53).abs() < 0.01 && (high - 300.47).abs() < 0.01, "{own:?}");
    assert!(!own.is_between_runs && !own.is_exact, "{own:?}");
    let ratio = second.ratio.as_ref().unwrap();
    let [low, high] = ratio.ci95.unwrap();
    assert!((ratio.value - 1.2).abs() < 1e-9 && low < 1.199 && high > 1.201, "{ratio:?}");
    assert!(high - low < 0.006, "{ratio:?}");
    assert!(found.findings.is_empty() && found.judged == 0, "{:?}", found.findings);
    // Two workers have no interval.
    let two = || counted("file/stat", &[12.0, 12.0], Some(288.0));
    let found = in_instructions([two(), two()]);
    let second = found.lines[0].cells[1].figure().unwrap();
    assert!(second.interval.is_none() && second.ratio.as_ref().unwrap().ci95.is_none());
}

#[test]
fn counts_of_user_mode_alone_stand_beside_those_of_user_mode() {
    let both = || counted("file/stat", &[12.0; 3], Some(288.0));
    let user = || counted("file/stat", &[15.0; 3], None);
    assert!(!user().metrics.contains_key(INSN));
    let reason = |table: &MachineTable| match &table.lines[0].cells[1] {
        TableCell::Missing(why) => Some(why.clone()),
        TableCell::Figure(_) => None,
    };
    let found = in_instructions([both(), user()]);
    assert_eq!(found.lines[0].counted, Some(CountedModes::Both));
    let expected = "only its instructions in user mode were counted";
    assert_eq!(reason(&found).as_deref(), Some(expected));
    let found = in_instructions([user(), both()]);
    assert_eq!((found.lines[0].counted, reason(&found)), (Some(CountedModes::User), None));
    let ratio = found.lines[0].cells[1].figure().unwrap().ratio.clone().unwrap();
    assert!((ratio.value - 0.8).abs() < 1e-9, "{ratio:?}");
    let with_others = || {
        let mut row = both();
        row.counters.as_mut().unwrap().inherited = true;
        row
    };
    let found = in_instructions([both(), with_others()]);
    assert_eq!(reason(&found).as_deref(), Some("its counts include other tasks"));
    let found = in_instructions([with_others(), both()]);
    assert_eq!(reason(&found).as_deref(), Some("its counts are of one task alone"));
}

#[test]
fn a_machine_without_counts_has_the_reason_of_its_record() {
    let why = |change: &dyn Fn(&mut Record)| {
        let base = record("one", vec![counted("file/stat", &[12.0; 3], Some(288.0))]);
        let mut other = record("other", vec![row("file/stat", 100.0)]);
        change(&mut other);
        let records = [base, other];
        let all = machines(&records, &[["c", "f"], ["d", "g"]]);
        let found = machine_table(&all, TableUnit::Instructions, 0);
        match &found.lines[0].cells[1] {
            TableCell::Missing(why) => why.clone(),
            TableCell::Figure(figure) => panic!("{figure:?}"),
        }
    };
    assert_eq!(why(&|_| {}), "its instructions were not counted");
    let without = |record: &mut Record| {
        let mut facts = Facts::default();
        facts.counters.unavailable = Some("no processor counters".to_owned());
        record.machines = vec![Machine::new("m0", facts, Vec::new())];
    };
    assert_eq!(why(&without), "its instructions were not counted: no processor counters");
    let void = |record: &mut Record| {
        let mut row = counted("file/stat", &[12.0; 3], None);
        row.metrics.clear();
        row.counters.as_mut().unwrap().void = vec!["multiplexed".to_owned()];
        record.results = vec![row];
    };
    assert_eq!(why(&void), "its instructions were not counted: multiplexed");
    let emulated = |record: &mut Record| record.results[0].unit = Unit::InstructionsPerOp;
    assert_eq!(why(&emulated), "another unit: ns/op and insn/op");
}

#[test]
fn runs_of_one_boot_say_nothing_of_the_next_boot() {
    let is_between_runs = |boots: [&str; 3]| {
        let run = |boot: &&str| {
            let mut run = record(boot, vec![counted("file/stat", &[12.0; 3], Some(288.0))]);
            let mut facts = Facts::default();
            facts.counters.boot = Some((*boot).to_owned());
            run.machines = vec![Machine::new("m0", facts, Vec::new())];
            run
        };
        let records: Vec<Record> = boots.iter().map(run).collect();
        let runs = records.iter().map(|record| MachineRun { record, machine: "m0" }).collect();
        let one = TableMachine { runs, class: None, facts: None };
        let table = machine_table(&[one], TableUnit::Instructions, 0);
        let figure = table.lines[0].cells[0].figure().unwrap().clone();
        assert!(figure.interval.is_some() && figure.runs == 3, "{figure:?}");
        figure.is_between_runs
    };
    assert!(!is_between_runs(["a", "a", "b"]));
    assert!(is_between_runs(["a", "b", "c"]));
}
