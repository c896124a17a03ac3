//! Stopped processes, and when each continues.
//!
//! The BPF programs enter a process in a map before they stop it, and it is removed from the map
//! before it is continued. SIGCONT is the only signal that is sent here.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process that is still running after this time has no stop pending.
const STOP_DEADLINE: Duration = Duration::from_millis(100);

/// The stopped processes by their ids.
#[derive(Debug, Default)]
pub struct StoppedProcesses(BTreeMap<u32, Stop>);

/// The stop of a process.
#[derive(Clone, Copy, Debug)]
struct Stop {
    /// When the process continues, or is checked again if it has not stopped yet.
    until: Instant,
    /// How long the process is stopped.
    duration: Duration,
    /// When SIGSTOP was sent.
    sent_at: Instant,
    /// Whether the process was observed in the stopped state.
    confirmed: bool,
}

/// The state of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It is stopped.
    Stopped,
    /// It is not stopped.
    Running,
    /// It has ended.
    Gone,
}

impl StoppedProcesses {
    /// Adds a process that was sent SIGSTOP, and the duration of its delay.
    pub fn add(&mut self, process: u32, now: Instant, duration: Duration) {
        let until = later(now, duration);
        self.0.insert(process, Stop { until, duration, sent_at: now, confirmed: false });
    }

    /// The next time at which [`Self::due`] has something to do.
    pub fn next(&self) -> Option<Instant> {
        self.0.values().map(|stop| stop.until).min()
    }

    /// Removes and returns the processes that must continue now. `state_of` returns the state of a
    /// process: SIGCONT before it has stopped would cancel the stop, and the delay with it.
    pub fn due(&mut self, now: Instant, state_of: impl Fn(u32) -> ProcessState) -> Vec<u32> {
        let mut due = Vec::new();
        self.0.retain(|process, stop| {
            if !stop.confirmed {
                match state_of(*process) {
                    ProcessState::Stopped => {
                        stop.confirmed = true;
                        stop.until = later(now, stop.duration);
                    }
                    ProcessState::Running if now < later(stop.sent_at, STOP_DEADLINE) => {
                        stop.until = later(now, Duration::from_millis(1));
                        return true;
                    }
                    ProcessState::Running | ProcessState::Gone => {
                        due.push(*process);
                        return false;
                    }
                }
            }
            let is_due = now >= stop.until;
            if is_due {
                due.push(*process);
            }
            !is_due
        });
        due
    }
}

/// A later time; a day later if the clock cannot represent it.
fn later(at: Instant, by: Duration) -> Instant {
    at.checked_add(by).unwrap_or(at + Duration::from_secs(24 * 60 * 60))
}

/// The current state of a process.
pub fn process_state(process: u32) -> ProcessState {
    match fs::read_to_string(format!("/proc/{process}/stat")) {
        Ok(stat) => parse_state(&stat),
        Err(_) => ProcessState::Gone,
    }
}

/// The state is the letter after the command name, which may contain any character
/// (proc_pid_stat(5)). A traced process in a stop (`t`) is controlled by its tracer.
fn parse_state(stat: &str) -> ProcessState {
    match stat.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next()) {
        Some('T') => ProcessState::Stopped,
        Some('Z' | 'X' | 'x') | None => ProcessState::Gone,
        Some(_) => ProcessState::Running,
    }
}

/// Sends SIGCONT to a process. Succeeds if the process does not exist.
pub fn continue_process(process: u32) -> Result<(), Errno> {
    let Ok(number) = i32::try_from(process) else { return Ok(()) };
    // Ids up to 0 mean process groups.
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
    fn a_process_continues_when_it_was_stopped_for_its_delay() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, 50 * MS);
        assert!(stops.due(start, |_| ProcessState::Running).is_empty());
        assert_eq!(stops.next(), Some(start + MS), "it has not stopped yet");
        assert!(stops.due(start + 5 * MS, |_| ProcessState::Stopped).is_empty());
        assert_eq!(stops.next(), Some(start + 55 * MS));
        assert!(stops.due(start + 54 * MS, |_| ProcessState::Stopped).is_empty());
        assert_eq!(stops.due(start + 55 * MS, |_| ProcessState::Stopped), [12]);
        assert_eq!(stops.next(), None);
    }

    #[test]
    fn a_process_that_never_stops_or_has_ended_is_removed() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, 50 * MS);
        stops.add(13, start, 50 * MS);
        let state_of =
            |process| if process == 12 { ProcessState::Gone } else { ProcessState::Running };
        assert_eq!(stops.due(start + MS, state_of), [12]);
        assert_eq!(stops.due(start + STOP_DEADLINE, state_of), [13]);
    }

    #[test]
    fn a_delay_beyond_the_clocks_range_is_shortened() {
        let start = Instant::now();
        let mut stops = StoppedProcesses::default();
        stops.add(12, start, Duration::MAX);
        assert!(stops.next().is_some());
    }

    #[test]
    fn a_state_is_parsed_after_the_command_name() {
        assert_eq!(parse_state("12 (cat) T 1 12"), ProcessState::Stopped);
        assert_eq!(parse_state("12 (a) S (x) R 1 12"), ProcessState::Running);
        assert_eq!(parse_state("12 (a) T) Z 1 12"), ProcessState::Gone);
        assert_eq!(parse_state("12 (cat) t 1"), ProcessState::Running, "its tracer controls it");
        assert_eq!(parse_state(""), ProcessState::Gone);
        assert_eq!(process_state(std::process::id()), ProcessState::Running);
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
    }

    #[test]
    fn process_groups_are_never_signalled() {
        assert_eq!(continue_process(0), Ok(()));
        assert_eq!(continue_process(u32::MAX), Ok(()));
    }
}
