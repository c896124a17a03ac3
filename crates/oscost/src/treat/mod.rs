//! Treatments: what their texts ask for, made ready for the supervisor to do.
//!
//! What this room is for: the table of all treatments, and their values read, seccomp profiles
//! included. What it may not know: how anything is done to a process or a system, and to which.

mod cgroup;
pub mod seccomp;
mod values;
mod words;

use oscost_model::call_names::Arch;
use oscost_model::place::Treatment;
use oscost_model::treatment::{Applied, Attached, Treated};
use thiserror::Error;

/// As many treatments as a place may have.
const MOST_TREATMENTS: usize = 16;
/// The longest value: a path of the kernel's (PATH_MAX), or a long command.
const LONGEST_VALUE: usize = 4_096;

/// How a treatment is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    /// To a process that runs, by itself or by one beside it.
    Applied,
    /// To the whole system, while something is measured.
    Attached,
    /// To a program as it is started.
    Wraps,
}

impl Manner {
    /// The word for it.
    pub fn text(self) -> &'static str {
        match self {
            Manner::Applied => "applied",
            Manner::Attached => "attached",
            Manner::Wraps => "wraps",
        }
    }
}

/// A kind of treatment, as it is told to people.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// What stands behind `=`: words that are typed as they are, and in capitals what to put in;
    /// empty where there is no value.
    pub value: &'static str,
    /// What it does.
    pub does: &'static str,
    /// What it needs; empty for nothing.
    pub needs: &'static str,
    /// How it is done.
    pub manner: Manner,
}

/// Every treatment that there is.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "seccomp",
        value: "allow|docker|FILE",
        does: "a filter of system calls: all allowed, docker's shape, or an OCI profile",
        needs: "",
        manner: Manner::Applied,
    },
    Kind {
        name: "seccomp-trace",
        value: "",
        does: "a filter that stops each call once, for a tracer",
        needs: "ptrace",
        manner: Manner::Applied,
    },
    Kind {
        name: "seccomp-notify",
        value: "",
        does: "a filter that asks another process about each call; it lets all go on",
        needs: "Linux 5.6",
        manner: Manner::Applied,
    },
    Kind {
        name: "ptrace",
        value: "",
        does: "a tracer that stops each call at its entry and its exit, as strace does",
        needs: "ptrace",
        manner: Manner::Applied,
    },
    Kind {
        name: "sud",
        value: "",
        does: "Syscall User Dispatch, with a selector that lets every call through",
        needs: "Linux 5.11, x86-64",
        manner: Manner::Applied,
    },
    Kind {
        name: "ebpf",
        value: "empty|count",
        does: "an eBPF program at each call of all processes: does nothing, or counts",
        needs: "root (CAP_BPF, CAP_PERFMON)",
        manner: Manner::Attached,
    },
    Kind {
        name: "ftrace",
        value: "",
        does: "each call of all processes is written to a trace buffer, entry and exit",
        needs: "root, tracefs",
        manner: Manner::Attached,
    },
    Kind {
        name: "clocksource",
        value: "NAME",
        does: "another clock source of the kernel's; clock reads may then enter it",
        needs: "root",
        manner: Manner::Attached,
    },
    Kind {
        name: "cgroup",
        value: "own|cpu:N%,memory:N[K|M|G],pids:N",
        does: "a control group of its own, with limits where some are named",
        needs: "root, or a delegated group",
        manner: Manner::Applied,
    },
    Kind {
        name: "nice",
        value: "N",
        does: "a nice value, -20 to 19, added to its own",
        needs: "below 0: root (CAP_SYS_NICE)",
        manner: Manner::Applied,
    },
    Kind {
        name: "env",
        value: "NAME=VALUE",
        does: "a variable of its environment",
        needs: "",
        manner: Manner::Wraps,
    },
    Kind {
        name: "antagonist",
        value: "cpu|memory|syscalls[:same|:other]",
        does: "a noisy neighbour, on another CPU or the same one",
        needs: "",
        manner: Manner::Attached,
    },
    Kind {
        name: "cmd",
        value: "WRAPPER",
        does: "a program of yours that starts it: strace, a container runtime",
        needs: "the program; reach local",
        manner: Manner::Wraps,
    },
];

/// Words that ask for no treatment that can be done.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("cannot {act}: {why}{}", hinted(.hint))]
pub struct TreatError {
    /// What cannot be done.
    pub act: String,
    /// What is wrong.
    pub why: String,
    /// What would be right; empty where `why` says it.
    pub hint: String,
}

fn hinted(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("\n  hint: {hint}") }
}

/// What is wrong with a value, and what would be right.
type Wrong = (String, String);

/// What treatments come to, and what there is to say about them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Read {
    /// What is to be done.
    pub treated: Treated,
    /// What a reader of their figures may want to know, a sentence each.
    pub notes: Vec<String>,
}

/// Reads what a place's treatments ask for, to be done on a machine of this kind. Files of profiles
/// are read here.
pub fn read(treatments: &[Treatment], arch: Arch) -> Result<Treated, TreatError> {
    read_with_notes(treatments, arch).map(|read| read.treated)
}

/// The same, with what there is to say about them.
pub fn read_with_notes(treatments: &[Treatment], arch: Arch) -> Result<Read, TreatError> {
    let mut read = Read::default();
    for (index, treatment) in treatments.iter().enumerate() {
        let refused = |(why, hint): Wrong| TreatError {
            act: format!("treat with `{}`", shown(treatment)),
            why,
            hint,
        };
        if index == MOST_TREATMENTS {
            let why = format!("a place has at most {MOST_TREATMENTS} treatments");
            return Err(refused((why, String::new())));
        }
        let value = value_of(treatment).map_err(refused)?;
        if treatment.name == "seccomp" {
            let filter = seccomp::read(value, arch)?;
            read.notes.extend(filter.note);
            read.treated.applied.push(Applied::Seccomp { program: filter.program });
        } else {
            one(&treatment.name, value, &mut read.treated)
                .map_err(|why| refused((why, usage(&treatment.name))))?;
        }
        if let Some(earlier) = treatments[..index].iter().find(|it| excludes(it, treatment)) {
            let why = format!("the place has `{}` already", shown(earlier));
            return Err(refused((why, "each of a kind stands once in a place".to_owned())));
        }
    }
    Ok(read)
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
fn shown(treatment: &Treatment) -> String {
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
fn did_you_mean<'a>(typed: &str, known: impl IntoIterator<Item = &'a str>) -> String {
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
            "`oscost treat list` has them all; reaches are `local`, `ssh:HOST`".to_owned(),
        ));
    };
    let value = match (treatment.value.as_deref(), kind.value) {
        (Some(_), "") => return Err(("it takes no value".to_owned(), usage(name))),
        (None, "") => "",
        (None, _) => return Err(("it needs a value".to_owned(), usage(name))),
        (Some(""), _) => return Err(("its value is empty".to_owned(), usage(name))),
        (Some(value), _) => value,
    };
    if value.len() > LONGEST_VALUE {
        return Err((format!("a value has at most {LONGEST_VALUE} bytes"), String::new()));
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
fn one(name: &str, value: &str, treated: &mut Treated) -> Result<(), String> {
    let Treated { applied, attached } = treated;
    match name {
        "seccomp-trace" => applied.push(Applied::SeccompTrace),
        "seccomp-notify" => applied.push(Applied::SeccompNotify),
        "ptrace" => applied.push(Applied::Ptrace),
        "sud" => applied.push(Applied::Sud),
        "ebpf" => attached.push(values::ebpf(value)?),
        "ftrace" => attached.push(Attached::Ftrace),
        "clocksource" => attached.push(values::clocksource(value)?),
        "cgroup" => applied.push(Applied::Cgroup { limits: cgroup::limits(value)? }),
        "nice" => applied.push(values::nice(value)?),
        "env" => applied.push(values::env(value)?),
        "antagonist" => attached.push(values::antagonist(value)?),
        "cmd" => applied.push(Applied::Wrapper { command: words::split(value)? }),
        // A test reads each kind of the table.
        other => return Err(format!("`{other}` is in the table, and nowhere else")),
    }
    Ok(())
}

#[cfg(test)]
mod tests;
