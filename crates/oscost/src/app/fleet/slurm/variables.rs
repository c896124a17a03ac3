//! Variables by which users set options of Slurm's programs for commands of their own.

use std::ffi::OsString;

use oscost_model::untrusted_text::display_text;

/// The longest text of variables that is shown.
const MAX_LETTERS: usize = 400;

/// What the variables begin with that are options of sbatch(1).
const SBATCH: &str = "SBATCH_";

/// Who pays for jobs stays the user's choice: a variable of sbatch(1) that is handed on, and the
/// option that it sets.
struct PayerVariable {
    name: &'static str,
    option: &'static str,
}

const PAYER: [PayerVariable; 2] = [
    PayerVariable { name: "SBATCH_ACCOUNT", option: "account" },
    PayerVariable { name: "SBATCH_QOS", option: "qos" },
];

/// A variable of this process.
pub(super) struct Variable {
    name: String,
    value: String,
}

impl Variable {
    /// All that are text.
    pub(super) fn all() -> impl Iterator<Item = Variable> {
        let text = |(name, value): (OsString, OsString)| {
            Some(Variable { name: name.into_string().ok()?, value: value.into_string().ok()? })
        };
        std::env::vars_os().filter_map(text)
    }
}

/// Whether a variable changes what a program of Slurm does or lists, as `SBATCH_WAIT` or
/// `SQUEUE_STATES`: it is not handed on.
pub(super) fn changes_answers(name: &str) -> bool {
    const PREFIXES: [&str; 5] = [SBATCH, "SCONTROL_", "SINFO_", "SQUEUE_", "SACCT_"];
    const NAMES: [&str; 2] = ["SLURM_CLUSTERS", "SLURM_TIME_FORMAT"];
    let is_option = PREFIXES.iter().any(|prefix| name.starts_with(prefix));
    let is_payer = PAYER.iter().any(|it| it.name == name);
    (is_option && !is_payer) || NAMES.contains(&name)
}

/// The options of a plan that a variable would replace in the script: variables of sbatch precede
/// the lines of a script, and arguments precede variables.
pub(super) fn payer_arguments(options: &[String]) -> Vec<String> {
    let is_payer = |option: &&String| PAYER.iter().any(|it| value(it, option).is_some());
    options.iter().filter(is_payer).map(|option| format!("--{option}")).collect()
}

/// The value of an option if it is that of the variable.
fn value<'a>(variable: &PayerVariable, option: &'a str) -> Option<&'a str> {
    option.strip_prefix(variable.option)?.strip_prefix('=')
}

/// What is told of these variables when jobs with the options of a plan are submitted.
pub(super) fn notes(options: &[String], variables: impl Iterator<Item = Variable>) -> Vec<String> {
    let (mut notes, mut unused) = (Vec::new(), Vec::new());
    for Variable { name, value: set } in variables {
        let Some(payer) = PAYER.iter().find(|it| it.name == name) else {
            unused.extend(Some(name).filter(|name| name.starts_with(SBATCH)));
            continue;
        };
        let set = display_text(&set, MAX_LETTERS);
        match options.iter().find_map(|option| value(payer, option)) {
            None => notes.push(format!("the jobs have `{}={set}`, by {name}", payer.option)),
            Some(planned) if planned != set => notes.push(format!(
                "the jobs have `{}={planned}`, as planned, and not `{set}` of {name}",
                payer.option
            )),
            Some(_) => {}
        }
    }
    unused.sort();
    if !unused.is_empty() {
        let names = display_text(&unused.join(", "), MAX_LETTERS);
        notes.push(format!("not used: {names}; `--slurm` has the options of the jobs"));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(options: &[&str], set: &[(&str, &str)]) -> Vec<String> {
        let options: Vec<String> = options.iter().map(|it| (*it).to_owned()).collect();
        let variable = |(name, value): &(&str, &str)| Variable {
            name: (*name).to_owned(),
            value: (*value).to_owned(),
        };
        notes(&options, set.iter().map(variable))
    }

    #[test]
    fn the_plan_s_payer_is_an_argument_and_another_one_is_told() {
        let options = ["partition=debug", "account=lab", "qos=high"].map(str::to_owned);
        assert_eq!(payer_arguments(&options), ["--account=lab", "--qos=high"]);
        assert_eq!(payer_arguments(&options[..1]), [""; 0]);
        let set = [("SBATCH_ACCOUNT", "ops"), ("SBATCH_QOS", "high"), ("PATH", "/bin")];
        assert_eq!(
            noted(&["account=lab", "qos=high"], &set),
            ["the jobs have `account=lab`, as planned, and not `ops` of SBATCH_ACCOUNT"]
        );
        assert_eq!(
            noted(&["time=5"], &set[..1]),
            ["the jobs have `account=ops`, by SBATCH_ACCOUNT"]
        );
    }

    #[test]
    fn other_options_of_sbatch_are_not_handed_on_and_this_is_told() {
        let set = [("SBATCH_WAIT", "1"), ("SBATCH_OUTPUT", "/x\u{1b}"), ("SQUEUE_STATES", "all")];
        assert_eq!(
            noted(&[], &set),
            ["not used: SBATCH_OUTPUT, SBATCH_WAIT; `--slurm` has the options of the jobs"]
        );
        assert!(set.iter().all(|(name, _)| changes_answers(name)));
        assert!(!changes_answers("SBATCH_ACCOUNT") && !changes_answers("SLURM_CONF"));
        assert!(changes_answers("SBATCH_ARRAY_INX") && changes_answers("SBATCH_PARTITION"));
    }
}
