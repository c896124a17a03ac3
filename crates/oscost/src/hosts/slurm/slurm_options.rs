//! Options of a job of Slurm: `partition=debug,nodes=n[1-4],exclusive`.
//!
//! They become arguments of srun(1) and lines of a batch script. Each value is made of letters that
//! neither of these, nor a shell between, takes for anything else.

use thiserror::Error;

use super::hostlist;

/// The names of the options.
pub const SLURM_OPTIONS: [&str; 10] = [
    "partition",
    "nodes",
    "account",
    "qos",
    "reservation",
    "constraint",
    "time",
    "mem",
    "licenses",
    EXCLUSIVE,
];

/// The option without a value.
const EXCLUSIVE: &str = "exclusive";
/// The option that names nodes.
const NODES: &str = "nodes";

/// The longest value.
const MAX_VALUE_BYTES: usize = 256;
/// A list of nodes of a thousand racks.
const MAX_LIST_BYTES: usize = 16 << 10;

/// Options of a job, as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmOptions {
    /// The options in their order, each once, checked.
    options: Vec<SlurmOption>,
}

/// An option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SlurmOption {
    name: &'static str,
    value: Option<String>,
}

/// Why options are invalid.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SlurmOptionError {
    /// There is no such option.
    #[error(
        "`{}` is not an option of a job\n  hint: the options are `{}`",
        name.escape_debug(),
        SLURM_OPTIONS.join("`, `")
    )]
    Unknown {
        /// The name that was written.
        name: String,
    },
    /// Anything else that is wrong with them.
    #[error("{why}")]
    Invalid {
        /// What is wrong.
        why: String,
    },
}

impl SlurmOptions {
    /// Parses options that are separated by commas; those in brackets separate nodes.
    pub fn parse(text: &str) -> Result<SlurmOptions, SlurmOptionError> {
        let mut parsed = SlurmOptions::default();
        if text.is_empty() {
            return Ok(parsed);
        }
        let parts = hostlist::split_at_commas(text)
            .ok_or_else(|| invalid("its brackets do not match".to_owned()))?;
        for part in parts {
            let option = SlurmOption::parse(part)?;
            if parsed.options.iter().any(|it| it.name == option.name) {
                return Err(invalid(format!("`{}` is given twice", option.name)));
            }
            parsed.options.push(option);
        }
        Ok(parsed)
    }

    /// The nodes, as a host list.
    pub fn nodes(&self) -> Option<&str> {
        self.value(NODES)
    }

    /// Sets the nodes, whichever were named before. Commas separate them.
    pub fn set_nodes(&mut self, list: &str) -> Result<(), SlurmOptionError> {
        if list.len() > MAX_LIST_BYTES || hostlist::count(list).is_none() {
            return Err(invalid(format!(
                "`{}` is not a list of nodes\n  hint: Slurm's host lists are like `n[1-4,7],login1`",
                list.escape_debug()
            )));
        }
        self.options.retain(|it| it.name != NODES);
        self.options.push(SlurmOption { name: NODES, value: Some(list.to_owned()) });
        Ok(())
    }

    /// The names of the nodes, without asking Slurm; `None` if none are named, or more than `max`.
    pub fn node_names(&self, max: u64) -> Option<Vec<String>> {
        hostlist::names(self.nodes()?, max)
    }

    /// How many nodes are named; `None` if none are.
    pub fn node_count(&self) -> Option<u64> {
        self.nodes().and_then(hostlist::count)
    }

    /// The value of an option.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|it| it.name == name)?.value.as_deref()
    }

    /// Whether an option is given.
    pub fn has(&self, name: &str) -> bool {
        self.options.iter().any(|it| it.name == name)
    }

    /// The options, each as `partition=debug`, without those that say where a job is alone.
    pub fn of_any_node(&self) -> Vec<String> {
        let written = |SlurmOption { name, value }: &SlurmOption| {
            let value = value.as_ref().filter(|_| *name != NODES)?;
            Some(format!("{name}={value}"))
        };
        self.options.iter().filter_map(written).collect()
    }

    /// The options as they are written, at one of the nodes that they name.
    pub fn at_node(&self, node: &str) -> String {
        let written = |SlurmOption { name, value }: &SlurmOption| match value {
            Some(_) if *name == NODES => format!("{NODES}={node}"),
            Some(value) => format!("{name}={value}"),
            None => (*name).to_owned(),
        };
        self.options.iter().map(written).collect::<Vec<_>>().join(",")
    }

    /// Whether each of these texts is an option that [`SlurmOptions::of_any_node`] may return.
    pub fn are_of_any_node(options: &[String]) -> bool {
        let is_option = |text: &String| {
            SlurmOption::parse(text).is_ok_and(|it| ![NODES, EXCLUSIVE].contains(&it.name))
        };
        options.iter().all(is_option)
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
    fn parse(part: &str) -> Result<SlurmOption, SlurmOptionError> {
        let (written, value) = match part.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (part, None),
        };
        let name = SLURM_OPTIONS
            .into_iter()
            .find(|name| *name == written)
            .ok_or_else(|| SlurmOptionError::Unknown { name: written.to_owned() })?;
        let is_good = match (name, value) {
            (EXCLUSIVE, value) => value.is_none(),
            (_, None) => false,
            (NODES, Some(value)) => hostlist::count(value).is_some(),
            ("constraint", Some(value)) => has_only(value, "-_.&|*()[]:="),
            ("time", Some(value)) => has_only(value, "-:"),
            ("licenses", Some(value)) => has_only(value, "-_.:@/"),
            ("mem", Some(value)) => has_only(value, "."),
            (_, Some(value)) => has_only(value, "-_.+"),
        };
        if is_good && value.is_none_or(|value| value.len() <= MAX_VALUE_BYTES) {
            return Ok(SlurmOption { name, value: value.map(str::to_owned) });
        }
        Err(invalid(match (name, value) {
            (EXCLUSIVE, _) => "`exclusive` takes no value".to_owned(),
            (_, None) => format!("`{name}` takes a value"),
            (_, Some(value)) => format!("`{}` is not a value of `{name}`", value.escape_debug()),
        }))
    }
}

fn invalid(why: String) -> SlurmOptionError {
    SlurmOptionError::Invalid { why }
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
        let arguments = |text: &str| SlurmOptions::parse(text).unwrap().arguments();
        assert_eq!(arguments(""), [""; 0]);
        let all = "partition=debug,nodes=n[7],account=a_b,qos=high,reservation=r.1,\
                   constraint=[a&b,c],time=1-02:30:00,mem=16G,licenses=fs:2,exclusive";
        // A comma in brackets belongs to the value; a feature has none.
        assert!(SlurmOptions::parse(all).is_err());
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
                "--mem=16G",
                "--licenses=fs:2",
                "--exclusive",
            ]
        );
    }

    #[test]
    fn the_options_of_a_fleet_are_those_of_any_node() {
        let parsed = "partition=debug,nodes=n[1-4,7],time=1:00:00,exclusive";
        let mut parsed = SlurmOptions::parse(parsed).unwrap();
        let options = parsed.of_any_node();
        assert_eq!(options, ["partition=debug", "time=1:00:00"]);
        assert!(SlurmOptions::are_of_any_node(&options));
        assert_eq!((parsed.nodes(), parsed.node_count()), (Some("n[1-4,7]"), Some(5)));
        assert_eq!(parsed.at_node("n7"), "partition=debug,nodes=n7,time=1:00:00,exclusive");
        assert_eq!((parsed.value("time"), parsed.value("tim")), (Some("1:00:00"), None));
        parsed.set_nodes("n1,login[1-2]").unwrap();
        assert_eq!((parsed.nodes(), parsed.node_count()), (Some("n1,login[1-2]"), Some(3)));
        assert_eq!(parsed.node_names(3).unwrap(), ["n1", "login1", "login2"]);
        assert_eq!([parsed.node_names(2), SlurmOptions::default().node_names(2)], [None, None]);
        for list in ["", "-w", "a b", "n[1", "$(x)"] {
            assert!(parsed.set_nodes(list).is_err(), "{list}");
        }
        for stranger in ["output=/etc/passwd", "nodes=n1", "exclusive", "qos=a b", "qos=a,b", ""] {
            assert!(!SlurmOptions::are_of_any_node(&[stranger.to_owned()]), "{stranger}");
        }
    }

    #[test]
    fn invalid_options_are_refused_with_the_reason() {
        for (text, why) in [
            ("nodes=n[1-", "its brackets do not match"),
            ("nodes=n1,nodes=n2", "`nodes` is given twice"),
            ("nodes=n;1", "`n;1` is not a value of `nodes`"),
            ("nodes=", "`` is not a value of `nodes`"),
            ("partition", "`partition` takes a value"),
            ("partition=a b", "`a b` is not a value of `partition`"),
            ("partition=a;reboot", "`a;reboot` is not a value of `partition`"),
            ("partition=$(x)", "`$(x)` is not a value of `partition`"),
            ("partition=--wrap", "`--wrap` is not a value"),
            ("account=a\nb", "`a\\nb` is not a value"),
            ("time=soon;", "is not a value of `time`"),
            ("mem=1 G", "is not a value of `mem`"),
            ("exclusive=yes", "`exclusive` takes no value"),
            (
                "wrap=reboot",
                "`wrap` is not an option of a job\n  hint: the options are `partition`",
            ),
            ("--wrap=x", "`--wrap` is not an option of a job"),
        ] {
            let error = SlurmOptions::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
        assert!(SlurmOptions::parse(&format!("account={}", "x".repeat(300))).is_err());
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}|[a-z0-9=,\\[\\]-]{0,40}") {
            let _ = SlurmOptions::parse(&text);
        }

        #[test]
        fn an_argument_is_one_option(text in "(nodes|partition|constraint|time|mem)=\\PC{0,12}") {
            if let Ok(options) = SlurmOptions::parse(&text) {
                let is_plain = |it: &String| {
                    it.starts_with("--") && it.bytes().all(|byte| (b'!'..=b'~').contains(&byte))
                };
                prop_assert!(options.arguments().iter().all(is_plain));
            }
        }
    }
}
