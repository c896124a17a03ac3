//! `oscost treat`

use std::ffi::OsString;
use std::io::ErrorKind;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use anyhow::Context;
use oscost_model::call_names::Arch;
use oscost_model::target::{Host, Target, Treatment};
use oscost_model::treatment::{AppliedTreatment, TreatmentSet};

use super::output::{Output, remark};
use super::run::who;
use super::target::with_folder;
use super::{Done, UsageError};
use crate::hosts::WorkerBinary;
use crate::report;
use crate::report::treatments::{Here, Row};
use crate::run::{LockError, MachineLock};
use crate::treatments::{KINDS, Kind, Mechanism, parse_with_notes, with_user_profiles};

/// What to do to which command.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The command has your terminal, folder, environment and signals. Treatments are
joined by `+` and done in their order; behind `cmd=` they are done to what the
wrapper starts. What is done to the whole system is undone when the command has
ended, whatever happened. A filter (seccomp) forbids setuid programs to gain
rights: no sudo behind it.

Exit status: the command's own; 128 and the signal's number if it was killed;
127 if it cannot be found, 126 if it cannot be run, 125 if this machine cannot
do the treatment, 2 if there is no such treatment.

Examples:
  oscost treat seccomp=docker -- ls                would it run in a container?
  oscost treat ptrace -- make                      what a tracer makes of a build
  oscost treat nice=5+antagonist=memory -- ./job   beside a noisy neighbour
  sudo oscost treat ebpf=count -- ls               counts all calls meanwhile
  oscost treat list                                what there is, and works here
  oscost treat list --json | jq '.treatments[] | select(.here == \"no\")'")]
pub(super) struct Arguments {
    /// Treatments, joined by `+`; `list` lists them, and says which work here.
    #[arg(value_name = "TREATMENTS")]
    treatments: Option<String>,
    /// With `list`: print one JSON object (`oscost.treatments/1`).
    #[arg(long)]
    json: bool,
    /// The command and its arguments.
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(super) fn treat(arguments: Arguments, output: &mut Output) -> anyhow::Result<Done> {
    let Arguments { treatments, json, command } = arguments;
    match (treatments.as_deref(), command.is_empty()) {
        (Some("list"), true) => list(json, output),
        (_, true) => Err(usage(
            "cannot treat: no command is named",
            "it stands behind `--`: `oscost treat seccomp=docker -- ls`",
        )),
        (_, false) if json => Err(usage(
            "cannot use `--json` here: a command has its own output",
            "`oscost treat list --json`",
        )),
        (treatments, false) => become_treated(treatments.unwrap_or("local"), &command),
    }
}

fn usage(what: &str, hint: &str) -> anyhow::Error {
    UsageError(format!("{what}\n  hint: {hint}")).into()
}

/// Becomes the treated command; comes back only with the reason why not.
fn become_treated(treatments: &str, command: &[OsString]) -> anyhow::Result<Done> {
    let read = read(treatments)?;
    let treated = with_folder(with_user_profiles(read.clone()))?;
    if treated != read {
        super::ph::tell_refused();
    }
    let Some((program, its)) = command.split_first() else { return Ok(Done::Well) };
    if treated == TreatmentSet::default() {
        // Nothing of ours stands between the user and the command.
        let error = Command::new(program).args(its).exec();
        remark(&format!("error: cannot run `{}`: {error}", program.display()));
        let not_found = error.kind() == ErrorKind::NotFound;
        return Ok(Done::With(if not_found { 127 } else { 126 }));
    }
    let worker = WorkerBinary::find()?;
    if !treated.attached.is_empty()
        && let Err(LockError::HeldBy(holder, _)) = MachineLock::acquire()
    {
        remark(&format!("note: {} is measuring, and meets this too", who(&holder)));
    }
    let error = treated_by(&worker, &treated)?.args(command).exec();
    Err(error).with_context(|| format!("cannot start {}", worker.path.display()))
}

/// What these words ask for.
fn read(treatments: &str) -> anyhow::Result<TreatmentSet> {
    let target = Target::parse(treatments).map_err(|error| UsageError(error.to_string()))?;
    if target.host != Host::Local {
        let what = format!("cannot treat at `{}`", target.host);
        return Err(usage(&what, "a command is treated on this machine: name treatments alone"));
    }
    let treated = read_all(&target.treatments)?;
    if treated.applied.contains(&AppliedTreatment::Sud) {
        let what = "cannot treat a command with `sud`: execve(2) switches it off";
        return Err(usage(what, "`oscost run --treat sud` treats a process that runs already"));
    }
    Ok(treated)
}

fn read_all(treatments: &[Treatment]) -> anyhow::Result<TreatmentSet> {
    let arch = Arch::from_uname(std::env::consts::ARCH)
        .with_context(|| format!("cannot treat on {}", std::env::consts::ARCH))?;
    let read = parse_with_notes(treatments, arch).map_err(|error| UsageError(error.to_string()))?;
    read.notes.iter().for_each(|note| remark(&format!("note: {note}")));
    Ok(read.treatments)
}

/// The worker, as it takes these treatments; the command follows.
fn treated_by(worker: &WorkerBinary, treated: &TreatmentSet) -> anyhow::Result<Command> {
    let mut command = Command::new(&worker.path);
    command.arg("treated").arg(serde_json::to_string(treated)?);
    Ok(command)
}

/// Tries each treatment for a moment, and says which work here.
fn list(json: bool, output: &mut Output) -> anyhow::Result<Done> {
    let worker = WorkerBinary::find()?;
    // Whoever measures meets what is attached to the whole system.
    let lock = MachineLock::acquire();
    let held = match &lock {
        Err(LockError::HeldBy(holder, _)) => Some(format!("{} is measuring", who(holder))),
        _ => None,
    };
    let clocks = Clocks::here();
    let row = |kind: &Kind| {
        let (here, why) = match (&held, kind.mechanism) {
            (Some(by), Mechanism::Attached) => (Here::NotTried, Some(by.clone())),
            _ => tried(kind, &worker, &clocks)?,
        };
        let &Kind { name, value, effect: does, needs, mechanism: study_method, .. } = kind;
        let names = if name == CLOCKSOURCE { clocks.available.clone() } else { Vec::new() };
        Ok(Row { name, value, does, needs, study_method: study_method.text(), names, here, why })
    };
    let rows = KINDS.iter().map(row).collect::<anyhow::Result<Vec<Row>>>();
    drop(lock);
    match json {
        true => output.write(&report::treatments::json(&rows?)?)?,
        false => output.write(&report::treatments::text(&rows?))?,
    }
    Ok(Done::Well)
}

/// Tries one.
fn tried(
    kind: &Kind,
    worker: &WorkerBinary,
    clocks: &Clocks,
) -> anyhow::Result<(Here, Option<String>)> {
    let no = |why: &str| Ok((Here::No, Some(why.to_owned())));
    let value = match kind.name {
        "seccomp" => "allow",
        "ebpf" => "count",
        "cgroup" => "own",
        "nice" => "1",
        "env" => "OSCOST=1",
        "antagonist" => "cpu",
        "cmd" => "true",
        CLOCKSOURCE => match &clocks.other {
            Some(other) => other,
            None => return no("there is no other clock source here"),
        },
        _ => "",
    };
    let value = Some(value).filter(|value| !value.is_empty()).map(str::to_owned);
    let treatment = Treatment { name: kind.name.to_owned(), value };
    if kind.mechanism == Mechanism::Wraps {
        return Ok((Here::Yes, None)); // Nothing is asked of the machine.
    }
    let before = kind.modifies().map(|it| Treatment { name: it.to_owned(), value: None });
    let all: Vec<Treatment> = before.into_iter().chain([treatment]).collect();
    let treated = read_all(&all)?;
    // Without a command it only tries.
    let mut command = treated_by(worker, &treated)?;
    let ran = command.stdin(Stdio::null()).output();
    let ran = ran.with_context(|| format!("cannot start {}", worker.path.display()))?;
    if ran.status.success() {
        return Ok((Here::Yes, None));
    }
    let words = String::from_utf8_lossy(&ran.stderr);
    match words.trim().trim_start_matches("error: ") {
        "" => no(&ran.status.to_string()),
        words => no(words),
    }
}

const CLOCKSOURCE: &str = "clocksource";

/// The kernel's clock sources.
struct Clocks {
    available: Vec<String>,
    /// One that it does not use now.
    other: Option<String>,
}

impl Clocks {
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
