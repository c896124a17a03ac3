//! A monitor for as long as a command runs, or until Ctrl-C.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};

use anyhow::Context;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use oscost_model::monitor_report::MonitorReport;
use oscost_model::untrusted_text::display_text;

use crate::app::observer::Observer;
use crate::app::results::user_data::profile_folder;
use crate::app::targets::connect::measuring_process;
use crate::hosts::Interrupt;
use crate::ph::call_names::CallNames;
use crate::ph::constants::Constants;
use crate::ph::processes::monitor_process::{
    Anomaly, MonitorError, MonitorEvent, MonitorObserver, MonitorOptions, MonitorProcess,
    MonitorRunner, StateChange,
};
use crate::ph::profiles::store::{self, find_all};
use crate::signals::exit_status;

/// The maximum length of text from other processes that is shown.
const MAX_LETTERS: usize = 400;

/// What is monitored, and how.
pub struct Request {
    /// The constants of the rules.
    pub constants: Constants,
    /// The command whose processes are monitored; empty for all processes until Ctrl-C.
    pub command: Vec<OsString>,
    /// Whether to report when an executable is new, frozen, normal or trained again.
    pub report_states: bool,
}

/// How monitoring ended.
#[derive(Debug)]
pub enum MonitoringEnd {
    /// By itself.
    Done,
    /// With this exit status: the command's own, or that of a signal.
    WithStatus(u8),
    /// The command could not be started.
    NotStarted {
        /// The command.
        program: String,
        /// Why.
        error: io::Error,
    },
}

/// Learns the call sequences of executables.
pub fn train(request: &Request, observer: &dyn Observer) -> anyhow::Result<MonitoringEnd> {
    let mut show = |event: &MonitorEvent| {
        if let MonitorEvent::Ended(_) = event {
            observer.status("`oscost ph profiles` shows what was learnt");
        }
        Ok(())
    };
    monitor(MonitorProcess::this_program()?, request, observer, &mut show)
}

/// Reports anomalies; an error of `report` ends it.
pub fn watch(
    request: &Request,
    observer: &dyn Observer,
    report: &mut dyn FnMut(&Anomaly, &CallNames) -> io::Result<()>,
) -> anyhow::Result<MonitoringEnd> {
    let names = CallNames::native();
    let mut show = |event: &MonitorEvent| match event {
        MonitorEvent::Anomaly(anomaly) => report(anomaly, &names),
        _ => Ok(()),
    };
    monitor(MonitorProcess::this_program()?, request, observer, &mut show)
}

/// Monitors while a command runs, or until it is interrupted.
fn monitor(
    mut monitor: impl MonitorRunner,
    request: &Request,
    observer: &dyn Observer,
    show: &mut dyn FnMut(&MonitorEvent) -> io::Result<()>,
) -> anyhow::Result<MonitoringEnd> {
    check_window(request.constants.window)?;
    let interrupt = Interrupt::listen().context("cannot listen for signals")?;
    if let Some(process) = measuring_process() {
        observer.note(&format!("{process} is measuring, and is affected by this"));
    }
    let tree = (!request.command.is_empty()).then(std::process::id);
    let options = MonitorOptions { constants: request.constants, tree };
    let mut run = MonitoredRun {
        interrupt: &interrupt,
        command: &request.command,
        state: CommandState::Waiting,
        report_states: request.report_states,
        observer,
        show,
    };
    let result = monitor.run(&options, &mut run);
    end(result, run)
}

/// Ends the command, and combines its end with the monitor's.
fn end(
    monitored: Result<(), MonitorError>,
    run: MonitoredRun<'_>,
) -> anyhow::Result<MonitoringEnd> {
    let ended = run.end();
    match monitored {
        Ok(()) => ended,
        Err(MonitorError::Observer(error)) => Err(error.into()),
        Err(error) => Err(error).context("cannot monitor here"),
    }
}

/// Refuses a window larger than that of a kept profile: the profile lacks the pairs beyond its own
/// window, and all of them would be reported. A smaller window is harmless.
fn check_window(window: u32) -> anyhow::Result<()> {
    let folder = profile_folder()?;
    let profiles = find_all(&folder)?.profiles;
    let smaller = profiles.iter().filter(|profile| profile.learned_with.window < window).count();
    anyhow::ensure!(
        smaller == 0,
        "cannot use a window of {window} calls: {smaller} profiles were learnt with a smaller one\n  \
         hint: use theirs (`--window`), or move the files out of {}",
        display_text(&folder.to_string_lossy(), MAX_LETTERS),
    );
    Ok(())
}

/// Receives the events of a monitor, and runs the command meanwhile.
struct MonitoredRun<'a> {
    interrupt: &'a Interrupt,
    command: &'a [OsString],
    state: CommandState,
    report_states: bool,
    observer: &'a dyn Observer,
    show: &'a mut dyn FnMut(&MonitorEvent) -> io::Result<()>,
}

/// The state of the command.
enum CommandState {
    /// It waits for the monitor, or there is none.
    Waiting,
    Running(Child),
    Ended(ExitStatus),
    NotStarted(io::Error),
}

impl MonitorObserver for MonitoredRun<'_> {
    fn on_event(&mut self, event: &MonitorEvent) -> io::Result<()> {
        let shown = |text: &str| display_text(text, MAX_LETTERS);
        match event {
            MonitorEvent::Ready => match self.command.split_first() {
                Some((program, arguments)) => {
                    self.state = match Command::new(program).args(arguments).spawn() {
                        Ok(child) => CommandState::Running(child),
                        Err(error) => CommandState::NotStarted(error),
                    };
                }
                None => self.observer.status("monitoring all processes; Ctrl-C ends it"),
            },
            MonitorEvent::Ended(MonitorReport { calls, anomalies, lost, .. }) => {
                self.observer.status(&format!("saw {calls} calls, {anomalies} anomalies"));
                if *lost > 0 {
                    self.observer.note(&format!("{lost} events or executables were lost: no room"));
                }
            }
            MonitorEvent::Note { text } => self.observer.note(&shown(text)),
            MonitorEvent::StateChanged(StateChange { executable, state }) if self.report_states => {
                let executable = match executable.as_str() {
                    "" => "an unknown path".to_owned(),
                    path => store::display_path(Path::new(path)),
                };
                self.observer.status(&format!("{}: {executable}", shown(state)));
            }
            _ => {}
        }
        (self.show)(event)
    }

    fn should_stop(&mut self) -> bool {
        if let CommandState::Running(child) = &mut self.state
            && let Ok(Some(status)) = child.try_wait()
        {
            self.state = CommandState::Ended(status);
        }
        self.is_interrupted()
            || matches!(self.state, CommandState::Ended(_) | CommandState::NotStarted(_))
    }
}

impl MonitoredRun<'_> {
    fn is_interrupted(&self) -> bool {
        let mut polled = [PollFd::new(self.interrupt.as_fd(), PollFlags::POLLIN)];
        poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
    }

    /// Waits for a command that outlives its monitor; after Ctrl-C it is asked to end.
    fn end(mut self) -> anyhow::Result<MonitoringEnd> {
        let is_interrupted = self.is_interrupted();
        if let CommandState::Running(child) = &mut self.state {
            if is_interrupted && let Ok(pid) = i32::try_from(child.id()) {
                // It may have ended by now.
                let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            }
            let status = child.wait().context("cannot wait for the command")?;
            self.state = CommandState::Ended(status);
        }
        Ok(match self.state {
            _ if is_interrupted => MonitoringEnd::WithStatus(exit_status()),
            CommandState::Waiting | CommandState::Running(_) => MonitoringEnd::Done,
            CommandState::Ended(status) => {
                let code = status.code().or(status.signal().map(|signal| 128 + signal));
                MonitoringEnd::WithStatus(
                    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1),
                )
            }
            CommandState::NotStarted(error) => {
                let program = self.command.first().map(|it| it.to_string_lossy());
                let program = display_text(&program.unwrap_or_default(), MAX_LETTERS);
                MonitoringEnd::NotStarted { program, error }
            }
        })
    }
}

#[cfg(test)]
mod tests;
