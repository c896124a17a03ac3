//! Resource limits: reasons why a case is unavailable, and not failures.

use std::time::Duration;

use super::super::prelude::*;

/// The reason where a second CPU is required and there is none.
pub(crate) const NO_OTHER_CPU: &str = "this needs a second CPU, and the worker may use only one: \
                                       allow more CPUs (taskset, cpuset), or select peer_cpu=same";

/// Work that was run once, so that a resource limit is reported as a reason with a way out instead
/// of a failure.
pub(crate) fn try_once(mut work: Work) -> Result<Work, Errno> {
    if work.unavailable_reason().is_some() {
        return Ok(work);
    }
    // As many ops as a batch may have, if that is bounded: each needs something prepared for it.
    let ops = Some(work.max_batch_ops()).filter(|&max| max < u64::MAX).unwrap_or(1);
    let done = retry_while_busy(|| {
        work.prepare(ops).and_then(|()| work.run(ops, 1)).map_err(|at| at.errno)
    });
    done.map_or_else(limit_or_error, |()| Ok(work))
}

/// Reports a resource limit as the reason why the work is unavailable; anything else is an error.
pub(super) fn limit_or_error(error: Errno) -> Result<Work, Errno> {
    match error {
        Errno::EAGAIN => Ok(Work::unavailable(
            "no further process or thread can be created here: raise RLIMIT_NPROC (`ulimit -u`), \
             RLIMIT_AS (`ulimit -v`) or pids.max of the control group",
        )),
        Errno::ENOMEM => Ok(Work::unavailable(
            "the kernel has no memory for a further process here: raise RLIMIT_AS (`ulimit -v`), \
             or allow overcommitment (vm.overcommit_memory)",
        )),
        error => Err(error),
    }
}

/// Retries an act that may fail because the file is still open for writing: another process may
/// hold it that inherited it by a fork.
pub(super) fn retry_while_busy(
    mut attempt: impl FnMut() -> Result<(), Errno>,
) -> Result<(), Errno> {
    const TRIES: u32 = 100;
    for _ in 0..TRIES {
        match attempt() {
            Err(Errno::ETXTBSY) => std::thread::sleep(Duration::from_millis(1)),
            other => return other,
        }
    }
    Err(Errno::ETXTBSY)
}

#[cfg(test)]
mod tests;
