//! What the store keeps of a run beside its journal: the figures of its record, for histories.

use std::time::{Duration, Instant};

use oscost_model::record::{Machine, Record, Row, RowOutcome};

use super::super::output::remark;
use super::super::runs;
use crate::advice::alike::{kernel_class, machine_class};
use crate::report::history::LeftOut;
use crate::store::{Figure, Stand, Store, Summary};

/// Whoever waits longer is told what for, and how far it is.
const SILENT: Duration = Duration::from_secs(1);
/// How often.
const TOLD: Duration = Duration::from_secs(5);

/// What a history asks of a run, from its record: figures to their last bit.
pub(in crate::cli) fn summary(record: &Record) -> Summary {
    let cell = &record.tool.cell;
    Summary {
        tool: record.tool.version.clone(),
        cell: cell.hash.clone(),
        catalog: cell.catalog.clone(),
        link: cell.link.clone(),
        clock_drifted: record
            .conditions
            .first()
            .is_some_and(|it| it.flags.iter().any(|flag| flag == "CLOCK_DRIFTED")),
        stands: record.machines.iter().map(|machine| stand(record, machine)).collect(),
        figures: record.results.iter().filter_map(|row| figure(record, row)).collect(),
    }
}

fn stand(record: &Record, machine: &Machine) -> Stand {
    let conditions = record.conditions.iter().find(|it| it.machine == machine.id);
    Stand {
        machine: machine_class(machine),
        kernel: kernel_class(machine),
        release: machine.os.release.clone(),
        build_id: machine.os.build_id.clone(),
        microcode: machine.cpu.microcode.clone(),
        class: conditions.and_then(|it| it.class.clone()),
    }
}

fn figure(record: &Record, row: &Row) -> Option<Figure> {
    let measured = row.outcome == RowOutcome::Measured;
    let estimate = row.estimate.as_ref().filter(|_| measured)?;
    let machine = |id: &String| record.machines.iter().position(|machine| machine.id == *id);
    Some(Figure {
        case: row.case.clone(),
        place: row.place.text.clone(),
        machine: machine(&row.place.machine),
        peer: row.place.peer.as_ref().and_then(machine),
        rev: row.rev,
        unit: row.unit,
        mode: row.mode,
        flags: row.flags.clone(),
        median: estimate.median,
        interval: estimate.ci95,
    })
}

/// Keeps the figures of a run beside it. That they cannot be kept costs the run nothing: a history
/// reads its journal once more.
pub(in crate::cli) fn keep(store: &mut Store, id: &str, record: &Record) {
    if let Err(error) = store.summarise(id, &summary(record)) {
        remark(&format!("note: `oscost history` will read this run again: {error}"));
    }
}

/// Makes up for figures that are not kept yet, of runs of an older oscost or of a full disk, and
/// counts the runs that stay without.
pub(super) fn complete(store: &mut Store) -> anyhow::Result<Vec<LeftOut>> {
    let mut left: Vec<LeftOut> = Vec::new();
    let mut leave = |why: String, runs: usize| match left.iter_mut().find(|it| it.why == why) {
        Some(there) => there.runs += runs,
        None => left.push(LeftOut { why, runs }),
    };
    let missing = store.without_figures()?;
    let (begun, mut told) = (Instant::now(), SILENT);
    for (at, id) in missing.iter().enumerate() {
        if begun.elapsed() > told {
            remark(&format!(
                "reading runs whose figures are not kept yet, once: {at} of {}",
                missing.len()
            ));
            told = begun.elapsed() + TOLD;
        }
        let record = match runs::record(store, id, false) {
            Ok(record) => record,
            Err(error) => {
                remark(&format!("note: run {id} is left out: {error:#}"));
                leave("its journal cannot be read".to_owned(), 1);
                continue;
            }
        };
        if let Err(error) = store.summarise(id, &summary(&record)) {
            remark(&format!("note: run {id} is left out: {error}"));
            leave("its figures could not be kept".to_owned(), 1);
        }
    }
    let unended = store.unended()?;
    if unended > 0 {
        leave("it goes on, or was killed before its end".to_owned(), unended);
    }
    Ok(left)
}
