//! A process that is read again and again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::reading::{Charge, Reading, charge, read};
use super::threads::threads_of;

/// How often a process is read, in case it ends: its times are then this old at most.
const INTERVAL: Duration = Duration::from_millis(50);

/// The same of a process with its children, for which all of /proc is read.
const TREE_INTERVAL: Duration = Duration::from_millis(500);

/// Reads a process again and again, in a thread of its own, so that its last times are known when
/// it has ended.
pub struct ProcessSampler {
    process: u32,
    children: bool,
    first: Reading,
    shared: Arc<Shared>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

struct Shared {
    last: Mutex<Reading>,
    has_ended: AtomicBool,
}

impl Shared {
    /// Reads once; says whether the process is still there.
    fn update(&self, process: u32, children: bool, start: u64) -> bool {
        let now = read(process, children).filter(|reading| reading.start == start);
        let lives = now.as_ref().is_some_and(|reading| !reading.has_ended);
        if let Some(reading) = now {
            *self.last.lock().unwrap_or_else(PoisonError::into_inner) = reading;
        }
        if !lives {
            self.has_ended.store(true, Ordering::Relaxed);
        }
        lives
    }
}

impl ProcessSampler {
    /// Begins with a reading; the error says that the process is not there, or why it cannot be read
    /// again and again.
    pub fn start(process: u32, children: bool) -> Result<Self, String> {
        Self::start_after(process, children, || Ok(()))
    }

    /// The same right after something else begins, whose error is returned.
    pub fn start_after(
        process: u32,
        children: bool,
        begin: impl FnOnce() -> Result<(), String>,
    ) -> Result<Self, String> {
        // The files of many threads are read outside of the time between the readings, and at both
        // ends alone: it takes a while.
        let threads = (!children).then(|| threads_of(process));
        begin()?;
        let first = read(process, children).filter(|reading| !reading.has_ended);
        let first = first.ok_or_else(|| format!("there is no process {process}"))?;
        let last = Mutex::new(first.clone());
        let first = Reading { threads, ..first };
        let shared = Arc::new(Shared { last, has_ended: AtomicBool::new(false) });
        let (stop, stopped) = channel();
        let interval = if children { TREE_INTERVAL } else { INTERVAL };
        let (of_thread, start) = (Arc::clone(&shared), first.start);
        let thread =
            std::thread::Builder::new().name("process-times".to_owned()).spawn(move || {
                while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                    if !of_thread.update(process, children, start) {
                        break;
                    }
                }
            });
        let thread = thread.map_err(|error| format!("cannot start a thread: {error}"))?;
        Ok(Self { process, children, first, shared, stop: Some(stop), thread: Some(thread) })
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.shared.has_ended.load(Ordering::Relaxed)
    }

    /// The threads of the process when it began.
    pub fn thread_count(&self) -> u32 {
        self.first.thread_count
    }

    /// Ends with a reading, and returns what was charged meanwhile; `None` if times have become
    /// smaller.
    pub fn end(self) -> Option<Charge> {
        self.end_before(|| ())
    }

    /// The same, and something else ends right after the reading.
    pub fn end_before(mut self, end: impl FnOnce()) -> Option<Charge> {
        self.join();
        let lives =
            !self.has_ended() && self.shared.update(self.process, self.children, self.first.start);
        end();
        let mut last = self.shared.last.lock().unwrap_or_else(PoisonError::into_inner).clone();
        last.threads = (lives && !self.children).then(|| threads_of(self.process));
        charge(&self.first, &last, !lives)
    }

    fn join(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // It does not panic, and its result is in what is shared.
            let _ = thread.join();
        }
    }
}

impl Drop for ProcessSampler {
    fn drop(&mut self) {
        self.join();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::process_times::command_line::command_of;
    use crate::counter::process_times::process_stat::{is_own_or_ancestor, process_of};

    #[test]
    fn this_process_is_read_and_its_parents_are_known() {
        let me = std::process::id();
        let sampler = ProcessSampler::start(me, false).unwrap();
        assert!(sampler.thread_count() > 0 && !sampler.has_ended());
        assert!(!sampler.end().unwrap().has_ended);
        // A parent in another namespace of processes is 0.
        let parent = std::os::unix::process::parent_id();
        assert!(is_own_or_ancestor(me) && (parent == 0 || is_own_or_ancestor(parent)));
        assert!(!is_own_or_ancestor(0) && !command_of(me).is_empty());
        assert_eq!((process_of(me), process_of(u32::MAX)), (Some(me), None));
        assert!(ProcessSampler::start(u32::MAX, false).is_err());
    }

    /// A shell that ends when its input does.
    fn shell() -> std::process::Child {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", "read -r line"]).stdin(std::process::Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn what_threads_were_charged_is_known_of_a_process_alone() {
        let mut child = shell();
        let is_told = std::path::Path::new("/proc/self/schedstat").exists();
        for children in [false, true] {
            let mut begun = false;
            let begin = || {
                begun = true;
                Ok(())
            };
            let sampler = ProcessSampler::start_after(child.id(), children, begin).unwrap();
            let mut ended = false;
            let charge = sampler.end_before(|| ended = true).unwrap();
            assert_eq!(charge.threads.is_some(), is_told && !children);
            assert!(!charge.has_ended);
            assert!(begun && ended);
        }
        let refused = ProcessSampler::start_after(child.id(), false, || Err("no".to_owned()));
        assert_eq!(refused.err().as_deref(), Some("no"));
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn the_end_of_a_process_is_noticed() {
        let mut child = shell();
        let sampler = ProcessSampler::start(child.id(), false).unwrap();
        drop(child.stdin.take());
        while !sampler.has_ended() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(sampler.end().unwrap().has_ended);
        child.wait().unwrap();
    }
}
