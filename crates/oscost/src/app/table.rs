//! `oscost table`: machines side by side, by their runs.

use std::collections::BTreeSet;
use std::path::Path;

use oscost_model::record::{Conditions, Machine, Record, TargetInfo};

pub use super::results::reference_records::ReferenceRecord;
pub use crate::advice::machine_facts::DescribedMachine;
pub use crate::estimate::machine_table::{MachineTable, TableUnit};

use super::error::UsageError;
use super::fleet::RejectedRecord;
use super::fleet::source::FleetSource;
use super::fleet::table_records::{FleetBounds, FleetRecords, table_records};
use super::results::records::{KeptRun, RecordReader};
use super::results::reference_records;
use crate::advice::classes::machine_class;
use crate::advice::machine_facts::{
    DescribedRun, MachineFact, class_text, differ, facts_text, joined_facts, machine_facts,
};
use crate::estimate::machine_table::{MachineRun, TableMachine, machine_table};

/// More machines are not read side by side, and each record may have tens of megabytes.
const MAX_RUNS: usize = 64;

/// Of a fleet less of each record is read. Each of its nodes is judged beside all others, so the time
/// grows by the square of their number.
const FLEET: FleetBounds = FleetBounds { visits: 1_024, rows: 150_000 };

/// Which runs stand side by side.
#[derive(Clone, Debug)]
pub struct Request {
    /// The runs by name, each as `RUN` or `MACHINE=RUN`.
    pub runs: Vec<String>,
    /// A fleet whose nodes are machines too: its name, or its folder.
    pub fleet: Option<String>,
    /// The machine that ratios are to, by name; `None` for that of the first run.
    pub base: Option<String>,
    /// The unit.
    pub unit: TableUnit,
}

/// Machines side by side.
pub struct Outcome {
    /// The machines, in the order in which they were named.
    pub machines: Vec<DescribedMachine>,
    /// Their table.
    pub table: MachineTable,
    /// The records of the fleet that are not in it.
    pub rejected: Vec<RejectedRecord>,
}

/// The records that come with oscost.
pub fn reference_records() -> Vec<ReferenceRecord> {
    reference_records::all()
}

/// Puts the machines of these runs side by side.
pub fn table(request: &Request) -> anyhow::Result<Outcome> {
    let Request { runs, fleet, base, unit } = request;
    let FleetRecords { records, rejected } = match fleet {
        Some(fleet) => table_records(&FleetSource::parse(fleet), FLEET, *unit)?,
        None => FleetRecords::default(),
    };
    check_count(runs.len(), records.len())?;
    let mut reader = RecordReader::new("tabulate");
    let mut named: Vec<NamedRun> =
        runs.iter().map(|text| NamedRun::read(&mut reader, text)).collect::<anyhow::Result<_>>()?;
    named.extend(records.into_iter().map(NamedRun::of_visit));
    check_distinct(&named)?;
    side_by_side(&named, *unit, base.as_deref(), rejected)
}

/// A run that was just measured, and the name of its machine.
pub(crate) struct MeasuredMachine {
    pub(crate) name: String,
    pub(crate) record: Record,
}

/// Puts machines that were just measured side by side; ratios are to the first.
pub(crate) fn table_of_measured(
    measured: Vec<MeasuredMachine>,
    unit: TableUnit,
) -> anyhow::Result<Outcome> {
    let named = |MeasuredMachine { name, record }| NamedRun {
        machine: Some(name.clone()),
        text: name,
        kept: KeptRun { record, pruned_at: None, is_own: true },
    };
    let named: Vec<NamedRun> = measured.into_iter().map(named).collect();
    side_by_side(&named, unit, None, Vec::new())
}

fn side_by_side(
    named: &[NamedRun],
    unit: TableUnit,
    base: Option<&str>,
    rejected: Vec<RejectedRecord>,
) -> anyhow::Result<Outcome> {
    let mut machines = machines(named);
    set_unique_names(&mut machines);
    let base = base_index(&machines, base)?;
    let described: Vec<DescribedMachine> =
        machines.iter().map(|it| it.described(&machines)).collect();
    let compared: Vec<TableMachine<'_>> = machines
        .iter()
        .zip(&described)
        .map(|(machine, DescribedMachine { facts, .. })| TableMachine {
            runs: machine.parts.iter().map(|it| it.run).collect(),
            class: class_text(facts),
            facts: (!facts.is_empty()).then(|| facts_text(facts)),
        })
        .collect();
    let table = machine_table(&compared, unit, base);
    Ok(Outcome { machines: described, table, rejected })
}

/// Refuses too few runs, and too many that were named. `of_fleet` are beside them.
fn check_count(named: usize, of_fleet: usize) -> Result<(), UsageError> {
    let count = named + of_fleet;
    if count < 2 {
        let what = format!("cannot put {count} run side by side");
        return Err(UsageError::with_hint(
            &what,
            "name two runs or more, for example `last~1 last`; `oscost report` shows one",
        ));
    }
    if named > MAX_RUNS {
        let what = format!("cannot put {named} runs side by side: the maximum is {MAX_RUNS}");
        return Err(UsageError::with_hint(&what, "name fewer"));
    }
    Ok(())
}

/// Refuses a run that is named twice: it would seem to confirm itself.
fn check_distinct(runs: &[NamedRun]) -> Result<(), UsageError> {
    let mut ids = BTreeSet::new();
    for NamedRun { kept, .. } in runs {
        let id = &kept.record.id;
        if !ids.insert(id) {
            let what = format!("cannot put run {id} beside itself: it is named twice");
            return Err(UsageError::with_hint(&what, "name each run once"));
        }
    }
    Ok(())
}

/// A run as it was named.
struct NamedRun {
    /// The name of its machine, if it was given one.
    machine: Option<String>,
    /// The name of the run.
    text: String,
    kept: KeptRun,
}

impl NamedRun {
    fn read(reader: &mut RecordReader, text: &str) -> anyhow::Result<Self> {
        let (machine, text) = machine_and_run(text);
        let reference = text.strip_prefix('@').and_then(reference_records::find);
        let kept = match reference {
            Some(record) => KeptRun::foreign(record),
            None => reader.read(text, false)?,
        };
        Ok(Self { machine: machine.map(str::to_owned), text: text.to_owned(), kept })
    }

    /// A visit of a node of a fleet: the machine has the name of the node.
    fn of_visit(record: Record) -> Self {
        let machine = record.fleet.as_ref().map(|visit| visit.node.clone());
        let text = machine.clone().unwrap_or_else(|| record.id.clone());
        Self { machine, text, kept: KeptRun::foreign(record) }
    }

    /// What its machine is called: as the user says, or as the run was named, a file without its
    /// folder and ending.
    fn machine_name(&self) -> &str {
        let of_file = || {
            let file = Path::new(&self.text).file_name()?.to_str()?;
            file.strip_suffix(".gz").unwrap_or(file).strip_suffix(".json")
        };
        let own = self.machine.as_deref();
        own.or_else(of_file).unwrap_or_else(|| self.text.trim_start_matches('@'))
    }
}

/// `MACHINE=RUN` in its parts. What stands before the sign is a name only if a file or a label
/// would not be written so.
fn machine_and_run(text: &str) -> (Option<&str>, &str) {
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters.next().is_some_and(char::is_alphanumeric)
            && letters.all(|it| it.is_alphanumeric() || "-_.:".contains(it))
    };
    match text.split_once('=') {
        Some((name, run)) if is_name(name) && !run.is_empty() => (Some(name), run),
        _ => (None, text),
    }
}

/// A machine of a run.
#[derive(Clone, Copy)]
struct MachinePart<'a> {
    named: &'a NamedRun,
    run: MachineRun<'a>,
    /// How the machine was reached.
    host: &'a str,
    /// Whether the run measured no other machine.
    is_alone: bool,
}

impl<'a> MachinePart<'a> {
    /// The machines that a run measured, in the order of its rows.
    fn all(named: &'a NamedRun) -> Vec<Self> {
        let record = &named.kept.record;
        let mut seen = BTreeSet::new();
        let targets = record.results.iter().map(|row| &row.target);
        let new: Vec<&TargetInfo> =
            targets.filter(|target| seen.insert(target.machine.as_str())).collect();
        let is_alone = new.len() == 1;
        new.into_iter()
            .map(|target| {
                let run = MachineRun { record, machine: &target.machine };
                Self { named, run, host: &target.host, is_alone }
            })
            .collect()
    }

    fn machine(&self) -> Option<&'a Machine> {
        let MachineRun { record, machine } = self.run;
        record.machines.iter().find(|it| it.id == *machine)
    }

    fn conditions(&self) -> Option<&'a Conditions> {
        let MachineRun { record, machine } = self.run;
        record.conditions.iter().find(|it| it.machine == *machine)
    }

    /// What is known of the machine during this run; empty if the record does not describe it.
    fn facts(&self) -> Vec<MachineFact> {
        self.machine().map_or_else(Vec::new, |it| machine_facts(it, self.conditions()))
    }

    fn boot(&self) -> Option<&'a str> {
        self.machine()?.counters.boot.as_deref()
    }

    /// Whether both are known to be of one machine. A record has no name of its machine: the user
    /// gives them one, both have the same boot, or this oscost reached both in the same way. What
    /// the user says holds however the machine was reached; of a run of several machines, it names
    /// them all, and how each was reached tells them apart.
    fn is_of_same_machine(&self, other: &Self) -> bool {
        let (own, others) = (&self.named.machine, &other.named.machine);
        if own.is_some() || others.is_some() {
            let are_alone = self.is_alone && other.is_alone;
            return own == others && (are_alone || self.host == other.host);
        }
        if let (Some(boot), Some(of_other)) = (self.boot(), other.boot())
            && boot == of_other
        {
            return true;
        }
        let class = |it: &Self| it.machine().map(machine_class);
        let are_own = self.named.kept.is_own && other.named.kept.is_own;
        are_own && self.host == other.host && class(self).is_some() && class(self) == class(other)
    }
}

/// A machine with all its runs that have the same settings.
struct KnownMachine<'a> {
    name: String,
    /// The index of the same machine with other settings, if it stands before.
    setting_of: Option<usize>,
    /// Its runs, at least one.
    parts: Vec<MachinePart<'a>>,
    /// The facts of each run.
    facts: Vec<Vec<MachineFact>>,
}

impl<'a> KnownMachine<'a> {
    fn is_machine_of(&self, part: &MachinePart<'a>) -> bool {
        self.parts.iter().any(|other| part.is_of_same_machine(other))
    }

    /// Whether the settings of a run of this machine are those of its others, or the user says that
    /// they belong together.
    fn has_settings_of(&self, part: &MachinePart<'a>, facts: &[MachineFact]) -> bool {
        part.named.machine.is_some() || !self.facts.iter().any(|other| differ(facts, other))
    }

    fn described(&self, all: &[KnownMachine<'_>]) -> DescribedMachine {
        let facts: Vec<&[MachineFact]> = self.facts.iter().map(Vec::as_slice).collect();
        let run = |it: &MachinePart<'_>| {
            let Record { id, started, .. } = it.run.record;
            let not_claimable = it.conditions().and_then(Conditions::not_claimable_reason);
            DescribedRun { id: id.clone(), started: started.clone(), not_claimable }
        };
        DescribedMachine {
            name: self.name.clone(),
            setting_of: self.setting_of.and_then(|at| Some(all.get(at)?.name.clone())),
            facts: joined_facts(&facts),
            runs: self.parts.iter().map(run).collect(),
        }
    }
}

/// The machines of these runs, each with all its runs; one whose settings changed between them is one
/// for each setting.
fn machines(named: &[NamedRun]) -> Vec<KnownMachine<'_>> {
    let mut found: Vec<KnownMachine<'_>> = Vec::new();
    for run in named {
        let parts = MachinePart::all(run);
        let has_several = parts.len() > 1;
        for part in parts {
            let facts = part.facts();
            let setting_of = found.iter().position(|it| it.is_machine_of(&part));
            let is_it = |it: &&mut KnownMachine<'_>| {
                it.is_machine_of(&part) && it.has_settings_of(&part, &facts)
            };
            match found.iter_mut().find(is_it) {
                Some(known) => {
                    known.parts.push(part);
                    known.facts.push(facts);
                }
                None => {
                    let name = run.machine_name();
                    let name = match has_several {
                        true => format!("{name} {}", part.host),
                        false => name.to_owned(),
                    };
                    let (parts, facts) = (vec![part], vec![facts]);
                    found.push(KnownMachine { name, setting_of, parts, facts });
                }
            }
        }
    }
    found
}

/// Numbers machines of one name, so that each can be named as the base.
fn set_unique_names(machines: &mut [KnownMachine<'_>]) {
    let mut seen: BTreeSet<String> = BTreeSet::new();
    for machine in machines {
        let first = machine.name.clone();
        let mut number = 1;
        while !seen.insert(machine.name.clone()) {
            number += 1;
            machine.name = format!("{first} ({number})");
        }
    }
}

/// The index of the machine that ratios are to.
fn base_index(machines: &[KnownMachine<'_>], base: Option<&str>) -> anyhow::Result<usize> {
    let Some(base) = base else {
        anyhow::ensure!(
            !machines.is_empty(),
            "cannot put runs without a row side by side\n  hint: `oscost runs list` shows how many \
             rows each has"
        );
        return Ok(0);
    };
    let is_it = |machine: &KnownMachine<'_>| {
        machine.name == base || machine.parts.iter().any(|it| it.named.text == base)
    };
    machines.iter().position(is_it).ok_or_else(|| {
        let names: Vec<String> = machines.iter().map(|it| format!("`{}`", it.name)).collect();
        let what = format!("no machine of this table is `{base}`");
        UsageError::with_hint(&what, &format!("`--base` may be {}", names.join(", "))).into()
    })
}

#[cfg(test)]
mod tests;
