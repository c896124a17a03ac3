//! The text after `slurm:`: which node is asked for, and how.

use thiserror::Error;

use super::slurm_options::{SlurmOptionError, SlurmOptions};
use super::srun_variables;

/// A request for one node, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmSpec {
    options: SlurmOptions,
}

/// Why the text after `slurm:` is invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SlurmSpecError {
    /// There is no such option.
    #[error("cannot read `slurm:{}`: `{}` is unknown", text.escape_debug(), name.escape_debug())]
    UnknownOption {
        /// The whole text.
        text: String,
        /// The name that was written.
        name: String,
    },
    /// Anything else that is wrong with it.
    #[error(
        "cannot read `slurm:{}`: {why}\n  hint: `slurm:[partition=NAME][,nodes=NODE]\
         [,account=NAME][,qos=NAME][,reservation=NAME][,constraint=FEATURES][,time=TIME]\
         [,mem=SIZE][,licenses=NAME][,exclusive]`",
        text.escape_debug()
    )]
    Invalid {
        /// The whole text.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A session is on one node, and what is asked for takes one session.
    #[error(
        "cannot measure at `slurm:{}`: it names {nodes} nodes, where one is meant\n  hint: \
         `nodes=NAME` names one; `oscost run`, `machine` and `doctor` take several, `oscost fleet \
         ab` compares at many, and `oscost fleet links` measures between them",
        text.escape_debug()
    )]
    SeveralNodes {
        /// The whole text.
        text: String,
        /// How many.
        nodes: u64,
    },
}

impl SlurmSpec {
    /// Reads `[partition=...][,nodes=...][,account=...]...`.
    pub fn parse(text: &str) -> Result<SlurmSpec, SlurmSpecError> {
        let written = || text.to_owned();
        let options = SlurmOptions::parse(text).map_err(|error| match error {
            SlurmOptionError::Unknown { name } => {
                SlurmSpecError::UnknownOption { text: written(), name }
            }
            SlurmOptionError::Invalid { why } => SlurmSpecError::Invalid { text: written(), why },
        })?;
        match options.node_count() {
            Some(nodes @ 2..) => Err(SlurmSpecError::SeveralNodes { text: written(), nodes }),
            _ => Ok(SlurmSpec { options }),
        }
    }

    /// The options of srun(1), an argument each.
    pub(super) fn arguments(&self) -> Vec<String> {
        self.options.arguments()
    }

    /// The variables that srun must not get, or they precede these options or oppose the session.
    pub(super) fn removed_variables(&self) -> Vec<&'static str> {
        srun_variables::removed(&self.options)
    }

    /// The options that srun takes from variables, each as `SLURM_ACCOUNT=ops`; `read` has the value
    /// of one that is set.
    pub fn variables_in_force(&self, read: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
        srun_variables::in_force(&self.options, read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_request_is_refused_with_the_syntax() {
        for (text, why) in [
            ("nodes=n[1-", "its brackets do not match"),
            ("partition=a b", "`a b` is not a value of `partition`"),
            ("exclusive=yes", "`exclusive` takes no value"),
        ] {
            let error = SlurmSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(
                error.contains("hint: `slurm:[partition=NAME][,nodes=NODE]"),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn an_unknown_option_is_named() {
        for (text, unknown) in [("partiton=debug", "partiton"), (",", ""), ("qos=a,wrap=x", "wrap")]
        {
            let error = SlurmSpec::parse(text).unwrap_err();
            let named = SlurmSpecError::UnknownOption { text: text.into(), name: unknown.into() };
            assert_eq!(error, named);
        }
    }

    #[test]
    fn several_nodes_are_no_single_request() {
        let error = SlurmSpec::parse("nodes=n[1,3-4]").unwrap_err().to_string();
        assert!(error.contains("it names 3 nodes, where one is meant"), "{error}");
        assert!(error.contains("`nodes=NAME` names one"), "{error}");
        let one = SlurmSpec::parse("partition=debug,nodes=n[7]").unwrap();
        assert_eq!(one.arguments(), ["--partition=debug", "--nodelist=n[7]"]);
    }
}
