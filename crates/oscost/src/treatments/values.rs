//! The short values of treatments. Errors are the reason why a value is invalid.

use oscost_model::raw_call::RawCall;
use oscost_model::treatment::{AntagonistLoad, AppliedTreatment, AttachedTreatment};

use super::error::quote;
use super::suggestion::did_you_mean;

/// `empty|count`.
pub(super) fn ebpf(value: &str) -> Result<AttachedTreatment, String> {
    match value {
        "empty" => Ok(AttachedTreatment::Ebpf { counts: false }),
        "count" => Ok(AttachedTreatment::Ebpf { counts: true }),
        _ => Err(not_one_of("program", value, &["empty", "count"])),
    }
}

/// The name of a clock source, which is written to a file of sysfs. The machine decides whether it
/// exists.
pub(super) fn clocksource(value: &str) -> Result<AttachedTreatment, String> {
    /// CS_NAME_LEN without the terminating zero.
    const MAX_BYTES: usize = 31;
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if value.len() > MAX_BYTES || !value.bytes().all(is_allowed) {
        return Err("a clock source's name has up to 31 letters, digits and `-_.`".to_owned());
    }
    Ok(AttachedTreatment::Clocksource { name: value.to_owned() })
}

/// -20 to 19.
pub(super) fn nice(value: &str) -> Result<AppliedTreatment, String> {
    match value.parse() {
        Ok(increment @ -20..=19) => Ok(AppliedTreatment::Nice { increment }),
        _ => Err(format!("`{}` is not an integer from -20 to 19", quote(value))),
    }
}

/// `inline|function`.
pub(super) fn call(value: &str) -> Result<AppliedTreatment, String> {
    match RawCall::parse(value) {
        Some(how) => Ok(AppliedTreatment::Call { how }),
        None => Err(not_one_of("way to make a call", value, &RawCall::ALL.map(RawCall::text))),
    }
}

/// `NAME=VALUE`, where the value may be empty.
pub(super) fn env(value: &str) -> Result<AppliedTreatment, String> {
    let Some((name, value)) = value.split_once('=') else {
        return Err("a variable is NAME=VALUE".to_owned());
    };
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty()
        || name.starts_with(|it: char| it.is_ascii_digit())
        || !name.bytes().all(is_allowed)
    {
        return Err(format!("`{}` is not a variable name", quote(name)));
    }
    if ["OSCOST_PADDING", "TMPDIR"].contains(&name) {
        return Err(format!("`{name}` is reserved for workers"));
    }
    Ok(AppliedTreatment::Env { name: name.to_owned(), value: value.to_owned() })
}

/// `cpu|memory|syscalls[:same|:other]`.
pub(super) fn antagonist(value: &str) -> Result<AttachedTreatment, String> {
    let (load, cpu) = value.split_once(':').unwrap_or((value, "other"));
    let load = match load {
        "cpu" => AntagonistLoad::Cpu,
        "memory" => AntagonistLoad::Memory,
        "syscalls" => AntagonistLoad::Syscalls,
        _ => return Err(not_one_of("load", load, &["cpu", "memory", "syscalls"])),
    };
    let same_cpu = match cpu {
        "same" => true,
        "other" => false,
        _ => return Err(not_one_of("CPU for a load", cpu, &["same", "other"])),
    };
    Ok(AttachedTreatment::Antagonist { load, same_cpu })
}

fn not_one_of(what: &str, typed: &str, known: &[&str]) -> String {
    format!("`{}` is not a {what}{}", quote(typed), did_you_mean(typed, known.iter().copied()))
}
