//! The machine of a study, compared with this one.

use oscost_model::facts::Facts;
use oscost_model::record::{Machine, Record};

use crate::report::text::plain;
use crate::report::view::document::{Block, Cell, Column, Fact, Layout, Section, Table, TableRow};
use crate::report::view::machine::{Hardware, Rates, hardware_of};
use crate::studies::Study;
use crate::studies::machine::machine_fact::{Counterpart, FactKind};

/// The title of the facts.
pub(in crate::report::view) const MACHINES: &str = "The study's machine, and this one";

/// The facts of both machines; `None` if the study states none.
pub(super) fn section(study: &Study, record: &Record) -> Option<Section> {
    let blocks = vec![Block::Table(table(study, record)?)];
    Some(Section { title: MACHINES.to_owned(), blocks, ..Section::default() })
}

/// The facts of both machines, a row each.
pub(in crate::report::view) fn table(study: &Study, record: &Record) -> Option<Table> {
    let here = record.machines.first().map(|machine| MachineHere::of(machine, record));
    let row = |it: &crate::studies::machine::machine_fact::MachineFact| {
        let found = match &it.counterpart {
            Counterpart::Nothing(why) => format!("no counterpart: {why}"),
            Counterpart::Fact(kind) => {
                here.as_ref().map_or_else(unknown, |here| here.value(*kind).unwrap_or_else(unknown))
            }
        };
        let note = it.note.as_deref().unwrap_or_default();
        let cells = [it.name.as_str(), it.published.as_str(), &found, note];
        TableRow::of(cells.map(|text| Cell::text(plain(text))).into())
    };
    let rows: Vec<TableRow> = study.machine.iter().map(row).collect();
    let columns = ["fact", "then", "here", "note"].map(Column::text).into();
    let (id, layout) = ("study-machine".to_owned(), Layout::Records);
    let table = Table { id, columns, rows, layout, ..Table::default() };
    (!table.rows.is_empty()).then(|| table.without_empty_columns())
}

fn unknown() -> String {
    "not known".to_owned()
}

/// The facts of the machine of a run.
struct MachineHere {
    hardware: Hardware,
    distribution: Option<String>,
    kernel: Option<String>,
}

impl MachineHere {
    fn of(machine: &Machine, record: &Record) -> Self {
        let facts = Facts {
            cpu: machine.cpu.clone(),
            caches: machine.caches.clone(),
            memory: machine.memory.clone(),
            disks: machine.disks.clone(),
            network: machine.network.clone(),
            virtualization: machine.virtualization.clone(),
            os: machine.os.clone(),
            ..Facts::default()
        };
        // The core on which the workers ran, as the study's cycles are those of one core.
        let cpu = record.results.iter().find_map(|row| row.target.cpu);
        let probes = record.conditions.first().map(|it| &it.probe[..]).unwrap_or_default();
        let probe = probes.iter().find(|probe| cpu.is_none_or(|cpu| probe.cpu == cpu)).cloned();
        let rates = Rates { probe, ..Rates::default() };
        Self {
            hardware: hardware_of(&facts, &rates),
            distribution: machine.os.distribution.clone(),
            kernel: machine.os.release.as_ref().map(|release| format!("Linux {release}")),
        }
    }

    /// The value of a fact, or why it has none.
    fn value(&self, kind: FactKind) -> Option<String> {
        let Hardware { processor, caches, memory, disk, network_card } = &self.hardware;
        let of = |facts: &[Fact], name: &str| {
            facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.clone())
        };
        match kind {
            FactKind::CpuModel => of(processor, "model"),
            FactKind::InstructionSet => of(processor, "instruction set"),
            FactKind::CycleTime => of(processor, "cycle time"),
            FactKind::BusClock => of(processor, "bus clock (FSB)"),
            FactKind::L1Data => of(caches, "L1 data"),
            FactKind::L1Instruction => of(caches, "L1 instruction"),
            FactKind::L2 => of(caches, "L2"),
            FactKind::L3 => of(caches, "L3"),
            FactKind::DiskModel => of(disk, "model"),
            FactKind::DiskCapacity => of(disk, "capacity"),
            FactKind::DiskCache => of(disk, "cache"),
            FactKind::DiskRotation => of(disk, "rotation"),
            FactKind::DiskHeads => of(disk, "heads and discs"),
            FactKind::DiskSeek => of(disk, "seek times"),
            FactKind::DiskLatency => of(disk, "rotational latency"),
            FactKind::DiskRate => of(disk, "transfer rate"),
            FactKind::MemoryCapacity => of(memory, "capacity"),
            FactKind::MemoryChannels => of(memory, "channels"),
            FactKind::MemoryFrequency => of(memory, "frequency"),
            FactKind::MemoryWidth => of(memory, "width"),
            FactKind::Swap => of(memory, "swap"),
            FactKind::NetworkModel => of(network_card, "model"),
            FactKind::NetworkRate => of(network_card, "link speed"),
            FactKind::Distribution => self.distribution.clone(),
            FactKind::Kernel => self.kernel.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::facts::{Cache, Disk, NetworkCard};

    use super::*;
    use crate::report::render::terminal;
    use crate::report::view::document::View;
    use crate::studies::{built_in_names, find_built_in};

    fn record() -> Record {
        let text = include_str!("../../../../tests/store/run-1.json");
        let mut record: Record = serde_json::from_str(text).unwrap();
        let machine = &mut record.machines[0];
        machine.caches = vec![Cache {
            level: Some(2),
            kind: Some("Unified".to_owned()),
            size_kib: Some(1_024),
            ways: Some(8),
            line_bytes: Some(64),
            shared_cpus: None,
        }];
        machine.disks = vec![Disk { model: Some("Disk 1".to_owned()), ..Disk::default() }];
        let card = |kind: &str, speed| NetworkCard {
            kind: kind.to_owned(),
            speed_mbps: speed,
            count: 1,
            ..NetworkCard::default()
        };
        machine.network = vec![card("loopback", None), card("physical", Some(1_000))];
        record
    }

    #[test]
    fn the_machine_of_a_study_stands_beside_this_one() {
        let study = find_built_in("cse221-2014").unwrap();
        let section = section(&study, &record()).unwrap();
        let view = View { sections: vec![section], ..View::default() };
        let shown = terminal::report(&view);
        let text = shown.split_whitespace().collect::<Vec<_>>().join(" ");
        for words in [
            "L2 data cache then: 3072KB, 12-way set associative, 64-byte line size here: 1 MiB, 8 \
             ways, 64 byte lines",
            "then: Seagate Momentus 5400.6 SATA model ST9500325AS here: Disk 1",
            "then: 300Mbps here: 1000 Mbit/s",
            "FSB then: 1066 MHz here: not visible",
        ] {
            assert!(text.contains(words), "{words}: {shown}");
        }
        assert!(shown.lines().all(|line| line.chars().count() <= 80), "{shown}");
    }

    #[test]
    fn every_fact_of_the_built_in_studies_is_one_of_this_machine() {
        let record = record();
        let here = MachineHere::of(&record.machines[0], &record);
        for name in built_in_names() {
            for fact in find_built_in(name).unwrap().machine {
                let Counterpart::Fact(kind) = fact.counterpart else { continue };
                let is_text = matches!(kind, FactKind::Distribution | FactKind::Kernel);
                assert!(is_text || here.value(kind).is_some(), "{name}: {}", fact.name);
            }
        }
    }

    #[test]
    fn a_study_without_facts_of_its_machine_has_no_table() {
        let study = Study { machine: vec![], ..find_built_in("cse221-2014").unwrap() };
        assert!(table(&study, &record()).is_none());
    }
}
