//! Bounded reads and waits.

use std::io::Read;
use std::time::{Duration, Instant};

use crate::kernel::Errno;

/// The time until `deadline`; zero if it has passed.
pub(crate) fn time_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// One read of the available bytes; `Ok(0)` is the end.
pub(crate) fn read_some(file: &mut impl Read, into: &mut Vec<u8>) -> Result<usize, Errno> {
    let mut chunk = [0u8; 64 << 10];
    loop {
        match file.read(&mut chunk) {
            Ok(read) => {
                into.extend_from_slice(&chunk[..read]);
                return Ok(read);
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}
