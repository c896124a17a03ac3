//! The queue of a fleet that is reached by ssh: the plan and the files of the folder are the queue.
//!
//! Each task is a process of its own, `oscost fleet visit`, so that one that hangs or crashes costs no
//! other. After a kill the next queue goes on with what has no record.

use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

use super::folder::FleetFolder;
use super::slurm::submission::remaining_s;
use crate::app::interrupt::listen;
use crate::app::observer::Observer;
use crate::files::null_device::null_device;
use crate::files::own_program::own_program;
use crate::hosts::{HostError, Interrupt};

/// How often the ends of visits are looked for.
const LOOK: Duration = Duration::from_millis(50);
/// A visit that is asked to end undoes what it has begun on its host.
const END_PATIENCE: Duration = Duration::from_secs(20);

/// How the visits of a queue ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueEnd {
    /// The tasks that were measured.
    pub measured: usize,
    /// The tasks that were not.
    pub failed: usize,
    /// The tasks that were left alone: processes of an earlier queue still measure them.
    pub still_running: usize,
}

/// This very program: another one may be at its path by now, of another version.
const THIS_PROGRAM: &str = "/proc/self/exe";

/// A visit that runs. On drop it is killed with all that it has started.
struct RunningVisit {
    task: u32,
    node: u32,
    child: Child,
}

impl RunningVisit {
    fn start(folder: &FleetFolder, task: u32, node: u32) -> io::Result<Self> {
        let log = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .custom_flags(libc::O_NOFOLLOW)
            .open(folder.log(task))?;
        let mut command = match Path::new(THIS_PROGRAM).exists() {
            true => Command::new(THIS_PROGRAM),
            false => Command::new(own_program()?),
        };
        command
            .arg0("oscost")
            .args(["--progress", "none", "fleet", "visit", "--task"])
            .arg(task.to_string())
            .arg("--")
            .arg(folder.path())
            .stdin(null_device()?)
            .stdout(Stdio::from(log.try_clone()?))
            .stderr(Stdio::from(log))
            .process_group(0);
        Ok(Self { task, node, child: command.spawn()? })
    }

    fn signal(&self, signal: Signal) {
        if let Ok(group) = i32::try_from(self.child.id()) {
            // It fails if all of the group have ended.
            let _ = killpg(Pid::from_raw(group), signal);
        }
    }

    fn has_ended(&mut self) -> bool {
        // An error means that there is nothing to wait for.
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for RunningVisit {
    fn drop(&mut self) {
        if !self.has_ended() {
            self.signal(Signal::SIGKILL);
            let _ = self.child.wait();
        }
    }
}

/// The time of a queue, which never goes back: a clock that is set back makes no task wait again. It is
/// at least the time at which its plan was made, and counts that of a suspended machine.
struct QueueClock {
    began: SystemTime,
    since: Instant,
}

impl QueueClock {
    fn start(folder: &FleetFolder) -> Self {
        let now = SystemTime::now();
        let made = humantime::parse_rfc3339(&folder.plan.created).unwrap_or(now);
        Self { began: now.max(made), since: Instant::now() }
    }

    fn now(&self) -> SystemTime {
        SystemTime::now().max(self.began + self.since.elapsed())
    }
}

/// Does these tasks, each when it is due: at most as many at once as the plan says, and never two on
/// one node.
pub(super) fn work(
    folder: &FleetFolder,
    tasks: &[u32],
    observer: &dyn Observer,
) -> anyhow::Result<QueueEnd> {
    let interrupt = listen()?;
    let at_once = folder.plan.at_once.map_or(usize::MAX, |at_once| at_once.max(1) as usize);
    let mut waiting = tasks.to_vec();
    let mut running: Vec<RunningVisit> = Vec::new();
    let mut end = QueueEnd::default();
    let clock = QueueClock::start(folder);
    while !(waiting.is_empty() && running.is_empty()) {
        let any_ended = end.count_ended(folder, &mut running, observer);
        let mut index = 0;
        while running.len() < at_once && index < waiting.len() {
            let task = waiting[index];
            let node = folder.plan.tasks[task as usize].node;
            if !is_due(folder, task, clock.now()) {
                break; // Those behind it are due later.
            }
            if running.iter().any(|visit| visit.node == node) {
                index += 1;
                continue;
            }
            waiting.remove(index);
            match RunningVisit::start(folder, task, node) {
                Ok(visit) => running.push(visit),
                Err(error) => {
                    observer.note(&format!("cannot start task {task}: {error}"));
                    end.failed += 1;
                }
            }
        }
        if !any_ended && is_interrupted_within(&interrupt, LOOK)? {
            end_all(&mut running);
            return Err(HostError::Interrupted.into());
        }
        let (done, all) = (end.measured + end.failed, tasks.len());
        observer.working(&format!("{done} of {all} visits ended, {} running", running.len()));
    }
    observer.finished();
    Ok(end)
}

impl QueueEnd {
    /// Counts the visits that have ended; returns whether one has.
    fn count_ended(
        &mut self,
        folder: &FleetFolder,
        running: &mut Vec<RunningVisit>,
        observer: &dyn Observer,
    ) -> bool {
        let before = running.len();
        running.retain_mut(|visit| {
            let has_ended = visit.has_ended();
            if has_ended {
                self.count(folder, visit.task, observer);
            }
            !has_ended
        });
        running.len() < before
    }

    fn count(&mut self, folder: &FleetFolder, task: u32, observer: &dyn Observer) {
        match folder.has_record(task) {
            true => self.measured += 1,
            false => {
                self.failed += 1;
                let (node, log) = (folder.node(task), folder.log(task));
                observer.note(&format!("node {node} was not measured: see {}", log.display()));
            }
        }
    }
}

fn is_due(folder: &FleetFolder, task: u32, now: SystemTime) -> bool {
    let begin_s = folder.plan.tasks[task as usize].begin_s;
    remaining_s(&folder.plan.created, begin_s, now) == 0
}

/// Asks all to end, and kills those that do not.
fn end_all(running: &mut Vec<RunningVisit>) {
    running.iter().for_each(|visit| visit.signal(Signal::SIGTERM));
    let begun = Instant::now();
    while !running.is_empty() && begun.elapsed() < END_PATIENCE {
        running.retain_mut(|visit| !visit.has_ended());
        std::thread::sleep(LOOK);
    }
    running.clear();
}

fn is_interrupted_within(interrupt: &Interrupt, time: Duration) -> anyhow::Result<bool> {
    let mut polled = [PollFd::new(interrupt.as_fd(), PollFlags::POLLIN)];
    let timeout = PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX);
    match poll(&mut polled, timeout) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::EINTR) => Ok(false),
        Err(error) => Err(anyhow::anyhow!("cannot wait for the visits: {error}")),
    }
}
