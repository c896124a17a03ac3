//! How a study had its machine, and whether this one is so.

use oscost_model::record::{Machine, Record};

/// Something that a study says of the machine that it measured on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The same in our words.
    pub says: String,
    /// What is looked at here.
    pub asks: Asks,
}

/// What a condition asks of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asks {
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
pub struct Found {
    /// Whether it holds.
    pub holds: Holds,
    /// Why, or what it takes.
    pub why: String,
}

/// The run level of a machine in single-user mode, as `who -r` names it.
const SINGLE_USER: [&str; 3] = ["S", "1", "rescue"];

/// Whether a condition holds on the machine of a run.
pub fn judge(condition: &Condition, record: &Record) -> Found {
    let found = |holds, why: &str| Found { holds, why: why.to_owned() };
    let Some(machine) = record.machines.first() else {
        return found(Holds::Unknown, "the run has met no machine");
    };
    let cpu = record.results.iter().find_map(|row| row.target.cpu);
    match condition.asks {
        Asks::SingleUser => single_user(machine),
        Asks::IsolatedCpu => isolated(machine, cpu),
        Asks::Pinned => match cpu {
            Some(cpu) => Found { holds: Holds::Yes, why: format!("all workers ran on CPU {cpu}") },
            None => found(Holds::No, "this kernel did not let the workers be pinned"),
        },
        Asks::InterruptsOff => found(
            Holds::Cannot,
            "user code cannot switch them off; what an interrupt took is seen, and its batch left \
             out of oscost's own figure",
        ),
        Asks::FixedFrequency => fixed_frequency(machine),
        Asks::Alone => found(
            Holds::Yes,
            "oscost holds a lock of the machine; what else runs there, the first lines say",
        ),
        Asks::Unoptimised => found(
            Holds::No,
            "but in the rows with code=plain, which are loops and calls as a compiler writes them \
             without optimisation; what stands around the others is optimised",
        ),
        Asks::Other => found(Holds::Unknown, "nothing that could be looked at"),
    }
}

fn single_user(machine: &Machine) -> Found {
    let how = "`sudo systemctl rescue` on the console, or `single` on the kernel's command line";
    match machine.os.run_level.as_deref() {
        Some(level) if SINGLE_USER.contains(&level) => {
            Found { holds: Holds::Yes, why: format!("the run level is {level}") }
        }
        Some(level) => Found { holds: Holds::No, why: format!("the run level is {level}: {how}") },
        None => Found {
            holds: Holds::Unknown,
            why: format!("no run level is recorded here, as in a container; else {how}"),
        },
    }
}

fn isolated(machine: &Machine, cpu: Option<u32>) -> Found {
    let isolated = machine.scheduling.isolated_cpus.as_deref();
    let number = cpu.map_or("N".to_owned(), |cpu| cpu.to_string());
    match (isolated, cpu) {
        (Some(isolated), Some(cpu)) if isolated.contains(&cpu) => {
            Found { holds: Holds::Yes, why: format!("CPU {cpu} is isolated") }
        }
        (Some([first, ..]), _) => Found {
            holds: Holds::No,
            why: format!("CPU {first} is isolated, and was not measured: `--cpu {first}`"),
        },
        (Some([]), _) => Found {
            holds: Holds::No,
            why: format!("isolcpus={number} on the kernel's command line, then `--cpu {number}`"),
        },
        (None, _) => Found {
            holds: Holds::Unknown,
            why: "this kernel does not say which CPUs are isolated".to_owned(),
        },
    }
}

fn fixed_frequency(machine: &Machine) -> Found {
    let scheduling = &machine.scheduling;
    let fixed = scheduling.governor.as_deref() == Some("performance");
    match (&scheduling.governor, scheduling.boost) {
        (Some(_), None) if fixed => Found {
            holds: Holds::Unknown,
            why: "the governor is `performance`; whether the core boosts, this kernel does not say"
                .to_owned(),
        },
        (Some(_), Some(false)) if fixed => {
            let why = "the governor is `performance`, and nothing boosts".to_owned();
            Found { holds: Holds::Yes, why }
        }
        (Some(governor), boost) => {
            let boosts = if boost == Some(true) { ", and the core boosts" } else { "" };
            let why = format!(
                "the governor is `{governor}`{boosts}: `sudo cpupower frequency-set -g \
                 performance`, and 0 into /sys/devices/system/cpu/cpufreq/boost"
            );
            Found { holds: Holds::No, why }
        }
        (None, _) => Found {
            holds: Holds::Unknown,
            why: "no governor shows here, as in a guest, whose host decides".to_owned(),
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

    fn found(record: &Record, asks: Asks) -> (Holds, String) {
        let Found { holds, why } = judge(&Condition { says: "so".to_owned(), asks }, record);
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
            (Asks::SingleUser, Holds::No, "systemctl rescue"),
            (Asks::IsolatedCpu, Holds::No, "isolcpus=1"),
            (Asks::Pinned, Holds::Yes, "CPU 1"),
            (Asks::InterruptsOff, Holds::Cannot, "user code"),
            (Asks::FixedFrequency, Holds::No, "performance"),
            (Asks::Alone, Holds::Yes, "lock"),
            (Asks::Unoptimised, Holds::No, "code=plain"),
            (Asks::Other, Holds::Unknown, "nothing"),
        ] {
            let (said, why) = found(&record, asks);
            assert!(said == holds && why.contains(words), "{asks:?}: {said:?}: {why}");
        }
        let scheduling = &mut record.machines[0].scheduling;
        scheduling.isolated_cpus = Some(vec![1]);
        scheduling.governor = Some("performance".to_owned());
        scheduling.boost = Some(false);
        record.machines[0].os.run_level = Some("S".to_owned());
        for asks in [Asks::SingleUser, Asks::IsolatedCpu, Asks::FixedFrequency] {
            assert_eq!(found(&record, asks).0, Holds::Yes, "{asks:?}");
        }
        record.machines[0].scheduling.boost = None;
        assert_eq!(found(&record, Asks::FixedFrequency).0, Holds::Unknown);
        record.results[0].target.cpu = Some(0);
        assert!(found(&record, Asks::IsolatedCpu).1.contains("--cpu 1"));
        let machine = &mut record.machines[0];
        (machine.scheduling.isolated_cpus, machine.scheduling.governor) = (None, None);
        machine.os.run_level = None;
        for asks in [Asks::SingleUser, Asks::IsolatedCpu, Asks::FixedFrequency] {
            assert_eq!(found(&record, asks).0, Holds::Unknown, "{asks:?}");
        }
        record.machines.clear();
        assert_eq!(found(&record, Asks::Alone).0, Holds::Unknown);
    }
}
