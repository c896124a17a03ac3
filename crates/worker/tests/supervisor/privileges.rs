//! The capabilities of root's workers.

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Mode, Task};
use oscost_worker::benchmarks;

use crate::common::{Session, default_cases, measuring, plan, spec};
use crate::treated_worker::{GETPPID, pinned, ready, status, treated};

/// What every worker keeps: DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER, IPC_LOCK, SYS_RESOURCE.
const ALWAYS_KEPT: u64 = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 14 | 1 << 24;

const NET_ADMIN: u64 = 1 << 12;
const SYS_PTRACE: u64 = 1 << 19;
const SYS_ADMIN: u64 = 1 << 21;

/// Lets the workers of a session keep everything.
const KEEP: &str = "export OSCOST_KEEP_CAPABILITIES=1";

fn capabilities(pid: u32) -> u64 {
    u64::from_str_radix(&status(pid, "CapEff"), 16).unwrap()
}

fn is_root(session: &Session) -> bool {
    let is_root = session.hello.facts.security.is_root == Some(true);
    if !is_root {
        eprintln!("cannot run here: only root has capabilities to drop");
    }
    is_root
}

/// Ends a worker that is ready.
fn end(session: &mut Session, id: u64) {
    session.send(&Order::Stop { id });
    session.event();
}

#[test]
fn a_worker_of_root_keeps_the_capabilities_that_its_case_needs() {
    let mut session = Session::start();
    if !is_root(&session) {
        return;
    }
    let own = capabilities(session.pid());
    for (id, case, needed) in [
        (1, GETPPID, 0),
        (2, "fault/userfaultfd:peer_cpu=same", SYS_PTRACE),
        (3, "syscall/io-uring:batch=1", SYS_ADMIN),
        (4, "thread/kernel:thread=new", SYS_ADMIN | NET_ADMIN),
    ] {
        let worker = pinned(&session, measuring(case));
        let Some(pid) = ready(&mut session, id, worker) else { continue };
        assert_eq!(capabilities(pid), own & (ALWAYS_KEPT | needed), "{case}");
        assert_eq!(status(pid, "NoNewPrivs"), "1", "{case}");
        assert_eq!(status(pid, "Uid").split_whitespace().nth(1), Some("0"), "{case}");
        end(&mut session, id);
    }
    let monitored = treated(&session, GETPPID, &[AppliedTreatment::SeccompNotify]);
    if let Some(pid) = ready(&mut session, 5, monitored) {
        assert_eq!(capabilities(pid), own & (ALWAYS_KEPT | SYS_PTRACE));
    }
    assert_eq!(session.hello.facts.security.worker_capabilities, Some(own & ALWAYS_KEPT));
}

#[test]
fn workers_keep_all_capabilities_on_request() {
    let mut session = Session::limited(KEEP);
    if !is_root(&session) {
        return;
    }
    let own = capabilities(session.pid());
    let worker = pinned(&session, measuring(GETPPID));
    let Some(pid) = ready(&mut session, 1, worker) else { return };
    assert_eq!(capabilities(pid), own);
    assert_eq!(session.hello.facts.security.worker_capabilities, Some(own));
}

#[test]
fn root_measures_the_same_cases_with_the_capabilities_that_it_keeps() {
    let mut sessions = [Session::start(), Session::limited(KEEP)];
    if !is_root(&sessions[0]) {
        return;
    }
    for (id, case) in (1..).zip(default_cases(&benchmarks::data())) {
        let [dropped, kept] = sessions.each_mut().map(|session| {
            session.measure(id, spec(&case, Task::Measure(plan(Mode::B, 1, &[1], 21))));
            match session.event() {
                Event::Ready { .. } => {
                    end(session, id);
                    None
                }
                Event::Skipped { missing, .. } => Some(missing),
                other => panic!("{case}: {other:?}"),
            }
        });
        assert_eq!(dropped.is_none(), kept.is_none(), "{case}: {dropped:?}, {kept:?}");
    }
}
