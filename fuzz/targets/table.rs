//! Two untrusted records side by side, in each unit: each line has a cell for each machine, and no text
//! controls a terminal.

#![no_main]

#[path = "../common/in_time.rs"]
mod in_time;

use in_time::in_time;
use libfuzzer_sys::fuzz_target;
use oscost::advice::machine_facts::{
    DescribedMachine, DescribedRun, class_text, facts_text, machine_facts,
};
use oscost::estimate::machine_table::{MachineRun, TableMachine, TableUnit, machine_table};
use oscost::report::machine_table::{TableContent, json, view};
use oscost::report::{markdown, terminal};
use oscost::store::validate;
use oscost_model::record::Record;

const UNITS: [TableUnit; 3] = [TableUnit::Own, TableUnit::Cycles, TableUnit::Calls];

fuzz_target!(|bytes: &[u8]| in_time(bytes.len(), || check(bytes)));

/// The first machine of a record, as it is described.
fn described(record: &Record) -> Option<DescribedMachine> {
    let machine = record.machines.first()?;
    let conditions = record.conditions.iter().find(|it| it.machine == machine.id);
    let run = DescribedRun {
        id: record.id.clone(),
        started: record.started.clone(),
        not_claimable: conditions.and_then(|it| it.not_claimable_reason()),
    };
    let facts = machine_facts(machine, conditions);
    let name = record.label.clone().unwrap_or_default();
    Some(DescribedMachine { name, setting_of: None, facts, runs: vec![run] })
}

fn check(bytes: &[u8]) {
    // A NUL byte, which no JSON text contains, separates the two.
    let mut parts = bytes.splitn(2, |byte| *byte == 0);
    let (Some(one), Some(other)) = (parts.next(), parts.next()) else { return };
    let (Ok(one), Ok(other)) = (validate(one), validate(other)) else { return };
    let records = [one, other];
    let machines: Option<Vec<DescribedMachine>> = records.iter().map(described).collect();
    let Some(machines) = machines else { return };
    let side_by_side: Vec<TableMachine<'_>> = records
        .iter()
        .zip(&machines)
        .map(|(record, it)| TableMachine {
            runs: vec![MachineRun { record, machine: &record.machines[0].id }],
            class: class_text(&it.facts),
            facts: Some(facts_text(&it.facts)),
        })
        .collect();
    for (unit, base) in UNITS.into_iter().zip([0, 1, 0]) {
        let table = machine_table(&side_by_side, unit, base);
        for line in &table.lines {
            assert_eq!(line.cells.len(), table.columns.len(), "{line:?}");
        }
        let content = TableContent { table: &table, machines: &machines };
        let shown = view(&content);
        for text in [terminal(&shown), markdown(&shown)] {
            assert!(!text.contains(|it: char| it.is_control() && it != '\n'), "{text:?}");
        }
        json(&content).expect("every table can be written");
    }
}
