//! Treatments: parsed from text into instructions for the supervisor.
//!
//! Purpose: the table of all treatments, and parsing their values, seccomp profiles included. It
//! must not know how a treatment is applied, or to which process.

mod cgroup;
pub mod command_line;
mod kinds;
pub mod seccomp;
mod values;

use oscost_model::call_names::Arch;
use oscost_model::target::Treatment;
use oscost_model::treatment::{AppliedTreatment, AttachedTreatment, TreatmentSet};
use thiserror::Error;

pub use kinds::{KINDS, Kind, Mechanism};

/// The maximum number of treatments of a target.
const MAX_TREATMENTS: usize = 16;
/// What has the holder of a monitor begin without profiles, and keep none.
const FRESH_FLAG: &str = "--fresh";
/// What has it begin with the user's, and leave them as they are.
const UNCHANGED_FLAG: &str = "--unchanged";
/// The longest value: a path of the kernel's (PATH_MAX), or a long command.
const MAX_VALUE_BYTES: usize = 4_096;

/// Words that ask for no treatment that can be done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {act}: {why}{}", hint_line(.hint))]
pub struct TreatmentError {
    /// What cannot be done.
    pub act: String,
    /// What is wrong.
    pub why: String,
    /// What would be right; empty where `why` says it.
    pub hint: String,
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") }
}

/// What is wrong with a value, and what would be right.
type Wrong = (String, String);

/// What treatments come to, and what there is to say about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedTreatments {
    /// What is to be done.
    pub treatments: TreatmentSet,
    /// What a reader of their figures may want to know, a sentence each.
    pub notes: Vec<String>,
}

/// Reads what a place's treatments ask for, to be done on a machine of this kind. Files of profiles
/// are read here.
pub fn parse(treatments: &[Treatment], arch: Arch) -> Result<TreatmentSet, TreatmentError> {
    parse_with_notes(treatments, arch).map(|read| read.treatments)
}

/// The same, with what there is to say about them.
pub fn parse_with_notes(
    treatments: &[Treatment],
    arch: Arch,
) -> Result<ParsedTreatments, TreatmentError> {
    let mut read = ParsedTreatments::default();
    for (index, treatment) in treatments.iter().enumerate() {
        let refused = |(why, hint): Wrong| TreatmentError {
            act: format!("treat with `{}`", excerpt(treatment)),
            why,
            hint,
        };
        if index == MAX_TREATMENTS {
            let why = format!("a target has at most {MAX_TREATMENTS} treatments");
            return Err(refused((why, String::new())));
        }
        let value = value_of(treatment).map_err(refused)?;
        if treatment.name == "seccomp" {
            let filter = seccomp::read(value, arch)?;
            read.notes.extend(filter.note);
            read.treatments.applied.push(AppliedTreatment::Seccomp { program: filter.program });
        } else {
            parse_one(&treatment.name, value, &mut read.treatments)
                .map_err(|why| refused((why, usage(&treatment.name))))?;
        }
        if let Some(earlier) = treatments[..index].iter().find(|it| excludes(it, treatment)) {
            let why = format!("the target already has `{}`", excerpt(earlier));
            return Err(refused((why, "a target has each kind of treatment once".to_owned())));
        }
    }
    Ok(read)
}

/// The same with the user's own profiles, which a monitor goes on with and keeps.
pub fn with_user_profiles(mut treated: TreatmentSet) -> TreatmentSet {
    for attached in &mut treated.attached {
        if let AttachedTreatment::Ph { monitor_command: holder } = attached {
            holder.retain(|word| word != FRESH_FLAG);
        }
    }
    treated
}

/// The same with the folder of the user's profiles, for a monitor that begins with them: where it
/// is started nobody knows whose they are.
pub fn with_profile_folder<E>(
    mut treated: TreatmentSet,
    folder: impl Fn() -> Result<String, E>,
) -> Result<TreatmentSet, E> {
    for attached in &mut treated.attached {
        if let AttachedTreatment::Ph { monitor_command: holder } = attached {
            for word in holder.iter_mut().filter(|word| *word == UNCHANGED_FLAG) {
                *word = format!("{UNCHANGED_FLAG}={}", folder()?);
            }
        }
    }
    Ok(treated)
}

/// Whether two treatments cannot both be done: most are themselves no second time. Filters are
/// stacked by the kernel, neighbours can be several, and so can variables of different names.
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

/// A treatment as it was typed, for a message: bounded, and without control characters.
fn excerpt(treatment: &Treatment) -> String {
    quoted(&treatment.to_string())
}

/// Somebody else's text, for a message: bounded, and without control characters.
fn quoted(text: &str) -> String {
    shortened(text, 60)
}

/// The same of so many characters at most.
fn shortened(text: &str, longest: usize) -> String {
    let mut shown: String = text.chars().take(longest).collect();
    if shown.len() < text.len() {
        shown += "...";
    }
    shown.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// `; did you mean ...?` where one of these is close to what was typed, else nothing.
pub fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    const CLOSE: f64 = 0.8;
    let typed: String = typed.chars().take(64).collect();
    let closeness = |name: &str| strsim::jaro_winkler(name, &typed);
    let best = known.into_iter().max_by(|one, other| closeness(one).total_cmp(&closeness(other)));
    match best.filter(|best| closeness(best) >= CLOSE) {
        Some(best) => format!("; did you mean {best}?"),
        None => String::new(),
    }
}

/// The value of a treatment that there is: what its kind says, none or some.
fn value_of(treatment: &Treatment) -> Result<&str, Wrong> {
    let name = treatment.name.as_str();
    let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
        let like = did_you_mean(name, KINDS.iter().map(|kind| kind.name));
        let why = format!("there is no such treatment{like}");
        return Err((
            why,
            "`oscost treat list` lists all of them; hosts are `local`, `ssh:HOST`".to_owned(),
        ));
    };
    let value = match (treatment.value.as_deref(), kind.value) {
        (Some(_), "") => return Err(("it takes no value".to_owned(), usage(name))),
        (None, "") => "",
        (None, _) => return Err(("it needs a value".to_owned(), usage(name))),
        (Some(""), _) => return Err(("its value is empty".to_owned(), usage(name))),
        (Some(value), _) => value,
    };
    if value.len() > MAX_VALUE_BYTES {
        return Err((format!("a value has at most {MAX_VALUE_BYTES} bytes"), String::new()));
    }
    if value.chars().any(char::is_control) {
        return Err(("its value has a control character".to_owned(), String::new()));
    }
    Ok(value)
}

/// How a kind is written.
fn usage(name: &str) -> String {
    match KINDS.iter().find(|kind| kind.name == name).map_or("", |kind| kind.value) {
        "" => format!("write `{name}` alone"),
        value => format!("write `{name}={value}`"),
    }
}

/// Reads a treatment of any kind that needs no file.
fn parse_one(name: &str, value: &str, treated: &mut TreatmentSet) -> Result<(), String> {
    let TreatmentSet { applied, attached } = treated;
    match name {
        "seccomp-trace" => applied.push(AppliedTreatment::SeccompTrace),
        "seccomp-notify" => applied.push(AppliedTreatment::SeccompNotify),
        "ptrace" => applied.push(AppliedTreatment::Ptrace),
        "sud" => applied.push(AppliedTreatment::Sud),
        "ebpf" => attached.push(values::ebpf(value)?),
        "ftrace" => attached.push(AttachedTreatment::Ftrace),
        "ph" => attached.push(values::ph()?),
        "trained" => values::trained(attached)?,
        "respond" => values::respond(attached)?,
        "clocksource" => attached.push(values::clocksource(value)?),
        "cgroup" => applied.push(AppliedTreatment::Cgroup { limits: cgroup::limits(value)? }),
        "nice" => applied.push(values::nice(value)?),
        "env" => applied.push(values::env(value)?),
        "antagonist" => attached.push(values::antagonist(value)?),
        "cmd" => applied.push(AppliedTreatment::Wrapper { command: command_line::split(value)? }),
        // A test reads each kind of the table.
        other => return Err(format!("`{other}` is in the table, and nowhere else")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
