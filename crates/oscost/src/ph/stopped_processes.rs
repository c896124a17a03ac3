//! Processes that are stopped, and when each goes on.
//!
//! The programs stop a process, and note it in a map before they do; whoever continues it takes it
//! out. Nothing here ever ends a process: SIGCONT is the only signal that is sent.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process that has not stopped by then has no stop left before it.
const STOP_DEADLINE: Duration = Duration::from_millis(100);

/// The stopped processes, by their numbers.
#[derive(Debug, Default)]
pub struct StoppedProcesses(BTreeMap<u32, Stop>);

/// Until when.
#[derive(Clone, Copy, Debug)]
struct Stop {
    /// When it goes on; it is moved while the process has not stopped yet.
    until: Instant,
    /// How long it is stopped.
    duration: Duration,
    /// When it was told to stop.
    since: Instant,
    /// Whether it was seen to have stopped.
    confirmed: bool,
}

/// What is known of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It is stopped.
    Stopped,
    /// It is not.
    Running,
    /// It has ended.
    Gone,
}

impl StoppedProcesses {
    /// A process was told to stop, for so long.
    pub fn add(&mut self, process: u32, now: Instant, lasts: Duration) {
        let until = later(now, lasts);
        self.0.insert(process, Stop { until, duration: lasts, since: now, confirmed: false });
    }

    /// When there is something to do next.
    pub fn next(&self) -> Option<Instant> {
        self.0.values().map(|stop| stop.until).min()
    }

    /// The processes that go on now. `look` looks at one: a signal that continues it before it has
    /// stopped would take the stop away, and the time with it.
    pub fn due(&mut self, now: Instant, look: impl Fn(u32) -> ProcessState) -> Vec<u32> {
        let mut due = Vec::new();
        self.0.retain(|process, stop| {
            if !stop.confirmed {
                match look(*process) {
                    ProcessState::Stopped => {
                        stop.confirmed = true;
                        stop.until = later(now, stop.duration);
                    }
                    ProcessState::Running if now < later(stop.since, STOP_DEADLINE) => {
                        stop.until = later(now, Duration::from_millis(1));
                        return true;
                    }
                    ProcessState::Running | ProcessState::Gone => {
                        due.push(*process);
                        return false;
                    }
                }
            }
            let goes_on = now >= stop.until;
            if goes_on {
                due.push(*process);
            }
            !goes_on
        });
        due
    }
}

/// The time after that; for one that no clock can tell, a day later.
fn later(at: Instant, by: Duration) -> Instant {
    at.checked_add(by).unwrap_or(at + Duration::from_secs(24 * 60 * 60))
}

/// What a process does now.
pub fn process_state(process: u32) -> ProcessState {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => state(&stat),
        Err(_) => ProcessState::Gone,
    }
}

/// The letter behind the name, which may hold anything (proc_pid_stat(5)). A traced process that
/// stops is its tracer's.
fn state(stat: &str) -> ProcessState {
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('T') => ProcessState::Stopped,
        Some('Z' | 'X' | 'x') | None => ProcessState::Gone,
        Some(_) => ProcessState::Running,
    }
}

/// Lets a process go on. That it is gone by now is as good.
pub fn continue_process(process: u32) -> Result<(), Errno> {
    let Ok(number) = i32::try_from(process) else { return Ok(()) };
    // 0 and less are groups of processes.
    if number <= 0 {
        return Ok(());
    }
    match kill(Pid::from_raw(number), Signal::SIGCONT) {
        Err(Errno::ESRCH) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_process_goes_on_when_it_was_stopped_for_as_long_as_it_is_to_be() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, 50 * MS);
        assert!(stops.due(start, |_| ProcessState::Running).is_empty());
        assert_eq!(stops.next(), Some(start + MS), "soon again: it has not stopped yet");
        assert!(stops.due(start + 5 * MS, |_| ProcessState::Stopped).is_empty());
        assert_eq!(stops.next(), Some(start + 55 * MS));
        assert!(stops.due(start + 54 * MS, |_| ProcessState::Stopped).is_empty());
        assert_eq!(stops.due(start + 55 * MS, |_| ProcessState::Stopped), [12]);
        assert_eq!(stops.next(), None);
    }

    #[test]
    fn a_process_that_never_stops_or_is_gone_is_let_go() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, 50 * MS);
        stops.add(13, start, 50 * MS);
        let look = |process| if process == 12 { ProcessState::Gone } else { ProcessState::Running };
        assert_eq!(stops.due(start + MS, look), [12]);
        assert_eq!(stops.due(start + STOP_DEADLINE, look), [13]);
    }

    #[test]
    fn a_delay_of_years_is_one_that_a_clock_can_tell() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, Duration::MAX);
        assert!(stops.next().is_some());
    }

    #[test]
    fn a_state_is_read_behind_the_name() {
        assert_eq!(state("12 (cat) T 1 12"), ProcessState::Stopped);
        assert_eq!(state("12 (a) S (x) R 1 12"), ProcessState::Running);
        assert_eq!(state("12 (a) T) Z 1 12"), ProcessState::Gone);
        assert_eq!(state("12 (cat) t 1"), ProcessState::Running, "its tracer holds it");
        assert_eq!(state(""), ProcessState::Gone);
        assert_eq!(process_state(std::process::id()), ProcessState::Running);
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
    }

    #[test]
    fn no_group_of_processes_is_ever_continued() {
        assert_eq!(continue_process(0), Ok(()));
        assert_eq!(continue_process(u32::MAX), Ok(()));
    }
}
