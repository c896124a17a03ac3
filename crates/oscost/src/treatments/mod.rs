//! Treatments: parsed from text into instructions for the supervisor.
//!
//! Purpose: the table of all treatments, and parsing their values, seccomp profiles included. It
//! must not know how a treatment is applied, or to which process.

mod cgroup;
pub mod command_line;
mod cool;
mod error;
mod kinds;
mod ph;
pub mod seccomp;
mod suggestion;
mod values;

use oscost_model::call_names::Arch;
use oscost_model::target::{HOST_FORMS, Treatment};
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment, TreatmentSet};

use error::quote;

pub use cool::time_alone_like_cooled;
pub use error::TreatmentError;
pub use kinds::{KINDS, Kind, Mechanism};
pub use ph::{MONITOR_VERB, with_profile_folder, with_user_profiles};
pub use suggestion::did_you_mean;

/// The maximum number of treatments of a target.
const MAX_TREATMENTS: usize = 16;
/// The longest value: a path (PATH_MAX), or a long command.
const MAX_VALUE_BYTES: usize = 4_096;

/// Why a value is invalid, and the valid form.
struct InvalidValue {
    why: String,
    hint: String,
}

impl InvalidValue {
    fn new(why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { why: why.into(), hint: hint.into() }
    }
}

/// Parsed treatments, and notes about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedTreatments {
    /// The treatments.
    pub treatments: TreatmentSet,
    /// What readers of their figures may want to know, a sentence each.
    pub notes: Vec<String>,
}

/// Parses the treatments of a target for a machine of this architecture. Reads the files of seccomp
/// profiles.
pub fn parse(treatments: &[Treatment], arch: Arch) -> Result<TreatmentSet, TreatmentError> {
    parse_with_notes(treatments, arch).map(|parsed| parsed.treatments)
}

/// The same, with notes about them.
pub fn parse_with_notes(
    treatments: &[Treatment],
    arch: Arch,
) -> Result<ParsedTreatments, TreatmentError> {
    let mut parsed = ParsedTreatments::default();
    for (index, treatment) in treatments.iter().enumerate() {
        let refused = |InvalidValue { why, hint }| TreatmentError {
            act: format!("treat with `{}`", excerpt(treatment)),
            why,
            hint,
        };
        if index == MAX_TREATMENTS {
            let why = format!("a target has at most {MAX_TREATMENTS} treatments");
            return Err(refused(InvalidValue::new(why, "leave some of them out")));
        }
        let value = value_of(treatment).map_err(refused)?;
        if treatment.name == "seccomp" {
            let filter = seccomp::read(value, arch)?;
            parsed.notes.extend(filter.note);
            parsed.treatments.applied.push(AppliedTreatment::Seccomp { program: filter.program });
        } else {
            parse_one(&treatment.name, value, &mut parsed.treatments)
                .map_err(|why| refused(InvalidValue::new(why, usage(&treatment.name))))?;
        }
        if let Some(earlier) = treatments[..index].iter().find(|it| excludes(it, treatment)) {
            let why = format!("the target already has `{}`", excerpt(earlier));
            let hint = "a target has each kind of treatment once";
            return Err(refused(InvalidValue::new(why, hint)));
        }
    }
    Ok(parsed)
}

/// Whether two treatments exclude each other: most kinds can be applied once. The kernel stacks
/// filters, and there can be several loads and several variables.
fn excludes(one: &Treatment, other: &Treatment) -> bool {
    let variable = |it: &Treatment| {
        it.value.as_deref().and_then(|value| value.split_once('=')).map(|(name, _)| name.to_owned())
    };
    one.name == other.name
        && match one.name.as_str() {
            "antagonist" => false,
            "seccomp" | "ebpf" => one.value == other.value,
            "env" => variable(one) == variable(other),
            _ => true,
        }
}

/// A treatment as it was typed, for a message.
fn excerpt(treatment: &Treatment) -> String {
    quote(&treatment.to_string())
}

/// The value of a treatment; empty for kinds without one. Checks that the kind exists and whether
/// it takes a value.
fn value_of(treatment: &Treatment) -> Result<&str, InvalidValue> {
    let name = treatment.name.as_str();
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let suggestion = match (host_form(name), kind_with_value(name)) {
            (Some(form), _) => format!("; did you mean the host `{form}`?"),
            (None, Some(kind)) => format!("; did you mean {}={name}?", kind.name),
            (None, None) => did_you_mean(name, KINDS.iter().map(|kind| kind.name)),
        };
        let why = format!("there is no such treatment{suggestion}");
        let hint = format!("`oscost treat list` lists all treatments; hosts are {HOST_FORMS}");
        return Err(InvalidValue::new(why, hint));
    };
    let value = match (treatment.value.as_deref(), kind.value) {
        (Some(_), "") => return Err(InvalidValue::new("it takes no value", usage(name))),
        (None, "") => "",
        (None, _) => return Err(InvalidValue::new("it needs a value", usage(name))),
        (Some(""), _) => return Err(InvalidValue::new("its value is empty", usage(name))),
        (Some(value), _) => value,
    };
    if value.len() > MAX_VALUE_BYTES {
        let why = format!("a value has at most {MAX_VALUE_BYTES} bytes");
        let hint = "put what is longer into a file: a script for `cmd`, a profile for `seccomp`";
        return Err(InvalidValue::new(why, hint));
    }
    if value.chars().any(char::is_control) {
        let hint = "write it in one line, without tabs and escape sequences";
        return Err(InvalidValue::new("its value has a control character", hint));
    }
    Ok(value)
}

/// How a host is written that this word is the kind of.
fn host_form(word: &str) -> Option<&'static str> {
    match word {
        "ssh" => Some("ssh:HOST"),
        "vm" => Some("vm:KERNEL"),
        "slurm" => Some("slurm:"),
        "fake" => Some("fake:FILE"),
        _ => None,
    }
}

/// The kind that takes this word as its value: `seccomp` for `docker`.
fn kind_with_value(word: &str) -> Option<&'static Kind> {
    let takes_it = |kind: &&Kind| kind.value.split('|').any(|value| value == word);
    KINDS.iter().find(takes_it).filter(|_| !word.is_empty())
}

/// The syntax of a kind.
fn usage(name: &str) -> String {
    let kind = KINDS.iter().find(|kind| kind.name == name);
    match (kind.map_or("", |kind| kind.value), kind.and_then(Kind::modifies)) {
        ("", None) => format!("write `{name}` alone"),
        ("", Some(modified)) => format!("write `{modified}+{name}`"),
        (value, _) => format!("write `{name}={value}`"),
    }
}

/// Parses a treatment of a kind that needs no file.
fn parse_one(name: &str, value: &str, parsed: &mut TreatmentSet) -> Result<(), String> {
    let TreatmentSet { applied, attached } = parsed;
    match name {
        "seccomp-trace" => applied.push(AppliedTreatment::SeccompTrace),
        "seccomp-notify" => applied.push(AppliedTreatment::SeccompNotify),
        "ptrace" => applied.push(AppliedTreatment::Ptrace),
        "sud" => applied.push(AppliedTreatment::Sud),
        "ebpf" => attached.push(values::ebpf(value)?),
        "ftrace" => attached.push(AttachedTreatment::Ftrace),
        "ph" => attached.push(ph::ph()?),
        "trained" => ph::trained(attached)?,
        "respond" => ph::respond(attached)?,
        "clocksource" => attached.push(values::clocksource(value)?),
        "cgroup" => applied.push(AppliedTreatment::Cgroup { limits: cgroup::limits(value)? }),
        "nice" => applied.push(values::nice(value)?),
        "cool" => applied.push(cool::cool(value)?),
        "call" => applied.push(values::call(value)?),
        "env" => applied.push(values::env(value)?),
        "antagonist" => attached.push(values::antagonist(value)?),
        "cmd" => applied.push(AppliedTreatment::Wrapper { command: command_line::split(value)? }),
        // A test parses each kind of the table.
        other => return Err(format!("`{other}` is in the table, but cannot be parsed")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
