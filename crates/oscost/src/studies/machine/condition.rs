//! The configuration of a study's machine, and whether this machine has the same.

use oscost_model::record::{Machine, Record};
use serde::Deserialize;

/// A statement of a study about the machine on which it measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The statement, in our words.
    pub text: String,
    /// What is checked here.
    pub kind: ConditionKind,
    /// How the method of oscost keeps it, if it is a condition of the method.
    pub how: Option<String>,
}

/// What a condition requires of a machine; the names are those of study files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConditionKind {
    /// Only the shell of one user ran.
    SingleUser,
    /// The scheduler puts nothing else on the CPU.
    IsolatedCpu,
    /// The measured process stays on one CPU.
    Pinned,
    /// Interrupts were disabled in timed code.
    InterruptsOff,
    /// The core's frequency is fixed.
    FixedFrequency,
    /// One measurement at a time.
    Alone,
    /// The measuring program was compiled without optimisation.
    Unoptimised,
    /// The files that are read are on a local disk.
    LocalFiles,
    /// The processor's counter has a constant rate.
    ConstantCounter,
    /// Something that the method of oscost keeps in every run.
    Method,
    /// Something that cannot be checked.
    Other,
}

/// Whether a condition holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionState {
    /// It does.
    Yes,
    /// It does not, but could be configured to.
    No,
    /// It cannot hold here.
    Cannot,
    /// The record does not show it.
    Unknown,
}

impl ConditionState {
    /// The verdict in words.
    pub fn text(self) -> &'static str {
        match self {
            ConditionState::Yes => "holds here",
            ConditionState::No => "does not hold here",
            ConditionState::Cannot => "cannot hold here",
            ConditionState::Unknown => "not known here",
        }
    }
}

/// Whether a condition holds, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionResult {
    /// Whether it holds.
    pub holds: ConditionState,
    /// Why, or how to make it hold.
    pub reason: String,
}

/// The run levels of single-user mode, as `who -r` names them.
const SINGLE_USER: [&str; 3] = ["S", "1", "rescue"];

/// A condition, and whether it holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JudgedCondition<'a> {
    /// The condition.
    pub condition: &'a Condition,
    /// Whether it holds.
    pub result: ConditionResult,
}

/// Judges conditions by the machine of a run.
pub fn judge_all<'a>(conditions: &'a [Condition], record: &Record) -> Vec<JudgedCondition<'a>> {
    let judged = |condition| JudgedCondition { condition, result: judge(condition, record) };
    conditions.iter().map(judged).collect()
}

/// Whether a condition holds on the machine of a run.
fn judge(condition: &Condition, record: &Record) -> ConditionResult {
    let found = |holds, why: &str| ConditionResult { holds, reason: why.to_owned() };
    let Some(machine) = record.machines.first() else {
        return found(ConditionState::Unknown, "the record has no machine");
    };
    let cpu = record.results.iter().find_map(|row| row.target.cpu);
    match condition.kind {
        ConditionKind::SingleUser => single_user(machine),
        ConditionKind::IsolatedCpu => isolated(machine, cpu),
        ConditionKind::Pinned => match cpu {
            Some(cpu) => {
                let all = record.results.iter().all(|row| row.target.cpu.is_some());
                let which = if all { "" } else { " but programs that may use any" };
                let reason = format!("all workers{which} ran on CPU {cpu}");
                ConditionResult { holds: ConditionState::Yes, reason }
            }
            None => found(ConditionState::No, "this kernel did not let the workers be pinned"),
        },
        ConditionKind::InterruptsOff => found(
            ConditionState::Cannot,
            "user code cannot disable them; oscost detects batches with an interrupt and leaves \
             them out of its own figure",
        ),
        ConditionKind::FixedFrequency => fixed_frequency(machine),
        ConditionKind::Alone => found(
            ConditionState::Yes,
            "oscost holds a lock of the machine; the first lines say how noisy it was",
        ),
        ConditionKind::Unoptimised => found(
            ConditionState::No,
            "only rows with code=plain are loops and calls as compiled without optimisation; the \
             code around all others is optimised",
        ),
        ConditionKind::LocalFiles => local_files(record),
        ConditionKind::ConstantCounter => constant_counter(machine),
        ConditionKind::Method => found(
            ConditionState::Yes,
            condition.how.as_deref().unwrap_or("it is part of the method"),
        ),
        ConditionKind::Other => found(ConditionState::Unknown, "it cannot be checked"),
    }
}

fn single_user(machine: &Machine) -> ConditionResult {
    let hint = "`sudo systemctl rescue` on the console, or `single` on the kernel's command line";
    match machine.os.run_level.as_deref() {
        Some(level) if SINGLE_USER.contains(&level) => ConditionResult {
            holds: ConditionState::Yes,
            reason: format!("the run level is {level}"),
        },
        Some(level) => ConditionResult {
            holds: ConditionState::No,
            reason: format!("the run level is {level}: {hint}"),
        },
        None => ConditionResult {
            holds: ConditionState::Unknown,
            reason: format!(
                "no run level is recorded, for example in a container; otherwise {hint}"
            ),
        },
    }
}

/// Whether all files that rows used are on a disk.
fn local_files(record: &Record) -> ConditionResult {
    let files = || record.results.iter().filter_map(|row| row.file.as_ref());
    let other = files().find(|file| file.backing != "disk");
    match (other, files().next()) {
        (Some(file), _) if file.backing == "unknown" => ConditionResult {
            holds: ConditionState::Unknown,
            reason: format!("the files are on {}, whose disk is not known", file.filesystem),
        },
        (Some(file), _) => ConditionResult {
            holds: ConditionState::No,
            reason: format!(
                "the files are on {}, backed by {}: TMPDIR names another folder",
                file.filesystem, file.backing
            ),
        },
        (None, Some(file)) => ConditionResult {
            holds: ConditionState::Yes,
            reason: format!("the files are on {}, on a disk of this machine", file.filesystem),
        },
        (None, None) => ConditionResult {
            holds: ConditionState::Unknown,
            reason: "no row of this run has read a file".to_owned(),
        },
    }
}

/// Whether the counter's rate does not follow the core's.
fn constant_counter(machine: &Machine) -> ConditionResult {
    let Some(flags) = &machine.cpu.flags else {
        let reason = "the processor's flags are not known".to_owned();
        return ConditionResult { holds: ConditionState::Unknown, reason };
    };
    match flags.iter().any(|flag| flag == "constant_tsc") {
        true => ConditionResult {
            holds: ConditionState::Yes,
            reason: "the processor has the flag constant_tsc".to_owned(),
        },
        false => ConditionResult {
            holds: ConditionState::Cannot,
            reason: "the processor does not have the flag constant_tsc".to_owned(),
        },
    }
}

fn isolated(machine: &Machine, cpu: Option<u32>) -> ConditionResult {
    let isolated = machine.scheduling.isolated_cpus.as_deref();
    let number = cpu.map_or("N".to_owned(), |cpu| cpu.to_string());
    match (isolated, cpu) {
        (Some(isolated), Some(cpu)) if isolated.contains(&cpu) => {
            ConditionResult { holds: ConditionState::Yes, reason: format!("CPU {cpu} is isolated") }
        }
        (Some([first, ..]), _) => ConditionResult {
            holds: ConditionState::No,
            reason: format!("CPU {first} is isolated, but was not measured: `--cpu {first}`"),
        },
        (Some([]), _) => ConditionResult {
            holds: ConditionState::No,
            reason: format!(
                "isolcpus={number} on the kernel's command line, then `--cpu {number}`"
            ),
        },
        (None, _) => ConditionResult {
            holds: ConditionState::Unknown,
            reason: "this kernel does not say which CPUs are isolated".to_owned(),
        },
    }
}

fn fixed_frequency(machine: &Machine) -> ConditionResult {
    let scheduling = &machine.scheduling;
    let fixed = scheduling.governor.as_deref() == Some("performance");
    match (&scheduling.governor, scheduling.boost) {
        (Some(_), None) if fixed => ConditionResult {
            holds: ConditionState::Unknown,
            reason:
                "the governor is `performance`; this kernel does not say whether the core boosts"
                    .to_owned(),
        },
        (Some(_), Some(false)) if fixed => {
            let reason = "the governor is `performance`, and the core does not boost".to_owned();
            ConditionResult { holds: ConditionState::Yes, reason }
        }
        (Some(governor), boost) => {
            let boosts = if boost == Some(true) { ", and the core boosts" } else { "" };
            let reason = format!(
                "the governor is `{governor}`{boosts}: `sudo cpupower frequency-set -g \
                 performance`, and 0 into /sys/devices/system/cpu/cpufreq/boost"
            );
            ConditionResult { holds: ConditionState::No, reason }
        }
        (None, _) => ConditionResult {
            holds: ConditionState::Unknown,
            reason: "no governor is visible, for example in a guest, whose host decides".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use oscost_model::record::FileSummary;

    use super::*;
    use crate::studies::test_record::stored_record;

    fn record() -> Record {
        let mut record = stored_record();
        record.results[0].target.cpu = Some(1);
        record
    }

    fn result(record: &Record, kind: ConditionKind) -> ConditionResult {
        judge(&Condition { text: "any".to_owned(), kind, how: Some("so".to_owned()) }, record)
    }

    #[test]
    fn a_condition_is_judged_by_the_machine_and_says_how_to_make_it_hold() {
        let mut record = record();
        let scheduling = &mut record.machines[0].scheduling;
        scheduling.isolated_cpus = Some(vec![]);
        scheduling.governor = Some("schedutil".to_owned());
        scheduling.boost = Some(true);
        record.machines[0].os.run_level = Some("5".to_owned());
        for (kind, holds, words) in [
            (ConditionKind::SingleUser, ConditionState::No, "systemctl rescue"),
            (ConditionKind::IsolatedCpu, ConditionState::No, "isolcpus=1"),
            (ConditionKind::Pinned, ConditionState::Yes, "CPU 1"),
            (ConditionKind::InterruptsOff, ConditionState::Cannot, "user code"),
            (ConditionKind::FixedFrequency, ConditionState::No, "performance"),
            (ConditionKind::Alone, ConditionState::Yes, "lock"),
            (ConditionKind::Unoptimised, ConditionState::No, "code=plain"),
            (ConditionKind::Method, ConditionState::Yes, "so"),
            (ConditionKind::LocalFiles, ConditionState::Unknown, "no row"),
            (ConditionKind::Other, ConditionState::Unknown, "cannot be checked"),
        ] {
            let found = result(&record, kind);
            assert!(found.holds == holds && found.reason.contains(words), "{kind:?}: {found:?}");
        }
        let scheduling = &mut record.machines[0].scheduling;
        scheduling.isolated_cpus = Some(vec![1]);
        scheduling.governor = Some("performance".to_owned());
        scheduling.boost = Some(false);
        record.machines[0].os.run_level = Some("S".to_owned());
        for kind in
            [ConditionKind::SingleUser, ConditionKind::IsolatedCpu, ConditionKind::FixedFrequency]
        {
            assert_eq!(result(&record, kind).holds, ConditionState::Yes, "{kind:?}");
        }
        record.machines[0].scheduling.boost = None;
        assert_eq!(result(&record, ConditionKind::FixedFrequency).holds, ConditionState::Unknown);
        record.results[0].target.cpu = Some(0);
        assert!(result(&record, ConditionKind::IsolatedCpu).reason.contains("--cpu 1"));
        let machine = &mut record.machines[0];
        (machine.scheduling.isolated_cpus, machine.scheduling.governor) = (None, None);
        machine.os.run_level = None;
        for kind in
            [ConditionKind::SingleUser, ConditionKind::IsolatedCpu, ConditionKind::FixedFrequency]
        {
            assert_eq!(result(&record, kind).holds, ConditionState::Unknown, "{kind:?}");
        }
        record.machines.clear();
        assert_eq!(result(&record, ConditionKind::Alone).holds, ConditionState::Unknown);
    }

    #[test]
    fn files_and_the_counter_are_judged_by_the_record() {
        let mut record = record();
        let file = |backing: &str| FileSummary {
            filesystem: "ext4".to_owned(),
            backing: backing.to_owned(),
            cold: true,
            pages: 256,
            checks: 6,
            cached: [0, 0],
        };
        for (backing, holds) in [
            ("disk", ConditionState::Yes),
            ("memory", ConditionState::No),
            ("unknown", ConditionState::Unknown),
        ] {
            record.results[0].file = Some(file(backing));
            assert_eq!(result(&record, ConditionKind::LocalFiles).holds, holds, "{backing}");
        }
        for (flags, holds) in [
            (Some(vec!["constant_tsc".to_owned()]), ConditionState::Yes),
            (Some(vec![]), ConditionState::Cannot),
            (None, ConditionState::Unknown),
        ] {
            record.machines[0].cpu.flags = flags;
            assert_eq!(result(&record, ConditionKind::ConstantCounter).holds, holds);
        }
    }
}
