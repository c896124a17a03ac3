//! `oscost ph train`, `watch` and `hold`: a monitor for as long as a command lasts, or until Ctrl-C.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use oscost_model::monitor_report::MonitorReport;

use super::super::Done;
use super::super::output::{Output, remark};
use super::super::run::who;
use super::rules::Rules;
use super::{Messages, folder};
use crate::hosts::Interrupt;
use crate::ph::holder::{Anomaly, Asked, Audience, Became, HoldError, Holder, Process, Said};
use crate::ph::names::Names;
use crate::ph::store::find_all;
use crate::report::{self, plain};
use crate::run::{LockError, MachineLock};

/// Learns, and tells at the end how much.
pub(super) fn train(
    rules: Rules,
    command: &[OsString],
    messages: Messages,
) -> anyhow::Result<Done> {
    let mut show = |said: &Said| {
        if let Said::Ended(_) = said {
            remark("`oscost ph profiles` shows what was learnt");
        }
        Ok(())
    };
    hold_for(Process::ourselves()?, rules, command, messages, &mut show)
}

/// Prints what is not normal.
pub(super) fn watch(
    rules: Rules,
    command: &[OsString],
    messages: Messages,
    json: bool,
    output: &mut Output,
) -> anyhow::Result<Done> {
    let names = Names::here();
    let mut has_head = json;
    let mut show = |said: &Said| {
        let Said::Anomaly(anomaly) = said else { return Ok(()) };
        let line = line(anomaly, &names);
        let mut text = String::new();
        if !has_head {
            has_head = true;
            text += report::ph::ANOMALIES;
        }
        text += &if json { line.json()? } else { line.text() };
        output.write(&text).map_err(|error| match error.downcast::<io::Error>() {
            Ok(error) => error,
            Err(other) => io::Error::other(other),
        })
    };
    hold_for(Process::ourselves()?, rules, command, messages, &mut show)
}

fn line(anomaly: &Anomaly, names: &Names) -> report::ph::Anomaly {
    let call = |number| report::ph::Call { number, name: names.name(number).into_owned() };
    report::ph::Anomaly {
        schema: report::ph::Anomaly::SCHEMA,
        pid: anomaly.pid,
        comm: anomaly.comm.clone(),
        executable: anomaly.executable.clone(),
        current: call(anomaly.current),
        previous: call(anomaly.previous),
        position: anomaly.position,
        locality: anomaly.locality,
        anomalies: anomaly.anomalies,
    }
}

/// Holds a monitor while a command runs, or until it is interrupted.
fn hold_for(
    mut holder: impl Holder,
    rules: Rules,
    command: &[OsString],
    messages: Messages,
    show: &mut dyn FnMut(&Said) -> io::Result<()>,
) -> anyhow::Result<Done> {
    check_windows(rules)?;
    let interrupt = Interrupt::listen().context("cannot listen to signals")?;
    if let Err(LockError::HeldBy(measures, _)) = MachineLock::acquire() {
        remark(&format!("note: {} is measuring, and meets this too", who(&measures)));
    }
    let tree = (!command.is_empty()).then(std::process::id);
    let asked = Asked { constants: rules.0, tree };
    let mut crowd = Crowd { interrupt: &interrupt, command, runs: Runs::NotYet, messages, show };
    let held = holder.hold(&asked, &mut crowd);
    ended(held, crowd)
}

/// How it ended: the monitor, and the command.
fn ended(held: Result<(), HoldError>, crowd: Crowd<'_>) -> anyhow::Result<Done> {
    let done = crowd.end();
    match held {
        Ok(()) => done,
        Err(HoldError::Unheard(error)) => Err(error.into()),
        Err(error) => Err(error).context("cannot monitor here"),
    }
}

/// A profile that was learnt through a smaller window lacks pairs, and all of them would be
/// reported; one of a larger window has some that are never looked at, and does no harm.
fn check_windows(rules: Rules) -> anyhow::Result<()> {
    let folder = folder()?;
    let profiles = find_all(&folder)?.profiles;
    let window = rules.0.window;
    let smaller = profiles.iter().filter(|profile| profile.learnt_with.window < window).count();
    anyhow::ensure!(
        smaller == 0,
        "cannot use a window of {window} calls: {smaller} profiles were learnt with a smaller one\n  \
         hint: use theirs (`--window`), or move the files away from {}",
        plain(&folder.to_string_lossy()),
    );
    Ok(())
}

/// Whoever listens to the monitor: the user, and the command that runs meanwhile.
struct Crowd<'a> {
    interrupt: &'a Interrupt,
    command: &'a [OsString],
    runs: Runs,
    messages: Messages,
    show: &'a mut dyn FnMut(&Said) -> io::Result<()>,
}

/// What the command does.
enum Runs {
    /// It waits for the monitor, or there is none.
    NotYet,
    /// It runs.
    Now(Child),
    /// It has ended.
    Ended(ExitStatus),
    /// It could not be started.
    Never(io::Error),
}

impl Audience for Crowd<'_> {
    fn heard(&mut self, said: &Said) -> io::Result<()> {
        match said {
            Said::Ready => match self.command.split_first() {
                Some((program, its)) => {
                    self.runs = match Command::new(program).args(its).spawn() {
                        Ok(child) => Runs::Now(child),
                        Err(error) => Runs::Never(error),
                    };
                }
                None => remark("monitoring all processes; Ctrl-C ends it"),
            },
            Said::Ended(MonitorReport { calls, anomalies, lost, .. }) => {
                remark(&format!("saw {calls} calls, {anomalies} anomalies"));
                if *lost > 0 {
                    remark(&format!("note: {lost} events or executables found no room"));
                }
            }
            Said::Note { what } => remark(&format!("note: {}", plain(what))),
            Said::Became(Became { executable, state }) if self.messages.messages => {
                remark(&format!("{}: {}", plain(state), report::ph::path(executable)));
            }
            _ => {}
        }
        (self.show)(said)
    }

    fn has_enough(&mut self) -> bool {
        if let Runs::Now(child) = &mut self.runs
            && let Ok(Some(status)) = child.try_wait()
        {
            self.runs = Runs::Ended(status);
        }
        self.is_interrupted() || matches!(self.runs, Runs::Ended(_) | Runs::Never(_))
    }
}

impl Crowd<'_> {
    fn is_interrupted(&self) -> bool {
        let mut polled = [PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// How it all ended. A command that outlives its monitor is asked to end if that was the user's
    /// wish, and else waited for.
    fn end(mut self) -> anyhow::Result<Done> {
        let is_interrupted = self.is_interrupted();
        if let Runs::Now(child) = &mut self.runs {
            if is_interrupted && let Ok(pid) = i32::try_from(child.id()) {
                // That it is gone by now is as good.
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
            self.runs = Runs::Ended(child.wait().context("cannot wait for the command")?);
        }
        match self.runs {
            _ if is_interrupted => Ok(Done::With(self.interrupt.exit_status())),
            Runs::NotYet | Runs::Now(_) => Ok(Done::Well),
            Runs::Ended(status) => {
                let code = status.code().or(status.signal().map(|signal| 128 + signal));
                Ok(Done::With(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
            }
            Runs::Never(error) => {
                let program = self.command.first().map(|it| it.to_string_lossy());
                remark(&format!(
                    "error: cannot run `{}`: {error}",
                    plain(&program.unwrap_or_default())
                ));
                let not_found = error.kind() == ErrorKind::NotFound;
                Ok(Done::With(if not_found { 127 } else { 126 }))
            }
        }
    }
}

/// Holds the monitor for whoever has started this.
#[cfg(feature = "ebpf")]
pub(super) fn hold(asked: super::Hold, _: &mut Output) -> anyhow::Result<Done> {
    use crate::ph::hold;
    let super::Hold { tree, fresh, unchanged, quiet, rules } = asked;
    let keeps = unchanged.is_none();
    let folder = match (fresh, unchanged) {
        (true, _) => None,
        (false, Some(folder)) => Some(folder),
        (false, None) => Some(folder()?),
    };
    let asked = Asked { constants: rules.0, tree };
    let work = hold::Work { asked, folder, keeps, tells: !quiet };
    match hold::hold(&work, &mut io::stdin().lock(), &mut io::stdout().lock())? {
        hold::Held::Well => Ok(Done::Well),
        hold::Held::Missing => Ok(Done::WithFailures),
    }
}

/// Waits for a holder's end.
#[cfg(feature = "ebpf")]
pub(super) fn guard() -> anyhow::Result<Done> {
    crate::ph::guard::guard(&mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(Done::Well)
}

/// Says what is missing, for whoever has started this.
#[cfg(not(feature = "ebpf"))]
pub(super) fn hold(_: super::Hold, output: &mut Output) -> anyhow::Result<Done> {
    use crate::ph::here::{BUILD, Met, look};
    let needs = look(BUILD, std::path::Path::new("/"));
    let lacking = needs.into_iter().filter(|need| need.met == Met::No);
    let lacking: Vec<String> = lacking.map(|need| format!("{}: {}", need.of, need.words)).collect();
    let said = Said::Missing { why: lacking.join("; ") };
    output.write(&format!("{}\n", serde_json::to_string(&said)?))?;
    Ok(Done::WithFailures)
}

#[cfg(test)]
mod tests;
