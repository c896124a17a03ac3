//! Variables that srun(1) takes for options where no argument is. Within a job Slurm sets some of
//! them; elsewhere users do, for commands of their own.

use super::slurm_options::SlurmOptions;

/// What would change what the task reads or writes, what it is, and how long a node is waited for.
const OF_SESSION: [&str; 7] = [
    "SLURM_LABELIO",
    "SLURM_STDINMODE",
    "SLURM_STDOUTMODE",
    "SLURM_STDERRMODE",
    "SLURM_UNBUFFEREDIO",
    "SLURM_SRUN_MULTI",
    "SLURM_IMMEDIATE",
];

/// An option with the variables that set it, or that srun refuses beside it.
struct OptionVariables {
    option: &'static str,
    variables: &'static [&'static str],
}

const OF_OPTIONS: [OptionVariables; 9] = [
    OptionVariables { option: "partition", variables: &["SLURM_PARTITION"] },
    OptionVariables { option: "nodes", variables: &["SLURM_HOSTFILE"] },
    OptionVariables { option: "account", variables: &["SLURM_ACCOUNT"] },
    OptionVariables { option: "qos", variables: &["SLURM_QOS"] },
    OptionVariables { option: "reservation", variables: &["SLURM_RESERVATION"] },
    OptionVariables { option: "constraint", variables: &["SLURM_CONSTRAINT"] },
    OptionVariables { option: "time", variables: &["SLURM_TIMELIMIT"] },
    OptionVariables {
        option: "mem",
        variables: &["SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_MEM_PER_GPU"],
    },
    OptionVariables { option: "exclusive", variables: &["SLURM_EXCLUSIVE", "SLURM_OVERLAP"] },
];

/// What no option of a target sets, and what figures may depend on.
const OF_NO_OPTION: [&str; 7] = [
    "SLURM_CPU_FREQ_REQ",
    "SLURM_CPUS_PER_TASK",
    "SLURM_GRES",
    "SLURM_HINT",
    "SLURM_TASK_PROLOG",
    "SLURM_THREADS_PER_CORE",
    "SRUN_CPUS_PER_TASK",
];

/// The variable that a job has.
const JOB: &str = "SLURM_JOB_ID";

/// The variables that srun does not get.
pub(super) fn removed(options: &SlurmOptions) -> Vec<&'static str> {
    let named = OF_OPTIONS.iter().filter(|it| options.has(it.option));
    OF_SESSION.into_iter().chain(named.flat_map(|it| it.variables.iter().copied())).collect()
}

/// The options that srun has from the environment, as `SLURM_ACCOUNT=ops`. Those of a job are
/// Slurm's own.
pub(super) fn in_force(
    options: &SlurmOptions,
    read: &dyn Fn(&str) -> Option<String>,
) -> Vec<String> {
    if read(JOB).is_some() {
        return Vec::new();
    }
    let unnamed = OF_OPTIONS.iter().filter(|it| !options.has(it.option));
    let names = unnamed.flat_map(|it| it.variables.iter().copied()).chain(OF_NO_OPTION);
    names.filter_map(|name| Some(format!("{name}={}", read(name)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::slurm::SLURM_OPTIONS;

    /// What is in force where these variables are set.
    fn of(options: &str, set: &[&str]) -> Vec<String> {
        let read = |name: &str| set.contains(&name).then(|| "x".to_owned());
        in_force(&SlurmOptions::parse(options).unwrap(), &read)
    }

    #[test]
    fn what_a_target_names_is_not_taken_from_a_variable() {
        let options = SlurmOptions::parse("account=lab,mem=1G,exclusive").unwrap();
        let removed = removed(&options);
        for name in ["SLURM_ACCOUNT", "SLURM_MEM_PER_CPU", "SLURM_OVERLAP", "SLURM_IMMEDIATE"] {
            assert!(removed.contains(&name), "{name}: {removed:?}");
        }
        assert!(!removed.contains(&"SLURM_PARTITION"), "{removed:?}");
        assert!(OF_OPTIONS.iter().all(|it| SLURM_OPTIONS.contains(&it.option)));
    }

    #[test]
    fn what_it_does_not_name_is_told_outside_of_a_job() {
        let set = ["SLURM_ACCOUNT", "SLURM_QOS", "SLURM_CPU_FREQ_REQ", "SLURM_CONF"];
        assert_eq!(of("account=lab", &set), ["SLURM_QOS=x", "SLURM_CPU_FREQ_REQ=x"]);
        assert_eq!(of("", &set[..1]), ["SLURM_ACCOUNT=x"]);
        assert_eq!(of("", &[JOB, "SLURM_ACCOUNT"]), [""; 0]);
    }
}
