//! Events that report why a job could not be done.

use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;

use crate::bench::OpError;
use crate::kernel::process::Termination;
use crate::kernel::process::signal;
use crate::kernel::{Errno, PEER_TIMEOUT};
use crate::treatments::{self, Refusal};

pub(crate) fn failure(id: u64, reason: impl Into<String>) -> Event {
    Event::Failed { id, at_op: None, reason: reason.into(), errno: None, arm: None }
}

/// The event for an op that failed; a peer that did not answer in time is a timeout.
pub(crate) fn op_failure(id: u64, error: OpError) -> Event {
    if error.errno == Errno::PEER_TIMED_OUT {
        let reason = Some(format!("op {} of a batch: {}", error.op, error.errno));
        return Event::TimedOut { id, after_ms: PEER_TIMEOUT.as_millis() as u64, reason };
    }
    let (reason, errno) = (error.errno.to_string(), Some(error.errno.0));
    Event::Failed { id, at_op: Some(error.op), reason, errno, arm: None }
}

pub(crate) fn no_instruction_counter(id: u64) -> Event {
    failure(id, "instructions can be counted only under an emulator")
}

/// The event for a treatment that could not be applied.
pub(crate) fn refusal(id: u64, reason: Refusal) -> Event {
    match reason {
        Refusal::Unavailable(missing) => Event::Skipped { id, missing, arm: None },
        Refusal::Failed(reason) => failure(id, reason),
    }
}

/// How a treated process ended that should have answered.
pub(crate) fn describe_end(termination: Termination, applied: &[AppliedTreatment]) -> String {
    let under = match treatments::names(applied) {
        none if none.is_empty() => none,
        names => format!(" under {names}"),
    };
    match termination {
        Termination::Killed(libc::SIGSYS) if !under.is_empty() => {
            // The kernel logs the calls for which it kills (seccomp(2), `actions_logged`).
            format!(
                "was killed by SIGSYS{under}: a filter forbids a call that it makes; the kernel's \
                 log has its number (`dmesg | grep type=1326`, after `syscall=`): allow it in the \
                 profile"
            )
        }
        Termination::Killed(by) => format!("was killed by {}{under}", signal::name(by)),
        Termination::Exited(status) => {
            format!("exited without an answer{under}, with status {status}")
        }
    }
}
