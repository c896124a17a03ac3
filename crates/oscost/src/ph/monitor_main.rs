//! The holder: attaches, holds until its input ends, and undoes.
//!
//! What it says are lines of JSON ([`super::monitor_process::MonitorEvent`]). It judges the profiles ten times a second, lets
//! stopped processes go on when their time has come, and keeps the profiles at its end.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::parent_id;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use oscost_model::monitor_report::MonitorReport;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use super::cleanup_process::CleanupProcess;
use super::event::Kind;
use super::monitor::{Monitor, Scope, remove_stopped, stopped_pids};
use super::monitor_process::{MonitorEvent, MonitorOptions};
use super::profile_table::ProfileTable;
use super::requirements::{self, Availability};
use super::rules;
use super::stopped_processes::{StoppedProcesses, continue_process, process_state};
use super::store;

/// How often the profiles are judged.
const TICK: Duration = Duration::from_millis(100);
/// How often, and how many times, stopped processes are continued at the end: a signal that was on
/// its way when the programs were detached stops its process after that.
const SWEEP: Duration = Duration::from_millis(5);
const SWEEPS: u32 = 4;

/// What a holder does.
#[derive(Clone, Debug, Default)]
pub struct MonitorTask {
    /// What it was asked to do.
    pub options: MonitorOptions,
    /// Where the profiles are; `None` to begin with none, and keep none.
    pub folder: Option<PathBuf>,
    /// Whether it keeps there what it has learnt.
    pub save_profiles: bool,
    /// Whether it tells what it sees, besides its beginning and its end.
    pub report_events: bool,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MonitorExit {
    /// As it was to.
    Well,
    /// It could not; it has said why.
    Missing,
}

/// Holds the monitor until `input` ends or a signal says so. An error is that nobody listens.
pub fn run_monitor(
    work: &MonitorTask,
    input: &mut (impl Read + AsFd),
    output: &mut (impl Write + AsFd),
) -> io::Result<MonitorExit> {
    // The same descriptor, to ask whether it has room.
    let room = output.as_fd().try_clone_to_owned()?;
    let mut output = Output { to: output, room: Some(room), tells: work.report_events, untold: 0 };
    let done = begin(work).and_then(|mut holding| {
        output.write_event(&MonitorEvent::Ready).map_err(|error| error.to_string())?;
        let noted = std::mem::take(&mut holding.notes).into_iter();
        let noted = noted
            .map(|what| MonitorEvent::Note { what })
            .try_for_each(|said| output.write_event(&said));
        let noted = noted.map_err(|error| error.to_string());
        let held = noted.and_then(|()| holding.until_the_end(input, &mut output));
        // Whatever happened: first nobody is stopped any more, and then nobody is left so.
        let ended = holding.end(work, &mut output);
        held.and(ended)
    });
    match done {
        Ok(ended) => output.write_event(&ended).map(|()| MonitorExit::Well),
        Err(why) => {
            output.write_event(&MonitorEvent::Missing { why }).map(|()| MonitorExit::Missing)
        }
    }
}

/// Where the words go.
struct Output<'a> {
    to: &'a mut dyn Write,
    /// What it is written to; `None` where that always has room.
    room: Option<OwnedFd>,
    tells: bool,
    /// What was not told, since nobody read.
    untold: u64,
}

impl Output<'_> {
    fn write_event(&mut self, said: &MonitorEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(said)?;
        line.push(b'\n');
        self.to.write_all(&line)?;
        self.to.flush()
    }

    fn report(&mut self, said: &MonitorEvent) -> Result<(), String> {
        if !self.tells {
            return Ok(());
        }
        // Whoever reads this may be stopped, by us even: who waits for that continues nobody. A pipe
        // that can be written to has room for a page, and no line is longer than that.
        if self.room.as_ref().is_some_and(|room| !has_room(room.as_fd())) {
            self.untold += 1;
            return Ok(());
        }
        self.write_event(said).map_err(|error| format!("cannot tell what was seen: {error}"))
    }
}

/// A monitor that is attached, and all that goes with it.
struct AttachedMonitor {
    monitor: Monitor,
    book: ProfileTable,
    stops: StoppedProcesses,
    guard: Option<CleanupProcess>,
    /// A byte comes when a signal does.
    signals: UnixStream,
    /// Nobody else changes the profiles meanwhile.
    _claim: Option<store::FolderLock>,
    /// What has been seen that no map counts.
    monitor_report: MonitorReport,
    work: MonitorOptions,
    /// What is told at the beginning.
    notes: Vec<String>,
    /// Files of the folder that it goes without.
    unread: Vec<PathBuf>,
}

fn begin(work: &MonitorTask) -> Result<AttachedMonitor, String> {
    for need in requirements::check_requirements(requirements::BUILD, "/".as_ref()) {
        if need.availability == Availability::No {
            return Err(format!("{}: {}", need.name, need.detail));
        }
    }
    first_processes()?;
    let words = |error: store::StoreError| error_chain(&error);
    let claimed = work.folder.as_deref().filter(|_| work.save_profiles);
    let claim = claimed.map(store::lock).transpose().map_err(words)?;
    let (mut known, mut notes, mut unread) = (Vec::new(), Vec::new(), Vec::new());
    if let Some(folder) = &work.folder {
        let (found, removed) = store::begin(folder, claim.as_ref()).map_err(words)?;
        notes = notes_of(&found, removed);
        unread = found.refused.into_iter().map(|(path, _)| path).collect();
        known = found.profiles;
        let window = work.options.constants.window;
        if let Some(smaller) = known.iter().find(|it| it.learnt_with.window < window) {
            let its = smaller.learnt_with.window;
            let way = "begin with that (`--window`), or move their files away";
            return Err(format!("profiles were learnt with a window of {its} calls: {way}"));
        }
    }
    let signals = signals().map_err(|error| format!("cannot wait for signals: {error}"))?;
    let delays = work.options.constants.delay_factor > 0;
    let mut guard = delays.then(CleanupProcess::start).transpose()?;
    let own = std::process::id();
    let never = [own, guard.as_ref().map_or(own, CleanupProcess::pid)];
    let whom = Scope { tree: work.options.tree, excluded: never };
    let mut monitor = Monitor::load(&work.options.constants, whom, &known)?;
    if let Some(guard) = &mut guard {
        guard.watch(monitor.stopped_id()?)?;
    }
    let book = ProfileTable::new(work.options.constants, known);
    monitor.attach()?;
    Ok(AttachedMonitor {
        monitor,
        book,
        stops: StoppedProcesses::default(),
        guard,
        signals,
        _claim: claim,
        monitor_report: MonitorReport::default(),
        work: work.options.clone(),
        notes,
        unread,
    })
}

/// What is to be told of a folder that was not as it should be.
fn notes_of(found: &store::StoredProfiles, removed: usize) -> Vec<String> {
    /// As many are named: whoever does not listen yet must have room for them in a pipe.
    const MAX: usize = 20;
    let refused = found.refused.iter().take(MAX).map(|(path, refusal)| {
        let path = store::shown(path);
        format!("{path} is no profile, and left out: {refusal}; its executable is learnt anew")
    });
    let more = found.refused.len().saturating_sub(MAX);
    let more = (more > 0).then(|| format!("{more} more files are no profiles, and left out"));
    let gone =
        (removed > 0).then(|| format!("removed {removed} profiles of executables that are gone"));
    refused.chain(more).chain(gone).collect()
}

/// The programs know processes by the machine's own numbers.
fn first_processes() -> Result<(), String> {
    /// PROC_PID_INIT_INO: the name of the namespace that the machine began with.
    const FIRST: &str = "pid:[4026531836]";
    let own = std::fs::read_link("/proc/self/ns/pid").map_err(|error| {
        format!("cannot tell which processes are seen from here: {error}; it takes /proc")
    })?;
    if own.as_os_str() == FIRST {
        return Ok(());
    }
    Err("processes have other numbers here than for the kernel: run it outside of the container"
        .to_owned())
}

fn signals() -> io::Result<UnixStream> {
    let (ours, theirs) = UnixStream::pair()?;
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::low_level::pipe::register(signal, theirs.try_clone()?)?;
    }
    Ok(ours)
}

/// An error and its causes in one line.
fn error_chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}

fn now_s() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl AttachedMonitor {
    fn until_the_end(
        &mut self,
        input: &mut (impl Read + AsFd),
        output: &mut Output<'_>,
    ) -> Result<(), String> {
        let mut tick = Instant::now() + TICK;
        loop {
            let until = self.stops.next().map_or(tick, |stop| stop.min(tick));
            let ready = wait(
                [input.as_fd(), self.signals.as_fd(), self.monitor.readable()],
                until.saturating_duration_since(Instant::now()),
            )?;
            if ready[1] || ready[0] && has_ended(input) {
                return Ok(());
            }
            self.hear(output)?;
            let now = Instant::now();
            for process in self.stops.due(now, process_state) {
                self.continue_one(process);
            }
            if now >= tick {
                self.guard.as_mut().map_or(Ok(()), CleanupProcess::check)?;
                self.judge(output)?;
                tick = now + TICK;
            }
        }
    }

    /// Takes up what the programs have said.
    fn hear(&mut self, output: &mut Output<'_>) -> Result<(), String> {
        for event in self.monitor.drain_events()? {
            match &event.kind {
                Kind::Stopped => {
                    let lasts = rules::delay(&self.work.constants, event.locality_count);
                    self.stops.add(event.process, Instant::now(), lasts);
                }
                Kind::Anomaly { .. } => self.monitor_report.anomalies += 1,
                Kind::Marked { calls } => self.monitor_report.add_marked(event.process, *calls),
                _ => {}
            }
            if let Some(said) = self.book.record_event(&event) {
                output.report(&said)?;
            }
        }
        Ok(())
    }

    fn judge(&mut self, output: &mut Output<'_>) -> Result<(), String> {
        for said in self.book.judge(&self.monitor, now_s())? {
            output.report(&said)?;
        }
        Ok(())
    }

    fn continue_one(&mut self, process: u32) {
        // The list first: once it goes on, it may be stopped and listed anew.
        remove_stopped(self.monitor.stopped(), process);
        let _ = continue_process(process);
    }

    /// Detaches, continues whoever is stopped, and keeps what was learnt.
    fn end(mut self, work: &MonitorTask, output: &mut Output<'_>) -> Result<MonitorEvent, String> {
        self.monitor.detach();
        if self.work.constants.delay_factor > 0 {
            let all_go_on = |stopped| {
                stopped_pids(stopped).into_iter().for_each(|process| {
                    let _ = continue_process(process);
                });
            };
            for _ in 0..SWEEPS {
                all_go_on(self.monitor.stopped());
                std::thread::sleep(SWEEP);
            }
            all_go_on(self.monitor.stopped());
        }
        if let Some(guard) = self.guard.take() {
            guard.end();
        }
        // What cannot be told any more is kept all the same.
        let told = self.hear(output).and_then(|()| self.judge(output));
        let seen = self.book.totals(&self.monitor)?;
        let starter = self.monitor.slot_of(parent_id())?;
        let profile = starter.and_then(|slot| self.book.state(slot));
        let profiles = self.book.profiles(&self.monitor)?;
        if let Some(folder) = work.folder.as_ref().filter(|_| work.save_profiles) {
            let aside = store::save_all_except(folder, &profiles, &self.unread);
            let aside = aside.map_err(|error| error_chain(&error))?;
            for path in aside {
                let what = format!("what was no profile is now {}", store::shown(&path));
                // What cannot be told any more is done all the same.
                let _ = output.write_event(&MonitorEvent::Note { what });
            }
        }
        told?;
        Ok(MonitorEvent::Ended(MonitorReport {
            calls: seen.calls,
            lost: seen.lost + self.monitor_report.lost + output.untold,
            profile_state: profile.map(|state| state.text().to_owned()),
            ..self.monitor_report
        }))
    }
}

/// Waits until one of these has something to read, or the time is over; says which have.
fn wait<const N: usize>(from: [BorrowedFd<'_>; N], most: Duration) -> Result<[bool; N], String> {
    let mut polled = from.map(|fd| PollFd::new(fd, PollFlags::POLLIN));
    // A poll that ends too early finds nothing to do, and comes again.
    let most_ms = u16::try_from(most.as_millis()).unwrap_or(u16::MAX).saturating_add(1);
    match poll(&mut polled, PollTimeout::from(most_ms)) {
        Ok(_) => Ok(polled.map(|it| it.any().unwrap_or(true))),
        Err(Errno::EINTR) => Ok([false; N]),
        Err(error) => Err(format!("cannot wait: {error}")),
    }
}

/// Whether something can be written at once; one that is gone says so when it is written to.
fn has_room(to: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::new(to, PollFlags::POLLOUT)];
    poll(&mut polled, PollTimeout::ZERO).is_ok_and(|ready| ready > 0)
}

/// Whether an input that is readable has ended; what comes from it is not looked at.
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
    fn an_input_that_ends_is_seen_and_one_that_only_talks_is_not() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        assert_eq!(wait([ours.as_fd()], Duration::ZERO), Ok([false]));
        theirs.write_all(b"hello").unwrap();
        assert_eq!(wait([ours.as_fd()], Duration::from_secs(60)), Ok([true]));
        assert!(!has_ended(&mut ours));
        drop(theirs);
        assert_eq!(wait([ours.as_fd()], Duration::from_secs(60)), Ok([true]));
        assert!(has_ended(&mut ours));
    }

    #[test]
    fn a_quiet_holder_says_its_beginning_and_end_alone() {
        let mut said = Vec::new();
        let mut output = Output { to: &mut said, room: None, tells: false, untold: 0 };
        output.write_event(&MonitorEvent::Ready).unwrap();
        output.report(&MonitorEvent::Other).unwrap();
        let mut last =
            MonitorReport { calls: 1, anomalies: 2, lost: 3, ..MonitorReport::default() };
        last.add_marked(4, 5);
        last.profile_state = Some("training".to_owned());
        output.write_event(&MonitorEvent::Ended(last)).unwrap();
        let text = String::from_utf8(said).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0], r#"{"event":"ready"}"#);
        let last = r#"{"event":"ended","calls":1,"lost":3,"marked":[{"pid":4,"calls":5}],"#;
        assert_eq!(lines[1], format!(r#"{last}"profile_state":"training","anomalies":2}}"#));
    }

    #[test]
    fn of_many_damaged_files_some_are_named_and_all_are_counted() {
        let refusal = || crate::ph::profile_file::Refusal { line: 2, why: "damage".to_owned() };
        let refused = (0..30).map(|number| (PathBuf::from(format!("/x/{number}")), refusal()));
        let found = store::StoredProfiles { profiles: Vec::new(), refused: refused.collect() };
        let notes = notes_of(&found, 7);
        assert_eq!(notes.len(), 22);
        assert!(notes[0].starts_with("/x/0 is no profile, and left out: line 2: damage; "));
        assert_eq!(notes[20], "10 more files are no profiles, and left out");
        assert_eq!(notes[21], "removed 7 profiles of executables that are gone");
        assert!(notes_of(&store::StoredProfiles::default(), 0).is_empty());
    }

    #[test]
    fn whoever_does_not_read_holds_nobody_up() {
        let (theirs, ours) = io::pipe().unwrap();
        while has_room(ours.as_fd()) {
            (&ours).write_all(&[b' '; 4_096]).unwrap();
        }
        let room = Some(ours.as_fd().try_clone_to_owned().unwrap());
        let mut output = Output { to: &mut &ours, room, tells: true, untold: 0 };
        output.report(&MonitorEvent::Other).unwrap();
        output.report(&MonitorEvent::Other).unwrap();
        assert_eq!(output.untold, 2);
        drop(theirs);
        assert!(output.report(&MonitorEvent::Other).is_err(), "nobody will ever read");
    }

    #[test]
    fn whoever_does_not_listen_ends_it() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut output = Output { to: &mut Closed, room: None, tells: true, untold: 0 };
        assert!(output.report(&MonitorEvent::Ready).is_err());
    }
}
