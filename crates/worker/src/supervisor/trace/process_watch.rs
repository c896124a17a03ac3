//! Counts the calls of a running process for some time: a job attaches to all of its threads, and
//! lets go of them in the end. Whatever happens, the process goes on.

use std::collections::BTreeSet;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use oscost_model::protocol::Event;

use super::form_counter::FormCounter;
use crate::kernel::event::poll;
use crate::kernel::probe::program_trace::{self, ProgramStop, StoppedTask};
use crate::kernel::probe::running_process::{detach, interrupt, process_of, seize_process};
use crate::kernel::{Errno, process};
use crate::supervisor::protocol::failure::failure;
use crate::supervisor::protocol::wire::Wire;

/// The time in which every task stops that the tracer asks to. One that waits for a disk or a network
/// file system stops later: the kernel lets go of it when the tracer ends.
const RELEASE_TIME: Duration = Duration::from_secs(1);

/// A watch of a process.
pub(crate) struct ProcessWatch {
    /// The job.
    pub(crate) id: u64,
    pub(crate) pid: u32,
    pub(crate) duration: Duration,
    /// Whether its descendants are counted with it.
    pub(crate) children: bool,
}

impl ProcessWatch {
    /// Counts until the time is up, the process has ended, or an order or the end of the session
    /// arrives.
    pub(crate) fn count(&self, wire: &mut Wire) -> Event {
        let tasks = match seize_process(self.pid, self.children) {
            Ok(tasks) => tasks,
            Err(Errno::ESRCH) => {
                return failure(self.id, format!("process {} has ended", self.pid));
            }
            Err(error) => {
                let pid = self.pid;
                let or_other = if self.children { ", or of a descendant," } else { "" };
                let what = format!("ptrace of process {pid}{or_other} is refused: {error}");
                return failure(self.id, what);
            }
        };
        let mut followed = FollowedTasks { watch: self, tasks };
        let mut forms = FormCounter::of_running(self.pid);
        let ready = Event::Ready { id: self.id, pid: std::process::id(), addr: None };
        let done = wire.send(&ready).and_then(|()| followed.follow(&mut forms));
        // The counts are those until here.
        let calls = forms.into_calls(0);
        let released = followed.release();
        match done.and(released) {
            Ok(()) => Event::FormsCounted { id: self.id, calls: Box::new(calls) },
            Err(error) => failure(self.id, format!("trace process {}: {error}", self.pid)),
        }
    }
}

/// The tasks that are traced.
struct FollowedTasks<'a> {
    watch: &'a ProcessWatch,
    tasks: BTreeSet<u32>,
}

impl FollowedTasks<'_> {
    /// Resumes the tasks from stop to stop until the watch is over.
    fn follow(&mut self, forms: &mut FormCounter) -> Result<(), Errno> {
        let mut timer = Timer::start(self.watch.duration)?;
        while !forms.has_ended() {
            let stopped = match program_trace::next_stop() {
                Err(Errno::ECHILD) => break,
                stopped => stopped?,
            };
            if timer.is_task(stopped.task) {
                break;
            }
            if !self.is_followed(stopped) {
                detach(stopped);
                continue;
            }
            forms.record(stopped);
            program_trace::resume(stopped);
        }
        Ok(())
    }

    /// Whether a task that has stopped is to be counted: one that was attached to, or one that such a
    /// task has created.
    fn is_followed(&mut self, StoppedTask { task, stop }: StoppedTask) -> bool {
        match stop {
            ProgramStop::Ended(_) => return self.tasks.remove(&task),
            // It has the id of its process from now on.
            ProgramStop::Exec { former } if former != task => {
                self.tasks.remove(&former);
            }
            _ => {}
        }
        if self.tasks.contains(&task) {
            return true;
        }
        let is_followed = self.watch.children || process_of(task) == Some(self.watch.pid);
        if is_followed {
            self.tasks.insert(task);
        }
        is_followed
    }

    /// Lets go of all tasks.
    fn release(&mut self) -> Result<(), Errno> {
        let mut timer = Timer::start_with(&[], RELEASE_TIME)?;
        self.tasks.iter().for_each(|&task| interrupt(task));
        while !self.tasks.is_empty() {
            let stopped = match program_trace::next_stop() {
                Err(Errno::ECHILD) => break,
                stopped => stopped?,
            };
            if timer.is_task(stopped.task) {
                break;
            }
            if let ProgramStop::NewTask(created) = stopped.stop {
                // It stops once more, for its tracer.
                self.tasks.insert(created);
            }
            self.tasks.remove(&stopped.task);
            detach(stopped);
        }
        Ok(())
    }
}

/// A child that ends when a time is up, which the wait for traced tasks reports.
struct Timer {
    /// `None` when it has been reaped: its number may then be another process's.
    child: Option<u32>,
}

impl Timer {
    /// One that ends, too, when this job gets an order or its input ends.
    fn start(duration: Duration) -> Result<Self, Errno> {
        let input = std::io::stdin();
        Self::start_with(&[input.as_fd()], duration)
    }

    fn start_with(inputs: &[BorrowedFd<'_>], duration: Duration) -> Result<Self, Errno> {
        let parent = std::process::id();
        let child = process::fork(|| {
            let parent_lives = process::die_with_parent(parent);
            let waited = parent_lives.and_then(|()| poll::readable(inputs, Some(duration)));
            i32::from(waited.is_err())
        })?;
        Ok(Self { child: Some(child) })
    }

    /// Whether this is the child, which has ended then.
    fn is_task(&mut self, task: u32) -> bool {
        self.child.take_if(|child| *child == task).is_some()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        if let Some(child) = self.child {
            process::kill_and_reap(child);
        }
    }
}
