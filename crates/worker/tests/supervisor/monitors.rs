//! Workers and their children under monitors.

use oscost_model::protocol::Event;
use oscost_model::treatment::AppliedTreatment;
use oscost_model::worker::{Mode, Task};

use crate::common::{ENDLESS, Session, failure_reason, plan, signal, wait_until_gone};
use crate::treated_worker::{
    GETPPID, Measurement, allow, arms, arms_with_batches, ready, run_batches, status, treated,
};

#[test]
fn a_monitor_wakes_as_often_as_its_kind_implies_and_never_without_a_system_call() {
    let mut session = Session::start();
    let kinds = [
        (AppliedTreatment::Ptrace, 2.0),
        (AppliedTreatment::SeccompTrace, 1.0),
        (AppliedTreatment::SeccompNotify, 1.0),
    ];
    let clock = "timer/clock-gettime:clock=monotonic,via=vdso";
    let procedure = "procedure/call:args=4,chain=independent";
    for (at, (monitor, stops)) in (0..).zip(kinds) {
        for (id, (case, stops)) in
            [(GETPPID, stops), (clock, 0.0), (procedure, 0.0)].iter().enumerate()
        {
            let id = 10 * at + id as u64;
            let worker = treated(&session, case, std::slice::from_ref(&monitor));
            let Some(measured) = run_batches(&mut session, id, worker) else { continue };
            assert_eq!(measured.wakeups_per_op, [Some(*stops)], "{case} under {monitor:?}");
        }
    }
    let worker = treated(
        &session,
        GETPPID,
        &[AppliedTreatment::Sud, AppliedTreatment::Nice { increment: 1 }],
    );
    let Some(measured) = run_batches(&mut session, 90, worker) else { return };
    assert_eq!((measured.samples.len(), measured.wakeups_per_op), (3, vec![None]));
}

#[test]
fn monitors_and_arms_exit_however_the_worker_ends() {
    let monitors = [
        vec![AppliedTreatment::Ptrace],
        vec![AppliedTreatment::SeccompNotify],
        vec![AppliedTreatment::Ptrace, AppliedTreatment::SeccompNotify],
    ];
    for monitor in &monitors {
        for end in ["measured", "monitor", "peer", "worker", "supervisor", "input"] {
            let mut session = Session::start();
            // With a peer, which is treated, too.
            let case = "pipe/round-trip:by=pipe,size=4,peer_cpu=same";
            let mut worker = arms(&session, case, &[monitor, &[]]);
            worker.task = Task::Measure(plan(Mode::B, 10, &[1], ENDLESS));
            let Some(coordinator) = ready(&mut session, 1, worker) else { return };
            session.go(1, ENDLESS);
            let workers = session.workers();
            let child_of = |parent: u32| {
                let is_child = |pid: &&u32| status(**pid, "PPid") == parent.to_string();
                workers.iter().find(is_child).copied()
            };
            let line = |from: u32| {
                let all: Vec<u32> =
                    std::iter::successors(Some(from), |&pid| child_of(pid)).collect();
                all
            };
            let arms =
                workers.iter().filter(|&&pid| status(pid, "PPid") == coordinator.to_string());
            let treated = arms.map(|&pid| line(pid)).max_by_key(Vec::len).unwrap();
            // Monitors, the measured process, its peer.
            assert_eq!(treated.len(), monitor.len() + 2, "{monitor:?}: {treated:?}");
            match end {
                "measured" => signal(treated[treated.len() - 2], "KILL"),
                "monitor" => signal(treated[0], "KILL"),
                "peer" => signal(treated[treated.len() - 1], "KILL"),
                "worker" => signal(coordinator, "KILL"),
                "supervisor" => signal(session.pid(), "KILL"),
                _ => session.close_input(),
            }
            match end {
                "measured" | "monitor" | "worker" => {
                    let reason = failure_reason(session.event());
                    assert!(reason.contains("SIGKILL"), "{end} of {monitor:?}: {reason}");
                }
                "peer" => {
                    let event = session.event();
                    assert!(matches!(event, Event::Failed { arm: Some(0), .. }), "{event:?}");
                }
                _ => assert_eq!(session.ended().success(), end == "input"),
            }
            wait_until_gone(&session, &format!("{monitor:?} after the end of the {end}"));
        }
    }
}

#[test]
fn peers_and_children_are_monitored_like_their_arm() {
    let mut session = Session::start();
    let cases = [
        "pipe/round-trip:by=pipe,size=4,peer_cpu=same",
        "process/fork-exit:touched_mib=0,peer_cpu=same",
        "thread/create-join:via=raw,peer_cpu=same",
        "file/read:via=read,size=4096,cache=warm,file_mib=8",
        "event/wait:method=poll,fds=10,ready=one",
    ];
    for (at, monitor) in (0..).zip([
        AppliedTreatment::Ptrace,
        AppliedTreatment::SeccompTrace,
        AppliedTreatment::SeccompNotify,
    ]) {
        for (id, case) in (10 * at..).zip(cases) {
            // A peer's last two stops may come after the caller's last: negligible in many
            // iterations.
            let treatments = [&[][..], std::slice::from_ref(&monitor), &[allow()]];
            let worker = arms_with_batches(16, &session, case, &treatments);
            let Some(Measurement { samples, wakeups_per_op: wakeups }) =
                run_batches(&mut session, id, worker)
            else {
                continue;
            };
            assert_eq!(samples.len(), 9, "{case}");
            let &[None, Some(stops), None] = &wakeups[..] else { panic!("{case}: {wakeups:?}") };
            // A round trip is two writes and two reads, of which the peer makes half.
            let calls = match () {
                () if case.starts_with("pipe") => 4.0,
                () if case.starts_with("process") => 3.0,
                () if case.starts_with("thread") => 2.0,
                () => 1.0,
            };
            let each = if monitor == AppliedTreatment::Ptrace { 1.9 } else { 0.9 };
            assert!(stops >= calls * each, "{case} under {monitor:?}: {stops}");
        }
    }
}
