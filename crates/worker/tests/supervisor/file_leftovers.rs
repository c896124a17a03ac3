//! Files and directories that workers create in the user's directory, in shared memory and in
//! control groups: none is left, however a worker or a session ends.

use std::fs;
use std::path::{Path, PathBuf};

use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Mode, Task};

use crate::common::{
    ENDLESS, Session, failure_reason, measuring, plan, signal, spec, until, wait_until_gone,
};

/// What the workers of a session have created outside its scratch directory.
fn elsewhere(session: &Session) -> Vec<PathBuf> {
    let mark = session.scratch().file_name().unwrap().to_str().unwrap().to_owned();
    let places = [".", "/dev/shm", "/sys/fs/cgroup", "/sys/fs/cgroup/memory"];
    let of = |place: &&str| fs::read_dir(Path::new(place));
    let entries = places.iter().filter_map(|place| of(place).ok()).flatten();
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let is_ours = |path: &PathBuf| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&mark))
    };
    paths.filter(is_ours).collect()
}

/// Cases whose work creates something with a name; not all can be built on every machine.
const NAMED: [&str; 3] = [
    "file/stat:files=1000",
    "file/create-unlink:files=100,directory=tmpfs",
    "file/reread:limit_mib=64,share_pct=25",
];

/// Starts a worker that times until it is killed and has created its files; `None`, with a message,
/// if it cannot be built.
fn started(session: &mut Session, id: u64, case: &str) -> Option<u32> {
    session.measure(id, spec(case, Task::Measure(plan(Mode::B, 1, &[1], ENDLESS))));
    match session.event() {
        Event::Ready { pid, .. } => {
            assert_eq!(elsewhere(session).len(), 1, "{case}");
            session.go(id, ENDLESS);
            Some(pid)
        }
        Event::Skipped { missing, .. } => {
            eprintln!("cannot run here: {missing}");
            None
        }
        other => panic!("{case}: {other:?}"),
    }
}

#[test]
fn files_of_a_killed_worker_outside_its_directory_are_removed_at_once() {
    let mut session = Session::start();
    for (id, case) in (1..).zip(NAMED) {
        let Some(pid) = started(&mut session, id, case) else { continue };
        signal(pid, "KILL");
        assert!(failure_reason(session.event()).contains("SIGKILL"), "{case}");
        wait_until_gone(&session, case);
        until("its leavings are gone", || elsewhere(&session).is_empty());
    }
    session.check_responsive(9);
}

#[test]
fn no_end_of_a_session_leaves_a_file_or_a_group() {
    // A killed tool shows as the end of input.
    for by in ["TERM", "the end of the input"] {
        for case in NAMED {
            let mut session = Session::start();
            if started(&mut session, 1, case).is_none() {
                continue;
            }
            let status = match by {
                "TERM" => {
                    signal(session.pid(), by);
                    143
                }
                _ => {
                    session.close_input();
                    0
                }
            };
            assert_eq!(session.ended().code(), Some(status), "{case} after {by}");
            assert_eq!(elsewhere(&session), Vec::<PathBuf>::new(), "{case} after {by}");
        }
    }
}

#[test]
fn a_worker_verifies_what_was_cached_and_reports_the_file_system() {
    let mut session = Session::start();
    for (id, cache) in [(1, "warm"), (2, "cold")] {
        let case = format!("file/read:via=read,size=65536,cache={cache},file_mib=1");
        let mode = if cache == "cold" { Mode::C } else { Mode::B };
        let mut of = measuring(&case);
        of.task = Task::Measure(plan(mode, 1, &[1], 21));
        let (samples, disturbance) = match session.measured(id, of, 5) {
            Event::Sampled { samples, disturbance, .. } => (samples, disturbance),
            Event::Skipped { missing, .. } => {
                eprintln!("cannot run here: {missing}");
                continue;
            }
            other => panic!("{case}: {other:?}"),
        };
        let observation = disturbance.file.unwrap();
        assert!(
            observation.checks >= 2 && observation.pages == 256 && observation.filesystem != 0,
            "{observation:?}"
        );
        let held = if cache == "cold" { 0 } else { 256 };
        assert_eq!((observation.min_cached, observation.max_cached), (held, held), "{case}");
        // A cold sample is a pass.
        let reads = if cache == "cold" { 16 } else { 1 };
        assert!(samples.iter().all(|sample| sample.n == reads), "{case}: {samples:?}");
    }
}

#[test]
fn calls_of_cold_passes_are_counted_per_read() {
    let mut session = Session::start();
    let case = "file/read:via=fread,size=4096,cache=cold,file_mib=1";
    let spec = Box::new(spec(case, Task::Count { warm_ops: 3, ops: 23 }));
    session.send(&Order::Count { id: 1, spec });
    match session.event() {
        Event::Counted { count, .. } => {
            assert_eq!(count.ops, 23 * 256, "whole passes");
            assert_eq!(count.own.into_iter().collect::<Vec<_>>(), [("read".into(), 23 * 256)]);
        }
        Event::Failed { reason, .. } if reason.contains("ptrace is refused") => {
            eprintln!("cannot run here: {reason}");
        }
        Event::Skipped { missing, .. } => eprintln!("cannot run here: {missing}"),
        other => panic!("it should be counted: {other:?}"),
    }
}
