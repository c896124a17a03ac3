//! Channels between a worker and its peer: each kind makes its calls and no others, and leaves
//! nothing behind, however either end exits.

use std::fs;

use oscost_model::case::Case;
use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Mode, Task, WorkerSpec};
use oscost_worker::benchmarks;
use oscost_worker::kernel::file::location::{leftover_name, queue_key};

use crate::common::{ENDLESS, Session, failure_reason, plan, signal, spec, until, wait_until_gone};

const MEANS: [&str; 8] =
    ["pipe", "fifo", "vmsplice", "mq", "sysv-mq", "shm-futex", "shm-spin", "process-vm"];

/// The spec of a case, pinned, with the best available clock; `None` if pinning is not possible.
fn pinned(session: &Session, case: &str, task: Task) -> Option<WorkerSpec> {
    let mut of = spec(case, task);
    of.cpu = session.hello.facts.cpu.allowed_cpus.as_ref()?.last().copied();
    let mut clocks = session.hello.clocks.iter();
    of.clock.kind = clocks.find(|clock| clock.unusable_reason.is_none())?.kind;
    Some(of)
}

/// Starts a worker that times until it is killed; returns its process and that of its peer. `None`,
/// with a message, if that is not possible.
fn started(session: &mut Session, id: u64, case: &str) -> Option<(u32, u32)> {
    let task = Task::Measure(plan(Mode::B, 1, &[1], ENDLESS));
    let of = pinned(session, case, task)?;
    session.measure(id, of);
    match session.event() {
        Event::Ready { pid, .. } => {
            let peer = session.workers().into_iter().find(|&other| other != pid);
            Some((pid, peer.expect("it has no peer")))
        }
        Event::Skipped { missing, .. } => {
            eprintln!("{case} cannot run here: {missing}");
            None
        }
        Event::Failed { reason, .. } if reason.starts_with("pin to CPU") => {
            eprintln!("{case} cannot run here: {reason}");
            None
        }
        other => panic!("{case}: {other:?}"),
    }
}

fn cases(benchmark: &str) -> impl Iterator<Item = String> {
    // A spinning waiter needs a CPU of its own.
    let cpu = |by: &str| if by == "shm-spin" { "other" } else { "same" };
    MEANS.iter().map(move |by| format!("pipe/{benchmark}:by={by},size=64,peer_cpu={}", cpu(by)))
}

/// The System V queues of a worker of this session.
fn queues(session: &Session, worker: u32) -> usize {
    let mark = session.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let keys = [0, 1].map(|which| queue_key(&leftover_name(&mark, worker), which).to_string());
    let listed = fs::read_to_string("/proc/sysvipc/msg").unwrap_or_default();
    let found = listed.lines().filter_map(|line| line.split_whitespace().next());
    found.filter(|key| keys.iter().any(|own| own == key)).count()
}

#[test]
fn a_killed_worker_takes_its_peer_and_its_queues_along_and_a_killed_peer_fails_its_worker() {
    let mut session = Session::start();
    for (id, case) in (1..).step_by(2).zip(cases("round-trip").chain(cases("throughput"))) {
        let Some((pid, _)) = started(&mut session, id, &case) else { continue };
        assert!(!case.contains("sysv-mq") || queues(&session, pid) == 2, "{case}");
        session.go(id, ENDLESS);
        signal(pid, "KILL");
        assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL", "{case}");
        wait_until_gone(&session, &case);
        until("its queues are gone", || queues(&session, pid) == 0);
        let Some((pid, peer)) = started(&mut session, id + 1, &case) else { continue };
        session.go(id + 1, ENDLESS);
        signal(peer, "KILL");
        let reason = failure_reason(session.event());
        assert!(reason.contains("the peer was killed"), "{case}: {reason}");
        wait_until_gone(&session, &case);
        assert_eq!(queues(&session, pid), 0, "{case}");
    }
}

/// No process is left then that knows their keys.
#[test]
fn the_queues_of_a_killed_supervisor_are_removed_by_the_next_one() {
    let mut session = Session::start();
    let case = "pipe/round-trip:by=sysv-mq,size=64,peer_cpu=same";
    let Some((pid, _)) = started(&mut session, 1, case) else { return };
    assert_eq!(queues(&session, pid), 2);
    session.go(1, ENDLESS);
    signal(session.pid(), "KILL");
    assert_eq!(session.ended().code(), None);
    wait_until_gone(&session, case);
    let _next = Session::start_with(session.folder());
    until("its queues are gone", || queues(&session, pid) == 0);
}

#[test]
fn l12_every_means_makes_exactly_its_calls_at_either_end_and_no_others() {
    let mut session = Session::start();
    let catalog = benchmarks::data();
    let one_way = cases("one-way").map(|case| case.replace(",size", ",way=there,size"));
    let small = cases("round-trip").chain(cases("throughput")).chain(one_way);
    let large = ["pipe", "vmsplice", "shm-futex", "process-vm"].map(|by| {
        ["round-trip", "throughput"]
            .map(|of| format!("pipe/{of}:by={by},size=100000,peer_cpu=same"))
    });
    for (id, text) in (1..).zip(small.chain(large.into_iter().flatten())) {
        let case = Case::parse(&text).unwrap();
        let definition = catalog.get(&case.benchmark).unwrap();
        let Some(of) = pinned(&session, &text, Task::Count { warm_ops: 3, ops: 23 }) else {
            return;
        };
        session.send(&Order::Count { id, spec: Box::new(of) });
        let count = match session.event() {
            Event::Counted { count, .. } => *count,
            Event::Skipped { missing, .. } => {
                eprintln!("{text}: {missing}");
                continue;
            }
            Event::Failed { reason, .. } if reason.contains("ptrace is refused") => return,
            other => panic!("{text}: {other:?}"),
        };
        // Of what moves bytes the calls are those of a message.
        let count = count.grouped_by(definition.ops_per_message(&case.point));
        let none: Vec<String> = Vec::new();
        assert_eq!(count.unexpected(&definition.calls, &case.point), none, "{text}: {count:?}");
    }
}
