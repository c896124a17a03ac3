//! Processes under treatments, and their monitors.
//!
//! The seccomp listener is the parent of the tracer, and the tracer is the parent of the measured
//! process. Each dies with its parent and exits when its child has exited.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use oscost_model::treatment::AppliedTreatment;

use super::apply::{Treatments, apply};
use super::cgroup;
use super::page::{LISTENER, LISTENER_WAKEUPS, MEASURED, MonitorPage, TRACED, TRACER_WAKEUPS};
use super::refusal::{Refusal, refusal};
use crate::kernel::Errno;
use crate::kernel::cpu::affinity;
use crate::kernel::event::poll;
use crate::kernel::file::location;
use crate::kernel::ipc::context_switch::SharedWords;
use crate::kernel::ipc::pipe::pipe;
use crate::kernel::probe::monitor::{self, StopConditions};
use crate::kernel::probe::seccomp::Listener;
use crate::kernel::process::signal;
use crate::kernel::process::{self, EndedChild, Termination, WaitTarget};

/// The interval at which a word that another process sets is polled.
const POLL_INTERVAL: Duration = Duration::from_micros(20);

/// A process under treatments. Dropping it kills it, its monitors and its descendants.
pub struct TreatedProcess {
    /// The outermost monitor, or the measured process if there is none.
    child: u32,
    page: MonitorPage,
    group: Option<String>,
    is_reaped: bool,
}

impl TreatedProcess {
    /// The measured process.
    pub fn pid(&self) -> u32 {
        match self.page.get(MEASURED) {
            0 => self.child,
            pid => pid,
        }
    }

    /// The child of the calling process: the outermost monitor, if there is one.
    pub fn outermost(&self) -> u32 {
        self.child
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<Termination, Refusal> {
        let termination = self.reap();
        termination.map_err(|error| refusal(error, "wait for the treated process", "try again"))
    }

    /// Waits for its end, once.
    pub fn reap(&mut self) -> Result<Termination, Errno> {
        if self.is_reaped {
            return Err(Errno::ECHILD);
        }
        let outermost = process::wait(WaitTarget::Child(self.child), true)?;
        self.is_reaped = true;
        let termination = self.page.end().or(outermost.map(|ended| ended.termination));
        termination.ok_or(Errno::ECHILD)
    }
}

impl Drop for TreatedProcess {
    fn drop(&mut self) {
        if !self.is_reaped {
            process::kill(self.child);
            // Our own child, just killed: its status does not matter.
            let _ = self.reap();
        }
        if let Some(group) = &self.group {
            cgroup::remove(group);
        }
    }
}

/// The monitors that the treatments need.
#[derive(Clone, Copy)]
struct Monitors {
    tracer: Option<StopConditions>,
    listener: bool,
}

impl Monitors {
    fn of(applied: &[AppliedTreatment]) -> Result<Self, Refusal> {
        let has = |what: &AppliedTreatment| applied.contains(what);
        let by = StopConditions {
            calls: has(&AppliedTreatment::Ptrace),
            filter: has(&AppliedTreatment::SeccompTrace),
        };
        let listener = has(&AppliedTreatment::SeccompNotify);
        if by.filter && listener {
            return Err(Refusal::Failed(
                "seccomp-trace and seccomp-notify cannot be combined: the kernel asks the listener \
                 about each call and no longer stops it for the tracer; use one of them"
                    .to_owned(),
            ));
        }
        let tracer = (by.calls || by.filter).then_some(by);
        Ok(Self { tracer, listener })
    }
}

/// See [`Treatments::start`].
pub(super) fn start(
    treatments: &Treatments<'_>,
    prepare: &mut dyn FnMut(),
    body: &mut dyn FnMut(&MonitorPage) -> i32,
) -> Result<TreatedProcess, Refusal> {
    let monitors = Monitors::of(treatments.applied)?;
    let failed = |error| refusal(error, "start a treated process", "try again");
    let has_monitor = monitors.listener || monitors.tracer.is_some();
    let page = has_monitor.then(SharedWords::new).transpose().map_err(failed)?;
    let page = MonitorPage(page.map(Rc::new));
    let (report_reader, report) = pipe().map_err(failed)?;
    let name = location::cgroup_name(treatments.arm);
    let has_group =
        treatments.applied.iter().any(|one| matches!(one, AppliedTreatment::Cgroup { .. }));
    let mut measured = ProcessChain {
        treatments: *treatments,
        monitors,
        group: &name,
        page: &page,
        report: Some(report),
        prepare,
        body,
    };
    let child = measured.fork_child(ProcessChain::run_listener).map_err(failed)?;
    measured.report = None;
    let group = has_group.then(|| name.clone());
    let running = TreatedProcess { child, page: page.clone(), group, is_reaped: false };
    // Reads until every other process has closed its end of the pipe: the measured process does so
    // before its body runs, or when it is killed.
    let mut message = String::new();
    report_reader.take(MAX_MESSAGE_BYTES).read_to_string(&mut message).map_err(|error| {
        refusal(error.into(), "read the report of the treated process", "try again")
    })?;
    match message.split_at_checked(1) {
        Some((UNAVAILABLE, report_reader)) => Err(Refusal::Unavailable(report_reader.to_owned())),
        Some((_, report_reader)) => Err(Refusal::Failed(report_reader.to_owned())),
        None => Ok(running),
    }
}

/// Longer than any refusal.
const MAX_MESSAGE_BYTES: u64 = 4_096;
/// The first character of a report: `Refusal::Unavailable` or `Refusal::Failed`.
const UNAVAILABLE: &str = "-";
const FAILED: &str = "!";

/// The state that each process between the caller and the measured one inherits.
struct ProcessChain<'a> {
    treatments: Treatments<'a>,
    monitors: Monitors,
    group: &'a str,
    page: &'a MonitorPage,
    report: Option<File>,
    prepare: &'a mut dyn FnMut(),
    body: &'a mut dyn FnMut(&MonitorPage) -> i32,
}

impl ProcessChain<'_> {
    /// Forks a child that runs `part` and dies with the calling process.
    fn fork_child(&mut self, part: fn(&mut Self) -> i32) -> Result<u32, Errno> {
        let parent = std::process::id();
        process::fork(|| match process::die_with_parent(parent) {
            Ok(()) => part(self),
            Err(_) => 1,
        })
    }

    /// Reports why the treatments cannot be applied; this process exits next.
    fn report(&mut self, reason: &Refusal) -> i32 {
        let (kind, report_reader) = match reason {
            Refusal::Unavailable(report_reader) => (UNAVAILABLE, report_reader),
            Refusal::Failed(report_reader) => (FAILED, report_reader),
        };
        if let Some(mut report) = self.report.take() {
            // A reader that has closed the pipe has been killed.
            let _ = report.write_all(format!("{kind}{report_reader}").as_bytes());
        }
        1
    }

    /// Pins this monitor to the CPU of the measured process: a stop is then one context switch and
    /// wakes no other CPU. Signals of the terminal reach the measured process, not its monitors.
    fn pin_monitor(&self) {
        signal::ignore_terminal_signals();
        if let Some(cpu) = self.treatments.cpu {
            // If that is refused, stops only take longer.
            let _ = affinity::pin(cpu);
        }
    }

    /// Runs the seccomp listener, if there is to be one.
    fn run_listener(&mut self) -> i32 {
        if !self.monitors.listener {
            return self.run_tracer();
        }
        let listened = self.fork_child(Self::run_tracer).and_then(|child| {
            self.pin_monitor();
            self.listen(child)
        });
        match listened {
            Ok(()) => 0,
            Err(error) => self.report(&refusal(
                error,
                "listen to a seccomp filter",
                "it needs Linux 5.6, and a kernel that lets a process inspect its children",
            )),
        }
    }

    fn listen(&mut self, child: u32) -> Result<(), Errno> {
        let process = process::open_pidfd(child)?;
        let ended = || poll::readable(&[process.as_fd()], Some(Duration::ZERO));
        while self.page.get(LISTENER) == 0 {
            if ended()?[0] {
                return self.reap(child); // It has reported why.
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let measured = process::open_pidfd(self.page.get(MEASURED))?;
        let listener =
            Listener::take_from_process(measured.as_fd(), self.page.get(LISTENER) as i32 - 1)?;
        self.report = None;
        let mut pidfd = Some(process);
        loop {
            let event = monitor::wait_for_events(
                listener.as_fd(),
                pidfd.as_ref().map(|process| process.as_fd()),
            )?;
            if event.call {
                match listener.continue_call(self.wakeup_counter(LISTENER_WAKEUPS)) {
                    // ENOENT: the calling process was killed or interrupted in the meantime.
                    Ok(()) | Err(Errno::ENOENT | Errno::EINTR) => {}
                    Err(error) => return Err(error),
                }
            } else if event.closed {
                break;
            }
            if event.process_ended {
                // Before Linux 6.11 the listener hangs up only when the last process is reaped.
                pidfd = None;
                self.reap(child)?;
            }
        }
        if pidfd.is_some() { self.reap(child) } else { Ok(()) }
    }

    /// Runs the tracer, if there is to be one.
    fn run_tracer(&mut self) -> i32 {
        let Some(stops) = self.monitors.tracer else { return self.run_measured() };
        let traced = self.fork_child(Self::run_measured).and_then(|child| {
            self.pin_monitor();
            monitor::seize(child, stops)?;
            self.report = None;
            self.page.set(TRACED, 1);
            monitor::follow(child, stops, self.wakeup_counter(TRACER_WAKEUPS))
        });
        match traced {
            Ok(termination) => {
                self.page.set_end(termination);
                0
            }
            Err(error) => self.report(&refusal(
                error,
                "trace the measured process",
                "another tracer is attached, or /proc/sys/kernel/yama/ptrace_scope is 2 or 3, or a \
                 seccomp filter forbids ptrace(2)",
            )),
        }
    }

    /// Prepares, applies the treatments and runs the body.
    fn run_measured(&mut self) -> i32 {
        self.page.set(MEASURED, std::process::id());
        while self.monitors.tracer.is_some() && self.page.get(TRACED) == 0 {
            std::thread::sleep(POLL_INTERVAL);
        }
        (self.prepare)();
        let all = self.treatments.applied.iter();
        let applied = all.clone().try_for_each(|one| apply(one, self.group, self.page));
        if let Err(reason) = applied {
            return self.report(&reason);
        }
        self.report = None;
        (self.body)(self.page)
    }

    /// Reaps the child; if it is the measured process, stores how it ended.
    fn reap(&mut self, child: u32) -> Result<(), Errno> {
        if let Some(EndedChild { termination, .. }) = process::wait(WaitTarget::Child(child), true)?
            && child == self.page.get(MEASURED)
        {
            self.page.set_end(termination);
        }
        Ok(())
    }

    /// A wakeup counter of the page, which exists wherever there is a monitor.
    fn wakeup_counter(&self, line: usize) -> &AtomicU64 {
        static NOWHERE: AtomicU64 = AtomicU64::new(0);
        self.page.0.as_ref().map_or(&NOWHERE, |page| page.word64(line))
    }
}
