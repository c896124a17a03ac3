//! Control groups of workers: what they contain, and that none is left.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};

use oscost_model::protocol::{Event, Order};
use oscost_model::treatment::{AppliedTreatment, Limit};
use oscost_model::worker::{Mode, Task, WorkerSpec};

use crate::common::{
    ENDLESS, Session, cpu_ticks, endless, failure_reason, plan, signal, spec, until,
    wait_until_gone,
};
use crate::treated_worker::{GETPPID, Measurement, arms, ready, run_batches, status};

/// Control groups that are named after a session.
pub(crate) fn groups(session: &Session) -> Vec<PathBuf> {
    let mark = session.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let root = Path::new("/sys/fs/cgroup");
    let folders = fs::read_dir(root).into_iter().flatten().flatten().map(|entry| entry.path());
    // A group of version 2 may be in that of this process.
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap_or_default();
    let of_own = [root.join(own), root.join("unified").join(own)];
    let folders: Vec<PathBuf> = folders.chain([root.to_owned()]).chain(of_own).collect();
    let below = |folder: &PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let all = folders.iter().flat_map(below).map(|entry| entry.path());
    let ours = |path: &PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(&mark))
    };
    let mut found: Vec<PathBuf> = all.filter(ours).collect();
    found.sort();
    found.dedup();
    found
}

#[test]
fn a_control_group_contains_its_process_and_is_removed_however_that_ends() {
    let limited = [AppliedTreatment::Cgroup {
        limits: vec![Limit::Cpu { percent: 90 }, Limit::Pids { max: 50 }],
    }];
    for end in ["stop", "killed worker", "killed job", "end of input"] {
        let mut session = Session::start();
        let worker = WorkerSpec { treatments: vec![limited.to_vec()], ..endless() };
        let Some(pid) = ready(&mut session, 1, worker) else { return };
        let made = groups(&session);
        assert!(!made.is_empty());
        for group in &made {
            let inside = fs::read_to_string(group.join("cgroup.procs")).unwrap();
            assert_eq!(inside.trim(), pid.to_string(), "{}", group.display());
        }
        session.go(1, 5);
        match end {
            "stop" => {
                session.send(&Order::Stop { id: 1 });
                assert!(matches!(session.event(), Event::Sampled { .. }));
            }
            "killed worker" => {
                session.go(1, ENDLESS - 5);
                signal(pid, "KILL");
                let reason = failure_reason(session.event());
                assert_eq!(reason, "the worker was killed by SIGKILL under cgroup");
            }
            "killed job" => {
                session.go(1, ENDLESS - 5);
                signal(status(pid, "PPid").parse().unwrap(), "KILL");
                assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
            }
            _ => {
                session.close_input();
                assert!(session.ended().success());
            }
        }
        until(&format!("the group is gone after: {end}"), || groups(&session).is_empty());
    }
    // In two arms at once, and without limits.
    let mut session = Session::start();
    let alone = [AppliedTreatment::Cgroup { limits: Vec::new() }];
    let worker = arms(&session, GETPPID, &[&alone, &alone]);
    let Some(Measurement { samples, .. }) = run_batches(&mut session, 2, worker) else { return };
    assert_eq!(samples.len(), 6);
    until("both groups are gone", || groups(&session).is_empty());
}

#[test]
fn the_next_session_removes_the_groups_of_a_killed_one() {
    let mut first = Session::start();
    let group = vec![AppliedTreatment::Cgroup { limits: Vec::new() }];
    let worker = WorkerSpec { treatments: vec![group], ..endless() };
    let Some(pid) = ready(&mut first, 1, worker) else { return };
    // It is timing, and does not notice the end of its input.
    first.go(1, ENDLESS);
    until("it is timing", || cpu_ticks(pid) >= 3);
    signal(first.pid(), "KILL");
    assert_eq!(first.ended().signal(), Some(9));
    wait_until_gone(&first, "a killed supervisor");
    assert!(!groups(&first).is_empty());
    let _next = Session::start_with(first.folder());
    assert_eq!(groups(&first), Vec::<PathBuf>::new());
}

#[test]
fn the_groups_of_a_benchmark_are_removed_when_its_worker_is_killed() {
    let mut session = Session::start();
    for (id, case) in (1..).zip(["cgroup/limit:limit=pids-max", "cgroup/move"]) {
        session.measure(id, spec(case, Task::Measure(plan(Mode::B, 1, &[1], ENDLESS))));
        let pid = match session.event() {
            Event::Ready { pid, .. } => pid,
            Event::Skipped { missing, .. } => {
                eprintln!("cannot run here: {missing}");
                continue;
            }
            other => panic!("{case}: {other:?}"),
        };
        assert!(!groups(&session).is_empty(), "{case}");
        session.go(id, ENDLESS);
        signal(pid, "KILL");
        assert!(failure_reason(session.event()).contains("SIGKILL"), "{case}");
        until("its groups are gone", || groups(&session).is_empty());
    }
}
