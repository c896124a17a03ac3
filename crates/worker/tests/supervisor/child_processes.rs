//! Workers that create processes, threads and namespaces: none is left, however the worker ends.

use std::fs;
use std::path::PathBuf;

use oscost_model::protocol::Event;
use oscost_model::worker::{Mode, Task, WorkerSpec};

use crate::common::{
    ENDLESS, Session, cpu_ticks, failure_reason, measuring, plan, signal, spec, until,
    wait_until_gone,
};

const CASES: &[&str] = &[
    "process/fork-exit:touched_mib=8,peer_cpu=same",
    "process/fork-exec:link=static",
    "process/shell",
    "process/wait",
    "thread/create:until=runs,state=detached,peer_cpu=same",
    "thread/kernel:thread=new",
];

/// Starts a worker that creates processes until it is killed; `None` if it is not available here.
fn start_making(session: &mut Session, id: u64, case: &str) -> Option<u32> {
    let endless = plan(Mode::S, 1, &[1], ENDLESS);
    session.measure(id, spec(case, Task::Measure(endless)));
    let pid = match session.event() {
        Event::Ready { pid, .. } => pid,
        Event::Skipped { missing, .. } => {
            eprintln!("{case} cannot run here: {missing}");
            return None;
        }
        other => panic!("{case} should be ready: {other:?}"),
    };
    session.go(id, ENDLESS);
    until("the worker makes something", || cpu_ticks(pid) >= 2);
    Some(pid)
}

/// Waits until the kernel has removed what a worker's namespace held: a kernel thread that serves a
/// device of that name. A worker of a concurrent test may have one.
fn wait_for_kernel_threads(max: usize) {
    until("kernel threads are gone", || kernel_threads() <= max);
}

fn kernel_threads() -> usize {
    let names = fs::read_dir("/proc").unwrap().flatten();
    let names = names.filter_map(|entry| fs::read_to_string(entry.path().join("comm")).ok());
    names.filter(|name| name.starts_with("napi/oscost0")).count()
}

#[test]
fn the_children_of_a_killed_worker_exit() {
    let before = kernel_threads();
    let mut session = Session::start();
    for (id, case) in (1..).zip(CASES) {
        let Some(pid) = start_making(&mut session, id, case) else { continue };
        signal(pid, "KILL");
        assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL", "{case}");
        wait_until_gone(&session, case);
    }
    session.check_responsive(99);
    wait_for_kernel_threads(before);
}

#[test]
fn the_end_of_the_session_ends_the_children_of_its_workers() {
    let before = kernel_threads();
    for case in CASES {
        let mut session = Session::start();
        if start_making(&mut session, 1, case).is_none() {
            continue;
        }
        session.close_input();
        assert!(session.ended().success(), "{case}");
        wait_until_gone(&session, case);
        assert_eq!(session.leftovers(), Vec::<PathBuf>::new(), "{case}");
    }
    wait_for_kernel_threads(before);
}

/// The mappings of a process that the processes which it forks do not get (`dc` in smaps).
fn mappings_kept_from_forks(pid: u32) -> usize {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let flags = smaps.lines().filter_map(|line| line.strip_prefix("VmFlags:"));
    flags.filter(|flags| flags.split_whitespace().any(|flag| flag == "dc")).count()
}

/// The pages of private memory that a process has in the read-only mappings of the worker's
/// program, and in the copy that a worker makes of them.
fn read_only_private_pages(pid: u32) -> [usize; 2] {
    let smaps = fs::read_to_string(format!("/proc/{pid}/smaps")).unwrap();
    let (mut pages, mut at) = ([0; 2], None);
    for line in smaps.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, access, _, _, _, ref file @ ..] if access.len() == 4 => {
                let file = file.first().copied().unwrap_or_default();
                let is_program = file.contains("oscost-worker");
                let is_copy = file.starts_with("/memfd:relocated");
                at = match access {
                    "r--p" if is_program => Some(0),
                    "r--p" if is_copy => Some(1),
                    _ => None,
                };
            }
            ["Anonymous:", kib, "kB"] => {
                at.into_iter().for_each(|at: usize| pages[at] += kib.parse::<usize>().unwrap() / 4);
            }
            _ => {}
        }
    }
    pages
}

#[test]
fn a_worker_has_no_private_pages_of_relocated_tables_for_its_forks_to_copy() {
    let mut session = Session::start();
    session.measure(1, measuring("syscall/getppid:via=raw"));
    let worker = session.ready(1);
    let smaps = fs::read_to_string(format!("/proc/{worker}/smaps")).unwrap();
    assert!(smaps.contains("/memfd:relocated"), "{smaps}");
    assert_eq!(read_only_private_pages(worker), [0, 0], "{smaps}");
}

#[test]
fn a_worker_that_may_not_write_its_relocated_tables_works_without_a_copy() {
    // At most 64 KiB, and the tables are larger.
    let mut session = Session::limited("ulimit -f 64");
    session.measure(1, measuring("syscall/getppid:via=raw"));
    let worker = session.ready(1);
    let smaps = fs::read_to_string(format!("/proc/{worker}/smaps")).unwrap();
    assert!(!smaps.contains("/memfd:relocated"), "{smaps}");
    assert!(read_only_private_pages(worker)[0] > 16, "{smaps}");
}

#[test]
fn the_tables_of_a_worker_add_nothing_to_the_forks_of_its_ops() {
    const CASE: &str = "syscall/getppid:via=raw";
    let mut session = Session::start();
    session.measure(1, measuring(CASE));
    let alone = session.ready(1);
    assert_eq!(mappings_kept_from_forks(alone), 1, "the samples");
    signal(alone, "KILL");
    assert_eq!(failure_reason(session.event()), "the worker was killed by SIGKILL");
    wait_until_gone(&session, "the worker of one arm");
    session.measure(2, WorkerSpec { arms: 2, ..measuring(CASE) });
    session.ready(2);
    let mut kept: Vec<usize> =
        session.workers().into_iter().map(mappings_kept_from_forks).collect();
    kept.sort_unstable();
    assert_eq!(kept, [0, 2, 2], "the samples and the accounts, in the arms alone");
}
