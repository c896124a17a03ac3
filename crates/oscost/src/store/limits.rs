//! Limits of the store that its errors name.

use std::time::Duration;

/// How long to wait for another process. A write takes milliseconds, and returning the space of a
/// large run to the file system takes less than a second: a process that holds the lock for longer
/// is stuck.
pub(super) const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The maximum number of stored predictions.
pub const MAX_PREDICTIONS: usize = 1_000;
