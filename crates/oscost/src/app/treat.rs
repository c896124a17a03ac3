//! `oscost treat`: runs any command under treatments.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::target::{Host, Target, Treatment};
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};

pub use crate::treatments::Kind;

use super::error::UsageError;
use super::observer::Observer;
use super::results::profile_files::report_unreadable;
use super::targets::connect::measuring_process;
use super::targets::prepare::with_profile_folder;
use crate::files::null_device::null_device;
use crate::hosts::WorkerBinary;
use crate::run::{MachineLock, OtherPrograms};
use crate::treatments::{KINDS, Mechanism, parse_with_notes, with_user_profiles};

/// A treatment, and whether it works here.
pub struct TreatmentListing {
    /// The treatment.
    pub kind: &'static Kind,
    /// The values that it can have on this machine.
    pub values: Vec<String>,
    /// Whether it works here.
    pub works: Works,
}

/// The result of trying a treatment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Works {
    /// It works.
    Yes,
    /// It does not, for this reason.
    No(String),
    /// It was not tried, for this reason.
    NotTried(String),
}

/// Replaces this process by the treated command; returns only the reason why it could not be
/// started.
pub fn exec(
    treatments: &str,
    command: &[OsString],
    observer: &dyn Observer,
) -> anyhow::Result<io::Error> {
    let read = parse(treatments, observer)?;
    let treated = with_profile_folder(with_user_profiles(read.clone()))?;
    if treated != read {
        report_unreadable(observer);
    }
    let (program, arguments) = command.split_first().context("no command is named")?;
    if treated == TreatmentSet::default() {
        // Without a treatment no process of oscost is needed.
        return Ok(Command::new(program).args(arguments).exec());
    }
    let worker = WorkerBinary::find()?;
    if !treated.attached.is_empty()
        && let Some(process) = measuring_process()
    {
        observer.note(&format!("{process} is measuring, and is affected by this"));
    }
    let error = worker_with(&worker, &treated)?.args(command).exec();
    Err(error).with_context(|| format!("cannot start {}", worker.path.display()))
}

/// The treatments of this text.
fn parse(treatments: &str, observer: &dyn Observer) -> anyhow::Result<TreatmentSet> {
    let target = Target::parse(treatments).map_err(|error| UsageError(error.to_string()))?;
    if target.host != Host::Local {
        let what = format!("cannot treat a command at `{}`", target.host);
        let hint = "a command is treated on this machine: name treatments only";
        return Err(UsageError::with_hint(&what, hint).into());
    }
    let treated = read(&target.treatments, observer)?;
    if treated.applied.contains(&AppliedTreatment::Sud) {
        let what = "cannot treat a command with `sud`: execve(2) switches it off";
        let hint = "`oscost run --treat sud` treats a process that already runs";
        return Err(UsageError::with_hint(what, hint).into());
    }
    if treated.applied.iter().any(|one| matches!(one, AppliedTreatment::Cool { .. })) {
        let what = "cannot treat a command with `cool`: the walk is between ops of a benchmark";
        let hint = "`oscost ab --new cool=1M syscall` compares benchmarks";
        return Err(UsageError::with_hint(what, hint).into());
    }
    if treated.applied.iter().any(|one| matches!(one, AppliedTreatment::Call { .. })) {
        let what =
            "cannot treat a command with `call`: a program makes its calls as it was compiled";
        let hint = "`oscost ab --base call=inline --new call=function syscall` compares benchmarks";
        return Err(UsageError::with_hint(what, hint).into());
    }
    Ok(treated)
}

fn read(treatments: &[Treatment], observer: &dyn Observer) -> anyhow::Result<TreatmentSet> {
    let arch = Arch::from_uname(std::env::consts::ARCH)
        .with_context(|| format!("cannot treat on {}", std::env::consts::ARCH))?;
    let read = parse_with_notes(treatments, arch).map_err(|error| UsageError(error.to_string()))?;
    read.notes.iter().for_each(|note| observer.note(note));
    Ok(read.treatments)
}

/// The worker's command line for these treatments; the command to treat follows.
fn worker_with(worker: &WorkerBinary, treated: &TreatmentSet) -> anyhow::Result<Command> {
    let mut command = Command::new(&worker.path);
    command.arg("treat").arg(serde_json::to_string(treated)?);
    Ok(command)
}

/// Tries each treatment for a moment.
pub fn list(observer: &dyn Observer) -> anyhow::Result<Vec<TreatmentListing>> {
    let worker = WorkerBinary::find()?;
    // What is attached to the whole system would disturb another run.
    let lock = MachineLock::acquire(OtherPrograms::Ignore);
    let holder = lock.as_ref().err().map(|held| &held.holder);
    let measuring = holder.map(|process| format!("{process} is measuring"));
    let clocks = ClockSources::here();
    let listed = KINDS.iter().map(|kind| {
        let works = match (&measuring, kind.mechanism) {
            (Some(why), Mechanism::Attached) => Works::NotTried(why.clone()),
            _ => try_treatment(kind, &worker, &clocks, observer)?,
        };
        let values = if kind.name == CLOCKSOURCE { clocks.available.clone() } else { Vec::new() };
        Ok(TreatmentListing { kind, values, works })
    });
    let listed = listed.collect();
    drop(lock);
    listed
}

/// Tries a treatment.
fn try_treatment(
    kind: &Kind,
    worker: &WorkerBinary,
    clocks: &ClockSources,
    observer: &dyn Observer,
) -> anyhow::Result<Works> {
    let value = match kind.name {
        "seccomp" => "allow",
        "ebpf" => "count",
        "cgroup" => "own",
        "nice" => "1",
        "cool" => "1M",
        "call" => "function",
        "env" => "OSCOST=1",
        "antagonist" => "cpu",
        "cmd" => "true",
        CLOCKSOURCE => match &clocks.other {
            Some(other) => other,
            None => return Ok(Works::No("there is no other clock source here".to_owned())),
        },
        _ => "",
    };
    let value = Some(value).filter(|value| !value.is_empty()).map(str::to_owned);
    let treatment = Treatment { name: kind.name.to_owned(), value };
    if kind.mechanism == Mechanism::Wraps {
        return Ok(Works::Yes); // It needs nothing that the machine may lack.
    }
    let first = kind.modifies().map(|name| Treatment { name: name.to_owned(), value: None });
    let all: Vec<Treatment> = first.into_iter().chain([treatment]).collect();
    let read = match read(&all, observer) {
        Ok(read) => read,
        // One that cannot be read here does not cost the list of the others.
        Err(error) => {
            let text = error.to_string();
            return Ok(Works::No(text.lines().next().unwrap_or_default().to_owned()));
        }
    };
    let treated = with_profile_folder(with_user_profiles(read))?;
    // Without a command the worker only applies the treatments.
    let mut command = worker_with(worker, &treated)?;
    let ran = null_device().and_then(|input| command.stdin(input).output());
    let ran = ran.with_context(|| format!("cannot start {}", worker.path.display()))?;
    if ran.status.success() {
        return Ok(Works::Yes);
    }
    let reason = String::from_utf8_lossy(&ran.stderr);
    Ok(Works::No(match reason.trim().trim_start_matches("error: ") {
        "" => ran.status.to_string(),
        // The worker's command line is internal: what its parser prints explains nothing.
        reason if reason.contains("Usage: ") => "the worker cannot apply it".to_owned(),
        reason => reason.to_owned(),
    }))
}

const CLOCKSOURCE: &str = "clocksource";

/// The kernel's clock sources.
struct ClockSources {
    available: Vec<String>,
    /// One that is not in use.
    other: Option<String>,
}

impl ClockSources {
    fn here() -> Self {
        let read = |file: &str| {
            let folder = "/sys/devices/system/clocksource/clocksource0";
            std::fs::read_to_string(format!("{folder}/{file}_clocksource")).unwrap_or_default()
        };
        let available: Vec<String> =
            read("available").split_whitespace().map(str::to_owned).collect();
        let current = read("current");
        let other = available.iter().find(|&name| name != current.trim()).cloned();
        Self { available, other }
    }
}
