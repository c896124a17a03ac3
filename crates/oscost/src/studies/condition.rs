//! How a study had its machine, and whether this one is so.

use oscost_model::record::{Machine, Record};

/// Something that a study says of the machine that it measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The same in our words.
    pub text: String,
    /// What is looked at here.
    pub kind: ConditionKind,
}

/// What a condition asks of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConditionKind {
    /// Nothing but the shell of one user ran.
    SingleUser,
    /// The scheduler puts nothing else on the CPU.
    IsolatedCpu,
    /// What is measured stays on one CPU.
    Pinned,
    /// Interrupts were off while it was timed.
    InterruptsOff,
    /// The core's frequency is fixed.
    FixedFrequency,
    /// One measurement at a time.
    Alone,
    /// The measuring program was compiled without optimisation.
    Unoptimised,
    /// Something that cannot be looked at.
    Other,
}

/// Whether a condition holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// It does.
    Yes,
    /// It does not, and could be made to.
    No,
    /// It cannot hold here.
    Cannot,
    /// This run cannot tell.
    Unknown,
}

impl Holds {
    /// The verdict in words.
    pub fn text(self) -> &'static str {
        match self {
            Holds::Yes => "holds here",
            Holds::No => "does not hold here",
            Holds::Cannot => "cannot hold here",
            Holds::Unknown => "not known here",
        }
    }
}

/// What was found of a condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConditionResult {
    /// Whether it holds.
    pub holds: Holds,
    /// Why, or what it takes.
    pub reason: String,
}

/// The run level of a machine in single-user mode, as `who -r` names it.
const SINGLE_USER: [&str; 3] = ["S", "1", "rescue"];

/// Whether a condition holds on the machine of a run.
pub fn judge(condition: &Condition, record: &Record) -> ConditionResult {
    let found = |holds, why: &str| ConditionResult { holds, reason: why.to_owned() };
    let Some(machine) = record.machines.first() else {
        return found(Holds::Unknown, "the run has met no machine");
    };
    let cpu = record.results.iter().find_map(|row| row.target.cpu);
    match condition.kind {
        ConditionKind::SingleUser => single_user(machine),
        ConditionKind::IsolatedCpu => isolated(machine, cpu),
        ConditionKind::Pinned => match cpu {
            Some(cpu) => ConditionResult {
                holds: Holds::Yes,
                reason: format!("all workers ran on CPU {cpu}"),
            },
            None => found(Holds::No, "this kernel did not let the workers be pinned"),
        },
        ConditionKind::InterruptsOff => found(
            Holds::Cannot,
            "user code cannot switch them off; what an interrupt took is seen, and its batch left \
             out of oscost's own figure",
        ),
        ConditionKind::FixedFrequency => fixed_frequency(machine),
        ConditionKind::Alone => found(
            Holds::Yes,
            "oscost holds a lock of the machine; what else runs there, the first lines say",
        ),
        ConditionKind::Unoptimised => found(
            Holds::No,
            "but in the rows with code=plain, which are loops and calls as a compiler writes them \
             without optimisation; what stands around the others is optimised",
        ),
        ConditionKind::Other => found(Holds::Unknown, "nothing that could be looked at"),
    }
}

fn single_user(machine: &Machine) -> ConditionResult {
    let how = "`sudo systemctl rescue` on the console, or `single` on the kernel's command line";
    match machine.os.run_level.as_deref() {
        Some(level) if SINGLE_USER.contains(&level) => {
            ConditionResult { holds: Holds::Yes, reason: format!("the run level is {level}") }
        }
        Some(level) => {
            ConditionResult { holds: Holds::No, reason: format!("the run level is {level}: {how}") }
        }
        None => ConditionResult {
            holds: Holds::Unknown,
            reason: format!("no run level is recorded here, as in a container; else {how}"),
        },
    }
}

fn isolated(machine: &Machine, cpu: Option<u32>) -> ConditionResult {
    let isolated = machine.scheduling.isolated_cpus.as_deref();
    let number = cpu.map_or("N".to_owned(), |cpu| cpu.to_string());
    match (isolated, cpu) {
        (Some(isolated), Some(cpu)) if isolated.contains(&cpu) => {
            ConditionResult { holds: Holds::Yes, reason: format!("CPU {cpu} is isolated") }
        }
        (Some([first, ..]), _) => ConditionResult {
            holds: Holds::No,
            reason: format!("CPU {first} is isolated, and was not measured: `--cpu {first}`"),
        },
        (Some([]), _) => ConditionResult {
            holds: Holds::No,
            reason: format!(
                "isolcpus={number} on the kernel's command line, then `--cpu {number}`"
            ),
        },
        (None, _) => ConditionResult {
            holds: Holds::Unknown,
            reason: "this kernel does not say which CPUs are isolated".to_owned(),
        },
    }
}

fn fixed_frequency(machine: &Machine) -> ConditionResult {
    let scheduling = &machine.scheduling;
    let fixed = scheduling.governor.as_deref() == Some("performance");
    match (&scheduling.governor, scheduling.boost) {
        (Some(_), None) if fixed => ConditionResult {
            holds: Holds::Unknown,
            reason:
                "the governor is `performance`; whether the core boosts, this kernel does not say"
                    .to_owned(),
        },
        (Some(_), Some(false)) if fixed => {
            let why = "the governor is `performance`, and nothing boosts".to_owned();
            ConditionResult { holds: Holds::Yes, reason: why }
        }
        (Some(governor), boost) => {
            let boosts = if boost == Some(true) { ", and the core boosts" } else { "" };
            let why = format!(
                "the governor is `{governor}`{boosts}: `sudo cpupower frequency-set -g \
                 performance`, and 0 into /sys/devices/system/cpu/cpufreq/boost"
            );
            ConditionResult { holds: Holds::No, reason: why }
        }
        (None, _) => ConditionResult {
            holds: Holds::Unknown,
            reason: "no governor shows here, as in a guest, whose host decides".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let mut record: Record =
            serde_json::from_str(include_str!("../../tests/store/run-1.json")).unwrap();
        record.results[0].target.cpu = Some(1);
        record
    }

    fn found(record: &Record, asks: ConditionKind) -> (Holds, String) {
        let ConditionResult { holds, reason: why } =
            judge(&Condition { text: "so".to_owned(), kind: asks }, record);
        (holds, why)
    }

    #[test]
    fn a_condition_is_judged_by_the_machine_and_says_what_it_takes() {
        let mut record = record();
        let scheduling = &mut record.machines[0].scheduling;
        scheduling.isolated_cpus = Some(vec![]);
        scheduling.governor = Some("schedutil".to_owned());
        scheduling.boost = Some(true);
        record.machines[0].os.run_level = Some("5".to_owned());
        for (asks, holds, words) in [
            (ConditionKind::SingleUser, Holds::No, "systemctl rescue"),
            (ConditionKind::IsolatedCpu, Holds::No, "isolcpus=1"),
            (ConditionKind::Pinned, Holds::Yes, "CPU 1"),
            (ConditionKind::InterruptsOff, Holds::Cannot, "user code"),
            (ConditionKind::FixedFrequency, Holds::No, "performance"),
            (ConditionKind::Alone, Holds::Yes, "lock"),
            (ConditionKind::Unoptimised, Holds::No, "code=plain"),
            (ConditionKind::Other, Holds::Unknown, "nothing"),
        ] {
            let (said, why) = found(&record, asks);
            assert!(said == holds && why.contains(words), "{asks:?}: {said:?}: {why}");
        }
        let scheduling = &mut record.machines[0].scheduling;
        scheduling.isolated_cpus = Some(vec![1]);
        scheduling.governor = Some("performance".to_owned());
        scheduling.boost = Some(false);
        record.machines[0].os.run_level = Some("S".to_owned());
        for asks in
            [ConditionKind::SingleUser, ConditionKind::IsolatedCpu, ConditionKind::FixedFrequency]
        {
            assert_eq!(found(&record, asks).0, Holds::Yes, "{asks:?}");
        }
        record.machines[0].scheduling.boost = None;
        assert_eq!(found(&record, ConditionKind::FixedFrequency).0, Holds::Unknown);
        record.results[0].target.cpu = Some(0);
        assert!(found(&record, ConditionKind::IsolatedCpu).1.contains("--cpu 1"));
        let machine = &mut record.machines[0];
        (machine.scheduling.isolated_cpus, machine.scheduling.governor) = (None, None);
        machine.os.run_level = None;
        for asks in
            [ConditionKind::SingleUser, ConditionKind::IsolatedCpu, ConditionKind::FixedFrequency]
        {
            assert_eq!(found(&record, asks).0, Holds::Unknown, "{asks:?}");
        }
        record.machines.clear();
        assert_eq!(found(&record, ConditionKind::Alone).0, Holds::Unknown);
    }
}
