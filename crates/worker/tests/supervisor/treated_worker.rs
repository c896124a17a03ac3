//! Workers under treatments: their specs, a filter of system calls, and what they measured.

use std::fs;

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Mode, Sample, Task, WorkerSpec};

use crate::common::{Session, measuring, plan, spec};

pub(crate) const GETPPID: &str = "syscall/getppid:via=raw";

/// An instruction of classic BPF.
const fn instruction(code: u64, jt: u64, jf: u64, k: u32) -> u64 {
    code << 48 | jt << 40 | jf << 32 | k as u64
}

const LOAD: u64 = 0x20;
const IF_EQUAL: u64 = 0x15;
const RETURN: u64 = 0x06;
const ALLOW: u32 = 0x7FFF_0000;

pub(crate) fn filter(program: &[u64]) -> AppliedTreatment {
    AppliedTreatment::Seccomp { program: program.to_vec() }
}

pub(crate) fn allow() -> AppliedTreatment {
    filter(&[instruction(RETURN, 0, 0, ALLOW)])
}

/// A filter that returns `action` for getppid(2) and allows everything else.
pub(crate) fn at_getppid(action: u32) -> AppliedTreatment {
    #[cfg(target_arch = "x86_64")]
    const NUMBER: u32 = 110;
    #[cfg(target_arch = "aarch64")]
    const NUMBER: u32 = 173;
    filter(&at_call(NUMBER, action))
}

/// A filter that returns `action` for the call of this number and allows everything else.
pub(crate) fn at_call(number: u32, action: u32) -> [u64; 4] {
    [
        instruction(LOAD, 0, 0, 0),
        instruction(IF_EQUAL, 0, 1, number),
        instruction(RETURN, 0, 0, action),
        instruction(RETURN, 0, 0, ALLOW),
    ]
}

/// A filter that allows these calls and ends with `action` at every other.
pub(crate) fn allow_only(numbers: &[u32], action: u32) -> AppliedTreatment {
    let each = numbers.iter().flat_map(|&number| {
        [instruction(IF_EQUAL, 0, 1, number), instruction(RETURN, 0, 0, ALLOW)]
    });
    let program = std::iter::once(instruction(LOAD, 0, 0, 0)).chain(each);
    filter(&program.chain([instruction(RETURN, 0, 0, action)]).collect::<Vec<_>>())
}

pub(crate) const KILL: u32 = 0x8000_0000;
pub(crate) const EPERM: u32 = 0x0005_0001;

/// This worker, pinned, so that its monitors share its CPU.
pub(crate) fn pinned(session: &Session, worker: WorkerSpec) -> WorkerSpec {
    let cpus = session.hello.facts.cpu.allowed_cpus.as_ref();
    WorkerSpec { cpu: cpus.and_then(|cpus| cpus.last().copied()), ..worker }
}

/// A worker of `case` under these treatments.
pub(crate) fn treated(session: &Session, case: &str, applied: &[AppliedTreatment]) -> WorkerSpec {
    WorkerSpec { treatments: vec![applied.to_vec()], ..pinned(session, measuring(case)) }
}

/// A worker of `case` with an arm for each of these.
pub(crate) fn arms(
    session: &Session,
    case: &str,
    treatments: &[&[AppliedTreatment]],
) -> WorkerSpec {
    arms_with_batches(1, session, case, treatments)
}

/// The same with batches of this many iterations.
pub(crate) fn arms_with_batches(
    iterations: u64,
    session: &Session,
    case: &str,
    treatments: &[&[AppliedTreatment]],
) -> WorkerSpec {
    WorkerSpec {
        arms: treatments.len() as u8,
        treatments: treatments.iter().map(|applied| applied.to_vec()).collect(),
        ..pinned(session, spec(case, Task::Measure(plan(Mode::B, iterations, &[1], 21))))
    }
}

/// Starts a worker and waits until it is ready; `None`, with a message, if the machine lacks
/// something.
pub(crate) fn ready(session: &mut Session, id: u64, worker: WorkerSpec) -> Option<u32> {
    session.measure(id, worker);
    match session.event() {
        Event::Ready { pid, .. } => Some(pid),
        Event::Skipped { missing, .. } => {
            eprintln!("cannot run here: {missing}");
            None
        }
        other => panic!("{other:?}"),
    }
}

/// What a worker measured.
pub(crate) struct Measurement {
    pub(crate) samples: Vec<Sample>,
    /// How often the monitor of each arm woke.
    pub(crate) wakeups_per_op: Vec<Option<f64>>,
}

/// Runs three batches of a worker of this spec.
pub(crate) fn run_batches(
    session: &mut Session,
    id: u64,
    worker: WorkerSpec,
) -> Option<Measurement> {
    ready(session, id, worker)?;
    session.go(id, 3);
    session.send(&Order::Stop { id });
    match session.event() {
        Event::Sampled { samples, monitor_wakeups_per_op: wakeups_per_op, .. } => {
            Some(Measurement { samples, wakeups_per_op })
        }
        other => panic!("it should have samples: {other:?}"),
    }
}

/// A line of a process's status (proc(5)).
pub(crate) fn status(pid: u32, key: &str) -> String {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{key}:")));
    line.unwrap_or_default().trim().to_owned()
}
