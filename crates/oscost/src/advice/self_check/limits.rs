//! Resource limits.

use oscost_model::facts::{Bound, Facts, Limit};

use super::conditions::Conditions;
use super::judgement::Judgement;
use crate::advice::OPEN_FILES;

/// The bit of CAP_IPC_LOCK, to which the limit of locked memory does not apply.
const CAP_IPC_LOCK: u32 = 14;

/// A supervisor refuses to start with less.
const MIN_STACK_BYTES: u64 = 256 << 10;

/// Processes of a user below which cases with many of them are in doubt: the limit counts all
/// processes of the user, not those of oscost alone.
const FEW_PROCESSES: u64 = 512;

/// Memory that the largest default cases map, with room for the worker itself.
const ADDRESS_SPACE_BYTES: u64 = 2 << 30;

/// Memory that the case with the most locked memory needs (`fault/prefault:prefault=mlock`).
const LOCKED_BYTES: u64 = 8 << 20;

/// A store of a few hundred runs.
const FILE_BYTES: u64 = 1 << 30;

/// Judges a limit that the worker has read.
fn judge(conditions: &Conditions, of: fn(&Facts) -> Option<Bound>, below: Threshold) -> Judgement {
    match &conditions.worker {
        Ok(worker) => judge_bound(of(&worker.facts), below),
        Err(_) => Judgement::without_worker(),
    }
}

/// What a limit below a minimum means.
struct Threshold {
    minimum: u64,
    text: fn(u64) -> String,
    cost: &'static str,
    remedy: &'static str,
}

fn judge_bound(bound: Option<Bound>, below: Threshold) -> Judgement {
    let Threshold { minimum, text, cost, remedy } = below;
    match bound {
        None => Judgement::unknown("the limit is unknown"),
        Some(Bound::Unlimited(_)) => Judgement::fine("unlimited"),
        Some(Bound::Max(max)) if max >= minimum => Judgement::fine(text(max)),
        Some(Bound::Max(max)) => Judgement::limits(text(max), cost, remedy),
    }
}

fn bytes(max: u64) -> String {
    match max {
        max if max < 10 << 20 => format!("{} KiB", max >> 10),
        max => format!("{} MiB", max >> 20),
    }
}

fn number(max: u64) -> String {
    max.to_string()
}

/// RLIMIT_NOFILE: a worker raises the soft limit by itself.
pub(super) fn open_files(conditions: &Conditions) -> Judgement {
    let below = Threshold {
        minimum: OPEN_FILES,
        text: |max| format!("the hard limit is {max}"),
        cost: "cases with more descriptors are skipped: `fds=10000` and more",
        remedy: "`sudo prlimit --pid $$ --nofile=32768` in the shell that starts oscost",
    };
    judge(conditions, |facts| facts.limits.open_files.hard, below)
}

/// RLIMIT_NPROC, which does not apply to root.
pub(super) fn processes(conditions: &Conditions) -> Judgement {
    if conditions.host.process.is_root() == Some(true)
        && conditions.host.process.is_in_user_namespace == Some(false)
    {
        return Judgement::fine("the limit does not apply to root");
    }
    let below = Threshold {
        minimum: FEW_PROCESSES,
        text: number,
        cost: "cases that make processes or threads may be skipped: `process`, `thread`, `switch`",
        remedy: "`ulimit -u 4096` in the shell that starts oscost, or limits.conf(5)",
    };
    judge(conditions, |facts| facts.limits.processes.soft, below)
}

/// RLIMIT_FSIZE.
pub(super) fn file_size(conditions: &Conditions) -> Judgement {
    let Limit { soft, .. } = conditions.host.file_size_bytes;
    let below = Threshold {
        minimum: FILE_BYTES,
        text: bytes,
        cost: "the store and output files cannot grow beyond it; cases with larger files are \
               skipped or fail",
        remedy: "`ulimit -f unlimited` in the shell that starts oscost",
    };
    judge_bound(soft, below)
}

/// RLIMIT_AS.
pub(super) fn address_space(conditions: &Conditions) -> Judgement {
    let below = Threshold {
        minimum: ADDRESS_SPACE_BYTES,
        text: bytes,
        cost: "cases that map more are skipped: the large sizes of `memory`, `fault` and `file`",
        remedy: "`ulimit -v unlimited` in the shell that starts oscost",
    };
    judge(conditions, |facts| facts.limits.address_space_bytes.soft, below)
}

/// RLIMIT_STACK.
pub(super) fn stack(conditions: &Conditions) -> Judgement {
    let below = Threshold {
        minimum: MIN_STACK_BYTES,
        text: bytes,
        cost: "a supervisor does not start",
        remedy: "`ulimit -s 8192` in the shell that starts oscost",
    };
    judge(conditions, |facts| facts.limits.stack_bytes.soft, below)
}

/// RLIMIT_MEMLOCK.
pub(super) fn locked_memory(conditions: &Conditions) -> Judgement {
    if conditions.host.process.has(CAP_IPC_LOCK) == Some(true) {
        return Judgement::fine("the limit does not apply (CAP_IPC_LOCK)");
    }
    let below = Threshold {
        minimum: LOCKED_BYTES,
        text: bytes,
        cost: "`fault/prefault:prefault=mlock` is skipped",
        remedy: "`ulimit -l 65536` in the shell that starts oscost, or limits.conf(5)",
    };
    judge(conditions, |facts| facts.limits.locked_memory_bytes.soft, below)
}
