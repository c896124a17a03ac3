//! The signals that this process answers itself.
//!
//! Purpose: which signals ask the process to end, which of them have arrived, that a write beyond
//! the limit of file sizes is an error instead of the end, and that children can be waited for. It
//! must not know what is done at an end.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, SIGXFSZ};

/// What a shell adds to the number of the signal that ended a command.
const EXIT_SIGNAL_BASE: i32 = 128;
/// The exit status after SIGINT.
const INTERRUPTED: u8 = 130;

/// A signal that asks the process to end.
struct EndSignal {
    number: i32,
    has_arrived: AtomicBool,
}

impl EndSignal {
    const fn new(number: i32) -> Self {
        Self { number, has_arrived: AtomicBool::new(false) }
    }
}

/// All of them. One request to end may come as several: systemd(1) and timeout(1) send SIGTERM
/// first. The kernel does not deliver pending signals in the order in which they were sent, so that
/// of several the first one here is the request.
static END_SIGNALS: [EndSignal; 3] =
    [EndSignal::new(SIGINT), EndSignal::new(SIGTERM), EndSignal::new(SIGHUP)];

/// The signals that ask this process to end. A SIGHUP that the parent has it ignore, as nohup(1)
/// does, is none.
pub fn end_signals() -> impl Iterator<Item = i32> {
    let hangup_ignored = is_ignored(SIGHUP);
    let all = END_SIGNALS.iter().map(|signal| signal.number);
    all.filter(move |&number| number != SIGHUP || !hangup_ignored)
}

/// From now on these signals no longer end the process: that they arrived is remembered for
/// [`exit_status`].
pub fn watch_end_signals() -> io::Result<()> {
    for number in end_signals() {
        if let Some(signal) = END_SIGNALS.iter().find(|signal| signal.number == number) {
            signal_hook::flag::register(number, &signal.has_arrived)?;
        }
    }
    Ok(())
}

/// Whether a signal has asked this process to end. One that is not watched has ended it.
pub fn end_is_requested() -> bool {
    END_SIGNALS.iter().any(|signal| signal.has_arrived.load(Ordering::Relaxed))
}

/// The exit status for the signal that asked the process to end, as in shells: 128 plus its number;
/// 130 if none has arrived.
pub fn exit_status() -> u8 {
    let mut arrived =
        END_SIGNALS.iter().filter(|signal| signal.has_arrived.load(Ordering::Relaxed));
    let status = arrived.next().map(|signal| EXIT_SIGNAL_BASE + signal.number);
    status.and_then(|status| u8::try_from(status).ok()).unwrap_or(INTERRUPTED)
}

/// The signal by which a process that exits with this status was asked to end, if there is one.
pub fn end_signal_of_status(status: i32) -> Option<i32> {
    let mut numbers = END_SIGNALS.iter().map(|signal| signal.number);
    numbers.find(|number| EXIT_SIGNAL_BASE + number == status)
}

/// From now on a write beyond the limit of file sizes (`ulimit -f`) fails with EFBIG, as one to a
/// full disk fails with ENOSPC, and does not end the process. By a handler: programs that are
/// started get back the default, while what a process ignores they ignore too.
pub fn outlive_file_size_limit() {
    static WAS_EXCEEDED: AtomicBool = AtomicBool::new(false);
    if !is_ignored(SIGXFSZ) {
        // It fails only for signals that no process can catch.
        let _ = signal_hook::flag::register(SIGXFSZ, &WAS_EXCEEDED);
    }
}

/// From now on the ends of children can be waited for, also where the parent of this process has it
/// ignore SIGCHLD: the kernel would reap them, and their statuses be lost. By a handler, as above.
pub fn wait_for_children() {
    static HAS_ENDED: AtomicBool = AtomicBool::new(false);
    if is_ignored(SIGCHLD) {
        // It fails only for signals that no process can catch.
        let _ = signal_hook::flag::register(SIGCHLD, &HAS_ENDED);
    }
}

/// Whether this process ignores a signal; without /proc it does not.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignores(&status, signal)
}

/// Whether a process with this status (proc_pid_status(5)) ignores a signal.
fn ignores(status: &str, signal: i32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    (mask >> (signal - 1)) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ignored_signals_are_read_from_the_status_of_a_process() {
        let status = "Name:\toscost\nSigBlk:\tffffffffffffffff\nSigIgn:\t0000000001001001\n";
        assert!(ignores(status, SIGHUP), "bit 0 is signal 1");
        assert!(ignores(status, SIGXFSZ), "bit 24 is signal 25");
        assert!(!ignores(status, SIGINT) && !ignores(status, SIGTERM));
        assert!(!ignores("", SIGHUP) && !ignores("SigIgn:\tx\n", SIGHUP));
    }

    #[test]
    fn an_exit_status_tells_the_signal_that_asked_for_the_end() {
        let signals = [129, 130, 143].map(end_signal_of_status);
        assert_eq!(signals, [Some(SIGHUP), Some(SIGINT), Some(SIGTERM)]);
        assert_eq!([0, 1, 128, 137, 255].map(end_signal_of_status), [None; 5]);
    }
}
