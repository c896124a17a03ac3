//! Files and folders that are made where the user stands, in memory and among control groups: none
//! is left, however a worker or a session ends.

use std::fs;
use std::path::{Path, PathBuf};

use oscost_model::protocol::{Event, Order};
use oscost_model::worker::{Mode, Task};

use crate::common::{ENDLESS, Session, measuring, none_stands, plan, signal, spec, until, why};

/// What the workers of a session have under names of their own, elsewhere than in its scratch folder.
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

/// Cases whose work has a name somewhere; whether this place lets them be built is not ours to say.
const NAMED: [&str; 3] = [
    "file/stat:files=1000",
    "file/create-unlink:files=100,where=tmpfs",
    "file/reread:limit_mib=64,share_pct=25",
];

/// Starts a worker that times until it is ended, and has made what has a name; `None`, and a word,
/// where it cannot.
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
fn what_a_killed_worker_has_laid_outside_its_folder_is_removed_at_once() {
    let mut session = Session::start();
    for (id, case) in (1..).zip(NAMED) {
        let Some(pid) = started(&mut session, id, case) else { continue };
        signal(pid, "KILL");
        assert!(why(session.event()).contains("SIGKILL"), "{case}");
        none_stands(&session, case);
        until("its leavings are gone", || elsewhere(&session).is_empty());
    }
    session.still_answers(9);
}

#[test]
fn whatever_ends_a_session_leaves_no_file_and_no_group() {
    // The end of the input is what a tool leaves that was killed.
    for by in ["TERM", "the end of the input"] {
        for case in NAMED {
            let mut session = Session::start();
            if started(&mut session, 1, case).is_none() {
                continue;
            }
            match by {
                "TERM" => signal(session.pid(), by),
                _ => session.close_input(),
            }
            assert!(session.ended().success(), "{case} after {by}");
            assert_eq!(elsewhere(&session), Vec::<PathBuf>::new(), "{case} after {by}");
        }
    }
}

#[test]
fn a_worker_proves_what_was_cached_and_says_where_the_file_lay() {
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
        let seen = disturbance.file.unwrap();
        assert!(seen.checks >= 2 && seen.pages == 256 && seen.filesystem != 0, "{seen:?}");
        let held = if cache == "cold" { 0 } else { 256 };
        assert_eq!((seen.min_cached, seen.max_cached), (held, held), "{case}");
        // A cold sample is a pass.
        let reads = if cache == "cold" { 16 } else { 1 };
        assert!(samples.iter().all(|sample| sample.n == reads), "{case}: {samples:?}");
    }
}

#[test]
fn calls_of_cold_passes_are_counted_by_the_read() {
    let mut session = Session::start();
    let case = "file/read:via=fread,size=4096,cache=cold,file_mib=1";
    let spec = Box::new(spec(case, Task::Count { warm_ops: 3, ops: 23 }));
    session.send(&Order::Count { id: 1, spec });
    match session.event() {
        Event::Counted { count, .. } => {
            assert_eq!(count.ops, 23 * 256, "whole passes");
            assert_eq!(count.own.into_iter().collect::<Vec<_>>(), [("read".into(), 23 * 256)]);
        }
        Event::Failed { reason: why, .. } if why.contains("ptrace is refused") => {
            eprintln!("cannot run here: {why}");
        }
        Event::Skipped { missing, .. } => eprintln!("cannot run here: {missing}"),
        other => panic!("it should be counted: {other:?}"),
    }
}
