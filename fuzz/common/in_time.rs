//! The time oracle of every target: an input may take a second for each 100 KB.
//!
//! It finds what is worse than linear, which no assertion about a result sees. libFuzzer's own
//! `-timeout` is for hangs: one limit for inputs of any size.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

/// The bytes that a second is for.
const BYTES_PER_SECOND: usize = 100_000;

/// The CPU time of this thread: a wait for a busy machine is not the input's.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID);
    now.expect("every Linux has the clock of a thread").into()
}

/// Works on an input of so many bytes, and fails if that takes longer than a second for each 100
/// KB, or than a second for a smaller one: what an input costs however short it is, such as the
/// compressed libraries of a page, fits into that.
pub fn in_time(bytes: usize, work: impl FnOnce()) {
    let begun = cpu_time();
    work();
    let taken = cpu_time() - begun;
    let limit = Duration::from_secs(bytes.div_ceil(BYTES_PER_SECOND).max(1) as u64);
    assert!(taken <= limit, "{bytes} bytes took {taken:?} of CPU time, the limit is {limit:?}");
}
