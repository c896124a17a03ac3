//! Instructions per op on each machine, by the counters of its processor (docs/explanation/METHOD.md,
//! section 17).
//!
//! The machines of a table are of several boots, and how far instructions differ between boots is not
//! known: an interval is that of the counts of a run.

use oscost_model::counters::{CounterEvent, INSN};
use oscost_model::record::{CountedRepetition, Record, Row};

use super::content::CountedModes;
use super::join::JoinedRow;
use crate::estimate::counters::term::Term;

/// What the counts of a line are of: those of other modes, or with other tasks, are no part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineCounts {
    pub(super) modes: CountedModes,
    /// Whether those of tasks that the op creates or wakes are included.
    inherited: bool,
}

impl LineCounts {
    /// Those of the first of these rows that has counts of both modes; of the first with counts of
    /// user mode if there is none.
    pub(super) fn of<'a>(rows: impl Iterator<Item = JoinedRow<'a>> + Clone) -> Option<Self> {
        let find = |modes: CountedModes| {
            let row = rows.clone().map(|it| it.row).find(|row| has_counts(row, modes))?;
            Some(Self { modes, inherited: includes_others(row) })
        };
        find(CountedModes::Both).or_else(|| find(CountedModes::User))
    }

    /// The instructions of a row, as a logarithm; the error says why it has none of this kind.
    pub(super) fn work(self, of: JoinedRow<'_>) -> Result<Term, String> {
        let row = of.row;
        if !has_counts(row, self.modes) {
            return Err(match self.modes {
                CountedModes::Both if has_counts(row, CountedModes::User) => {
                    "only its instructions in user mode were counted".to_owned()
                }
                CountedModes::User if has_counts(row, CountedModes::Both) => {
                    "its instructions in user mode were not counted by themselves".to_owned()
                }
                CountedModes::Both | CountedModes::User => uncounted(of),
            });
        }
        match (includes_others(row), self.inherited) {
            (true, false) => return Err("its counts include other tasks".to_owned()),
            (false, true) => return Err("its counts are of one task alone".to_owned()),
            _ => {}
        }
        let metric = self.modes.metric();
        let value = |it: &CountedRepetition| it.figures.get(metric).copied();
        let repetitions = row.counters.iter().flat_map(|it| &it.repetitions);
        let work: Vec<f64> = repetitions.filter_map(value).collect();
        Term::of_run(&work).ok_or_else(|| "its counts are not above 0".to_owned())
    }
}

impl CountedModes {
    /// The metric of its counts.
    pub fn metric(self) -> &'static str {
        match self {
            CountedModes::Both => INSN,
            CountedModes::User => CounterEvent::InstructionsUser.metric(),
        }
    }
}

fn has_counts(row: &Row, modes: CountedModes) -> bool {
    row.metrics.contains_key(modes.metric())
}

fn includes_others(row: &Row) -> bool {
    row.counters.as_ref().is_some_and(|it| it.inherited)
}

/// Why a row has no counts, as far as its record says.
pub(super) fn uncounted(JoinedRow { run, row }: JoinedRow<'_>) -> String {
    let void = row.counters.as_ref().and_then(|it| it.void.first());
    match void.or_else(|| no_counters(run, row)) {
        Some(why) => format!("its instructions were not counted: {why}"),
        None => "its instructions were not counted".to_owned(),
    }
}

/// Why the machine of a row has no counters; `None` if it has, and where that is not known.
fn no_counters<'a>(run: &'a Record, row: &Row) -> Option<&'a String> {
    let machine = run.machines.iter().find(|it| it.id == row.target.machine)?;
    let facts = &machine.counters;
    facts.distrusted.as_ref().or(facts.unavailable.as_ref())
}
