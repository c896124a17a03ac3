//! The machines of a run, their noise, and the settings of the run.

use oscost_model::record::{Conditions, Machine, Record};

use crate::report::figures::{Style, per_cent};
use crate::report::text::{class_text, clock_name, plain, shell_command};
use crate::report::view::document::{Block, Cell, Column, Fact, Section, Table, TableRow};
use crate::report::view::run::flags;
use crate::report::view::run::instructions::counts;

/// The section.
pub(super) fn section(record: &Record) -> Section {
    let mut parts = Vec::new();
    let several = record.machines.len() > 1;
    for (index, machine) in record.machines.iter().enumerate() {
        if several {
            parts.push(Block::Heading(format!("Machine {}", plain(&machine.id))));
        }
        parts.push(Block::Facts(facts(machine)));
        if counts(machine) {
            // Counts are exact and have no noise; a row that is not exact has a flag.
            continue;
        }
        if let Some(conditions) = record.conditions.iter().find(|it| it.machine == machine.id) {
            parts.push(Block::Heading("Noise".to_owned()));
            parts.push(Block::Facts(noise(conditions)));
            parts.extend(reference_cases(index, conditions).map(Block::Table));
            let flagged: Vec<String> =
                conditions.flags.iter().map(|flag| flags::of_run(flag)).collect();
            parts.extend(Block::list(flagged));
        }
        if !machine.advice.is_empty() {
            parts.push(Block::Heading("What makes figures noisy on this machine".to_owned()));
            parts.extend(Block::list(machine.advice.iter().map(|it| plain(it))));
        }
    }
    parts.push(Block::Heading("How it was measured".to_owned()));
    parts.push(Block::Facts(measured_facts(record)));
    Section {
        id: "machine".to_owned(),
        title: "The machine".to_owned(),
        blocks: parts,
        ..Section::default()
    }
}

/// Facts, each with its value or `unknown`.
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: &str, value: Option<String>) {
        let value = value.map_or("unknown".to_owned(), |value| plain(&value));
        self.0.push(Fact::new(name, value));
    }
}

fn facts(machine: &Machine) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    let cpu = &machine.cpu;
    facts.add("processor", cpu.model_name.clone());
    facts.add("CPUs online", cpu.logical_online.map(|online| online.to_string()));
    facts.add("microcode", cpu.microcode.clone());
    let memory = machine.memory.total_kib.map(|kib| format!("{:.1} GiB", kib as f64 / 1_048_576.0));
    facts.add("memory", memory);
    facts.add("hypervisor", Some(machine.virtualization.clone().unwrap_or("none detected".into())));
    let os = &machine.os;
    facts.add("kernel", os.release.clone());
    facts.add("built as", os.version.clone());
    facts.add("distribution", os.distribution.clone());
    facts.add("timer ticks", os.hz.map(|hz| format!("{hz} per second")));
    facts.add("preemption", machine.scheduling.preempt.clone());
    facts.add("frequency governor", machine.scheduling.governor.clone());
    if let Some(vm) = &machine.vm {
        facts.add("booted", Some(format!("{}, image {}", vm.kernel, vm.image)));
        facts.add("appended to its command line", Some(vm.append.clone().unwrap_or_default()));
        facts.add("emulator", Some(format!("{} ({}), CPU {}", vm.emulator, vm.accel, vm.cpu)));
        facts.add("its memory", Some(format!("{} MiB", vm.mem_mib)));
    }
    let clock = machine.clock.as_ref().map(|clock| match counts(machine) {
        true => format!("{}: one per tick", clock.source),
        false => format!(
            "{}, in steps of {:.1} ns; a pair of reads costs {:.1} ns",
            clock_name(&clock.source, os.arch.as_deref()),
            clock.q_ns,
            clock.c_tot_ns
        ),
    });
    facts.add("clock", clock);
    let vulnerable =
        machine.mitigations.iter().filter(|(_, state)| state.starts_with("Vulnerable"));
    let mitigated = machine.mitigations.values().filter(|state| state.starts_with("Mitigation"));
    let open: Vec<&str> = vulnerable.map(|(name, _)| name.as_str()).collect();
    let mut vulnerabilities = format!("{} mitigated", mitigated.count());
    if !open.is_empty() {
        vulnerabilities.push_str(&format!(", {} vulnerable: {}", open.len(), open.join(", ")));
    }
    facts.add("CPU vulnerabilities", (!machine.mitigations.is_empty()).then_some(vulnerabilities));
    facts.0
}

fn noise(it: &Conditions) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    facts.add("class", it.class.as_deref().map(class_text));
    let lambda = it.lambda_per_s.map(|lambda| format!("{lambda:.0} per second"));
    facts.add("interruptions over 5 us", lambda);
    facts.add("stolen by the hypervisor", it.steal_pct.map(per_cent));
    facts.add("ready but not running", it.lost_pct.map(per_cent));
    let tracers = match &it.tracers[..] {
        [] => "none".to_owned(),
        some => some.join(", "),
    };
    facts.add("tracers attached", Some(tracers));
    facts.0
}

/// The reference cases before and after.
fn reference_cases(machine: usize, it: &Conditions) -> Option<Table> {
    let line = |(case, before): (&String, &f64)| {
        let after = it.reference_cases.after.get(case).copied();
        let ns = |value: f64| Style::of(value, oscost_model::unit::Unit::NsPerOp).with_unit(value);
        let change = after.map(|after| 100.0 * (after / before - 1.0)).filter(|it| it.is_finite());
        let change_text = change.map_or("-".to_owned(), |change| format!("{change:+.1} %"));
        let cells = vec![
            Cell::text(plain(case)),
            Cell::number(ns(*before), Some(*before)),
            Cell::number(after.map_or("-".to_owned(), ns), after),
            Cell::number(change_text, change),
        ];
        TableRow::of(cells)
    };
    let rows: Vec<TableRow> = it.reference_cases.before.iter().map(line).collect();
    (!rows.is_empty()).then(|| Table {
        id: format!("reference-cases-{machine}"),
        caption:
            "The reference cases, measured in every round: the first and the last third of the run"
                .to_owned(),
        columns: vec![
            Column::text("case"),
            Column::number("early", "before_ns"),
            Column::number("late", "after_ns"),
            Column::number("change", "change_pct"),
        ],
        rows,
        interactive: false,
        ..Table::default()
    })
}

fn measured_facts(record: &Record) -> Vec<Fact> {
    let mut facts = Facts(Vec::new());
    facts.add("command", Some(shell_command(&record.command)));
    facts.add("label", Some(record.label.clone().unwrap_or("none".into())));
    facts.add("run", Some(record.id.clone()));
    facts.add("started", Some(record.started.clone()));
    facts.add("ended", record.ended.clone());
    let complete =
        if record.complete { "yes" } else { "no, it was cut short, by its budget or by a signal" };
    facts.add("complete", Some(complete.to_owned()));
    let tool = &record.tool;
    facts.add("oscost", Some(tool.version.clone()));
    facts.add(
        "worker",
        Some(format!("{}, {}, {}", tool.worker.hash, tool.worker.link, tool.worker.libc)),
    );
    let settings = &record.settings;
    facts.add("profile", Some(settings.profile.clone()));
    facts.add("seed", Some(settings.seed.to_string()));
    let precision = settings.precision_pct.map(|pct| format!("{pct} % of the median"));
    facts.add("target precision", Some(precision.unwrap_or("fixed repetitions".into())));
    facts.0
}
