//! The text after `slurm:`: which node is asked for, and how.

use thiserror::Error;

use super::hostlist;

/// The names of the options.
pub const SLURM_OPTIONS: [&str; 8] =
    ["partition", "nodes", "account", "qos", "reservation", "constraint", "time", "exclusive"];

/// The option without a value.
const EXCLUSIVE: &str = "exclusive";
/// The option that names a node.
const NODES: &str = "nodes";

/// The longest value.
const MAX_VALUE_BYTES: usize = 256;

/// A request for one node, as it was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmSpec {
    /// The options in their order, checked.
    options: Vec<SlurmOption>,
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SlurmOption {
    name: &'static str,
    value: Option<String>,
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
         [,exclusive]`",
        text.escape_debug()
    )]
    Invalid {
        /// The whole text.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// A session is on one node.
    #[error(
        "cannot measure at `slurm:{}`: it names {nodes} nodes, and a run is on one\n  hint: \
         `oscost fleet run` measures many nodes; `nodes=NAME` names one",
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
        let invalid = |why: String| SlurmSpecError::Invalid { text: text.to_owned(), why };
        if text.is_empty() {
            return Ok(SlurmSpec::default());
        }
        let parts = hostlist::split_at_commas(text)
            .ok_or_else(|| invalid("its brackets do not match".to_owned()))?;
        let mut options: Vec<SlurmOption> = Vec::new();
        for part in parts {
            let option = SlurmOption::parse(part, text)?;
            if options.iter().any(|it| it.name == option.name) {
                return Err(invalid(format!("`{}` is given twice", option.name)));
            }
            options.push(option);
        }
        Ok(SlurmSpec { options })
    }

    /// The options of srun(1), an argument each.
    pub(super) fn arguments(&self) -> Vec<String> {
        let argument = |SlurmOption { name, value }: &SlurmOption| {
            let name = if *name == NODES { "nodelist" } else { *name };
            match value {
                Some(value) => format!("--{name}={value}"),
                None => format!("--{name}"),
            }
        };
        self.options.iter().map(argument).collect()
    }
}

impl SlurmOption {
    fn parse(part: &str, text: &str) -> Result<SlurmOption, SlurmSpecError> {
        let (written, value) = match part.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        let name = SLURM_OPTIONS.into_iter().find(|name| *name == written).ok_or_else(|| {
            SlurmSpecError::UnknownOption { text: text.to_owned(), name: written.to_owned() }
        })?;
        let nodes = value.filter(|_| name == NODES).and_then(hostlist::count);
        let is_good = match (name, value) {
            (EXCLUSIVE, value) => value.is_none(),
            (_, None) => false,
            (NODES, Some(_)) => nodes.is_some(),
            ("constraint", Some(value)) => has_only(value, "-_.&|*()[]:="),
            ("time", Some(value)) => has_only(value, "-:"),
            (_, Some(value)) => has_only(value, "-_."),
        };
        if !is_good || value.is_some_and(|value| value.len() > MAX_VALUE_BYTES) {
            let why = match (name, value) {
                (EXCLUSIVE, _) => "`exclusive` takes no value".to_owned(),
                (_, None) => format!("`{name}` takes a value"),
                (_, Some(value)) => {
                    format!("`{}` is not a value of `{name}`", value.escape_debug())
                }
            };
            return Err(SlurmSpecError::Invalid { text: text.to_owned(), why });
        }
        match nodes {
            Some(nodes @ 2..) => Err(SlurmSpecError::SeveralNodes { text: text.to_owned(), nodes }),
            _ => Ok(SlurmOption { name, value: value.map(str::to_owned) }),
        }
    }
}

/// Whether a value is made of letters, digits and these, and cannot be taken for an option.
fn has_only(value: &str, others: &str) -> bool {
    let is_good = |letter: char| letter.is_ascii_alphanumeric() || others.contains(letter);
    !value.is_empty() && !value.starts_with('-') && value.chars().all(is_good)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn options_become_arguments_of_srun() {
        let arguments = |text: &str| SlurmSpec::parse(text).unwrap().arguments();
        assert_eq!(arguments(""), [""; 0]);
        let all = "partition=debug,nodes=n[7],account=a_b,qos=high,reservation=r.1,\
                   constraint=[a&b,c],time=1-02:30:00,exclusive";
        // A comma in brackets belongs to the value; a feature has none.
        assert!(SlurmSpec::parse(all).is_err());
        assert_eq!(
            arguments(&all.replace(",c]", "|c]")),
            [
                "--partition=debug",
                "--nodelist=n[7]",
                "--account=a_b",
                "--qos=high",
                "--reservation=r.1",
                "--constraint=[a&b|c]",
                "--time=1-02:30:00",
                "--exclusive",
            ]
        );
    }

    #[test]
    fn an_invalid_request_is_refused_with_the_syntax() {
        for (text, why) in [
            ("nodes=n[1-", "its brackets do not match"),
            ("nodes=n1,nodes=n2", "`nodes` is given twice"),
            ("nodes=n;1", "`n;1` is not a value of `nodes`"),
            ("nodes=", "`` is not a value of `nodes`"),
            ("partition", "`partition` takes a value"),
            ("partition=a b", "`a b` is not a value of `partition`"),
            ("partition=--wrap", "`--wrap` is not a value"),
            ("account=a\nb", "`a\\nb` is not a value"),
            ("time=soon;", "is not a value of `time`"),
            ("exclusive=yes", "`exclusive` takes no value"),
        ] {
            let error = SlurmSpec::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(
                error.contains("hint: `slurm:[partition=NAME][,nodes=NODE]"),
                "{text}: {error}"
            );
        }
        assert!(SlurmSpec::parse(&format!("account={}", "x".repeat(300))).is_err());
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
    fn several_nodes_are_for_a_fleet() {
        let error = SlurmSpec::parse("nodes=n[1,3-4]").unwrap_err().to_string();
        assert!(error.contains("it names 3 nodes, and a run is on one"), "{error}");
        assert!(error.contains("oscost fleet run"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}|[a-z0-9=,\\[\\]-]{0,40}") {
            let _ = SlurmSpec::parse(&text);
        }

        #[test]
        fn an_argument_is_one_option(text in "(nodes|partition|constraint|time)=\\PC{0,12}") {
            if let Ok(spec) = SlurmSpec::parse(&text) {
                prop_assert!(spec.arguments().iter().all(|it| {
                    it.starts_with("--") && it.bytes().all(|byte| (b'!'..=b'~').contains(&byte))
                }));
            }
        }
    }
}
