//! Waiting for another process where SQLite itself does not.

use std::thread;
use std::time::{Duration, Instant};

use super::error::Cause;
use super::limits::LOCK_TIMEOUT;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// Repeats an operation while another process has locked the store, but not for ever.
pub(super) fn retry_while_locked<T>(
    mut operation: impl FnMut() -> Result<T, Cause>,
) -> Result<T, Cause> {
    let started = Instant::now();
    loop {
        match operation() {
            Err(Cause::Locked) if started.elapsed() < LOCK_TIMEOUT => thread::sleep(PAUSE),
            done => return done,
        }
    }
}
