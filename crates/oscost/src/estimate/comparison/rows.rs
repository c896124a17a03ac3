//! The rows of the compared runs: which of them belong together, and what is read from them.

use std::collections::{BTreeMap, BTreeSet};

use oscost_model::clock::ClockKind;
use oscost_model::record::{Machine, Record, Row, TargetInfo};
use oscost_model::unit::Unit;

pub(super) use oscost_model::record::PRIMARY;

/// A row and its index in the list of all rows.
#[derive(Clone, Copy)]
pub(super) struct IndexedRow<'a> {
    pub(super) index: u32,
    pub(super) row: &'a Row,
}

/// A row and the run that it belongs to.
#[derive(Clone, Copy)]
pub(super) struct RunRow<'a> {
    pub(super) run: &'a Record,
    pub(super) row: &'a Row,
    /// Its index in the list of the rows of all runs.
    pub(super) index: u32,
}

impl<'a> RunRow<'a> {
    pub(super) fn into_indexed(self) -> IndexedRow<'a> {
        IndexedRow { index: self.index, row: self.row }
    }

    /// The machine of the row.
    pub(super) fn machine(self) -> Option<&'a Machine> {
        machine(self.run, &self.row.target.machine)
    }

    /// The boot of that machine, if it is known.
    pub(super) fn boot(self) -> Option<&'a str> {
        self.machine()?.counters.boot.as_deref()
    }
}

/// What rows of several runs share if they are compared. The peer's machine is part of it: a run
/// may contain a case with a local peer and with a remote one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RowKey<'a> {
    pub(super) target: &'a str,
    pub(super) case: &'a str,
    pub(super) peer: Option<&'a str>,
}

/// The rows of several runs by their keys.
pub(super) type RowsByKey<'a> = BTreeMap<RowKey<'a>, Vec<RunRow<'a>>>;

/// The rows of several runs, without those that were requested in none of them: reference cases
/// and the parts of floors are measured in any case.
///
/// The kernel of a machine that counts instructions is part of the target's name, and is what is
/// compared: it is left out of the key, unless a run has several. So is the host of runs of several
/// machines, unless a run has several.
pub(super) fn rows_by_key<'a>(runs: &[&'a Record]) -> RowsByKey<'a> {
    let has_several = |run: &&Record| run.machines.iter().filter(|it| it.vm.is_some()).count() > 1;
    let has_several = runs.iter().any(has_several);
    let are_of_several_hosts = are_of_several_hosts(runs);
    let target = |row: &'a Row| {
        let TargetInfo { text, host, .. } = &row.target;
        let is_without_host = are_of_several_hosts || (is_count(row) && !has_several);
        let bare = text.strip_suffix(host.as_str()).filter(|_| is_without_host);
        match bare {
            Some("") => "",
            // The value of a treatment may end as the name of its host does.
            Some(bare) => bare.strip_suffix('@').unwrap_or(text.as_str()),
            None => text.as_str(),
        }
    };
    let mut found = RowsByKey::new();
    let all = runs.iter().flat_map(|run| run.results.iter().map(move |row| (*run, row)));
    for (index, (run, row)) in all.enumerate() {
        let peer = row.target.peer.as_deref();
        let key = RowKey { target: target(row), case: row.case.as_str(), peer };
        found.entry(key).or_default().push(RunRow { run, row, index: index as u32 });
    }
    let is_requested =
        |it: &RunRow<'_>| !has_flag(it.row, "REFERENCE") && !has_flag(it.row, "PRIMITIVE");
    found.retain(|_, rows| rows.iter().any(is_requested));
    found
}

/// Whether each of these runs measured one machine, by the name that reaches it, and not all the same.
fn are_of_several_hosts(runs: &[&Record]) -> bool {
    let hosts: Option<BTreeSet<&str>> = runs.iter().copied().map(only_host).collect();
    hosts.is_some_and(|hosts| hosts.len() > 1)
}

/// The host of all rows of a run; `None` of several hosts, and of one that is no machine of its own,
/// as a kernel that was booted for the run.
pub(super) fn only_host(run: &Record) -> Option<&str> {
    let mut hosts = run.results.iter().map(|row| row.target.host.as_str());
    let first = hosts.next().filter(|host| is_machine(host))?;
    hosts.all(|host| host == first).then_some(first)
}

/// Whether a host is a machine.
pub(super) fn is_machine(host: &str) -> bool {
    host == "local" || ["ssh:", "slurm:"].iter().any(|kind| host.starts_with(kind))
}

/// Whether a row's figure is a count, whose repetitions are compared and not estimated from.
pub fn is_count(row: &Row) -> bool {
    row.unit == Unit::InstructionsPerOp || row.estimate.as_ref().is_some_and(|it| it.exact)
}

/// Whether a value has a usable logarithm: in a foreign record, a value beyond these bounds is not
/// the cost of anything.
pub(super) fn is_cost(value: f64) -> bool {
    (1e-20..=1e20).contains(&value)
}

pub(super) fn has_flag(row: &Row, flag: &str) -> bool {
    row.flags.iter().any(|it| it == flag)
}

/// Whether an op of one row makes other calls than one of the other row. A call that some ops make and
/// some do not (a wait that is over before it begins) differs by chance.
pub(super) fn calls_differ(base: &Row, new: &Row) -> bool {
    let (Some(base), Some(new)) = (&base.calls, &new.calls) else { return false };
    let differs = |call: &String| {
        let times = [base, new].map(|calls| calls.per_op.get(call).copied().unwrap_or(0.0));
        times[0] != times[1] && times.iter().all(|times| times.fract() == 0.0)
    };
    base.per_op.keys().chain(new.per_op.keys()).any(differs)
}

/// The median of a row; 0 if it has none.
pub(super) fn median(row: &Row) -> f64 {
    row.estimate.as_ref().map_or(0.0, |estimate| estimate.median)
}

/// The machine with this id.
pub(super) fn machine<'a>(run: &'a Record, id: &str) -> Option<&'a Machine> {
    run.machines.iter().find(|machine| machine.id == id)
}

/// The boot of the machine that a run was started on, if it is known.
pub(super) fn boot(run: &Record) -> Option<&str> {
    run.machines.first()?.counters.boot.as_deref()
}

/// Whether a run counts instructions instead of measuring time.
pub(super) fn counts_instructions(run: &Record) -> bool {
    clock_source(run) == Some(ClockKind::Instructions.text())
}

/// The clock of a run.
pub(super) fn clock_source(run: &Record) -> Option<&str> {
    Some(run.machines.first()?.clock.as_ref()?.source.as_str())
}
