//! The options of jobs: `partition=debug,account=lab`, as targets spell them.

use crate::app::error::UsageError;

/// The options of sbatch(1) that a fleet may set. Where, when and on how many nodes a task runs is the
/// plan's.
const KEYS: [&str; 9] = [
    "partition",
    "account",
    "qos",
    "reservation",
    "constraint",
    "time",
    "mem",
    "licenses",
    "clusters",
];

/// Options of a fleet's jobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SlurmOptions {
    /// Options of sbatch(1), each as `partition=debug`.
    pub(crate) options: Vec<String>,
    /// The nodes, as a host list; all of the partition if there is none.
    pub(crate) nodes: Option<String>,
}

impl SlurmOptions {
    /// Parses options that are separated by commas; those in brackets separate nodes.
    pub fn parse(text: &str) -> Result<Self, UsageError> {
        let mut parsed = Self::default();
        for part in split_outside_brackets(text).filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("nodes", nodes)) => parsed.set_nodes(nodes)?,
                Some((key, value)) if KEYS.contains(&key) && is_value(value) => {
                    parsed.options.push(part.to_owned());
                }
                Some((key, _)) if KEYS.contains(&key) => {
                    return Err(UsageError(format!(
                        "`{}` is not an option of a job: its value has other characters than \
                         letters, digits and `._:+&|%/-`",
                        part.escape_debug()
                    )));
                }
                // The default.
                None if part == "exclusive" => {}
                _ => {
                    let what = format!("`{}` is not an option of a job", part.escape_debug());
                    let hint = format!("options are `nodes=LIST` and {}", KEYS.join(", "));
                    return Err(UsageError::with_hint(&what, &hint));
                }
            }
        }
        Ok(parsed)
    }

    /// Sets the nodes.
    pub fn set_nodes(&mut self, list: &str) -> Result<(), UsageError> {
        let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.,[]".contains(&byte);
        if list.is_empty() || list.starts_with('-') || !list.bytes().all(good) {
            return Err(UsageError::with_hint(
                &format!("`{}` is not a list of nodes", list.escape_debug()),
                "Slurm's host lists are like `n[1-4,7],login1`",
            ));
        }
        self.nodes = Some(list.to_owned());
        Ok(())
    }

    /// The value of an option.
    pub(crate) fn value(&self, key: &str) -> Option<&str> {
        value(&self.options, key)
    }
}

/// The value of an option in a list of them.
pub(crate) fn value<'a>(options: &'a [String], key: &str) -> Option<&'a str> {
    let of_key = |option: &'a String| option.strip_prefix(key)?.strip_prefix('=');
    options.iter().find_map(of_key)
}

/// Whether the options of a plan are such as are written into a batch script.
pub(crate) fn are_valid(options: &[String]) -> bool {
    options.iter().all(|option| {
        let parts = option.split_once('=');
        parts.is_some_and(|(key, value)| KEYS.contains(&key) && is_value(value))
    })
}

/// Whether a value can be part of a line of a batch script.
fn is_value(value: &str) -> bool {
    const MAX_BYTES: usize = 200;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"._:+&|%/-".contains(&byte);
    !value.is_empty() && value.len() <= MAX_BYTES && value.bytes().all(good)
}

fn split_outside_brackets(text: &str) -> impl Iterator<Item = &str> {
    let mut depth = 0_i32;
    text.split(move |letter: char| {
        match letter {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        letter == ',' && depth == 0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_those_of_sbatch_and_a_list_of_nodes() {
        let parsed = SlurmOptions::parse("partition=debug,nodes=n[1-4,7],time=1:00:00,exclusive");
        let parsed = parsed.unwrap();
        assert_eq!(parsed.options, ["partition=debug", "time=1:00:00"]);
        assert_eq!(parsed.nodes.as_deref(), Some("n[1-4,7]"));
        assert_eq!(parsed.value("time"), Some("1:00:00"));
        assert_eq!(parsed.value("tim"), None);
        assert!(are_valid(&parsed.options));
        assert_eq!(SlurmOptions::parse("").unwrap(), SlurmOptions::default());
    }

    #[test]
    fn nothing_reaches_a_script_that_is_no_option() {
        for text in [
            "partition=a b",
            "partition=a;reboot",
            "partition=$(x)",
            "partition=",
            "wrap=reboot",
            "--wrap=x",
            "partition",
            "account=a\nb",
            "nodes=-w",
            "nodes=a b",
        ] {
            assert!(SlurmOptions::parse(text).is_err(), "{text:?}");
        }
        assert!(!are_valid(&["output=/etc/passwd".to_owned()]));
    }
}
