//! What the store keeps of a run beside its journal: the figures of its record, for histories.

use std::time::{Duration, Instant};

use oscost_model::hash;
use oscost_model::program::FAMILY;
use oscost_model::record::{FileSummary, Machine, Record, Row, RowOutcome};

use super::super::output::remark;
use super::super::runs;
use crate::advice::classes::{kernel_class, machine_class};
use crate::report::history::LeftOut;
use crate::store::{Cause, Figure, Kept, Lacking, Stand, Store, StoreError, Summary};
use crate::workloads;

/// The number of the rules by which a record becomes a summary, the words of classes among them.
/// Whoever changes one of them raises it: all runs are then read once more.
pub(super) const RULES: u32 = 1;

/// Whoever waits longer is told what for, and how far it is.
const SILENT: Duration = Duration::from_secs(1);
/// How often.
const TOLD: Duration = Duration::from_secs(5);

/// What a history asks of a run, from its record: figures to their last bit.
pub(in crate::cli) fn summary(record: &Record) -> Summary {
    let worker = &record.tool.worker;
    Summary {
        rules: RULES,
        tool: record.tool.version.clone(),
        worker: worker.hash.clone(),
        catalog: worker.catalog.clone(),
        link: worker.link.clone(),
        peer: options(&record.command, "--peer").pop().map(str::to_owned),
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
    let mitigations = machine.mitigations.iter().map(|(flaw, what)| format!("{flaw}: {what}"));
    let mitigations: Vec<String> = mitigations.collect();
    Stand {
        machine: machine_class(machine),
        kernel: kernel_class(machine),
        release: machine.os.release.clone(),
        build_id: machine.os.build_id.clone(),
        microcode: machine.cpu.microcode.clone(),
        command_line: machine.os.cmdline.as_deref().map(command_line),
        mitigations: (!mitigations.is_empty()).then(|| mitigations.join("; ")),
        modules: machine.os.lsm.as_ref().map(|them| them.join(" ")),
        tracers: conditions.map(|it| it.tracers.join("; ")),
        clock: machine.clock.as_ref().map(|clock| clock.source.clone()),
        class: conditions.and_then(|it| it.class.clone()),
    }
}

/// What the kernel was told, without the names of the files that it was read from: they have its
/// release in them, which is watched by itself.
fn command_line(text: &str) -> String {
    let words = text.split_whitespace();
    let words = words.filter(|it| !it.starts_with("BOOT_IMAGE=") && !it.starts_with("initrd="));
    words.collect::<Vec<_>>().join(" ")
}

fn figure(record: &Record, row: &Row) -> Option<Figure> {
    let measured = row.outcome == RowOutcome::Measured;
    let estimate = row.estimate.as_ref().filter(|_| measured)?;
    let machine = |id: &String| record.machines.iter().position(|machine| machine.id == *id);
    let file = |it: &FileSummary| format!("{} ({})", it.filesystem, it.backing);
    Some(Figure {
        case: row.case.clone(),
        target: row.target.text.clone(),
        machine: machine(&row.target.machine),
        peer: row.target.peer.as_ref().and_then(machine),
        cpu: row.target.cpu,
        rev: row.rev,
        unit: row.unit,
        mode: row.mode,
        subject: subject(record, row),
        file: row.file.as_ref().map(file),
        monitor: row.monitor.as_ref().map(|it| it.profile_states.join(" ")),
        flags: row.flags.clone(),
        median: estimate.median,
        // One that ends before it begins was taken in before that was refused.
        interval: estimate.ci95.filter(|[low, high]| low <= high),
    })
}

/// What tells a program from others of its name: the words of the command, or the file that
/// describes it, what is done before it, and which of its metrics is the figure. What comes with
/// oscost is told by its revision.
fn subject(record: &Record, row: &Row) -> Option<String> {
    let (family, _) = row.benchmark.split_once('/')?;
    if family != FAMILY {
        return None;
    }
    let behind = record.command.iter().position(|it| it == "--").map(|at| at + 1);
    let command = behind.map_or(&[][..], |at| &record.command[at..]);
    let is_it = workloads::of_command(command).is_ok_and(|it| it.definition().id == row.benchmark);
    let mut parts: Vec<&str> = vec![row.primary_metric.as_deref().unwrap_or_default()];
    if is_it {
        parts.extend(command.iter().map(String::as_str));
        parts.push("--prepare");
        parts.extend(options(&record.command, "--prepare"));
    } else if workloads::named(&row.benchmark).is_none() {
        parts.extend(options(&record.command, "--workload"));
    }
    // No word has a zero byte within.
    Some(hash::content(parts.join("\0").as_bytes()))
}

/// The values of an option on a command line, in order: those of `--` and behind are a program's.
fn options<'a>(command: &'a [String], name: &str) -> Vec<&'a str> {
    let mut words = command.iter().take_while(|it| *it != "--");
    let mut values = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix(name) {
            Some("") => values.extend(words.next().map(String::as_str)),
            Some(rest) => values.extend(rest.strip_prefix('=')),
            None => {}
        }
    }
    values
}

/// Keeps the figures of a run beside it, if it has ended. That they cannot be kept costs the run
/// nothing: a history reads its journal once more.
pub(in crate::cli) fn keep(store: &mut Store, id: &str, record: &Record) {
    if record.ended.is_none() {
        return;
    }
    if let Err(error) = store.summarise(id, &summary(record)) {
        remark(&format!("note: `oscost history` will read this run again: {error}"));
    }
}

/// What was made up for.
pub(super) struct Made {
    /// Runs whose figures could not be kept: they are in this history all the same.
    pub(super) unkept: Vec<Kept>,
    /// Runs that stay without figures, by the reason why.
    pub(super) without: Vec<LeftOut>,
}

/// Makes up for figures that are not kept yet, of runs of an older oscost or of a full disk.
pub(super) fn complete(store: &mut Store) -> anyhow::Result<Made> {
    let mut made = Made { unkept: Vec::new(), without: Vec::new() };
    let missing = store.without_figures(RULES)?;
    // A store that cannot be written now cannot be in a moment: that is found out and said once.
    let mut writable = match missing.is_empty() {
        true => true,
        false => is_done(store.forget_others(RULES)),
    };
    let (begun, mut told) = (Instant::now(), SILENT);
    let mut unreadable = 0;
    for (at, Lacking { id, started, imported }) in missing.iter().enumerate() {
        if begun.elapsed() > told {
            remark(&format!(
                "reading runs whose figures are not kept yet, once: {at} of {}",
                missing.len()
            ));
            told = begun.elapsed() + TOLD;
        }
        let record = match runs::load(store, id, false) {
            Ok(record) => record,
            Err(error) if is_gone(&error) => continue,
            Err(error) => {
                remark(&format!("note: run {id} is left out: {error:#}"));
                unreadable += 1;
                continue;
            }
        };
        let summary = summary(&record);
        writable = writable && is_done(store.summarise(id, &summary));
        if !writable {
            let (id, started) = (id.clone(), started.clone());
            made.unkept.push(Kept { id, started, imported: *imported, summary });
        }
    }
    let unended = store.unended()?;
    for (why, runs) in [
        ("its journal cannot be read", unreadable),
        ("it goes on, or was killed before its end", unended),
    ] {
        if runs > 0 {
            made.without.push(LeftOut { why: why.to_owned(), runs });
        }
    }
    Ok(made)
}

/// Whether another process has deleted the run meanwhile.
fn is_gone(error: &anyhow::Error) -> bool {
    let error = error.downcast_ref::<StoreError>();
    error.is_some_and(|it| matches!(it.cause, Cause::NoRun))
}

/// Whether figures were kept; if not, that it is so is said.
fn is_done(kept: Result<(), StoreError>) -> bool {
    match kept {
        Ok(()) => true,
        Err(error) if matches!(error.cause, Cause::NoRun) => true,
        Err(error) => {
            remark(&format!("note: figures of runs are read again each time: {error}"));
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_before_the_program_in_either_spelling() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = words("oscost run --peer ssh:a --peer=ssh:b --peer-cpu 3 -- x --peer ssh:c");
        assert_eq!(options(&command, "--peer"), ["ssh:a", "ssh:b"]);
        assert_eq!(options(&words("oscost run --peer"), "--peer"), [""; 0]);
    }

    #[test]
    fn a_command_line_is_told_without_the_files_that_a_kernel_was_read_from() {
        let text = "BOOT_IMAGE=/boot/vmlinuz-6.1.0-22 root=*** ro  quiet initrd=x mitigations=off";
        assert_eq!(command_line(text), "root=*** ro quiet mitigations=off");
    }
}
