//! The figures that the store keeps of a run next to its journal, for histories.

use std::collections::BTreeMap;

use oscost_model::hash;
use oscost_model::program::{ExecutableFile, FAMILY, PEAK_MEMORY};
use oscost_model::record::{Conditions, FileSummary, Machine, Metric, Record, Row, RowOutcome};
use oscost_model::unit::Unit;
use oscost_stats::interval::Nominal;

use crate::advice::classes::{command_line, kernel_class, machine_class};
use crate::app::observer::Observer;
use crate::estimate::core_rate::cycles_estimate;
use crate::estimate::counted_medians::counted_medians;
use crate::store::{Figure, MachineState, MetricFigure, RunState, Store, Summary};
use crate::workloads;

/// The version of the rules that make a summary of a record, including the names of classes. A
/// change of one of them raises it: all runs are then read once more.
pub const SUMMARY_RULES: u32 = 3;

/// What a history needs of a run, with figures to their last bit.
pub(crate) fn summary(record: &Record) -> Summary {
    let worker = &record.tool.worker;
    Summary {
        rules: SUMMARY_RULES,
        tool: record.tool.version.clone(),
        worker: worker.hash.clone(),
        catalog: worker.catalog.clone(),
        link: worker.link.clone(),
        peer: options(&record.command, "--peer").pop().map(str::to_owned),
        clock_drifted: record
            .conditions
            .first()
            .is_some_and(|it| it.flags.iter().any(|flag| flag == "CLOCK_DRIFTED")),
        run_state: Some(RunState {
            flags: record.conditions.iter().flat_map(|it| it.flags.clone()).collect(),
            lost_pct: record
                .conditions
                .iter()
                .filter_map(Conditions::lost_and_stolen_pct)
                .reduce(f64::max),
        }),
        machine_states: record
            .machines
            .iter()
            .map(|machine| machine_state(record, machine))
            .collect(),
        figures: figures(record),
    }
}

/// A figure for each measured row, followed by the same in cycles of the core if its workers measured
/// the core's rate.
fn figures(record: &Record) -> Vec<Figure> {
    let machines = record.machines.iter().enumerate().rev();
    let shared = SharedProperties {
        machines: machines.map(|(at, machine)| (machine.id.as_str(), at)).collect(),
        trial_options: ["--prepare", "--stdin"].map(|name| (name, options(&record.command, name))),
        workload_files: options(&record.command, "--workload"),
    };
    let of_row = |row| {
        let own = figure(&shared, row);
        let cycles = own.as_ref().and_then(|own| in_cycles(own, row));
        own.into_iter().chain(cycles)
    };
    record.results.iter().flat_map(of_row).collect()
}

/// The figure of a row in cycles of the core.
fn in_cycles(own: &Figure, row: &Row) -> Option<Figure> {
    let estimate = cycles_estimate(row, Nominal::FIXED)?;
    let (median, interval) = (estimate.median, estimate.ci95);
    let own = Figure { counts: None, metrics: Vec::new(), ..own.clone() };
    Some(Figure { unit: Unit::CyclesPerOp, median, interval, ..own })
}

/// What is read of a run once for all its figures.
struct SharedProperties<'a> {
    /// The index of each machine by its id; of several with one id the first.
    machines: BTreeMap<&'a str, usize>,
    /// The values of the options that change what a trial is.
    trial_options: [(&'static str, Vec<&'a str>); 2],
    workload_files: Vec<&'a str>,
}

fn machine_state(record: &Record, machine: &Machine) -> MachineState {
    let conditions = record.conditions.iter().find(|it| it.machine == machine.id);
    let mitigations = machine.mitigations.iter().map(|(flaw, what)| format!("{flaw}: {what}"));
    let mitigations: Vec<String> = mitigations.collect();
    MachineState {
        machine: machine_class(machine),
        kernel: kernel_class(machine),
        release: machine.os.release.clone(),
        build_id: machine.os.build_id.clone(),
        microcode: machine.cpu.microcode.clone(),
        command_line: machine.os.cmdline.as_deref().map(command_line),
        mitigations: (!mitigations.is_empty()).then(|| mitigations.join("; ")),
        modules: machine.os.lsm.as_ref().map(|modules| modules.join(" ")),
        tracers: conditions.map(|it| it.tracers.join("; ")),
        clock: machine.clock.as_ref().map(|clock| clock.source.clone()),
        class: conditions.and_then(|it| it.class.clone()),
        boot: machine.counters.boot.clone(),
    }
}

fn figure(shared: &SharedProperties<'_>, row: &Row) -> Option<Figure> {
    let measured = row.outcome == RowOutcome::Measured;
    let estimate = row.estimate.as_ref().filter(|_| measured)?;
    let machine = |id: &String| shared.machines.get(id.as_str()).copied();
    let file = |it: &FileSummary| format!("{} ({})", it.filesystem, it.backing);
    let subject = program_identity(shared, row);
    let metrics = if subject.is_some() { metrics_of_program(row) } else { Vec::new() };
    Some(Figure {
        case: row.case.clone(),
        target: row.target.text.clone(),
        machine: machine(&row.target.machine),
        peer: row.target.peer.as_ref().and_then(machine),
        cpu: row.target.cpu,
        rev: row.rev,
        unit: row.unit,
        mode: row.mode,
        subject,
        file: row.file.as_ref().map(file),
        monitor: row.monitor.as_ref().map(|it| it.profile_states.join(" ")),
        flags: row.flags.clone(),
        median: estimate.median,
        // An older oscost imported intervals with their ends swapped; they are left out.
        interval: estimate.ci95.filter(|[low, high]| low <= high),
        counts: row.counters.as_ref().and_then(counted_medians).map(Box::new),
        metrics,
    })
}

/// The further metrics of a program, without its own figure, and without a peak that is a bound.
fn metrics_of_program(row: &Row) -> Vec<MetricFigure> {
    let is_bound = row.flags.iter().any(|flag| flag == "MEMORY_BOUND");
    let further = row.metrics.iter().filter(|(name, _)| {
        let is_own = row.primary_metric.as_ref() == Some(*name);
        !(is_own || is_bound && *name == PEAK_MEMORY)
    });
    let figure = |(name, metric): (&String, &Metric)| MetricFigure {
        metric: name.clone(),
        median: metric.estimate.median,
        interval: metric.estimate.ci95.filter(|[low, high]| low <= high),
    };
    let is_finite = |it: &MetricFigure| {
        it.interval.iter().flatten().chain([&it.median]).all(|number| number.is_finite())
    };
    further.map(figure).filter(is_finite).collect()
}

/// What distinguishes a program from others of the same name: the words of the command, or the file
/// that describes it, the commands before it, and which of its metrics is the figure; and its own file,
/// if that is known. Of a program that comes with oscost the revision stands for the former.
fn program_identity(shared: &SharedProperties<'_>, row: &Row) -> Option<String> {
    let (family, _) = row.benchmark.split_once('/')?;
    if family != FAMILY {
        return None;
    }
    let mut parts: Vec<&str> = vec![row.primary_metric.as_deref().unwrap_or_default()];
    if let Some(command) = &row.command {
        parts.extend(command.iter().map(String::as_str));
        for (option, values) in &shared.trial_options {
            parts.push(option);
            parts.extend(values);
        }
    } else if workloads::find(&row.benchmark).is_none() {
        parts.extend(&shared.workload_files);
    }
    Some(subject(&parts, row.program.as_ref()))
}

/// A command by what it is made of, and behind a space the build of its program.
fn subject(command: &[&str], program: Option<&ExecutableFile>) -> String {
    // No argument contains a zero byte, and no path.
    let command = hash::content(command.join("\0").as_bytes());
    match program {
        Some(ExecutableFile { path, bytes, sha256 }) => {
            let build = hash::content(format!("{path}\0{bytes}\0{sha256}").as_bytes());
            format!("{command} {build}")
        }
        None => command,
    }
}

/// Whether two figures are of one command, or both of none; its program may have been built anew.
pub(crate) fn is_same_command(one: &Figure, other: &Figure) -> bool {
    fn command(figure: &Figure) -> Option<&str> {
        figure.subject.as_deref()?.split(' ').next()
    }
    command(one) == command(other)
}

/// The values of an option on a command line, in order; the words after `--` belong to a program.
pub(super) fn options<'a>(command: &'a [String], name: &str) -> Vec<&'a str> {
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

/// Keeps the figures of a run that has ended. After a failure a history reads the journal again.
pub(crate) fn keep_figures(store: &mut Store, id: &str, record: &Record, observer: &dyn Observer) {
    if record.ended.is_none() {
        return;
    }
    if let Err(error) = store.summarise(id, &summary(record)) {
        observer.note(&format!("`oscost history` will read this run again: {error}"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::test_store::figure as stored_figure;
    use super::*;

    #[test]
    fn another_build_of_a_program_is_another_subject_of_the_same_command() {
        let build = |bytes: u64, sha256: &str| ExecutableFile {
            path: "/src/sort".to_owned(),
            bytes,
            sha256: sha256.to_owned(),
        };
        let of = |words: &[&str], program: Option<ExecutableFile>| {
            let subject = Some(subject(words, program.as_ref()));
            Figure { subject, ..stored_figure("workload/sort", 1.0) }
        };
        let words = ["real", "./sort", "1000"];
        let first = of(&words, Some(build(9, "ab")));
        assert_eq!(of(&words, Some(build(9, "ab"))).subject, first.subject);
        for other in [Some(build(8, "ab")), Some(build(9, "cd")), None] {
            let other = of(&words, other);
            assert_ne!(other.subject, first.subject);
            assert!(is_same_command(&other, &first));
        }
        let others = of(&["real", "./sort", "2000"], Some(build(9, "ab")));
        let benchmark = stored_figure("syscall/read", 1.0);
        assert!(!is_same_command(&others, &first) && !is_same_command(&benchmark, &first));
        assert!(is_same_command(&benchmark, &benchmark));
    }

    #[test]
    fn options_are_read_in_both_spellings_and_only_before_the_program() {
        let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let command = words("oscost run --peer ssh:a --peer=ssh:b --peer-cpu 3 -- x --peer ssh:c");
        assert_eq!(options(&command, "--peer"), ["ssh:a", "ssh:b"]);
        assert_eq!(options(&words("oscost run --peer"), "--peer"), [""; 0]);
    }

    #[test]
    fn the_files_that_a_kernel_was_loaded_from_are_left_out_of_its_command_line() {
        let text = "BOOT_IMAGE=/boot/vmlinuz-6.1.0-22 root=*** ro  quiet initrd=x mitigations=off";
        assert_eq!(command_line(text), "root=*** ro quiet mitigations=off");
    }
}
