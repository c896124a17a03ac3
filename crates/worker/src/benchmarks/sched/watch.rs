//! The wait for other tasks outside the clock.

use std::time::Duration;

use super::super::prelude::*;
use crate::kernel::ipc::context_switch::PeerProcess;
use crate::kernel::time::clock::monotonic_raw_ns;

/// A condition of another task is checked this often: it runs meanwhile, on the same CPU too.
const INTERVAL: Duration = Duration::from_micros(50);
/// Longer than any task here needs on a loaded machine.
const TIMEOUT_NS: u64 = kernel::PEER_TIMEOUT.as_nanos() as u64;

/// Sleeps until a condition holds; an error if one of the tasks has exited, or the time limit has
/// passed.
pub(super) fn wait_until<'a>(
    tasks: impl Iterator<Item = &'a PeerProcess> + Clone,
    mut condition: impl FnMut() -> Result<bool, Errno>,
) -> Result<(), Errno> {
    let start_ns = monotonic_raw_ns();
    while !condition()? {
        tasks.clone().try_for_each(PeerProcess::check_running)?;
        if monotonic_raw_ns() - start_ns > TIMEOUT_NS {
            return Err(Errno::PEER_TIMED_OUT);
        }
        std::thread::sleep(INTERVAL);
    }
    Ok(())
}
