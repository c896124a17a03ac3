//! The main loop of the monitor process: it attaches the monitor, runs until its input ends, and
//! undoes everything.
//!
//! Its output are lines of JSON ([`crate::ph::processes::monitor_process::MonitorEvent`]). It applies the rules to
//! the profiles ten times a second, continues stopped processes when their delay is over, and saves
//! the profiles at its end.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::monitor_report::MonitorReport;

use crate::ph::event::EventKind;
use crate::ph::monitor::{Monitor, Scope, remove_stopped, stopped_pids};
use crate::ph::processes::cleanup_process::CleanupProcess;
use crate::ph::processes::monitor_process::{MonitorEvent, MonitorOptions};
use crate::ph::processes::stopped_processes::{StoppedProcesses, continue_process, process_state};
use crate::ph::profiles::profile::Profile;
use crate::ph::profiles::profile_table::ProfileTable;
use crate::ph::profiles::store;
use crate::ph::requirements::{self, Availability};
use crate::ph::rules;
use crate::signals::end_signals;
use output::Output;

mod output;

/// The interval at which the rules are applied to the profiles.
const TICK: Duration = Duration::from_millis(100);
/// The interval and the number of final sweeps that continue stopped processes: a signal that was
/// pending when the programs were detached stops its process later.
const SWEEP: Duration = Duration::from_millis(5);
const SWEEPS: u32 = 4;

/// The task of the monitor process.
#[derive(Clone, Debug, Default)]
pub struct MonitorTask {
    /// The options of the monitor.
    pub options: MonitorOptions,
    /// The directory of profiles; `None` to begin without profiles, and save none.
    pub folder: Option<PathBuf>,
    /// Whether it saves there what it has learned.
    pub save_profiles: bool,
    /// Whether it reports more than its beginning and its end.
    pub report_events: bool,
}

/// How the monitor process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorExit {
    /// In order.
    Completed,
    /// It failed, and has reported why.
    Missing,
}

/// Runs the monitor until `input` ends or a signal arrives. An error means that `output` is closed.
pub fn run_monitor(
    task: &MonitorTask,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
) -> io::Result<MonitorExit> {
    let mut output = Output::new(output, task.report_events)?;
    let done = attach(task).and_then(|mut attached| {
        output.write_event(&MonitorEvent::Ready).map_err(|error| error.to_string())?;
        let notes = std::mem::take(&mut attached.notes).into_iter();
        let noted = notes
            .map(|text| MonitorEvent::Note { text })
            .try_for_each(|event| output.write_event(&event));
        let noted = noted.map_err(|error| error.to_string());
        let ran = noted.and_then(|()| attached.run(input, &mut output));
        // In any case: first no process is stopped any more, then all stopped ones continue.
        let ended = attached.end(task, &mut output);
        ran.and(ended)
    });
    match done {
        Ok(ended) => output.write_event(&ended).map(|()| MonitorExit::Completed),
        Err(why) => output
            .write_event(&MonitorEvent::Missing { reason: why })
            .map(|()| MonitorExit::Missing),
    }
}

/// An attached monitor and its state.
struct AttachedMonitor {
    monitor: Monitor,
    profiles: ProfileTable,
    stopped: StoppedProcesses,
    cleanup: Option<CleanupProcess>,
    /// Becomes readable when a signal arrives.
    signals: UnixStream,
    /// Excludes other processes that change the profiles.
    _lock: Option<store::FolderLock>,
    /// Counts that are in no map.
    report: MonitorReport,
    options: MonitorOptions,
    /// Notes that are reported at the beginning.
    notes: Vec<String>,
    /// Files in the directory that could not be read.
    unread: Vec<PathBuf>,
}

/// The profiles that a monitor begins with.
#[derive(Default)]
struct InitialProfiles {
    profiles: Vec<Profile>,
    /// Notes about the files.
    notes: Vec<String>,
    /// Files that could not be read.
    unread: Vec<PathBuf>,
}

impl InitialProfiles {
    /// Loads the profiles of a directory, which must have been learned with at least this window.
    fn load(folder: &Path, lock: Option<&store::FolderLock>, window: u32) -> Result<Self, String> {
        let store::LoadedProfiles { found, removed } =
            store::load(folder, lock).map_err(|error| error_chain(&error))?;
        if let Some(smaller) = found.profiles.iter().find(|it| it.learned_with.window < window) {
            let window = smaller.learned_with.window;
            let hint = "use the same (`--window`), or move their files away";
            return Err(format!("profiles were learned with a window of {window} calls: {hint}"));
        }
        let notes = notes_of(&found, removed);
        let unread = found.refused.into_iter().map(|file| file.path).collect();
        Ok(Self { profiles: found.profiles, notes, unread })
    }
}

/// Loads the programs and the profiles, and attaches the monitor.
fn attach(task: &MonitorTask) -> Result<AttachedMonitor, String> {
    for requirement in requirements::check_requirements(requirements::BUILD, "/".as_ref()) {
        if requirement.availability == Availability::No {
            return Err(format!("{}: {}", requirement.name, requirement.detail));
        }
    }
    requirements::pid_namespace()?;
    let changed_folder = task.folder.as_deref().filter(|_| task.save_profiles);
    let lock = changed_folder.map(store::lock).transpose();
    let lock = lock.map_err(|error| error_chain(&error))?;
    let window = task.options.constants.window;
    let loaded = task.folder.as_ref();
    let loaded = loaded.map(|folder| InitialProfiles::load(folder, lock.as_ref(), window));
    let InitialProfiles { profiles, notes, unread } = loaded.transpose()?.unwrap_or_default();
    let signals = signals().map_err(|error| format!("cannot wait for signals: {error}"))?;
    let delays = task.options.constants.delay_factor > 0;
    let mut cleanup = delays.then(CleanupProcess::start).transpose()?;
    let monitor_pid = std::process::id();
    let cleanup_pid = cleanup.as_ref().map_or(monitor_pid, CleanupProcess::pid);
    let scope = Scope { tree: task.options.tree, monitor_pid, cleanup_pid };
    let mut monitor = Monitor::load(&task.options.constants, scope, &profiles)?;
    if let Some(cleanup) = &mut cleanup {
        cleanup.watch(monitor.stopped_id()?)?;
    }
    let profiles = ProfileTable::new(task.options.constants, profiles);
    monitor.attach()?;
    Ok(AttachedMonitor {
        monitor,
        profiles,
        stopped: StoppedProcesses::default(),
        cleanup,
        signals,
        _lock: lock,
        report: MonitorReport::default(),
        options: task.options.clone(),
        notes,
        unread,
    })
}

/// Notes about unreadable and removed profiles.
fn notes_of(found: &store::StoredProfiles, removed: usize) -> Vec<String> {
    /// The notes must fit into a pipe that is not read yet.
    const MAX_NOTES: usize = 20;
    let refused =
        found.refused.iter().take(MAX_NOTES).map(|store::RefusedFile { path, refusal }| {
            let path = store::display_path(path);
            format!("{path} is not a valid profile: {refusal}; its executable is learned again")
        });
    let more = found.refused.len().saturating_sub(MAX_NOTES);
    let more = (more > 0).then(|| format!("{more} more files are not valid profiles"));
    let removed =
        (removed > 0).then(|| format!("removed {removed} profiles of deleted executables"));
    refused.chain(more).chain(removed).collect()
}

fn signals() -> io::Result<UnixStream> {
    let (receiver, sender) = UnixStream::pair()?;
    for signal in end_signals() {
        signal_hook::low_level::pipe::register(signal, sender.try_clone()?)?;
    }
    Ok(receiver)
}

/// An error and its causes in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl AttachedMonitor {
    /// Runs until the input ends or a signal arrives.
    fn run(
        &mut self,
        input: &mut (impl Read + AsFd),
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let mut tick = Instant::now() + TICK;
        loop {
            let until = self.stopped.next().map_or(tick, |stop| stop.min(tick));
            let ready = wait(
                [input.as_fd(), self.signals.as_fd(), self.monitor.readable()],
                until.saturating_duration_since(Instant::now()),
            )?;
            if ready[1] || ready[0] && has_ended(input) {
                return Ok(());
            }
            self.handle_events(output)?;
            let now = Instant::now();
            for process in self.stopped.due(now, process_state) {
                self.continue_one(process);
            }
            if now >= tick {
                self.cleanup.as_mut().map_or(Ok(()), CleanupProcess::check)?;
                self.apply_rules(output)?;
                tick = now + TICK;
            }
        }
    }

    /// Handles the events of the BPF programs.
    fn handle_events(&mut self, output: &mut Output<'_>) -> Result<(), String> {
        for event in self.monitor.drain_events()? {
            match &event.kind {
                EventKind::Stopped => {
                    let delay = rules::delay(&self.options.constants, event.locality_count);
                    self.stopped.add(event.process, Instant::now(), delay);
                }
                EventKind::Anomaly { .. } => self.report.anomalies += 1,
                EventKind::Marked { calls } => self.report.add_marked(event.process, *calls),
                _ => {}
            }
            if let Some(event) = self.profiles.record_event(&event) {
                output.report(&event)?;
            }
        }
        Ok(())
    }

    fn apply_rules(&mut self, output: &mut Output<'_>) -> Result<(), String> {
        for event in self.profiles.apply_rules(&self.monitor, now_s())? {
            output.report(&event)?;
        }
        Ok(())
    }

    fn continue_one(&mut self, process: u32) {
        // Removed first: once it continues, it may be stopped and entered again.
        remove_stopped(self.monitor.stopped_map(), process);
        let _ = continue_process(process);
    }

    /// Detaches, continues the stopped processes, and saves what was learned.
    fn end(mut self, task: &MonitorTask, output: &mut Output<'_>) -> Result<MonitorEvent, String> {
        self.monitor.detach();
        if self.options.constants.delay_factor > 0 {
            let continue_all = |stopped| {
                stopped_pids(stopped).into_iter().for_each(|process| {
                    let _ = continue_process(process);
                });
            };
            for _ in 0..SWEEPS {
                continue_all(self.monitor.stopped_map());
                std::thread::sleep(SWEEP);
            }
            continue_all(self.monitor.stopped_map());
        }
        if let Some(cleanup) = self.cleanup.take() {
            cleanup.end();
        }
        // If the output is closed, the profiles are saved nevertheless.
        let reported = self.handle_events(output).and_then(|()| self.apply_rules(output));
        let totals = self.profiles.totals(&self.monitor)?;
        let parent_slot = self.monitor.slot_of(parent_id())?;
        let profile_state = parent_slot.and_then(|slot| self.profiles.state(slot));
        let profiles = self.profiles.profiles(&self.monitor)?;
        if let Some(folder) = task.folder.as_ref().filter(|_| task.save_profiles) {
            let aside = store::save_all_except(folder, &profiles, &self.unread);
            let aside = aside.map_err(|error| error_chain(&error))?;
            for path in aside {
                let text =
                    format!("an invalid profile was renamed to {}", store::display_path(&path));
                // If the output is closed, the profiles are saved nevertheless.
                let _ = output.write_event(&MonitorEvent::Note { text });
            }
        }
        reported?;
        Ok(MonitorEvent::Ended(MonitorReport {
            calls: totals.calls,
            lost: totals.lost + self.report.lost + output.dropped_lines(),
            profile_state: profile_state.map(|state| state.text().to_owned()),
            ..self.report
        }))
    }
}

/// Waits until one of the descriptors is readable, at most for `timeout`; returns which are.
fn wait<const N: usize>(
    descriptors: [BorrowedFd<'_>; N],
    timeout: Duration,
) -> Result<[bool; N], String> {
    let mut polled = descriptors.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    // A poll that ends too early is repeated.
    let timeout_ms = u16::try_from(timeout.as_millis()).unwrap_or(u16::MAX).saturating_add(1);
    match poll(&mut polled, PollTimeout::from(timeout_ms)) {
        Ok(_) => Ok(polled.map(|it| it.any().unwrap_or(true))),
        Err(Errno::EINTR) => Ok([false; N]),
        Err(error) => Err(format!("cannot wait: {error}")),
    }
}

/// Whether a readable input has ended; its content is ignored.
fn has_ended(input: &mut impl Read) -> bool {
    match input.read(&mut [0; 256]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() != io::ErrorKind::Interrupted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_input_is_detected_and_its_content_ignored() {
        let (mut input, mut writer) = UnixStream::pair().unwrap();
        assert_eq!(wait([input.as_fd()], Duration::ZERO), Ok([false]));
        writer.write_all(b"hello").unwrap();
        assert_eq!(wait([input.as_fd()], Duration::from_secs(60)), Ok([true]));
        assert!(!has_ended(&mut input));
        drop(writer);
        assert_eq!(wait([input.as_fd()], Duration::from_secs(60)), Ok([true]));
        assert!(has_ended(&mut input));
    }

    #[test]
    fn the_first_damaged_files_are_named_and_all_are_counted() {
        let refusal =
            || crate::ph::profiles::profile_file::Refusal { line: 2, why: "damage".to_owned() };
        let refused = (0..30).map(|number| store::RefusedFile {
            path: PathBuf::from(format!("/x/{number}")),
            refusal: refusal(),
        });
        let found = store::StoredProfiles { profiles: Vec::new(), refused: refused.collect() };
        let notes = notes_of(&found, 7);
        assert_eq!(notes.len(), 22);
        assert!(notes[0].starts_with("/x/0 is not a valid profile: line 2: damage; "));
        assert_eq!(notes[20], "10 more files are not valid profiles");
        assert_eq!(notes[21], "removed 7 profiles of deleted executables");
        assert!(notes_of(&store::StoredProfiles::default(), 0).is_empty());
    }
}
