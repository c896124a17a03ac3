//! The short values: each to what it asks for, or in words why it asks for nothing.

use oscost_model::treatment::{AntagonistLoad, AppliedTreatment, AttachedTreatment};

use super::{FRESH_FLAG, UNCHANGED_FLAG, did_you_mean, quoted};

/// `empty|count`.
pub(super) fn ebpf(value: &str) -> Result<AttachedTreatment, String> {
    match value {
        "empty" => Ok(AttachedTreatment::Ebpf { counts: false }),
        "count" => Ok(AttachedTreatment::Ebpf { counts: true }),
        _ => Err(not_one_of("program", value, &["empty", "count"])),
    }
}

/// The monitor pH: held by this very program, in a process of its own, without the user's profiles.
pub(super) fn ph() -> Result<AttachedTreatment, String> {
    let program = std::env::current_exe().map_err(|error| format!("who we are: {error}"))?;
    let program = program.into_os_string().into_string();
    let program = program.map_err(|_| "its own path is no text".to_owned())?;
    let holder = [&program, "ph", "monitor", "--quiet", FRESH_FLAG].map(str::to_owned).to_vec();
    Ok(AttachedTreatment::Ph { monitor_command: holder })
}

/// Has the monitor begin with what `oscost ph train` has learnt.
pub(super) fn trained(attached: &mut [AttachedTreatment]) -> Result<(), String> {
    let holder = monitor(attached)?;
    holder
        .iter_mut()
        .filter(|word| *word == FRESH_FLAG)
        .for_each(|word| *word = UNCHANGED_FLAG.to_owned());
    Ok(())
}

/// Has the monitor delay what it distrusts.
pub(super) fn respond(attached: &mut [AttachedTreatment]) -> Result<(), String> {
    monitor(attached)?.push("--delay-factor=1".to_owned());
    Ok(())
}

/// The command of the monitor that stands before this.
fn monitor(attached: &mut [AttachedTreatment]) -> Result<&mut Vec<String>, String> {
    let holder = attached.iter_mut().find_map(|it| match it {
        AttachedTreatment::Ph { monitor_command: holder } => Some(holder),
        _ => None,
    });
    holder.ok_or_else(|| "it must follow `ph`".to_owned())
}

/// The name of a clock source, as the kernel gives them: it goes into a file of sysfs. Whether the
/// machine has it, the machine says.
pub(super) fn clocksource(value: &str) -> Result<AttachedTreatment, String> {
    /// One less than CS_NAME_LEN.
    const LONGEST: usize = 31;
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if value.len() > LONGEST || !value.bytes().all(good) {
        return Err("a clock source's name is up to 31 letters, digits and `-_.`".to_owned());
    }
    Ok(AttachedTreatment::Clocksource { name: value.to_owned() })
}

/// -20 to 19.
pub(super) fn nice(value: &str) -> Result<AppliedTreatment, String> {
    match value.parse() {
        Ok(by @ -20..=19) => Ok(AppliedTreatment::Nice { increment: by }),
        _ => Err(format!("`{}` is not an integer from -20 to 19", quoted(value))),
    }
}

/// `NAME=VALUE`, where the value may be empty.
pub(super) fn env(value: &str) -> Result<AppliedTreatment, String> {
    let Some((name, value)) = value.split_once('=') else {
        return Err("a variable is NAME=VALUE".to_owned());
    };
    let good = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if name.is_empty()
        || name.starts_with(|it: char| it.is_ascii_digit())
        || !name.bytes().all(good)
    {
        return Err(format!("`{}` is not a variable name", quoted(name)));
    }
    if ["OSCOST_PADDING", "TMPDIR"].contains(&name) {
        return Err(format!("`{name}` is reserved for workers"));
    }
    Ok(AppliedTreatment::Env { name: name.to_owned(), value: value.to_owned() })
}

/// `cpu|memory|syscalls[:same|:other]`.
pub(super) fn antagonist(value: &str) -> Result<AttachedTreatment, String> {
    let (does, cpu) = value.split_once(':').unwrap_or((value, "other"));
    let does = match does {
        "cpu" => AntagonistLoad::Cpu,
        "memory" => AntagonistLoad::Memory,
        "syscalls" => AntagonistLoad::Syscalls,
        _ => return Err(not_one_of("neighbour", does, &["cpu", "memory", "syscalls"])),
    };
    let same_cpu = match cpu {
        "same" => true,
        "other" => false,
        _ => return Err(not_one_of("CPU of a neighbour", cpu, &["same", "other"])),
    };
    Ok(AttachedTreatment::Antagonist { load: does, same_cpu })
}

fn not_one_of(what: &str, typed: &str, known: &[&str]) -> String {
    format!("`{}` is no {what}{}", quoted(typed), did_you_mean(typed, known.iter().copied()))
}
